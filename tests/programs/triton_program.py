"""Triton: its own compiler down to PTX, then ptxas. Two kernels, and one that is autotuned."""

from needs import needs

with needs():
    import torch
    import triton
    import triton.language as tl

    assert torch.cuda.is_available(), "PyTorch sees no GPU"


@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, mask=at < n) + tl.load(y + at, mask=at < n), mask=at < n)


@triton.jit
def softmax(x, out, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    row = tl.load(x + tl.program_id(0) * n + at, mask=at < n, other=-float("inf"))
    e = tl.exp(row - tl.max(row, axis=0))
    tl.store(out + tl.program_id(0) * n + at, e / tl.sum(e, axis=0), mask=at < n)


@triton.autotune([triton.Config({"BLOCK": 256}), triton.Config({"BLOCK": 1024})], key=["n"])
@triton.jit
def square(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at, mask=at < n)
    tl.store(out + at, value * value, mask=at < n)


x = torch.arange(5000, device="cuda", dtype=torch.float32)
out = torch.empty_like(x)
add[(triton.cdiv(5000, 1024),)](x, x, out, 5000, BLOCK=1024)
print("add", bool(torch.equal(out, x * 2)))
rows = torch.rand(64, 500, device="cuda")
result = torch.empty_like(rows)
softmax[(64,)](rows, result, 500, BLOCK=512)
print("softmax", bool(torch.allclose(result, torch.softmax(rows, 1), atol=1e-6)))
square[lambda tuned: (triton.cdiv(5000, tuned["BLOCK"]),)](x, out, 5000)
print("square", bool(torch.equal(out, x * x)))

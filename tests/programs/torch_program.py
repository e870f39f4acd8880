"""PyTorch where it compiles with NVRTC: special functions (jiterator), kernels of one's own."""

from needs import needs

with needs():
    import torch

    assert torch.cuda.is_available(), "PyTorch sees no GPU"

x = torch.linspace(0.1, 9.9, 1000, device="cuda")
for name in ("bessel_j0", "bessel_y1", "modified_bessel_i0", "airy_ai", "spherical_bessel_j0"):
    print(name, round(float(getattr(torch.special, name)(x).sum()), 4))
print("zeta", round(float(torch.special.zeta(x + 1.5, x).sum()), 4), "gcd", int(torch.gcd((x * 100).int(), (x * 36).int()).sum()))

fused = torch.cuda.jiterator._create_jit_fn("template <typename T> T fused(T x, T y) { return x * y + x; }")
print("jiterator", round(float(fused(x, x).sum()), 2))

if hasattr(torch.cuda, "_compile_kernel"):
    source = 'extern "C" __global__ void twice(float* x, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) x[i] *= 2; }'
    twice = torch.cuda._compile_kernel(source, "twice")
    y = x.clone()
    twice(grid=(4, 1, 1), block=(256, 1, 1), args=[y, 1000])
    print("_compile_kernel", bool(torch.equal(y, x * 2)))

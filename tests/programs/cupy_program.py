"""CuPy as its users write it: a module of their own, elementwise kernels, a reduction, sort (CUB and Thrust)."""

from needs import needs

with needs():
    import cupy

    cupy.cuda.runtime.getDeviceCount()

MODULE = r"""
#include <cuda_fp16.h>
template <typename T> __global__ void scale(T* x, T by, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] *= by;
}
"""
module = cupy.RawModule(code=MODULE, options=("-std=c++17",), name_expressions=["scale<float>", "scale<double>"])
x = cupy.arange(1000, dtype=cupy.float32)
module.get_function("scale<float>")((4,), (256,), (x, cupy.float32(2), 1000))
print("RawModule", float(x.sum()))

raw = cupy.RawKernel(r'extern "C" __global__ void add(float* x) { x[threadIdx.x] += 1; }', "add")
raw((1,), (256,), (x,))
print("RawKernel", float(x[:300].sum()))

squares = cupy.ElementwiseKernel("float32 a, float32 b", "float32 c", "c = (a - b) * (a - b)", "squared_difference")
print("elementwise", float(squares(x, x[::-1].copy()).max()))
print("fused ufuncs", float(cupy.sqrt(x * 3 + 1).mean()), int((x > 100).sum()))

norm = cupy.ReductionKernel("float32 a", "float32 c", "a * a", "a + b", "c = sqrt(a)", "0", "norm_of")
print("reduction", round(float(norm(x)), 3))
print("sort", cupy.sort(x[::-1].copy())[:5].tolist(), cupy.argsort(-x)[:3].tolist(), cupy.unique(x // 100).size)

"""PyTorch's load_inline: C++ and CUDA extensions that ninja builds with c++ and nvcc while the program starts."""

from needs import needs

with needs():
    import torch
    from torch.utils.cpp_extension import CUDA_HOME, is_ninja_available, load_inline

    assert torch.cuda.is_available(), "PyTorch sees no GPU"
    assert CUDA_HOME and is_ninja_available(), "there is no CUDA toolkit or no ninja"

CUDA = """
__global__ void scale(float* data, float by, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        data[i] *= by;
}

void scale_all(torch::Tensor data, double by)
{
    const int n = data.numel();
    scale<<<(n + 255) / 256, 256>>>(data.data_ptr<float>(), by, n);
}
"""

extension = load_inline(
    name="scaling",
    cpp_sources="void scale_all(torch::Tensor data, double by);",
    cuda_sources=CUDA,
    functions=["scale_all"],
)
x = torch.arange(1000, device="cuda", dtype=torch.float32)
extension.scale_all(x, 3.0)
print("scaled", bool(torch.equal(x, torch.arange(1000, device="cuda", dtype=torch.float32) * 3)))

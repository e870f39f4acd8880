"""torch.compile: a small MLP with its backward pass, and a reduction."""

from needs import needs

with needs():
    import torch

    assert torch.cuda.is_available(), "PyTorch sees no GPU"
    import triton  # noqa: F401

torch.manual_seed(0)
mlp = torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.GELU(), torch.nn.Linear(128, 10)).cuda()
x = torch.rand(32, 64, device="cuda")
loss = torch.compile(mlp)(x).square().mean()
loss.backward()
print("mlp", f"{float(loss):.5f}", f"{float(mlp[0].weight.grad.abs().sum()):.3f}")


@torch.compile
def spread(values):
    return (values - values.mean(dim=1, keepdim=True)).square().sum(dim=1).sqrt()


print("spread", f"{float(spread(torch.arange(6000.0, device='cuda').reshape(6, 1000)).sum()):.1f}")

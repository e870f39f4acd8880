"""Numba's kernels, compiled to PTX on a machine that need not have a GPU: by libNVVM, with libdevice."""

import math

from needs import digest, needs

with needs():
    from numba import cuda, float32, float64, int32

    cuda.compile_ptx(lambda: None, (), cc=(8, 0))


def sines(a):
    i = cuda.grid(1)
    if i < a.size:
        a[i] = math.sin(a[i]) * 2


def add(x, y, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = x[i] + y[i]


def device(x, y):
    return math.pow(x, y)


for function, types in ((sines, (float64[:],)), (add, (float32[:], float32[:], float32[:])), (add, (int32[:],) * 3)):
    for target in ((8, 0), (9, 0)):
        ptx, _ = cuda.compile_ptx(function, types, cc=target)
        print(function.__name__, target, digest(ptx.encode()))
ptx, _ = cuda.compile_ptx(device, (float32, float32), cc=(8, 0), device=True, fastmath=True)
print("device", digest(ptx.encode()))

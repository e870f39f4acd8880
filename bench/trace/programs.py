#!/usr/bin/env python3
"""Programs as users of CuPy, PyTorch, Triton and NVIDIA's bindings write them, each for what it makes them compile.

  programs.py             lists them: family/name
  programs.py FAMILY/NAME runs one; exit 77, with a line that says why, where something that it needs is not there

bench/trace/record.py runs them all. What one call cannot do with one type is passed over: this is no test.
"""

import ast
import itertools
import os
import sys
import tempfile
import warnings

warnings.simplefilter("ignore")
PROGRAMS = {}


class Skipped(Exception):
    pass


def program(family):
    def add(function):
        PROGRAMS[family + "/" + function.__name__] = function
        return function

    return add


def attempt(call, *arguments, **named):
    try:
        return call(*arguments, **named)
    except Exception:  # this type cannot do it, or this version does not have it
        return None


def with_gpu():
    import cupy

    try:
        cupy.zeros(1)
    except Exception as error:
        raise Skipped(error) from error
    return cupy


def torch_with_gpu():
    import torch

    if not torch.cuda.is_available():
        raise Skipped("PyTorch sees no GPU")
    return torch


# ---- CuPy on a GPU

INTEGERS = "bhilBHIL"
REALS = "efd"
ALL = "?" + INTEGERS + REALS + "FD"


def each(xp, names, dtypes, *shape, operands=1):
    """Calls functions that go by element, or reduce, with arrays of every type."""
    for dtype, name in itertools.product(dtypes, names):
        x = xp.ones(shape or (64,), dtype=dtype)
        attempt(lambda: getattr(xp, name)(*[x] * operands))


@program("cupy")
def arithmetic():
    xp = with_gpu()
    each(xp, ["add", "subtract", "multiply", "true_divide", "floor_divide", "power", "maximum"], ALL, operands=2)
    for left, right in (("i", "f"), ("i", "d"), ("f", "d"), ("e", "f"), ("f", "F")):
        x, y = xp.ones(64, left), xp.ones(64, right)
        x + y, x * y, x - 1, 2 / (x + 1), x == y, x < 3


@program("cupy")
def functions():
    names = ["sin", "cos", "tan", "exp", "log", "log1p", "expm1", "sqrt", "cbrt", "tanh", "arctan", "floor", "rint", "sign"]
    each(with_gpu(), names, REALS)


@program("cupy")
def reductions():
    xp = with_gpu()
    each(xp, ["sum", "prod", "max", "min", "argmax", "mean", "var", "any", "all", "count_nonzero"], "?il" + REALS)
    for axis, dtype in itertools.product((0, 1, (0, 2), None), "fd"):
        x = xp.ones((8, 16, 4), dtype=dtype)
        x.sum(axis=axis), x.max(axis=axis), xp.linalg.norm(x.ravel()), xp.nansum(x, axis=axis), x.std(axis=axis)


@program("cupy")
def sorting():
    xp = with_gpu()
    each(xp, ["sort", "argsort", "unique", "cumsum", "cumprod", "flatnonzero"], "il" + REALS, 500)
    x = xp.arange(500)
    xp.lexsort(xp.stack([x, -x])), xp.partition(x, 9), xp.searchsorted(x, x), xp.bincount(x % 7), xp.histogram(x, 10)
    xp.median(x), xp.percentile(x, 30), xp.isin(x, x[:9]), xp.diff(x), xp.digitize(x, x[::50])


@program("cupy")
def indexing():
    xp = with_gpu()
    for dtype in "ilfd":
        x = xp.arange(600, dtype=dtype).reshape(20, 30)
        x[x > 5] = 3
        x[xp.arange(5)] += 1
        xp.where(x > 2, x, -x), x.take(xp.arange(9)), x[::2, ::3].copy(), xp.roll(x, 3), xp.pad(x, 2), xp.tile(x, 2)
        xp.concatenate([x, x]), x.astype("f"), x.T.copy(), xp.add.at(x, xp.arange(4), 1), xp.tril(x), xp.choose(0, [x])
        xp.nonzero(x), xp.eye(9, dtype=dtype), xp.linspace(0, 1, 9).astype(dtype), xp.repeat(x, 2), x.clip(1, 9)


@program("cupy")
def own_kernels():
    xp = with_gpu()
    bodies = enumerate(("a + b", "a * b - b", "max(a, b)", "a > b ? a : b"))
    for dtype, (i, body) in itertools.product(("float32", "float64", "int32"), bodies):
        kernel = xp.ElementwiseKernel(f"{dtype} a, {dtype} b", f"{dtype} c", f"c = {body}", f"own_{i}")
        kernel(xp.ones(9, dtype), xp.ones(9, dtype))
        attempt(xp.ReductionKernel(f"{dtype} a", f"{dtype} c", "a * a", "a + b", "c = a", "0", "own_sum"), xp.ones(9, dtype))
    for source, names in KERNELS.values():
        module = xp.RawModule(code=source, options=("-std=c++17",), name_expressions=names)
        attempt(lambda: [module.get_function(name) for name in names])


@program("cupy")
def fused():
    xp = with_gpu()

    @xp.fuse()
    def squares(x, y):
        return (x - y) ** 2 + xp.sqrt(x)

    @xp.fuse()
    def norm(x, y):
        return xp.sum(xp.exp(x) * y)

    for dtype in REALS:
        x = xp.ones(100, dtype)
        attempt(squares, x, x), attempt(norm, x, x)
    jit = __import__("cupyx.jit", fromlist=["jit"])

    @jit.rawkernel()
    def copy(x, y, size):
        at = jit.grid(1)
        if at < size:
            y[at] = x[at] * 2

    for dtype in "ilfd":
        x = xp.ones(100, dtype)
        attempt(lambda: copy[1, 128](x, x.copy(), 100))


@program("cupy")
def random():
    xp = with_gpu()
    for name in ("rand", "randn", "standard_normal", "exponential", "poisson", "gamma", "beta", "binomial", "laplace", "gumbel"):
        arguments = {"rand": (99,), "randn": (99,), "beta": (1, 2, 99), "binomial": (9, 0.5, 99)}.get(name, (1.0, 99))
        attempt(getattr(xp.random, name), *(arguments if name != "standard_normal" else (99,)))
    generator = xp.random.default_rng(1)
    for name in ("random", "integers", "standard_normal", "standard_gamma", "poisson", "exponential", "chisquare"):
        attempt(getattr(generator, name), 5, size=99) if name != "random" else generator.random(99)
    xp.random.permutation(99), xp.random.choice(99, 9), xp.random.randint(0, 9, 99), xp.random.shuffle(xp.arange(99))


@program("cupy")
def linalg_fft():
    xp = with_gpu()
    for dtype in "fdFD":
        a = xp.eye(24, dtype=dtype) * 3 + xp.ones((24, 24), dtype)
        for name in ("inv", "svd", "qr", "cholesky", "det", "eigvalsh", "norm", "pinv", "matrix_rank", "slogdet"):
            attempt(getattr(xp.linalg, name), a)
        xp.linalg.solve(a, a), a @ a, xp.einsum("ij,kj->ik", a, a), xp.kron(a[:3], a[:3]), xp.outer(a[0], a[0])
        for name in ("fft", "ifft", "rfft", "fft2", "fftn", "fftshift", "hfft", "irfft"):
            attempt(getattr(xp.fft, name), a)
    for dtype in "bil?":
        attempt(lambda: xp.ones((9, 9), dtype) @ xp.ones((9, 9), dtype))


@program("cupy")
def sparse():
    xp = with_gpu()
    from cupyx.scipy import sparse as sp

    for dtype in "fdFD":
        a = sp.random(60, 60, 0.1, format="csr", dtype=dtype) if dtype in "fd" else sp.eye(60, dtype=dtype, format="csr")
        for form in ("csc", "coo", "csr", "dia", "lil"):
            attempt(a.asformat, form)
        for call in (lambda: a @ a, lambda: a @ xp.ones(60, dtype), lambda: a + a, lambda: a.sum(axis=0), lambda: a.toarray(),
                     lambda: a[3:9], lambda: a[:, 3], lambda: a.multiply(a), lambda: a.max(axis=1), lambda: a.diagonal(),
                     lambda: abs(a), lambda: a.T.tocsr(), lambda: a.power(2), lambda: sp.vstack([a, a]), lambda: a[xp.arange(5)]):
            attempt(call)


@program("cupy")
def images_and_signals():
    xp = with_gpu()
    from cupyx.scipy import ndimage, signal, special

    for dtype in "fd":
        x = xp.ones((32, 32), dtype)
        for name in ("gaussian_filter", "uniform_filter", "median_filter", "zoom", "rotate", "shift", "maximum_filter"):
            attempt(getattr(ndimage, name), x, 2)
        attempt(ndimage.sobel, x), attempt(ndimage.label, x.astype("i")), attempt(ndimage.convolve, x, x[:3, :3])
        attempt(ndimage.binary_erosion, x > 0), attempt(ndimage.distance_transform_edt, x > 0)
        for name in ("convolve2d", "correlate", "fftconvolve", "oaconvolve"):
            attempt(getattr(signal, name), x, x[:5, :5])
        attempt(signal.sosfilt, xp.ones((2, 6), dtype), x[0]), attempt(signal.resample_poly, x[0], 3, 2)
        for name in ("gamma", "gammaln", "erf", "erfinv", "digamma", "j0", "j1", "y0", "i0", "i1", "ndtr", "expit", "zeta"):
            attempt(getattr(special, name), *([x + 1] * (2 if name == "zeta" else 1)))


# ---- What needs no GPU: sources that are compiled and not run

TEMPLATE = "template <typename T> __global__ void "
TYPES = ("float", "double", "int")
KERNELS = {
    "saxpy": (TEMPLATE + "saxpy(int n, T a, const T* x, T* y) { int i = blockIdx.x * blockDim.x + threadIdx.x;"
              " if (i < n) y[i] += a * x[i]; }", [f"saxpy<{t}>" for t in TYPES]),
    "transpose": (TEMPLATE + "transpose(int n, const T* x, T* y) { __shared__ T tile[32][33]; int c = blockIdx.x * 32 + threadIdx.x,"
                  " r = blockIdx.y * 32 + threadIdx.y; if (c < n && r < n) tile[threadIdx.y][threadIdx.x] = x[r * n + c];"
                  " __syncthreads(); if (c < n && r < n) y[c * n + r] = tile[threadIdx.y][threadIdx.x]; }",
                  [f"transpose<{t}>" for t in TYPES]),
    "matmul": (TEMPLATE + "matmul(int n, const T* a, const T* b, T* c) { __shared__ T s[16][16], t[16][16]; T sum = 0;"
               " for (int k = 0; k < n; k += 16) { s[threadIdx.y][threadIdx.x] = a[(blockIdx.y * 16 + threadIdx.y) * n + k + threadIdx.x];"
               " t[threadIdx.y][threadIdx.x] = b[(k + threadIdx.y) * n + blockIdx.x * 16 + threadIdx.x]; __syncthreads();"
               " for (int i = 0; i < 16; ++i) sum += s[threadIdx.y][i] * t[i][threadIdx.x]; __syncthreads(); }"
               " c[(blockIdx.y * 16 + threadIdx.y) * n + blockIdx.x * 16 + threadIdx.x] = sum; }", [f"matmul<{t}>" for t in TYPES]),
    "stencil": (TEMPLATE + "stencil(int n, const T* x, T* y) { int i = blockIdx.x * blockDim.x + threadIdx.x + 3; if (i < n - 3) { T s = 0;"
                " for (int k = -3; k <= 3; ++k) s += x[i + k] * T(k); y[i] = s; } }", [f"stencil<{t}>" for t in TYPES]),
    "half": ("#include <cuda_fp16.h>\n__global__ void half_twice(__half* x) { x[threadIdx.x] = __hadd(x[threadIdx.x], x[threadIdx.x]); }",
             ["half_twice"]),
    "bodies": ("__global__ void bodies(int n, const float4* p, float3* f) { int i = blockIdx.x * blockDim.x + threadIdx.x; float3 a = {};"
               " for (int j = 0; j < n; ++j) { float x = p[j].x - p[i].x, y = p[j].y - p[i].y, z = p[j].z - p[i].z;"
               " float d = rsqrtf(x * x + y * y + z * z + 1e-3f); d = d * d * d * p[j].w; a.x += x * d; a.y += y * d; a.z += z * d; }"
               " f[i] = a; }", ["bodies"]),
}


def cuda_include():
    return "-I" + os.path.join(os.environ.get("CUDA_PATH", "/usr/local/cuda"), "include")


def compile_as_cupy(source, names=None, options=(), target="sm_90", method="cubin"):
    from cupy.cuda import compiler

    # CuPy gives every program a directory of its own, with a name that is new each time.
    with tempfile.TemporaryDirectory() as folder:
        made = compiler._NVRTCProgram(source, os.path.join(folder, "kernel.cu"), name_expressions=names, method=method)
        made.compile((*options, cuda_include(), "-arch=" + target))


def options_of_cupy():
    """As it compiles its own kernels: with the headers that it brings."""
    import cupy

    headers = os.path.join(os.path.dirname(cupy.__file__), "_core", "include")
    folders = [headers] + [os.path.join(headers, "cupy", "_cccl", part) for part in ("cub", "thrust", "libcudacxx")]
    return ("-std=c++17", "--device-as-default-execution-space", *("-I" + folder for folder in folders))


@program("compile_cupy")
def kernels_for_two_targets():
    from cupy.cuda import compiler  # noqa: F401

    for target, (source, names) in itertools.product(("sm_80", "sm_90"), KERNELS.values()):
        attempt(compile_as_cupy, source, names, ("-std=c++17",), target)


def sources_of(package):
    """The kernels that a package's Python files carry as text, without those that are filled in later."""
    for folder, _, files in sorted(os.walk(os.path.dirname(package.__file__))):
        for name in sorted(files):
            if not name.endswith(".py"):
                continue
            with open(os.path.join(folder, name)) as file:
                tree = attempt(ast.parse, file.read())
            for node in ast.walk(tree) if tree else ():
                if isinstance(node, ast.Constant) and isinstance(node.value, str) and "__global__" in node.value:
                    if "{" in node.value and not any(mark in node.value for mark in ("%s", "${", "%(", "{{", "hip/")):
                        yield os.path.relpath(folder, os.path.dirname(package.__file__)).split(os.sep)[0], node.value


def carried(wanted):
    import cupy
    import cupyx

    for package in (cupy, cupyx):
        for part, source in sources_of(package):
            if wanted(part):
                attempt(compile_as_cupy, source, None, options_of_cupy())


@program("compile_cupy")
def carried_by_scipy():
    carried(lambda part: part == "scipy")


@program("compile_cupy")
def carried_by_the_rest():
    carried(lambda part: part != "scipy")


ELEMENTWISE = """#include <cupy/complex.cuh>
#include <cupy/carray.cuh>
typedef {type} in0_type; typedef {type} out0_type;
extern "C" __global__ void cupy_{name}(const CArray<{type}, 1, 1, 1> _raw_in0, CArray<{type}, 1, 1, 1> _raw_out0, CIndexer<1, 1> _ind) {{
  CUPY_FOR(i, _ind.size()) {{ _ind.set(i); const in0_type in0(_raw_in0[_ind.get()]); out0_type &out0 = _raw_out0[_ind.get()]; {body}; }}
}}"""
BODIES = {"copy": "out0 = in0", "add": "out0 = in0 + in0", "square": "out0 = in0 * in0", "exp": "out0 = exp(in0)", "sqrt": "out0 = sqrt(in0)"}


def elementwise(types, bodies):
    for kind, body in itertools.product(types, bodies):
        source = ELEMENTWISE.format(type=kind, name=body, body=BODIES[body])
        attempt(compile_as_cupy, source, None, options_of_cupy())


@program("compile_cupy")
def elementwise_of_reals():
    elementwise(("float", "double"), BODIES)


@program("compile_cupy")
def elementwise_of_all():
    elementwise(("float", "double", "int", "long long", "unsigned char", "complex<float>"), ("copy", "add", "square"))


def compile_with_bindings(source, names, options):
    from cuda.bindings import nvrtc

    made = nvrtc.nvrtcCreateProgram(source.encode(), b"kernel.cu", 0, [], [])[1]
    for name in names:
        nvrtc.nvrtcAddNameExpression(made, name.encode())
    words = [word.encode() for word in (*options, cuda_include())]
    nvrtc.nvrtcCompileProgram(made, len(words), words)
    nvrtc.nvrtcDestroyProgram(made)


@program("bindings")
def one_target():
    for source, names in KERNELS.values():
        compile_with_bindings(source, names, ("-std=c++17", "-arch=sm_90"))


@program("bindings")
def three_targets():
    for target, (source, names) in itertools.product(("sm_80", "sm_90", "sm_100"), KERNELS.values()):
        compile_with_bindings(source, names, ("-std=c++17", "-arch=" + target))


@program("bindings")
def debug_and_release():
    for options, (source, names) in itertools.product((("-G",), ("-lineinfo",), ("-use_fast_math",), ()), KERNELS.values()):
        compile_with_bindings(source, names, ("-std=c++17", "-arch=sm_90", *options))


@program("bindings")
def cuda_core():
    try:
        from cuda.core import Program, ProgramOptions
    except ImportError:
        from cuda.core.experimental import Program, ProgramOptions
    for source, names in KERNELS.values():
        options = ProgramOptions(std="c++17", arch="sm_90", include_path=cuda_include()[2:])
        attempt(lambda: Program(source, "c++", options=options).compile("cubin", name_expressions=names))


# ---- PyTorch

@program("torch")
def special_functions():
    torch = torch_with_gpu()
    x = torch.linspace(0.1, 9.9, 100, device="cuda")
    for name, dtype in itertools.product(dir(torch.special), (torch.float32, torch.float64)):
        if not name.startswith("_"):
            for operands in (1, 2):
                attempt(lambda: getattr(torch.special, name)(*[x.to(dtype)] * operands))


@program("torch")
def jiterator():
    torch = torch_with_gpu()
    bodies = {"fused": "x * y + x", "gap": "abs(x - y)", "mean": "(x + y) / T(2)", "pick": "x > y ? x : y", "cube": "x * x * y"}
    for (name, body), dtype in itertools.product(bodies.items(), (torch.float32, torch.float64, torch.int32, torch.float16)):
        function = torch.cuda.jiterator._create_jit_fn(f"template <typename T> T {name}(T x, T y) {{ return {body}; }}")
        x = torch.ones(99, device="cuda", dtype=dtype)
        attempt(function, x, x)


@program("torch")
def complex_and_integers():
    torch = torch_with_gpu()
    for name, dtype in itertools.product(("sigmoid", "tanh", "exp", "log", "reciprocal", "sqrt", "prod", "sum", "abs", "sgn", "angle", "neg"),
                                         (torch.complex64, torch.complex128, torch.complex32)):
        attempt(lambda: getattr(torch, name)(torch.ones(99, device="cuda", dtype=dtype)))
    x = torch.arange(1, 99, device="cuda")
    for dtype in (torch.int8, torch.int16, torch.int32, torch.int64):
        attempt(torch.gcd, x.to(dtype), x.to(dtype)), attempt(torch.lcm, x.to(dtype), x.to(dtype))


@program("torch")
def scripted():
    torch = torch_with_gpu()
    attempt(torch._C._jit_set_texpr_fuser_enabled, True)

    def gelu(x, y):
        return x * 0.5 * (1.0 + torch.tanh(0.79788456 * (x + 0.044715 * x * x * x))) + y

    def swish(x, y):
        return x * torch.sigmoid(x) * y + torch.relu(y)

    def blend(x, y):
        return torch.clamp(x * 2 + y, 0.0, 1.0) - torch.exp(-x * x)

    for function, dtype in itertools.product((gelu, swish, blend), (torch.float32, torch.float64, torch.float16)):
        x = torch.rand(128, 64, device="cuda", dtype=dtype)
        scripted_one = torch.jit.script(function)
        for _ in range(4):  # profiled first, then fused
            attempt(scripted_one, x, x)


@program("torch")
def own_modules():
    torch = torch_with_gpu()
    if not hasattr(torch.cuda, "_compile_kernel"):
        raise Skipped("this PyTorch has no _compile_kernel")
    for i, body in enumerate(("x[i] *= 2", "x[i] += 1", "x[i] = x[i] * x[i]", "x[i] = sqrtf(x[i])", "x[i] = x[n - 1 - i]")):
        source = f'extern "C" __global__ void own{i}(float* x, int n) {{ int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) {body}; }}'
        attempt(torch.cuda._compile_kernel, source, f"own{i}")
    x = torch.rand(64, 64, device="cuda")
    torch.fft.fft2(x), torch.linalg.svd(x), torch.stft(x[0], 16, return_complex=True)


# ---- Triton

@program("triton")
def kernels():
    torch = torch_with_gpu()
    import triton_kernels

    triton_kernels.run(torch)


@program("triton")
def compiled_by_torch():
    torch = torch_with_gpu()

    def layer(x, w):
        return torch.nn.functional.gelu(x @ w).softmax(-1)

    def norm(x, w):
        return (x - x.mean(-1, keepdim=True)) * torch.rsqrt(x.var(-1, keepdim=True) + 1e-5) @ w

    def loss(x, w):
        return torch.nn.functional.mse_loss(torch.relu(x * 2 + 1), x.sin().cumsum(0))

    for function, rows in itertools.product((layer, norm, loss), (64, 200)):
        x = torch.rand(rows, 128, device="cuda")
        attempt(torch.compile(function, dynamic=False), x, torch.rand(128, 128, device="cuda"))


def main(name):
    try:
        PROGRAMS[name]()
    except (ImportError, Skipped) as error:
        print("skipped:", error)
        return 77
    return 0


if __name__ == "__main__":
    if len(sys.argv) == 2:
        sys.exit(main(sys.argv[1]))
    print("\n".join(PROGRAMS))

#!/usr/bin/env python3
"""How long Python programs take to start that compile kernels, in fresh processes.

  program_start.py HEARTH [cupy|cupy66|torch]      HEARTH is the command; exit 1 where the package or a GPU is missing

Cold; with the package's own cache warm; and under `hearth run` with a warm cache while the package's own is empty: in turn,
so that all see the same machine. The driver's cache is off. Prints medians in milliseconds: of the process, and of its steps.
"""

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

ROUNDS = 7
COLD_ROUNDS = 3
MODULE = r"""
#include <cuda_fp16.h>
extern "C" __global__ void saxpy(int n, float a, const float* x, float* y)
{ int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i] += a * x[i]; }
"""


def start_cupy(step):
    import cupy

    cupy.cuda.runtime.free(0)  # the context
    step("import")
    cupy.RawModule(code=MODULE, options=("-std=c++17",)).get_function("saxpy")
    step("RawModule")
    x = cupy.arange(1000, dtype=cupy.float32)
    y = cupy.ElementwiseKernel("float32 a, float32 b", "float32 c", "c = (a - b) * (a - b)", "squares")(x, x + 1)
    float(y.sum())
    step("elementwise")


def start_cupy_66(step):
    """66 kernels: six of each of eleven types."""
    import cupy

    cupy.cuda.runtime.free(0)  # the context
    step("import")
    for dtype in "bhilBHILefd":
        x = cupy.arange(100, dtype=dtype)
        x + x, x * x, x > 1, x.sum(), x.max()
    cupy.cuda.Device().synchronize()
    step("66 kernels")


def start_torch(step):
    import torch

    x = torch.linspace(0.1, 9.9, 1000, device="cuda")
    torch.cuda.synchronize()
    step("import")
    float(torch.special.bessel_j0(x).sum())
    float(torch.special.zeta(x + 1.5, x).sum())
    step("special functions")
    torch.cuda._compile_kernel('extern "C" __global__ void twice(float* x) { x[threadIdx.x] *= 2; }', "twice")
    step("_compile_kernel")


PROGRAMS = {"cupy": start_cupy, "cupy66": start_cupy_66, "torch": start_torch}


def child(program):
    at = [time.perf_counter()]
    steps = []

    def step(name):
        at.append(time.perf_counter())
        steps.append(f"{name}={(at[-1] - at[-2]) * 1e3}")

    PROGRAMS[program](step)
    print(";".join(steps))


def run(prefix, program, environment):
    start = time.perf_counter()
    ended = subprocess.run(
        prefix + [sys.executable, __file__, "child", program],
        capture_output=True,
        text=True,
        env={**os.environ, "CUDA_CACHE_DISABLE": "1", **environment},
    )
    wall = (time.perf_counter() - start) * 1e3
    if ended.returncode != 0:
        raise RuntimeError(ended.stderr)
    return {"process": wall, **{k: float(v) for k, v in (s.split("=") for s in ended.stdout.strip().split(";"))}}


def own_cache(folder):
    os.makedirs(folder, exist_ok=True)
    return {"CUPY_CACHE_DIR": folder, "PYTORCH_KERNEL_CACHE_PATH": folder}


def measure(hearth, program):
    with tempfile.TemporaryDirectory() as scratch:
        own, fresh, cache = (os.path.join(scratch, name) for name in ("own", "fresh", "hearth"))
        try:
            run([], program, own_cache(own))
        except RuntimeError as error:
            print(f"{program}: skipped: {str(error).strip().splitlines()[-1:]}", file=sys.stderr)
            return 1
        served = [hearth, "run", "--"]
        run(served, program, {**own_cache(fresh), "HEARTH_DIR": cache})
        ways = {
            "cold": ([], fresh, {}),
            "its own cache warm": ([], own, {}),
            "hearth run, warm": (served, fresh, {}),
        }
        if program.startswith("cupy"):
            ways["the same, no files"] = (served, fresh, {"CUPY_CACHE_IN_MEMORY": "1"})
        times = {name: [] for name in ways}
        for turn in range(ROUNDS):
            for name, (prefix, folder, more) in ways.items():
                if name == "cold" and turn >= COLD_ROUNDS:
                    continue
                shutil.rmtree(fresh, ignore_errors=True)
                times[name].append(run(prefix, program, {**own_cache(folder), "HEARTH_DIR": cache, **more}))
        steps = list(times["cold"][0])
        print(f"{program + ', ms':<22}" + "".join(f"{name:>19}" for name in steps))
        for name, rows in times.items():
            print(f"{name:<22}" + "".join(f"{statistics.median(row[s] for row in rows):>19.1f}" for s in steps))
    return 0


def main():
    chosen = sys.argv[2:] or list(PROGRAMS)
    return max(measure(sys.argv[1], program) for program in chosen)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    sys.exit(child(sys.argv[2]) if sys.argv[1] == "child" else main())

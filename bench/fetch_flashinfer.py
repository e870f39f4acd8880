#!/usr/bin/env python3
"""Fetches FlashInfer from the Python package index and writes down how it compiles its sampling.cu.

    bench/fetch_flashinfer.py FOLDER

FOLDER/command then has the command, a word a line, as FlashInfer's own ninja file has it for an H100 (sm_90a). It
takes two minutes and reads some 2,500 headers. With HEARTH_BENCH_FLASHINFER=FOLDER, `hearth_bench --only command` measures it.
"""

import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

PACKAGES = ["flashinfer-python==0.7.2.post1", "apache-tvm-ffi==0.1.15.post2"]


def main(folder):
    folder = Path(folder).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    wheels = folder / "wheels"
    fetch = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", wheels]
    subprocess.run([*fetch, *PACKAGES], check=True)
    for wheel in wheels.glob("*.whl"):
        zipfile.ZipFile(wheel).extractall(folder)
    data, ffi = folder / "flashinfer/data", folder / "tvm_ffi"
    command = ["/usr/local/cuda/bin/nvcc", "--generate-dependencies-with-compile", "-MF", f"{folder}/sampling.cuda.o.d"]
    command += [f"-I{data}/cccl/{name}" for name in ("cub", "libcudacxx/include", "thrust")]
    for system in (sysconfig.get_path("include"), "/usr/local/cuda/include", ffi / "include",
                   ffi / "3rdparty/dlpack/include", data / "include", data / "csrc", data / "cutlass/include",
                   data / "cutlass/tools/util/include", data / "spdlog/include"):
        command += ["-isystem", str(system)]
    command += ["--compiler-options=-fPIC", "--expt-relaxed-constexpr", "-static-global-template-stub=false",
                "-gencode=arch=compute_90a,code=sm_90a", "-DFLASHINFER_ENABLE_FP8_E8M0", "-DFLASHINFER_ENABLE_FP4_E2M1",
                "-std=c++17", "--threads=1", "-use_fast_math", "-Xfatbin=-compress-all", "--compress-mode=size",
                "-DFLASHINFER_ENABLE_F16", "-DFLASHINFER_ENABLE_BF16", "-DFLASHINFER_ENABLE_FP8_E4M3",
                "-DFLASHINFER_ENABLE_FP8_E5M2", "-DNDEBUG", "-O3",
                "-c", f"{data}/csrc/sampling.cu", "-o", f"{folder}/sampling.cuda.o"]
    (folder / "command").write_text("\n".join(command) + "\n")
    print(f"{folder}/command")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(sys.argv[1])

#!/usr/bin/env bash
cd "$(dirname "$0")"
nvidia-smi --query-gpu=name,driver_version --format=csv,noheader
cmake -G Ninja -B build-gpu -DCMAKE_BUILD_TYPE=RelWithDebInfo > $OUT/configure.log 2>&1 || tail -20 $OUT/configure.log
t=$SECONDS; cmake --build build-gpu --parallel 16 --target kernel_test kernel_gpu_test nvrtc_test compiler_opens_test ptx_test opencl_test cli_test hearth_bench hearth_tool kernel_demo compile_demo -- --quiet > $OUT/build.log 2>&1 || grep -E "error|FAILED" $OUT/build.log | head -20; echo "build $((SECONDS-t)) s"
for x in kernel_gpu_test compiler_opens_test ptx_test opencl_test cli_test; do echo "== $x"; timeout 100 build-gpu/tests/bin/$x --gtest_brief=1 > $OUT/$x.log 2>&1; tail -3 $OUT/$x.log; grep -E "FAILED|Failure|Skipped" $OUT/$x.log | sort | uniq -c | head -12; done
CS=/usr/local/cuda/bin/compute-sanitizer; ls $CS && timeout 120 $CS --tool memcheck --error-exitcode 9 build-gpu/tests/bin/kernel_gpu_test --gtest_brief=1 > $OUT/memcheck.log 2>&1; echo "memcheck rc $?"; tail -4 $OUT/memcheck.log
timeout 100 scripts/demo build-gpu 2>&1 | tee $OUT/demo.log
t=$SECONDS; timeout 150 build-gpu/hearth_bench --only nvrtc --only kernel --json $OUT/bench-kernel.json 2>&1 | tee $OUT/bench.log; python3 bench/cupy_rival.py; echo "bench $((SECONDS-t)) s"

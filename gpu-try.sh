#!/usr/bin/env bash
# one call: build, GPU tests, NVRTC tests, memory bench
cd "$(dirname "$0")"
nvidia-smi --query-gpu=name,driver_version --format=csv,noheader
cmake -G Ninja -B build-gpu -DCMAKE_BUILD_TYPE=RelWithDebInfo > $OUT/configure.log 2>&1 || tail -20 $OUT/configure.log
t=$SECONDS; cmake --build build-gpu --parallel 16 --target kernel_test kernel_gpu_test nvrtc_test headers_test compiler_opens_test hearth_bench hearth_tool -- --quiet > $OUT/build.log 2>&1 || grep -E "error|FAILED" $OUT/build.log | head -20; echo "build $((SECONDS-t)) s"
for x in kernel_gpu_test kernel_test headers_test compiler_opens_test nvrtc_test; do echo "== $x"; timeout 120 build-gpu/tests/bin/$x --gtest_brief=1 > $OUT/$x.log 2>&1; tail -3 $OUT/$x.log; grep -E "FAILED|Failure|Skipped" $OUT/$x.log | sort | uniq -c | head -20; done
t=$SECONDS; timeout 150 build-gpu/hearth_bench --only kernel --json $OUT/bench-kernel.json; echo "kernel bench $((SECONDS-t)) s"

# What people type. The work is CMake's (CMakePresets.json); every target first sees to the packages it needs.
.DEFAULT_GOAL := build
.PHONY: build wheel docs package test-package demo test test-as-user bench simulate test-gpu bench-gpu sanitize-gpu sanitize soak format lint clean help

JOBS ?= $(shell nproc 2>/dev/null || echo 2)
# A terminal gets ninja's one moving line; a log gets warnings and errors only.
QUIET := $(shell [ -t 1 ] || echo -- --quiet)
BUILD = cmake --build $(1) --parallel $(JOBS) --target $(2) $(QUIET)

build: ## build the library and the command, build/hearth
	@scripts/configure release build build
	@$(call BUILD,build,hearth hearth_tool)
	@echo "build/hearth is ready: try build/hearth --help"

wheel: ## build the Python package, dist/hearth_cache-*.whl, and test it in an empty environment
	@scripts/configure release build build wheel
	@$(call BUILD,build,hearth hearth_tool)
	@scripts/build-wheel

docs: ## make the API reference from the headers, build/docs/api/index.html; a warning of Doxygen is an error
	@scripts/install-deps docs
	@mkdir -p build/docs
	@doxygen docs/Doxyfile
	@echo "build/docs/api/index.html is ready"

package: ## build packages in dist/: Debian's, a tarball that runs anywhere, debug information, the wheel
	@scripts/configure release build build package
	@$(call BUILD,build,hearth hearth_tool)
	@scripts/build-package build
	@scripts/build-wheel

test-package: ## install the Debian packages of dist/ in a clean root (debootstrap, as root) and try them
	@scripts/install-deps build package
	@scripts/test-package build

demo: ## compile kernels through the cache, cold and then warm; then an incremental build with its IR in device memory
	@scripts/configure release build build demo
	@$(call BUILD,build,hearth_tool kernel_demo incremental_build)
	@scripts/demo build

test: ## build and run every test
	@scripts/configure release build build test
	@$(call BUILD,build,hearth_tests)
	@scripts/run-tests release --parallel $(JOBS)

test-as-user: ## run the tests again that meet permissions, as an ordinary user (by root, after make test)
	@scripts/run-tests --as-user

bench: ## measure beside floors and rivals; prints one table, what was missed, and writes build/bench.json
	@scripts/configure release build build bench
	@$(call BUILD,build,hearth_bench)
	@build/hearth_bench --json build/bench.json $(BENCH)

simulate: ## a fleet of 10,000 nodes that starts at once, in virtual time (docs/scaling.md)
	@scripts/configure release build build
	@$(call BUILD,build,hearth_fleet_simulation)
	@build/hearth_fleet_simulation

test-gpu: ## the tests that launch kernels, on a machine with a GPU
	@scripts/test-gpu --jobs $(JOBS) test

bench-gpu: ## the benchmarks that want a GPU, beside the driver, NVRTC and CuPy; writes build-gpu/bench-gpu.json
	@scripts/test-gpu --jobs $(JOBS) bench

sanitize-gpu: ## the tests that launch kernels under compute-sanitizer's memcheck, on a machine with a GPU
	@scripts/test-gpu --jobs $(JOBS) sanitize

sanitize: ## the tests again under AddressSanitizer + UBSan, then under ThreadSanitizer
	@scripts/configure asan-ubsan build-asan build test
	@$(call BUILD,build-asan,hearth_tests)
	@scripts/run-tests asan-ubsan --parallel $(JOBS)
	@scripts/configure tsan build-tsan build test
	@$(call BUILD,build-tsan,hearth_tests)
	@scripts/run-tests tsan --parallel $(JOBS)

soak: ## everything at once for HEARTH_SOAK_MINUTES (5), then the tests with their long parts HEARTH_SOAK (20) times as long
	@scripts/configure release build build test
	@$(call BUILD,build,hearth_tests hearth_soaks)
	@ctest --preset soak -L '^soak$$' --verbose --no-tests=ignore
	@cmake -D HEARTH_TEST_TIMEOUT_FACTOR=1000 build >/dev/null
	@status=0; HEARTH_SOAK=$${HEARTH_SOAK:-20} HEARTH_WHOLE_MATRIX=1 ctest --preset soak -LE '^soak$$' --parallel $(JOBS) || status=$$?; \
	cmake -D HEARTH_TEST_TIMEOUT_FACTOR=1 build >/dev/null; exit $$status

format: ## rewrite the sources as .clang-format wants them
	@scripts/install-deps lint
	@scripts/lint --format-in-place

lint: ## check the format (clang-format) and the code (clang-tidy)
	@scripts/configure release build build lint
	@scripts/lint --jobs $(JOBS) build

clean: ## remove everything that was built
	@rm -rf build build-debug build-gpu build-asan build-tsan dist

help: ## list these targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/\1|\2/p' $(MAKEFILE_LIST) | while IFS='|' read -r name text; do printf '  make %-12s %s\n' "$$name" "$$text"; done

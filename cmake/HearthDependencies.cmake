# Finds what Hearth is built on. What the core needs is required. Optional parts switch themselves off and say so.
find_package(Threads REQUIRED)
find_package(OpenSSL 3.0 REQUIRED COMPONENTS Crypto)
find_package(fmt REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(zstd REQUIRED IMPORTED_TARGET libzstd)
# For remote stores. A store whose library is missing is left out.
find_package(OpenSSL 3.0 QUIET COMPONENTS SSL)
pkg_check_modules(curl QUIET IMPORTED_TARGET libcurl>=7.85)
find_package(EXPAT QUIET)
# For the command only.
pkg_check_modules(libelf QUIET IMPORTED_TARGET libelf)
pkg_check_modules(utf8proc QUIET IMPORTED_TARGET libutf8proc)
pkg_check_modules(microhttpd QUIET IMPORTED_TARGET libmicrohttpd>=0.9.75)

# xxhash.h is used as a header only: it brings no symbol into the host program.
find_path(HEARTH_XXHASH_DIR xxhash.h HINTS "${HEARTH_EXTRA_INCLUDE}")
if(HEARTH_XXHASH_DIR)
  set(HEARTH_HAVE_XXHASH ON)
else()
  set(HEARTH_HAVE_XXHASH OFF)
  message(STATUS "xxhash.h not found: entries are written with SHA-256 checksums, and XXH3 ones are misses")
endif()

# OpenCL's types and codes. Its library is loaded at run time, and nothing is linked with it.
find_path(HEARTH_CL_DIR CL/cl.h HINTS "${HEARTH_EXTRA_INCLUDE}" $ENV{CUDA_HOME}/include /usr/local/cuda/include REQUIRED)

# Code that need not be fast is built quickly instead: tests without optimisation, the command with little.
set(HEARTH_TEST_OPTIMISATION "$<$<CONFIG:RelWithDebInfo>:-O0>")
set(HEARTH_TOOL_OPTIMISATION "$<$<CONFIG:RelWithDebInfo>:-O1>")

add_library(hearth_options INTERFACE)
target_compile_options(hearth_options INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wnon-virtual-dtor)
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  # GCC looks for memory to reuse once it has taken 128 MB, which costs a tenth of the time here.
  target_compile_options(hearth_options INTERFACE -pipe "SHELL:--param ggc-min-heapsize=524288")
endif()
if(CMAKE_CXX_COMPILER_ID MATCHES Clang)
  # In clang -Wconversion warns of signs too, and this of the structures of kernels that end in an array.
  target_compile_options(hearth_options INTERFACE -Wno-sign-conversion -Wno-flexible-array-extensions)
endif()
if(HEARTH_UNITY)
  # A fixture in a source's anonymous namespace is no mistake, even if sources are compiled together. Only GCC warns.
  target_compile_options(hearth_options INTERFACE $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
endif()
if(HEARTH_SANITIZE)
  target_compile_options(hearth_options INTERFACE -fsanitize=${HEARTH_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  # A program that loads a C library has types of its own for what is opaque, which clang takes for a mistake.
  target_compile_options(hearth_options INTERFACE $<$<CXX_COMPILER_ID:Clang>:-fno-sanitize=function>)
  target_link_options(hearth_options INTERFACE -fsanitize=${HEARTH_SANITIZE})
  # GCC and clang tell a source in different ways which sanitizer it is compiled with.
  if(HEARTH_SANITIZE STREQUAL "thread")
    target_compile_definitions(hearth_options INTERFACE HEARTH_HAS_TSAN=1)
  else()
    target_compile_definitions(hearth_options INTERFACE HEARTH_HAS_ASAN=1)
  endif()
endif()
if(HEARTH_EXTRA_INCLUDE)
  target_include_directories(hearth_options SYSTEM INTERFACE "${HEARTH_EXTRA_INCLUDE}")
endif()

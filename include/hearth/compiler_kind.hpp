#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace hearth {

// The compilers that statistics tell apart. Everybody else's is `other`: a table of them must not grow without bound.
enum class CompilerKind : std::uint8_t {
    nvrtc,
    nvjitlink,
    nvvm,
    driver,
    opencl,
    nvcc,
    ptxas,
    cicc,
    cudafe,
    tileiras,
    cxx,  // gcc and clang
    hipcc,
    command,  // any other that is a program
    triton,
    inductor,
    jax,
    cuda_core,
    other,
};
inline constexpr std::size_t k_compiler_kinds = 18;

struct CompilerName {
    std::string_view first_word;  // of Metadata::compiler
    std::string_view name;        // as statistics and metrics show it; never changes
};
// By CompilerKind.
inline constexpr std::array<CompilerName, k_compiler_kinds> k_compiler_names{{
    {"nvrtc", "nvrtc"},
    {"nvjitlink", "nvjitlink"},
    {"nvvm", "nvvm"},
    {"cuda", "driver"},
    {"opencl", "opencl"},
    {"nvcc", "nvcc"},
    {"ptxas", "ptxas"},
    {"cicc", "cicc"},
    {"cudafe++", "cudafe"},
    {"tileiras", "tileiras"},
    {"c++", "c++"},
    {"hipcc", "hipcc"},
    {"command", "command"},
    {"triton", "triton"},
    {"inductor", "inductor"},
    {"jax", "jax"},
    {"cuda.core", "cuda.core"},
    {"", "other"},
}};

constexpr std::string_view to_string(CompilerKind kind)
{
    return k_compiler_names[static_cast<std::size_t>(kind)].name;
}

// "nvrtc 13.0" -> nvrtc
constexpr CompilerKind compiler_kind_of(std::string_view compiler)
{
    const std::string_view first = compiler.substr(0, compiler.find(' '));
    for (std::size_t i = 0; i + 1 < k_compiler_kinds; ++i)
        if (k_compiler_names[i].first_word == first)
            return static_cast<CompilerKind>(i);
    return CompilerKind::other;
}

}  // namespace hearth

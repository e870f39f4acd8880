#pragma once

#include <array>
#include <string_view>

// The programs that are known to be compilers, by their names. Header only, and nothing that needs the C++ library: the
// drop-in that meets programs where they are started has libc alone.

namespace hearth::command {

inline constexpr std::array<std::string_view, 1> k_program_nvcc{"nvcc"};
inline constexpr std::array<std::string_view, 1> k_program_hipcc{"hipcc"};
inline constexpr std::array<std::string_view, 2> k_program_ptxas{"ptxas", "ptxas-blackwell"};
inline constexpr std::array<std::string_view, 1> k_program_cicc{"cicc"};
inline constexpr std::array<std::string_view, 1> k_program_cudafe{"cudafe++"};
inline constexpr std::array<std::string_view, 1> k_program_tileiras{"tileiras"};
inline constexpr std::array<std::string_view, 6> k_program_cxx{"gcc", "g++", "cc", "c++", "clang", "clang++"};

// "/usr/bin/x86_64-linux-gnu-g++-12" is "g++".
constexpr std::string_view plain_name(std::string_view program)
{
    program.remove_prefix(program.find_last_of('/') + 1);
    const std::size_t dash = program.find_last_of('-');
    if (dash != std::string_view::npos && dash + 1 < program.size() &&
        program.find_first_not_of("0123456789.", dash + 1) == std::string_view::npos)
        program = {program.data(), dash};
    if (program == "as" || program.ends_with("-as"))
        return "as";
    if (program.ends_with("-ld.bfd"))
        return "ld.bfd";
    for (const std::string_view name : k_program_cxx)
        if (program.ends_with(name) && program.size() > name.size() && program[program.size() - name.size() - 1] == '-')
            return name;
    return program;
}

constexpr bool is_one_of(const auto& names, std::string_view name)
{
    for (const std::string_view each : names)
        if (each == name)
            return true;
    return false;
}

constexpr bool names_compiler(std::string_view program)
{
    const std::string_view name = plain_name(program);
    return is_one_of(k_program_nvcc, name) || is_one_of(k_program_hipcc, name) || is_one_of(k_program_ptxas, name) ||
           is_one_of(k_program_tileiras, name) || is_one_of(k_program_cxx, name) || is_one_of(k_program_cicc, name);
}

// Those that nvcc starts, whose work is worth to be kept by itself: a new target, or an edit that only one of them
// sees, leaves the others' as it was. (The host compiler's holds the work of all others.)
constexpr bool names_step(std::string_view program)
{
    const std::string_view name = plain_name(program);
    return is_one_of(k_program_cicc, name) || is_one_of(k_program_cudafe, name) || is_one_of(k_program_ptxas, name);
}

}  // namespace hearth::command

#pragma once

#include "hearth/nvrtc.hpp"
#include "terminal/command_line.hpp"

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace hearth::cli {

// The arguments of 'compile' and 'why': the same arguments give the same request.
struct CompileArguments {
    std::vector<std::string> files;
    std::vector<std::string> targets;  // --target; empty: jobs_of() chooses
    std::vector<std::string> include_directories;
    std::vector<std::string> defines;
    std::vector<std::string> name_expressions;
    std::vector<std::string> options;  // what follows "--", passed to the compiler unchanged
    bool lto = false;                  // NVRTC is to give LTO-IR
    std::uint64_t max_source_bytes = UINT64_MAX;
};

// A source is no entry: one that is larger than entries may be is compiled and not kept.
inline constexpr std::uint64_t k_max_source_bytes = std::uint64_t{256} << 20U;

enum class Files : unsigned char { one, several };
void add_compile_arguments(Command& command, CompileArguments& arguments, Files files);

// Whether one of the options that follow "--" begins so.
bool has_option(const CompileArguments& arguments, std::initializer_list<std::string_view> beginnings);

// The program that a .cu file and these arguments describe. Fails with a sentence when the file cannot be read.
nvrtc::Program program_of(const CompileArguments& arguments, const std::string& file, const std::string& target);

}  // namespace hearth::cli

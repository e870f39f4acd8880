#include "build/compile_arguments.hpp"

#include "process/file_io.hpp"
#include "terminal/command_line.hpp"

#include <algorithm>

namespace hearth::cli {

void add_compile_arguments(Command& command, CompileArguments& arguments, Files files)
{
    if (files == Files::several)
        command.list("FILE", arguments.files, "Sources: .cu, .ptx, .cl").required();
    else
        command.text("FILE", arguments.files.emplace_back(), "A source: .cu, .ptx or .cl").required();
    command.repeated("--target,--arch", arguments.targets, Commas::separate,
                     "Targets: sm_90, compute_80, ..., or for .cl a device's name; otherwise this machine's first "
                     "device, or without one the newest that NVRTC knows",
                     "TARGET");
    command.repeated("-I,--include", arguments.include_directories, Commas::belong,
                     "Where to look for headers, in this order", "DIR");
    command.repeated("-D,--define", arguments.defines, Commas::belong, "Define a macro: X or X=1", "X");
    command.repeated("--name-expr", arguments.name_expressions, Commas::belong,
                     "A template instance to compile, such as 'scale<float>'", "E");
    command.hands_on(arguments.options, "[-- OPTIONS]", "compiler's options", "saxpy.cu -- -std=c++20");
}

bool has_option(const CompileArguments& arguments, std::initializer_list<std::string_view> beginnings)
{
    return std::any_of(arguments.options.begin(), arguments.options.end(), [&](const std::string& option) {
        return std::any_of(beginnings.begin(), beginnings.end(),
                           [&](std::string_view beginning) { return option.starts_with(beginning); });
    });
}

nvrtc::Program program_of(const CompileArguments& arguments, const std::string& file, const std::string& target)
{
    nvrtc::Program program;
    program.source = read_whole(file, arguments.max_source_bytes).text();
    program.name = file;
    for (const std::string& directory : arguments.include_directories)
        program.options.push_back("-I" + directory);
    for (const std::string& define : arguments.defines)
        program.options.push_back("-D" + define);
    if (arguments.lto && !has_option(arguments, {"-dlto", "--dlink-time-opt"}))
        program.options.emplace_back("-dlto");
    program.options.insert(program.options.end(), arguments.options.begin(), arguments.options.end());
    program.name_expressions = arguments.name_expressions;
    program.target = target;
    return program;
}

}  // namespace hearth::cli

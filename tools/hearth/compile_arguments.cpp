#include "compile_arguments.hpp"

#include "commands.hpp"
#include "file_io.hpp"
#include "machine.hpp"

namespace hearth::cli {

void add_compile_arguments(CommandLine& line, CLI::App& command, CompileArguments& arguments, bool several_files)
{
    CLI::Option* files = command
                             .add_option("FILE", arguments.files,
                                         several_files ? "Sources: .cu, .ptx, .cl" : "A source: .cu, .ptx or .cl")
                             ->required()
                             ->type_name("");
    if (!several_files)
        files->expected(1);
    command
        .add_option("--arch", arguments.targets,
                    "Targets: sm_90, compute_80, ..., for .cl a device's name; several with commas (otherwise this "
                    "machine's first device)")
        ->delimiter(',')
        ->type_name("TARGET");
    command.add_option("-I,--include", arguments.include_directories, "Where to look for headers, in this order")
        ->type_name("DIR")
        ->allow_extra_args(false);
    command.add_option("-D,--define", arguments.defines, "Define a macro: X or X=1")
        ->type_name("X")
        ->allow_extra_args(false);
    command
        .add_option("--name-expr", arguments.name_expressions, "A template instance to compile, such as 'scale<float>'")
        ->type_name("E")
        ->allow_extra_args(false);
    line.rest_of[command.get_name()] = &arguments.options;
}

std::vector<std::string> targets_of(const CompileArguments& arguments)
{
    if (!arguments.targets.empty())
        return arguments.targets;
    return {find_gpus().empty() ? "" : "device"};
}

nvrtc::Program program_of(const CompileArguments& arguments, const std::string& file, const std::string& target)
{
    nvrtc::Program program;
    program.source = read_whole(file).text();
    program.name = file;
    for (const std::string& directory : arguments.include_directories)
        program.options.push_back("-I" + directory);
    for (const std::string& define : arguments.defines)
        program.options.push_back("-D" + define);
    program.options.insert(program.options.end(), arguments.options.begin(), arguments.options.end());
    program.name_expressions = arguments.name_expressions;
    program.target = target;
    return program;
}

}  // namespace hearth::cli

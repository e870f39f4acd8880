#include "commands.hpp"
#include "exit.hpp"
#include "output.hpp"
#include "run_child.hpp"
#include "text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <new>
#include <string>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

namespace hearth::cli {

namespace {

// A descriptor that our caller closed would be given to the first file the cache opens, and our output would
// end up in it. Opened the wrong way round, each of these fails as a closed one does.
void occupy_standard_streams()
{
    for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
        if (::fcntl(descriptor, F_GETFD) < 0)
            (void)::open("/dev/null", descriptor == STDIN_FILENO ? (O_WRONLY | O_CLOEXEC) : (O_RDONLY | O_CLOEXEC));
}

int say_usage(const CommandLine& line, const CLI::ParseError& error)
{
    // The command as far as it was understood, and whether another word was to follow.
    const CLI::App* at = &line.app;
    std::string command = at->get_name();
    while (!at->get_subcommands().empty()) {
        at = at->get_subcommands().front();
        command += " " + at->get_name();
    }
    if (at->get_require_subcommand_min() > 0) {
        const std::vector<std::string> words = line.app.remaining(true);
        if (words.empty() && error.get_name() == "RequiredError") {
            std::fputs(at->help().c_str(), stderr);
            return k_usage;
        }
        if (!words.empty()) {
            complain(fmt::format("There is no {} {}. '{} --help' lists what there is.",
                                 words.front().substr(0, 1) == "-" ? "option" : "command", in_quotes(words.front()),
                                 command));
            return k_usage;
        }
    }
    if (dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr && line.rest_of.contains(at->get_name())) {
        complain(fmt::format("Put -- before the {}, as in: {} -- {}", at->get_name() == "run" ? "command" : "arguments",
                             command, at->get_name() == "run" ? "python train.py" : "--gpu-name=sm_90 kernel.ptx"));
        return k_usage;
    }
    std::string what = printable(error.what());
    if (!what.empty() && what.back() != '.')
        what += '.';
    complain(fmt::format("{} '{} --help' shows what it takes.", what, command));
    return k_usage;
}

int run(int argc, char** argv)
{
    CommandLine line;
    for (const auto add : {add_run,    add_ptxas,  add_compile, add_why,    add_put,          add_get,     add_ls,
                           add_show,   add_stats,  add_gc,      add_verify, add_rm,           add_clear,   add_export,
                           add_import, add_bundle, add_recipes, add_build,  add_build_worker, add_prewarm, add_push,
                           add_pull,   add_remote, add_keygen,  add_doctor, add_config})
        add(line);
    std::vector<std::string> words(argv + 1, argv + argc);
    line.take_rest(words);
    std::reverse(words.begin(), words.end());  // as the parser wants them
    try {
        line.app.parse(words);
    } catch (const CLI::CallForHelp&) {
        write_out(line.app.help());
        return k_done;
    } catch (const CLI::CallForVersion& version) {
        print_out("{}\n", version.what());
        return k_done;
    } catch (const CLI::ParseError& error) {
        return say_usage(line, error);
    }
    return line.chosen();
}

int run_and_explain(int argc, char** argv)
{
    try {
        const int code = run(argc, argv);
        finish_output();
        return code;
    } catch (const Failure& failure) {
        complain(failure.sentence);
        return failure.code;
    } catch (const ReaderLeft&) {
        return k_done;  // whoever asked has seen enough
    } catch (const std::bad_alloc&) {
        complain("There is not enough memory for this. Free some, or raise the limit (ulimit -v).");
        return k_failure;
    } catch (const std::exception& error) {
        complain(fmt::format("Something went wrong that should not: {}. Please report it.", error.what()));
        return k_failure;
    }
}

}  // namespace

}  // namespace hearth::cli

int main(int argc, char** argv)
{
    hearth::cli::set_signals();
    hearth::cli::occupy_standard_streams();
    return hearth::cli::run_and_explain(argc, argv);
}

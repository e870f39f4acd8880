#include "commands/commands.hpp"
#include "process/child.hpp"
#include "terminal/exit.hpp"
#include "terminal/output.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <new>

#include <fcntl.h>
#include <unistd.h>

namespace hearth::cli {

namespace {

// If our caller closed a standard stream, the first file that the cache opens would get its descriptor, and our output
// would end up in it. These replacements are opened the wrong way round, so that they fail as a closed stream does.
void occupy_standard_streams()
{
    for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
        if (::fcntl(descriptor, F_GETFD) < 0)
            (void)::open("/dev/null", descriptor == STDIN_FILENO ? (O_WRONLY | O_CLOEXEC) : (O_RDONLY | O_CLOEXEC));
}

int run_and_explain(int argc, char** argv)
{
    try {
        const int code = run_command(argc > 0 ? argv[0] : "", {argv + std::min(argc, 1), argv + argc});
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
        complain(fmt::format("This should never happen: {}. Please report it.", error.what()));
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

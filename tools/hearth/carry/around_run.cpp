#include "carry/around_run.hpp"

#include "base/priority.hpp"
#include "base/ready_mark.hpp"
#include "cache/open_cache.hpp"
#include "carry/captures.hpp"
#include "carry/identity.hpp"
#include "carry/restore.hpp"
#include "process/child.hpp"
#include "terminal/exit.hpp"
#include "terminal/output.hpp"
#include "terminal/system_error.hpp"
#include "terminal/text.hpp"
#include "terminal/times.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

namespace hearth::cli::carry {

namespace {

bool has_server(const Globals& globals)
{
    const auto& remotes = settings_of(globals).options.remotes;
    return remotes && !remotes->empty();
}

void restore_one(Cache& cache, const Wanted& wanted, const Progress& progress)
{
    const auto located = or_fail(locate(cache, wanted, Keeper::this_machine, {}));
    if (!located)
        return;
    if (!located->foreign.empty()) {
        warn(fmt::format("{} is not restored: the last capture is of another kind: {}.", wanted.place.name,
                         located->foreign.front()));
        return;  // what is captured afterwards does not replace it
    }
    or_fail(restore(cache, *located, wanted.place.directory, Existing::keep, progress));
}

// Words of `hearth carry` about these directories.
std::vector<std::string> words_for(const char* part, const Globals& globals, const AroundRun& around)
{
    std::vector<std::string> words{"hearth", "carry", part, "--json", "--program", around.program};
    if (globals.directory)
        words.insert(words.end(), {"--dir", *globals.directory});
    return words;
}

// Whether that came in time. What is read is for nobody.
bool reads_to_the_end(int pipe, std::chrono::steady_clock::time_point until)
{
    for (std::array<char, 4096> buffer{};;) {
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - std::chrono::steady_clock::now());
        pollfd waiting{pipe, POLLIN, 0};
        const int ready = left.count() > 0 ? ::poll(&waiting, 1, static_cast<int>(left.count())) : 0;
        if (ready == 0)
            return false;
        if (ready > 0 && ::read(pipe, buffer.data(), buffer.size()) == 0)
            return true;
    }
}

// In a process of its own, since a server may take longer than there is time. Whether the server was asked for all.
bool pull_in_time(const Globals& globals, const AroundRun& around, std::chrono::steady_clock::time_point until)
{
    std::vector<std::string> words = words_for("pull", globals, around);
    words.emplace_back("--newer");
    words.insert(words.end(), around.names.begin(), around.names.end());
    Result<Child> child = Child::start(words, {.out = Stream::piped, .program = "/proc/self/exe"});
    if (!child) {
        warn(child.error().message);
        return false;
    }
    const bool in_time = reads_to_the_end(child->out(), until);
    if (!in_time)
        ::kill(child->id(), SIGKILL);
    const Result<ChildEnd> end = child->wait();
    if (!in_time)
        warn(fmt::format("The server had no answer in time (--carry-limit, {}). What is here is restored.",
                         show_duration(around.limit)));
    const bool asked = in_time && end && end->signal == 0 && end->code == k_done;
    if (in_time && !asked)
        warn("The directories are not pulled from the server, and what is captured will not be pushed.");
    return asked;
}

// In a child that has just been forked. Does not return.
[[noreturn]] void become_capture(std::vector<char*>& arguments)
{
    ::setsid();
    // It is no part of the run any more.
    for (const char* name : {base::k_ready_variable, "HEARTH_RUN_LOG"})
        ::unsetenv(name);
    base::step_back();
    // What goes wrong is told on the run's standard error, also when the run has ended.
    const int null = ::open("/dev/null", O_RDWR);
    for (const int stream : {STDIN_FILENO, STDOUT_FILENO})
        ::dup2(null, stream);
    ::close_range(STDERR_FILENO + 1, ~0U, 0);
    ::execv("/proc/self/exe", arguments.data());
    ::_exit(k_failure);
}

}  // namespace

AroundRun restore_before(const Globals& globals, AroundRun around)
{
    if (around.names.empty())
        return around;
    std::erase_if(around.names, [](const std::string& name) {
        try {
            static_cast<void>(place_of(name));
            return false;
        } catch (const Failure& failure) {
            if (failure.code == k_usage)
                throw;
            warn(fmt::format("{} is not restored: {}", printable(name), failure.sentence));
            return true;
        }
    });
    if (around.names.empty())
        return around;
    const auto now = std::chrono::steady_clock::now();
    const auto until = now + around.limit;
    // What is here needs less time than the server, and more than none.
    around.push = has_server(globals) && pull_in_time(globals, around, now + around.limit * 3 / 4);
    const Progress progress = [until](std::uint64_t, std::uint64_t) {
        return std::chrono::steady_clock::now() < until;
    };
    std::optional<Cache> cache;
    std::erase_if(around.names, [&](const std::string& name) {
        try {
            const Place place = place_of(name);
            if (!cache)
                cache.emplace(open_cache(globals, Use::read));  // with its bundles
            const Wanted wanted{place, identity_of(place, {.target = {}, .identity = {}, .program = around.program})};
            restore_one(*cache, wanted, progress);
            return false;
        } catch (const Failure& failure) {
            warn(fmt::format("{} is not restored, and will not be captured: {}", printable(name), failure.sentence));
            return true;
        }
    });
    return around;
}

void capture_after(const Globals& globals, const AroundRun& around)
{
    if (around.names.empty())
        return;
    std::vector<std::string> words = words_for("capture", globals, around);
    if (around.push)
        words.emplace_back("--push");
    words.insert(words.end(), around.names.begin(), around.names.end());
    std::vector<char*> arguments;
    arguments.reserve(words.size() + 1);
    for (std::string& word : words)
        arguments.push_back(word.data());
    arguments.push_back(nullptr);

    const pid_t child = ::fork();
    if (child == 0)
        become_capture(arguments);
    if (child < 0)
        warn(fmt::format("The directories are not captured: no process can be started ({}).", system_error(errno)));
    else if (::getpid() == 1)
        while (::waitpid(child, nullptr, 0) < 0 && errno == EINTR)
            ;
}

}  // namespace hearth::cli::carry

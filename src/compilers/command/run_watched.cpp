#include "compilers/command/run_watched.hpp"

#include "base/error.hpp"
#include "base/wire.hpp"
#include "compilers/command/linked_paths.hpp"
#include "watch/tree_record.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace hearth::command {

namespace {

class Descriptor {
public:
    Descriptor() = default;
    explicit Descriptor(int value) : m_value(value) {}
    ~Descriptor() { close(); }
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;

    int get() const { return m_value; }
    void set(int value)
    {
        close();
        m_value = value;
    }
    void close()
    {
        if (m_value >= 0)
            ::close(m_value);
        m_value = -1;
    }

private:
    int m_value = -1;
};

struct Pipe {
    Descriptor ours;
    Descriptor theirs;

    bool open()
    {
        int ends[2];
        if (::pipe2(ends, O_CLOEXEC) != 0)
            return false;
        ours.set(ends[0]);
        theirs.set(ends[1]);
        return true;
    }
};

void write_whole(int descriptor, std::string_view text)
{
    while (!text.empty()) {
        const ssize_t written = ::write(descriptor, text.data(), text.size());
        if (written < 0 && errno != EINTR && errno != EAGAIN)
            return;  // whoever reads it has left: the program would have been told so by a signal
        if (written > 0)
            text.remove_prefix(static_cast<std::size_t>(written));
    }
}

// Until both pipes are closed, or the program has ended and they are empty: what it has started may live on, and hold
// them open. Whether both were closed.
bool pass_on(std::array<Pipe, 2>& pipes, pid_t process, bool quiet, base::WireWriter& kept)
{
    const Descriptor ended(static_cast<int>(::syscall(SYS_pidfd_open, process, 0)));
    std::array<pollfd, 3> waits{pollfd{pipes[0].ours.get(), POLLIN, 0}, pollfd{pipes[1].ours.get(), POLLIN, 0},
                                pollfd{ended.get(), POLLIN, 0}};
    std::array<char, 65536> buffer;
    while (waits[0].fd >= 0 || waits[1].fd >= 0) {
        const int ready = ::poll(waits.data(), waits.size(), waits[2].fd >= 0 || ended.get() < 0 ? -1 : 0);
        if (ready == 0 || (ready < 0 && errno != EINTR))
            return false;
        if (ready > 0 && waits[2].revents != 0)
            waits[2].fd = -1;
        for (std::size_t i = 0; i < pipes.size(); ++i) {
            if (ready < 0 || waits[i].fd < 0 || waits[i].revents == 0)
                continue;
            const ssize_t count = ::read(waits[i].fd, buffer.data(), buffer.size());
            if (count < 0 && errno == EINTR)
                continue;
            if (count <= 0) {
                waits[i].fd = -1;
                continue;
            }
            const std::string_view text(buffer.data(), static_cast<std::size_t>(count));
            kept.number(static_cast<std::uint8_t>(i + 1));
            kept.prefixed<std::uint32_t>(text);
            if (!quiet)
                write_whole(static_cast<int>(i) + 1, text);
        }
    }
    return true;
}

// Of the pipe, if it stands for a terminal, or for what stands for one itself. 0: it does not.
std::uint64_t stands_for_terminal(const Watching& watching, int stream, const Pipe& pipe)
{
    struct stat status {};
    const bool is_one = watching.quiet ? watching.as_terminals[static_cast<std::size_t>(stream) - 1]
                                       : ::isatty(stream) != 0 || is_terminal_of_tree(stream, watching.step_of);
    return is_one && ::fstat(pipe.theirs.get(), &status) == 0 ? status.st_ino : 0;
}

// The value of the variable that tells recorders where to write.
std::string tree_of(const Watching& watching, int log, const std::array<Pipe, 2>& pipes)
{
    std::error_code ignored;
    return fmt::format(
        "/proc/{}/fd/{}:{}:{}:{}", ::getpid(), log, stands_for_terminal(watching, STDOUT_FILENO, pipes[0]),
        stands_for_terminal(watching, STDERR_FILENO, pipes[1]), std::filesystem::current_path(ignored).string());
}

std::vector<std::string> environment_with(const Watching& watching, const std::string& tree)
{
    std::vector<std::string> all;
    std::string preload = "LD_PRELOAD=" + watching.recorder;
    for (char** each = environ; each != nullptr && *each != nullptr; ++each) {
        const std::string_view text(*each);
        const std::string_view name = text.substr(0, text.find('='));
        if (name == "LD_PRELOAD")
            preload.append(":").append(text.substr(std::strlen("LD_PRELOAD=")));
        else if (name != watch::k_tree_log_variable && name != watch::k_steps_variable &&
                 (name != watch::k_links_variable || !watching.step_of.empty()))
            all.emplace_back(text);
    }
    all.push_back(std::move(preload));
    all.push_back(fmt::format("{}={}", watch::k_tree_log_variable, tree));
    return all;
}

std::vector<char*> pointers(std::vector<std::string>& texts)
{
    std::vector<char*> list;
    list.reserve(texts.size() + 1);
    for (std::string& text : texts)
        list.push_back(text.data());
    list.push_back(nullptr);
    return list;
}

Bytes content_of(int descriptor)
{
    struct stat status {};
    if (::fstat(descriptor, &status) != 0)
        return {};
    return Bytes::make(static_cast<std::size_t>(status.st_size), [&](std::span<std::byte> target) {
        for (std::size_t at = 0; at < target.size();) {
            const ssize_t count = ::pread(descriptor, target.data() + at, target.size() - at, static_cast<off_t>(at));
            if (count <= 0)
                break;
            at += static_cast<std::size_t>(count);
        }
    });
}

// The program that gets the signals which ask us to end.
volatile std::sig_atomic_t g_told = 0;

extern "C" void pass_signal(int signal)
{
    if (g_told > 0)
        ::kill(g_told, signal);
}

class PassesSignals {
public:
    explicit PassesSignals(bool wanted) : m_wanted(wanted)
    {
        struct sigaction action {};
        action.sa_handler = pass_signal;
        action.sa_flags = SA_RESTART;
        for (std::size_t i = 0; m_wanted && i < k_signals.size(); ++i) {
            ::sigaction(k_signals[i], nullptr, &m_before[i]);
            if (m_before[i].sa_handler != SIG_IGN)
                ::sigaction(k_signals[i], &action, nullptr);
        }
    }
    ~PassesSignals()
    {
        g_told = 0;
        for (std::size_t i = 0; m_wanted && i < k_signals.size(); ++i)
            ::sigaction(k_signals[i], &m_before[i], nullptr);
    }
    PassesSignals(const PassesSignals&) = delete;
    PassesSignals& operator=(const PassesSignals&) = delete;

    void to(pid_t process) const { g_told = m_wanted ? process : 0; }

private:
    static constexpr std::array k_signals{SIGTERM, SIGINT, SIGHUP, SIGQUIT};

    bool m_wanted;
    std::array<struct sigaction, k_signals.size()> m_before{};
};

Result<pid_t> start(const std::vector<std::string>& words, std::vector<std::string> environment,
                    const std::array<Pipe, 2>* pipes, const Watching& watching)
{
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    if (pipes != nullptr)
        for (int i = 0; i < 2; ++i)
            ::posix_spawn_file_actions_adddup2(&actions, (*pipes)[static_cast<std::size_t>(i)].theirs.get(), i + 1);
    for (const FixedPath& link : watching.links) {
        std::error_code none;
        if (link.descriptor >= 0 && std::filesystem::is_directory(link.path, none))
            ::posix_spawn_file_actions_addopen(&actions, link.descriptor, link.path.c_str(), O_PATH | O_DIRECTORY, 0);
        else if (link.descriptor >= 0)
            ::posix_spawn_file_actions_addclose(&actions, link.descriptor);
    }
    posix_spawnattr_t attributes;
    ::posix_spawnattr_init(&attributes);
    if (watching.quiet) {
        ::posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
        // Who builds may have blocked signals in this thread.
        sigset_t none;
        ::sigemptyset(&none);
        ::posix_spawnattr_setsigmask(&attributes, &none);
        ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
    }
    std::vector<std::string> arguments = words;
    pid_t process = -1;
    const int problem =
        ::posix_spawn(&process, words.front().c_str(), &actions, &attributes, pointers(arguments).data(),
                      environment.empty() ? environ : pointers(environment).data());
    ::posix_spawn_file_actions_destroy(&actions);
    ::posix_spawnattr_destroy(&attributes);
    if (problem != 0)
        return error(problem == ENOENT ? Code::not_found : Code::io, "{} cannot be started: {}.", words.front(),
                     std::strerror(problem));
    return process;
}

// Of both streams, in the order in which they were written.
template <class Visit>
void for_each_part(std::string_view streams, Visit&& visit)
{
    base::WireReader reader(as_bytes(streams));
    while (!reader.failed() && reader.rest() > 0) {
        const int stream = reader.number<std::uint8_t>();
        const std::string_view text = reader.prefixed<std::uint32_t>();
        if (!reader.failed())
            visit(stream, text);
    }
}

Bytes streams_without_links(std::string_view streams, const std::vector<FixedPath>& links)
{
    // A name may have been cut in two.
    std::vector<std::pair<int, std::string>> parts;
    for_each_part(streams, [&](int stream, std::string_view text) {
        if (parts.empty() || parts.back().first != stream)
            parts.emplace_back(stream, "");
        parts.back().second += text;
    });
    base::WireWriter out;
    for (auto& [stream, text] : parts) {
        out.number(static_cast<std::uint8_t>(stream));
        out.prefixed<std::uint32_t>(without_links(std::move(text), links));
    }
    return Bytes::copy_of(out.out());
}

Status wait_for(const std::string& program, Ended& ended)
{
    int status = 0;
    while (::waitpid(ended.process, &status, 0) < 0)
        if (errno != EINTR)
            return error(Code::io, "The system does not tell how {} ended: {}.", program, std::strerror(errno));
    ended.code = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
    ended.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    return {};
}

}  // namespace

bool is_terminal_of_tree(int stream, const std::string& step_of)
{
    struct stat status {};
    return !step_of.empty() && ::fstat(stream, &status) == 0 && S_ISFIFO(status.st_mode) &&
           step_of.find(fmt::format(":{}:", status.st_ino)) != std::string::npos;
}

Result<Ended> run_watched(const std::vector<std::string>& words, const Watching& watching)
{
    const Descriptor log(watching.recorder.empty() ? -1 : ::memfd_create(watch::k_tree_log_name, MFD_CLOEXEC));
    std::array<Pipe, 2> pipes;
    if (log.get() < 0 || !pipes[0].open() || !pipes[1].open())
        return run_straight(words, watching);
    std::vector<std::string> environment = environment_with(watching, tree_of(watching, log.get(), pipes));
    if (!watching.steps_by.empty())
        environment.push_back(fmt::format("{}={}", watch::k_steps_variable, watching.steps_by));
    if (!watching.links.empty()) {
        std::erase_if(environment, [](const std::string& each) { return each.starts_with("PWD="); });
        environment.push_back(fmt::format("PWD={}", watch::k_linked_directory));
        environment.push_back(fmt::format("{}=1", watch::k_links_variable));
    }
    const PassesSignals signals(watching.passes_signals);
    Ended ended;
    HEARTH_TRY_SET(ended.process, start(words, std::move(environment), &pipes, watching));
    signals.to(ended.process);
    pipes[0].theirs.close();
    pipes[1].theirs.close();
    base::WireWriter kept;
    const bool has_links = !watching.links.empty();
    ended.lives_on = !pass_on(pipes, ended.process, watching.quiet || has_links, kept);
    ended.streams = has_links ? streams_without_links(kept.out(), watching.links) : Bytes::copy_of(kept.out());
    if (has_links && !watching.quiet)
        write_streams(ended.streams.text());
    HEARTH_TRY(wait_for(words.front(), ended));
    ended.log = content_of(log.get());
    return ended;
}

Result<Ended> run_straight(const std::vector<std::string>& words, const Watching& watching)
{
    std::vector<std::string> environment;
    if (!watching.step_of.empty())
        environment = environment_with(watching, watching.step_of);
    const PassesSignals signals(watching.passes_signals);
    Ended ended;
    HEARTH_TRY_SET(ended.process, start(words, std::move(environment), nullptr, watching));
    signals.to(ended.process);
    HEARTH_TRY(wait_for(words.front(), ended));
    return ended;
}

void write_streams(std::string_view streams)
{
    for_each_part(streams, [](int stream, std::string_view text) {
        if (stream == STDOUT_FILENO || stream == STDERR_FILENO)
            write_whole(stream, text);
    });
}

std::string text_of_streams(std::string_view streams)
{
    std::string all;
    for_each_part(streams, [&](int, std::string_view text) { all += text; });
    return all;
}

}  // namespace hearth::command

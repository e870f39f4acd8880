#include "worker_pool.hpp"

#include "exit.hpp"
#include "stop_signals.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <string_view>

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

namespace hearth::cli {

namespace {

constexpr int k_most_stillborn = 3;

void close_and_forget(int& descriptor)
{
    if (descriptor >= 0)
        ::close(descriptor);
    descriptor = -1;
}

}  // namespace

WorkerPool::WorkerPool(std::vector<std::vector<std::string>> commands)
{
    for (std::vector<std::string>& command : commands)
        m_workers.emplace_back().command = std::move(command);
}

WorkerPool::~WorkerPool()
{
    for (Worker& worker : m_workers) {
        if (worker.process > 0 && worker.line)
            ::kill(worker.process, SIGKILL);  // nobody waits for what it is at
        close_and_forget(worker.to);
    }
    for (Worker& worker : m_workers)
        if (worker.process > 0)
            end(worker);
}

void WorkerPool::start(Worker& worker)
{
    std::array<int, 2> in{-1, -1};
    std::array<int, 2> out{-1, -1};
    std::vector<std::string> words{"hearth"};
    words.insert(words.end(), worker.command.begin(), worker.command.end());
    std::vector<char*> arguments;
    arguments.reserve(words.size() + 1);
    for (std::string& word : words)
        arguments.push_back(word.data());
    arguments.push_back(nullptr);
    const bool pipes = ::pipe2(in.data(), O_CLOEXEC) == 0 && ::pipe2(out.data(), O_CLOEXEC) == 0;
    worker.process = pipes ? ::fork() : -1;
    if (worker.process == 0) {
        // Only what a signal handler may call. What we catch ends it, and what we ignore it ignores: exec sees to that.
        sigset_t none;
        ::sigemptyset(&none);
        ::sigprocmask(SIG_SETMASK, &none, nullptr);
        if (::dup2(in[0], STDIN_FILENO) >= 0 && ::dup2(out[1], STDOUT_FILENO) >= 0)
            ::execv("/proc/self/exe", arguments.data());
        ::_exit(127);
    }
    const int error = errno;
    close_and_forget(in[0]);
    close_and_forget(out[1]);
    worker.to = in[1];
    worker.from = out[0];
    worker.ready = false;
    worker.read.clear();
    if (worker.process < 0)
        fail(fmt::format("A process to compile in cannot be started: {}. Lower --jobs or the load of this machine.",
                         std::strerror(error)));
}

std::string WorkerPool::end(Worker& worker)
{
    close_and_forget(worker.to);
    close_and_forget(worker.from);
    int status = 0;
    while (::waitpid(worker.process, &status, 0) < 0 && errno == EINTR) {
    }
    worker.process = -1;
    if (!WIFSIGNALED(status))
        return fmt::format("ended by itself with exit code {}", WEXITSTATUS(status));
    const int signal = WTERMSIG(status);
    return fmt::format("was ended by signal {} ({}){}", signal, ::strsignal(signal),
                       signal == SIGKILL ? ", perhaps for want of memory: try fewer --jobs" : "");
}

void WorkerPool::hand_out(Worker& worker, const std::vector<std::string>& lines)
{
    worker.line = m_next++;
    const std::string text = lines[*worker.line] + "\n";
    // It is waiting for this, and a pipe has room for it. One that is gone is noticed where it is read from.
    std::string_view rest = text;
    while (!rest.empty()) {
        const ssize_t put = ::write(worker.to, rest.data(), rest.size());
        if (put < 0 && errno == EINTR)
            continue;
        if (put < 0)
            return;
        rest.remove_prefix(static_cast<std::size_t>(put));
    }
}

void WorkerPool::take_line(Worker& worker, const std::string& text, const Events& events)
{
    if (!worker.ready) {
        const auto hello = nlohmann::json::parse(text, nullptr, false);
        if (hello.is_object() && hello.contains("error") && hello["error"].is_string())
            fail(hello["error"].get<std::string>());
        worker.ready = true;
        m_stillborn = 0;
        return;
    }
    if (!worker.line)
        return;
    const std::size_t line = *worker.line;
    worker.line.reset();
    ++m_settled;
    events.answered(line, text);
}

void WorkerPool::take_from(Worker& worker, const Events& events)
{
    std::array<char, 65536> buffer{};
    const ssize_t got = ::read(worker.from, buffer.data(), buffer.size());
    if (got < 0 && (errno == EINTR || errno == EAGAIN))
        return;
    if (got > 0) {
        worker.read.append(buffer.data(), static_cast<std::size_t>(got));
        for (std::size_t end = worker.read.find('\n'); end != std::string::npos; end = worker.read.find('\n')) {
            const std::string text = worker.read.substr(0, end);
            worker.read.erase(0, end + 1);
            take_line(worker, text, events);
        }
        return;
    }
    const std::string how = end(worker);
    if (!worker.ready && ++m_stillborn >= k_most_stillborn)
        fail(fmt::format("The processes to compile in cannot be started: the last one {}.", how));
    if (const std::optional<std::size_t> line = worker.line) {
        worker.line.reset();
        ++m_settled;
        events.lost(*line, how);
    }
}

std::size_t WorkerPool::run(const std::vector<std::string>& lines, const Events& events)
{
    static constexpr timespec k_now_and_then{0, 200'000'000};
    const StopSignals noted;
    const HeldStopSignals signals;
    m_next = 0;
    m_settled = 0;
    std::size_t end = lines.size();
    while (m_settled < end) {
        if (m_next < end && events.enough && events.enough()) {
            end = m_next;
            continue;
        }
        std::vector<pollfd> watched;
        std::vector<Worker*> by_place;
        for (Worker& worker : m_workers) {
            if (worker.process < 0 && m_next < end)
                start(worker);
            if (worker.process < 0)
                continue;
            if (worker.ready && !worker.line && m_next < end)
                hand_out(worker, lines);
            watched.push_back({worker.from, POLLIN, 0});
            by_place.push_back(&worker);
        }
        const int changed = ::ppoll(watched.data(), watched.size(), &k_now_and_then, &signals.mask_before());
        if (const int signal = told_to_stop(); signal != 0)
            throw Failure{fmt::format("Stopped by signal {} ({}) after {} of {}.", signal, ::strsignal(signal),
                                      m_settled, lines.size()),
                          128 + signal};
        events.now_and_then();
        for (std::size_t i = 0; changed > 0 && i < watched.size(); ++i)
            if (watched[i].revents != 0)
                take_from(*by_place[i], events);
    }
    return end;
}

}  // namespace hearth::cli

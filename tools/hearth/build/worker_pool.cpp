#include "build/worker_pool.hpp"

#include "build/worker_protocol.hpp"
#include "process/stop_signals.hpp"
#include "terminal/exit.hpp"

#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <string_view>
#include <utility>

#include <poll.h>
#include <unistd.h>

namespace hearth::cli {

namespace {

constexpr int k_most_stillborn = 3;

}  // namespace

WorkerPool::WorkerPool(std::vector<std::vector<std::string>> commands)
{
    for (std::vector<std::string>& command : commands)
        m_workers.emplace_back().command = std::move(command);
}

WorkerPool::~WorkerPool()
{
    for (Worker& worker : m_workers) {
        if (worker.process && worker.line)
            ::kill(worker.process->id(), SIGKILL);  // nobody waits for its current line
        if (worker.process)
            worker.process->close_in();
    }
    for (Worker& worker : m_workers)
        if (worker.process)
            end(worker);
}

void WorkerPool::start(Worker& worker)
{
    std::vector<std::string> words{"hearth"};
    words.insert(words.end(), worker.command.begin(), worker.command.end());
    Result<Child> child = Child::start(words, {.in = Stream::piped, .out = Stream::piped, .program = "/proc/self/exe"});
    if (!child)
        fail(fmt::format("A process to compile in cannot be started: {} Lower --jobs or the load of this machine.",
                         child.error().message));
    worker.process.emplace(*std::move(child));
    worker.ready = false;
    worker.read.clear();
}

std::string WorkerPool::end(Worker& worker)
{
    const Result<ChildEnd> end = worker.process->wait();
    worker.process.reset();
    if (!end || end->signal == 0)
        return fmt::format("ended by itself with exit code {}", end ? end->code : 0);
    return fmt::format("was ended by signal {} ({}){}", end->signal, ::strsignal(end->signal),
                       end->signal == SIGKILL ? ", perhaps because memory ran out: try fewer --jobs" : "");
}

void WorkerPool::hand_out(Worker& worker, const std::vector<std::string>& lines)
{
    worker.line = m_next++;
    const std::string text = lines[*worker.line] + "\n";
    // The worker waits for this line, and a pipe has room for it. A worker that has ended is noticed on reading.
    std::string_view rest = text;
    while (!rest.empty()) {
        const ssize_t put = ::write(worker.process->in(), rest.data(), rest.size());
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
        if (std::string why = refusal_in(text); !why.empty())
            fail(std::move(why));
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
    const ssize_t got = ::read(worker.process->out(), buffer.data(), buffer.size());
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
            if (!worker.process && m_next < end)
                start(worker);
            if (!worker.process)
                continue;
            if (worker.ready && !worker.line && m_next < end)
                hand_out(worker, lines);
            watched.push_back({worker.process->out(), POLLIN, 0});
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

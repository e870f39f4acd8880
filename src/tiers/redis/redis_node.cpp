#include "tiers/redis/redis_node.hpp"

#include "base/error.hpp"
#include "tiers/redis/redis_answers.hpp"
#include "tiers/redis/redis_errors.hpp"

#include <mutex>
#include <unistd.h>
#include <utility>

namespace hearth::tiers::redis {

namespace {

bool fail(std::span<Task* const> tasks, const Error& error)
{
    for (Task* task : tasks) {
        task->answer = error;
        task->refusal.clear();
    }
    return false;
}

std::string state_file(const RedisSettings& settings, const Endpoint& endpoint)
{
    return settings.topology == Topology::single ? std::string()
                                                 : remotes::state_file_of(settings.state_file, endpoint.shown());
}

}  // namespace

RedisNode::RedisNode(std::shared_ptr<const RedisSettings> settings, Endpoint endpoint, Keep keep)
    : m_settings(std::move(settings)), m_endpoint(std::move(endpoint)), m_keep(keep),
      m_breaker(keep == Keep::none ? "" : state_file(*m_settings, m_endpoint), remotes::Breaker::wall_ns,
                m_settings->state_users),
      m_permits(m_settings->max_connections)
{
}

std::unique_ptr<Connection> RedisNode::take_idle()
{
    std::vector<std::unique_ptr<Connection>> gone;  // closed when no lock is held
    std::unique_lock lock(m_mutex);
    if (m_idle.empty())
        return nullptr;
    std::unique_ptr<Connection> last = std::move(m_idle.back());
    m_idle.pop_back();
    m_in_use.push_back(last->descriptor());
    lock.unlock();
    if (last->is_quiet())
        return last;
    // The server has closed this connection, and most likely the others too.
    lock.lock();
    std::erase(m_in_use, last->descriptor());
    gone.swap(m_idle);
    lock.unlock();
    return nullptr;
}

Result<RedisNode::Borrowed> RedisNode::borrow(Want want, SteadyTime deadline)
{
    if (std::chrono::steady_clock::now() >= deadline)
        return passed_deadline(m_endpoint.shown());
    if (m_permits.take(1, deadline) == 0)
        return error(Code::timeout,
                     "All {} connections to redis at {} were in use until the deadline passed. Raise the "
                     "remote's timeout, or ask it from fewer threads.",
                     m_settings->max_connections, m_endpoint.shown());
    if (want == Want::fresh) {
        std::vector<std::unique_ptr<Connection>> gone;
        const std::lock_guard lock(m_mutex);
        gone.swap(m_idle);
    } else if (std::unique_ptr<Connection> idle = take_idle()) {
        return Borrowed{std::move(idle), true};
    }
    Result<std::unique_ptr<Connection>> opened = Connection::open(*m_settings, m_endpoint, deadline);
    if (!opened.ok()) {
        m_permits.give_back(1);
        return opened.error();
    }
    const std::lock_guard lock(m_mutex);
    m_in_use.push_back((*opened)->descriptor());
    return Borrowed{*std::move(opened), false};
}

void RedisNode::give_back(std::unique_ptr<Connection> connection, bool reusable)
{
    {
        // Outlives the lock: a connection that is not kept is closed after its descriptor is off our list.
        std::unique_ptr<Connection> returned = std::move(connection);
        returned->note_use();
        const std::lock_guard lock(m_mutex);
        std::erase(m_in_use, returned->descriptor());
        if (reusable && m_keep == Keep::descriptors)
            m_idle.push_back(std::move(returned));
    }
    m_permits.give_back(1);
}

void RedisNode::run(std::span<Task* const> tasks, SteadyTime deadline)
{
    while (!tasks.empty()) {
        std::size_t count = 0;
        std::size_t bytes = 0;
        while (count < tasks.size() && count < k_most_commands && (count == 0 || bytes < k_most_bytes))
            bytes += tasks[count++]->command.bytes();
        if (!run_together(tasks.first(count), deadline)) {
            const Error error = tasks[count - 1]->answer.error();
            fail(tasks.subspan(count), error);
            return;
        }
        tasks = tasks.subspan(count);
    }
}

bool RedisNode::run_together(std::span<Task* const> tasks, SteadyTime deadline)
{
    bool repeated = false;
    while (!tasks.empty()) {
        Result<Borrowed> borrowed = borrow(repeated ? Want::fresh : Want::any, deadline);
        if (!borrowed.ok())
            return fail(tasks, borrowed.error());
        const Exchange exchanged = borrowed->connection->exchange(tasks, deadline);
        give_back(std::move(borrowed->connection), exchanged.reusable);
        tasks = tasks.subspan(exchanged.answered);
        if (!exchanged.error)
            continue;
        // The server was restarted meanwhile, and the old one never read this command.
        const bool ended_unheard =
            borrowed->used_before && !exchanged.heard && exchanged.error->code == Code::unavailable;
        if (!ended_unheard || repeated)
            return fail(tasks, *exchanged.error);
        repeated = true;
        for (Task* task : tasks)
            task->repeated = true;
    }
    return true;
}

void RedisNode::after_fork() noexcept
{
    m_permits.after_fork();
    const std::lock_guard lock(m_mutex);
    m_idle.clear();
    for (const int descriptor : m_in_use)
        ::close(descriptor);
    m_in_use.clear();
}

std::string RedisNode::version()
{
    {
        const std::lock_guard lock(m_mutex);
        if (!m_version.empty() || m_idle.empty())
            return m_version;
    }
    Task info;
    info.command = Command({}, {"INFO", "server"});
    info.max_bytes = 64_KiB;
    Task* const tasks[] = {&info};
    run_together(tasks, std::chrono::steady_clock::now() + m_settings->connect_timeout);
    const std::lock_guard lock(m_mutex);
    if (info.answer.ok())
        m_version = version_in(info.answer->bytes.text());
    return m_version;
}

}  // namespace hearth::tiers::redis

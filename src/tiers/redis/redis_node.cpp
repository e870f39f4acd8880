#include "tiers/redis/redis_node.hpp"

#include "tiers/redis/redis_errors.hpp"

#include <algorithm>
#include <mutex>
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

}  // namespace

std::string version_in(std::string_view info)
{
    constexpr std::string_view k_field = "redis_version:";
    const std::size_t at = info.find(k_field);
    if (at == std::string_view::npos)
        return {};
    const std::string_view rest = info.substr(at + k_field.size());
    return printable(rest.substr(0, std::min<std::size_t>(rest.find_first_of("\r\n"), 32)));
}

RedisNode::RedisNode(std::shared_ptr<const RedisSettings> settings, Endpoint endpoint)
    : m_settings(settings), m_endpoint(endpoint), m_pool(std::move(settings), std::move(endpoint))
{
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
        Result<ConnectionPool::Borrowed> borrowed =
            m_pool.borrow(repeated ? ConnectionPool::Want::fresh : ConnectionPool::Want::any, deadline);
        if (!borrowed.ok())
            return fail(tasks, borrowed.error());
        const Exchange exchanged = borrowed->connection->exchange(tasks, deadline);
        m_pool.give_back(std::move(borrowed->connection), exchanged.reusable);
        tasks = tasks.subspan(exchanged.answered);
        if (!exchanged.error)
            continue;
        // A server that was restarted meanwhile: what it was before never read this.
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
    m_pool.after_fork();
}

std::string RedisNode::version()
{
    {
        const std::lock_guard lock(m_version_mutex);
        if (!m_version.empty())
            return m_version;
    }
    if (!m_pool.has_idle())
        return {};
    Task info;
    info.command = Command({}, {"INFO", "server"});
    info.max_bytes = 64_KiB;
    Task* const tasks[] = {&info};
    run_together(tasks, std::chrono::steady_clock::now() + m_settings->connect_timeout);
    if (!info.answer.ok())
        return {};
    std::string version = version_in(info.answer->bytes.text());
    const std::lock_guard lock(m_version_mutex);
    m_version = version;
    return version;
}

}  // namespace hearth::tiers::redis

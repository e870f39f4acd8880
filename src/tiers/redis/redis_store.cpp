#include "tiers/redis/redis_store.hpp"

#include "base/error.hpp"
#include "remote/store_library.hpp"
#include "tiers/redis/redis_errors.hpp"

#include <algorithm>
#include <utility>

namespace hearth::tiers {

namespace redis {

namespace {

constexpr std::string_view k_renew_script = "if redis.call('GET', KEYS[1]) == ARGV[1] then "
                                            "return redis.call('PEXPIRE', KEYS[1], ARGV[2]) else return 0 end";
constexpr std::string_view k_remove_script = "if redis.call('GET', KEYS[1]) == ARGV[1] then "
                                             "return redis.call('DEL', KEYS[1]) else return 0 end";

// PEXPIRE and PX take no less than one millisecond.
std::string milliseconds(std::chrono::milliseconds lifetime)
{
    return std::to_string(std::max<std::int64_t>(lifetime.count(), 1));
}

}  // namespace

RedisStore::RedisStore(const RedisSettings& settings)
    : m_settings(std::make_shared<const RedisSettings>(settings)),
      m_router(settings.topology == Topology::cluster ? make_cluster_router(m_settings)
                                                      : make_single_router(m_settings))
{
}

Task RedisStore::task_of(const Command& command) const
{
    Task task;
    task.command = command;
    task.max_bytes = m_settings->max_object_bytes;
    return task;
}

Task RedisStore::run(const Command& command, SteadyTime deadline)
{
    Task task = task_of(command);
    Task* const one[] = {&task};
    m_router->run(one, deadline);
    return task;
}

std::vector<Task> RedisStore::run_many(std::vector<Task> tasks, SteadyTime deadline)
{
    std::vector<Task*> all;
    all.reserve(tasks.size());
    for (Task& task : tasks)
        all.push_back(&task);
    m_router->run(all, deadline);
    return tasks;
}

Error RedisStore::unexpected() const
{
    return not_redis(m_router->address(), "a command was answered with another kind of reply than it has");
}

Result<std::optional<Bytes>> RedisStore::bytes_of(Task&& task) const
{
    HEARTH_TRY(task.answer);
    if (task.answer->kind == Reply::Kind::nil)
        return std::optional<Bytes>();
    if (task.answer->kind != Reply::Kind::bulk)
        return unexpected();
    return std::optional(std::move(task.answer->bytes));
}

Result<bool> RedisStore::flag_of(const Task& task) const
{
    HEARTH_TRY(task.answer);
    if (task.answer->kind != Reply::Kind::integer)
        return unexpected();
    return task.answer->integer != 0;
}

Status RedisStore::done(const Task& task) const
{
    HEARTH_TRY(task.answer);
    return task.answer->is_ok() ? Status() : unexpected();
}

Result<std::optional<Bytes>> RedisStore::get(std::string_view name, SteadyTime deadline)
{
    const std::string key = key_of(name);
    return bytes_of(run(Command(key, {"GET", key}), deadline));
}

std::vector<Result<std::optional<Bytes>>> RedisStore::get_many(std::span<const std::string> names, SteadyTime deadline)
{
    std::vector<std::string> keys;
    std::vector<Task> tasks;
    keys.reserve(names.size());
    tasks.reserve(names.size());
    for (const std::string& name : names) {
        const std::string& key = keys.emplace_back(key_of(name));
        tasks.push_back(task_of(Command(key, {"GET", key})));
    }
    std::vector<Result<std::optional<Bytes>>> answers;
    answers.reserve(names.size());
    for (Task& task : run_many(std::move(tasks), deadline))
        answers.push_back(bytes_of(std::move(task)));
    return answers;
}

std::vector<Result<bool>> RedisStore::has_many(std::span<const std::string> names, SteadyTime deadline)
{
    std::vector<std::string> keys;
    std::vector<Task> tasks;
    keys.reserve(names.size());
    tasks.reserve(names.size());
    for (const std::string& name : names) {
        const std::string& key = keys.emplace_back(key_of(name));
        tasks.push_back(task_of(Command(key, {"EXISTS", key})));
    }
    std::vector<Result<bool>> answers;
    answers.reserve(names.size());
    for (const Task& task : run_many(std::move(tasks), deadline))
        answers.push_back(flag_of(task));
    return answers;
}

Status RedisStore::refuse_too_large(ByteView bytes) const
{
    return bytes.size() > m_settings->max_object_bytes
               ? too_large(m_router->address(), bytes.size(), m_settings->max_object_bytes)
               : Status();
}

Status RedisStore::put(std::string_view name, ByteView bytes, SteadyTime deadline)
{
    if (Status refused = refuse_too_large(bytes); !refused.ok())
        return refused;
    const std::string key = key_of(name);
    return done(run(Command(key, {"SET", key, as_text(bytes)}), deadline));
}

std::vector<Status> RedisStore::put_many(std::span<const remotes::Object> objects, SteadyTime deadline)
{
    std::vector<Status> answers;
    std::vector<std::string> keys;
    std::vector<Task> tasks;
    std::vector<std::size_t> asked;  // tasks[i] is for objects[asked[i]]
    keys.reserve(objects.size());
    for (std::size_t i = 0; i < objects.size(); ++i) {
        answers.push_back(refuse_too_large(objects[i].bytes));
        if (!answers.back().ok())
            continue;
        const std::string& key = keys.emplace_back(key_of(objects[i].name));
        tasks.push_back(task_of(Command(key, {"SET", key, as_text(objects[i].bytes)})));
        asked.push_back(i);
    }
    tasks = run_many(std::move(tasks), deadline);
    for (std::size_t i = 0; i < tasks.size(); ++i)
        answers[asked[i]] = done(tasks[i]);
    return answers;
}

Result<bool> RedisStore::remove(std::string_view name, SteadyTime deadline)
{
    const std::string key = key_of(name);
    return flag_of(run(Command(key, {"DEL", key}), deadline));
}

Result<bool> RedisStore::put_if_absent(std::string_view name, ByteView bytes, std::chrono::milliseconds lifetime,
                                       SteadyTime deadline)
{
    HEARTH_TRY(refuse_too_large(bytes));
    const std::string key = key_of(name);
    const std::string life = milliseconds(lifetime);
    const Task task = run(Command(key, {"SET", key, as_text(bytes), "NX", "PX", life}), deadline);
    HEARTH_TRY(task.answer);
    if (task.answer->is_ok())
        return true;
    if (task.answer->kind != Reply::Kind::nil)
        return unexpected();
    if (!task.repeated)
        return false;
    // What is there may be ours, from the first time it was sent.
    const Result<std::optional<Bytes>> there = get(name, deadline);
    HEARTH_TRY(there);
    return there->has_value() && (*there)->text() == as_text(bytes);
}

Result<bool> RedisStore::renew(std::string_view name, ByteView bytes, std::chrono::milliseconds lifetime,
                               SteadyTime deadline)
{
    const std::string key = key_of(name);
    const std::string life = milliseconds(lifetime);
    return flag_of(run(Command(key, {"EVAL", k_renew_script, "1", key, as_text(bytes), life}), deadline));
}

Result<bool> RedisStore::remove_if(std::string_view name, ByteView bytes, SteadyTime deadline)
{
    const std::string key = key_of(name);
    return flag_of(run(Command(key, {"EVAL", k_remove_script, "1", key, as_text(bytes)}), deadline));
}

void RedisStore::after_fork() noexcept
{
    m_router->after_fork();
}

std::string RedisStore::description()
{
    return m_router->description();
}

}  // namespace redis

Result<std::unique_ptr<remotes::RemoteStore>> open_redis_store(const remotes::StoreOptions& options)
{
    Result<redis::RedisSettings> settings = redis::redis_settings(options);
    HEARTH_TRY(settings);
    return std::unique_ptr<remotes::RemoteStore>(std::make_unique<redis::RedisStore>(*settings));
}

}  // namespace hearth::tiers

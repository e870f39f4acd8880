#include "tiers/redis/redis_store.hpp"

#include "base/error.hpp"
#include "remote/store_library.hpp"
#include "tiers/redis/redis_answers.hpp"
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

// A SCAN pattern for keys that begin with this text.
std::string pattern_of(std::string_view prefix)
{
    std::string pattern;
    for (const char c : prefix) {
        if (c == '*' || c == '?' || c == '[' || c == ']' || c == '\\')
            pattern += '\\';
        pattern += c;
    }
    return pattern + "*";
}

}  // namespace

RedisStore::RedisStore(const RedisSettings& settings)
    : m_settings(std::make_shared<const RedisSettings>(settings)), m_router(m_settings)
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
    m_router.run(one, deadline);
    return task;
}

void RedisStore::run_many(std::span<Task> tasks, SteadyTime deadline)
{
    std::vector<Task*> all;
    all.reserve(tasks.size());
    for (Task& task : tasks)
        all.push_back(&task);
    m_router.run(all, deadline);
}

template <class Answer, class Use>
std::vector<Answer> RedisStore::run_for_each(std::string_view word, std::span<const std::string> names, Use use,
                                             SteadyTime deadline)
{
    std::vector<std::string> keys;
    std::vector<Task> tasks;
    keys.reserve(names.size());
    tasks.reserve(names.size());
    for (const std::string& name : names) {
        const std::string& key = keys.emplace_back(key_of(name));
        tasks.push_back(task_of(Command(key, {word, key})));
    }
    run_many(tasks, deadline);
    std::vector<Answer> answers;
    answers.reserve(names.size());
    for (Task& task : tasks)
        answers.push_back(use(task));
    return answers;
}

Error RedisStore::unexpected() const
{
    return not_redis(m_router.address(), "a command was answered with another kind of reply than it has");
}

Result<std::optional<Bytes>> RedisStore::bytes_of(Task& task) const
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

std::vector<Result<std::optional<Bytes>>> RedisStore::get_many(std::span<const std::string> names, SteadyTime deadline)
{
    return run_for_each<Result<std::optional<Bytes>>>(
        "GET", names, [this](Task& task) { return bytes_of(task); }, deadline);
}

std::vector<Result<bool>> RedisStore::has_many(std::span<const std::string> names, SteadyTime deadline)
{
    return run_for_each<Result<bool>>(
        "EXISTS", names, [this](const Task& task) { return flag_of(task); }, deadline);
}

Status RedisStore::refuse_too_large(ByteView bytes) const
{
    return bytes.size() > m_settings->max_object_bytes
               ? too_large(m_router.address(), bytes.size(), m_settings->max_object_bytes)
               : Status();
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
    run_many(tasks, deadline);
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
    // The object may be ours: the first command may have arrived.
    HEARTH_TRY_SET(const std::optional<Bytes> there, get(name, deadline));
    return there.has_value() && there->text() == as_text(bytes);
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

// SCAN shows every key that exists during the whole scan.
Status RedisStore::list(const std::function<bool(std::string_view name, std::uint64_t bytes)>& visit,
                        SteadyTime deadline)
{
    HEARTH_TRY_SET(const std::vector<std::shared_ptr<RedisNode>> nodes, m_router.holders(deadline));
    for (const std::shared_ptr<RedisNode>& node : nodes) {
        HEARTH_TRY_SET(const Walk walked, list_node(*node, visit, deadline));
        if (walked == Walk::enough)
            break;
    }
    return {};
}

Result<RedisStore::Walk> RedisStore::list_node(RedisNode& node,
                                               const std::function<bool(std::string_view, std::uint64_t)>& visit,
                                               SteadyTime deadline) const
{
    const std::string pattern = pattern_of(m_settings->prefix);
    std::string cursor = "0";
    do {
        Task task = task_of(Command({}, {"SCAN", cursor, "MATCH", pattern, "COUNT", "1000"}));
        Task* const one[] = {&task};
        node.run(one, std::min(deadline, std::chrono::steady_clock::now() + remotes::k_list_part));
        HEARTH_TRY(task.answer);
        std::optional<ScanPage> page = parse_scan(*task.answer, m_settings->prefix);
        if (!page)
            return unexpected();
        for (const std::string_view name : page->names)
            if (!visit(name, 0))
                return Walk::enough;
        cursor = std::move(page->cursor);
        if (cursor != "0" && !visit({}, 0))
            return Walk::enough;
    } while (cursor != "0");
    return Walk::on;
}

}  // namespace redis

Result<std::unique_ptr<remotes::RemoteStore>> open_redis_store(const remotes::StoreOptions& options)
{
    HEARTH_TRY_SET(redis::RedisSettings settings, redis::redis_settings(options));
    return std::unique_ptr<remotes::RemoteStore>(std::make_unique<redis::RedisStore>(settings));
}

}  // namespace hearth::tiers

#pragma once

#include "remote/remote_store.hpp"
#include "tiers/redis/redis_router.hpp"

namespace hearth::tiers {

// A client of one redis server or of one cluster. Makes no connection; an address that cannot be used is an
// invalid_argument that says what may stand there (redis/redis_settings.hpp has the grammar).
Result<std::unique_ptr<remotes::RemoteStore>> open_redis_store(const remotes::StoreOptions& options);

namespace redis {

// Objects are strings under prefix + name. A lease must be replaced or removed only if it is still ours. Two short
// scripts do that, which redis runs atomically.
// Thread safety: all of it. Ownership: of its connections. Cost: one round trip per call; batches need one for some
// hundred objects. list() may show a name twice while redis enlarges its table.
class RedisStore final : public remotes::RemoteStore {
public:
    explicit RedisStore(const RedisSettings& settings);

    std::vector<Result<std::optional<Bytes>>> get_many(std::span<const std::string> names,
                                                       SteadyTime deadline) override;
    std::vector<Result<bool>> has_many(std::span<const std::string> names, SteadyTime deadline) override;
    std::vector<Status> put_many(std::span<const remotes::Object> objects, SteadyTime deadline) override;
    Result<bool> remove(std::string_view name, SteadyTime deadline) override;
    Status list(const std::function<bool(std::string_view name, std::uint64_t bytes)>& visit,
                SteadyTime deadline) override;
    Result<bool> put_if_absent(std::string_view name, ByteView bytes, std::chrono::milliseconds lifetime,
                               SteadyTime deadline) override;
    Result<bool> renew(std::string_view name, ByteView bytes, std::chrono::milliseconds lifetime,
                       SteadyTime deadline) override;
    Result<bool> remove_if(std::string_view name, ByteView bytes, SteadyTime deadline) override;
    bool is_partly_down() override { return m_router.is_partly_down(); }
    bool rests(std::string_view name) override { return m_router.rests(key_of(name)); }
    void after_fork() noexcept override { m_router.after_fork(); }
    std::string description() override { return m_router.description(); }

private:
    enum class Walk : std::uint8_t { on, enough };

    std::string key_of(std::string_view name) const { return m_settings->prefix + std::string(name); }
    Task task_of(const Command& command) const;
    Task run(const Command& command, SteadyTime deadline);
    // Sends "GET" or the like for each name, and gives the answers to `use`.
    template <class Answer, class Use>
    std::vector<Answer> run_for_each(std::string_view word, std::span<const std::string> names, Use use,
                                     SteadyTime deadline);
    void run_many(std::span<Task> tasks, SteadyTime deadline);
    Status refuse_too_large(ByteView bytes) const;
    Error unexpected() const;
    Result<std::optional<Bytes>> bytes_of(Task& task) const;
    Result<bool> flag_of(const Task& task) const;
    Status done(const Task& task) const;
    Result<Walk> list_node(RedisNode& node, const std::function<bool(std::string_view, std::uint64_t)>& visit,
                           SteadyTime deadline) const;

    std::shared_ptr<const RedisSettings> m_settings;
    Router m_router;
};

}  // namespace redis

}  // namespace hearth::tiers

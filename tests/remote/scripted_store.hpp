#pragma once

#include "remote/remote_store.hpp"
#include "remote/store_tier.hpp"

#include <atomic>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <thread>

namespace hearth::test {

// A server in this process, which does as it is told: for what no real one does at the moment a test wants it.
struct ScriptedServer {
    std::mutex mutex;
    std::map<std::string, Bytes> objects;
    std::atomic<int> failing{0};  // a Code and one, for every request; 0: none
    std::atomic<bool> hold_writes{false};
    std::atomic<bool> holds{false};  // a write
    std::atomic<std::uint64_t> requests{0};
    std::atomic<std::uint64_t> opened{0};
    std::atomic<std::uint64_t> forks{0};
    std::atomic<bool> leases{true};
    std::atomic<std::uint64_t> gets{0};
    std::atomic<remotes::SteadyTime> deadline{};       // of the last get
    std::set<std::string> resting;                     // names whose server is left alone
    std::function<void(std::uint64_t number)> on_get;  // set before it is asked: the first get is number 1

    void fail_with(std::optional<Code> code) { failing = code ? static_cast<int>(*code) + 1 : 0; }
    std::size_t size()
    {
        const std::lock_guard lock(mutex);
        return objects.size();
    }
    void put(const std::string& name, const Bytes& bytes)
    {
        const std::lock_guard lock(mutex);
        objects[name] = bytes;
    }
    bool has(const std::string& name)
    {
        const std::lock_guard lock(mutex);
        return objects.contains(name);
    }
};

class ScriptedStore final : public remotes::RemoteStore {
public:
    explicit ScriptedStore(std::shared_ptr<ScriptedServer> server) : m_server(std::move(server)) {}

    std::vector<Result<std::optional<Bytes>>> get_many(std::span<const std::string> names,
                                                       remotes::SteadyTime deadline) override
    {
        m_server->deadline = deadline;
        std::vector<Result<std::optional<Bytes>>> all;
        for (const std::string& name : names)
            all.push_back(get_one(name));
        return all;
    }
    std::vector<Result<bool>> has_many(std::span<const std::string> names, remotes::SteadyTime deadline) override
    {
        std::vector<Result<bool>> all;
        for (const std::string& name : names) {
            const Result<std::optional<Bytes>> got = get(name, deadline);
            all.push_back(got ? Result<bool>(got->has_value()) : Result<bool>(got.error()));
        }
        return all;
    }
    std::vector<Status> put_many(std::span<const remotes::Object> objects, remotes::SteadyTime) override
    {
        std::vector<Status> all;
        for (const remotes::Object& object : objects)
            all.push_back(put_one(object));
        return all;
    }
    Result<bool> remove(std::string_view name, remotes::SteadyTime) override
    {
        if (const std::optional<Error> error = failure())
            return *error;
        const std::lock_guard lock(m_server->mutex);
        return m_server->objects.erase(std::string(name)) != 0;
    }
    Status list(const std::function<bool(std::string_view, std::uint64_t)>& visit, remotes::SteadyTime) override
    {
        if (const std::optional<Error> error = failure())
            return *error;
        std::map<std::string, Bytes> objects;
        {
            const std::lock_guard lock(m_server->mutex);
            objects = m_server->objects;
        }
        for (const auto& [name, bytes] : objects)
            if (!visit(name, bytes.size()))
                break;
        return {};
    }
    Result<bool> put_if_absent(std::string_view name, ByteView bytes, std::chrono::milliseconds,
                               remotes::SteadyTime) override
    {
        if (const std::optional<Error> error = failure())
            return *error;
        if (!m_server->leases)
            return Error{Code::other_version, "This server keeps no leases.", {}};
        const std::lock_guard lock(m_server->mutex);
        return m_server->objects.emplace(std::string(name), Bytes::copy_of(bytes)).second;
    }
    Result<bool> renew(std::string_view name, ByteView bytes, std::chrono::milliseconds, remotes::SteadyTime) override
    {
        const std::lock_guard lock(m_server->mutex);
        const auto found = m_server->objects.find(std::string(name));
        return found != m_server->objects.end() && as_text(found->second) == as_text(bytes);
    }
    Result<bool> remove_if(std::string_view name, ByteView bytes, remotes::SteadyTime) override
    {
        const std::lock_guard lock(m_server->mutex);
        const auto is_it = [&](const auto& one) { return one.first == name && as_text(one.second) == as_text(bytes); };
        return std::erase_if(m_server->objects, is_it) != 0;
    }
    bool rests(std::string_view name) override
    {
        const std::lock_guard lock(m_server->mutex);
        return m_server->resting.contains(std::string(name));
    }
    void after_fork() noexcept override { ++m_server->forks; }
    std::string description() override { return "a scripted server"; }

private:
    Result<std::optional<Bytes>> get_one(const std::string& name)
    {
        const std::uint64_t number = ++m_server->gets;
        if (m_server->on_get)
            m_server->on_get(number);
        if (const std::optional<Error> error = failure())
            return *error;
        const std::lock_guard lock(m_server->mutex);
        const auto found = m_server->objects.find(name);
        return found == m_server->objects.end() ? std::optional<Bytes>{} : std::optional(found->second);
    }
    Status put_one(const remotes::Object& object)
    {
        while (m_server->hold_writes) {
            m_server->holds = true;
            std::this_thread::yield();
        }
        if (const std::optional<Error> error = failure())
            return *error;
        m_server->put(object.name, Bytes::copy_of(object.bytes));
        return {};
    }
    std::optional<Error> failure()
    {
        ++m_server->requests;
        if (const int failing = m_server->failing; failing != 0)
            return Error{static_cast<Code>(failing - 1), "The server fails, as it was told to.", {}};
        return std::nullopt;
    }

    const std::shared_ptr<ScriptedServer> m_server;
};

// What opens such a store for a tier, and counts how often.
inline remotes::StoreTier::Opener opener_of(const std::shared_ptr<ScriptedServer>& server)
{
    return [server](const remotes::StoreOptions&) -> Result<std::unique_ptr<remotes::RemoteStore>> {
        ++server->opened;
        return {std::make_unique<ScriptedStore>(server)};
    };
}

// A tier of a cache on such a server.
inline TierSpec scripted_tier(const std::shared_ptr<ScriptedServer>& server)
{
    return {"redis", [server](const TierContext& context) -> Result<std::unique_ptr<Tier>> {
                const RemoteOptions remote{.url = "redis://cache:6379", .name = "redis"};
                return {std::make_unique<remotes::StoreTier>(remote, remotes::parse_url(remote.url).value(), context,
                                                             opener_of(server))};
            }};
}

}  // namespace hearth::test

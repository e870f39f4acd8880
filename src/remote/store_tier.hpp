#pragma once

#include "hearth/remote.hpp"
#include "remote/breaker.hpp"
#include "remote/hedge.hpp"
#include "remote/remote_store.hpp"
#include "remote/write_behind.hpp"

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

namespace hearth::remotes {

inline constexpr std::string_view k_found_by_another = "another process of this machine could not reach it.";

// Entries on a server that a RemoteStore talks to. They are verified on arrival and sent in the background. A server
// that fails is left alone for a while. Nothing is loaded, connected or started before it is first needed.
//   store_tier.cpp     lookups, stores, outgoing entries
//   store_batches.cpp  many at once
//   store_report.cpp   its state
//   fleet_lease.cpp    one compile in the fleet
// Thread safety: all of it. No lock is held during a request to the server.
class StoreTier final : public RemoteTier {
public:
    using Opener = std::function<OpenStore>;

    StoreTier(RemoteOptions options, Url url, const TierContext& context, Opener open);
    ~StoreTier() override;

    std::string_view name() const override { return m_options.name; }
    TierTraits traits() const override;
    std::string note() override;

    Found find(const Key& key) override;
    Found peek(const Key& key) override;
    Result<StoreReport> store(const Key& key, const Entry& entry, Victims victims, std::vector<Victim>& gone) override;
    bool contains(const Key& key) override;
    bool remove(const Key& key) override;
    void clear() override;
    void flush() override;
    FlightAttempt try_flight(const Key& key) override;

    std::optional<EntryRow> info(const Key& key) override;
    void for_each(const std::function<bool(const EntryRow&)>& visit) override;
    VerifyReport verify(Repair repair, const Progress& progress) override;

    bool resting() override { return m_breaker.rests(); }
    Report report() override;
    Check check(std::uint64_t samples) override;
    std::vector<Result<bool>> has_many(std::span<const Key> keys) override;
    std::vector<Found> fetch_many(std::span<const Key> keys) override;
    void fetch_each(std::span<const Key> keys,
                    const std::function<void(std::size_t number, Found found)>& take) override;
    std::vector<Status> send_many(std::span<const KeyedEntry> entries) override;
    Status for_each_key(const std::function<bool(const Key&)>& visit,
                        const std::function<bool()>& goes_on = {}) override;

private:
    class Held;

    Result<RemoteStore*> opened();
    // The store, if it may be asked now.
    Result<RemoteStore*> reached();
    Result<RemoteStore*> opened_or_down();
    // Tells the breaker the result, and remembers the error.
    void settle(const Error* error);
    template <class T>
    const Result<T>& settled(const Result<T>& result)
    {
        settle(result.ok() ? nullptr : &result.error());
        return result;
    }
    SteadyTime read_deadline() const { return std::chrono::steady_clock::now() + m_options.timeout; }
    SteadyTime write_deadline() const { return std::chrono::steady_clock::now() + m_options.write_timeout; }

    Result<std::optional<Bytes>> get(RemoteStore& store, const Key& key);
    Found accept(const Key& key, const Result<std::optional<Bytes>>& got);
    Result<Bytes> to_send(const Key& key, const Entry& entry) const;
    bool is_quarantined(const Key& key);
    void quarantine(const Key& key);
    std::vector<bool> send(std::span<Outgoing> batch);
    std::vector<bool> send_objects(RemoteStore& store, std::span<Outgoing> batch);
    std::chrono::milliseconds renew_leases();
    void end_lease(const std::string& name, const Bytes& token);
    // Shows it in reports from now on.
    void remember(const std::string& problem);
    void say_once(const std::string& message);
    void forget_parent() noexcept;

    const RemoteOptions m_options;
    const Url m_url;
    const Clock& m_clock;
    const LogSink m_log;
    const Opener m_open;
    Breaker m_breaker;

    std::atomic<RemoteStore*> m_store{nullptr};                  // m_owned, once it is open
    mutable base::ForkSafeMutex m_mutex{base::LockLevel::tier};  // guards the rest
    std::unique_ptr<RemoteStore> m_owned;
    std::optional<Error> m_cannot_open;
    std::string m_problem;
    std::string m_lease_problem;
    bool m_said = false;
    std::unordered_map<Key, std::uint64_t> m_quarantine;  // until when, in nanoseconds of the monotonic clock
    struct LeaseHeld {
        Bytes token;
        std::chrono::steady_clock::time_point renew_at;
    };
    std::unordered_map<std::string, LeaseHeld> m_leases;  // by name

    std::atomic<bool> m_used{false};
    std::atomic<bool> m_gave_up{false};  // outgoing entries could not be sent in time
    std::atomic<std::uint64_t> m_fetched_bytes{0};
    std::atomic<std::uint64_t> m_sent{0};
    std::atomic<std::uint64_t> m_sent_bytes{0};
    std::atomic<std::uint64_t> m_dropped{0};
    std::atomic<std::uint64_t> m_untrusted{0};
    std::atomic<std::uint64_t> m_corrupt{0};
    std::atomic<std::uint64_t> m_leases_taken{0};
    std::atomic<std::uint64_t> m_lease_waits{0};

    Hedge m_hedge;
    WriteBehind m_writes;
    const base::ForkGuard m_at_fork{[this] { forget_parent(); }};
};

}  // namespace hearth::remotes

#pragma once

#include "hearth/tier.hpp"

#include <atomic>
#include <memory>
#include <string>

namespace hearth::engine {

// A tier around another, out of which nothing is thrown: a tier of the user's that throws all the same is a tier that
// cannot do its work, and is logged once. Only what a visitor throws, which is the caller's own, goes on to the caller.
// Thread safety: as the tier inside. Ownership: owns it. Cost: one more call.
class GuardedTier final : public Tier {
public:
    GuardedTier(std::unique_ptr<Tier> inner, std::string name, LogSink log);

    std::string_view name() const override { return m_name; }
    TierTraits traits() const override { return m_traits; }
    std::string note() override;
    std::string directory() const override;
    Found find(const Key& key) override;
    Found peek(const Key& key) override;
    Result<StoreReport> store(const Key& key, const Entry& entry, Victims victims, std::vector<Victim>& gone) override;
    bool contains(const Key& key) override;
    bool remove(const Key& key) override;
    void clear() override;
    TierUsage usage() override;
    Limits limits() const override;
    std::vector<Victim> set_limits(const Limits& limits, Victims victims) override;
    void set_policy(const PolicyFactory& policy) override;
    std::vector<Victim> evict_to(const EvictTo& goal, const Progress& progress) override;
    std::vector<Victim> would_evict(const EvictTo& goal) override;
    std::optional<EntryRow> info(const Key& key) override;
    void for_each_use(const std::function<bool(const EntryUse&)>& visit) override;
    void for_each(const std::function<bool(const EntryRow&)>& visit) override;
    VerifyReport verify(Repair repair, const Progress& progress) override;
    void touch(const Key& key, std::uint32_t uses) override;
    void flush() override;
    std::vector<Victim> maintain(std::stop_token stop) override;
    FlightAttempt try_flight(const Key& key) override;
    Bytes read_note(std::string_view name) override;
    bool update_note(std::string_view name, const std::function<Bytes(ByteView)>& edit) override;

private:
    template <class T, class Call>
    T guarded(T instead, Call&& call) const noexcept;
    // Lets `visit` be called by what must not throw, and throws on to the caller what it threw.
    template <class Row, class Walk>
    void visiting(const std::function<bool(const Row&)>& visit, Walk&& walk) const;
    void tell() const noexcept;

    const std::unique_ptr<Tier> m_inner;
    const LogSink m_log;
    mutable std::atomic<bool> m_told{false};
    std::string m_name;
    TierTraits m_traits;
};

}  // namespace hearth::engine

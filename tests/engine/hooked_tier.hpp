#pragma once

#include "hearth/tier.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <utility>

namespace hearth::test {

// What a test does in place of a tier, or after it. A hook that is empty, or answers nothing, leaves the tier to
// itself.
struct TierHooks {
    std::function<std::optional<Miss>(const Key&)> find{};
    std::function<std::optional<Error>(const Key&)> store{};
    std::function<std::optional<Error>(const Key&)> stored{};  // fails after the tier has made room
    std::function<void(const Key&)> found{};
    std::function<void(Found&)> gives{};  // what find() and peek() return
    std::function<void(const Key&)> peeked{};
    std::function<void(const Key&)> contains{};
    std::function<void(const FlightAttempt&)> flight_tried{};
    std::function<void(std::stop_token)> maintain{};
    std::function<void()> note{};
    std::optional<TierTraits> traits{};
};

// A tier around another, to watch it, hold it up or make it fail.
class HookedTier final : public Tier {
public:
    HookedTier(std::unique_ptr<Tier> inner, TierHooks hooks) : m_inner(std::move(inner)), m_hooks(std::move(hooks)) {}

    std::string_view name() const override { return m_inner->name(); }
    TierTraits traits() const override { return m_hooks.traits.value_or(m_inner->traits()); }
    Found find(const Key& key) override
    {
        if (const std::optional<Miss> instead = m_hooks.find ? m_hooks.find(key) : std::nullopt)
            return Found::miss(*instead);
        Found found = m_inner->find(key);
        if (m_hooks.found)
            m_hooks.found(key);
        if (m_hooks.gives)
            m_hooks.gives(found);
        return found;
    }
    Found peek(const Key& key) override
    {
        Found found = m_inner->peek(key);
        if (m_hooks.peeked)
            m_hooks.peeked(key);
        if (m_hooks.gives)
            m_hooks.gives(found);
        return found;
    }
    Result<StoreReport> store(const Key& key, const Entry& entry, Victims victims, std::vector<Victim>& gone) override
    {
        if (const std::optional<Error> instead = m_hooks.store ? m_hooks.store(key) : std::nullopt)
            return *instead;
        Result<StoreReport> stored = m_inner->store(key, entry, victims, gone);
        if (const std::optional<Error> instead = m_hooks.stored ? m_hooks.stored(key) : std::nullopt) {
            m_inner->remove(key);
            return *instead;
        }
        return stored;
    }
    bool contains(const Key& key) override
    {
        const bool there = m_inner->contains(key);
        if (m_hooks.contains)
            m_hooks.contains(key);
        return there;
    }
    bool remove(const Key& key) override { return m_inner->remove(key); }
    void clear() override { m_inner->clear(); }
    TierUsage usage() override { return m_inner->usage(); }
    Limits limits() const override { return m_inner->limits(); }
    std::vector<Victim> set_limits(const Limits& limits, Victims victims) override
    {
        return m_inner->set_limits(limits, victims);
    }
    void set_policy(const PolicyFactory& policy) override { m_inner->set_policy(policy); }
    std::optional<EntryRow> info(const Key& key) override { return m_inner->info(key); }
    void for_each(const std::function<bool(const EntryRow&)>& visit) override { m_inner->for_each(visit); }
    std::vector<Victim> evict_to(const EvictTo& goal, const Progress& progress) override
    {
        return m_inner->evict_to(goal, progress);
    }
    VerifyReport verify(Repair repair, const Progress& progress) override { return m_inner->verify(repair, progress); }
    void touch(const Key& key, std::uint32_t uses) override { m_inner->touch(key, uses); }
    void flush() override { m_inner->flush(); }
    std::vector<Victim> maintain(std::stop_token stop) override
    {
        if (m_hooks.maintain)
            m_hooks.maintain(stop);
        return m_inner->maintain(stop);
    }
    FlightAttempt try_flight(const Key& key) override
    {
        FlightAttempt attempt = m_inner->try_flight(key);
        if (m_hooks.flight_tried)
            m_hooks.flight_tried(attempt);
        return attempt;
    }
    std::string note() override
    {
        if (m_hooks.note)
            m_hooks.note();
        return m_inner->note();
    }
    Bytes read_note(std::string_view name) override { return m_inner->read_note(name); }
    bool update_note(std::string_view name, const std::function<Bytes(ByteView)>& edit) override
    {
        return m_inner->update_note(name, edit);
    }

private:
    std::unique_ptr<Tier> m_inner;
    TierHooks m_hooks;
};

inline TierSpec hooked(const TierSpec& inner, const TierHooks& hooks)
{
    return {inner.name, [inner, hooks](const TierContext& context) -> Result<std::unique_ptr<Tier>> {
                Result<std::unique_ptr<Tier>> opened = inner.open(context);
                if (!opened)
                    return opened;
                return {std::make_unique<HookedTier>(*std::move(opened), hooks)};
            }};
}

}  // namespace hearth::test

#include "policy/guarded_policy.hpp"

#include "base/error.hpp"
#include "policy/gdsf_policy.hpp"
#include "policy/lru_policy.hpp"

#include <utility>

namespace hearth::policy {

namespace {

class Told {
public:
    explicit Told(LogSink log) : m_log(std::move(log)) {}

    void tell(const std::string& what)
    {
        if (m_log && !m_told.exchange(true, std::memory_order_relaxed))
            m_log(LogLevel::warning, fmt::format("The policy {}", what));
    }
    void tell_of_throw() noexcept
    try {
        tell("threw: " + what_was_thrown());
    } catch (...) {
        return;  // there is no memory even to say so
    }

private:
    const LogSink m_log;
    std::atomic<bool> m_told{false};
};

class GuardedPolicy final : public Policy {
public:
    GuardedPolicy(std::unique_ptr<Policy> inner, std::shared_ptr<Told> told)
        : m_inner(std::move(inner)), m_told(std::move(told))
    {
    }

    void set_tier(std::string_view name) override
    {
        guarded(0, [&] { return m_inner->set_tier(name), 0; });
    }
    void inserted(const Resident& entry) override
    {
        guarded(0, [&] { return m_inner->inserted(entry), 0; });
    }
    void removed(const Resident& entry) override
    {
        guarded(0, [&] { return m_inner->removed(entry), 0; });
    }
    const Resident* victim() override
    {
        return guarded(static_cast<const Resident*>(nullptr), [&] { return m_inner->victim(); });
    }
    bool for_each_victim(const std::function<bool(const Resident&)>& visit) override
    {
        return guarded(true, [&] { return m_inner->for_each_victim(visit); });
    }
    Touches touches() const override
    {
        return guarded(Touches::counted, [&] { return m_inner->touches(); });
    }
    void touched(const Resident& entry) override
    {
        guarded(0, [&] { return m_inner->touched(entry), 0; });
    }
    bool admit(const Resident& entry) const override
    {
        return guarded(false, [&] { return m_inner->admit(entry); });
    }
    bool outweighs(const Resident& entry, std::uint64_t bytes, std::uint64_t entries) override
    {
        return guarded(false, [&] { return m_inner->outweighs(entry, bytes, entries); });
    }
    bool promote(const Resident& entry) const override
    {
        return guarded(false, [&] { return m_inner->promote(entry); });
    }
    double clock() const override
    {
        return guarded(0.0, [&] { return m_inner->clock(); });
    }
    void set_clock(double clock) override
    {
        guarded(0, [&] { return m_inner->set_clock(clock), 0; });
    }

private:
    template <class T, class Call>
    T guarded(T instead, Call&& call) const noexcept
    try {
        return call();
    } catch (...) {
        m_told->tell_of_throw();
        return instead;
    }

    const std::unique_ptr<Policy> m_inner;
    const std::shared_ptr<Told> m_told;
};

// Hearth's own need no guard, and are not slowed by one.
bool is_ours(const Policy& policy)
{
    return dynamic_cast<const GdsfPolicy*>(&policy) || dynamic_cast<const LruPolicy*>(&policy);
}

std::unique_ptr<Policy> make(const PolicyFactory& factory, Told& told)
try {
    if (std::unique_ptr<Policy> made = factory())
        return made;
    told.tell("that was given makes nothing. The default takes its place.");
    return gdsf()();
} catch (...) {
    told.tell_of_throw();
    return gdsf()();
}

}  // namespace

bool makes_one(const PolicyFactory& factory) noexcept
try {
    return factory && factory() != nullptr;
} catch (...) {
    return false;
}

PolicyFactory in_tier(PolicyFactory factory, std::string tier)
{
    return [factory = std::move(factory), tier = std::move(tier)] {
        std::unique_ptr<Policy> made = factory();
        made->set_tier(tier);
        return made;
    };
}

PolicyFactory guarded(PolicyFactory factory, LogSink log)
{
    return [factory = std::move(factory), told = std::make_shared<Told>(std::move(log))]() -> std::unique_ptr<Policy> {
        std::unique_ptr<Policy> made = make(factory, *told);
        if (is_ours(*made))
            return made;
        return std::make_unique<GuardedPolicy>(std::move(made), told);
    };
}

}  // namespace hearth::policy

// Compiles so quick that waiting for servers may take longer: both begin at once, and the first result counts.

#include "engine/flights/compile_errors.hpp"
#include "engine/flights/flights.hpp"

#include <condition_variable>

namespace hearth::engine {

namespace {

// What the caller waits for. It is shared, so that it still exists when the slower of the two is done.
struct Race {
    explicit Race(const Key& key) : compiling(key) {}

    waits::Work compiling;
    std::mutex mutex;
    std::condition_variable changed;
    std::optional<Lookup> fetched;
    std::optional<Result<Lookup>> compiled;

    template <class T, class U>
    void tell(std::optional<T>& which, U&& what)
    {
        const std::lock_guard lock(mutex);
        which.emplace(std::forward<U>(what));
        changed.notify_all();
    }
    bool has_fetched() const { return fetched && *fetched && !(*fetched)->failed(); }
    bool decided() const { return compiled || has_fetched(); }
};

}  // namespace

bool Flights::races() const noexcept
{
    return m_options.race_under.count() > 0 && m_tiers.first_remote() < m_tiers.size() && !is_forbidden();
}

bool Flights::is_quick(const GetOptions& options) const
{
    if (m_options.race_under.count() <= 0 || options.captures != Captures::owned)
        return false;
    std::chrono::nanoseconds expected = options.expected;
    if (expected.count() == 0) {
        const std::uint64_t compiles = m_stack.counters().sum<&Stats::compiles>();
        if (compiles == 0)
            return false;  // nothing is known yet
        expected = std::chrono::nanoseconds(m_stack.counters().sum<&Stats::compile_ns_spent>() / compiles);
    }
    return expected < m_options.race_under;
}

Lookup Flights::look(const Key& key, const GetOptions& options, Reach& asked)
{
    if (options.kind == EntryKind::derived)
        return m_stack.peek_here(key, options.kind);
    if (!races())
        return m_stack.find(key);
    Lookup here = m_stack.find_among(0, m_tiers.first_remote(), key, Miss::absent);
    if (here)
        return here;
    if (!is_quick(options))
        return m_stack.find_from(m_tiers.first_remote(), key, here.why());
    asked = Reach::this_machine;
    return here;
}

Result<Lookup> Flights::race(const Order& order)
{
    const auto race = std::make_shared<Race>(order.key);
    const base::Workers::StepAside thread;
    m_workers->submit([this, key = order.key, why = order.why, race](base::Workers::Call call) {
        race->tell(race->fetched, call == base::Workers::Call::run ? m_stack.find_from(m_tiers.first_remote(), key, why)
                                                                   : Lookup(why));
    });
    m_workers->submit([this, order, race](base::Workers::Call call) {
        const waits::Doing doing(race->compiling);
        race->tell(race->compiled,
                   call == base::Workers::Call::run ? fly(order, std::nullopt) : Result<Lookup>(closed()));
    });
    const waits::Waiting waiting(race->compiling);
    if (waiting.refused())
        return *waiting.refused();
    const CompileLimit::StepAside place;
    std::unique_lock lock(race->mutex);
    const auto decided = [&] { return race->decided(); };
    if (order.options.deadline.count() <= 0)
        race->changed.wait(lock, decided);
    else if (!race->changed.wait_for(lock, order.options.deadline, decided))
        return out_of_time(order.options.deadline);
    // The compile may have ended early because it found the entry that the server had just brought.
    if (!race->compiled || (race->has_fetched() && race->compiled->ok() && (*race->compiled)->waited()))
        return std::move(*race->fetched);
    return std::move(*race->compiled);
}

}  // namespace hearth::engine

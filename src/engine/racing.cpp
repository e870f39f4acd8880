// Makes so quick that waiting for servers would take longer: both begin at once, and who is first answers.

#include "engine/engine.hpp"
#include "engine/make_errors.hpp"

#include <condition_variable>

namespace hearth::engine {

namespace {

// What the caller waits for. The slower of the two finds it still there when it is done.
struct Race {
    std::mutex mutex;
    std::condition_variable changed;
    std::optional<Lookup> fetched;
    std::optional<Result<Lookup>> made;

    template <class T, class U>
    void tell(std::optional<T>& which, U&& what)
    {
        const std::lock_guard lock(mutex);
        which.emplace(std::forward<U>(what));
        changed.notify_all();
    }
    bool has_fetched() const { return fetched && *fetched && !(*fetched)->failed(); }
    bool decided() const { return made || has_fetched(); }
};

}  // namespace

bool Engine::races() const noexcept
{
    return m_options.race_under.count() > 0 && m_first_remote < m_tiers.size() && m_options.making != Making::forbidden;
}

bool Engine::is_quick(const GetOptions& options) const
{
    if (m_options.race_under.count() <= 0 || !options.may_outlive)
        return false;
    std::chrono::nanoseconds expected = options.expected;
    if (expected.count() == 0) {
        const std::uint64_t makes = m_counters.sum(Count::makes);
        if (makes == 0)
            return false;  // nothing is known yet
        expected = std::chrono::nanoseconds(m_counters.sum(Count::make_ns_spent) / makes);
    }
    return expected < m_options.race_under;
}

Lookup Engine::look(const Key& key, const GetOptions& options)
{
    if (!options.counted)
        return peek(key, Reach::this_machine);
    if (!races())
        return find(key);
    Lookup here = find_among(0, m_first_remote, key, Miss::absent);
    if (here)
        return here;
    if (!is_quick(options))
        return find_from(m_first_remote, key, here.why());
    here.m_servers_unasked = true;
    return here;
}

Result<Lookup> Engine::race(const Key& key, const Bytes& request, const Maker& make, const GetOptions& options,
                            Miss before)
{
    const auto race = std::make_shared<Race>();
    const base::Workers::StepAside thread(*m_workers);
    m_workers->submit([this, key, before, race](base::Workers::Call call) {
        race->tell(race->fetched,
                   call == base::Workers::Call::run ? find_from(m_first_remote, key, before) : Lookup(before));
    });
    m_workers->submit([this, key, request, make, options, race](base::Workers::Call call) {
        race->tell(race->made, call == base::Workers::Call::run ? fly(key, request, make, options, std::nullopt)
                                                                : Result<Lookup>(closed()));
    });
    const MakerLimit::StepAside place;
    std::unique_lock lock(race->mutex);
    const auto decided = [&] { return race->decided(); };
    if (options.deadline.count() <= 0)
        race->changed.wait(lock, decided);
    else if (!race->changed.wait_for(lock, options.deadline, decided))
        return out_of_time(options.deadline);
    // Who set out to make it may have found what the server had just brought.
    if (!race->made || (race->has_fetched() && race->made->ok() && (*race->made)->coalesced()))
        return std::move(*race->fetched);
    if (race->made->ok())
        (*race->made)->m_why = before;
    return std::move(*race->made);
}

}  // namespace hearth::engine

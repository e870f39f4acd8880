#include "engine/stack/guarded_tier.hpp"

#include "base/error.hpp"

#include <exception>
#include <utility>

namespace hearth::engine {

GuardedTier::GuardedTier(std::unique_ptr<Tier> inner, std::string name, LogSink log)
    : m_inner(std::move(inner)), m_log(std::move(log)), m_name(std::move(name))
{
    m_name = guarded(m_name, [&] { return std::string(m_inner->name()); });
    m_traits = guarded(TierTraits{}, [&] { return m_inner->traits(); });
}

// What `call` returns, or `instead` if it throws.
template <class T, class Call>
T GuardedTier::guarded(T instead, Call&& call) const noexcept
try {
    return call();
} catch (...) {
    tell();
    return instead;
}

void GuardedTier::tell() const noexcept
try {
    if (m_log && !m_told.exchange(true, std::memory_order_relaxed))
        m_log(LogLevel::warning, fmt::format("Tier \"{}\" threw: {}", m_name, what_was_thrown()));
} catch (...) {
    return;  // there is no memory even to say so
}

namespace {

// Our tiers say where an artifact came from. What a tier of the program's own gives may be anybody's, and is not ours
// to sign once it is inserted again.
Found of_elsewhere(Found found)
{
    if (found && found.artifact->origin == Origin::unknown) {
        auto copy = std::make_shared<Artifact>(*found.artifact);
        copy->origin = Origin::elsewhere;
        found.artifact = ArtifactLease(std::shared_ptr<const Artifact>(std::move(copy)));
    }
    return found;
}

}  // namespace

std::string GuardedTier::note()
{
    return guarded(std::string{}, [&] { return m_inner->note(); });
}

std::string GuardedTier::directory() const
{
    return guarded(std::string{}, [&] { return m_inner->directory(); });
}

Found GuardedTier::find(const Key& key)
{
    return guarded(Found::miss(Miss::outage), [&] { return of_elsewhere(m_inner->find(key)); });
}

Found GuardedTier::peek(const Key& key)
{
    return guarded(Found::miss(Miss::outage), [&] { return of_elsewhere(m_inner->peek(key)); });
}

Result<StoreReport> GuardedTier::store(const Key& key, const Entry& entry, Victims victims, std::vector<Victim>& gone)
try {
    return m_inner->store(key, entry, victims, gone);
} catch (...) {
    return error(code_of_thrown(Code::io), "Tier \"{}\" threw: {}", m_name, what_was_thrown());
}

bool GuardedTier::contains(const Key& key)
{
    return guarded(false, [&] { return m_inner->contains(key); });
}

bool GuardedTier::remove(const Key& key)
{
    return guarded(false, [&] { return m_inner->remove(key); });
}

void GuardedTier::clear()
{
    guarded(0, [&] { return m_inner->clear(), 0; });
}

TierUsage GuardedTier::usage()
{
    return guarded(TierUsage{}, [&] { return m_inner->usage(); });
}

Limits GuardedTier::limits() const
{
    return guarded(Limits{}, [&] { return m_inner->limits(); });
}

std::vector<Victim> GuardedTier::set_limits(const Limits& limits, Victims victims)
{
    return guarded(std::vector<Victim>{}, [&] { return m_inner->set_limits(limits, victims); });
}

void GuardedTier::set_policy(const PolicyFactory& policy)
{
    guarded(0, [&] { return m_inner->set_policy(policy), 0; });
}

std::vector<Victim> GuardedTier::evict_to(const EvictTo& goal, const Progress& progress)
{
    return guarded(std::vector<Victim>{}, [&] { return m_inner->evict_to(goal, progress); });
}

std::vector<Victim> GuardedTier::would_evict(const EvictTo& goal)
{
    return guarded(std::vector<Victim>{}, [&] { return m_inner->would_evict(goal); });
}

std::optional<EntryRow> GuardedTier::info(const Key& key)
{
    return guarded(std::optional<EntryRow>{}, [&] { return m_inner->info(key); });
}

template <class Row, class Walk>
void GuardedTier::visiting(const std::function<bool(const Row&)>& visit, Walk&& walk) const
{
    std::exception_ptr of_visitor;
    const std::function<bool(const Row&)> careful = [&](const Row& row) {
        try {
            return visit(row);
        } catch (...) {
            of_visitor = std::current_exception();
            return false;
        }
    };
    guarded(0, [&] { return walk(careful), 0; });
    if (of_visitor)
        std::rethrow_exception(of_visitor);
}

void GuardedTier::for_each(const std::function<bool(const EntryRow&)>& visit)
{
    visiting(visit, [&](const auto& careful) { m_inner->for_each(careful); });
}

void GuardedTier::for_each_use(const std::function<bool(const EntryUse&)>& visit)
{
    visiting(visit, [&](const auto& careful) { m_inner->for_each_use(careful); });
}

VerifyReport GuardedTier::verify(Repair repair, const Progress& progress)
{
    return guarded(VerifyReport{}, [&] { return m_inner->verify(repair, progress); });
}

void GuardedTier::touch(const Key& key, std::uint32_t uses)
{
    guarded(0, [&] { return m_inner->touch(key, uses), 0; });
}

void GuardedTier::flush()
{
    guarded(0, [&] { return m_inner->flush(), 0; });
}

std::vector<Victim> GuardedTier::maintain(std::stop_token stop)
{
    return guarded(std::vector<Victim>{}, [&] { return m_inner->maintain(std::move(stop)); });
}

FlightAttempt GuardedTier::try_flight(const Key& key)
{
    return guarded(FlightAttempt{}, [&] { return m_inner->try_flight(key); });
}

Bytes GuardedTier::read_note(std::string_view name)
{
    return guarded(Bytes{}, [&] { return m_inner->read_note(name); });
}

bool GuardedTier::update_note(std::string_view name, const std::function<Bytes(ByteView)>& edit)
{
    return guarded(false, [&] { return m_inner->update_note(name, edit); });
}

}  // namespace hearth::engine

#include "ledger/book.hpp"

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/telling.hpp"
#include "policy/guarded_policy.hpp"

namespace hearth::ledger {

namespace {

// So often a call makes room that others then take before it says that there is none.
constexpr int k_most_attempts = 1000;

Lease lease_of(BufferNode& node, std::size_t tier, base::HazardSlot* slot) noexcept
{
    return {slot, &node.leases, node.handle, node.resident.bytes, tier};
}

}  // namespace

Book::Book(Options options) : m_move(std::move(options.move))
{
    for (Tier& tier : options.tiers) {
        const PolicyFactory policy =
            policy::in_tier(policy::guarded(tier.policy ? std::move(tier.policy) : gdsf(), options.log), tier.name);
        const Limits limits{.max_bytes = tier.max_bytes, .max_entries = tier.max_entries};
        m_tiers.push_back(std::make_unique<TierOf>(tier.name, policy, limits));
    }
}

Book::TierOf::TierOf(std::string the_name, const PolicyFactory& policy, const Limits& limits)
    : name(std::move(the_name)), store(name, base::system_clock(), policy(), limits), promotion(policy())
{
}

Status Book::in_callback() const
{
    if (!base::Telling::of(this))
        return {};
    return error(
        Code::invalid_argument, "{}",
        "A function that the ledger calls must not change it: that may have to move something else. Do it when "
        "the call that it serves has returned.");
}

Status Book::known(std::size_t tier) const
{
    if (tier < m_tiers.size())
        return {};
    return error(Code::invalid_argument, "There is no tier {}: the last of this ledger is {}, \"{}\".", tier,
                 m_tiers.size() - 1, m_tiers.back()->name);
}

// Needs the lock: nobody changes a store without it.
Book::Place Book::find_locked(const Key& key) const
{
    for (std::size_t tier = 0; tier < m_tiers.size(); ++tier)
        if (resident::Node* const node = m_tiers[tier]->store.table().peek(key))
            return {static_cast<BufferNode*>(node), tier};
    return {};
}

void Book::changed() noexcept
{
    ++m_changes;
    m_changed.notify_all();
}

void Book::wait_for_change(Lock& lock)
{
    const std::uint64_t before = m_changes;
    m_changed.wait(lock, [&] { return m_changes != before; });
}

// Where the buffer is once it is neither in motion nor on its way in. The caller has nothing in motion itself, so
// nobody waits for it.
Book::Place Book::settled(Lock& lock, const Key& key)
{
    for (;;) {
        const Place place = find_locked(key);
        if (!m_coming.contains(key) && !(place.node && place.node->in_motion()))
            return place;
        wait_for_change(lock);
    }
}

// Between two attempts nothing is in motion by this call: calls that are in each other's way cannot both wait.
template <class Attempt>
Status Book::until_nobody_is_in_the_way(Lock& lock, Attempt&& attempt)
{
    for (int attempts = 0;;) {
        Operation operation{lock};
        const std::optional<Refusal> refusal = attempt(operation);
        if (!refusal)
            return {};
        if (refusal->by != Refusal::By::others || attempts == k_most_attempts)
            return refusal->error;
        // Who only waits may be woken by many that are not in the way.
        if (operation.told != 0 || m_in_motion == 0)
            ++attempts;
        if (m_in_motion != 0)
            wait_for_change(lock);
    }
}

Holding Book::holding_of(const Place& place) const
{
    const Resident& entry = place.node->resident;
    const std::uint32_t leases = place.node->leases.load(std::memory_order_relaxed);
    const bool moving = leases == BufferNode::k_in_motion;
    return {entry.key, entry.bytes, place.node->handle, place.tier, entry.uses(), !moving && leases != 0, moving};
}

// What it was before, unless it is leased.
Result<Holding> Book::claim_by_hand(const Place& place, const char* what)
{
    if (!place.node->claim())
        return error(Code::unavailable, "Buffer {} is leased and cannot be {}. End its leases first.",
                     place.node->resident.key.hex(), what);
    Holding holding = holding_of(place);
    holding.moving = false;
    return holding;
}

Lease Book::lease(const Key& key)
{
    for (;;) {
        for (std::size_t tier = 0; tier < m_tiers.size(); ++tier) {
            const resident::ResidentStore::Hit hit = m_tiers[tier]->store.find(key);
            if (!hit.node)
                continue;
            const Place place{static_cast<BufferNode*>(hit.node), tier};
            if (!place.node->lease()) {
                base::release_slot(hit.slot);
                break;
            }
            if (tier > 0 && m_tiers[tier]->promotion->promote(place.node->resident) && !base::Telling::of(this))
                return lease_promoted(place, hit.slot);
            return lease_of(*place.node, tier, hit.slot);
        }
        // It is not here, or in motion, or has moved up while we looked further down.
        Lock lock(m_mutex);
        const Place place = find_locked(key);
        if (!place.node)
            return {};
        if (!place.node->in_motion())
            continue;
        if (base::Telling::of(this))
            return Lease::of_moving();
        wait_for_change(lock);
    }
}

// Of what the caller has leased, after a move one tier up if that can be.
Lease Book::lease_promoted(Place place, base::HazardSlot* slot)
{
    Lock lock(m_mutex);
    if (!place.node->claim(1))
        return lease_of(*place.node, place.tier, slot);
    base::release_slot(slot);
    {
        Operation operation{lock, Evicting::no};
        Claim claim(*this, operation, place);
        transfer(operation, claim, place.tier - 1, &place);
    }
    // Nobody claims it meanwhile: that needs the lock.
    place.node->lease();
    slot = base::acquire_slot();
    base::announce(slot, place.node);
    return lease_of(*place.node, place.tier, slot);
}

std::optional<Holding> Book::find(const Key& key) const
{
    const Lock lock(m_mutex);
    const Place place = find_locked(key);
    return place.node ? std::optional(holding_of(place)) : std::nullopt;
}

Result<Added> Book::add(const Key& key, const Buffer& buffer, const MakeFunction& make)
{
    HEARTH_TRY(in_callback());
    HEARTH_TRY(known(buffer.tier));
    Added added;
    Lock lock(m_mutex);
    const Status status = until_nobody_is_in_the_way(
        lock, [&](Operation& operation) { return try_add(operation, key, buffer, make, added); });
    HEARTH_TRY(status);
    return added;
}

std::optional<Book::Refusal> Book::try_add(Operation& operation, const Key& key, const Buffer& buffer,
                                           const MakeFunction& make, Added& added)
{
    auto node = std::make_unique<BufferNode>(key, buffer.bytes, buffer.cost);
    resident::ResidentStore& store = m_tiers[buffer.tier]->store;
    const Place old = settled(operation.lock, key);
    std::optional<Claim> claim;
    added = {};
    if (old.node) {
        const Result<Holding> before = claim_by_hand(old, "replaced");
        if (!before)
            return Refusal{Refusal::By::leases, before.error()};
        claim.emplace(*this, operation, old);
        added.replaced = *before;
    }
    const Coming coming(*this, operation, key);
    if (std::optional<Refusal> refusal = make_room(operation, buffer.tier, &node->resident))
        return refusal;
    const Result<Handle> made = tell(operation, make);
    if (!made) {
        store.give_up(node->resident);
        return Refusal{Refusal::By::program,
                       error(made.error().code, "The program did not make buffer {} of {} bytes: {}", key.hex(),
                             buffer.bytes, made.error().message)};
    }
    node->handle = added.handle = *made;
    store.place(std::move(node));
    if (claim && old.tier == buffer.tier)
        claim->replaced();
    else if (claim)
        claim->take_out();
    return std::nullopt;
}

Result<Holding> Book::remove(const Key& key)
{
    HEARTH_TRY(in_callback());
    Lock lock(m_mutex);
    Operation operation{lock};
    const Place place = settled(lock, key);
    if (!place.node)
        return error(Code::not_found, "Buffer {} is not in the ledger.", key.hex());
    Result<Holding> holding = claim_by_hand(place, "removed");
    HEARTH_TRY(holding);
    Claim(*this, operation, place).take_out();
    return holding;
}

Status Book::move_to(const Key& key, std::size_t tier)
{
    HEARTH_TRY(in_callback());
    HEARTH_TRY(known(tier));
    Lock lock(m_mutex);
    return until_nobody_is_in_the_way(lock, [&](Operation& operation) -> std::optional<Refusal> {
        const Place place = settled(lock, key);
        if (!place.node)
            return Refusal{Refusal::By::program, error(Code::not_found, "Buffer {} is not in the ledger.", key.hex())};
        if (place.tier == tier)
            return std::nullopt;
        if (const Result<Holding> before = claim_by_hand(place, "moved"); !before)
            return Refusal{Refusal::By::leases, before.error()};
        Claim claim(*this, operation, place);
        return transfer(operation, claim, tier);
    });
}

Status Book::set_limits(std::size_t tier, const Limits& limits)
{
    HEARTH_TRY(in_callback());
    HEARTH_TRY(known(tier));
    if (limits.max_age.count() != 0)
        return error(Code::invalid_argument, "A ledger has no limit on age ({} s). Leave max_age at 0.",
                     limits.max_age.count());
    Lock lock(m_mutex);
    m_tiers[tier]->store.change_limits(limits);
    return until_nobody_is_in_the_way(lock, [&](Operation& operation) { return make_room(operation, tier, nullptr); });
}

Limits Book::limits(std::size_t tier) const
{
    return tier < m_tiers.size() ? m_tiers[tier]->store.limits() : Limits{};
}

std::vector<TierUsage> Book::usage() const
{
    const Lock lock(m_mutex);  // so that what moves is counted once
    std::vector<TierUsage> all;
    for (const auto& tier : m_tiers)
        all.push_back(tier->store.usage());
    return all;
}

Stats Book::stats() const
{
    const Lock lock(m_mutex);
    return m_stats;
}

std::vector<Holding> Book::all() const
{
    const Lock lock(m_mutex);
    std::vector<Holding> all;
    for (std::size_t tier = 0; tier < m_tiers.size(); ++tier)
        m_tiers[tier]->store.table().for_each([&](resident::Node& node) {
            all.push_back(holding_of({static_cast<BufferNode*>(&node), tier}));
        });
    return all;
}

}  // namespace hearth::ledger

// How room is made and buffers move.

#include "base/error.hpp"
#include "base/telling.hpp"
#include "ledger/book.hpp"

#include <algorithm>

namespace hearth::ledger {

namespace {

// So many that cannot be moved are passed over for one call.
constexpr std::size_t k_most_refused = 8;

template <class Lock>
class Unlocked {
public:
    explicit Unlocked(Lock& lock) : m_lock(lock) { m_lock.unlock(); }
    ~Unlocked() { m_lock.lock(); }
    Unlocked(const Unlocked&) = delete;
    Unlocked& operator=(const Unlocked&) = delete;

private:
    Lock& m_lock;
};

}  // namespace

void Book::Claim::end() noexcept
{
    --m_operation->in_motion;
    --m_book->m_in_motion;
    m_book = nullptr;
}

void Book::Claim::put_back() noexcept
{
    if (!m_book)
        return;
    m_book->m_tiers[m_place.tier]->store.put_back(*m_place.node);
    m_place.node->unclaim();
    // Whom nobody could see in motion nobody waits for.
    if (m_operation->told != m_told)
        m_book->changed();
    end();
}

void Book::Claim::take_out()
{
    m_book->m_tiers[m_place.tier]->store.take(*m_place.node);
    m_book->changed();
    end();
}

Book::Coming::~Coming()
{
    m_book.m_coming.erase(m_key);
    --m_operation.in_motion;
    --m_book.m_in_motion;
    if (m_operation.told != m_told)
        m_book.changed();
}

Result<Handle> Book::tell(Operation& operation, const MakeFunction& callback)
{
    ++operation.told;
    const Unlocked unlocked(operation.lock);
    const base::Telling telling(this);
    try {
        return callback();
    } catch (...) {
        return error(code_of_thrown(Code::io), "It threw: {}", what_was_thrown());
    }
}

std::optional<Book::Refusal> Book::tell_of_move(Operation& operation, const Place& place, std::optional<std::size_t> to,
                                                Handle& handle)
{
    const Resident& entry = place.node->resident;
    const Move move{entry.key, entry.bytes, place.node->handle, place.tier, to};
    const Result<Handle> moved = tell(operation, [&] { return m_move(move); });
    if (!moved) {
        ++m_stats.refused;
        const std::string& from = m_tiers[place.tier]->name;
        return Refusal{Refusal::By::program,
                       error(moved.error().code, "The program did not move buffer {} of {} bytes {}: {}",
                             entry.key.hex(), entry.bytes,
                             to ? fmt::format("from tier \"{}\" to \"{}\"", from, m_tiers[*to]->name)
                                : fmt::format("out of tier \"{}\"", from),
                             moved.error().message)};
    }
    ++(!to ? m_stats.evictions : *to < place.tier ? m_stats.promotions : m_stats.demotions);
    handle = *moved;
    return std::nullopt;
}

// Room for the entry, which is then reserved, or within the limits if there is none. The lock is given up for
// callbacks.
std::optional<Book::Refusal> Book::make_room(Operation& operation, std::size_t tier, const Resident* entry)
{
    using Store = resident::ResidentStore;
    const auto may_go = [&](resident::Node& node) {
        const std::vector<Key>& refused = operation.refused;
        return std::find(refused.begin(), refused.end(), node.resident.key) == refused.end() &&
               static_cast<BufferNode&>(node).claim();
    };
    // Weighed once, against all that would have to leave for it.
    for (Store::Weigh weigh = Store::Weigh::yes;; weigh = Store::Weigh::no) {
        const Result<Store::Offer> offer = m_tiers[tier]->store.ask_for_room(entry, weigh, may_go);
        if (!offer)
            return Refusal{Refusal::By::tier, offer.error()};
        if (offer->answer == Store::Offer::Answer::reserved)
            return std::nullopt;
        std::vector<Claim> leaving;
        for (resident::Node* const node : offer->victims)
            leaving.emplace_back(*this, operation, Place{static_cast<BufferNode*>(node), tier});
        if (offer->answer == Store::Offer::Answer::full)
            return no_room(operation, tier, entry);
        for (Claim& claim : leaving) {
            std::optional<Refusal> refusal = make_leave(operation, claim);
            if (!refusal)
                continue;
            if (refusal->by != Refusal::By::program)
                return refusal;
            operation.refused.push_back(claim.place().node->resident.key);
            operation.why = refusal->error;
            if (operation.refused.size() >= k_most_refused)
                return no_room(operation, tier, entry);
        }
    }
}

// Down to the next tier that takes it; a tier that is full of what cannot leave is not passed by.
std::optional<Book::Refusal> Book::make_leave(Operation& operation, Claim& claim)
{
    for (std::size_t to = claim.place().tier + 1; to < m_tiers.size(); ++to) {
        std::optional<Refusal> refusal = transfer(operation, claim, to);
        if (!refusal || refusal->by != Refusal::By::tier)
            return refusal;
    }
    if (operation.evicting == Evicting::no)
        return Refusal{Refusal::By::leases,
                       error(Code::no_space, "No tier below \"{}\" has room, and a lease evicts nothing.",
                             m_tiers[claim.place().tier]->name)};
    Handle unused = 0;
    if (std::optional<Refusal> refusal = tell_of_move(operation, claim.place(), std::nullopt, unused))
        return refusal;
    claim.take_out();
    return std::nullopt;
}

std::optional<Book::Refusal> Book::transfer(Operation& operation, Claim& claim, std::size_t to, Place* arrived)
{
    const Resident& entry = claim.place().node->resident;
    auto next = std::make_unique<BufferNode>(entry.key, entry.bytes, entry.cost);
    if (std::optional<Refusal> refusal = make_room(operation, to, &next->resident))
        return refusal;
    if (std::optional<Refusal> refusal = tell_of_move(operation, claim.place(), to, next->handle)) {
        m_tiers[to]->store.give_up(next->resident);
        return refusal;
    }
    if (arrived)
        *arrived = {next.get(), to};
    m_tiers[to]->store.place(std::move(next));
    claim.take_out();
    return std::nullopt;
}

Book::Refusal Book::no_room(const Operation& operation, std::size_t tier, const Resident* entry) const
{
    const TierUsage used = m_tiers[tier]->store.usage();
    std::string what =
        fmt::format("Tier \"{}\" holds {} bytes in {} entries", m_tiers[tier]->name, used.bytes, used.entries);
    what += entry ? fmt::format(" and has no room for {} more", entry->bytes) : ", more than its limits allow";
    if (operation.why)
        return {Refusal::By::program, error(operation.why->code, "{}. {}", what, operation.why->message)};
    return {m_in_motion > operation.in_motion ? Refusal::By::others : Refusal::By::leases,
            error(Code::no_space, "{}: too little of it can leave. End leases, or raise the limits.", what)};
}

}  // namespace hearth::ledger

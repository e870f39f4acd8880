#include "hearth/ledger.hpp"

#include "base/error.hpp"
#include "ledger/book.hpp"
#include "policy/guarded_policy.hpp"

namespace hearth {

namespace {

// Memory may run out: whatever was in motion is put back by then.
template <class Call>
auto as_result(Call&& call) -> decltype(call())
try {
    return call();
} catch (...) {
    return error(code_of_thrown(Code::io), "The ledger could not do it: {}", what_was_thrown());
}

}  // namespace

void ledger::Lease::release() noexcept
{
    // release: pairs with the acquire in BufferNode::claim().
    m_count->fetch_sub(1, std::memory_order_release);
    base::release_slot(m_slot);
}

Ledger::Ledger(std::unique_ptr<ledger::Book> book) noexcept : m_book(std::move(book)) {}
Ledger::Ledger(Ledger&& other) noexcept = default;
Ledger& Ledger::operator=(Ledger&& other) noexcept = default;
Ledger::~Ledger() = default;

Result<Ledger> Ledger::open(ledger::Options options)
{
    return as_result([&]() -> Result<Ledger> {
        if (options.tiers.empty())
            return error(Code::invalid_argument, "A ledger needs a tier at least. Give it the fastest first.");
        if (!options.move)
            return error(Code::invalid_argument, "A ledger needs a function that moves buffers: Options::move.");
        for (const ledger::Tier& tier : options.tiers)
            if (tier.policy && !policy::makes_one(tier.policy))
                return error(Code::invalid_argument,
                             "What tier \"{}\" was given makes no policy. Give a function that returns one, such as "
                             "gdsf().",
                             tier.name);
        return Ledger(std::make_unique<ledger::Book>(std::move(options)));
    });
}

Result<ledger::Added> Ledger::add(const Key& key, const ledger::Buffer& buffer)
{
    return add(key, buffer, [&]() -> Result<ledger::Handle> { return buffer.handle; });
}

Result<ledger::Added> Ledger::add(const Key& key, const ledger::Buffer& buffer, const ledger::MakeFunction& make)
{
    return as_result([&] { return m_book->add(key, buffer, make); });
}

ledger::Lease Ledger::lease(const Key& key)
try {
    return m_book->lease(key);
} catch (...) {
    return {};
}

std::optional<ledger::Holding> Ledger::find(const Key& key) const
{
    return m_book->find(key);
}

Result<ledger::Holding> Ledger::remove(const Key& key)
{
    return as_result([&] { return m_book->remove(key); });
}

Status Ledger::move_to(const Key& key, std::size_t tier)
{
    return as_result([&] { return m_book->move_to(key, tier); });
}

Status Ledger::set_limits(std::size_t tier, const Limits& limits)
{
    return as_result([&] { return m_book->set_limits(tier, limits); });
}

Limits Ledger::limits(std::size_t tier) const
{
    return m_book->limits(tier);
}

std::vector<TierUsage> Ledger::usage() const
{
    return m_book->usage();
}

ledger::Stats Ledger::stats() const
{
    return m_book->stats();
}

void Ledger::for_each(const std::function<bool(const ledger::Holding&)>& visit) const
{
    for (const ledger::Holding& holding : m_book->all())
        if (!visit(holding))
            return;
}

}  // namespace hearth

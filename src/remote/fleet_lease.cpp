// One compile in the fleet: the process that compiles an entry holds a lease for it in the store, named after the key.
// The lease ends when the entry has been sent, or expires when its holder is gone. It only saves work: two compiles
// under the same key give the same entry, so it does no harm if two believe that they hold it.

#include "remote/store_tier.hpp"

#include "base/hex.hpp"

#include <fmt/format.h>
#include <random>
#include <unistd.h>

namespace hearth::remotes {

namespace {

// Random, so that no two holders ever have the same: the token tells our own lease from another's.
Bytes fresh_token()
{
    std::random_device random;
    std::array<std::uint32_t, 4> words{random(), random(), random(), random()};
    std::array<char, 65> host{};
    ::gethostname(host.data(), host.size() - 1);
    return Bytes::copy_of(
        fmt::format("{} {} {}", base::to_hex(std::as_bytes(std::span(words))), host.data(), ::getpid()));
}

std::string lease_name(const Key& key)
{
    return key.hex() + ".lease";
}

}  // namespace

// Held by the thread that compiles.
class StoreTier::Held final : public Flight {
public:
    Held(StoreTier& tier, std::string name, Bytes token)
        : m_tier(tier), m_name(std::move(name)), m_token(std::move(token))
    {
    }
    ~Held() override { m_tier.end_lease(m_name, m_token); }
    Held(const Held&) = delete;
    Held& operator=(const Held&) = delete;

private:
    StoreTier& m_tier;
    const std::string m_name;
    const Bytes m_token;
};

FlightAttempt StoreTier::try_flight(const Key& key)
{
    if (m_options.lease == FleetLease::off || m_options.access == Access::read_only)
        return {};
    {
        const std::lock_guard lock(m_mutex);
        if (!m_lease_problem.empty())
            return {};
    }
    const Result<RemoteStore*> store = reached();
    if (!store)
        return {};
    const std::string name = lease_name(key);
    Bytes token = fresh_token();
    const Result<bool> taken = settled((*store)->put_if_absent(name, token, m_options.lease_time, read_deadline()));
    if (!taken) {
        if (taken.error().code == Code::other_version) {
            const std::lock_guard lock(m_mutex);
            m_lease_problem = taken.error().message;
        }
        return {};
    }
    if (!*taken) {
        m_lease_waits.fetch_add(1, std::memory_order_relaxed);
        return {FlightAttempt::Outcome::busy, nullptr};
    }
    m_leases_taken.fetch_add(1, std::memory_order_relaxed);
    {
        const std::lock_guard lock(m_mutex);
        m_leases[name] = {token, std::chrono::steady_clock::now() + m_options.lease_time / 3};
    }
    m_writes.wake();
    return {FlightAttempt::Outcome::held, std::make_unique<Held>(*this, name, std::move(token))};
}

void StoreTier::end_lease(const std::string& name, const Bytes& token)
{
    {
        const std::lock_guard lock(m_mutex);
        m_leases.erase(name);
    }
    // Sent after the entry that was compiled under the lease, so that the next holder finds the entry.
    static_cast<void>(m_writes.add({Outgoing::Kind::end_of_lease, name, token}));
}

// Called on the thread that writes. Returns when to call again; zero: no lease is held.
std::chrono::milliseconds StoreTier::renew_leases()
{
    const auto now = std::chrono::steady_clock::now();
    std::vector<std::pair<std::string, Bytes>> due;
    bool any = false;
    {
        const std::lock_guard lock(m_mutex);
        any = !m_leases.empty();
        for (auto& [name, lease] : m_leases) {
            if (now < lease.renew_at)
                continue;
            lease.renew_at = now + m_options.lease_time / 3;
            due.emplace_back(name, lease.token);
        }
    }
    for (const auto& [name, token] : due)
        if (const Result<RemoteStore*> store = reached())
            static_cast<void>(settled((*store)->renew(name, token, m_options.lease_time, read_deadline())));
    return any ? std::max(m_options.lease_time / 6, std::chrono::milliseconds(1)) : std::chrono::milliseconds(0);
}

}  // namespace hearth::remotes

// The cache that a process has without passing it around.

#include "base/digest.hpp"
#include "engine/parts.hpp"
#include "hearth/cache.hpp"

#include <atomic>
#include <cstdlib>
#include <memory>

namespace hearth {

namespace {

// Null: not opened yet. Never closed: when the program ends, other threads may be in the middle of a compile.
std::atomic<Cache*> g_shared{nullptr};

void flush_shared() noexcept
try {
    g_shared.load(std::memory_order_acquire)->flush();
} catch (...) {
    return;  // the program has ended: there is nobody to tell
}

std::unique_ptr<Cache> open_shared()
{
    // It is not closed, so nothing would wait for a compile that was left running (docs/scaling.md).
    Result<Cache> opened = Cache::open({.compile_time_limit = std::chrono::milliseconds(0)});
    if (!opened)  // no setting is known to do that
        opened = Cache::open({.caching = Switch::off});
    return std::make_unique<Cache>(*std::move(opened));
}

}  // namespace

Cache& Cache::shared()
{
    // acquire: pairs with the release below, so that the cache is seen complete. No lock: a child that is forked while
    // another thread opens the cache opens its own. Of two threads that open it at once, one closes its own again.
    Cache* shared = g_shared.load(std::memory_order_acquire);
    if (shared != nullptr)
        return *shared;
    std::unique_ptr<Cache> opened = open_shared();
    if (!g_shared.compare_exchange_strong(shared, opened.get(), std::memory_order_acq_rel, std::memory_order_acquire))
        return *shared;
    shared = opened.release();
    const engine::Tiers& tiers = shared->parts().tiers;
    if (tiers.first_remote() < tiers.size())
        base::start_openssl();  // what is still on its way to a server is sent before OpenSSL ends
    static_cast<void>(std::atexit(flush_shared));
    return *shared;
}

}  // namespace hearth

#include "process_cache.hpp"

#include "hearth/options.hpp"
#include "hearth/ready.hpp"
#include "real.hpp"

#include <atomic>
#include <cstdlib>
#include <memory>

namespace hearth::proxy {

namespace {

// Null: not opened yet. Without a cache inside: opening failed.
struct Opened {
    std::unique_ptr<Cache> cache;
};
std::atomic<Opened*> g_opened{nullptr};
std::atomic<const Compiling*> g_compiling{nullptr};

std::unique_ptr<Opened> open()
{
    auto opened = std::make_unique<Opened>();
    CacheOptions options;
    // A compile that was left running would take the program down when it ends (docs/scaling.md).
    options.compile_time_limit = std::chrono::milliseconds(0);
    if (std::getenv("HEARTH_LOG") == nullptr) {
        // Nothing on the program's own streams; `hearth run --summary` tells what was wrong.
        options.log_to = "off";
        if (is_noting())
            options.log = run_log::note_warning;
    }
    if (Result<Cache> cache = Cache::open(options))
        opened->cache = std::make_unique<Cache>(*std::move(cache));
    return opened;
}

// What is still on its way to disk or to a server goes out before the program ends. The cache stays: another thread may
// be in the middle of a compile.
void flush() noexcept
try {
    if (Opened* opened = g_opened.load(std::memory_order_acquire); opened != nullptr && opened->cache)
        opened->cache->flush();
} catch (...) {
    return;  // the program has ended: there is nobody to tell
}

std::atomic<bool> g_flushes_at_exit{false};

// Where flush_at_exit() could not.
__attribute__((destructor)) void at_end() noexcept
{
    flush();
}

}  // namespace

Cache* cache()
{
    // acquire: pairs with the release below, so that the cache is seen complete. No lock: a child that is forked while
    // another thread opens the cache opens its own.
    Opened* opened = g_opened.load(std::memory_order_acquire);
    if (opened == nullptr) {
        std::unique_ptr<Opened> made = open();
        if (g_opened.compare_exchange_strong(opened, made.get(), std::memory_order_release, std::memory_order_acquire))
            opened = made.release();
    }
    return opened->cache.get();
}

void flush_at_exit() noexcept
{
    if (!g_flushes_at_exit.exchange(true, std::memory_order_relaxed))
        std::atexit(flush);
}

bool making_is_forbidden()
{
    const Compiling compiling = made_once(g_compiling, [] { return *resolve().options.compiling; });
    return compiling == Compiling::forbidden || (compiling == Compiling::forbidden_after_ready && is_ready());
}

}  // namespace hearth::proxy

// vram_worker BACKEND RESETS: threads insert, lease and read in device memory, while the device's primary context is
// reset RESETS times under them. Says on two lines
//   BACKEND MODE: why, where MODE is what was used in the end
//   resets R done D wrong W stale S lost L
// D calls were made, of which W gave wrong bytes; S leases of before a reset did not know that they are lost, L did.
// The status is 0 if all was right, and one thread found everything in the end; 77 without the device.
//
// A context may not be destroyed while another thread is inside a call that uses it: that is the driver's rule. So
// resets come between two calls of every thread, with copies under way on the device and leases held.

#include "base/shared_library.hpp"
#include "hearth/hearth.hpp"
#include "support/open_cache.hpp"
#include "support/sample_entries.hpp"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <string>
#include <thread>
#include <vector>

namespace {

using namespace hearth;
using test::numbered_key;
using test::sample_bytes;

constexpr std::uint64_t k_threads = 8;
constexpr std::uint64_t k_keys = 100;
constexpr std::uint64_t k_calls_between = 400;

struct Load {
    explicit Load(Cache& its_cache) : cache(its_cache) {}

    Cache& cache;
    std::shared_mutex calls;             // shared: a call is being made
    std::atomic<bool> resetting{false};  // nobody begins another: else the lock might never be free
    std::atomic<std::uint64_t> resets{0};
    std::atomic<std::uint64_t> done{0};
    std::atomic<std::uint64_t> wrong{0};
    std::atomic<std::uint64_t> stale{0};
    std::atomic<std::uint64_t> lost{0};
    std::atomic<bool> stop{false};
};

std::size_t size_of(std::uint64_t number)
{
    return 1000 + number * 977;
}

bool is_right(const Key& key, std::uint64_t number, ByteView bytes)
{
    return as_text(bytes) == sample_bytes(key, size_of(number)).text();
}

struct Held {
    device::Lease lease;
    std::uint64_t resets = 0;  // so many there had been when it was taken
};

void one_call(Load& load, std::uint64_t random, Held& held)
{
    const std::uint64_t number = random / 8 % k_keys;
    const Key key = numbered_key(number);
    const Bytes bytes = sample_bytes(key, size_of(number));
    while (load.resetting)
        std::this_thread::yield();
    const std::shared_lock call(load.calls);
    if (held.lease && held.resets != load.resets)
        ++(held.lease.lost() ? load.lost : load.stale);
    switch (random % 4) {
    case 0:  // an Error is no harm: the context may have gone a moment ago
        static_cast<void>(load.cache.vram().insert(key, bytes));
        break;
    case 1:
        if (const Result<device::HostCopy> copy = load.cache.vram().read(key);
            copy && !is_right(key, number, copy->bytes()))
            ++load.wrong;
        break;
    case 2: {
        const std::vector<Key> keys{key, numbered_key((number + 1) % k_keys)};
        if (const Result<device::HostCopy> copy = load.cache.vram().read_many(keys);
            copy && copy->has(0) && !is_right(key, number, copy->bytes(0)))
            ++load.wrong;
        break;
    }
    default:
        held = {load.cache.vram().lease(key), load.resets};
        if (held.lease && (held.lease.lost() || held.lease.size() != size_of(number)))
            ++load.wrong;
    }
    ++load.done;
}

void work(Load& load, std::uint64_t seed)
{
    std::vector<Held> held(4);
    for (std::uint64_t i = 0; !load.stop; ++i) {
        seed = seed * 6364136223846793005U + 1442695040888963407U;
        one_call(load, seed >> 33U, held[i % held.size()]);
    }
}

// Whether one thread finds everything when all is quiet: nothing that was lost may be missed.
bool is_whole(Cache& cache)
{
    bool whole = true;
    for (std::uint64_t i = 0; i < k_keys; ++i)
        whole &= cache.vram().insert(numbered_key(i), sample_bytes(numbered_key(i), size_of(i))).ok();
    for (std::uint64_t i = 0; i < k_keys; ++i) {
        const Result<device::HostCopy> copy = cache.vram().read(numbered_key(i));
        whole &= copy && is_right(numbered_key(i), i, copy->bytes());
    }
    return whole;
}

bool reset_device()
{
    const Result<base::SharedLibrary> library = base::SharedLibrary::load("libcuda.so.1");
    auto* const reset = library ? library->find<int(int)>("cuDevicePrimaryCtxReset_v2") : nullptr;
    return reset != nullptr && reset(0) == 0;
}

}  // namespace

int main(int count, char** arguments)
{
    const std::optional<device::Backend> backend = count == 3 ? device::backend_named(arguments[1]) : std::nullopt;
    if (!backend)
        return 2;
    const std::uint64_t resets = std::strtoul(arguments[2], nullptr, 10);
    const auto fallback = resets != 0 ? device::Fallback::none : device::Fallback::host;
    Cache cache =
        test::open_cache("", {.tiers = {vram({.backend = *backend, .max_bytes = 16_MiB, .fallback = fallback})}});
    if (!cache.vram()) {
        std::fprintf(stderr, "There is no such device here.\n");
        return 77;
    }

    Load load(cache);
    std::vector<std::jthread> threads;
    for (std::uint64_t t = 0; t < k_threads; ++t)
        threads.emplace_back([&load, t] { work(load, t + 1); });
    bool reset = true;
    for (std::uint64_t i = 0; i <= resets && reset; ++i) {
        const std::uint64_t before = load.done;
        while (load.done < before + k_calls_between)
            std::this_thread::yield();
        if (i == resets)
            break;
        load.resetting = true;
        {
            const std::lock_guard none(load.calls);
            reset = reset_device();
            ++load.resets;
        }
        load.resetting = false;
    }
    load.stop = true;
    threads.clear();

    const bool whole = is_whole(cache);
    const device::Report report = *cache.vram().report();
    std::printf("%s %s: %s\n", arguments[1], std::string(to_string(report.backend)).c_str(), report.fallback.c_str());
    std::printf("resets %llu done %s wrong %llu stale %llu lost %llu\n", static_cast<unsigned long long>(load.resets),
                load.done > 0 ? "some" : "none", static_cast<unsigned long long>(load.wrong),
                static_cast<unsigned long long>(load.stale), static_cast<unsigned long long>(load.lost));
    return reset && load.wrong == 0 && load.stale == 0 && whole ? 0 : 1;
}

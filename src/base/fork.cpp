#include "base/fork.hpp"

#include "base/of_process.hpp"
#include "base/slow_mutex.hpp"

#include <array>
#include <atomic>
#include <pthread.h>
#include <set>
#include <unordered_set>

namespace hearth::base {

struct ForkRegistry;

namespace {

// The registry of the library that has loaded this one.
constinit std::atomic<ForkRegistry*> g_others{nullptr};

}  // namespace

struct ForkRegistry {
    std::mutex mutex;
    // Ordered, so that two locks of one level are always taken in the same order: a table's changes as it grows.
    std::array<std::set<ForkSafeMutex*>, static_cast<std::size_t>(LockLevel::end)> locks;
    std::unordered_set<ForkGuard*> guards;
    std::atomic<std::uint64_t> begun_and_ended{0};

    static ForkRegistry& own()
    {
        static constinit std::atomic_flag s_is_told;
        if (!s_is_told.test_and_set())
            ::pthread_atfork([] { own().before(); }, [] { own().in_parent(); }, [] { own().in_child(); });
        return of_process<ForkRegistry>();
    }

    static ForkRegistry& instance()
    {
        // acquire: pairs with the release in use_fork_registry().
        ForkRegistry* const others = g_others.load(std::memory_order_acquire);
        return others != nullptr ? *others : own();
    }

    void before()
    {
        mutex.lock();
        for (const auto& level : locks)
            for (ForkSafeMutex* lock : level)
                lock->lock();
        ++begun_and_ended;
    }

    void in_parent()
    {
        ++begun_and_ended;
        for (const auto& level : locks)
            for (ForkSafeMutex* lock : level)
                lock->unlock();
        mutex.unlock();
    }

    void in_child()
    {
        in_parent();
        std::erase_if(guards, [](const ForkGuard* guard) {
            const bool is_last = guard->m_calls == ForkGuard::Calls::once;
            guard->m_in_child();
            return is_last;
        });
    }

    void move_to(ForkRegistry& other)
    {
        const std::scoped_lock both(mutex, other.mutex);
        for (std::size_t level = 0; level < locks.size(); ++level)
            other.locks[level].merge(locks[level]);
        other.guards.merge(guards);
    }

    std::set<ForkSafeMutex*>& at(LockLevel level) { return locks[static_cast<std::size_t>(level)]; }
};

void* fork_registry()
{
    return &ForkRegistry::instance();
}

void use_fork_registry(void* registry)
{
    auto* const others = static_cast<ForkRegistry*>(registry);
    if (others == &ForkRegistry::instance())
        return;
    g_others.store(others, std::memory_order_release);
    // Statics of this library were registered when it was loaded, before it was known which registry to use.
    ForkRegistry::own().move_to(*others);
}

std::uint64_t forks_begun_and_ended()
{
    return ForkRegistry::instance().begun_and_ended;
}

ForkSafeMutex::ForkSafeMutex(LockLevel level) : m_level(level)
{
    ForkRegistry& all = ForkRegistry::instance();
    const std::lock_guard lock(all.mutex);
    all.at(level).insert(this);
}

ForkSafeMutex::~ForkSafeMutex()
{
    ForkRegistry& all = ForkRegistry::instance();
    const std::lock_guard lock(all.mutex);
    all.at(m_level).erase(this);
}

ForkGuard::ForkGuard(std::function<void()> in_child, Calls calls) : m_in_child(std::move(in_child)), m_calls(calls)
{
    ForkRegistry& all = ForkRegistry::instance();
    const std::lock_guard lock(all.mutex);
    all.guards.insert(this);
}

ForkGuard::~ForkGuard()
{
    ForkRegistry& all = ForkRegistry::instance();
    const std::lock_guard lock(all.mutex);
    all.guards.erase(this);
}

}  // namespace hearth::base

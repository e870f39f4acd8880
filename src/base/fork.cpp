#include "base/fork.hpp"

#include <array>
#include <atomic>
#include <pthread.h>
#include <unordered_set>

namespace hearth::base {

struct ForkRegistry;

namespace {

// Of the library that has loaded this one.
constinit std::atomic<ForkRegistry*> g_others{nullptr};

}  // namespace

// Never destroyed: locks and guards may live in statics of any library.
struct ForkRegistry {
    std::mutex mutex;
    std::array<std::unordered_set<ForkSafeMutex*>, static_cast<std::size_t>(LockLevel::end)> locks;
    std::unordered_set<ForkGuard*> guards;

    static ForkRegistry& instance()
    {
        // acquire: pairs with the release in use_fork_registry().
        if (ForkRegistry* others = g_others.load(std::memory_order_acquire))
            return *others;
        static ForkRegistry* registry = [] {
            ::pthread_atfork(&ForkRegistry::before, &ForkRegistry::in_parent, &ForkRegistry::in_child);
            return new ForkRegistry;
        }();
        return *registry;
    }

    static void before()
    {
        ForkRegistry& all = instance();
        all.mutex.lock();
        for (const auto& level : all.locks)
            for (ForkSafeMutex* lock : level)
                lock->lock();
    }

    static void in_parent()
    {
        ForkRegistry& all = instance();
        for (const auto& level : all.locks)
            for (ForkSafeMutex* lock : level)
                lock->unlock();
        all.mutex.unlock();
    }

    static void in_child()
    {
        in_parent();
        for (const ForkGuard* guard : instance().guards)
            guard->m_in_child();
    }

    std::unordered_set<ForkSafeMutex*>& at(LockLevel level) { return locks[static_cast<std::size_t>(level)]; }
};

void* fork_registry()
{
    return &ForkRegistry::instance();
}

void use_fork_registry(void* registry)
{
    g_others.store(static_cast<ForkRegistry*>(registry), std::memory_order_release);
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

ForkGuard::ForkGuard(std::function<void()> in_child) : m_in_child(std::move(in_child))
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

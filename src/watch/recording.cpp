#include "watch/recording.hpp"

#include "base/error.hpp"
#include "base/fork.hpp"
#include "base/of_process.hpp"
#include "watch/recorders.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <mutex>
#include <pthread.h>
#include <sched.h>

namespace hearth::watch {

namespace {

constexpr std::size_t k_most_recordings = 256;
constexpr std::size_t k_no_place = k_most_recordings;

// Where recorders find the logs of the recordings under way.
//
//   free -> taken (owner) -> recording (log) -> closing (no log; waits for writers) -> free
//
// A thread adds to the log of its own place without more ado: it closes that place itself. To other places it adds only
// as a writer, whom closing waits for.
struct Place {
    std::atomic<std::uintptr_t> owner{0};  // a thread; 0: free
    std::atomic<EventLog*> log{nullptr};
    std::atomic<int> writers{0};
};

std::array<Place, k_most_recordings> g_places;
std::atomic<std::size_t> g_places_used{0};  // those from here on were never taken

struct AllWatched {
    base::ForkSafeMutex mutex{base::LockLevel::engine};
    std::map<void*, std::unique_ptr<const WatchedLibrary>> by_handle;

    const WatchedLibrary* find(void* handle)
    {
        const std::lock_guard lock(mutex);
        const auto found = by_handle.find(handle);
        return found == by_handle.end() ? nullptr : found->second.get();
    }
};

std::uintptr_t this_thread()
{
    return static_cast<std::uintptr_t>(::pthread_self());
}

// A recording lies on the stack of its thread, which is not in a child that another one forks: its place is free there,
// before a new thread gets the same stack and the same number.
[[maybe_unused]] const base::ForkGuard& g_of_others = *new base::ForkGuard([] {
    for (Place& place : g_places) {
        place.writers = 0;
        if (place.owner != this_thread()) {
            place.log = nullptr;
            place.owner = 0;
        }
    }
});

std::size_t take_place()
{
    for (std::size_t i = 0; i < g_places.size(); ++i) {
        std::uintptr_t free = 0;
        if (!g_places[i].owner.compare_exchange_strong(free, this_thread(), std::memory_order_acq_rel))
            continue;
        std::size_t used = g_places_used.load(std::memory_order_relaxed);
        while (used < i + 1 && !g_places_used.compare_exchange_weak(used, i + 1, std::memory_order_release))
            continue;
        return i;
    }
    return k_no_place;
}

}  // namespace

void note(const Event& event) noexcept
{
    const std::size_t used = g_places_used.load(std::memory_order_acquire);
    for (std::size_t i = 0; i < used; ++i) {
        if (g_places[i].owner.load(std::memory_order_relaxed) != this_thread())
            continue;
        if (EventLog* log = g_places[i].log.load(std::memory_order_relaxed)) {
            log->add(event);
            return;
        }
    }
    for (std::size_t i = 0; i < used; ++i) {
        // seq_cst: finish() either sees the writer, or the writer no log.
        g_places[i].writers.fetch_add(1);
        if (EventLog* log = g_places[i].log.load())
            log->add(event);
        g_places[i].writers.fetch_sub(1);
    }
}

Recording::Recording() : m_place(take_place())
{
    if (m_place == k_no_place)
        m_log.mark_incomplete();
    else
        g_places[m_place].log.store(&m_log);
}

const EventLog& Recording::finish()
{
    if (m_place != k_no_place) {
        Place& place = g_places[m_place];
        place.log.store(nullptr);
        while (place.writers.load() != 0)
            ::sched_yield();
        place.owner.store(0, std::memory_order_release);
        m_place = k_no_place;
    }
    return m_log;
}

Result<const WatchedLibrary*> WatchedLibrary::watch(void* handle)
{
    auto& all = base::of_process<AllWatched>();
    if (const WatchedLibrary* const known = all.find(handle))
        return known;
    // The loader is asked without the lock. It may wait for a library that is being loaded, which may wait for a fork
    // (glibc before 2.36, if the library has handlers for forks), and the fork waits for the lock.
    HEARTH_TRY_SET(const ImportTable imports, ImportTable::of(handle));
    std::vector<std::string_view> names;
    names.reserve(imports.slots().size());
    for (const ImportSlot& slot : imports.slots())
        names.push_back(slot.name);
    if (const std::string why = why_not_watched(names); !why.empty())
        return error(Code::unavailable, "{}", why);
    auto watched = std::unique_ptr<WatchedLibrary>(new WatchedLibrary);
    std::vector<std::pair<const Recorder*, void*>> originals;
    for (const ImportSlot& slot : imports.slots()) {
        const Recorder* const recorder = recorder_of(slot.name);
        if (recorder == nullptr)
            continue;
        originals.emplace_back(recorder, imports.target(slot));
        watched->m_slots.push_back({slot, recorder->function});
    }

    const std::lock_guard lock(all.mutex);
    if (const auto found = all.by_handle.find(handle); found != all.by_handle.end())
        return found->second.get();  // another thread was faster
    for (std::size_t i = 0; i < originals.size(); ++i) {
        const auto& [recorder, target] = originals[i];
        void* const before = recorder->original->load(std::memory_order_acquire);
        if (target == nullptr || (before != nullptr && before != target))
            return error(Code::unavailable, "its import \"{}\" leads to another function than that of other compilers",
                         watched->m_slots[i].slot.name);
    }
    for (const auto& [recorder, target] : originals)
        recorder->original->store(target, std::memory_order_release);
    for (const Watched& one : watched->m_slots)
        HEARTH_TRY(imports.replace(one.slot, one.recorder));
    return all.by_handle.emplace(handle, std::move(watched)).first->second.get();
}

bool WatchedLibrary::is_watched() const
{
    return std::all_of(m_slots.begin(), m_slots.end(), [](const Watched& one) {
        return std::atomic_ref<void*>(*one.slot.address).load(std::memory_order_relaxed) == one.recorder;
    });
}

}  // namespace hearth::watch

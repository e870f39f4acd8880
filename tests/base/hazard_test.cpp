#include "base/hazard.hpp"

#include "hearth/lease.hpp"
#include "support/scale.hpp"
#include "support/seed.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <gtest/gtest.h>
#include <memory>
#include <random>
#include <thread>
#include <vector>

namespace hearth::test {

namespace {

using base::HazardSlot;

constexpr std::uint64_t k_alive = 0x600DF00D600DF00D;

std::atomic<int> g_living{0};

struct Thing final : base::Reclaimable {
    explicit Thing(int name = 0) : number(name) { ++g_living; }
    ~Thing() override
    {
        mark = 0;
        --g_living;
    }
    Thing(const Thing&) = delete;
    Thing& operator=(const Thing&) = delete;

    int number;
    std::uint64_t mark = k_alive;
};

// As a reader does it: announce, and look again whether it is still there.
const Thing* protect(HazardSlot* slot, const std::atomic<Thing*>& source)
{
    for (;;) {
        Thing* const seen = source.load();
        base::announce(slot, seen);
        if (source.load() == seen)
            return seen;
    }
}

// Not inlined, as a tier is not into its callers: seeing both, GCC 12 warns of a delete that a lease with a slot never
// does.
[[gnu::noinline]] ArtifactLease lease_on(HazardSlot* slot, const std::shared_ptr<const Artifact>& owner)
{
    return {slot, owner};
}

// Whether the slot is among those this thread is given when it goes on taking: its own few, then the process's.
bool is_given_again(const HazardSlot* slot)
{
    std::vector<HazardSlot*> taken;
    bool seen = false;
    while (taken.size() < 200 && !seen) {
        taken.push_back(base::acquire_slot());
        seen = taken.back() == slot;
    }
    for (HazardSlot* const one : taken)
        base::release_slot(one);
    return seen;
}

// Whatever a case retires is freed at its end.
class Hazard : public testing::Test {
protected:
    ~Hazard() override
    {
        EXPECT_EQ(kept(), 0U);
        EXPECT_EQ(g_living, m_living);
    }
    // What has been retired and not freed.
    std::size_t kept() const { return base::retired_count() - m_before; }

private:
    const std::size_t m_before = base::retired_count();
    const int m_living = g_living;
};

}  // namespace

TEST_F(Hazard, a_lease_outlives_retiring_and_of_several_the_last_release_frees)
{
    std::atomic<Thing*> source{new Thing(7)};
    const Thing* const leased = source;
    std::vector<HazardSlot*> slots;
    for (int i = 0; i < 100; ++i) {
        slots.push_back(base::acquire_slot());
        protect(slots.back(), source);
    }
    base::retire(source.exchange(nullptr));
    std::shuffle(slots.begin(), slots.end(), std::mt19937_64(seed()));
    while (!slots.empty()) {
        EXPECT_EQ(kept(), 1U);
        EXPECT_TRUE(leased->mark == k_alive && leased->number == 7);
        base::release_slot(slots.back());
        slots.pop_back();
    }
}

TEST_F(Hazard, what_nobody_uses_is_freed_when_retired_and_a_lease_keeps_its_own_object_only)
{
    std::atomic<Thing*> leased{new Thing};
    HazardSlot* const slot = base::acquire_slot();
    protect(slot, leased);
    base::retire(new Thing);
    EXPECT_EQ(kept(), 0U);
    base::retire(leased.exchange(nullptr));
    base::retire(new Thing);
    EXPECT_EQ(kept(), 1U);
    base::release_slot(slot);
}

TEST_F(Hazard, a_lease_outlives_the_thread_that_took_it)
{
    std::atomic<Thing*> source{new Thing(3)};
    HazardSlot* slot = nullptr;
    const Thing* leased = nullptr;
    std::thread([&] {
        slot = base::acquire_slot();
        leased = protect(slot, source);
    }).join();
    base::retire(source.exchange(nullptr));
    EXPECT_EQ(leased->number, 3);
    EXPECT_EQ(leased->mark, k_alive);
    base::release_slot(slot);
}

TEST_F(Hazard, freeing_one_object_may_release_the_lease_on_another)
{
    struct Chain final : base::Reclaimable {
        HazardSlot* holds = nullptr;
        ~Chain() override
        {
            if (holds)
                base::release_slot(holds);
        }
    };
    std::atomic<Thing*> source{new Thing};
    auto* const chain = new Chain;
    chain->holds = base::acquire_slot();
    protect(chain->holds, source);
    base::retire(source.exchange(nullptr));
    EXPECT_EQ(kept(), 1U);
    base::retire(chain);
}

// A program may keep a lease in a thread-local of its own, which is destroyed after ours if it was made before.
TEST_F(Hazard, a_slot_released_while_its_thread_ends_is_given_again)
{
    struct Late {
        HazardSlot* slot = nullptr;
        ~Late()
        {
            if (slot)
                base::release_slot(slot);
        }
    };
    HazardSlot* released = nullptr;
    std::thread([&] {
        thread_local Late late;
        late.slot = nullptr;
        late.slot = base::acquire_slot();
        released = late.slot;
    }).join();
    EXPECT_TRUE(is_given_again(released)) << "every thread that ends like this would lose a slot for good";
}

TEST_F(Hazard, a_lease_may_end_in_a_thread_that_took_none_and_its_slot_is_given_again)
{
    std::atomic<Thing*> source{new Thing};
    HazardSlot* const slot = base::acquire_slot();
    protect(slot, source);
    base::retire(source.exchange(nullptr));
    std::thread([slot] { base::release_slot(slot); }).join();
    EXPECT_EQ(kept(), 0U);
    EXPECT_TRUE(is_given_again(slot)) << "every thread that only releases would lose its slots for good";
}

TEST_F(Hazard, an_artifact_lease_keeps_and_shares_its_artifact_and_holds_nothing_when_it_is_assigned_from)
{
    struct Holder final : base::Reclaimable {
        std::shared_ptr<const Artifact> artifact = std::make_shared<Artifact>("bytes");
    };
    auto* const holder = new Holder;
    HazardSlot* const slot = base::acquire_slot();
    base::announce(slot, holder);
    ArtifactLease lease = lease_on(slot, holder->artifact);
    base::retire(holder);
    EXPECT_EQ(lease->text(), "bytes");

    ArtifactLease moved = std::move(lease);
    EXPECT_FALSE(lease);  // NOLINT(bugprone-use-after-move): what a moved-from lease says is what is asked
    EXPECT_EQ(kept(), 1U);
    const std::shared_ptr<const Artifact> shared = moved.share();
    moved = ArtifactLease();
    EXPECT_EQ(kept(), 0U);
    EXPECT_EQ(shared->text(), "bytes");

    ArtifactLease first(std::make_shared<const Artifact>("first"));
    const std::weak_ptr<const Artifact> of_first = first.share();
    ArtifactLease second(std::make_shared<const Artifact>("second"));
    first = std::move(second);
    EXPECT_TRUE(of_first.expired());
    EXPECT_FALSE(second);  // NOLINT(bugprone-use-after-move): what a moved-from lease says is what is asked
    EXPECT_EQ(first->text(), "second");
}

// Counted in slots that scans visit: each such visit costs a cache line.
TEST_F(Hazard, releasing_leases_on_departed_objects_visits_no_slots)
{
    constexpr std::size_t k_leases = 4000;
    std::vector<HazardSlot*> slots;
    std::vector<base::Reclaimable*> things;
    for (std::size_t i = 0; i < k_leases; ++i) {
        things.push_back(new Thing);
        slots.push_back(base::acquire_slot());
        base::announce(slots.back(), things.back());
    }
    base::retire(things);
    EXPECT_EQ(kept(), k_leases);
    const std::size_t visited = base::slots_visited();
    for (HazardSlot* const slot : slots)
        base::release_slot(slot);
    EXPECT_EQ(base::slots_visited(), visited);
}

TEST_F(Hazard, retiring_beside_many_leases_visits_few_slots_for_each)
{
    constexpr std::size_t k_leases = 100'000;
    constexpr std::size_t k_retired = 10'000;
    std::atomic<Thing*> popular{new Thing};
    std::vector<HazardSlot*> slots;
    for (std::size_t i = 0; i < k_leases; ++i) {
        slots.push_back(base::acquire_slot());
        protect(slots.back(), popular);
    }
    const std::size_t visited = base::slots_visited();
    for (std::size_t i = 0; i < k_retired; ++i)
        base::retire(new Thing);
    EXPECT_LE(base::slots_visited() - visited, 2 * base::k_slots_for_one * k_retired);
    for (HazardSlot* const slot : slots)
        base::release_slot(slot);
    base::retire(popular.load());
    base::reclaim();
}

TEST_F(Hazard, a_lease_that_is_moved_on_to_another_object_gives_the_first_one_up)
{
    std::atomic<Thing*> first{new Thing};
    std::atomic<Thing*> second{new Thing};
    HazardSlot* const slot = base::acquire_slot();
    protect(slot, first);
    base::retire(first.exchange(nullptr));
    protect(slot, second);
    base::retire(second.exchange(nullptr));
    base::reclaim();
    EXPECT_EQ(kept(), 1U) << "the first is gone, the second is held";
    base::release_slot(slot);
}

// Readers that hold several leases at a time, hand some to other threads, and look at what they hold to the last
// moment; writers that replace and retire under them. A reclaimer that is early shows as a mark of 0, or to a sanitizer
// as a use after free; one that is late, in the counts at the end.
TEST_F(Hazard, many_threads_never_see_a_freed_object_and_free_all_of_them)
{
    const std::uint64_t base_seed = seed();
    constexpr std::size_t k_sources = 4;
    std::array<std::atomic<Thing*>, k_sources> sources{};
    for (std::atomic<Thing*>& source : sources)
        source = new Thing;
    std::array<std::atomic<HazardSlot*>, 8> handed_over{};
    std::atomic<int> wrong{0};
    std::atomic<int> writing{2};

    const auto reader = [&](std::uint64_t number) {
        std::mt19937_64 random(base_seed + number);
        struct Held {
            HazardSlot* slot;
            const Thing* thing;
        };
        std::vector<Held> held;
        while (writing > 0) {
            HazardSlot* const slot = base::acquire_slot();
            held.push_back({slot, protect(slot, sources[random() % k_sources])});
            if (held.size() < 1 + random() % 24)
                continue;
            for (const Held& one : held)
                wrong += one.thing->mark != k_alive;
            // One is left for whoever comes by; the others end here.
            HazardSlot* const left = handed_over[random() % handed_over.size()].exchange(held.back().slot);
            held.pop_back();
            if (left)
                base::release_slot(left);
            for (const Held& one : held)
                base::release_slot(one.slot);
            held.clear();
        }
        for (const Held& one : held)
            base::release_slot(one.slot);
    };
    const auto writer = [&](std::uint64_t number) {
        std::mt19937_64 random(base_seed + number);
        for (std::uint64_t round = 0; round < scaled(100000); ++round)
            base::retire(sources[random() % k_sources].exchange(new Thing));
        --writing;
    };
    {
        std::vector<std::jthread> threads;
        for (std::uint64_t i = 0; i < 4; ++i)
            threads.emplace_back(reader, i);
        for (std::uint64_t i = 4; i < 6; ++i)
            threads.emplace_back(writer, i);
    }

    for (std::atomic<HazardSlot*>& slot : handed_over)
        if (HazardSlot* const left = slot.exchange(nullptr))
            base::release_slot(left);
    for (std::atomic<Thing*>& source : sources)
        base::retire(source.exchange(nullptr));
    base::reclaim();  // for what was retired in the very moment of its last release
    EXPECT_EQ(wrong, 0);
}

}  // namespace hearth::test

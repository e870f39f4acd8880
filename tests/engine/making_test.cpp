#include "cache_test.hpp"
#include "hearth/admin.hpp"
#include "hearth/compiled.hpp"
#include "hooked_tier.hpp"
#include "support/eventually.hpp"
#include "support/in_threads.hpp"

#include <atomic>
#include <barrier>
#include <latch>
#include <thread>

// One make a key, whoever asks and however many do (40, 41, 43, 74).

namespace hearth::test {

namespace {

using namespace std::chrono_literals;

class Making : public CacheTest {
protected:
    // Counts down when somebody takes the lead in making `key`: that is when the tiers are looked at once more.
    static TierHooks when_led(const Key& key, std::latch& led)
    {
        TierHooks hooks;
        hooks.peeked = [key, &led, seen = std::make_shared<std::atomic<bool>>(false)](const Key& peeked) {
            if (peeked == key && !seen->exchange(true))
                led.count_down();
        };
        return hooks;
    }
    Cache limited(std::uint32_t most, std::vector<TierSpec> tiers)
    {
        CacheOptions chosen = with(std::move(tiers));
        chosen.max_parallel_compiles = most;
        return open(chosen);
    }
    static constexpr auto never = [] { return "never"; };
};

// How many are inside at once, and the most there ever were.
class Crowd {
public:
    void enter()
    {
        const int now = ++m_inside;
        for (int most = m_most; now > most && !m_most.compare_exchange_weak(most, now);) {
        }
    }
    void leave() { --m_inside; }
    int most() const { return m_most; }

private:
    std::atomic<int> m_inside{0};
    std::atomic<int> m_most{0};
};

TEST_F(Making, get_or_make_makes_once_per_key)
{
    Cache cache = open_usual();
    int makes = 0;
    for (int round = 0; round < 3; ++round) {
        const Result<Lookup> got = cache.get_or_compile(numbered_key(1), [&] {
            ++makes;
            return Artifact("compiled");
        });
        EXPECT_EQ(text_of(got), "compiled");
        EXPECT_EQ(got->tier(), round == 0 ? "" : "memory");
    }
    EXPECT_EQ(makes, 1);
    EXPECT_EQ(admin::where(cache, numbered_key(1)), (Names{"memory", "disk"}));
    EXPECT_EQ(cache.stats().compiles, 1U);
}

TEST_F(Making, makers_may_return_artifacts_bytes_texts_and_results_of_them)
{
    Cache cache = open({memory(0)});
    std::uint64_t next = 0;
    const auto made_by = [&](auto&& maker) {
        return text_of(cache.get_or_compile(numbered_key(++next), std::forward<decltype(maker)>(maker)));
    };
    const std::string text = "text";
    EXPECT_EQ(made_by([] { return Artifact("artifact"); }), "artifact");
    EXPECT_EQ(made_by([] { return Bytes::copy_of("bytes"); }), "bytes");
    EXPECT_EQ(made_by([] { return std::string("string"); }), "string");
    EXPECT_EQ(made_by([&] { return std::string_view(text); }), "text");
    EXPECT_EQ(made_by([] { return "literal"; }), "literal");
    EXPECT_EQ(made_by([] { return Result<Artifact>(Artifact("result of artifact")); }), "result of artifact");
    EXPECT_EQ(made_by([] { return Result<Bytes>(Bytes::copy_of("result of bytes")); }), "result of bytes");
    EXPECT_EQ(made_by([] { return Result<std::string>("result of string"); }), "result of string");
    const auto named = [] { return Artifact("an lvalue"); };
    EXPECT_EQ(made_by(named), "an lvalue");
    EXPECT_EQ(made_by([count = 0]() mutable { return std::to_string(++count); }), "1");
    EXPECT_EQ(made_by(CompileFunction([] { return Artifact("a CompileFunction"); })), "a CompileFunction");

    const auto fail = []() -> Result<Bytes> { return failed_compile("no", "log"); };
    const Result<Lookup> failed = cache.get_or_compile(numbered_key(++next), fail);
    ASSERT_EQ(code_of(failed), Code::compile_failed);
    EXPECT_EQ(failed.error().log, "log");
    const auto later = [] { return std::string("later"); };
    EXPECT_EQ(text_of(cache.get_or_compile_async(numbered_key(++next), later).get()), "later");
}

TEST_F(Making, what_is_made_is_stored_with_its_request_metadata_and_cost)
{
    const Request request = Request::of("test", "saxpy");
    Cache cache = open_usual();
    const Metadata metadata{"saxpy", "nvrtc 12.4", "sm_90", {"-O3"}};
    ASSERT_TRUE(cache.get_or_compile(request, [] { return std::string("cubin"); }, {.metadata = metadata}).ok());
    const std::uint64_t spent = cache.stats().compile_ns_spent;
    Artifact own("other");
    own.metadata.label = "the maker's own";
    own.cost = 7s;
    ASSERT_TRUE(cache.get_or_compile(numbered_key(2), [&] { return own; }, {.metadata = metadata}).ok());
    admin::clear_memory(cache);

    const Lookup plain = cache.find(request);
    EXPECT_EQ(plain->metadata, metadata);
    EXPECT_EQ(plain->request, request.encoding());
    EXPECT_EQ(plain->created, ManualClock::k_start);
    EXPECT_EQ(plain->cost, std::chrono::nanoseconds(spent)) << "measured";
    const Lookup rich = cache.find(numbered_key(2));
    EXPECT_EQ(rich->metadata.label, "the maker's own");
    EXPECT_EQ(rich->cost, 7s) << "what the maker says it cost counts";
}

TEST_F(Making, sixty_four_threads_on_one_key_make_once_and_other_keys_hits_do_not_wait)
{
    constexpr std::uint64_t k_threads = 64;
    Cache cache = open_usual();
    put(cache, 2, 10);
    std::atomic<std::uint64_t> makes{0};
    std::atomic<std::uint64_t> made{0};
    std::atomic<std::uint64_t> waited{0};
    const auto make = [&] {
        ++makes;
        wait_for_waiters(cache, k_threads - 1);
        // All others wait and the make is under way: a hit, a miss, a store and a make of other keys are answered.
        EXPECT_TRUE(holds(cache, 2, 10));
        EXPECT_FALSE(cache.find(numbered_key(3)).hit());
        put(cache, 4, 10);
        EXPECT_TRUE(cache.get_or_compile(numbered_key(5), [] { return Artifact("quick"); }).ok());
        return Artifact("slow");
    };
    in_threads(k_threads, [&](std::uint64_t) {
        const Result<Lookup> got = cache.get_or_compile(numbered_key(1), make);
        EXPECT_EQ(text_of(got), "slow");
        EXPECT_TRUE(got->compiled());
        const CompileResult result(*got, Request::of("test", "slow"), {});
        made += result.outcome() == Outcome::compiled ? 1 : 0;
        waited += result.outcome() == Outcome::waited ? 1 : 0;
    });
    EXPECT_EQ(makes, 1U);
    EXPECT_EQ(made, 1U);
    EXPECT_EQ(waited, k_threads - 1) << "those who only waited for another's make say so";
    EXPECT_EQ(to_string(Outcome::waited), "waited");
    EXPECT_FALSE(cache.find(numbered_key(1)).waited());
}

TEST_F(Making, what_was_stored_between_the_lookup_and_the_lead_is_anothers_make)
{
    Cache* opened = nullptr;
    TierHooks hooks;
    hooks.find = [&](const Key& key) -> std::optional<Miss> {
        Cache* const once = std::exchange(opened, nullptr);
        if (once == nullptr)
            return std::nullopt;
        EXPECT_TRUE(once->insert(key, Artifact("another's")).ok());
        return Miss::absent;
    };
    Cache cache = open({hooked(memory(0), hooks)});
    opened = &cache;
    const Result<Lookup> got = cache.get_or_compile(numbered_key(1), [] {
        ADD_FAILURE() << "made although it is there";
        return Artifact("ours");
    });
    EXPECT_EQ(text_of(got), "another's");
    EXPECT_TRUE(got->waited());
}

TEST_F(Making, many_threads_on_many_keys_make_each_once)
{
    constexpr std::uint64_t k_keys = 50;
    Cache cache = open_usual();
    std::array<std::atomic<int>, k_keys> makes{};
    in_threads(8, [&](std::uint64_t thread) {
        for (std::uint64_t i = 0; i < k_keys; ++i) {
            const std::uint64_t number = (i * 7 + thread * 3) % k_keys;
            const Result<Lookup> got = cache.get_or_compile(numbered_key(number), [&] {
                ++makes[number];
                return sample_bytes(numbered_key(number), 100);
            });
            EXPECT_TRUE(got.ok() && is_sample_of(**got, numbered_key(number)));
        }
    });
    for (const std::atomic<int>& count : makes)
        EXPECT_EQ(count, 1);
    EXPECT_EQ(cache.stats().compiles, k_keys);
}

TEST_F(Making, what_no_tier_can_hold_is_given_to_the_caller_all_the_same)
{
    Cache cache = open({memory_named("fast", 10)});
    for (int round = 1; round <= 2; ++round) {
        const Result<Lookup> got = cache.get_or_compile(numbered_key(1), [] { return std::string(11, 'x'); });
        ASSERT_TRUE(got.ok());
        EXPECT_EQ((*got)->size(), 11U);
        EXPECT_EQ(cache.stats().dropped_stores, static_cast<std::uint64_t>(round));
    }
}

TEST_F(Making, a_disabled_cache_still_makes_once_for_all_who_wait)
{
    CacheOptions off = options();
    off.caching = Switch::off;
    Cache cache = open(off);
    std::atomic<int> makes{0};
    const auto make = [&] {
        ++makes;
        wait_for_waiters(cache, 7);
        return Artifact("made");
    };
    in_threads(8, [&](std::uint64_t) { EXPECT_TRUE(cache.get_or_compile(numbered_key(1), make).ok()); });
    EXPECT_EQ(makes, 1);
    EXPECT_TRUE(cache.get_or_compile(numbered_key(1), make).ok());
    EXPECT_EQ(makes, 2) << "nothing was kept";
}

TEST_F(Making, a_make_may_ask_for_other_entries)
{
    Cache cache = limited(1, {memory(0), disk_here()});
    const auto core = [] { return "core"; };
    const auto inner = [&] { return "(" + text_of(cache.get_or_compile(numbered_key(3), core)) + ")"; };
    const auto outer = [&] { return "[" + text_of(cache.get_or_compile(numbered_key(2), inner)) + "]"; };
    EXPECT_EQ(text_of(cache.get_or_compile(numbered_key(1), outer)), "[(core)]");
    EXPECT_EQ(cache.stats().compiles, 3U);
}

TEST_F(Making, a_make_that_waits_for_one_that_waits_for_its_place_does_not_deadlock)
{
    // One place. The maker of 1 has it and asks for 2, whose leader, another thread, waits for a place.
    std::latch two_has_a_leader(1);
    Cache cache = limited(1, {hooked(memory(0), when_led(numbered_key(2), two_has_a_leader))});
    const auto two = [&] { return text_of(cache.get_or_compile(numbered_key(2), [] { return "two"; })); };
    std::jthread other;
    const Result<Lookup> got = cache.get_or_compile(numbered_key(1), [&] {
        other = std::jthread([&] { EXPECT_EQ(two(), "two"); });
        two_has_a_leader.wait();
        return "one and " + two();
    });
    other.join();
    EXPECT_EQ(text_of(got), "one and two");
    EXPECT_EQ(cache.stats().compiles, 2U);
}

TEST_F(Making, of_compiles_that_ask_for_each_other_in_a_circle_one_is_told_and_all_end)
{
    for (const int count : {2, 3, 5}) {
        Cache cache = open({memory(0)});
        std::latch all_lead(count);
        std::atomic<int> refused{0};
        in_threads(static_cast<std::uint64_t>(count), [&](std::uint64_t number) {
            const Key next = numbered_key((number + 1) % static_cast<std::uint64_t>(count));
            const Result<Lookup> got = cache.get_or_compile(numbered_key(number), [&] {
                all_lead.arrive_and_wait();
                const Result<Lookup> other = cache.get_or_compile(next, never);
                if (!other) {
                    ++refused;
                    EXPECT_EQ(other.error().code, Code::invalid_argument);
                    EXPECT_NE(other.error().message.find(next.hex()), std::string::npos);
                }
                return "compiled";
            });
            EXPECT_EQ(text_of(got), "compiled");
        });
        EXPECT_EQ(refused, 1) << count;
    }
}

TEST_F(Making, a_circle_through_a_worker_is_seen_too)
{
    std::atomic<int> refused{0};
    Cache cache = open({memory(0)});
    const auto asks = [&](std::uint64_t key, const CompileFunction& compile, const GetOptions& options) {
        const Result<Lookup> got = cache.get_or_compile(numbered_key(key), compile, options);
        refused += !got && got.error().code == Code::invalid_argument;
        return Artifact("compiled");
    };
    const CompileFunction asks_for_one = [&] { return asks(1, [] { return Artifact("never"); }, {}); };
    const CompileFunction asks_for_two = [&] {
        return asks(2, asks_for_one, {.deadline = 1h, .captures = Captures::owned});
    };
    EXPECT_EQ(text_of(cache.get_or_compile(numbered_key(1), asks_for_two)), "compiled");
    EXPECT_TRUE(eventually("the second has been stored", [&] { return cache.find(numbered_key(2)).hit(); }));
    EXPECT_EQ(refused, 1);
}

TEST_F(Making, a_maker_that_asks_for_its_own_key_gets_a_clear_error)
{
    Cache cache = open_usual();
    const auto told = [&](const Result<Lookup>& answer, std::uint64_t number) {
        EXPECT_EQ(code_of(answer), Code::invalid_argument);
        EXPECT_NE(text_of(answer).find("This would never end"), std::string::npos) << text_of(answer);
        EXPECT_NE(text_of(answer).find(numbered_key(number).hex()), std::string::npos);
        return "told";
    };
    const auto own = [&] { return told(cache.get_or_compile(numbered_key(1), never), 1); };
    EXPECT_EQ(text_of(cache.get_or_compile(numbered_key(1), own)), "told");
    // Through another entry, on a worker, and by a future it is the same.
    const auto between = [&] { return told(cache.get_or_compile(numbered_key(2), never), 2); };
    const auto outer = [&] { return text_of(cache.get_or_compile(numbered_key(3), between)); };
    EXPECT_EQ(text_of(cache.get_or_compile_async(numbered_key(2), outer).get()), "told");
    const auto by_future = [&] { return told(cache.get_or_compile_async(numbered_key(4), never).get(), 4); };
    EXPECT_EQ(text_of(cache.get_or_compile(numbered_key(4), by_future)), "told");
}

TEST_F(Making, compiles_on_workers_may_wait_for_others_by_futures_whatever_the_limit)
{
    for (const std::uint32_t most : {1U, 2U, 0U}) {
        Cache cache = limited(most, {memory(0)});
        constexpr std::uint64_t k_outer = 12;
        std::vector<std::future<Result<Lookup>>> all;
        for (std::uint64_t i = 0; i < k_outer; ++i)
            all.push_back(cache.get_or_compile_async(numbered_key(i), [&cache, i] {
                auto own = cache.get_or_compile_async(numbered_key(100 + i), [] { return "own"; });
                auto shared = cache.get_or_compile_async(numbered_key(200), [] { return "all"; });
                return text_of(own.get()) + " and " + text_of(shared.get());
            }));
        for (std::future<Result<Lookup>>& one : all)
            EXPECT_EQ(text_of(one.get()), "own and all");
        EXPECT_EQ(cache.stats().compiles, 2 * k_outer + 1);
    }
}

TEST_F(Making, a_future_of_a_compile_may_outlive_the_cache)
{
    std::future<Result<Lookup>> kept;
    {
        Cache cache = open({memory(0)});
        const auto make = [&] {
            kept = cache.get_or_compile_async(numbered_key(2), [] { return "later"; });
            return "now";
        };
        ASSERT_TRUE(cache.get_or_compile(numbered_key(1), make).ok());
    }
    const Result<Lookup> got = kept.get();
    EXPECT_TRUE(got.ok() ? (*got)->text() == "later" : got.error().code == Code::unavailable);
}

TEST_F(Making, what_a_maker_throws_comes_back_as_an_error)
{
    Cache cache = open_usual();
    const auto broken = []() -> Artifact { throw std::runtime_error("the compiler library is gone"); };
    const auto odd = []() -> Artifact { throw 7; };
    const std::string known = text_of(cache.get_or_compile(numbered_key(1), broken));
    EXPECT_NE(known.find("the compiler library is gone"), std::string::npos) << known;
    EXPECT_FALSE(cache.get_or_compile(numbered_key(1), odd).ok());
    EXPECT_FALSE(cache.get_or_compile_async(numbered_key(1), broken).get().ok());
    EXPECT_TRUE(cache.get_or_compile(numbered_key(1), [] { return "now"; }).ok()) << "nothing is left behind";
    EXPECT_EQ(cache.stats().compile_failures, 3U);
}

TEST_F(Making, an_asynchronous_make_does_not_hold_its_caller_up)
{
    Cache cache = open_usual();
    std::latch finish(1);
    const auto caller = std::this_thread::get_id();
    std::future<Result<Lookup>> future = cache.get_or_compile_async(numbered_key(1), [&] {
        finish.wait();
        EXPECT_NE(std::this_thread::get_id(), caller);
        return "later";
    });
    put(cache, 2, 10);
    EXPECT_TRUE(holds(cache, 2, 10));
    finish.count_down();
    EXPECT_EQ(text_of(future.get()), "later");
    EXPECT_EQ(cache.get_or_compile_async(numbered_key(1), never).get()->tier(), "memory");
    EXPECT_EQ(cache.stats().compiles, 1U);
}

TEST_F(Making, a_deadline_is_a_timeout_and_the_make_finishes_for_a_later_call)
{
    Cache cache = open_usual();
    for (const std::uint64_t number : {1, 2}) {
        const Key key = numbered_key(number);
        std::latch begun(1);
        std::latch finish(1);
        const auto slow = [&] {
            begun.count_down();
            finish.wait();
            return "slow";
        };
        const Result<Lookup> late = number == 1 ? cache.get_or_compile(key, slow, {.deadline = 1ms})
                                                : cache.get_or_compile_async(key, slow, {.deadline = 1ms}).get();
        ASSERT_EQ(code_of(late), Code::timeout);
        EXPECT_NE(late.error().message.find("1 ms"), std::string::npos);
        begun.wait();  // the deadline may pass before the maker has begun
        // Who joins it in the air has a deadline of his own.
        EXPECT_EQ(code_of(cache.get_or_compile(key, never, {.deadline = 1ms})), Code::timeout);
        finish.count_down();
        EXPECT_EQ(text_of(cache.get_or_compile(key, never)), "slow");
        EXPECT_EQ(cache.stats().compiles, number);
    }
}

TEST_F(Making, a_time_limit_is_the_deadline_of_compiles_that_own_their_captures)
{
    CacheOptions chosen = with({memory(0)});
    chosen.compile_time_limit = 1ms;
    Cache cache = open(chosen);
    EXPECT_EQ(cache.compile_time_limit(), 1ms);
    std::latch begun(1);
    std::latch finish(1);
    const auto slow = [&] {
        begun.count_down();
        finish.wait();
        return "slow";
    };
    // One that borrows them waits, whatever the limit: it uses what belongs to its caller.
    std::thread borrows([&] { EXPECT_EQ(text_of(cache.get_or_compile(numbered_key(1), slow)), "slow"); });
    begun.wait();
    const GetOptions owned{.captures = Captures::owned};
    const Result<Lookup> late = cache.get_or_compile(numbered_key(1), never, owned);
    EXPECT_EQ(code_of(late), Code::timeout);
    EXPECT_NE(text_of(late).find("HEARTH_COMPILE_TIME_LIMIT"), std::string::npos) << text_of(late);
    EXPECT_EQ(code_of(cache.get_or_compile_async(numbered_key(1), never, owned).get()), Code::timeout);
    finish.count_down();
    borrows.join();
    EXPECT_EQ(cache.get_or_compile(numbered_key(1), never, owned)->tier(), "memory");
    const GetOptions longer{.deadline = 1h, .captures = Captures::owned};
    EXPECT_EQ(text_of(cache.get_or_compile(
                  numbered_key(2), [] { return "quick"; }, longer)),
              "quick")
        << "a deadline of its own counts";
}

TEST_F(Making, a_deadline_that_is_kept_changes_nothing)
{
    Cache cache = open_usual();
    const auto quick = [] { return "quick"; };
    EXPECT_EQ(text_of(cache.get_or_compile(numbered_key(1), quick, {.deadline = 1h})), "quick");
    EXPECT_EQ(cache.get_or_compile(numbered_key(1), never, {.deadline = 1ms})->tier(), "memory");
    EXPECT_EQ(text_of(cache.get_or_compile_async(numbered_key(2), quick, {.deadline = 1h}).get()), "quick");
}

TEST_F(Making, ones_deadline_is_not_anothers)
{
    // The place is taken; a call with a deadline leads for key 2, gives up, and leaves one without a deadline waiting.
    std::latch two_has_a_leader(1);
    Cache cache = limited(1, {hooked(memory(0), when_led(numbered_key(2), two_has_a_leader))});
    std::latch finish(1);
    std::latch started(1);
    const auto occupy = [&] {
        started.count_down();
        finish.wait();
        return "occupied";
    };
    const auto two = [] { return "two"; };
    std::thread occupant([&] { EXPECT_TRUE(cache.get_or_compile(numbered_key(1), occupy).ok()); });
    started.wait();
    std::thread hasty(
        [&] { EXPECT_EQ(code_of(cache.get_or_compile(numbered_key(2), two, {.deadline = 50ms})), Code::timeout); });
    two_has_a_leader.wait();
    std::thread patient([&] { EXPECT_EQ(text_of(cache.get_or_compile(numbered_key(2), two)), "two"); });
    hasty.join();
    finish.count_down();
    patient.join();
    occupant.join();
    EXPECT_EQ(cache.stats().compiles, 2U);
}

TEST_F(Making, no_more_makers_run_at_once_than_the_limit_says)
{
    constexpr int k_limit = 3;
    Cache cache = limited(k_limit, {memory(0)});
    Crowd crowd;
    std::barrier together(k_limit);  // none leaves before as many as may are inside
    const auto make = [&] {
        crowd.enter();
        together.arrive_and_wait();
        crowd.leave();
        return "made";
    };
    in_threads(12, [&](std::uint64_t i) { EXPECT_TRUE(cache.get_or_compile(numbered_key(i), make).ok()); });
    EXPECT_EQ(crowd.most(), k_limit);

    std::vector<std::future<Result<Lookup>>> futures;
    for (std::uint64_t i = 20; i < 32; ++i)
        futures.push_back(cache.get_or_compile_async(numbered_key(i), make));
    for (std::future<Result<Lookup>>& future : futures)
        EXPECT_TRUE(future.get().ok());
    EXPECT_EQ(crowd.most(), k_limit);
    EXPECT_EQ(cache.stats().compiles, 24U);
}

TEST_F(Making, nested_makes_keep_to_the_limit_too)
{
    constexpr int k_limit = 2;
    Cache cache = limited(k_limit, {memory(0)});
    Crowd crowd;
    const auto inner = [&] {
        crowd.enter();
        std::this_thread::yield();
        crowd.leave();
        return "inner";
    };
    in_threads(8, [&](std::uint64_t thread) {
        for (std::uint64_t i = 0; i < 20; ++i) {
            // Every outer entry needs three of a few inner ones, which other threads make at the same time.
            const auto outer = [&] {
                for (std::uint64_t number = 0; number < 3; ++number)
                    EXPECT_TRUE(cache.get_or_compile(numbered_key(1000 + (i + number) % 10), inner).ok());
                return "outer";
            };
            EXPECT_TRUE(cache.get_or_compile(numbered_key(thread * 100 + i), outer).ok());
            if (i % 5 == 4)
                admin::clear(cache);
        }
    });
    EXPECT_GT(crowd.most(), 0);
    EXPECT_LE(crowd.most(), k_limit);
}

TEST_F(Making, a_make_with_a_deadline_may_ask_for_one_with_a_deadline)
{
    // One worker and one place: both are lent to the inner make while the outer one waits for it.
    Cache cache = limited(1, {memory(0)});
    const GetOptions patient{.deadline = 1h};
    const auto inner = [] { return "inner"; };
    const auto outer = [&] { return "outer of " + text_of(cache.get_or_compile(numbered_key(2), inner, patient)); };
    EXPECT_EQ(text_of(cache.get_or_compile(numbered_key(1), outer, patient)), "outer of inner");
}

TEST_F(Making, closing_the_cache_waits_for_a_running_make_and_gives_up_the_others)
{
    std::latch started(1);
    std::latch finish(1);
    std::future<Result<Lookup>> running;
    std::future<Result<Lookup>> queued;
    std::optional<Code> inner;
    std::jthread releaser;
    {
        Cache cache = limited(1, {memory(0)});
        running = cache.get_or_compile_async(numbered_key(1), [&] {
            started.count_down();
            finish.wait();
            // The cache is on its way out: what is asked of it now is answered, one way or the other.
            inner = code_of(cache.get_or_compile(numbered_key(3), [] { return "x"; }, {.deadline = 1h}));
            return "finished";
        });
        started.wait();
        queued = cache.get_or_compile_async(numbered_key(2), never);
        releaser = std::jthread([&] {
            queued.wait();
            finish.count_down();
        });
    }
    releaser.join();
    EXPECT_EQ(text_of(running.get()), "finished");
    EXPECT_EQ(code_of(queued.get()), Code::unavailable);
    EXPECT_EQ(inner, Code::unavailable);
}

TEST_F(Making, where_making_is_forbidden_a_miss_is_an_error_and_a_count)
{
    {
        Cache filler = open_usual();
        put(filler, 1, 10);
    }
    CacheOptions forbidding = with({memory(0), disk_here()});
    forbidding.compiling = hearth::Compiling::forbidden;
    Cache cache = open(forbidding);
    bool made = false;
    const auto make = [&] {
        made = true;
        return "made";
    };
    EXPECT_TRUE(cache.get_or_compile(numbered_key(1), make).ok());
    const Key key = numbered_key(2);
    const std::string start = key.hex().substr(0, 12);
    const GetOptions patient{.deadline = 1h};
    const Result<Lookup> missing = cache.get_or_compile(key, make);
    EXPECT_EQ(code_of(missing), Code::compile_forbidden);
    EXPECT_EQ(text_of(missing).find("error: Entry " + start + " is missing (absent)"), 0U) << text_of(missing);
    const std::string named = text_of(cache.get_or_compile(key, make, {.metadata = {.label = "k.cu"}}));
    EXPECT_EQ(named.find("error: k.cu (entry " + start + ") is missing"), 0U) << named;
    EXPECT_EQ(code_of(cache.get_or_compile_async(key, make).get()), Code::compile_forbidden);
    EXPECT_EQ(code_of(cache.get_or_compile(key, make, patient)), Code::compile_forbidden);
    EXPECT_EQ(code_of(cache.get_or_compile_async(key, make, patient).get()), Code::compile_forbidden);
    EXPECT_FALSE(made);
    EXPECT_EQ(cache.stats().forbidden, 5U);
    EXPECT_EQ(cache.stats().compiles, 0U);
    EXPECT_EQ(misses(cache.stats(), Miss::absent), 5U);
}

TEST_F(Making, what_is_only_derived_is_made_once_and_appears_in_no_statistics)
{
    CacheOptions forbidding = with({memory(64_KiB), disk_here()});
    forbidding.compiling = hearth::Compiling::forbidden;
    Cache cache = open(forbidding);
    int makes = 0;
    const auto make = [&] {
        ++makes;
        return "derived";
    };
    const GetOptions derived{.kind = EntryKind::derived};
    for (int i = 0; i < 3; ++i)
        EXPECT_EQ(text_of(cache.get_or_compile(numbered_key(1), make, derived)), "derived");
    EXPECT_EQ(text_of(cache.get_or_compile_async(numbered_key(1), make, derived).get()), "derived");
    EXPECT_EQ(makes, 1);
    const Stats stats = cache.stats();
    EXPECT_EQ(stats.lookups(), 0U);
    EXPECT_EQ(stats.compiles, 0U);
    EXPECT_EQ(stats.stores, 0U);
    EXPECT_EQ(stats.forbidden, 0U);
}

}  // namespace

}  // namespace hearth::test

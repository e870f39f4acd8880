#include "cache_test.hpp"
#include "hearth/admin.hpp"
#include "hearth/compiled.hpp"
#include "hooked_tier.hpp"

#include <atomic>
#include <barrier>
#include <latch>
#include <set>
#include <thread>

// One make a key, whoever asks and however many do (40, 41, 43, 74).

namespace hearth::test {

namespace {

using namespace std::chrono_literals;

class Making : public CacheTest {
protected:
    // Until what another thread is about to do has been counted. A hang ends with the test's time limit.
    static void wait_until(const std::function<bool()>& come)
    {
        while (!come())
            std::this_thread::yield();
    }
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
        CacheOptions chosen = options();
        chosen.max_parallel_compiles = most;
        chosen.tiers = std::move(tiers);
        return open(chosen);
    }
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
        ASSERT_TRUE(got.ok());
        EXPECT_EQ((*got)->text(), "compiled");
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
        return std::string((*cache.get_or_compile(numbered_key(++next), std::forward<decltype(maker)>(maker)))->text());
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

    const Result<Lookup> failed =
        cache.get_or_compile(numbered_key(++next), []() -> Result<Bytes> { return failed_compile("no", "log"); });
    ASSERT_FALSE(failed.ok());
    EXPECT_EQ(failed.error().code, Code::compile_failed);
    EXPECT_EQ(failed.error().log, "log");
    EXPECT_EQ(
        cache.get_or_compile_async(numbered_key(++next), [] { return std::string("later"); }).get().value()->text(),
        "later");
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
    constexpr int k_threads = 64;
    Cache cache = open_usual();
    put(cache, 2, 10);
    std::atomic<int> makes{0};
    std::latch making(1);
    std::latch finish(1);
    std::vector<std::thread> threads;
    std::atomic<int> right{0};
    for (int i = 0; i < k_threads; ++i)
        threads.emplace_back([&] {
            const Result<Lookup> got = cache.get_or_compile(numbered_key(1), [&] {
                ++makes;
                making.count_down();
                finish.wait();
                return Artifact("slow");
            });
            right += got.ok() && (*got)->text() == "slow" ? 1 : 0;
        });
    making.wait();
    wait_until([&] { return cache.stats().waited == k_threads - 1; });
    // All but one wait and the make is under way: a hit, a miss, a store and a make of other keys are answered.
    EXPECT_TRUE(holds(cache, 2, 10));
    EXPECT_FALSE(cache.find(numbered_key(3)).hit());
    put(cache, 4, 10);
    EXPECT_TRUE(cache.get_or_compile(numbered_key(5), [] { return Artifact("quick"); }).ok());
    finish.count_down();
    for (std::thread& thread : threads)
        thread.join();
    EXPECT_EQ(makes, 1);
    EXPECT_EQ(right, k_threads);
}

TEST_F(Making, those_who_only_waited_for_anothers_make_say_so)
{
    constexpr int k_threads = 8;
    Cache cache = open_usual();
    std::latch finish(1);
    std::atomic<int> made{0};
    std::atomic<int> waited{0};
    std::vector<std::thread> threads;
    for (int i = 0; i < k_threads; ++i)
        threads.emplace_back([&] {
            const Result<Lookup> got = cache.get_or_compile(numbered_key(1), [&] {
                finish.wait();
                return Artifact("slow");
            });
            ASSERT_TRUE(got.ok());
            EXPECT_TRUE(got->compiled());
            const CompileResult result(*got, Request::of("test", "slow"), {});
            made += result.outcome() == Outcome::compiled ? 1 : 0;
            waited += result.outcome() == Outcome::waited ? 1 : 0;
        });
    wait_until([&] { return cache.stats().waited == k_threads - 1; });
    finish.count_down();
    for (std::thread& thread : threads)
        thread.join();
    EXPECT_EQ(made, 1);
    EXPECT_EQ(waited, k_threads - 1);
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
    ASSERT_TRUE(got.ok());
    EXPECT_EQ((*got)->text(), "another's");
    EXPECT_TRUE(got->waited());
}

TEST_F(Making, many_threads_on_many_keys_make_each_once)
{
    constexpr std::uint64_t k_keys = 50;
    Cache cache = open_usual();
    std::array<std::atomic<int>, k_keys> makes{};
    std::vector<std::thread> threads;
    for (std::uint64_t thread = 0; thread < 8; ++thread)
        threads.emplace_back([&, thread] {
            for (std::uint64_t i = 0; i < k_keys; ++i) {
                const std::uint64_t number = (i * 7 + thread * 3) % k_keys;
                const Result<Lookup> got = cache.get_or_compile(numbered_key(number), [&] {
                    ++makes[number];
                    return sample_bytes(numbered_key(number), 100);
                });
                EXPECT_TRUE(got.ok() && is_sample_of(**got, numbered_key(number)));
            }
        });
    for (std::thread& thread : threads)
        thread.join();
    for (const std::atomic<int>& count : makes)
        EXPECT_EQ(count, 1);
    EXPECT_EQ(cache.stats().compiles, k_keys);
}

TEST_F(Making, a_damaged_entry_is_made_again_once)
{
    Cache cache = open_usual();
    put(cache, 1, 1000);
    admin::clear_memory(cache);
    std::string bytes = read_file(file_of(numbered_key(1)));
    bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 1);
    write_file(file_of(numbered_key(1)), bytes);
    int makes = 0;
    for (int round = 0; round < 3; ++round) {
        const Result<Lookup> got = cache.get_or_compile(numbered_key(1), [&] {
            ++makes;
            return Artifact("again");
        });
        EXPECT_EQ((*got)->text(), "again");
    }
    EXPECT_EQ(makes, 1);
    EXPECT_EQ(cache.stats().corrupt(), 1U);
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
    std::latch finish(1);
    const auto make = [&] {
        ++makes;
        finish.wait();
        return Artifact("made");
    };
    std::vector<std::thread> threads;
    for (int i = 0; i < 8; ++i)
        threads.emplace_back([&] { EXPECT_TRUE(cache.get_or_compile(numbered_key(1), make).ok()); });
    wait_until([&] { return cache.stats().waited == 7; });
    finish.count_down();
    for (std::thread& thread : threads)
        thread.join();
    EXPECT_EQ(makes, 1);
    EXPECT_TRUE(cache.get_or_compile(numbered_key(1), make).ok());
    EXPECT_EQ(makes, 2) << "nothing was kept";
}

TEST_F(Making, a_make_may_ask_for_other_entries)
{
    Cache cache = limited(1, {memory(0), disk_here()});
    const Result<Lookup> outer = cache.get_or_compile(numbered_key(1), [&]() -> Result<std::string> {
        const Result<Lookup> inner = cache.get_or_compile(numbered_key(2), [&] {
            return "(" + std::string((*cache.get_or_compile(numbered_key(3), [] { return "core"; }))->text()) + ")";
        });
        return "[" + std::string((*inner)->text()) + "]";
    });
    ASSERT_TRUE(outer.ok());
    EXPECT_EQ((*outer)->text(), "[(core)]");
    EXPECT_EQ(cache.stats().compiles, 3U);
}

TEST_F(Making, a_make_that_waits_for_one_that_waits_for_its_place_does_not_deadlock)
{
    // One place. The maker of 1 has it and asks for 2, whose leader, another thread, waits for a place.
    std::latch two_has_a_leader(1);
    Cache cache = limited(1, {hooked(memory(0), when_led(numbered_key(2), two_has_a_leader))});
    std::thread other;
    const Result<Lookup> got = cache.get_or_compile(numbered_key(1), [&] {
        other = std::thread(
            [&] { EXPECT_EQ((*cache.get_or_compile(numbered_key(2), [] { return "two"; }))->text(), "two"); });
        two_has_a_leader.wait();
        return "one and " + std::string((*cache.get_or_compile(numbered_key(2), [] { return "two"; }))->text());
    });
    other.join();
    ASSERT_TRUE(got.ok());
    EXPECT_EQ((*got)->text(), "one and two");
    EXPECT_EQ(cache.stats().compiles, 2U);
}

TEST_F(Making, of_compiles_that_ask_for_each_other_in_a_circle_one_is_told_and_all_end)
{
    for (const int count : {2, 3, 5}) {
        Cache cache = open({memory(0)});
        std::latch all_lead(count);
        std::atomic<int> refused{0};
        std::vector<std::thread> threads;
        for (int i = 0; i < count; ++i)
            threads.emplace_back([&, mine = numbered_key(static_cast<std::uint64_t>(i)),
                                  next = numbered_key(static_cast<std::uint64_t>((i + 1) % count))] {
                const Result<Lookup> got = cache.get_or_compile(mine, [&]() -> Result<std::string> {
                    all_lead.arrive_and_wait();
                    const Result<Lookup> other = cache.get_or_compile(next, [] { return "never"; });
                    if (!other) {
                        ++refused;
                        EXPECT_EQ(other.error().code, Code::invalid_argument);
                        EXPECT_NE(other.error().message.find(next.hex()), std::string::npos);
                    }
                    return std::string("compiled");
                });
                ASSERT_TRUE(got.ok());
                EXPECT_EQ((*got)->text(), "compiled");
            });
        for (std::thread& thread : threads)
            thread.join();
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
    const Result<Lookup> got = cache.get_or_compile(numbered_key(1), asks_for_two);
    ASSERT_TRUE(got.ok());
    EXPECT_EQ((*got)->text(), "compiled");
    wait_until([&] { return cache.find(numbered_key(2)).hit(); });
    EXPECT_EQ(refused, 1);
}

TEST_F(Making, a_maker_that_asks_for_its_own_key_gets_a_clear_error)
{
    Cache cache = open_usual();
    std::optional<Error> inner;
    const auto own = [&]() -> Result<std::string> {
        const Result<Lookup> got = cache.get_or_compile(numbered_key(1), [] { return "never"; });
        if (!got)
            inner = got.error();
        return std::string("outer");
    };
    EXPECT_EQ((*cache.get_or_compile(numbered_key(1), own))->text(), "outer");
    ASSERT_TRUE(inner);
    EXPECT_EQ(inner->code, Code::invalid_argument);
    EXPECT_NE(inner->message.find(numbered_key(1).hex()), std::string::npos);

    // Through another entry, and on a worker, it is the same.
    inner.reset();
    const auto through_another = [&]() -> Result<std::string> {
        const Result<Lookup> between = cache.get_or_compile(numbered_key(3), [&]() -> Result<std::string> {
            const Result<Lookup> got = cache.get_or_compile(numbered_key(2), [] { return "never"; });
            if (!got)
                inner = got.error();
            return std::string("between");
        });
        return std::string((*between)->text());
    };
    EXPECT_EQ((*cache.get_or_compile_async(numbered_key(2), through_another).get())->text(), "between");
    ASSERT_TRUE(inner);
    EXPECT_EQ(inner->code, Code::invalid_argument);
}

TEST_F(Making, a_compile_that_asks_for_its_own_key_by_a_future_gets_a_clear_error)
{
    Cache cache = open({memory(0)});
    std::optional<Error> inner;
    const auto own = [&] {
        const Result<Lookup> got = cache.get_or_compile_async(numbered_key(1), [] { return "never"; }).get();
        if (!got)
            inner = got.error();
        return "outer";
    };
    EXPECT_EQ((*cache.get_or_compile(numbered_key(1), own))->text(), "outer");
    ASSERT_TRUE(inner);
    EXPECT_EQ(inner->code, Code::invalid_argument);
    EXPECT_NE(inner->message.find("This would never end"), std::string::npos) << inner->message;
}

TEST_F(Making, compiles_on_workers_may_wait_for_others_by_futures_whatever_the_limit)
{
    for (const std::uint32_t most : {1U, 2U, 0U}) {
        Cache cache = limited(most, {memory(0)});
        constexpr std::uint64_t k_outer = 12;
        std::vector<std::future<Result<Lookup>>> all;
        for (std::uint64_t i = 0; i < k_outer; ++i)
            all.push_back(cache.get_or_compile_async(numbered_key(i), [&cache, i] {
                std::future<Result<Lookup>> own =
                    cache.get_or_compile_async(numbered_key(100 + i), [] { return "own"; });
                std::future<Result<Lookup>> shared =
                    cache.get_or_compile_async(numbered_key(200), [] { return "all"; });
                return std::string((*own.get())->text()) + " and " + std::string((*shared.get())->text());
            }));
        for (std::future<Result<Lookup>>& one : all)
            EXPECT_EQ((*one.get())->text(), "own and all");
        EXPECT_EQ(cache.stats().compiles, 2 * k_outer + 1);
    }
}

TEST_F(Making, a_future_of_a_compile_may_outlive_the_cache)
{
    std::future<Result<Lookup>> kept;
    {
        Cache cache = open({memory(0)});
        ASSERT_TRUE(cache
                        .get_or_compile(numbered_key(1),
                                        [&] {
                                            kept = cache.get_or_compile_async(numbered_key(2), [] { return "later"; });
                                            return "now";
                                        })
                        .ok());
    }
    const Result<Lookup> got = kept.get();
    EXPECT_TRUE(got.ok() ? (*got)->text() == "later" : got.error().code == Code::unavailable);
}

TEST_F(Making, what_a_maker_throws_comes_back_as_an_error)
{
    Cache cache = open_usual();
    const Result<Lookup> known = cache.get_or_compile(
        numbered_key(1), []() -> Artifact { throw std::runtime_error("the compiler library is gone"); });
    ASSERT_FALSE(known.ok());
    EXPECT_NE(known.error().message.find("the compiler library is gone"), std::string::npos);
    const Result<Lookup> unknown = cache.get_or_compile(numbered_key(1), []() -> Artifact { throw 7; });
    ASSERT_FALSE(unknown.ok());
    const Result<Lookup> elsewhere =
        cache.get_or_compile_async(numbered_key(1), []() -> Artifact { throw std::runtime_error("async"); }).get();
    ASSERT_FALSE(elsewhere.ok());
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
    EXPECT_EQ((*future.get())->text(), "later");
    EXPECT_EQ(cache.get_or_compile_async(numbered_key(1), [] { return "never"; }).get()->tier(), "memory");
    EXPECT_EQ(cache.stats().compiles, 1U);
}

TEST_F(Making, many_asynchronous_calls_make_each_key_once)
{
    Cache cache = open_usual();
    std::atomic<int> makes{0};
    std::vector<std::future<Result<Lookup>>> futures;
    for (std::uint64_t i = 0; i < 200; ++i)
        futures.push_back(cache.get_or_compile_async(numbered_key(i % 20), [&makes, i] {
            ++makes;
            return std::to_string(i % 20);
        }));
    for (std::uint64_t i = 0; i < 200; ++i)
        EXPECT_EQ((*futures[i].get())->text(), std::to_string(i % 20));
    EXPECT_EQ(makes, 20);
}

TEST_F(Making, a_deadline_is_a_timeout_and_the_make_finishes_for_a_later_call)
{
    Cache cache = open_usual();
    std::latch begun(1);
    std::latch finish(1);
    const Result<Lookup> late = cache.get_or_compile(numbered_key(1),
                                                     [&] {
                                                         begun.count_down();
                                                         finish.wait();
                                                         return "slow";
                                                     },
                                                     {.deadline = 1ms});
    ASSERT_FALSE(late.ok());
    EXPECT_EQ(late.error().code, Code::timeout);
    EXPECT_NE(late.error().message.find("1 ms"), std::string::npos);
    begun.wait();  // the deadline may pass before the maker has begun
    // Who joins it in the air has a deadline of his own.
    const Result<Lookup> joined = cache.get_or_compile(numbered_key(1), [] { return "never"; }, {.deadline = 1ms});
    ASSERT_FALSE(joined.ok());
    EXPECT_EQ(joined.error().code, Code::timeout);
    finish.count_down();
    const Result<Lookup> later = cache.get_or_compile(numbered_key(1), [] { return "never"; });
    ASSERT_TRUE(later.ok());
    EXPECT_EQ((*later)->text(), "slow");
    EXPECT_EQ(cache.stats().compiles, 1U);
}

TEST_F(Making, an_asynchronous_call_with_a_deadline_answers_with_a_timeout_too)
{
    Cache cache = open_usual();
    std::latch begun(1);
    std::latch finish(1);
    const auto slow = [&] {
        begun.count_down();
        finish.wait();
        return "slow";
    };
    EXPECT_EQ(cache.get_or_compile_async(numbered_key(1), slow, {.deadline = 1ms}).get().error().code, Code::timeout);
    begun.wait();
    finish.count_down();
    EXPECT_EQ((*cache.get_or_compile(numbered_key(1), [] { return "never"; }))->text(), "slow");
    EXPECT_EQ(cache.stats().compiles, 1U);
}

TEST_F(Making, a_time_limit_is_the_deadline_of_compiles_that_own_their_captures)
{
    CacheOptions chosen = options();
    chosen.tiers = {memory(0)};
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
    std::thread borrows([&] {
        const Result<Lookup> got = cache.get_or_compile(numbered_key(1), slow);
        ASSERT_TRUE(got.ok()) << got.error().message;
        EXPECT_EQ((*got)->text(), "slow");
    });
    begun.wait();
    const GetOptions owned{.captures = Captures::owned};
    const Result<Lookup> late = cache.get_or_compile(
        numbered_key(1), [] { return "never"; }, owned);
    ASSERT_FALSE(late.ok());
    EXPECT_EQ(late.error().code, Code::timeout);
    EXPECT_NE(late.error().message.find("HEARTH_COMPILE_TIME_LIMIT"), std::string::npos) << late.error().message;
    EXPECT_EQ(cache
                  .get_or_compile_async(
                      numbered_key(1), [] { return "never"; }, owned)
                  .get()
                  .error()
                  .code,
              Code::timeout);
    finish.count_down();
    borrows.join();
    EXPECT_EQ(cache
                  .get_or_compile(
                      numbered_key(1), [] { return "never"; }, owned)
                  ->tier(),
              "memory");
    EXPECT_EQ(
        (*cache.get_or_compile(numbered_key(2), [] { return "quick"; }, {.deadline = 1h, .captures = Captures::owned}))
            ->text(),
        "quick")
        << "a deadline of its own counts";
}

TEST_F(Making, a_deadline_that_is_kept_changes_nothing)
{
    Cache cache = open_usual();
    EXPECT_EQ((*cache.get_or_compile(numbered_key(1), [] { return "quick"; }, {.deadline = 1h}))->text(), "quick");
    EXPECT_EQ(cache.get_or_compile(numbered_key(1), [] { return "never"; }, {.deadline = 1ms})->tier(), "memory");
    EXPECT_EQ((*cache.get_or_compile_async(numbered_key(2), [] { return "async"; }, {.deadline = 1h}).get())->text(),
              "async");
}

TEST_F(Making, ones_deadline_is_not_anothers)
{
    // The place is taken; a call with a deadline leads for key 2, gives up, and leaves one without a deadline waiting.
    std::latch two_has_a_leader(1);
    Cache cache = limited(1, {hooked(memory(0), when_led(numbered_key(2), two_has_a_leader))});
    std::latch finish(1);
    std::latch started(1);
    std::thread occupant([&] {
        EXPECT_TRUE(cache
                        .get_or_compile(numbered_key(1),
                                        [&] {
                                            started.count_down();
                                            finish.wait();
                                            return "occupied";
                                        })
                        .ok());
    });
    started.wait();
    std::thread hasty([&] {
        const Result<Lookup> got = cache.get_or_compile(numbered_key(2), [] { return "two"; }, {.deadline = 50ms});
        EXPECT_EQ(got.error().code, Code::timeout);
    });
    two_has_a_leader.wait();
    std::thread patient([&] {
        const Result<Lookup> got = cache.get_or_compile(numbered_key(2), [] { return "two"; });
        ASSERT_TRUE(got.ok()) << got.error().message;
        EXPECT_EQ((*got)->text(), "two");
    });
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
    std::vector<std::thread> threads;
    for (std::uint64_t i = 0; i < 12; ++i)
        threads.emplace_back([&, i] { EXPECT_TRUE(cache.get_or_compile(numbered_key(i), make).ok()); });
    for (std::thread& thread : threads)
        thread.join();
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
    std::vector<std::thread> threads;
    for (std::uint64_t thread = 0; thread < 8; ++thread)
        threads.emplace_back([&, thread] {
            for (std::uint64_t i = 0; i < 20; ++i) {
                // Every outer entry needs three of a few inner ones, which other threads make at the same time.
                const auto outer = [&] {
                    for (std::uint64_t inner = 0; inner < 3; ++inner)
                        EXPECT_TRUE(cache
                                        .get_or_compile(numbered_key(1000 + (i + inner) % 10),
                                                        [&] {
                                                            crowd.enter();
                                                            std::this_thread::yield();
                                                            crowd.leave();
                                                            return "inner";
                                                        })
                                        .ok());
                    return "outer";
                };
                EXPECT_TRUE(cache.get_or_compile(numbered_key(thread * 100 + i), outer).ok());
                if (i % 5 == 4)
                    admin::clear(cache);
            }
        });
    for (std::thread& thread : threads)
        thread.join();
    EXPECT_LE(crowd.most(), k_limit);
}

TEST_F(Making, a_make_with_a_deadline_may_ask_for_one_with_a_deadline)
{
    // One worker and one place: both are lent to the inner make while the outer one waits for it.
    Cache cache = limited(1, {memory(0)});
    const Result<Lookup> got = cache.get_or_compile(numbered_key(1),
                                                    [&]() -> Result<std::string> {
                                                        const Result<Lookup> inner = cache.get_or_compile(
                                                            numbered_key(2), [] { return "inner"; }, {.deadline = 1h});
                                                        if (!inner)
                                                            return inner.error();
                                                        return "outer of " + std::string((*inner)->text());
                                                    },
                                                    {.deadline = 1h});
    ASSERT_TRUE(got.ok()) << got.error().message;
    EXPECT_EQ((*got)->text(), "outer of inner");
}

TEST_F(Making, closing_the_cache_waits_for_a_running_make_and_gives_up_the_others)
{
    std::latch started(1);
    std::latch finish(1);
    std::future<Result<Lookup>> running;
    std::future<Result<Lookup>> queued;
    std::optional<Error> inner;
    std::thread releaser;
    {
        Cache cache = limited(1, {memory(0)});
        running = cache.get_or_compile_async(numbered_key(1), [&] {
            started.count_down();
            finish.wait();
            // The cache is on its way out: what is asked of it now is answered, one way or the other.
            const Result<Lookup> got = cache.get_or_compile(numbered_key(3), [] { return "x"; }, {.deadline = 1h});
            if (!got)
                inner = got.error();
            return "finished";
        });
        started.wait();
        queued = cache.get_or_compile_async(numbered_key(2), [] { return "never"; });
        releaser = std::thread([&] {
            queued.wait();
            finish.count_down();
        });
    }
    releaser.join();
    EXPECT_EQ((*running.get())->text(), "finished");
    const Result<Lookup> given_up = queued.get();
    ASSERT_FALSE(given_up.ok());
    EXPECT_EQ(given_up.error().code, Code::unavailable);
    ASSERT_TRUE(inner);
    EXPECT_EQ(inner->code, Code::unavailable);
}

TEST_F(Making, where_making_is_forbidden_a_miss_is_an_error_and_a_count)
{
    {
        Cache filler = open_usual();
        put(filler, 1, 10);
    }
    CacheOptions forbidding = options();
    forbidding.compiling = hearth::Compiling::forbidden;
    forbidding.tiers = {memory(0), disk_here()};
    Cache cache = open(forbidding);
    bool made = false;
    const auto make = [&] {
        made = true;
        return "made";
    };
    EXPECT_TRUE(cache.get_or_compile(numbered_key(1), make).ok());
    const Result<Lookup> missing = cache.get_or_compile(numbered_key(2), make);
    ASSERT_FALSE(missing.ok());
    EXPECT_EQ(missing.error().code, Code::compile_forbidden);
    EXPECT_EQ(missing.error().message.find("Entry " + numbered_key(2).hex().substr(0, 12) + " is missing (absent)"), 0U)
        << missing.error().message;
    const Result<Lookup> named = cache.get_or_compile(numbered_key(2), make, {.metadata = {.label = "k.cu"}});
    EXPECT_EQ(named.error().message.find("k.cu (entry " + numbered_key(2).hex().substr(0, 12) + ") is missing"), 0U)
        << named.error().message;
    EXPECT_NE(missing.error().message.find("absent"), std::string::npos) << "why it was missing is said";
    EXPECT_EQ(cache.get_or_compile_async(numbered_key(2), make).get().error().code, Code::compile_forbidden);
    EXPECT_EQ(cache.get_or_compile(numbered_key(2), make, {.deadline = 1h}).error().code, Code::compile_forbidden);
    EXPECT_EQ(cache.get_or_compile_async(numbered_key(2), make, {.deadline = 1h}).get().error().code,
              Code::compile_forbidden);
    EXPECT_FALSE(made);
    EXPECT_EQ(cache.stats().forbidden, 5U);
    EXPECT_EQ(cache.stats().compiles, 0U);
    EXPECT_EQ(misses(cache.stats(), Miss::absent), 5U);
}

TEST_F(Making, what_is_only_derived_is_made_once_and_appears_in_no_statistics)
{
    CacheOptions forbidding = options();
    forbidding.compiling = hearth::Compiling::forbidden;
    forbidding.tiers = {memory(64_KiB), disk_here()};
    Cache cache = open(forbidding);
    int makes = 0;
    const auto make = [&] {
        ++makes;
        return "derived";
    };
    for (int i = 0; i < 3; ++i) {
        const Result<Lookup> got = cache.get_or_compile(numbered_key(1), make, {.kind = EntryKind::derived});
        ASSERT_TRUE(got.ok()) << got.error().message;
        EXPECT_EQ((*got)->text(), "derived");
    }
    EXPECT_EQ((*cache.get_or_compile_async(numbered_key(1), make, {.kind = EntryKind::derived}).get())->text(),
              "derived");
    EXPECT_EQ(makes, 1);
    const Stats stats = cache.stats();
    EXPECT_EQ(stats.lookups(), 0U);
    EXPECT_EQ(stats.compiles, 0U);
    EXPECT_EQ(stats.stores, 0U);
    EXPECT_EQ(stats.forbidden, 0U);
}

}  // namespace

}  // namespace hearth::test

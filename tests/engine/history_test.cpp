#include "base/ready_mark.hpp"
#include "cache_test.hpp"
#include "engine/stats/history.hpp"
#include "hearth/history.hpp"
#include "hearth/ready.hpp"

#include <unistd.h>

// What a directory remembers of the past (91, 92), and compiles after a program is ready (95).

namespace hearth::test {

namespace {

using namespace std::chrono_literals;

// Being ready cannot be taken back: a process is ready in a child.
class History : public CacheTest {
protected:
    static Result<Lookup> compile(Cache& cache, std::uint64_t number, const std::string& compiler = "nvrtc 13.0",
                                  std::chrono::milliseconds cost = 40ms)
    {
        return cache.get_or_compile(numbered_key(number), [&, number]() -> Result<Artifact> {
            Artifact artifact = *sample_artifact(numbered_key(number), 100);
            artifact.metadata = {
                .label = "k" + std::to_string(number) + ".cu", .compiler = compiler, .target = "sm_90"};
            artifact.cost = cost;
            return artifact;
        });
    }
    static const CompilerStats& of(const Stats& stats, CompilerKind kind)
    {
        return stats.compilers[static_cast<std::size_t>(kind)];
    }
    // Key `number`, as something that the caller has compiled itself.
    static bool insert_compiled(Cache& cache, std::uint64_t number, const Metadata& metadata,
                                std::chrono::milliseconds cost = 1s)
    {
        Artifact artifact = *sample_artifact(numbered_key(number), 10);
        artifact.metadata = metadata;
        artifact.cost = cost;
        return cache.insert(numbered_key(number), artifact, {.source = InsertOptions::Source::compiled}).ok();
    }
};

TEST_F(History, compilers_are_counted_apart_in_the_process_and_the_directory)
{
    {
        Cache cache = open_usual();
        ASSERT_TRUE(compile(cache, 1));
        ASSERT_TRUE(compile(cache, 1));
        ASSERT_TRUE(compile(cache, 2, "c++", 2s));
        ASSERT_TRUE(compile(cache, 3, "somebody's own compiler"));
        const Stats stats = cache.stats();
        EXPECT_EQ(of(stats, CompilerKind::nvrtc).hits, 1U);
        EXPECT_EQ(of(stats, CompilerKind::nvrtc).compiles, 1U);
        EXPECT_EQ(of(stats, CompilerKind::nvrtc).compile_ns_saved, 40'000'000U);
        EXPECT_EQ(of(stats, CompilerKind::cxx).compiles, 1U);
        EXPECT_EQ(of(stats, CompilerKind::other).compiles, 1U);
        EXPECT_EQ(stats.compile_ns_saved, 40'000'000U);
        EXPECT_EQ(stats.compile_latency.samples, 3U);
    }
    Cache next = open_usual();
    ASSERT_TRUE(next.find(numbered_key(2)));
    const Stats stats = next.stats(Scope::directory);
    EXPECT_EQ(of(stats, CompilerKind::nvrtc).hits, 1U);
    EXPECT_EQ(of(stats, CompilerKind::cxx).hits, 1U);
    EXPECT_EQ(of(stats, CompilerKind::cxx).compile_ns_saved, 2'000'000'000U);
    EXPECT_EQ(of(stats, CompilerKind::other).compiles, 1U);
    EXPECT_EQ(stats.compile_latency.samples, 3U);
    EXPECT_EQ(stats.compiles, 3U);
}

TEST_F(History, hits_in_every_tier_know_their_compiler)
{
    Cache cache = open({memory_named("memory", 1 << 20), disk_here()});
    ASSERT_TRUE(compile(cache, 1, "triton"));
    for (int i = 0; i < 300; ++i)  // some are timed, on another way through the stack
        ASSERT_TRUE(cache.find(numbered_key(1)));
    admin::clear_memory(cache);
    ASSERT_TRUE(cache.find(numbered_key(1)));
    EXPECT_EQ(of(cache.stats(), CompilerKind::triton).hits, 301U);
    EXPECT_EQ(cache.stats().hits, 301U);
}

TEST_F(History, what_the_caller_has_compiled_is_counted_if_it_says_so)
{
    Cache cache = open_usual();
    ASSERT_TRUE(insert_compiled(cache, 1, {.label = "step", .compiler = "jax"}, 3s));
    put(cache, 2, 100);
    EXPECT_EQ(cache.stats().compiles, 1U);
    EXPECT_EQ(of(cache.stats(), CompilerKind::jax).compile_ns_spent, 3'000'000'000U);
    const std::vector<Event> events = admin::events(cache);
    ASSERT_EQ(events.size(), 1U);
    EXPECT_EQ(events[0].label, "step");
    EXPECT_EQ(events[0].took, 3s);
}

TEST_F(History, is_told_by_hours)
{
    for (int hour = 0; hour < 3; ++hour) {
        Cache cache = open_usual();
        for (int i = 0; i <= hour; ++i)
            ASSERT_TRUE(compile(cache, static_cast<std::uint64_t>(10 * hour + i)));
        cache.flush();
        m_clock.advance(1h);
    }
    Cache cache = open_usual();
    const std::vector<Period> periods = admin::history(cache);
    ASSERT_EQ(periods.size(), 3U);
    for (std::size_t i = 0; i < periods.size(); ++i)
        EXPECT_EQ(periods[i].compiles, i + 1) << i;
    EXPECT_EQ(periods[1].start - periods[0].start, 1h);
    EXPECT_EQ(periods[0].end, periods[1].start);
    EXPECT_EQ(periods[2].end, m_clock.now());
}

TEST_F(History, goes_on_from_zero_after_a_reset)
{
    {
        Cache cache = open_usual();
        for (std::uint64_t i = 0; i < 5; ++i)
            ASSERT_TRUE(compile(cache, i));
    }
    m_clock.advance(1h);
    Cache cache = open_usual();
    ASSERT_TRUE(compile(cache, 8));
    cache.flush();
    admin::reset_stats(cache);
    ASSERT_TRUE(compile(cache, 9));
    cache.flush();
    const std::vector<Period> periods = admin::history(cache);
    ASSERT_EQ(periods.size(), 2U);
    EXPECT_EQ(periods[0].compiles, 5U);
    EXPECT_EQ(periods[1].compiles, 1U);  // what was counted before the reset is gone
}

TEST_F(History, takes_no_more_room_after_years)
{
    Bytes note;
    Stats counted;
    for (std::uint64_t hour = 400'000; hour < 400'000 + 24 * 365; ++hour) {
        ++counted.compiles;
        note = engine::add_milestone(note, hour, counted);
        ASSERT_LE(note.size(), 15'500U);
    }
    const std::vector<engine::Milestone> rows = engine::decode_history(note);
    ASSERT_GT(rows.size(), 300U);
    EXPECT_EQ(rows.back().hour, 400'000U + 24 * 365 - 1);
    EXPECT_EQ(rows[rows.size() - 100].hour, rows.back().hour - 99);
    // Nothing is lost between: the sum of all periods is what was counted since the first.
    std::uint64_t sum = 0;
    for (const Period& period : engine::periods(rows, counted, m_clock.now()))
        sum += period.compiles;
    EXPECT_EQ(sum, counted.compiles - rows.front().until.compiles);
}

TEST_F(History, a_clock_that_went_back_and_damaged_notes_cost_the_past_and_nothing_else)
{
    const Bytes note = engine::add_milestone({}, 500'000, {});
    EXPECT_EQ(engine::decode_history(engine::add_milestone(note, 499'000, {})).size(), 1U);
    for (std::size_t size = 0; size < note.size(); ++size)
        EXPECT_TRUE(engine::decode_history(ByteView(note).first(size)).empty());
    EXPECT_TRUE(engine::decode_history(as_bytes("HRTHHST2 something else")).empty());
}

TEST_F(History, keeps_the_slowest_compiles_and_the_newest_with_why_they_missed)
{
    {
        Cache cache = open_usual();
        for (std::uint64_t i = 0; i < 200; ++i) {
            m_clock.advance(1s);
            const Metadata metadata{.label = "k" + std::to_string(i), .compiler = "nvcc"};
            ASSERT_TRUE(insert_compiled(cache, i, metadata, i == 7 ? 90s : 1s));
        }
        ASSERT_TRUE(compile(cache, 1000));
    }
    Cache cache = open_usual();
    const std::vector<Event> events = admin::events(cache);
    ASSERT_GT(events.size(), 40U);
    ASSERT_LT(events.size(), 80U);
    EXPECT_EQ(events.front().label, "k0");  // of the equally slow ones, and in the order of time
    EXPECT_EQ(std::ranges::count(events, std::string("k7"), &Event::label), 1);
    EXPECT_EQ(events.back().label, "k1000.cu");
    EXPECT_EQ(events.back().why, Miss::absent);
    EXPECT_EQ(events.back().target, "sm_90");
    EXPECT_EQ(events.back().key, numbered_key(1000));
    EXPECT_TRUE(std::ranges::is_sorted(events, {}, &Event::when));
}

TEST_F(History, what_a_wrong_clock_dated_keeps_nothing_newer_out)
{
    Cache cache = open_usual();
    m_clock.advance(24h * 365 * 100);
    for (std::uint64_t i = 0; i < 100; ++i)
        ASSERT_TRUE(compile(cache, i));
    m_clock.advance(-24h * 365 * 100);
    ASSERT_TRUE(compile(cache, 1000));
    cache.flush();
    EXPECT_EQ(admin::events(cache).back().label, "k1000.cu");
}

TEST_F(History, long_and_strange_texts_are_cut_and_do_not_fill_the_note)
{
    Cache cache = open_usual();
    std::string label;
    for (int i = 0; i < 500; ++i)
        label += "\xC3\xA4";  // two bytes each: cut between characters
    for (std::uint64_t i = 0; i < 200; ++i) {
        ASSERT_TRUE(insert_compiled(cache, i, {.label = label, .compiler = std::string(1000, '\n'), .target = label}));
        cache.flush();
    }
    Cache other = open_usual();
    const std::vector<Event> events = admin::events(other);
    ASSERT_GT(events.size(), 20U);
    EXPECT_EQ(events.back().label, label.substr(0, 200));
    EXPECT_EQ(events.back().key, numbered_key(199));
}

TEST_F(History, faults_are_remembered_with_their_sentence)
{
    {
        Cache cache = open_usual();
        ASSERT_TRUE(compile(cache, 1));
    }
    {
        const TierSpec broken{"broken", [](const TierContext&) -> Result<std::unique_ptr<Tier>> {
                                  return Error{Code::unavailable, "The tier is nonsense.", {}};
                              }};
        Cache cache = open({disk_here(), broken});
        ASSERT_TRUE(cache.find(numbered_key(1)));
    }
    Cache cache = open_usual();
    const std::vector<Event> events = admin::events(cache);
    ASSERT_EQ(std::ranges::count(events, Event::Kind::fault, &Event::kind), 1);
    const auto fault = std::ranges::find(events, Event::Kind::fault, &Event::kind);
    EXPECT_NE(fault->text.find("nonsense"), std::string::npos) << fault->text;
}

TEST_F(History, a_forked_child_does_not_tell_what_its_parent_tells)
{
    Cache cache = open_usual();
    ASSERT_TRUE(compile(cache, 1));
    EXPECT_TRUE(in_child([&] { return compile(cache, 2).ok() && (cache.flush(), true); }));
    cache.flush();
    Cache other = open_usual();
    const std::vector<Event> events = admin::events(other);
    EXPECT_EQ(std::ranges::count(events, std::string("k1.cu"), &Event::label), 1);
    EXPECT_EQ(std::ranges::count(events, std::string("k2.cu"), &Event::label), 1);
}

TEST_F(History, a_process_that_ends_without_a_word_has_told_its_compiles)
{
    EXPECT_TRUE(in_child([&] {
        Cache cache = open_usual();
        for (std::uint64_t i = 0; i < 3; ++i)
            if (!insert_compiled(cache, i, {}, 40ms))
                return false;
        ::_exit(0);
    }));
    Cache cache = open_usual();
    EXPECT_EQ(cache.stats(Scope::directory).compiles, 3U);
    EXPECT_EQ(admin::events(cache).size(), 3U);
}

TEST_F(History, knows_how_long_the_idlest_entry_was_not_used)
{
    Cache cache = open_usual();
    EXPECT_EQ(admin::longest_unused(cache, "disk"), std::nullopt);
    const WallTime first = m_clock.now();
    put(cache, 1, 100);
    m_clock.advance(1h);
    put(cache, 2, 100);
    m_clock.advance(1h);
    EXPECT_EQ(admin::longest_unused(cache, "disk"), first);
    EXPECT_EQ(admin::longest_unused(cache, "no such tier"), std::nullopt);
}

TEST_F(History, compiles_after_ready_are_counted_and_named)
{
    EXPECT_TRUE(in_child([&] {
        Cache cache = open_usual();
        const bool before = compile(cache, 1).ok() && cache.stats().compiles_after_ready == 0;
        ready();
        const bool after = compile(cache, 2).ok() && compile(cache, 1).ok();
        const std::vector<Event> events = admin::events(cache);
        return before && after && cache.stats().compiles_after_ready == 1 && events.size() == 2 &&
               !events[0].after_ready && events[1].after_ready && events[1].label == "k2.cu";
    }));
    Cache cache = open_usual();
    EXPECT_EQ(cache.stats(Scope::directory).compiles_after_ready, 1U);
    EXPECT_FALSE(is_ready());
}

TEST_F(History, compiles_after_ready_can_be_refused_and_those_before_go_on)
{
    EXPECT_TRUE(in_child([&] {
        CacheOptions options = this->options();
        options.compiling = Compiling::forbidden_after_ready;
        Cache cache = open(std::move(options));
        if (!compile(cache, 1) || !cache.may_compile({.label = "k"}).ok())
            return false;
        ready();
        const Result<Lookup> refused = compile(cache, 2);
        return compile(cache, 1).ok() && !refused.ok() && refused.error().code == Code::compile_forbidden &&
               refused.error().message.find("after-ready") != std::string::npos &&
               !cache.may_compile({.label = "k"}).ok() && cache.stats().forbidden == 2;
    }));
}

TEST_F(History, one_process_of_a_run_speaks_for_all_of_it)
{
    const std::optional<base::ReadyMark> mark = base::ReadyMark::make();
    ASSERT_TRUE(mark);
    m_environment.set(base::k_ready_variable, mark->text());
    EXPECT_TRUE(in_child([] { return !is_ready(); }));
    EXPECT_TRUE(in_child([] { return (ready(), true); }));
    EXPECT_TRUE(in_child([] { return is_ready(); }));
    // A run whose mark is lost is not starting.
    m_environment.set(base::k_ready_variable, "1/200/0123456789abcdef");
    EXPECT_TRUE(in_child([] { return is_ready(); }));
}

}  // namespace

}  // namespace hearth::test

#include "remote/store_tier.hpp"

#include "format/entry.hpp"
#include "format/signature.hpp"
#include "remote/scripted_store.hpp"
#include "support/eventually.hpp"
#include "support/forks.hpp"
#include "support/manual_clock.hpp"
#include "support/peak_memory.hpp"
#include "support/sample_entries.hpp"
#include "support/scratch_directory.hpp"
#include "support/storing.hpp"

#include <algorithm>
#include <gtest/gtest.h>
#include <span>
#include <unistd.h>

namespace hearth::remotes {

namespace {

using test::eventually;
using test::numbered_key;
using test::sample_entry;
using test::ScriptedServer;
using test::store_in;

class StoreTierTest : public testing::Test {
protected:
    std::unique_ptr<StoreTier> open(RemoteOptions options, StoreTier::Opener opener)
    {
        options.url = "redis://cache:6379";
        options.name = "redis";
        TierContext context{&m_clock, [this](LogLevel, std::string_view message) { m_said += message; }, lru()};
        return std::make_unique<StoreTier>(options, parse_url(options.url).value(), context, std::move(opener));
    }
    std::unique_ptr<StoreTier> open(const RemoteOptions& options = {})
    {
        return open(options, test::opener_of(m_server));
    }
    std::unique_ptr<StoreTier> open_that_demands(const SigningKey& signer)
    {
        return open({.trust = {Signatures::demanded, {signer.public_key()}, {}}});
    }
    static void put(StoreTier& tier, std::uint64_t number, std::size_t size = 500)
    {
        ASSERT_TRUE(store_in(tier, numbered_key(number), sample_entry(numbered_key(number), size)).ok());
    }
    static bool holds(StoreTier& tier, std::uint64_t number)
    {
        const Found found = tier.find(numbered_key(number));
        return found && test::is_sample_of(*found.artifact, numbered_key(number));
    }
    static Bytes encoded(std::uint64_t number)
    {
        return format::encode_entry(numbered_key(number), *test::sample_artifact(numbered_key(number), 300)).value();
    }
    static Bytes encoded(std::uint64_t number, const SigningKey& signer)
    {
        return format::sign_entry(numbered_key(number), encoded(number), signer).value();
    }
    static Entry compiled_here(std::uint64_t number)
    {
        const auto artifact = test::sample_artifact(numbered_key(number), 2000);
        artifact->origin = Origin::here;
        return Entry(artifact);
    }

    test::ManualClock m_clock;
    std::shared_ptr<ScriptedServer> m_server = std::make_shared<ScriptedServer>();
    std::string m_said;
};

TEST_F(StoreTierTest, nothing_is_opened_before_it_is_needed)
{
    const auto tier = open();
    EXPECT_EQ(m_server->opened, 0U);
    EXPECT_EQ(tier->report().state, State::unused);
    EXPECT_EQ(tier->find(numbered_key(1)).why, Miss::absent);
    EXPECT_EQ(m_server->opened, 1U);
    EXPECT_EQ(tier->report().state, State::working);
}

TEST_F(StoreTierTest, what_is_stored_is_sent_in_the_background)
{
    const auto tier = open();
    for (std::uint64_t i = 0; i < 50; ++i)
        put(*tier, i, i * 100);
    tier->flush();
    EXPECT_EQ(tier->report().sent, 50U);
    EXPECT_EQ(tier->report().queued, 0U);
    for (std::uint64_t i = 0; i < 50; ++i)
        EXPECT_TRUE(tier->find(numbered_key(i)).encoded) << i << ": for the tiers of this machine";
}

TEST_F(StoreTierTest, an_outage_is_an_outage_and_a_passed_deadline_a_timeout_and_both_are_asked_about_once)
{
    for (const auto& [code, why] : {std::pair(Code::unavailable, Miss::outage), {Code::timeout, Miss::timeout}}) {
        m_server->fail_with(std::nullopt);
        const auto tier = open();
        put(*tier, 1);
        tier->flush();
        m_server->fail_with(code);
        m_said.clear();
        const std::uint64_t before = m_server->requests;
        EXPECT_EQ(tier->find(numbered_key(1)).why, why);
        for (int i = 0; i < 100; ++i)
            EXPECT_EQ(tier->find(numbered_key(1)).why, Miss::outage);
        EXPECT_EQ(m_server->requests - before, 1U);
        EXPECT_EQ(tier->report().state, State::down);
        EXPECT_NE(tier->report().problem.find("as it was told to"), std::string::npos);
        EXPECT_NE(m_said.find("as it was told to"), std::string::npos) << "said once";
        m_server->fail_with(std::nullopt);
        EXPECT_TRUE(eventually("it is asked again", [&] { return holds(*tier, 1); }));
    }
}

TEST_F(StoreTierTest, other_processes_of_the_machine_do_not_ask_a_dead_server)
{
    const test::ScratchDirectory scratch;
    const auto one = open({.state_directory = scratch / "remotes"});
    const auto other = open({.state_directory = scratch / "remotes"});
    m_server->fail_with(Code::unavailable);
    EXPECT_EQ(one->find(numbered_key(1)).why, Miss::outage);
    const std::uint64_t before = m_server->requests;
    EXPECT_EQ(other->find(numbered_key(1)).why, Miss::outage);
    EXPECT_EQ(m_server->requests, before);
    EXPECT_EQ(other->report().state, State::down);
    EXPECT_NE(other->report().problem, "") << "why, though it never asked itself";
}

TEST_F(StoreTierTest, what_does_not_fit_into_the_queue_is_dropped_and_counted)
{
    const auto tier = open({.queue_bytes = 1_MiB, .queue_entries = 5, .exit_wait = std::chrono::milliseconds(0)});
    m_server->hold_writes = true;
    std::uint64_t taken = 0;
    for (std::uint64_t i = 0; i < 20; ++i)
        taken += store_in(*tier, numbered_key(i), sample_entry(numbered_key(i), 100)).ok() ? 1 : 0;
    EXPECT_EQ(taken, 5U);
    EXPECT_EQ(tier->report().dropped, 15U);
    EXPECT_LE(tier->report().queued, 5U);
    m_server->hold_writes = false;
    EXPECT_TRUE(eventually("all is sent", [&] { return tier->report().queued == 0; }));
    EXPECT_EQ(m_server->size(), 5U);
    EXPECT_FALSE(store_in(*tier, numbered_key(1), sample_entry(numbered_key(1), 2_MiB)).ok())
        << "larger than the queue";
}

TEST_F(StoreTierTest, the_end_waits_for_what_is_on_its_way_and_not_for_a_dead_server)
{
    {
        const auto tier = open();
        for (std::uint64_t i = 0; i < 200; ++i)
            put(*tier, i, 1000);
    }
    EXPECT_EQ(m_server->size(), 200U);
    const auto tier = open();
    m_server->fail_with(Code::unavailable);
    EXPECT_EQ(tier->find(numbered_key(1)).why, Miss::outage);
    put(*tier, 500);
    tier->flush();
    EXPECT_EQ(tier->report().queued, 1U) << "kept for when the server is back";
}

TEST_F(StoreTierTest, what_could_not_be_sent_is_sent_when_the_server_is_back)
{
    const auto tier = open();
    m_server->fail_with(Code::unavailable);
    put(*tier, 1);
    ASSERT_TRUE(eventually("it has been tried", [&] { return tier->report().state == State::down; }));
    m_server->fail_with(std::nullopt);
    EXPECT_TRUE(eventually("it is sent", [&] { return tier->report().queued == 0; }));
    EXPECT_TRUE(m_server->has(numbered_key(1).hex()));
    EXPECT_EQ(tier->report().dropped, 0U);
}

TEST_F(StoreTierTest, a_server_that_refuses_writes_still_answers)
{
    const auto tier = open();
    put(*tier, 1);
    tier->flush();
    const auto reader = open({.access = Access::read_only});
    EXPECT_FALSE(reader->traits().writable);
    EXPECT_TRUE(holds(*reader, 1));
    EXPECT_FALSE(store_in(*reader, numbered_key(2), sample_entry(numbered_key(2), 10)).ok());
    EXPECT_FALSE(reader->remove(numbered_key(1)));
    EXPECT_EQ(reader->try_flight(numbered_key(3)).outcome, FlightAttempt::Outcome::unsupported);
    EXPECT_TRUE(holds(*reader, 1));
}

TEST_F(StoreTierTest, altered_bytes_and_another_keys_entry_are_a_miss_and_not_fetched_again)
{
    const auto tier = open();
    const Bytes right = encoded(1);
    for (const std::size_t at : {std::size_t{0}, right.size() / 2, right.size() - 1}) {
        std::string wrong(right.text());
        wrong[at] = static_cast<char>(wrong[at] ^ 4);
        const Key key = numbered_key(100 + at);
        m_server->put(key.hex(), Bytes::copy_of(wrong));
        EXPECT_FALSE(tier->find(key)) << at;
    }
    m_server->put(numbered_key(2).hex(), right);
    EXPECT_EQ(tier->find(numbered_key(2)).why, Miss::corrupt) << "it is entry 1";
    const std::uint64_t before = m_server->requests;
    EXPECT_EQ(tier->find(numbered_key(2)).why, Miss::corrupt);
    EXPECT_EQ(m_server->requests, before) << "quarantined";
    put(*tier, 2);
    tier->flush();
    EXPECT_TRUE(holds(*tier, 2)) << "until it is replaced";
    EXPECT_GE(tier->report().corrupt, 2U);
}

// Capability 72.
TEST_F(StoreTierTest, where_signatures_are_demanded_only_signed_entries_are_used)
{
    const SigningKey signer = SigningKey::generate().value();
    const SigningKey stranger = SigningKey::generate().value();
    const auto reader = open_that_demands(signer);
    std::string altered(encoded(5, signer).text());
    altered[altered.size() / 2] = static_cast<char>(altered[altered.size() / 2] ^ 0x20);
    m_server->put(numbered_key(1).hex(), encoded(1));
    m_server->put(numbered_key(2).hex(), encoded(2, stranger));
    m_server->put(numbered_key(3).hex(), encoded(3, signer));
    m_server->put(numbered_key(4).hex(), encoded(3, signer));
    m_server->put(numbered_key(5).hex(), Bytes::copy_of(altered));
    EXPECT_EQ(reader->find(numbered_key(1)).why, Miss::untrusted);
    EXPECT_EQ(reader->find(numbered_key(2)).why, Miss::untrusted);
    EXPECT_TRUE(holds(*reader, 3));
    EXPECT_EQ(reader->find(numbered_key(4)).why, Miss::untrusted) << "signed under another's name";
    EXPECT_EQ(reader->report().untrusted, 3U);
    EXPECT_FALSE(reader->find(numbered_key(5)));
}

TEST_F(StoreTierTest, where_signatures_are_demanded_nothing_unsigned_takes_the_place_of_what_is_signed)
{
    const SigningKey signer = SigningKey::generate().value();
    m_server->put(numbered_key(1).hex(), encoded(1, signer));
    const auto reader = open_that_demands(signer);
    EXPECT_EQ(store_in(*reader, numbered_key(1), compiled_here(1)).error().code, Code::denied);
    reader->flush();
    EXPECT_TRUE(holds(*open_that_demands(signer), 1));
    // What has its signature already goes on with it.
    const Found found = reader->find(numbered_key(1));
    ASSERT_TRUE(found);
    EXPECT_TRUE(store_in(*reader, numbered_key(1), found.as_entry()).ok());
}

TEST_F(StoreTierTest, a_writer_with_a_key_signs_what_it_sends)
{
    const SigningKey signer = SigningKey::generate().value();
    const auto writer = open({.trust = {Signatures::not_asked, {}, {signer}}});
    ASSERT_TRUE(store_in(*writer, numbered_key(1), compiled_here(1)).ok());
    const Key other = numbered_key(2);
    EXPECT_EQ(store_in(*writer, other, sample_entry(other, 2000)).error().code, Code::denied)
        << "what came from elsewhere is not signed here";
    writer->flush();
    const auto reader = open_that_demands(signer);
    const Found found = reader->find(numbered_key(1));
    ASSERT_TRUE(found);
    EXPECT_TRUE(format::is_signed_by(std::vector{signer.public_key()}, numbered_key(1), *found.encoded))
        << "and goes on with its signature";
    EXPECT_EQ(reader->find(other).why, Miss::absent);
}

TEST_F(StoreTierTest, what_waits_for_a_server_that_is_left_alone_keeps_nothing_else_waiting)
{
    const auto tier = open({.exit_wait = std::chrono::hours(1)});
    for (const std::uint64_t number : {1, 2})
        m_server->resting.insert(numbered_key(number).hex());
    for (std::uint64_t number = 1; number <= 200; ++number)
        put(*tier, number);
    tier->flush();  // does not wait for those two
    EXPECT_EQ(tier->report().sent, 198U);
    EXPECT_EQ(tier->report().queued, 2U);
    EXPECT_EQ(tier->report().dropped, 0U);
    EXPECT_EQ(m_server->requests, 198U) << "and nobody has asked that server";
    {
        const std::lock_guard lock(m_server->mutex);
        m_server->resting.clear();
    }
    EXPECT_TRUE(eventually("those are sent too", [&] { return tier->report().queued == 0; }));
    EXPECT_EQ(tier->report().sent, 200U);
    EXPECT_TRUE(holds(*tier, 1));
}

TEST_F(StoreTierTest, what_waits_for_a_server_that_is_left_alone_leaves_half_of_the_room_to_others)
{
    const auto tier = open({.queue_entries = 4});
    for (const std::uint64_t number : {1, 2, 3})
        m_server->resting.insert(numbered_key(number).hex());
    for (const std::uint64_t number : {1, 2, 3})
        put(*tier, number);
    EXPECT_TRUE(eventually("only two wait", [&] { return tier->report().queued == 2; }));
    EXPECT_EQ(tier->report().dropped, 1U) << "and that is counted";
    EXPECT_EQ(m_server->requests, 0U);
}

TEST_F(StoreTierTest, one_holder_of_a_lease_and_the_next_finds_what_was_made)
{
    const auto one = open();
    const auto other = open();
    {
        FlightAttempt mine = one->try_flight(numbered_key(1));
        ASSERT_EQ(mine.outcome, FlightAttempt::Outcome::held);
        EXPECT_EQ(other->try_flight(numbered_key(1)).outcome, FlightAttempt::Outcome::busy);
        put(*one, 1);
    }
    FlightAttempt theirs;
    EXPECT_TRUE(eventually("the lease has ended", [&] {
        theirs = other->try_flight(numbered_key(1));
        return theirs.outcome == FlightAttempt::Outcome::held;
    }));
    EXPECT_TRUE(holds(*other, 1)) << "a lease ends after what was made under it is there";
    EXPECT_EQ(one->report().leases, 1U);
    EXPECT_GE(other->report().lease_waits, 1U);
}

TEST_F(StoreTierTest, a_server_without_leases_is_asked_once_and_it_is_said)
{
    m_server->leases = false;
    const auto tier = open();
    EXPECT_EQ(tier->try_flight(numbered_key(1)).outcome, FlightAttempt::Outcome::unsupported);
    const std::uint64_t before = m_server->requests;
    EXPECT_EQ(tier->try_flight(numbered_key(2)).outcome, FlightAttempt::Outcome::unsupported);
    EXPECT_EQ(m_server->requests, before);
    EXPECT_NE(tier->report().lease_problem.find("no leases"), std::string::npos);
}

TEST_F(StoreTierTest, a_forked_child_begins_with_an_empty_queue_and_goes_on)
{
    const auto tier = open({.exit_wait = std::chrono::milliseconds(5000)});
    EXPECT_FALSE(tier->find(numbered_key(99))) << "connected before the fork";
    m_server->hold_writes = true;
    for (std::uint64_t i = 0; i < 10; ++i)
        put(*tier, i);
    ASSERT_TRUE(
        eventually("the thread that sends has none of the server's locks", [&] { return m_server->holds.load(); }));
    const pid_t child = ::fork();
    if (child == 0) {
        ::alarm(20);
        m_server->hold_writes = false;
        const bool empty = tier->report().queued == 0 && m_server->forks == 1;
        const bool stored = store_in(*tier, numbered_key(77), sample_entry(numbered_key(77), 10)).ok();
        tier->flush();
        ::_exit(empty && stored && m_server->has(numbered_key(77).hex()) ? 0 : 1);
    }
    EXPECT_TRUE(test::child_was_right(child));
    m_server->hold_writes = false;
    tier->flush();
    EXPECT_EQ(m_server->size(), 10U);
}

TEST_F(StoreTierTest, a_library_that_is_missing_is_an_outage_that_says_how_to_get_it)
{
    const auto tier = open({}, [](const StoreOptions&) -> Result<std::unique_ptr<RemoteStore>> {
        return Error{Code::unavailable, "libhearth_redis.so cannot be loaded.", {}};
    });
    EXPECT_EQ(tier->find(numbered_key(1)).why, Miss::outage);
    EXPECT_NE(m_said.find("libhearth_redis.so"), std::string::npos);
    EXPECT_EQ(tier->report().state, State::down);
}

TEST_F(StoreTierTest, a_check_says_how_it_is)
{
    const auto tier = open();
    const Check check = tier->check(10);
    EXPECT_TRUE(check.reachable.ok());
    EXPECT_TRUE(check.writable.ok());
    EXPECT_TRUE(check.leases);
    EXPECT_EQ(check.samples, 10U);
    EXPECT_EQ(m_server->size(), 0U) << "nothing is left behind";
    m_server->fail_with(Code::denied);
    EXPECT_FALSE(tier->check(10).reachable.ok());
}

// Zeros of many MiB take some KiB on a server.
TEST_F(StoreTierTest, many_entries_are_unpacked_one_after_the_other)
{
    constexpr std::uint64_t k_unpacked = 16_MiB;
    constexpr std::uint64_t k_count = 8;
#if defined(HEARTH_HAS_TSAN)
    constexpr std::uint64_t k_taken = 5 * k_unpacked;  // it keeps four bytes of its own for each that is written
#elif defined(HEARTH_HAS_ASAN)
    constexpr std::uint64_t k_taken = k_count * k_unpacked;  // it keeps what was freed, so this shows nothing there
#else
    constexpr std::uint64_t k_taken = k_unpacked;
#endif
    for (std::uint64_t i = 0; i < k_count; ++i) {
        const Artifact zeros(
            Bytes::make(k_unpacked, [](std::span<std::byte> all) { std::ranges::fill(all, std::byte{}); }));
        m_server->put(numbered_key(i).hex(), format::encode_entry(numbered_key(i), zeros).value());
    }
    const auto tier = open();
    const test::PeakMemory memory;
    EXPECT_EQ(tier->verify(Repair::no, {}).intact, k_count);
    EXPECT_LT(memory.resident(), 3 * k_taken);
}

}  // namespace

}  // namespace hearth::remotes

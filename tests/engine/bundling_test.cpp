#include "cache_test.hpp"
#include "hearth/admin.hpp"
#include "hearth/bundle.hpp"

#include <algorithm>

// Bundles beside the other tiers, and bundles made of a cache (34, 53, 72).

namespace hearth::test {

namespace {

using Bundling = CacheTest;

TEST_F(Bundling, a_program_that_ships_its_kernels_makes_none)
{
    CacheOptions chosen = with({memory(0), disk_here(), bundle(make_bundle(1, 50, 100))});
    chosen.compiling = Compiling::forbidden;
    Cache cache = open(chosen);
    for (std::uint64_t number = 1; number <= 50; ++number) {
        const Result<Lookup> got = cache.get_or_compile(numbered_key(number), [] { return "made again"; });
        EXPECT_EQ(text_of(got), sample_bytes(numbered_key(number), 100).text());
        EXPECT_EQ(got->tier(), "bundle");
    }
    EXPECT_EQ(cache.stats().compiles, 0U);
    EXPECT_EQ(stats_of(cache, "bundle").hits, 50U);
    EXPECT_EQ(stats_of(cache, "bundle").note, bundle_file());
    EXPECT_FALSE(cache.get_or_compile(numbered_key(51), [] { return "made"; }).ok());
}

TEST_F(Bundling, what_is_used_often_moves_to_memory_and_never_to_the_disk)
{
    CacheOptions chosen = with({memory(0), disk_here(), bundle(make_bundle(1, 3, 100))});
    chosen.promote_after = 2;
    Cache cache = open(chosen);
    EXPECT_EQ(cache.find(numbered_key(1)).promoted_to(), "");
    EXPECT_EQ(cache.find(numbered_key(1)).promoted_to(), "memory");
    EXPECT_EQ(cache.find(numbered_key(1)).tier(), "memory");
    EXPECT_EQ(admin::where(cache, numbered_key(1)), (Names{"memory", "bundle"}));
    EXPECT_EQ(admin::promote(cache, numbered_key(2)).to, "memory") << "by hand too";
    EXPECT_EQ(admin::where(cache, numbered_key(2)), (Names{"memory", "bundle"}));
    EXPECT_EQ(status_of(cache, "disk").usage.entries, 0U);
    EXPECT_EQ(stats_of(cache, "memory").promotions, 2U);
}

TEST_F(Bundling, what_a_disk_holds_moves_past_a_bundle_that_stands_before_it)
{
    Cache cache = open_eager({memory(0), bundle(make_bundle(1, 2, 100)), disk_here()});
    put_all(cache, 7, 8, 50, "disk");
    EXPECT_EQ(cache.find(numbered_key(7)).promoted_to(), "memory");
    EXPECT_EQ(cache.find(numbered_key(7)).tier(), "memory");
    const MoveReport by_hand = admin::promote(cache, numbered_key(8));
    EXPECT_EQ(by_hand.outcome, MoveReport::Outcome::moved) << by_hand.reason;
    EXPECT_EQ(by_hand.to, "memory");
}

TEST_F(Bundling, without_memory_what_it_holds_stays_where_it_is)
{
    Cache cache = open_eager({disk_here(), bundle(make_bundle(1, 3, 100))});
    EXPECT_EQ(cache.find(numbered_key(1)).promoted_to(), "");
    EXPECT_EQ(admin::promote(cache, numbered_key(1)).outcome, MoveReport::Outcome::already_top);
    EXPECT_EQ(admin::demote(cache, numbered_key(1)).outcome, MoveReport::Outcome::already_bottom);
    EXPECT_EQ(admin::where(cache, numbered_key(1)), Names{"bundle"});
}

TEST_F(Bundling, memory_lets_go_of_what_a_bundle_has_without_a_copy_on_the_disk)
{
    Cache cache = open_eager({memory(250), disk_here(), bundle(make_bundle(1, 4, 100))});
    for (std::uint64_t number = 1; number <= 4; ++number)
        EXPECT_TRUE(holds(cache, number, 100));
    ASSERT_EQ(evictions().size(), 2U);
    for (const Eviction& eviction : evictions()) {
        EXPECT_EQ(eviction.tier, "memory");
        EXPECT_EQ(eviction.demoted_to, "bundle") << "it is there still";
    }
    EXPECT_EQ(status_of(cache, "disk").usage.entries, 0U);
    EXPECT_EQ(cache.stats().demotions(), 0U);
    // What no bundle has is demoted as ever.
    put(cache, 9, 100, "memory");
    put(cache, 10, 200, "memory");
    EXPECT_EQ(admin::where(cache, numbered_key(9)), Names{"disk"});
}

TEST_F(Bundling, where_nothing_can_be_written_below_a_victim_is_still_said_to_be_in_the_bundle)
{
    Cache cache = open_eager({memory(150), bundle(make_bundle(1, 3, 100))});
    EXPECT_TRUE(holds(cache, 1, 100));
    EXPECT_TRUE(holds(cache, 2, 100));
    ASSERT_EQ(evictions().size(), 1U);
    EXPECT_EQ(evictions()[0].demoted_to, "bundle");
    put(cache, 9, 100);
    put(cache, 10, 100);
    EXPECT_EQ(evictions().back().demoted_to, "") << "and one that is gone is said to be gone";
}

TEST_F(Bundling, nothing_is_stored_in_it_removed_from_it_or_collected)
{
    Cache cache = open({memory(0), disk_here(), bundle(make_bundle(1, 3, 100))});
    const std::string before = read_file(bundle_file());
    EXPECT_EQ(put(cache, 1, 50, {}, 1).tiers, (Names{"memory", "disk"}));
    EXPECT_TRUE(holds(cache, 1, 50, 1)) << "what was made here comes first";
    EXPECT_FALSE(cache.insert(numbered_key(9), Artifact("x"), {.tier = "bundle"}).ok());
    EXPECT_TRUE(cache.remove(numbered_key(1)));
    EXPECT_FALSE(cache.remove(numbered_key(2)));
    EXPECT_TRUE(holds(cache, 1, 100)) << "the bundle's own is there again";
    admin::gc(cache, {.max_entries = 0});
    admin::clear(cache);
    admin::maintain(cache);
    EXPECT_EQ(status_of(cache, "bundle").usage.entries, 3U);
    EXPECT_EQ(read_file(bundle_file()), before);
}

TEST_F(Bundling, a_damaged_entry_is_made_again_and_answered_from_here_on)
{
    damage(make_bundle(1, 3, 1000), 100);  // in the last entry
    Cache cache = open({memory(0), disk_here(), bundle(bundle_file())});
    std::uint64_t made = 0;
    for (int round = 0; round < 2; ++round)
        for (std::uint64_t number = 1; number <= 3; ++number) {
            const Result<Lookup> got = cache.get_or_compile(numbered_key(number), [&] {
                ++made;
                return *sample_artifact(numbered_key(number), 1000);
            });
            EXPECT_EQ(text_of(got), sample_bytes(numbered_key(number), 1000).text());
        }
    EXPECT_EQ(made, 1U);
    EXPECT_EQ(misses(cache.stats(), Miss::corrupt), 1U);
    EXPECT_EQ(stats_of(cache, "bundle").corrupt, 1U);
    EXPECT_EQ(admin::verify(cache, Repair::yes).corrupt, 1U);
}

TEST_F(Bundling, one_that_is_missing_is_told_of_once_and_the_cache_goes_on)
{
    Cache cache = open({memory(0), disk_here(), bundle(bundle_file("missing"))});
    EXPECT_EQ(admin::tiers(cache).size(), 2U);
    put(cache, 1, 10);
    EXPECT_TRUE(holds(cache, 1, 10));
    ASSERT_EQ(warnings().size(), 1U);
    EXPECT_NE(warnings()[0].find(bundle_file("missing")), std::string::npos);
}

TEST_F(Bundling, the_same_entries_give_the_same_file_whatever_came_first)
{
    Cache forward = open({memory(0), disk(m_scratch / "forward")});
    Cache backward = open({disk(m_scratch / "backward")});
    put_all(forward, 1, 200, 20'000);
    for (std::uint64_t number = 200; number >= 1; --number)
        put(backward, number, 20'000);
    ASSERT_TRUE(bundles::create(bundle_file("forward.bundle"), forward).ok());
    ASSERT_TRUE(bundles::create(bundle_file("backward.bundle"), backward).ok());
    EXPECT_TRUE(read_file(bundle_file("forward.bundle")) == read_file(bundle_file("backward.bundle")));
    EXPECT_EQ(forward.stats().lookups(), 0U) << "carrying entries is no use of them";
    EXPECT_EQ(admin::info(forward, numbered_key(1))->uses, 0U);
}

TEST_F(Bundling, only_what_is_chosen_and_lasts_goes_into_one)
{
    Cache cache = open_usual();
    for (std::uint64_t number = 1; number <= 5; ++number)
        put(cache, number, number * 10);
    put(cache, 6, 100, "memory");
    EXPECT_FALSE(cache.get_or_compile(numbered_key(7), []() -> Result<Artifact> { return failed_compile(); }).ok());
    ASSERT_TRUE(cache.insert(numbered_key(8), Artifact("derived here"), {.kind = EntryKind::derived}).ok());
    const bundles::WriteReport all = bundles::create(bundle_file(), cache).value();
    EXPECT_EQ(all.entries, 6U) << "neither the failed compile nor what was derived here";
    EXPECT_EQ(all.rejected, 0U);
    EXPECT_EQ(all.bytes, read_file(bundle_file()).size());
    EXPECT_EQ(all.id, bundles::read(bundle_file())->id);
    const auto large = [](const EntryRow& row) { return row.bytes > 35; };
    EXPECT_EQ(bundles::create(bundle_file("some"), cache, large)->entries, 3U);
}

TEST_F(Bundling, entries_go_in_as_they_lie_on_the_disk_with_their_signatures)
{
    const SigningKey signer = SigningKey::generate().value();
    DiskOptions on_disk{.directory = directory(), .compression = 0};
    on_disk.trust.sign_with = {signer};
    Cache cache = open({memory(0), disk(on_disk)});
    ASSERT_TRUE(cache.insert(numbered_key(1), Artifact(std::string(50'000, 'x'))).ok());
    ASSERT_TRUE(bundles::create(bundle_file(), cache, {}, {.sign_with = signer}).ok());
    EXPECT_NE(read_file(bundle_file()).find(read_file(file_of(numbered_key(1)))), std::string::npos)
        << "neither compressed nor stripped of its signature on the way";
    EXPECT_EQ(bundles::read(bundle_file())->signed_by, signer.public_key());
}

TEST_F(Bundling, an_entry_that_cannot_be_read_is_left_out_and_said)
{
    Cache cache = open({disk_here()});
    put_all(cache, 1, 3, 10);
    write_file(file_of(numbered_key(2)), "damaged");
    const bundles::WriteReport report = bundles::create(bundle_file(), cache).value();
    EXPECT_EQ(report.entries, 2U);
    EXPECT_EQ(report.rejected, 1U);
    ASSERT_EQ(report.problems.size(), 1U);
    EXPECT_NE(report.problems[0].find(numbered_key(2).hex()), std::string::npos);
    EXPECT_EQ(bundles::verify(bundle_file())->intact, 2U);
}

TEST_F(Bundling, what_was_stopped_or_cannot_be_written_leaves_the_old_file)
{
    Cache cache = open_usual();
    put_all(cache, 1, 5, 10);
    write_file(bundle_file(), "the old one");
    const auto before = snapshot(m_scratch.path());
    for (const std::uint64_t calls : {1U, 7U}) {  // while it lists, and while it writes
        const auto stop = [left = calls](std::uint64_t, std::uint64_t) mutable { return left-- > 0; };
        EXPECT_EQ(code_of(bundles::create(bundle_file(), cache, {}, {}, stop)), Code::timeout);
    }
    EXPECT_FALSE(bundles::create(m_scratch / "no/such/folder", cache).ok());
    EXPECT_EQ(snapshot(m_scratch.path()), before) << "nor is a half-written file left";
}

TEST_F(Bundling, a_bundle_of_a_cache_with_a_bundle_holds_both)
{
    Cache cache = open({memory(0), disk_here(), bundle(make_bundle(1, 3, 100))});
    put(cache, 4, 100);
    EXPECT_EQ(bundles::create(bundle_file("both"), cache)->entries, 4U);
    EXPECT_EQ(admin::hottest(cache, 10).size(), 4U);
}

TEST_F(Bundling, one_that_is_signed_holds_what_was_compiled_here_or_signed_by_a_trusted_key_and_nothing_else)
{
    const SigningKey signer = SigningKey::generate().value();
    const SigningKey theirs = SigningKey::generate().value();
    const auto stored_with = [&](std::uint64_t number, Trust trust) {
        DiskOptions on_disk{.directory = directory()};
        on_disk.trust = std::move(trust);
        Cache writing = open({disk(on_disk)});
        put(writing, number, 100);
    };
    stored_with(2, {});
    stored_with(3, {.sign_with = {signer}});
    stored_with(4, {.sign_with = {theirs}});
    stored_with(6, {.sign_with = {SigningKey::generate().value()}});
    Cache cache = open_eager({memory(0), bundle(make_bundle(1, 1, 100)), disk_here()});
    put(cache, 5, 100, "memory");
    for (const std::uint64_t number : {1U, 2U, 6U})
        EXPECT_EQ(cache.find(numbered_key(number)).promoted_to(), "memory") << "from where it is not signed either";
    const bundles::WriteOptions signing{.sign_with = signer, .inputs = {.trusted = {theirs.public_key()}}};
    const bundles::WriteReport report = bundles::create(bundle_file("signed"), cache, {}, signing).value();
    EXPECT_EQ(report.entries, 3U);
    EXPECT_EQ(report.rejected, 0U);
    ASSERT_EQ(report.problems.size(), 1U);
    EXPECT_EQ(report.problems[0].rfind("Left out: 3 entries", 0), 0U) << report.problems[0];
    std::vector<Key> keys;
    ASSERT_TRUE(bundles::list(bundle_file("signed"), [&](const EntryRow& row) {
                    keys.push_back(row.key);
                    return true;
                }).ok());
    for (const std::uint64_t number : {3U, 4U, 5U})
        EXPECT_EQ(std::count(keys.begin(), keys.end(), numbered_key(number)), 1);
}

TEST_F(Bundling, one_that_is_signed_holds_what_bundles_with_a_checked_signature_have)
{
    const SigningKey theirs = SigningKey::generate().value();
    const SigningKey ours = SigningKey::generate().value();
    Cache writing = open({memory(0)});
    put_all(writing, 1, 3, 100);
    ASSERT_TRUE(bundles::create(bundle_file("theirs"), writing, {}, {.sign_with = theirs}).ok());
    Cache cache =
        open({memory(0), disk_here(),
              bundle({.path = bundle_file("theirs"), .trust = {Signatures::demanded, {theirs.public_key()}, {}}})});
    put(cache, 4, 100);
    EXPECT_EQ(bundles::create(bundle_file("signed"), cache, {}, {.sign_with = ours})->entries, 4U);
}

}  // namespace

}  // namespace hearth::test

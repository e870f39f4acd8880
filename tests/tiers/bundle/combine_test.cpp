#include "bundle_fixture.hpp"

// Bundles made of bundles: merge and diff.

namespace hearth::test {

namespace {

class Combining : public BundleTest {
protected:
    std::string out() const { return path("out.bundle"); }
};

Entries joined(Entries first, const Entries& second)
{
    first.insert(second.begin(), second.end());
    return first;
}

// The same result, made at another time and at another cost.
Entries made_again(std::uint64_t first, std::uint64_t last, std::size_t size)
{
    Entries entries;
    for (std::uint64_t number = first; number <= last; ++number) {
        const Key key = numbered_key(number);
        const auto artifact = sample_artifact(key, size);
        artifact->created += std::chrono::hours(1);
        artifact->cost *= 2;
        entries[key] = format::encode_entry(key, *artifact).value().text();
    }
    return entries;
}

}  // namespace

TEST_F(Combining, merging_gives_the_bundle_of_all_entries)
{
    const Entries low = sample_entries(1, 150, 30);
    const Entries high = sample_entries(151, 300, 30);
    const std::vector<std::string> bundles{make(low, "low.bundle"), make(high, "high.bundle")};
    const Result<bundles::WriteReport> report = bundles::merge(out(), bundles);
    ASSERT_TRUE(report.ok()) << report.error().message;
    EXPECT_EQ(report->entries, 300U);
    EXPECT_EQ(report->same, 0U);
    EXPECT_EQ(report->differing, 0U);
    EXPECT_EQ(report->rejected, 0U);
    EXPECT_EQ(report->bytes, read_file(out()).size());
    EXPECT_EQ(report->id, bundles::read(out())->id);
    EXPECT_EQ(read_file(out()), bundle_bytes(joined(low, high))) << "as if it had been made at once";
}

TEST_F(Combining, of_bundles_that_disagree_the_first_counts_and_the_report_says_which)
{
    const std::string first = make(sample_entries(1, 10, 30), "first.bundle");
    const std::string second = make(joined(sample_entries(9, 10, 30, 1), sample_entries(11, 12, 30)), "second.bundle");
    const Result<bundles::WriteReport> report = bundles::merge(out(), {first, second});
    ASSERT_TRUE(report.ok()) << report.error().message;
    EXPECT_EQ(report->entries, 12U);
    EXPECT_EQ(report->differing, 2U);
    EXPECT_EQ(report->same, 0U);
    std::vector<Key> expected{numbered_key(9), numbered_key(10)};
    std::sort(expected.begin(), expected.end());
    EXPECT_EQ(report->differing_keys, expected);
    EXPECT_EQ(open(out())->find(numbered_key(9)).artifact->text(), sample_bytes(numbered_key(9), 30, 0).text());
    ASSERT_TRUE(bundles::merge(out(), {second, first}).ok());
    EXPECT_EQ(open(out())->find(numbered_key(9)).artifact->text(), sample_bytes(numbered_key(9), 30, 1).text());
}

TEST_F(Combining, what_was_only_made_again_is_no_disagreement)
{
    const std::string first = make(sample_entries(1, 5, 30), "first.bundle");
    const std::string second = make(made_again(1, 5, 30), "second.bundle");
    ASSERT_NE(read_file(first), read_file(second));
    const Result<bundles::WriteReport> report = bundles::merge(out(), {first, second, first});
    ASSERT_TRUE(report.ok()) << report.error().message;
    EXPECT_EQ(report->differing, 0U);
    EXPECT_EQ(report->same, 10U);
    EXPECT_EQ(read_file(out()), read_file(first));
}

TEST_F(Combining, a_damaged_entry_comes_from_another_bundle_that_has_it)
{
    const Entries entries = sample_entries(1, 5, 30);
    std::string bytes = bundle_bytes(entries);
    for (const std::uint64_t number : {2U, 4U})
        bytes = with_flipped_bit(bytes, 8 * (bytes.find(entries.at(numbered_key(number))) + 100));
    write_file(path("damaged.bundle"), bytes);
    const std::string helper = make(sample_entries(2, 2, 30), "helper.bundle");
    const Result<bundles::WriteReport> report = bundles::merge(out(), {path("damaged.bundle"), helper});
    ASSERT_TRUE(report.ok()) << report.error().message;
    EXPECT_EQ(report->entries, 4U);
    EXPECT_EQ(report->rejected, 1U);
    ASSERT_EQ(report->problems.size(), 1U);
    EXPECT_NE(report->problems[0].find(numbered_key(4).hex()), std::string::npos) << report->problems[0];
    const auto tier = open(out());
    EXPECT_TRUE(holds(*tier, 2));
    EXPECT_FALSE(holds(*tier, 4));
    EXPECT_EQ(tier->verify(Repair::no, {}).intact, 4U);
}

TEST_F(Combining, a_damaged_index_is_told_with_what_it_costs)
{
    const std::string whole = bundle_bytes(sample_entries(1, 200, 10));
    write_file(path("damaged.bundle"), with_flipped_bit(whole, 8 * BundlePlaces(whole).rows));
    const Result<bundles::WriteReport> merged = bundles::merge(out(), {path("damaged.bundle")});
    ASSERT_TRUE(merged.ok());
    EXPECT_EQ(merged->entries, 72U);
    EXPECT_EQ(merged->rejected, 128U);
    EXPECT_EQ(merged->problems.size(), 1U);
    make({}, "empty.bundle");
    EXPECT_EQ(bundles::diff(out(), path("empty.bundle"), path("damaged.bundle"))->rejected, 128U);
}

TEST_F(Combining, a_signature_goes_over_what_a_trusted_one_covers_and_over_nothing_else)
{
    const SigningKey ours = SigningKey::generate().value();
    const SigningKey theirs = SigningKey::generate().value();
    const bundles::WriteOptions signing{.sign_with = ours};
    const bundles::WriteOptions trusting{.sign_with = ours, .inputs = {.trusted = {theirs.public_key()}}};
    make(sample_entries(1, 3, 30), "plain.bundle");
    make(sample_entries(1, 2, 30), "ours.bundle", &ours);
    make(sample_entries(3, 4, 30), "theirs.bundle", &theirs);
    for (const std::vector<std::string>& one :
         {std::vector{path("plain.bundle")}, {path("theirs.bundle")}, {path("ours.bundle"), path("plain.bundle")}}) {
        EXPECT_EQ(bundles::merge(out(), one, signing).error().code, Code::denied);
        EXPECT_EQ(bundles::diff(out(), path("ours.bundle"), one.back(), signing).error().code, Code::denied);
    }
    EXPECT_FALSE(fs::exists(out()));
    const auto report = bundles::merge(out(), {path("ours.bundle"), path("theirs.bundle")}, trusting);
    ASSERT_TRUE(report.ok()) << report.error().message;
    EXPECT_TRUE(holds(*open(out(), demanding(ours)), 4));
    EXPECT_EQ(bundles::diff(out(), path("plain.bundle"), path("theirs.bundle"), trusting)->entries, 1U)
        << "of the older one nothing is taken";
    ASSERT_TRUE(bundles::merge(path("theirs.bundle"), {path("theirs.bundle")}, trusting).ok());
    EXPECT_TRUE(holds(*open(path("theirs.bundle"), demanding(ours)), 3)) << "into the file that it was made of";
}

TEST_F(Combining, a_delta_holds_what_is_new_and_what_has_changed)
{
    const std::string older = make(sample_entries(1, 10, 30), "older.bundle");
    // 1 and 2 are gone, 3 to 8 are the same (6 to 8 made again), 9 and 10 changed, 11 to 13 new.
    Entries now = joined(joined(sample_entries(3, 5, 30), made_again(6, 8, 30)),
                         joined(sample_entries(9, 10, 30, 1), sample_entries(11, 13, 30)));
    const std::string newer = make(now, "newer.bundle");
    const Result<bundles::WriteReport> report = bundles::diff(out(), older, newer);
    ASSERT_TRUE(report.ok()) << report.error().message;
    EXPECT_EQ(report->entries, 5U);
    EXPECT_EQ(report->same, 6U);
    EXPECT_EQ(report->differing, 2U);
    EXPECT_EQ(report->gone, 2U);
    EXPECT_EQ(report->rejected, 0U);
    EXPECT_EQ(bundles::read(out())->base, bundles::read(older)->id);
    const Result<bundles::WriteReport> of_equals = bundles::diff(path("nothing.bundle"), older, older);
    ASSERT_TRUE(of_equals.ok());
    EXPECT_EQ(of_equals->entries, 0U);
    EXPECT_EQ(of_equals->same, 10U);
    EXPECT_EQ(bundles::read(path("nothing.bundle"))->entries, 0U);
    const auto delta = open(out());
    for (std::uint64_t number = 1; number <= 13; ++number)
        EXPECT_EQ(holds(*delta, number), number >= 9) << number;

    // Older and delta together answer as the newer one does.
    ASSERT_TRUE(bundles::merge(path("again.bundle"), {out(), older}).ok());
    const auto again = open(path("again.bundle"));
    const auto wanted = open(newer);
    for (std::uint64_t number = 3; number <= 13; ++number)
        EXPECT_EQ(again->find(numbered_key(number)).artifact->text(),
                  wanted->find(numbered_key(number)).artifact->text());
    EXPECT_EQ(bundles::read(path("again.bundle"))->base, "") << "whole again";
}

TEST_F(Combining, what_cannot_be_read_or_was_stopped_leaves_the_old_file)
{
    const std::string file = make(sample_entries(1, 10, 30));
    write_file(out(), "the old one");
    EXPECT_FALSE(bundles::merge(out(), {file, path("missing")}).ok());
    EXPECT_FALSE(bundles::diff(out(), path("missing"), file).ok());
    EXPECT_FALSE(bundles::diff(out(), file, path("missing")).ok());
    EXPECT_FALSE(bundles::merge(out(), {}).ok());
    make({}, "empty.bundle");
    for (const std::uint64_t calls : {3U, 15U}) {  // while it compares, and while it writes
        std::uint64_t left = calls;
        const Progress stop = [&](std::uint64_t, std::uint64_t) { return left-- > 0; };
        const Result<bundles::WriteReport> merged = bundles::merge(out(), {file}, {}, stop);
        ASSERT_FALSE(merged.ok());
        EXPECT_EQ(merged.error().code, Code::timeout);
        left = calls;
        const Result<bundles::WriteReport> delta = bundles::diff(out(), path("empty.bundle"), file, {}, stop);
        ASSERT_FALSE(delta.ok());
        EXPECT_EQ(delta.error().code, Code::timeout);
    }
    EXPECT_EQ(read_file(out()), "the old one");
    EXPECT_EQ(snapshot(m_scratch.path()).size(), 3U) << "and nothing beside it";
}

}  // namespace hearth::test

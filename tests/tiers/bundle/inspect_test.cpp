#include "bundle_fixture.hpp"

#include "base/hex.hpp"

// What can be learnt of a bundle without a cache.

namespace hearth::test {

namespace {

class BundleInspection : public BundleTest {};

}  // namespace

TEST_F(BundleInspection, tells_what_the_bundle_says_of_itself)
{
    const SigningKey signer = SigningKey::generate().value();
    const format::BundleWriter::Written written =
        write_bundle(base::system_files(), path(), sample_entries(1, 5, 10), &signer);
    const Result<bundles::Facts> facts = bundles::read(path());
    ASSERT_TRUE(facts.ok()) << facts.error().message;
    EXPECT_EQ(facts->id, base::to_hex(std::as_bytes(std::span(written.root))));
    EXPECT_EQ(facts->entries, 5U);
    EXPECT_EQ(facts->bytes, read_file(path()).size());
    EXPECT_EQ(facts->targets, (std::vector<bundles::Named>{{"sm_80", 2}, {"sm_90", 3}}));
    EXPECT_EQ(facts->compilers, (std::vector<bundles::Named>{{"nvrtc 12.4", 5}}));
    EXPECT_EQ(facts->signed_by, signer.public_key());
    EXPECT_EQ(facts->base, "");
}

TEST_F(BundleInspection, the_id_is_that_of_the_content_and_not_of_who_signed_it)
{
    const SigningKey signer = SigningKey::generate().value();
    const std::string id = bundles::read(make(sample_entries(1, 5, 10)))->id;
    EXPECT_EQ(bundles::read(make(sample_entries(1, 5, 10), "again.bundle", &signer))->id, id);
    EXPECT_NE(bundles::read(make(sample_entries(1, 6, 10), "more.bundle"))->id, id);
    EXPECT_NE(bundles::read(make(sample_entries(1, 5, 10, 1), "other.bundle"))->id, id);
}

TEST_F(BundleInspection, a_signature_that_is_wrong_is_an_error_and_not_a_signer)
{
    const SigningKey signer = SigningKey::generate().value();
    const std::string whole = bundle_bytes(sample_entries(1, 2, 10), &signer);
    write_file(path(), with_flipped_bit(whole, 8 * (BundlePlaces(whole).seal + 100)));
    const Result<bundles::Facts> facts = bundles::read(path());
    ASSERT_FALSE(facts.ok());
    EXPECT_EQ(facts.error().code, Code::corrupt);
    EXPECT_NE(facts.error().message.find(path()), std::string::npos);
}

TEST_F(BundleInspection, lists_entries_in_the_order_of_their_keys)
{
    const Entries entries = sample_entries(1, 200, 10);
    std::vector<Key> keys;
    ASSERT_TRUE(bundles::list(make(entries), [&](const EntryRow& row) {
                    keys.push_back(row.key);
                    EXPECT_EQ(row.metadata.compiler, "nvrtc 12.4");
                    return true;
                }).ok());
    std::vector<Key> expected;
    for (const auto& [key, bytes] : entries)
        expected.push_back(key);
    EXPECT_EQ(keys, expected);
    std::uint64_t seen = 0;
    ASSERT_TRUE(bundles::list(path(), [&](const EntryRow&) { return ++seen < 3; }).ok());
    EXPECT_EQ(seen, 3U);
}

TEST_F(BundleInspection, says_how_many_a_damaged_index_hides)
{
    const std::string whole = bundle_bytes(sample_entries(1, 200, 10));
    write_file(path(), with_flipped_bit(whole, 8 * BundlePlaces(whole).rows));
    std::uint64_t seen = 0;
    const Status listed = bundles::list(path(), [&](const EntryRow&) { return ++seen != 0; });
    EXPECT_EQ(seen, 72U);
    ASSERT_FALSE(listed.ok());
    EXPECT_NE(listed.error().message.find("128"), std::string::npos) << listed.error().message;
}

TEST_F(BundleInspection, says_how_many_lie_behind_the_end_of_a_file_that_was_cut)
{
    const Entries entries = sample_entries(1, 5, 10);
    const std::string whole = bundle_bytes(entries);
    write_file(path(), whole.substr(0, whole.size() - entries.rbegin()->second.size() - 1));
    std::uint64_t seen = 0;
    const Status cut = bundles::list(path(), [&](const EntryRow&) { return ++seen != 0; });
    EXPECT_EQ(seen, 5U) << "by their keys";
    ASSERT_FALSE(cut.ok());
    EXPECT_EQ(cut.error().code, Code::corrupt);
    EXPECT_NE(cut.error().message.find("of its 5 entries 2 lie behind its end"), std::string::npos)
        << cut.error().message;
    EXPECT_TRUE(bundles::list(path(), [](const EntryRow&) { return false; }).ok()) << "who has seen enough";
    write_file(path(), whole + "more");
    const Status longer = bundles::list(path(), [](const EntryRow&) { return true; });
    ASSERT_FALSE(longer.ok());
    EXPECT_NE(longer.error().message.find("0 lie behind"), std::string::npos) << longer.error().message;
}

TEST_F(BundleInspection, a_damaged_entry_is_listed_by_its_key)
{
    const Entries entries = sample_entries(1, 2, 10);
    const std::string whole = bundle_bytes(entries);
    write_file(path(), with_flipped_bit(whole, 8 * (BundlePlaces(whole).data + 50)));
    std::vector<EntryRow> rows;
    ASSERT_TRUE(bundles::list(path(), [&](const EntryRow& row) {
                    rows.push_back(row);
                    return true;
                }).ok());
    ASSERT_EQ(rows.size(), 2U);
    EXPECT_EQ(rows[0].key, entries.begin()->first);
    EXPECT_EQ(rows[0].metadata.label, "");
    EXPECT_EQ(rows[0].stored_bytes, entries.begin()->second.size());
    EXPECT_NE(rows[1].metadata.label, "");
}

TEST_F(BundleInspection, verify_looks_at_every_entry_and_at_who_signed)
{
    const SigningKey signer = SigningKey::generate().value();
    make(sample_entries(1, 150, 10), "kernels.bundle", &signer);
    const Result<bundles::Verified> report = bundles::verify(path(), demanding(signer));
    ASSERT_TRUE(report.ok()) << report.error().message;
    EXPECT_EQ(report->checked, 150U);
    EXPECT_EQ(report->intact, 150U);
    EXPECT_TRUE(report->problems.empty());
    EXPECT_EQ(report->facts.id, bundles::read(path())->id);
    EXPECT_EQ(report->facts.signed_by, signer.public_key());
    const Result<bundles::Verified> untrusted = bundles::verify(path(), demanding(SigningKey::generate().value()));
    ASSERT_FALSE(untrusted.ok());
    EXPECT_EQ(untrusted.error().code, Code::denied);
    for (const std::string& file : {path("missing"), std::string()}) {
        EXPECT_FALSE(bundles::verify(file).ok());
        EXPECT_FALSE(bundles::read(file).ok());
        EXPECT_FALSE(bundles::list(file, [](const EntryRow&) { return true; }).ok());
        EXPECT_FALSE(try_open(file).ok());
    }
}

}  // namespace hearth::test

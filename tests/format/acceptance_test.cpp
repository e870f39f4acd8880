#include "format/acceptance.hpp"

#include "format/signature.hpp"
#include "support/damage.hpp"
#include "support/sample_entries.hpp"

#include <gtest/gtest.h>

namespace hearth::format {

namespace {

using namespace std::chrono_literals;
using test::numbered_key;

const Key k_key = numbered_key(1);

Bytes damaged(const Bytes& bytes, std::size_t at)
{
    return Bytes::copy_of(test::with_flipped_bit(std::string(bytes.text()), at * 8));
}

// What it is found as: "hit", or why not.
std::string taken(const Bytes& bytes, const Key& key, const Acceptance& acceptance)
{
    const Found found = accept_entry(bytes, key, acceptance);
    return found ? "hit" : std::string(to_string(found.why));
}

// An entry, plain and signed by three.
class AcceptanceTest : public testing::Test {
protected:
    test::ManualClock m_clock;
    const std::shared_ptr<Artifact> m_artifact = test::sample_artifact(k_key, 500);
    const SigningKey m_ours = SigningKey::generate().value();
    const SigningKey m_theirs = SigningKey::generate().value();
    const Bytes m_plain = encode_entry(k_key, *m_artifact).value();
    const Bytes m_by_us = sign_entry(k_key, m_plain, m_ours).value();
    const Bytes m_by_them = sign_entry(k_key, m_plain, m_theirs).value();
    const Bytes m_by_stranger = sign_entry(k_key, m_plain, SigningKey::generate().value()).value();
};

using PreparationTest = AcceptanceTest;

}  // namespace

TEST_F(AcceptanceTest, an_entry_that_is_what_it_says_is_found_with_its_size_and_cost)
{
    const Found found = accept_entry(m_plain, k_key, {{}, m_clock});
    ASSERT_TRUE(found);
    EXPECT_EQ(found.bytes, m_plain.size());
    EXPECT_EQ(found.cost, 100ms);
    EXPECT_TRUE(test::is_sample_of(*found.artifact, k_key));
}

TEST_F(AcceptanceTest, what_is_damaged_or_of_another_key_or_version_says_so)
{
    const Acceptance any{{}, m_clock};
    constexpr std::size_t k_version_at = 8;
    EXPECT_EQ(taken(m_plain, k_key, any), "hit");
    EXPECT_EQ(taken(m_plain, numbered_key(2), any), to_string(Miss::corrupt));
    EXPECT_EQ(taken(damaged(m_plain, m_plain.size() - 20), k_key, any), to_string(Miss::corrupt));
    EXPECT_EQ(taken(m_plain.slice(0, m_plain.size() - 1), k_key, any), to_string(Miss::corrupt));
    EXPECT_EQ(taken({}, k_key, any), to_string(Miss::corrupt));
    EXPECT_EQ(taken(damaged(m_plain, k_version_at + 1), k_key, any), to_string(Miss::other_version));
}

TEST_F(AcceptanceTest, where_signatures_are_demanded_nothing_else_is_looked_at_without)
{
    const Trust trust{.signatures = Signatures::demanded, .trusted = {m_ours.public_key()}};
    const Acceptance demanding{trust, m_clock};
    EXPECT_EQ(taken(m_by_us, k_key, demanding), "hit");
    for (const Bytes& other : {m_plain, m_by_stranger, damaged(m_by_us, 200)})
        EXPECT_EQ(taken(other, k_key, demanding), to_string(Miss::untrusted));
}

TEST_F(AcceptanceTest, an_entry_that_would_take_more_memory_than_it_may_is_not_unpacked)
{
    const Artifact zeros(Bytes::copy_of(std::string(1 << 20, '\0')));
    const Bytes small = encode_entry(k_key, zeros).value();
    ASSERT_LT(small.size(), 1000U);
    EXPECT_EQ(taken(small, k_key, {{}, m_clock, {}, 1 << 20}), "hit");
    EXPECT_EQ(taken(small, k_key, {{}, m_clock, {}, (1 << 20) - 1}), to_string(Miss::other_version));
}

TEST_F(AcceptanceTest, an_entry_ends_when_it_says_and_when_it_is_older_than_wanted)
{
    m_artifact->expires = m_clock.now() + 10s;
    const Bytes ending = encode_entry(k_key, *m_artifact).value();
    m_clock.advance(9s);
    EXPECT_EQ(taken(ending, k_key, {{}, m_clock}), "hit");
    EXPECT_EQ(taken(m_plain, k_key, {{}, m_clock, 10s}), "hit");
    m_clock.advance(1s);
    EXPECT_EQ(taken(ending, k_key, {{}, m_clock}), to_string(Miss::expired));
    EXPECT_EQ(taken(m_plain, k_key, {{}, m_clock, 10s}), to_string(Miss::expired));
    EXPECT_EQ(taken(m_plain, k_key, {{}, m_clock}), "hit");
}

TEST_F(AcceptanceTest, a_failure_is_found_only_where_this_machine_stored_it)
{
    for (const int status : {1, -1}) {
        m_artifact->status = status;
        const Bytes failure = encode_entry(k_key, *m_artifact).value();
        EXPECT_EQ(taken(failure, k_key, {.trust = {}, .clock = m_clock, .here = true}), "hit");
        EXPECT_EQ(taken(failure, k_key, {.trust = {}, .clock = m_clock}), to_string(Miss::untrusted));
    }
}

TEST_F(AcceptanceTest, who_signs_demands_signatures_and_trusts_his_own)
{
    const Trust signing{.sign_with = {m_ours}};
    EXPECT_EQ(decode_trusted(m_plain, k_key, signing).why, Miss::untrusted);
    EXPECT_EQ(decode_trusted(m_by_them, k_key, signing).why, Miss::untrusted);
    EXPECT_EQ(decode_trusted(m_by_us, k_key, signing).artifact->origin, Origin::trusted);
    const Trust both{.trusted = {m_theirs.public_key()}, .sign_with = {m_ours}};
    EXPECT_EQ(decode_trusted(m_by_them, k_key, both).artifact->origin, Origin::trusted);
    EXPECT_EQ(decode_trusted(m_by_us, k_key, {}).artifact->origin, Origin::elsewhere) << "nobody has looked";
}

TEST_F(PreparationTest, an_entry_is_encoded_unless_it_was_and_signed_where_it_was_inserted)
{
    const Bytes as_it_was = encode_entry(k_key, *m_artifact, {.checksum = base::ChecksumKind::sha256}).value();
    EXPECT_EQ(prepare_entry(k_key, Entry(m_artifact), {}).value(), m_plain);
    EXPECT_EQ(prepare_entry(k_key, Entry(m_artifact, as_it_was), {}).value(), as_it_was);

    const Trust trust{.trusted = {m_theirs.public_key()}, .sign_with = {m_ours}};
    for (const Origin origin : {Origin::here, Origin::trusted}) {
        m_artifact->origin = origin;
        EXPECT_EQ(prepare_entry(k_key, Entry(m_artifact), trust).value(), m_by_us);
    }
    for (const Bytes& bytes : {m_by_us, m_by_them})
        for (const Trust& any : {trust, Trust{}})
            EXPECT_EQ(prepare_entry(k_key, Entry(m_artifact, bytes), any).value(), bytes) << "it keeps its signature";
}

TEST_F(PreparationTest, what_did_not_come_from_here_or_a_trusted_key_is_not_signed_and_not_stored_where_entries_are)
{
    const Trust signing{.sign_with = {m_ours}};
    for (const Origin origin : {Origin::unknown, Origin::elsewhere}) {
        m_artifact->origin = origin;
        EXPECT_EQ(prepare_entry(k_key, Entry(m_artifact), signing).error().code, Code::denied);
        EXPECT_EQ(prepare_entry(k_key, Entry(m_artifact, m_plain), signing).error().code, Code::denied);
        EXPECT_EQ(prepare_entry(k_key, Entry(m_artifact, m_by_stranger), signing).error().code, Code::denied);
        EXPECT_EQ(prepare_entry(k_key, Entry(m_artifact, m_plain), {}).value(), m_plain) << "unsigned it stays";
    }
    m_artifact->origin = Origin::here;
    const Trust demanding{.signatures = Signatures::demanded, .trusted = {m_ours.public_key()}};
    EXPECT_EQ(prepare_entry(k_key, Entry(m_artifact), demanding).error().code, Code::denied)
        << "who demands would never read it again";
}

}  // namespace hearth::format

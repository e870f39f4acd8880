#include "format/acceptance.hpp"

#include "format/signature.hpp"
#include "support/damage.hpp"
#include "support/sample_entries.hpp"

#include <gtest/gtest.h>

namespace hearth::format {

namespace {

using namespace std::chrono_literals;
using test::ManualClock;
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

}  // namespace

TEST(Acceptance, an_entry_that_is_what_it_says_is_found_with_its_size_and_cost)
{
    const ManualClock clock;
    const Bytes bytes = encode_entry(k_key, *test::sample_artifact(k_key, 500)).value();
    const Found found = accept_entry(bytes, k_key, {{}, clock});
    ASSERT_TRUE(found);
    EXPECT_EQ(found.bytes, bytes.size());
    EXPECT_EQ(found.cost, 100ms);
    EXPECT_TRUE(test::is_sample_of(*found.artifact, k_key));
}

TEST(Acceptance, what_is_damaged_or_of_another_key_or_version_says_so)
{
    const ManualClock clock;
    const Acceptance any{{}, clock};
    const Bytes bytes = encode_entry(k_key, *test::sample_artifact(k_key, 500)).value();
    constexpr std::size_t k_version_at = 8;
    EXPECT_EQ(taken(bytes, k_key, any), "hit");
    EXPECT_EQ(taken(bytes, numbered_key(2), any), to_string(Miss::corrupt));
    EXPECT_EQ(taken(damaged(bytes, bytes.size() - 20), k_key, any), to_string(Miss::corrupt));
    EXPECT_EQ(taken(bytes.slice(0, bytes.size() - 1), k_key, any), to_string(Miss::corrupt));
    EXPECT_EQ(taken({}, k_key, any), to_string(Miss::corrupt));
    EXPECT_EQ(taken(damaged(bytes, k_version_at + 1), k_key, any), to_string(Miss::other_version));
}

TEST(Acceptance, where_signatures_are_demanded_nothing_else_is_looked_at_without)
{
    const ManualClock clock;
    const SigningKey signer = SigningKey::generate().value();
    const SigningKey stranger = SigningKey::generate().value();
    const Trust trust{.signatures = Signatures::demanded, .trusted = {signer.public_key()}};
    const Acceptance demanding{trust, clock};
    const Bytes plain = encode_entry(k_key, *test::sample_artifact(k_key, 500)).value();
    EXPECT_EQ(taken(sign_entry(k_key, plain, signer).value(), k_key, demanding), "hit");
    EXPECT_EQ(taken(plain, k_key, demanding), to_string(Miss::untrusted));
    EXPECT_EQ(taken(sign_entry(k_key, plain, stranger).value(), k_key, demanding), to_string(Miss::untrusted));
    EXPECT_EQ(taken(damaged(sign_entry(k_key, plain, signer).value(), 200), k_key, demanding),
              to_string(Miss::untrusted));
}

TEST(Acceptance, an_entry_that_would_take_more_memory_than_it_may_is_not_unpacked)
{
    const ManualClock clock;
    const Artifact zeros(Bytes::copy_of(std::string(1 << 20, '\0')));
    const Bytes small = encode_entry(k_key, zeros).value();
    ASSERT_LT(small.size(), 1000U);
    EXPECT_EQ(taken(small, k_key, {{}, clock, {}, 1 << 20}), "hit");
    EXPECT_EQ(taken(small, k_key, {{}, clock, {}, (1 << 20) - 1}), to_string(Miss::other_version));
}

TEST(Acceptance, an_entry_ends_when_it_says_and_when_it_is_older_than_wanted)
{
    ManualClock clock;
    auto artifact = test::sample_artifact(k_key, 100);
    const Bytes lasting = encode_entry(k_key, *artifact).value();
    artifact->expires = clock.now() + 10s;
    const Bytes ending = encode_entry(k_key, *artifact).value();
    clock.advance(9s);
    EXPECT_EQ(taken(ending, k_key, {{}, clock}), "hit");
    EXPECT_EQ(taken(lasting, k_key, {{}, clock, 10s}), "hit");
    clock.advance(1s);
    EXPECT_EQ(taken(ending, k_key, {{}, clock}), to_string(Miss::expired));
    EXPECT_EQ(taken(lasting, k_key, {{}, clock, 10s}), to_string(Miss::expired));
    EXPECT_EQ(taken(lasting, k_key, {{}, clock}), "hit");
}

TEST(Acceptance, a_failure_is_found_only_where_this_machine_stored_it)
{
    const ManualClock clock;
    auto artifact = test::sample_artifact(k_key, 100);
    for (const int status : {1, -1}) {
        artifact->status = status;
        const Bytes failure = encode_entry(k_key, *artifact).value();
        EXPECT_EQ(taken(failure, k_key, {.trust = {}, .clock = clock, .here = true}), "hit");
        EXPECT_EQ(taken(failure, k_key, {.trust = {}, .clock = clock}), to_string(Miss::untrusted));
    }
}

TEST(Preparation, an_entry_is_encoded_unless_it_was_and_signed_where_it_was_inserted)
{
    const auto artifact = test::sample_artifact(k_key, 500);
    const Bytes plain = encode_entry(k_key, *artifact).value();
    const Bytes as_it_was = encode_entry(k_key, *artifact, {.checksum = base::ChecksumKind::sha256}).value();
    EXPECT_EQ(prepare_entry(k_key, Entry(artifact), {}).value(), plain);
    EXPECT_EQ(prepare_entry(k_key, Entry(artifact, as_it_was), {}).value(), as_it_was);

    const SigningKey ours = SigningKey::generate().value();
    const SigningKey theirs = SigningKey::generate().value();
    const Trust trust{.trusted = {theirs.public_key()}, .sign_with = {ours}};
    const Bytes by_us = sign_entry(k_key, plain, ours).value();
    const Bytes by_them = sign_entry(k_key, plain, theirs).value();
    for (const Origin origin : {Origin::here, Origin::trusted}) {
        artifact->origin = origin;
        EXPECT_EQ(prepare_entry(k_key, Entry(artifact), trust).value(), by_us);
    }
    for (const Bytes& bytes : {by_us, by_them})
        for (const Trust& any : {trust, Trust{}})
            EXPECT_EQ(prepare_entry(k_key, Entry(artifact, bytes), any).value(), bytes) << "it keeps its signature";
}

TEST(Preparation, what_did_not_come_from_here_or_from_a_trusted_key_is_not_signed_and_not_stored_where_entries_are)
{
    const auto artifact = test::sample_artifact(k_key, 500);
    const SigningKey ours = SigningKey::generate().value();
    const SigningKey stranger = SigningKey::generate().value();
    const Bytes plain = encode_entry(k_key, *artifact).value();
    const Bytes by_stranger = sign_entry(k_key, plain, stranger).value();
    const Trust signing{.sign_with = {ours}};
    for (const Origin origin : {Origin::unknown, Origin::elsewhere}) {
        artifact->origin = origin;
        EXPECT_EQ(prepare_entry(k_key, Entry(artifact), signing).error().code, Code::denied);
        EXPECT_EQ(prepare_entry(k_key, Entry(artifact, plain), signing).error().code, Code::denied);
        EXPECT_EQ(prepare_entry(k_key, Entry(artifact, by_stranger), signing).error().code, Code::denied);
        EXPECT_EQ(prepare_entry(k_key, Entry(artifact, plain), {}).value(), plain) << "unsigned it stays";
    }
    artifact->origin = Origin::here;
    const Trust demanding{.signatures = Signatures::demanded, .trusted = {ours.public_key()}};
    EXPECT_EQ(prepare_entry(k_key, Entry(artifact), demanding).error().code, Code::denied)
        << "who demands would never read it again";
}

TEST(Acceptance, who_signs_demands_signatures_and_trusts_his_own)
{
    const auto artifact = test::sample_artifact(k_key, 500);
    const SigningKey ours = SigningKey::generate().value();
    const SigningKey theirs = SigningKey::generate().value();
    const Bytes plain = encode_entry(k_key, *artifact).value();
    const Bytes by_us = sign_entry(k_key, plain, ours).value();
    const Bytes by_them = sign_entry(k_key, plain, theirs).value();
    const Trust signing{.sign_with = {ours}};
    EXPECT_EQ(decode_trusted(plain, k_key, signing).why, Miss::untrusted);
    EXPECT_EQ(decode_trusted(by_them, k_key, signing).why, Miss::untrusted);
    EXPECT_EQ(decode_trusted(by_us, k_key, signing).artifact->origin, Origin::trusted);
    const Trust both{.trusted = {theirs.public_key()}, .sign_with = {ours}};
    EXPECT_EQ(decode_trusted(by_them, k_key, both).artifact->origin, Origin::trusted);
    EXPECT_EQ(decode_trusted(by_us, k_key, {}).artifact->origin, Origin::elsewhere) << "nobody has looked";
}

}  // namespace hearth::format

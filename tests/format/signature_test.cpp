#include "format/signature.hpp"

#include "format/entry.hpp"
#include "support/damage.hpp"
#include "support/sample_entries.hpp"
#include "support/scratch_directory.hpp"

#include <fstream>
#include <gtest/gtest.h>
#include <sys/stat.h>

namespace hearth::format {

namespace {

using test::numbered_key;

struct Signed {
    SigningKey signer = SigningKey::generate().value();
    Key key = numbered_key(1);
    Bytes plain = encode_entry(key, *test::sample_artifact(key, 200)).value();
    Bytes bytes = sign_entry(key, plain, signer).value();
    std::vector<PublicKey> trusted{signer.public_key()};
};

TEST(Signature, of_a_trusted_key_is_accepted_and_the_entry_reads_as_before)
{
    const Signed one;
    EXPECT_TRUE(has_signature(one.bytes));
    EXPECT_FALSE(has_signature(one.plain));
    EXPECT_TRUE(is_signed_by(one.trusted, one.key, one.bytes));
    EXPECT_EQ(as_text(without_signature(one.bytes)), one.plain.text());
    ASSERT_TRUE(decode_entry(one.bytes, one.key).artifact);
    EXPECT_EQ(*decode_entry(one.bytes, one.key).artifact, *decode_entry(one.plain, one.key).artifact);
}

TEST(Signature, none_another_keys_or_of_another_entry_is_not)
{
    const Signed one;
    const SigningKey other = SigningKey::generate().value();
    EXPECT_FALSE(is_signed_by(one.trusted, one.key, one.plain));
    EXPECT_FALSE(is_signed_by({}, one.key, one.bytes));
    EXPECT_FALSE(is_signed_by(std::vector{other.public_key()}, one.key, one.bytes));
    EXPECT_FALSE(is_signed_by(one.trusted, numbered_key(2), one.bytes)) << "under another key";
    // A trailer taken from another entry of the same signer.
    const Bytes second = encode_entry(one.key, *test::sample_artifact(numbered_key(5), 200)).value();
    std::string forged(second.text());
    forged += one.bytes.text().substr(one.plain.size());
    EXPECT_FALSE(is_signed_by(one.trusted, one.key, as_bytes(forged)));
}

// Capability 72.
TEST(Signature, with_any_bit_of_the_whole_altered_is_never_accepted)
{
    const Signed one;
    const std::string bytes(one.bytes.text());
    const auto expect_refused = [&](const std::string& altered, std::size_t where) {
        ASSERT_FALSE(is_signed_by(one.trusted, one.key, as_bytes(altered))) << where;
    };
    test::for_every_flipped_bit(bytes, expect_refused);
    test::for_every_cut(bytes, expect_refused);
    expect_refused(bytes + '\0', bytes.size());
}

TEST(Signature, signing_again_replaces_the_signature)
{
    const Signed one;
    const SigningKey other = SigningKey::generate().value();
    const Bytes again = sign_entry(one.key, one.bytes, other).value();
    EXPECT_EQ(again.size(), one.bytes.size());
    EXPECT_TRUE(is_signed_by(std::vector{other.public_key()}, one.key, again));
    EXPECT_FALSE(is_signed_by(one.trusted, one.key, again));
}

// RFC 8032, section 7.1, test 1: the signature of nothing, by a known key, begins and ends like this. Ours are over
// more than nothing; what is shown here is that a known secret gives the known public key.
TEST(SigningKey, has_the_public_key_that_the_standard_gives_for_it)
{
    const test::ScratchDirectory scratch;
    const std::string path = scratch / "known.key";
    std::ofstream(path) << "ed25519-secret:9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60\n";
    ::chmod(path.c_str(), 0600);
    EXPECT_EQ(SigningKey::load(path).value().public_key().text(),
              "ed25519:d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a");
}

TEST(SigningKey, is_saved_for_its_owner_alone_and_never_over_another)
{
    const test::ScratchDirectory scratch;
    const std::string path = scratch / "one.key";
    const SigningKey key = SigningKey::generate().value();
    ASSERT_TRUE(key.save(path).ok());
    struct stat stat {};
    ASSERT_EQ(::stat(path.c_str(), &stat), 0);
    EXPECT_EQ(stat.st_mode & 0777U, 0600U);
    EXPECT_EQ(SigningKey::load(path).value().public_key(), key.public_key());
    EXPECT_FALSE(SigningKey::generate().value().save(path).ok());
    EXPECT_EQ(SigningKey::load(path).value().public_key(), key.public_key());
    ::chmod(path.c_str(), 0640);
    const Result<SigningKey> open_to_others = SigningKey::load(path);
    ASSERT_FALSE(open_to_others.ok());
    EXPECT_NE(open_to_others.error().message.find("chmod 600"), std::string::npos);
}

TEST(SigningKey, what_is_none_is_refused_without_being_repeated)
{
    const test::ScratchDirectory scratch;
    const std::string path = scratch / "bad.key";
    for (const char* text : {"", "ed25519-secret:", "ed25519-secret:12", "hunter2", "ed25519-secret:zz"}) {
        std::ofstream(path) << text;
        ::chmod(path.c_str(), 0600);
        const Result<SigningKey> key = SigningKey::load(path);
        ASSERT_FALSE(key.ok()) << text;
        EXPECT_EQ(key.error().message.find("hunter2"), std::string::npos);
    }
    const Result<SigningKey> no_path = SigningKey::load("ed25519-secret:hunter2");
    ASSERT_FALSE(no_path.ok());
    EXPECT_EQ(no_path.error().message.find("hunter2"), std::string::npos) << no_path.error().message;
    EXPECT_FALSE(SigningKey::load(scratch / "absent.key").ok());
    const Result<PublicKey> not_public = PublicKey::parse("ed25519-secret:" + std::string(64, '7'));
    ASSERT_FALSE(not_public.ok());
    EXPECT_EQ(not_public.error().message.find("7777"), std::string::npos);
}

TEST(PublicKeys, are_read_a_line_each_with_comments)
{
    const test::ScratchDirectory scratch;
    const std::string path = scratch / "trusted";
    const PublicKey a = SigningKey::generate().value().public_key();
    const PublicKey b = SigningKey::generate().value().public_key();
    std::ofstream(path) << "# the build farm\n" << a.text() << " ci@example\n\n  " << b.text() << "  # old\n";
    EXPECT_EQ(load_public_keys(path).value(), (std::vector<PublicKey>{a, b}));
    std::ofstream(path, std::ios::app) << "ed25519:12\n";
    const Result<std::vector<PublicKey>> bad = load_public_keys(path);
    ASSERT_FALSE(bad.ok());
    EXPECT_NE(bad.error().message.find("line 5"), std::string::npos) << bad.error().message;
}

}  // namespace

}  // namespace hearth::format

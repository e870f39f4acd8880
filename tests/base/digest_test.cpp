#include "base/digest.hpp"

#include "base/hex.hpp"

#include <gtest/gtest.h>
#include <string>

namespace hearth::test {

namespace {

template <class Digest>
std::string hex_of(const Digest& digest)
{
    return base::to_hex(std::as_bytes(std::span(digest)));
}

std::string sha256_hex(std::string_view text)
{
    return hex_of(base::sha256(as_bytes(text)));
}

// Long enough for every one of XXH3's ways through its input, and the same everywhere.
std::string pattern(std::size_t size)
{
    std::string text(size, '\0');
    for (std::size_t i = 0; i < size; ++i)
        text[i] = static_cast<char>(i % 251);
    return text;
}

}  // namespace

TEST(Digest, sha256_gives_the_published_vectors)
{
    EXPECT_EQ(sha256_hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    EXPECT_EQ(sha256_hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    EXPECT_EQ(sha256_hex("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
              "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    EXPECT_EQ(sha256_hex(std::string(1000000, 'a')),
              "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

// Entries written on one machine are read on another: a vector unit that computes something else must not go unseen.
TEST(Digest, xxh3_is_pinned_for_every_path_its_length_takes)
{
    if (!base::checksum(base::ChecksumKind::xxh3, {}))
        GTEST_SKIP() << "built without xxhash.h";
    const auto xxh3_hex = [](std::string_view text) {
        return hex_of(base::checksum(base::ChecksumKind::xxh3, as_bytes(text)).value());
    };
    EXPECT_EQ(xxh3_hex(""), "99aa06d3014798d86001c324468d497f");
    EXPECT_EQ(xxh3_hex("abc"), "06b05ab6733a618578af5f94892f3950");
    EXPECT_EQ(xxh3_hex(pattern(8)), "e1e4432a62217fe4cfd50c61c8bb98c1");
    EXPECT_EQ(xxh3_hex(pattern(16)), "72950631827607e2842812cc870dcae2");
    EXPECT_EQ(xxh3_hex(pattern(128)), "14792fc3af88dc6c05321a0b64d67b41");
    EXPECT_EQ(xxh3_hex(pattern(240)), "65b5be86da5540e7c92b68e16f83bbb6");
    EXPECT_EQ(xxh3_hex(pattern(241)), "1da1cb61bcb8a2a102e8cd95421c6d02");
    EXPECT_EQ(xxh3_hex(pattern(1024)), "d0ac1f7b93bf57b9e5d78bafa45b2aa5");
    EXPECT_EQ(xxh3_hex(pattern(100000)), "54182c58bbb1337c42c23aeead96750d");
}

TEST(Digest, a_checksum_is_the_first_half_of_sha256_or_what_a_build_prefers_and_of_an_unknown_kind_there_is_none)
{
    EXPECT_EQ(hex_of(base::checksum(base::ChecksumKind::sha256, as_bytes("abc")).value()),
              "ba7816bf8f01cfea414140de5dae2223");
    EXPECT_TRUE(base::checksum(base::preferred_checksum(), as_bytes("abc")));
    for (const int kind : {0, 3, 77, 255})
        EXPECT_FALSE(base::checksum(static_cast<base::ChecksumKind>(kind), as_bytes("abc"))) << kind;
}

}  // namespace hearth::test

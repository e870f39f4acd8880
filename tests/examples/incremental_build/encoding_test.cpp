#include "eph/encoding.hpp"

#include "eph/checksum.hpp"
#include "eph_test.hpp"
#include "generator.hpp"
#include "support/scale.hpp"
#include "support/seed.hpp"

#include <cstring>
#include <gtest/gtest.h>
#include <random>

namespace eph {
namespace {

const std::string k_source =
    "import far;\n"
    "fn helper(a: int, x: float) -> float { let i = 0; while i < a { x = x * 1.5 + far.scale(i, x > 2.0); i = i + 1; "
    "}\n"
    "if x != x { return helper(a - 1, -x); } return x; }\n"
    "export fn f(a: int, flag: bool) -> int { if flag == (a < -3) || !flag { return int(helper(a % 7, 0.25)); }\n"
    "return a / 3 - 9223372036854775807; }\n"
    "export fn main() -> int { return f(12, true) + f(-100, false); }\n";
const std::string k_far = "export fn scale(n: int, flag: bool) -> float { if flag { return n; } return n * 2.5; }\n";

hearth::Bytes sample()
{
    const test::Modules others{{"far", k_far}};
    const auto known = test::outlines_of(others);
    return compile({"main.eph", k_source, test::imports_of(k_source, known)}).value();
}

std::vector<std::byte> copy_of(hearth::ByteView bytes)
{
    return {bytes.begin(), bytes.end()};
}

// As a forger would: with a checksum that is right.
std::vector<std::byte> sealed(std::vector<std::byte> content)
{
    const std::uint64_t sum = checksum(content);
    content.resize(content.size() + sizeof sum);
    std::memcpy(content.data() + content.size() - sizeof sum, &sum, sizeof sum);
    return content;
}

// Whatever decode() lets through has to be safe to encode, link and run.
void use(const Module& module)
{
    encode(module);
    const hearth::Bytes far = compile({"far.eph", k_far, {}}).value();
    std::vector<LinkedModule> modules;
    modules.push_back({"main", module});
    modules.push_back({"far", decode(far).value()});
    if (const auto program = Program::link(std::move(modules)))
        static_cast<void>(program->run({.steps = 10'000, .depth = 100}));
}

TEST(Encoding, what_is_decoded_encodes_to_the_same_bytes)
{
    const hearth::Bytes bytes = sample();
    EXPECT_EQ(encode(decode(bytes).value()), bytes);
    for (const auto& [file, source] : demo::generate({.modules = 30, .seed = hearth::test::seed()})) {
        if (file.starts_with("part_00")) {  // these import nothing
            const hearth::Bytes made = compile({file, source, {}}).value();
            EXPECT_EQ(encode(decode(made).value()), made) << file;
        }
    }
}

// The bytes are what the cache keeps for years: they must not change without a new version.
TEST(Encoding, the_bytes_of_a_version_stay_what_they_are)
{
    const hearth::Bytes bytes =
        compile({"a.eph", "export fn f(n: int) -> int { if n < -1 { return n; } return 300; }", {}}).value();
    std::string hex;
    for (const std::byte byte : bytes.view()) {
        constexpr std::string_view k_digits = "0123456789abcdef";
        hex += k_digits[std::to_integer<unsigned>(byte) >> 4U];
        hex += k_digits[std::to_integer<unsigned>(byte) & 15U];
    }
    EXPECT_EQ(hex,
              "455048490100010166010100000403010002010001090202010201010002000000000300010100d8040001c9aaed3a2c4c6a"
              "b2");
}

TEST(Encoding, truncated_bytes_are_refused)
{
    const hearth::Bytes bytes = sample();
    for (std::size_t size = 0; size < bytes.size(); ++size) {
        EXPECT_FALSE(decode(bytes.view().first(size))) << size;
        // And so they are when the checksum is that of what is left.
        EXPECT_FALSE(decode(sealed(copy_of(bytes.view().first(std::min(size, bytes.size() - 9)))))) << size;
    }
}

TEST(Encoding, any_altered_byte_is_refused)
{
    std::vector<std::byte> bytes = copy_of(sample());
    for (std::byte& byte : bytes)
        for (unsigned change = 1; change < 256; ++change) {
            const std::byte before = byte;
            byte ^= static_cast<std::byte>(change);
            EXPECT_FALSE(decode(bytes)) << (&byte - bytes.data()) << " ^ " << change;
            byte = before;
        }
}

TEST(Encoding, bytes_behind_the_end_are_refused)
{
    std::vector<std::byte> bytes = copy_of(sample());
    bytes.push_back(std::byte{0});
    EXPECT_FALSE(decode(bytes));
    bytes.resize(bytes.size() - 9);
    bytes.push_back(std::byte{0});
    const auto refused = decode(sealed(bytes));
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.error().message.find("something follows their end"), std::string::npos);
}

TEST(Encoding, another_version_is_refused)
{
    std::vector<std::byte> content = copy_of(sample());
    content.resize(content.size() - 8);
    content[4] = std::byte{k_ir_version + 1};
    const auto refused = decode(sealed(content));
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.error().message.find("another version"), std::string::npos);
}

TEST(Encoding, forged_bytes_are_refused_or_harmless)
{
    std::vector<std::byte> content = copy_of(sample());
    content.resize(content.size() - 8);
    // Every byte, with every value.
    std::size_t accepted = 0;
    for (std::byte& byte : content) {
        const std::byte before = byte;
        for (unsigned value = 0; value < 256; ++value) {
            byte = static_cast<std::byte>(value);
            if (const auto module = decode(sealed(content))) {
                ++accepted;
                use(*module);
            }
        }
        byte = before;
    }
    EXPECT_GT(accepted, content.size()) << "the forgeries should get past the checksum";

    // Several at once, and whole stretches copied elsewhere.
    std::mt19937_64 random(hearth::test::seed());
    for (std::uint64_t round = hearth::test::scaled(20'000); round > 0; --round) {
        std::vector<std::byte> forged = content;
        for (std::uint64_t edits = random() % 4 + 1; edits > 0; --edits) {
            const std::size_t at = random() % forged.size();
            if (random() % 2 == 0) {
                forged[at] = static_cast<std::byte>(random());
            } else {
                const std::size_t from = random() % forged.size();
                const std::size_t length = random() % 16;
                const auto part =
                    copy_of(hearth::ByteView(forged).subspan(from, std::min(length, forged.size() - from)));
                forged.insert(forged.begin() + static_cast<std::ptrdiff_t>(at), part.begin(), part.end());
            }
        }
        if (const auto module = decode(sealed(forged)))
            use(*module);
    }
}

TEST(Encoding, random_bytes_are_refused)
{
    std::mt19937_64 random(hearth::test::seed());
    for (std::uint64_t round = hearth::test::scaled(20'000); round > 0; --round) {
        std::vector<std::byte> bytes(random() % 64);
        for (std::byte& byte : bytes)
            byte = static_cast<std::byte>(random());
        EXPECT_FALSE(decode(bytes));
        EXPECT_FALSE(decode(sealed(bytes)));
        std::vector<std::byte> started = copy_of(hearth::as_bytes("EPHI\x01"));
        started.insert(started.end(), bytes.begin(), bytes.end());
        if (const auto module = decode(sealed(started)))
            use(*module);
    }
}

}  // namespace
}  // namespace eph

#include "disk_fixture.hpp"
#include "format/signature.hpp"
#include "support/damage.hpp"
#include "support/forged_entry.hpp"
#include "support/forwarding_files.hpp"

#include <functional>
#include <utility>

// 27 and 72: an entry's file with anything done to it is exactly what was stored, by whom it may be, or a miss.

namespace hearth::test {

namespace {

// Counts what is read, and in how many calls, and does something after the first.
class CountedReads : public ForwardingFiles {
public:
    CountedReads() : ForwardingFiles(base::system_files()) {}
    ssize_t pread(int fd, void* buffer, std::size_t size, std::uint64_t offset) override
    {
        ++calls;
        bytes += size;
        const ssize_t got = ForwardingFiles::pread(fd, buffer, size, offset);
        if (const auto work = std::exchange(then, nullptr))
            work();
        return got;
    }
    std::size_t calls = 0;
    std::uint64_t bytes = 0;
    std::function<void()> then;
};

class DamagedEntry : public DiskTest {
protected:
    void SetUp() override
    {
        m_environment.files = &m_reads;
        m_tier = open();
        put(*m_tier, 1, 24);
        m_whole = read_file(path_of(1));
    }

    // Puts these bytes in place of the entry and looks it up; then everything is as before.
    Miss look_at(const std::string& bytes)
    {
        write_file(path_of(1), bytes);
        const Found found = m_tier->find(numbered_key(1));
        EXPECT_FALSE(found) << "damaged bytes were taken";
        const bool left = std::filesystem::exists(path_of(1));
        EXPECT_EQ(left, found.why == Miss::other_version);
        EXPECT_EQ(m_tier->usage().entries, left ? 1U : 0U);
        put(*m_tier, 1, 24);
        return found.why;
    }

    CountedReads m_reads;
    std::unique_ptr<Tier> m_tier;
    std::string m_whole;
};

}  // namespace

// That every bit, cut and addition is noticed is shown in format/entry_test.cpp: here, what the tier makes of it.
TEST_F(DamagedEntry, is_a_miss_that_says_why_and_is_removed_unless_it_is_of_another_version)
{
    const std::size_t size = m_whole.size();
    put(*m_tier, 2, 24);
    const std::string of_another_key = read_file(path_of(2));
    EXPECT_TRUE(m_tier->remove(numbered_key(2)));
    for (const std::size_t byte : {k_total_at, k_table_at, size - k_sum_bytes - 1})
        EXPECT_EQ(look_at(with_flipped_bit(m_whole, 8 * byte)), Miss::corrupt) << "byte " << byte;
    EXPECT_EQ(look_at(with_flipped_bit(m_whole, 8 * k_version_at)), Miss::other_version);
    for (const std::size_t length : {std::size_t{0}, k_table_at - 1, k_table_at, size - 1})
        EXPECT_EQ(look_at(m_whole.substr(0, length)), Miss::corrupt) << "cut to " << length;
    EXPECT_EQ(look_at(m_whole + std::string(4096, '\0')), Miss::corrupt);
    EXPECT_EQ(look_at(of_another_key), Miss::corrupt);
    EXPECT_TRUE(holds(*m_tier, 1));
    expect_exact_accounting(*m_tier);
}

// It is looked at again under the lock: a good one may have come meanwhile.
TEST_F(DamagedEntry, that_is_replaced_after_it_was_read_is_not_removed)
{
    const auto other = open();
    write_file(path_of(1), "damaged");
    m_reads.then = [&] { put(*other, 1, 24); };
    EXPECT_EQ(m_tier->find(numbered_key(1)).why, Miss::corrupt);
    EXPECT_EQ(read_file(path_of(1)), m_whole);
    EXPECT_TRUE(holds(*m_tier, 1));
}

namespace {

constexpr std::uint64_t k_large = (std::uint64_t{1} << 30U) - 1;

class LargeEntry : public DiskTest {
protected:
    void SetUp() override
    {
        m_environment.files = &m_reads;
        m_tier = open({.max_entry_bytes = 16 << 20, .compression = 0});
    }
    // A sparse file that begins with these bytes.
    Miss look_at(const std::string& bytes, std::uint64_t size = k_large)
    {
        put(*m_tier, 1, 24);
        write_file(path_of(1), bytes);
        std::filesystem::resize_file(path_of(1), size);
        m_reads.bytes = 0;
        const Found found = m_tier->find(numbered_key(1));
        EXPECT_FALSE(found);
        EXPECT_LT(m_reads.bytes, 1U << 20U) << "the head is enough to refuse it";
        return found.why;
    }

    CountedReads m_reads;
    std::unique_ptr<Tier> m_tier;
};

}  // namespace

TEST_F(LargeEntry, of_which_the_head_says_something_else_or_too_much_is_not_read)
{
    put(*m_tier, 1, 24);
    std::string bytes = read_file(path_of(1));
    for (const std::uint64_t size : {k_large, k_large * 3}) {
        EXPECT_EQ(look_at("", size), Miss::corrupt);
        EXPECT_EQ(look_at(bytes, size), Miss::corrupt);
        EXPECT_FALSE(std::filesystem::exists(path_of(1)));
    }
    expect_exact_accounting(*m_tier);
    set_number(bytes, k_version_at, std::uint16_t{2});
    EXPECT_EQ(look_at(bytes), Miss::other_version);
    EXPECT_TRUE(std::filesystem::exists(path_of(1)));
    // One that takes more than it may.
    set_number(bytes, k_version_at, std::uint16_t{1});
    set_number(bytes, k_total_at, k_large);
    EXPECT_EQ(look_at(bytes), Miss::other_version);
    EXPECT_TRUE(std::filesystem::exists(path_of(1))) << "others may take more";
}

TEST_F(LargeEntry, costs_one_read_more_than_a_small_one)
{
    const SigningKey signer = SigningKey::generate().value();
    const auto reads = [&](std::size_t size, bool is_signed) {
        put(*m_tier, 1, size);
        const Bytes plain = Bytes::copy_of(read_file(path_of(1)));
        if (is_signed)
            write_file(path_of(1), format::sign_entry(numbered_key(1), plain, signer).value().text());
        m_reads.calls = 0;
        EXPECT_TRUE(holds(*m_tier, 1));
        return m_reads.calls;
    };
    for (const bool is_signed : {false, true}) {
        EXPECT_EQ(reads(1 << 19, is_signed), 1U);
        EXPECT_EQ(reads(1 << 21, is_signed), 2U);
        EXPECT_EQ(reads(16 << 20, is_signed), 2U) << "as much as it may take, and its head";
    }
}

// 72
using SignedEntry = DiskTest;

TEST_F(SignedEntry, of_a_trusted_key_is_used_and_another_is_a_miss_and_set_aside_where_signatures_are_demanded)
{
    // As what was compiled here is stored.
    const auto compile = [](Tier& tier, std::uint64_t number) {
        const auto artifact = sample_artifact(numbered_key(number), 500);
        artifact->origin = Origin::here;
        ASSERT_TRUE(store_in(tier, numbered_key(number), Entry(artifact)).ok());
    };
    const auto is_set_aside = [&](std::uint64_t number) {
        return std::filesystem::exists(m_layout.quarantine() + "/" + numbered_key(number).hex());
    };
    const SigningKey signer = SigningKey::generate().value();
    compile(*open({.trust = {Signatures::not_asked, {}, {signer}}}), 1);
    {
        const SigningKey another = SigningKey::generate().value();
        const auto stranger = open({.trust = {Signatures::not_asked, {signer.public_key()}, {another}}});
        compile(*stranger, 2);
        EXPECT_TRUE(holds(*stranger, 1));
        EXPECT_TRUE(holds(*stranger, 2)) << "who signs trusts his own key";
    }
    const auto undemanding = open();
    put(*undemanding, 3, 500);
    EXPECT_TRUE(holds(*undemanding, 2)) << "who demands none reads it as any other";

    const auto reader = open({.trust = {Signatures::demanded, {signer.public_key()}, {}}});
    EXPECT_TRUE(reader->traits().demands_signatures);
    EXPECT_TRUE(holds(*reader, 1));
    EXPECT_FALSE(is_set_aside(1));
    for (const std::uint64_t of_a_stranger_or_nobody : {2, 3}) {
        EXPECT_EQ(reader->find(numbered_key(of_a_stranger_or_nobody)).why, Miss::untrusted);
        EXPECT_TRUE(is_set_aside(of_a_stranger_or_nobody));
        EXPECT_EQ(reader->find(numbered_key(of_a_stranger_or_nobody)).why, Miss::absent);
    }
    expect_exact_accounting(*reader);
}

}  // namespace hearth::test

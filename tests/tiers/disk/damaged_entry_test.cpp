#include "disk_fixture.hpp"
#include "format/signature.hpp"
#include "support/damage.hpp"
#include "support/forged_entry.hpp"
#include "support/forwarding_files.hpp"

// 27: an entry's file with anything done to it is exactly what was stored, or a miss.

namespace hearth::test {

namespace {

class DamagedEntry : public DiskTest {
protected:
    void SetUp() override
    {
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

    std::unique_ptr<Tier> m_tier;
    std::string m_whole;
};

}  // namespace

// That every bit and every cut is noticed is shown in format/entry_test.cpp: here, what the tier makes of it.
TEST_F(DamagedEntry, is_a_miss_that_says_why_and_is_removed_unless_it_is_of_another_version)
{
    const std::size_t size = m_whole.size();
    for (const std::size_t byte : {std::size_t{0}, k_total_at, k_table_at, size - k_sum_bytes - 1, size - 1})
        EXPECT_EQ(look_at(with_flipped_bit(m_whole, 8 * byte)), Miss::corrupt) << "byte " << byte;
    EXPECT_EQ(look_at(with_flipped_bit(m_whole, 8 * k_version_at)), Miss::other_version);
    for (const std::size_t length : {std::size_t{0}, std::size_t{7}, k_table_at - 1, k_table_at, size - 1})
        EXPECT_EQ(look_at(m_whole.substr(0, length)), Miss::corrupt) << "cut to " << length;
    for (const std::size_t more : {1, 7, 4096})
        EXPECT_EQ(look_at(m_whole + std::string(more, '\0')), Miss::corrupt) << more << " bytes more";
    EXPECT_EQ(look_at(m_whole + m_whole), Miss::corrupt);
    EXPECT_EQ(look_at(std::string(size, '\0')), Miss::corrupt);
    EXPECT_EQ(look_at(m_whole.substr(0, size / 2) + std::string(size - size / 2, '\0')), Miss::corrupt);
    EXPECT_TRUE(holds(*m_tier, 1));
    expect_exact_accounting(*m_tier);
}

TEST_F(DamagedEntry, swapped_with_another_is_a_miss_of_both)
{
    put(*m_tier, 2, 24);
    const std::string other = read_file(path_of(2));
    write_file(path_of(2), m_whole);
    write_file(path_of(1), other);
    EXPECT_EQ(m_tier->find(numbered_key(1)).why, Miss::corrupt);
    EXPECT_EQ(m_tier->find(numbered_key(2)).why, Miss::corrupt);
    EXPECT_EQ(m_tier->usage().entries, 0U);
    put(*m_tier, 1, 24);
    put(*m_tier, 2, 24);
    EXPECT_TRUE(holds(*m_tier, 1));
    EXPECT_TRUE(holds(*m_tier, 2));
    expect_exact_accounting(*m_tier);
}

TEST_F(DamagedEntry, one_that_is_replaced_in_time_is_not_removed)
{
    // Found damaged, then looked at again under the lock: a good one may have come meanwhile, and stays.
    write_file(path_of(1), "damaged");
    const auto other = open();
    put(*other, 1, 24);
    EXPECT_TRUE(holds(*m_tier, 1));
    EXPECT_EQ(read_file(path_of(1)), m_whole);
}

namespace {

// Counts what is read, and in how many calls.
class CountedReads : public ForwardingFiles {
public:
    CountedReads() : ForwardingFiles(base::system_files()) {}
    ssize_t pread(int fd, void* buffer, std::size_t size, std::uint64_t offset) override
    {
        ++calls;
        bytes += size;
        return ForwardingFiles::pread(fd, buffer, size, offset);
    }
    std::size_t calls = 0;
    std::uint64_t bytes = 0;
};

constexpr std::uint64_t k_large = (std::uint64_t{1} << 30U) - 1;

class LargeEntry : public DiskTest {
protected:
    void SetUp() override
    {
        m_environment.files = &m_reads;
        DiskOptions options;
        options.compression = 0;
        options.max_entry_bytes = 16 << 20;
        m_tier = open(options);
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

TEST_F(LargeEntry, of_which_the_head_says_something_else_is_not_read)
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
}

TEST_F(LargeEntry, that_takes_more_than_it_may_is_not_read)
{
    put(*m_tier, 1, 24);
    std::string bytes = read_file(path_of(1));
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

}  // namespace hearth::test

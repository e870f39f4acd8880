#include "disk_fixture.hpp"
#include "support/scale.hpp"
#include "support/seed.hpp"
#include "support/storing.hpp"

#include <random>

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

std::string with_flipped_bit(std::string bytes, std::size_t bit)
{
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << (bit % 8)));
    return bytes;
}

}  // namespace

TEST_F(DamagedEntry, with_any_bit_flipped_is_a_miss_counted_and_removed)
{
    std::uint64_t corrupt = 0;
    for (std::size_t bit = 0; bit < m_whole.size() * 8; ++bit) {
        const Miss why = look_at(with_flipped_bit(m_whole, bit));
        const bool in_version = bit / 8 == 8 || bit / 8 == 9;
        ASSERT_EQ(why, in_version ? Miss::other_version : Miss::corrupt) << "bit " << bit;
        corrupt += why == Miss::corrupt ? 1 : 0;
    }
    EXPECT_EQ(corrupt, (m_whole.size() - 2) * 8);
    EXPECT_TRUE(holds(*m_tier, 1));
    expect_exact_accounting(*m_tier);
}

TEST_F(DamagedEntry, cut_at_any_length_is_a_miss)
{
    for (std::size_t length = 0; length < m_whole.size(); ++length)
        ASSERT_EQ(look_at(m_whole.substr(0, length)), Miss::corrupt) << "length " << length;
    expect_exact_accounting(*m_tier);
}

TEST_F(DamagedEntry, with_bytes_added_or_zeroed_is_a_miss)
{
    for (const std::size_t more : {1, 7, 4096})
        EXPECT_EQ(look_at(m_whole + std::string(more, '\0')), Miss::corrupt);
    EXPECT_EQ(look_at(m_whole + m_whole), Miss::corrupt);
    EXPECT_EQ(look_at(std::string(m_whole.size(), '\0')), Miss::corrupt);
    for (std::size_t from = 0; from < m_whole.size(); from += 8) {
        const std::string half = m_whole.substr(0, from) + std::string(m_whole.size() - from, '\0');
        EXPECT_NE(look_at(half), Miss::absent) << "zeros from " << from;
    }
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

TEST_F(DamagedEntry, a_large_compressed_one_with_any_byte_changed_is_a_miss)
{
    std::mt19937_64 random(seed());
    auto artifact = std::make_shared<Artifact>();
    std::string text;
    while (text.size() < 60'000)
        text += "mov.u32 %r" + std::to_string(random() % 1000) + ", %tid.x;\n";
    artifact->sections = {{"ptx", Bytes::copy_of(text)}, {"cubin", sample_bytes(numbered_key(9), 2000)}};
    artifact->metadata.label = "kernel";
    ASSERT_TRUE(store_in(*m_tier, numbered_key(9), Entry(artifact)).ok());
    const std::string whole = read_file(path_of(9));
    const std::uint64_t rounds = scaled(2000);
    for (std::uint64_t round = 0; round < rounds; ++round) {
        const std::size_t bit = round * whole.size() * 8 / rounds + random() % 8;
        write_file(path_of(9), with_flipped_bit(whole, bit));
        ASSERT_FALSE(m_tier->find(numbered_key(9))) << "bit " << bit;
    }
    ASSERT_TRUE(store_in(*m_tier, numbered_key(9), Entry(artifact)).ok());
    EXPECT_EQ(*m_tier->find(numbered_key(9)).artifact, *artifact);
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

TEST_F(DamagedEntry, an_entry_far_too_large_is_not_even_read)
{
    std::filesystem::resize_file(path_of(1), std::uintmax_t{3} << 30U);
    EXPECT_EQ(m_tier->find(numbered_key(1)).why, Miss::corrupt);
    EXPECT_FALSE(std::filesystem::exists(path_of(1)));
    expect_exact_accounting(*m_tier);
}

}  // namespace hearth::test

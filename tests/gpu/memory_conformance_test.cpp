// What every DeviceMemory promises, on each that this machine offers.

#include "support/device_memories.hpp"
#include "support/in_threads.hpp"
#include "support/sample_entries.hpp"

#include <array>
#include <cstring>
#include <vector>

namespace hearth::test {

namespace {

using gpu::DeviceBlock;
using gpu::DevicePart;
using gpu::GatherPart;

class MemoryConformance : public testing::TestWithParam<MemoryCase> {
protected:
    void SetUp() override
    {
        const Result<std::shared_ptr<gpu::DeviceMemory>> opened = GetParam().open(0);
        if (!opened)
            GTEST_SKIP() << opened.error().message;
        m_memory = *opened;
    }
    void TearDown() override
    {
        for (const DeviceBlock& block : m_blocks)
            m_memory->free(block);
    }

    DevicePart part(std::uint64_t bytes)
    {
        const Result<DeviceBlock> block = m_memory->allocate(bytes + 64);
        EXPECT_TRUE(block.ok()) << (block.ok() ? "" : block.error().message);
        m_blocks.push_back(*block);
        return {*block, 0, bytes};
    }
    void write(const DevicePart& to, const Bytes& bytes)
    {
        const Result<gpu::WriteTicket> written = m_memory->write(to, bytes);
        ASSERT_TRUE(written.ok()) << written.error().message;
    }
    std::string read(const DevicePart& from)
    {
        std::string text(from.bytes, '?');
        const Status status = m_memory->read(from, std::as_writable_bytes(std::span(text)));
        EXPECT_TRUE(status.ok()) << (status.ok() ? "" : status.error().message);
        return text;
    }

    std::shared_ptr<gpu::DeviceMemory> m_memory;
    std::vector<DeviceBlock> m_blocks;
};

TEST_P(MemoryConformance, what_is_read_is_what_was_written_at_any_size_and_so_is_its_sum)
{
    for (const std::size_t size :
         {0U, 1U, 3U, 4U, 5U, 15U, 16U, 17U, 64U, 255U, 256U, 1000U, 65535U, 65536U, 1048576U, 1048579U, 9000001U}) {
        const DevicePart place = part(size);
        const Bytes bytes = sample_bytes(numbered_key(size), size);
        write(place, bytes);
        EXPECT_EQ(read(place), bytes.text()) << size;
        const Bytes next = sample_bytes(numbered_key(size), size, 1);
        base::MemorySum sum;
        ASSERT_TRUE(m_memory->write_summed(place, next, sum).ok()) << size;
        EXPECT_EQ(read(place), next.text()) << size;
        EXPECT_EQ(sum, base::sum_of(next)) << size;
    }
}

TEST_P(MemoryConformance, the_source_may_be_overwritten_as_soon_as_a_write_returns_and_it_is_settled_after_a_wait)
{
    const DevicePart place = part(300000);
    std::vector<std::byte> source(300000);
    for (int round = 0; round < 20; ++round) {
        std::fill(source.begin(), source.end(), std::byte(round));
        const Result<gpu::WriteTicket> ticket = m_memory->write(place, source);
        ASSERT_TRUE(ticket.ok());
        std::fill(source.begin(), source.end(), std::byte(0xEE));
        ASSERT_TRUE(m_memory->wait(*ticket).ok());
        EXPECT_TRUE(m_memory->settled(*ticket));
        EXPECT_EQ(read(place), std::string(300000, static_cast<char>(round)));
    }
}

TEST_P(MemoryConformance, parts_of_a_block_do_not_touch_each_other)
{
    const std::uint64_t unit = m_memory->alignment();
    const DevicePart whole = part(unit * 64);
    std::vector<Bytes> contents;
    for (std::uint64_t i = 0; i < 64; ++i) {
        contents.push_back(sample_bytes(numbered_key(i), unit - i % 7));
        write({whole.block, i * unit, contents.back().size()}, contents.back());
    }
    for (std::uint64_t i = 0; i < 64; ++i)
        EXPECT_EQ(read({whole.block, i * unit, contents[i].size()}), contents[i].text()) << i;
}

// Where a device works in the background the starts run beside each other.
TEST_P(MemoryConformance, a_gathering_has_what_all_its_starts_read_once_it_has_finished)
{
    constexpr std::size_t k_starts = 5;
    constexpr std::size_t k_reads = 120;
    const auto size_of = [](std::size_t i) -> std::size_t { return i % 50 == 9 ? 150001 : i % 50 == 5 ? 40007 : i; };
    std::vector<std::unique_ptr<gpu::StagingBuffer>> targets;
    std::vector<std::vector<gpu::RegionRead>> reads(k_starts);
    const std::unique_ptr<gpu::Gathering> gathering = m_memory->begin_gathering();
    for (std::size_t start = 0; start < k_starts; ++start) {
        std::uint64_t target = 0;
        for (std::size_t i = 0; i < k_reads; ++i) {
            const std::size_t number = start * k_reads + i;
            const DevicePart place = part(size_of(number));
            write(place, sample_bytes(numbered_key(number), size_of(number)));
            reads[start].push_back({{place.block.address, place.block.buffer, 0, size_of(number)}, target, number});
            target += (size_of(number) + 15) / 16 * 16;
        }
        targets.push_back(m_memory->staging(target));
        ASSERT_NE(targets.back(), nullptr);
        const Status started = gathering->start(reads[start], *targets.back());
        ASSERT_TRUE(started.ok()) << started.error().message;
    }
    const Status finished = gathering->finish();
    ASSERT_TRUE(finished.ok()) << finished.error().message;
    for (std::size_t start = 0; start < k_starts; ++start)
        for (const auto& [from, target, number] : reads[start])
            EXPECT_EQ(as_text(targets[start]->bytes().subspan(target, from.bytes)),
                      sample_bytes(numbered_key(number), from.bytes).text())
                << number;
}

TEST_P(MemoryConformance, a_gather_brings_every_part_to_its_place)
{
    const std::uint64_t unit = m_memory->alignment();
    std::vector<GatherPart> parts;
    std::vector<Bytes> contents;
    std::uint64_t target = 0;
    // Beyond what a kernel may take for itself, too, and of every size below sixteen bytes.
    for (std::size_t i = 0; i < 700; ++i) {
        const std::size_t size = i % 100 == 99 ? 200001 : i % 100 == 50 ? 40007 : i;
        const DevicePart place = part(size + unit);
        contents.push_back(sample_bytes(numbered_key(i), size));
        write({place.block, unit, size}, contents.back());
        parts.push_back({{place.block, unit, size}, target});
        target += (size + 15) / 16 * 16 + 16;
    }
    const std::unique_ptr<gpu::StagingBuffer> staging = m_memory->staging(target);
    ASSERT_NE(staging, nullptr);
    std::memset(staging->bytes().data(), 0x5A, target);
    const Status gathered = m_memory->gather(parts, staging->bytes());
    ASSERT_TRUE(gathered.ok()) << gathered.error().message;
    for (std::size_t i = 0; i < parts.size(); ++i) {
        EXPECT_EQ(as_text(staging->bytes().subspan(parts[i].target, contents[i].size())), contents[i].text()) << i;
        const std::size_t end = parts[i].target + contents[i].size();
        const std::size_t next = i + 1 < parts.size() ? parts[i + 1].target : target;
        for (std::size_t at = end; at < next; ++at)
            ASSERT_EQ(staging->bytes()[at], std::byte(0x5A)) << "behind part " << i;
    }
}

// Laid out for a kernel, and without any gaps.
TEST_P(MemoryConformance, a_gather_into_any_memory_of_the_host_is_right_too)
{
    for (const bool aligned : {true, false}) {
        std::vector<GatherPart> parts;
        std::string expected;
        for (std::size_t i = 1; i <= 64; ++i) {
            const std::size_t size = aligned ? 1024 : i;
            const DevicePart place = part(size);
            write(place, sample_bytes(numbered_key(i), size));
            parts.push_back({place, expected.size()});
            expected += sample_bytes(numbered_key(i), size).text();
        }
        std::string out(expected.size() + 1, '!');
        const auto target = std::as_writable_bytes(std::span(out)).subspan(0, expected.size());
        const Status gathered = m_memory->gather(parts, target);
        ASSERT_TRUE(gathered.ok()) << gathered.error().message;
        EXPECT_EQ(out, expected + "!");
    }
}

TEST_P(MemoryConformance, copies_reach_another_memory_of_the_same_kind_and_the_hosts_and_come_back)
{
    HEARTH_OPEN_MEMORY_OR_SKIP(same_kind, GetParam(), 0);
    const Bytes bytes = sample_bytes(numbered_key(1), 70001);
    const DevicePart from = part(bytes.size());
    write(from, bytes);
    for (const auto& other : {same_kind, gpu::open_host_memory(1).value(), m_memory}) {
        const DeviceBlock block = other->allocate(bytes.size()).value();
        const DevicePart there{block, 0, bytes.size()};
        ASSERT_TRUE(m_memory->copy(from, *other, there).ok());
        std::string text(bytes.size(), '?');
        ASSERT_TRUE(other->read(there, std::as_writable_bytes(std::span(text))).ok());
        EXPECT_EQ(text, bytes.text());
        const DevicePart back = part(bytes.size());
        ASSERT_TRUE(other->copy(there, *m_memory, back).ok());
        EXPECT_EQ(read(back), bytes.text());
        other->free(block);
    }
}

TEST_P(MemoryConformance, more_than_there_is_gives_no_space_and_harms_nothing)
{
    const DevicePart place = part(100);
    write(place, sample_bytes(numbered_key(1), 100));
    const Result<DeviceBlock> block = m_memory->allocate(std::uint64_t{1} << 50U);
    ASSERT_FALSE(block.ok());
    EXPECT_EQ(block.error().code, Code::no_space) << block.error().message;
    EXPECT_NE(block.error().message.find(std::to_string(std::uint64_t{1} << 50U)), std::string::npos)
        << block.error().message;
    EXPECT_EQ(read(place), sample_bytes(numbered_key(1), 100).text());
    EXPECT_FALSE(m_memory->lost());
}

TEST_P(MemoryConformance, threads_write_and_read_at_once)
{
    constexpr int k_threads = 8;
    std::vector<DevicePart> places;
    for (int i = 0; i < k_threads; ++i)
        places.push_back(part(5000));
    std::atomic<int> wrong{0};
    in_threads(k_threads, [&](std::uint64_t t) {
        const DevicePart& place = places[static_cast<std::size_t>(t)];
        for (std::uint64_t round = 0; round < 30; ++round) {
            const Bytes bytes = sample_bytes(numbered_key(static_cast<std::uint64_t>(t)), 5000, round);
            std::string text(bytes.size(), '?');
            if (!m_memory->write(place, bytes).ok() ||
                !m_memory->read(place, std::as_writable_bytes(std::span(text))).ok() || text != bytes.text())
                ++wrong;
        }
    });
    EXPECT_EQ(wrong, 0);
}

TEST_P(MemoryConformance, it_says_what_it_is)
{
    EXPECT_TRUE(GetParam().name.starts_with(to_string(m_memory->device().backend)));
    EXPECT_FALSE(m_memory->device().name.empty());
    EXPECT_GE(m_memory->alignment(), 16U);
    EXPECT_EQ(m_memory->alignment() & (m_memory->alignment() - 1), 0U) << "a power of two";
}

TEST_P(MemoryConformance, a_device_that_is_not_there_is_an_error_with_its_number)
{
    const Result<std::shared_ptr<gpu::DeviceMemory>> missing = GetParam().open(4711);
    ASSERT_FALSE(missing.ok());
    EXPECT_EQ(missing.error().code, Code::invalid_argument);
    EXPECT_NE(missing.error().message.find("4711"), std::string::npos) << missing.error().message;
    EXPECT_FALSE(GetParam().open(-1).ok());
}

INSTANTIATE_TEST_SUITE_P(all, MemoryConformance, all_memories(), name_of);

TEST(Backends, are_reported_best_first_with_what_is_missing)
{
    const std::vector<device::BackendReport> reports = device::backends();
    ASSERT_EQ(reports.size(), 4U);
    EXPECT_EQ(reports.front().backend, device::Backend::cuda);
    EXPECT_EQ(reports.back().backend, device::Backend::host);
    EXPECT_EQ(reports.back().devices.size(), 1U);
    for (const device::BackendReport& report : reports)
        EXPECT_NE(report.devices.empty(), report.missing.empty()) << to_string(report.backend);
}

TEST(Backends, the_automatic_one_is_a_gpus_or_the_hosts)
{
    const Result<std::shared_ptr<gpu::DeviceMemory>> memory = gpu::open_device_memory(device::Backend::automatic, 0);
    ASSERT_TRUE(memory.ok()) << memory.error().message;
    EXPECT_TRUE((*memory)->device().gpu || (*memory)->device().backend == device::Backend::host);
}

// Capability 61.
TEST(RecommendedBytes, are_twelve_percent_and_from_8_gib_up_to_a_quarter)
{
    const auto percent = [](std::uint64_t total) {
        return static_cast<double>(device::recommended_bytes(total)) * 100 / static_cast<double>(total);
    };
    EXPECT_NEAR(percent(4_GiB), 12, 0.1);
    EXPECT_NEAR(percent(8_GiB), 12, 0.1);
    EXPECT_GT(percent(24_GiB), 12);
    EXPECT_LT(percent(24_GiB), 25);
    EXPECT_NEAR(percent(141_GiB), 25, 0.1);
    std::uint64_t last = 0;
    for (std::uint64_t gib = 1; gib < 200; ++gib) {
        EXPECT_GT(device::recommended_bytes(gib << 30U), last) << "never less for a larger device";
        last = device::recommended_bytes(gib << 30U);
    }
    EXPECT_EQ(device::recommended_bytes(0), 0U);
}

}  // namespace

}  // namespace hearth::test

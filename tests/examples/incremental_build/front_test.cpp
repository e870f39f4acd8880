#include "front.hpp"

#include "support/isolated_environment.hpp"
#include "support/scratch_directory.hpp"

#include <atomic>
#include <gtest/gtest.h>
#include <thread>

namespace demo {
namespace {

using namespace hearth::literals;
using hearth::device::Backend;

// Files are what their content is set to.
class Front : public testing::Test {
protected:
    IrCache opened()
    {
        return IrCache(
            16_MiB, m_scratch / "cache", [this](std::string_view file) { return request(file); }, Backend::host);
    }
    hearth::Request request(std::string_view file)
    {
        return hearth::Request::of("test", m_content.at(std::string(file)));
    }
    static std::string text_of(const std::optional<Ir>& ir)
    {
        return ir ? std::string(hearth::as_text(ir->bytes)) : "nothing";
    }

    hearth::test::IsolatedEnvironment m_environment;
    hearth::test::ScratchDirectory m_scratch;
    std::map<std::string, std::string> m_content{{"a.eph", "one"}, {"b.eph", "two"}};
};

TEST_F(Front, what_is_inserted_is_found_in_device_memory_and_in_a_fresh_cache_on_disk)
{
    {
        IrCache cache = opened();
        EXPECT_FALSE(cache.get("a.eph"));
        cache.insert("a.eph", hearth::as_bytes("IR of one"));
        const std::optional<Ir> found = cache.get("a.eph");
        EXPECT_EQ(text_of(found), "IR of one");
        EXPECT_EQ(found->tier, "vram");
    }
    IrCache cache = opened();
    const std::optional<Ir> found = cache.get("a.eph");
    EXPECT_EQ(text_of(found), "IR of one");
    EXPECT_EQ(found->tier, "disk");
    EXPECT_EQ(cache.get("a.eph")->tier, "vram") << "the first hit brings it into device memory";
}

TEST_F(Front, the_content_decides_and_not_the_name)
{
    IrCache cache = opened();
    EXPECT_FALSE(cache.get("a.eph"));
    cache.insert("a.eph", hearth::as_bytes("IR of one"));
    m_content["b.eph"] = "one";
    EXPECT_EQ(text_of(cache.get("b.eph")), "IR of one");
    m_content["a.eph"] = "three";
    EXPECT_FALSE(cache.get("a.eph"));
    m_content["a.eph"] = "one";
    EXPECT_EQ(text_of(cache.get("a.eph")), "IR of one");
}

TEST_F(Front, ir_is_kept_under_the_content_it_was_asked_for_by)
{
    IrCache cache = opened();
    EXPECT_FALSE(cache.get("a.eph"));
    m_content["a.eph"] = "saved while the compiler was at work";
    cache.insert("a.eph", hearth::as_bytes("IR of one"));
    EXPECT_FALSE(cache.get("a.eph"));
    m_content["a.eph"] = "one";
    EXPECT_EQ(text_of(cache.get("a.eph")), "IR of one");
}

TEST_F(Front, many_are_found_at_once_in_the_order_asked)
{
    IrCache cache = opened();
    EXPECT_FALSE(cache.get("b.eph"));
    cache.insert("b.eph", hearth::as_bytes("IR of two"));
    const std::vector<std::string> files{"b.eph", "a.eph", "b.eph"};
    const std::vector<std::optional<Ir>> found = cache.get_many(files);
    ASSERT_EQ(found.size(), 3U);
    EXPECT_EQ(text_of(found[0]), "IR of two");
    EXPECT_FALSE(found[1]);
    EXPECT_EQ(text_of(found[2]), "IR of two");
    EXPECT_TRUE(cache.get_many({}).empty());
}

TEST_F(Front, what_was_found_outlives_the_cache)
{
    std::optional<Ir> found;
    {
        IrCache cache = opened();
        EXPECT_FALSE(cache.get("a.eph"));
        cache.insert("a.eph", hearth::as_bytes("IR of one"));
        found = cache.get("a.eph");
    }
    EXPECT_EQ(text_of(found), "IR of one");
}

TEST_F(Front, a_lease_gives_the_bytes_where_they_lie)
{
    IrCache cache = opened();
    EXPECT_FALSE(cache.lease("a.eph"));
    cache.insert("a.eph", hearth::as_bytes("IR of one"));
    const hearth::device::Lease lease = cache.lease("a.eph");
    ASSERT_TRUE(lease);
    ASSERT_EQ(lease.size(), 9U);
    EXPECT_EQ(std::string_view(static_cast<const char*>(lease.pointer()), lease.size()), "IR of one");
}

TEST_F(Front, statistics_count_what_was_asked)
{
    IrCache cache = opened();
    EXPECT_EQ(cache.statistics().hit_rate(), 0);
    EXPECT_FALSE(cache.get("a.eph"));
    cache.insert("a.eph", hearth::as_bytes("IR of one"));
    EXPECT_TRUE(cache.get("a.eph"));
    EXPECT_TRUE(cache.get("a.eph"));
    EXPECT_FALSE(cache.get("b.eph"));
    const IrStatistics statistics = cache.statistics();
    EXPECT_EQ(statistics.vram_hits, 2U);
    EXPECT_EQ(statistics.disk_hits, 0U);
    EXPECT_EQ(statistics.misses, 2U);
    EXPECT_DOUBLE_EQ(statistics.hit_rate(), 0.5);
    EXPECT_GT(statistics.mean_latency_us(), 0);
}

TEST_F(Front, without_a_usable_directory_device_memory_still_answers)
{
    hearth::test::write_file(m_scratch / "file", "in the way");
    IrCache cache(
        16_MiB, m_scratch / "file/cache", [this](std::string_view file) { return request(file); }, Backend::host);
    EXPECT_FALSE(cache.get("a.eph"));
    cache.insert("a.eph", hearth::as_bytes("IR of one"));
    EXPECT_EQ(text_of(cache.get("a.eph")), "IR of one");
}

TEST_F(Front, many_threads_may_use_it_at_once)
{
    IrCache cache = opened();
    std::vector<std::thread> threads;
    std::atomic<int> wrong = 0;
    for (int number = 0; number < 4; ++number)
        threads.emplace_back([&] {
            const std::vector<std::string> files{"a.eph", "b.eph"};
            for (int round = 0; round < 100; ++round) {
                const std::vector<std::optional<Ir>> found = cache.get_many(files);
                for (std::size_t i = 0; i < files.size(); ++i) {
                    if (!found[i])
                        cache.insert(files[i], hearth::as_bytes("IR of " + m_content.at(files[i])));
                    else if (text_of(found[i]) != "IR of " + m_content.at(files[i]))
                        ++wrong;
                }
            }
        });
    for (std::thread& thread : threads)
        thread.join();
    EXPECT_EQ(wrong, 0);
    EXPECT_EQ(cache.statistics().lookups(), 800U);
}

TEST_F(Front, it_says_which_memory_it_uses)
{
    IrCache cache = opened();
    EXPECT_EQ(cache.memory().value().backend, Backend::host);
}

}  // namespace
}  // namespace demo

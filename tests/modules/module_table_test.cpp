#include "fake_cuda.hpp"
#include "modules/module_table.hpp"
#include "support/in_threads.hpp"
#include "support/seed.hpp"

#include <barrier>
#include <gtest/gtest.h>
#include <latch>
#include <optional>
#include <random>
#include <thread>

// Loaded modules: one load each, within a budget, none unloaded in use, none used after its context (5, 23, 47, 49).

namespace hearth::test {

namespace {

using cuda::ModuleLease;
using cuda::ModuleLimits;
using cuda::ModuleStats;
using cuda::ModuleTable;

class ModuleTableTest : public testing::Test {
protected:
    ModuleTableTest() { FakeCuda::make_current(m_context); }
    ~ModuleTableTest() override
    {
        m_table.unload_unused();
        EXPECT_EQ(m_cuda.misuses(), 0);
    }

    static Key key(std::uint64_t number) { return Key::of("module", number); }
    static std::string image(std::uint64_t number, std::size_t size = 10)
    {
        std::string text = std::to_string(number) + ".";
        text.resize(size, '.');
        return text;
    }
    // Module `number` in the test's context. A failure fails the test.
    ModuleLease get(std::uint64_t number, std::size_t size = 10) { return get_in(m_context, number, size); }
    ModuleLease get_in(const gpu::CudaContext& context, std::uint64_t number, std::size_t size = 10)
    {
        Result<ModuleLease> found = m_table.get(m_cuda.driver(), context, key(number), as_bytes(image(number, size)));
        EXPECT_TRUE(found) << found.error().message;
        return *std::move(found);
    }
    bool is_loaded(std::uint64_t number)
    {
        const std::uint64_t hits = m_table.stats().hits;
        static_cast<void>(get(number));
        return m_table.stats().hits == hits + 1;
    }

    FakeCuda m_cuda;
    ModuleTable m_table;
    gpu::CudaContext m_context = m_cuda.make_context(1);
};

TEST_F(ModuleTableTest, a_module_is_loaded_once_however_often_it_is_asked_for)
{
    for (int i = 0; i < 5; ++i)
        EXPECT_EQ(get(1)->key, key(1));
    EXPECT_EQ(m_cuda.loads(), 1);
    const ModuleStats stats = m_table.stats();
    EXPECT_EQ(stats.loads, 1U);
    EXPECT_EQ(stats.hits, 4U);
    EXPECT_EQ(stats.loaded, 1U);
    EXPECT_EQ(stats.loaded_bytes, 10U);
}

// As when an entry was removed, a header edited, and the next result has the same key.
TEST_F(ModuleTableTest, another_image_under_the_same_key_is_another_module)
{
    const auto get_image = [&](std::uint64_t number) {
        return m_table.get(m_cuda.driver(), m_context, key(1), as_bytes(image(number))).value();
    };
    const ModuleLease first = get_image(1);
    const ModuleLease second = get_image(2);
    EXPECT_NE(first->handle, second->handle);
    EXPECT_EQ(get_image(1)->handle, first->handle);
    EXPECT_EQ(get_image(2)->handle, second->handle);
    EXPECT_EQ(m_cuda.loads(), 2);
    m_table.evict(key(1));
    EXPECT_NE(get_image(1)->handle, first->handle);
    EXPECT_NE(get_image(2)->handle, second->handle);
}

TEST_F(ModuleTableTest, a_replaced_image_is_found_by_the_rejected_one_and_by_itself)
{
    m_cuda.rejected[image(1)] = "not for this driver";
    Key asked = key(1);
    const auto get_image = [&](const std::string& text) {
        return m_table.get(m_cuda.driver(), m_context, asked, as_bytes(text), [&](const Error&) -> Result<Bytes> {
            asked = key(9);  // as of a result that was compiled past all tiers
            return Bytes::copy_of(image(2));
        });
    };
    const ModuleLease loaded = get_image(image(1)).value();
    EXPECT_EQ(loaded->key, key(1));
    asked = key(1);
    EXPECT_EQ(get_image(image(1)).value()->handle, loaded->handle);
    EXPECT_EQ(get_image(image(2)).value()->handle, loaded->handle);
    EXPECT_EQ(asked, key(1)) << "nothing was loaded anew";
}

TEST_F(ModuleTableTest, another_key_finds_the_module_as_long_as_it_is_listed)
{
    const auto by_other = [&](const gpu::CudaContext& context) {
        return m_table.find(context.id, key(100)).has_value();
    };
    EXPECT_FALSE(by_other(m_context));
    m_table.also_by(get(1), key(100));
    EXPECT_EQ((*m_table.find(m_context.id, key(100)))->key, key(1));
    EXPECT_FALSE(by_other(m_cuda.make_context(2))) << "it is not loaded there";
    m_table.evict(key(1));
    EXPECT_FALSE(by_other(m_context));
    ModuleLease held = get(1);
    m_table.evict(key(1));
    m_table.also_by(held, key(100));
    EXPECT_FALSE(by_other(m_context)) << "it is off the list";
    static_cast<void>(get(1));
    m_table.also_by(held, key(100));
    EXPECT_FALSE(by_other(m_context)) << "and so it is when another of its kind is listed";
}

TEST_F(ModuleTableTest, many_threads_that_ask_at_once_load_it_once)
{
    constexpr int k_threads = 16;
    constexpr int k_rounds = 50;
    std::barrier together(k_threads);
    in_threads(k_threads, [&](std::uint64_t) {
        FakeCuda::make_current(m_context);
        for (std::uint64_t round = 0; round < k_rounds; ++round) {
            together.arrive_and_wait();
            EXPECT_EQ(get(round)->bytes, 10U);
        }
    });
    EXPECT_EQ(m_cuda.loads(), k_rounds);
    EXPECT_EQ(m_table.stats().hits, static_cast<std::uint64_t>(k_rounds * (k_threads - 1)));
}

TEST_F(ModuleTableTest, a_slow_load_holds_up_nobody_elses_hit)
{
    static_cast<void>(get(1));
    std::latch loading(1);
    std::latch may_end(1);
    m_cuda.in_load = [&](const std::string& loaded) {
        if (loaded == image(2)) {
            loading.count_down();
            may_end.wait();
        }
    };
    std::thread slow([&] {
        FakeCuda::make_current(m_context);
        static_cast<void>(get(2));
    });
    loading.wait();
    EXPECT_TRUE(is_loaded(1));  // a hit
    static_cast<void>(get(3));  // and another load
    may_end.count_down();
    slow.join();
    EXPECT_EQ(m_table.stats().loaded, 3U);
}

TEST_F(ModuleTableTest, beyond_the_count_the_module_asked_for_longest_ago_is_unloaded_and_at_once_where_it_is_lowered)
{
    for (const std::uint64_t number : {0U, 1U, 2U, 1U})
        static_cast<void>(get(number));
    m_table.set_limits({.max_modules = 2, .max_bytes = 0});
    EXPECT_EQ(m_cuda.loaded(), 2U);
    static_cast<void>(get(3));
    EXPECT_EQ(m_table.stats().loaded, 2U);
    EXPECT_EQ(m_cuda.unloads(), 2);
    EXPECT_TRUE(is_loaded(1));
    EXPECT_FALSE(is_loaded(2));
}

TEST_F(ModuleTableTest, beyond_the_bytes_as_many_as_it_takes_are_unloaded)
{
    m_table.set_limits({.max_modules = 0, .max_bytes = 100});
    static_cast<void>(get(1, 40));
    static_cast<void>(get(2, 40));
    static_cast<void>(get(3, 90));
    EXPECT_EQ(m_table.stats().loaded, 1U);
    EXPECT_EQ(m_table.stats().loaded_bytes, 90U);
    EXPECT_EQ(m_table.stats().unloads, 2U);
}

TEST_F(ModuleTableTest, a_module_in_use_stays_beyond_the_budget_and_goes_with_its_last_lease)
{
    m_table.set_limits({.max_modules = 1, .max_bytes = 0});
    std::optional<ModuleLease> first = get(1);
    std::optional<ModuleLease> again = get(1);
    std::optional<ModuleLease> second = get(2);
    EXPECT_EQ(m_cuda.unloads(), 0);
    EXPECT_EQ(m_table.stats().loaded, 2U);
    first.reset();
    EXPECT_EQ(m_cuda.unloads(), 0);
    again.reset();
    EXPECT_EQ(m_cuda.unloads(), 1);
    EXPECT_EQ(m_table.stats().loaded, 1U);
    second.reset();
    EXPECT_EQ(m_cuda.unloads(), 1) << "within the budget it stays, though nobody holds it";
}

TEST_F(ModuleTableTest, an_evicted_module_in_use_is_unloaded_after_its_last_lease)
{
    std::optional<ModuleLease> held = get(1);
    m_table.evict(key(1));
    EXPECT_EQ(m_cuda.unloads(), 0);
    EXPECT_EQ(m_table.stats().loaded, 1U);
    EXPECT_FALSE(is_loaded(1)) << "whoever asks now gets one of their own";
    EXPECT_EQ(m_table.stats().loaded, 2U);
    held.reset();
    EXPECT_EQ(m_cuda.unloads(), 1);
    EXPECT_EQ(m_table.stats().loaded, 1U);
}

TEST_F(ModuleTableTest, two_contexts_have_a_module_each)
{
    const gpu::CudaContext other = m_cuda.make_context(2);
    static_cast<void>(get(1));
    FakeCuda::make_current(other);
    static_cast<void>(get_in(other, 1));
    EXPECT_EQ(m_cuda.loads(), 2);
    // Unloading takes each in its own context, whichever is current: the fake driver would notice.
    m_table.unload_unused();
    EXPECT_EQ(m_cuda.unloads(), 2);
    EXPECT_EQ(m_table.stats().loaded, 0U);
}

TEST_F(ModuleTableTest, a_context_made_where_a_dead_one_lay_gets_modules_of_its_own_and_old_leases_end_without_a_call)
{
    std::optional<ModuleLease> found_dead_by_itself = get(1);
    std::optional<ModuleLease> found_dead_by_a_load = get(2);
    static_cast<void>(get(3));
    m_cuda.destroy_context(m_context);
    m_table.evict(key(1));
    found_dead_by_itself.reset();
    EXPECT_EQ(m_table.stats().lost, 1U);
    const gpu::CudaContext next = m_cuda.make_context(1);
    ASSERT_EQ(next.handle, m_context.handle);
    static_cast<void>(get_in(next, 3));
    EXPECT_EQ(m_cuda.loads(), 4);
    found_dead_by_a_load.reset();
    const ModuleStats stats = m_table.stats();
    EXPECT_EQ(stats.lost, 3U);
    EXPECT_EQ(stats.loaded, 1U);
    EXPECT_EQ(stats.loaded_bytes, 10U);
    EXPECT_EQ(m_cuda.unloads(), 0);
    m_table.unload_unused();
    EXPECT_EQ(m_cuda.unloads(), 1);
}

TEST_F(ModuleTableTest, a_rejected_image_is_replaced_once_for_all_who_wait)
{
    m_cuda.rejected[image(1)] = "ptxas error: no";
    std::atomic<int> replaced{0};
    in_threads(8, [&](std::uint64_t) {
        FakeCuda::make_current(m_context);
        const Result<ModuleLease> found = m_table.get(m_cuda.driver(), m_context, key(1), as_bytes(image(1)),
                                                      [&](const Error& rejection) -> Result<Bytes> {
                                                          EXPECT_EQ(rejection.log, "ptxas error: no");
                                                          ++replaced;
                                                          return Bytes::copy_of(std::string_view("another image"));
                                                      });
        EXPECT_TRUE(found);
    });
    EXPECT_EQ(replaced, 1);
    EXPECT_EQ(m_table.stats().rejected, 1U);
    EXPECT_EQ(m_table.stats().loads, 1U);
    EXPECT_EQ(m_table.stats().loaded_bytes, 13U);
}

TEST_F(ModuleTableTest, an_image_rejected_twice_is_an_error_with_the_drivers_words_and_log)
{
    m_cuda.rejected = {{image(1), "first"}, {image(2), "ptxas error: still no"}};
    const Result<ModuleLease> found = m_table.get(m_cuda.driver(), m_context, key(1), as_bytes(image(1)),
                                                  [&](const Error&) { return Bytes::copy_of(image(2)); });
    ASSERT_FALSE(found);
    EXPECT_EQ(found.error().code, Code::other_version);
    EXPECT_NE(found.error().message.find("the fake driver says no"), std::string::npos) << found.error().message;
    EXPECT_EQ(found.error().log, "ptxas error: still no");
    EXPECT_EQ(m_table.stats().rejected, 2U);
    EXPECT_EQ(m_table.stats().loaded, 0U);
    m_cuda.rejected.clear();
    static_cast<void>(get(1));  // and it is not remembered
}

TEST_F(ModuleTableTest, a_cubin_that_was_cut_off_never_reaches_the_driver)
{
    // The driver is not told how long an image is: it would read on behind the end.
    std::string cut = "\x7f"
                      "ELF";
    cut.resize(64, '\xff');
    m_cuda.in_load = [](const std::string&) { FAIL() << "it was given to the driver"; };
    for (const std::size_t size : {4U, 63U, 64U}) {
        const Result<ModuleLease> found =
            m_table.get(m_cuda.driver(), m_context, key(1), as_bytes(std::string_view(cut).substr(0, size)));
        ASSERT_FALSE(found);
        EXPECT_EQ(found.error().code, Code::other_version);
    }
    m_cuda.in_load = {};
}

TEST_F(ModuleTableTest, whatever_threads_do_the_accounts_agree_with_the_driver)
{
    constexpr int k_steps = 2000;
    const std::uint64_t start = seed();
    in_threads(8, [&](std::uint64_t t) {
        FakeCuda::make_current(m_context);
        std::mt19937_64 random(start + static_cast<std::uint64_t>(t));
        std::vector<ModuleLease> held;
        for (int step = 0; step < k_steps; ++step) {
            const std::uint64_t number = random() % 12;
            switch (random() % 16) {
            case 0:
                m_table.evict(key(number));
                break;
            case 1:
                m_table.set_limits({.max_modules = 1 + random() % 8, .max_bytes = 0});
                break;
            case 2:
                m_table.unload_unused();
                break;
            case 3:
                held.clear();
                break;
            default:
                ModuleLease lease = get(number);
                EXPECT_EQ(lease->key, key(number));
                if (random() % 3 == 0)
                    held.push_back(std::move(lease));
            }
        }
    });
    ModuleStats stats = m_table.stats();
    EXPECT_LE(stats.loaded, 8U);
    EXPECT_EQ(stats.loaded, m_cuda.loaded());
    EXPECT_EQ(stats.loaded_bytes, stats.loaded * 10);
    EXPECT_EQ(stats.loads, stats.unloads + stats.loaded);
    m_table.unload_unused();
    stats = m_table.stats();
    EXPECT_EQ(stats.loaded, 0U);
    EXPECT_EQ(stats.loaded_bytes, 0U);
    EXPECT_EQ(m_cuda.loaded(), 0U);
    EXPECT_EQ(m_cuda.loads(), m_cuda.unloads());
}

}  // namespace

}  // namespace hearth::test

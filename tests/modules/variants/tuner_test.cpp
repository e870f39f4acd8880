// 54: hot kernels made faster in the background, with the real NVRTC and a device whose kernels take the time that a
// test says. On a real one: variants_gpu_test.cpp.

#include "modules/variants/tuner.hpp"

#include "base/background.hpp"
#include "base/error.hpp"
#include "compilers/nvrtc/library.hpp"
#include "hearth/admin.hpp"
#include "hearth/cache.hpp"
#include "modules/compile_here.hpp"
#include "modules/fake_cuda.hpp"
#include "support/forks.hpp"
#include "support/in_threads.hpp"
#include "support/isolated_environment.hpp"
#include "support/open_cache.hpp"
#include "support/scratch_directory.hpp"

#include <barrier>
#include <fstream>
#include <gtest/gtest.h>
#include <latch>
#include <stdexcept>
#include <thread>
#include <unistd.h>

namespace hearth::test {

namespace {

using namespace hearth::cuda;

// What the device does: modules are numbered in the order in which they are loaded, and a function is its module's.
struct Device {
    std::map<std::uintptr_t, double> time_us;  // of a launch, by module
    std::map<std::uintptr_t, int> refuses;     // launches of these fail with that error
    std::vector<std::uintptr_t> launched;      // modules, in order
    std::vector<unsigned> blocks;              // the block's x of each launch
    double now_us = 0;
    std::map<CUevent_st*, double> events;
    int recorded = 0;
    bool behind = false;  // it has done nothing yet of what it was given
    int capturing = gpu::cuda::k_capture_none;
    std::atomic<bool> relaxed = false;  // the thread's capture mode; tests that look at it have one thread
    int strict_queries = 0;
};
Device* g_device = nullptr;
std::atomic<int> g_launches = 0;

class VariantTuner : public testing::Test {
protected:
    VariantTuner()
    {
        g_device = &m_device;
        m_driver.launch = [](CUfunc_st* function, unsigned, unsigned, unsigned, unsigned block, unsigned, unsigned,
                             unsigned, CUstream_st*, void**, void**) {
            const auto module = reinterpret_cast<std::uintptr_t>(function);
            if (const auto refused = g_device->refuses.find(module); refused != g_device->refuses.end())
                return refused->second;
            g_device->launched.push_back(module);
            g_device->blocks.push_back(block);
            const auto time = g_device->time_us.find(module);
            g_device->now_us += time != g_device->time_us.end() ? time->second : 100;
            return 0;
        };
        m_driver.capture_status = [](CUstream_st*, int* status) { return *status = g_device->capturing, 0; };
        m_driver.record_event = [](CUevent_st* event, CUstream_st*) {
            g_device->events[event] = g_device->now_us;
            return ++g_device->recorded, 0;
        };
        m_driver.query_event = [](CUevent_st*) {
            g_device->strict_queries += g_device->relaxed ? 0 : 1;
            return g_device->behind ? gpu::cuda::k_not_ready : 0;
        };
        m_driver.exchange_capture_mode = [](int* mode) {
            const bool before = g_device->relaxed.exchange(*mode == gpu::cuda::k_capture_relaxed);
            *mode = before ? gpu::cuda::k_capture_relaxed : 0;
            return 0;
        };
        m_driver.event_time = [](float* milliseconds, CUevent_st* before, CUevent_st* after) {
            *milliseconds = static_cast<float>((g_device->events[after] - g_device->events[before]) * 1e-3);
            return 0;
        };
        FakeCuda::make_current(m_context);
    }
    ~VariantTuner() override
    {
        end_process();
        EXPECT_EQ(m_cuda.loaded(), 0U);
        EXPECT_EQ(m_cuda.events(), 0) << "all events are given back";
        EXPECT_EQ(m_cuda.misuses(), 0);
    }

    void SetUp() override
    {
        Cache none = Cache::open({.caching = Switch::off}).value();
        if (const Result<nvrtc::Identity> found = nvrtc::identify(none, {}); !found)
            GTEST_SKIP() << found.error().message;
    }
    // Waits for what is being compiled.
    void end_process()
    {
        m_tuner.reset();
        m_first.reset();
        m_cache.reset();
        unload_unused_modules();
    }
    // As a new process would begin; modules are numbered on.
    void start(Variants variants, std::uint32_t after = 3)
    {
        end_process();
        m_cache.emplace(open_cache(m_scratch / "cache", {.variants_after = after}));
        m_tuner = std::make_unique<Tuner>(*m_cache, m_program, "fill", std::move(variants), nvrtc::CompileOptions{});
        m_device.launched.clear();
        m_device.blocks.clear();
    }
    Status launch(int n = 1000, unsigned block = 128)
    {
        float* out = nullptr;
        return m_tuner->launch(
            m_driver, [this] { return first(); }, {.grid = 8, .block = block}, cuda::detail::arguments(out, n));
    }
    Result<Tuner::Function> first()
    {
        if (!m_first) {
            auto loaded = load_program(m_driver, m_context, *m_cache, m_program, {}, "fill");
            HEARTH_TRY(loaded);
            m_first = *std::move(loaded);
        }
        return m_first;
    }
    // From several at once. Each launch takes the same time, and is only counted.
    void let_threads_launch()
    {
        g_launches = 0;
        m_driver.launch = [](CUfunc_st*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                             CUstream_st*, void**, void**) { return ++g_launches, 0; };
        m_driver.record_event = m_cuda.driver().record_event;
        m_driver.query_event = m_cuda.driver().query_event;
        m_driver.event_time = [](float* milliseconds, CUevent_st*, CUevent_st*) { return *milliseconds = 1, 0; };
    }
    // Whatever is to be done in the background has been done.
    static void wait_for_background()
    {
        base::Background& background = base::Background::of_process();
        while (!background.is_idle()) {
            std::latch done(1);
            if (!background.submit(&done, [&] { done.count_down(); }))
                return;
            done.wait();
        }
    }
    void launch_times(int times)
    {
        for (int i = 0; i < times; ++i)
            ASSERT_TRUE(launch().ok());
    }
    void launch_and_wait(int times, int n = 1000)
    {
        for (int i = 0; i < times; ++i) {
            ASSERT_TRUE(launch(n).ok());
            wait_for_background();
        }
    }
    // So many events: two for each launch that is timed.
    void launch_until_recorded(int events)
    {
        for (int i = 0; i < 1000 && m_device.recorded < events; ++i)
            launch_and_wait(1);
    }
    // Launches until it is settled; compilers are waited for.
    void run_until_settled(int n = 1000)
    {
        for (int i = 0; i < 100'000; ++i) {
            ASSERT_TRUE(launch(n).ok());
            if (!m_tuner->records().back().winner.empty())
                return;
            wait_for_background();
        }
        FAIL() << "it is never settled";
    }
    // On variant 1, which takes half the time.
    void settle_on_a_variant()
    {
        start({.others = {variant("1")}});
        m_device.time_us = {{2, 50}};
        run_until_settled();
    }
    // The first launch of a class, and that its record has been looked up.
    void launch_until_known() { launch_and_wait(1); }
    void go_on_in_a_new_process()
    {
        start({.others = {variant("1")}});
        launch_until_known();
    }
    std::vector<Key> stored()
    {
        m_tuner.reset();
        std::vector<Key> records;
        admin::list(*m_cache, [&](const EntryRow& row) {
            if (is_variant_record(row.metadata))
                records.push_back(row.key);
            return true;
        });
        return records;
    }
    // The code of variants that is stored, by what their options define.
    std::map<std::string, Key> compiled()
    {
        m_tuner.reset();
        std::map<std::string, Key> code;
        admin::list(*m_cache, [&](const EntryRow& row) {
            std::string defined;
            for (const std::string& option : row.metadata.options)
                defined += option.starts_with("-DVALUE") ? option : "";
            if (!defined.empty()) {
                EXPECT_TRUE(code.emplace(defined, row.key).second) << defined;
            }
            return true;
        });
        return code;
    }
    VariantRecord record() { return m_tuner->records().at(0); }
    std::uintptr_t last_launched() const { return m_device.launched.back(); }

    static Variant variant(const std::string& name) { return {.name = name, .options = {"-DVALUE=" + name}}; }

    nvrtc::Program m_program{.source = R"(
#ifndef VALUE
#define VALUE 0
#endif
#if VALUE == 666
#error this variant does not compile
#endif
extern "C" __global__ void fill(float* out, int n) { if (threadIdx.x < n) out[threadIdx.x] = VALUE; })"};
    IsolatedEnvironment m_environment;
    ScratchDirectory m_scratch;
    Device m_device;
    FakeCuda m_cuda;
    gpu::CudaDriver m_driver = m_cuda.driver();
    gpu::CudaContext m_context = m_cuda.make_context(1);
    std::optional<Cache> m_cache;
    std::unique_ptr<Tuner> m_tuner;
    Tuner::Function m_first;
};

}  // namespace

TEST_F(VariantTuner, a_variant_that_is_faster_takes_over_and_the_next_process_starts_with_it)
{
    start({.others = {variant("1"), variant("2")}});
    m_device.time_us = {{1, 100}, {2, 102}, {3, 70}};
    run_until_settled();
    EXPECT_EQ(record().winner, "2");
    EXPECT_EQ(record().variants.at(2).state, VariantState::winner);
    EXPECT_NEAR(record().variants.at(2).ratio, 0.7, 0.01);
    EXPECT_EQ(record().variants.at(1).state, VariantState::measured);
    EXPECT_GE(record().launches, 3U);
    EXPECT_EQ(record().device, "A device");
    EXPECT_EQ(record().driver, "CUDA 13.0");
    launch_times(5);
    EXPECT_EQ(last_launched(), 3U);
    const int timed = m_device.recorded;

    start({.others = {variant("1"), variant("2")}});
    launch_until_known();
    EXPECT_EQ(record().winner, "2");
    EXPECT_EQ(record().launches, 0U) << "it was found";
    EXPECT_NEAR(record().variants.at(2).ratio, 0.7, 0.01) << "with what was measured";
    launch_times(200);
    EXPECT_EQ(last_launched(), 5U) << "the second module of this process: the winner";
    EXPECT_EQ(m_device.recorded, timed) << "nothing is timed again";
    EXPECT_EQ(m_cuda.loads(), 5) << "and the other variant not even loaded";
}

TEST_F(VariantTuner, where_no_variant_is_better_the_first_stays_and_the_next_process_knows)
{
    start({.others = {variant("1")}});
    m_device.time_us = {{1, 100}, {2, 99}};
    run_until_settled();
    EXPECT_EQ(record().winner, "first");
    launch_times(3);
    EXPECT_EQ(last_launched(), 1U);
    go_on_in_a_new_process();
    launch_times(50);
    EXPECT_EQ(record().winner, "first");
    EXPECT_EQ(m_cuda.loads(), 3) << "only the first is loaded again";
}

TEST_F(VariantTuner, no_launch_is_added_or_repeated_and_until_then_the_first_runs)
{
    start({.others = {variant("1")}}, 50);
    launch_times(49);
    EXPECT_EQ(m_device.launched, std::vector<std::uintptr_t>(49, 1)) << "nothing but the first";
    EXPECT_EQ(m_device.recorded, 0);
    run_until_settled();
    EXPECT_EQ(m_device.launched.size(), record().launches);
}

// Asking about an event in the usual mode would end the captures of other threads.
TEST_F(VariantTuner, launches_of_a_variant_are_timed_in_turn_with_the_first_and_captures_of_other_threads_go_on)
{
    settle_on_a_variant();
    EXPECT_EQ(std::count(m_device.launched.begin(), m_device.launched.end(), 2), 20);
    EXPECT_EQ(record().variants.at(0).launches, 20U);
    EXPECT_EQ(m_device.recorded, 80) << "two events each";
    EXPECT_EQ(m_device.strict_queries, 0);
}

TEST_F(VariantTuner, variants_that_cannot_be_launched_are_dropped_with_the_reason_and_the_others_compete)
{
    Variant same_name = variant("2");
    same_name.name = "1";
    Variant nameless = variant("2");
    nameless.name.clear();
    start({.others = {variant("666"), variant("1"), same_name, variant("3"), specialise({{"N", 9}}), nameless}});
    m_driver.function = [](CUfunc_st** function, CUmod_st* module, const char*) {
        *function = reinterpret_cast<CUfunc_st*>(module);
        return reinterpret_cast<std::uintptr_t>(module) == 3 ? gpu::cuda::k_not_found : 0;
    };
    m_device.time_us = {{1, 100}, {2, 60}};
    run_until_settled();
    EXPECT_EQ(record().winner, "1");
    const std::vector<MeasuredVariant> variants = record().variants;
    const std::map<std::size_t, std::string> reasons{
        {1, "does not compile"}, {3, "this name"}, {4, "no kernel"}, {5, "N is argument 9"}, {6, "no name"}};
    for (const auto& [number, reason] : reasons) {
        EXPECT_EQ(variants.at(number).state, VariantState::dropped) << number;
        EXPECT_NE(variants.at(number).why.find(reason), std::string::npos) << variants.at(number).why;
    }
    EXPECT_EQ(m_cuda.loads(), 3) << "the first, the winner, and the one without the kernel";
    EXPECT_EQ(stored().size(), 1U) << "the next process drops them too";
}

TEST_F(VariantTuner, a_variant_that_is_not_launched_is_dropped_and_the_program_gets_the_first)
{
    start({.others = {variant("1"), variant("2"), variant("3")}});
    m_device.time_us = {{1, 100}, {4, 60}};
    m_device.refuses = {{2, 1}, {3, 701}};  // CUDA_ERROR_INVALID_VALUE, as for too large a block; ..._OUT_OF_RESOURCES
    run_until_settled();
    EXPECT_EQ(record().winner, "3");
    for (const std::size_t dropped : {1U, 2U}) {
        EXPECT_EQ(record().variants.at(dropped).state, VariantState::dropped);
        EXPECT_NE(record().variants.at(dropped).why, "");
    }
    EXPECT_EQ(m_device.launched.size(), record().launches) << "each launch has run once";
}

TEST_F(VariantTuner, a_winner_runs_inside_a_capture_and_again_after_a_launch_that_failed_for_another_reason)
{
    settle_on_a_variant();
    m_device.capturing = 1;
    launch_times(1);
    EXPECT_EQ(last_launched(), 2U);
    m_device.refuses = {{2, 2}};  // CUDA_ERROR_OUT_OF_MEMORY: a reason that passes
    launch_times(1);
    EXPECT_EQ(last_launched(), 1U);
    m_device.refuses = {{1, 1}, {2, 1}};  // what the first would not do either is the program's mistake
    EXPECT_EQ(launch().error().code, Code::invalid_argument);
    m_device.refuses = {};
    launch_times(1);
    EXPECT_EQ(last_launched(), 2U);
    EXPECT_EQ(record().winner, "1");
}

TEST_F(VariantTuner, nothing_is_measured_inside_a_capture_or_after_one_of_a_class_or_of_none)
{
    Variants variants{.others = {variant("1")}};
    variants.shape_class = [](const LaunchConfig& asked, std::span<const Argument>) -> std::string {
        return asked.block.x == 64 ? throw std::runtime_error("no class") : "all";
    };
    for (const unsigned block : {128U, 64U}) {
        start(variants);
        m_device.capturing = 1;
        for (int i = 0; i < 20; ++i)
            ASSERT_TRUE(launch(1000, block).ok());
        EXPECT_TRUE(m_tuner->records().empty());
        m_device.capturing = gpu::cuda::k_capture_none;
        launch_and_wait(30);
        EXPECT_EQ(m_device.recorded, 0) << "a graph of it may be live";
        EXPECT_EQ(m_device.launched, std::vector<std::uintptr_t>(50, last_launched())) << "nothing but the first";
    }
}

TEST_F(VariantTuner, a_device_that_lags_behind_is_never_waited_for)
{
    start({.others = {variant("1")}});
    m_device.time_us = {{2, 50}};
    m_device.behind = true;
    launch_until_recorded(80);
    launch_times(100);
    EXPECT_EQ(m_device.recorded, 80) << "no more than 20 rounds are out";
    EXPECT_EQ(record().winner, "");
    m_device.behind = false;
    launch_times(2);
    EXPECT_EQ(record().winner, "1");
}

TEST_F(VariantTuner, another_block_size_is_launched_with_the_programs_own_function)
{
    Variant large = variant("1");
    large.relaunch = [](LaunchConfig asked, std::span<const Argument>) { return asked.block = 512, asked; };
    start({.others = {large}});
    m_device.time_us = {{2, 50}};
    run_until_settled();
    launch_times(1);
    EXPECT_EQ(m_device.blocks.back(), 512U);
    EXPECT_EQ(m_device.blocks.front(), 128U);
}

TEST_F(VariantTuner, each_value_of_a_constant_has_its_own_kernel_and_its_own_winner)
{
    start({.others = {specialise({{"VALUE", 1}})}, .max_classes = 2});
    m_device.time_us = {{2, 50}, {3, 200}};
    run_until_settled(7);
    m_device.recorded = 0;
    run_until_settled(8);
    ASSERT_EQ(m_tuner->records().size(), 2U);
    EXPECT_EQ(m_tuner->records()[0].shape, "threads<=1024 VALUE=7");
    EXPECT_EQ(m_tuner->records()[0].winner, "specialised");
    EXPECT_EQ(m_tuner->records()[1].winner, "first");
    ASSERT_TRUE(launch(7).ok());
    EXPECT_EQ(last_launched(), 2U);
    ASSERT_TRUE(launch(8).ok());
    EXPECT_EQ(last_launched(), 1U);
    for (int n = 100; n < 150; ++n)
        ASSERT_TRUE(launch(n).ok());
    EXPECT_EQ(m_tuner->records().size(), 2U) << "the number of classes is bounded";
    EXPECT_EQ(last_launched(), 1U);
}

TEST_F(VariantTuner, with_variants_after_0_nothing_is_measured_but_a_known_winner_runs)
{
    start({.others = {variant("1")}}, 0);
    m_device.time_us = {{2, 50}, {3, 50}};
    launch_and_wait(30);
    EXPECT_EQ(m_device.recorded, 0);
    start({.others = {variant("1")}});
    m_device.time_us = {{3, 50}};
    run_until_settled();
    start({.others = {variant("1")}}, 0);
    launch_until_known();
    EXPECT_EQ(record().winner, "1");
}

TEST_F(VariantTuner, another_driver_is_measured_anew)
{
    settle_on_a_variant();
    m_driver.driver_version = [](int* version) {
        *version = 13010;
        return 0;
    };
    go_on_in_a_new_process();
    EXPECT_EQ(record().winner, "");
}

TEST_F(VariantTuner, a_record_that_somebody_else_wrote_names_only_what_is_declared_here)
{
    settle_on_a_variant();
    // The same question with an answer that makes no sense.
    const std::vector<Key> records = stored();
    ASSERT_EQ(records.size(), 1U);
    Artifact artifact = *m_cache->peek(records[0], EntryKind::manifest);
    std::string text(artifact.text("record"));
    text.replace(text.find(R"("winner":"1")"), 12, R"("winner":"9")");
    artifact.sections[0].data = Bytes::copy_of(text);
    ASSERT_TRUE(m_cache->insert(records[0], artifact, {.kind = EntryKind::manifest}).ok());
    go_on_in_a_new_process();
    EXPECT_EQ(record().winner, "") << "it is measured again";
}

TEST_F(VariantTuner, a_winner_whose_code_is_gone_is_compiled_in_the_background_while_the_first_runs)
{
    settle_on_a_variant();
    ASSERT_TRUE(m_cache->remove(compiled().at("-DVALUE=1")));
    start({.others = {variant("1")}});
    std::vector<std::thread::id> loading;
    m_cuda.in_load = [&](const std::string&) { loading.push_back(std::this_thread::get_id()); };
    launch_until_known();
    m_cuda.in_load = nullptr;
    EXPECT_EQ(record().winner, "1");
    ASSERT_EQ(loading.size(), 2U) << "the first, and the winner";
    EXPECT_EQ(loading[0], std::this_thread::get_id());
    EXPECT_NE(loading[1], std::this_thread::get_id());
}

TEST_F(VariantTuner, one_macro_of_two_types_is_compiled_in_as_each_variant_says)
{
    start({.others = {specialise({{"VALUE", 1, Constant::Type::integer}}, "signed"),
                      specialise({{"VALUE", 1, Constant::Type::natural}}, "unsigned")}});
    run_until_settled(7);
    const std::map<std::string, Key> code = compiled();
    EXPECT_EQ(code.size(), 2U);
    EXPECT_TRUE(code.contains("-DVALUE=7"));
    EXPECT_TRUE(code.contains("-DVALUE=7u"));
}

TEST_F(VariantTuner, launches_of_the_program_that_fail_prove_nothing_and_leave_no_record)
{
    start({.others = {variant("1")}});
    launch_until_recorded(4);
    m_device.refuses = {{1, 700}, {2, 700}};  // CUDA_ERROR_ILLEGAL_ADDRESS
    for (int i = 0; i < 500; ++i)
        EXPECT_FALSE(launch().ok());
    EXPECT_EQ(record().winner, "");
    EXPECT_EQ(stored().size(), 0U);
}

TEST_F(VariantTuner, a_variant_that_is_refused_for_a_reason_that_passes_is_tried_again_by_the_next_process)
{
    start({.others = {variant("1")}});
    m_device.refuses = {{2, 2}};  // CUDA_ERROR_OUT_OF_MEMORY
    run_until_settled();
    EXPECT_EQ(record().winner, "first");
    EXPECT_EQ(stored().size(), 0U);
}

TEST_F(VariantTuner, a_captured_launch_of_one_class_ends_the_measuring_of_all_that_are_known_or_come_later)
{
    for (const bool known : {true, false}) {
        start({.others = {specialise({{"VALUE", 1}})}});
        run_until_settled(7);
        ASSERT_TRUE(!known || launch(8).ok());
        m_device.capturing = 1;
        ASSERT_TRUE(launch(7).ok());
        m_device.capturing = gpu::cuda::k_capture_none;
        m_device.recorded = 0;
        launch_and_wait(30, 8);
        EXPECT_EQ(m_device.recorded, 0) << known;
    }
}

// Each in a launch of a class of its own, at the same moment.
TEST_F(VariantTuner, two_threads_may_ask_in_the_programs_function_what_is_known)
{
    std::barrier<> both(2);
    std::atomic<bool> at_once = false;
    Variant asking = variant("1");
    asking.relaunch = [&](const LaunchConfig& asked, std::span<const Argument>) {
        if (at_once)
            both.arrive_and_wait();
        EXPECT_EQ(m_tuner->records().size(), 2U);
        return asked;
    };
    start({.others = {asking}}, 2);
    let_threads_launch();
    for (int i = 0; i < 2; ++i) {
        ASSERT_TRUE(launch(1000, 128).ok());
        ASSERT_TRUE(launch(1000, 1024).ok());
        wait_for_background();
    }
    at_once = true;
    in_threads(2, [&](std::uint64_t number) {
        FakeCuda::make_current(m_context);
        for (int i = 0; i < 2; ++i)  // one turn of each variant
            EXPECT_TRUE(launch(1000, number == 0 ? 128 : 1024).ok());
    });
}

TEST_F(VariantTuner, the_programs_function_may_launch_the_kernel)
{
    int depth = 0;
    Variant launching = variant("1");
    launching.relaunch = [&](const LaunchConfig& asked, std::span<const Argument>) {
        if (depth++ == 0) {
            for (int i = 0; i < 60; ++i)
                EXPECT_TRUE(launch().ok());
            unload_unused_modules();
        }
        --depth;
        return asked;
    };
    start({.others = {launching}});
    m_device.time_us = {{2, 900}};
    run_until_settled();
    EXPECT_EQ(record().winner, "first");
}

TEST_F(VariantTuner, a_forked_child_can_ask_what_is_known_while_the_parent_times_a_launch)
{
    std::latch inside(1);
    std::latch forked(1);
    std::atomic<bool> waits = false;
    Variant slow = variant("1");
    slow.relaunch = [&](const LaunchConfig& asked, std::span<const Argument>) {
        if (waits.exchange(false)) {
            inside.count_down();
            forked.wait();
        }
        return asked;
    };
    start({.others = {slow}}, 2);
    let_threads_launch();
    launch_and_wait(3);
    waits = true;
    std::jthread launching([&] {
        FakeCuda::make_current(m_context);
        while (waits)
            EXPECT_TRUE(launch().ok());
    });
    inside.wait();
    const pid_t child = ::fork();
    if (child == 0)
        ::_exit(m_tuner->records().size() == 1 ? 0 : 1);
    EXPECT_TRUE(child_was_right(child));
    forked.count_down();
}

TEST_F(VariantTuner, a_winner_whose_own_header_was_edited_is_measured_anew)
{
    const auto write = [&](const char* text) { std::ofstream(m_scratch / "tile.h") << text; };
    write("#define VALUE 1\n");
    m_program.source = "#ifdef FAST\n#include \"tile.h\"\n#endif\n" + m_program.source;
    m_program.options = {"-I" + m_scratch.path()};
    const Variants variants{.others = {{.name = "fast", .options = {"-DFAST"}}}};
    start(variants);
    m_device.time_us = {{2, 50}};
    run_until_settled();
    start(variants);
    launch_until_known();
    EXPECT_EQ(record().winner, "fast");
    write("#define VALUE 2\n");
    start(variants);
    launch_until_known();
    EXPECT_EQ(record().winner, "") << "that code was never measured";
    run_until_settled();
    EXPECT_EQ(record().winner, "first") << "and it is no better";
}

TEST_F(VariantTuner, a_record_that_is_used_counts_as_used)
{
    settle_on_a_variant();
    for (int i = 0; i < 2; ++i) {
        go_on_in_a_new_process();
        EXPECT_EQ(record().launches, 0U) << "it was found";
    }
    const std::vector<Key> records = stored();
    ASSERT_EQ(records.size(), 1U);
    m_cache->flush();
    EXPECT_GE(admin::info(*m_cache, records[0])->uses, 2U);
}

TEST_F(VariantTuner, what_was_proven_is_stored_whatever_happens_before_it_is)
{
    start({.others = {variant("1")}});
    m_device.time_us = {{2, 50}};
    launch_until_recorded(80);
    std::latch busy(1);
    std::latch go_on(1);
    int other = 0;
    base::Background::of_process().submit(&other, [&] {
        busy.count_down();
        go_on.wait();
    });
    busy.wait();
    launch_times(2);
    EXPECT_EQ(record().winner, "1");
    m_device.refuses = {{2, 701}};  // CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES
    launch_times(1);
    m_device.refuses = {};
    go_on.count_down();
    wait_for_background();
    go_on_in_a_new_process();
    EXPECT_EQ(record().winner, "1");
    EXPECT_EQ(record().launches, 0U) << "it was found";
}

TEST_F(VariantTuner, a_known_winner_that_the_driver_refuses_is_told_as_dropped_with_the_reason)
{
    settle_on_a_variant();
    go_on_in_a_new_process();
    launch_times(1);
    EXPECT_EQ(last_launched(), 4U);
    m_device.refuses = {{4, 701}};
    launch_times(2);
    EXPECT_EQ(last_launched(), 3U);
    EXPECT_EQ(record().winner, "first");
    EXPECT_EQ(record().variants.at(1).state, VariantState::dropped);
    EXPECT_NE(record().variants.at(1).why, "");
    EXPECT_NEAR(record().variants.at(1).ratio, 0.5, 0.01) << "what was measured is still told";
}

// The fixture's end looks for what is left.
TEST_F(VariantTuner, a_kernel_that_goes_while_its_variants_are_compiled_leaves_nothing_behind)
{
    start({.others = {variant("1"), variant("2"), variant("3")}}, 1);
    launch_times(2);
}

// NVRTC's own destructors would pull the ground from under a compile that nobody waits for.
TEST_F(VariantTuner, a_process_that_ends_while_variants_are_compiled_ends_well)
{
#ifdef HEARTH_HAS_ASAN
    GTEST_SKIP() << "What a process has in hand when it ends is a leak to this sanitizer.";
#endif
    start({.others = {variant("1")}});
    ASSERT_TRUE(first());
    std::string heavy = m_program.source;
    heavy += R"(
template <int N> struct F { __device__ static float f(float x) { return F<N-1>::f(x) * x + F<N-1>::f(x + VALUE); } };
template <> struct F<0> { __device__ static float f(float x) { return x + 1; } };
extern "C" __global__ void big(float* o) { o[threadIdx.x] = F<9>::f(o[threadIdx.x]); })";
    m_environment.set("HEARTH_DIR", m_scratch / "shared");
    for (int delay_ms = 0; delay_ms < 400; delay_ms += 50) {
        const pid_t child = ::fork();
        if (child == 0) {
            std::vector<Variant> many;
            for (int i = 0; i < 20; ++i)
                many.push_back(variant(std::to_string(::getpid() * 100 + i)));
            m_tuner.release();  // the parent's, with a thread that did not come along
            auto* const tuner = new Tuner(Cache::shared(), {.source = heavy}, "fill",
                                          Variants{.others = many, .after_launches = 1}, nvrtc::CompileOptions{});
            float* out = nullptr;
            const int n = 1;
            for (int i = 0; i < 2; ++i)
                static_cast<void>(tuner->launch(
                    m_driver, [this] { return first(); }, {.grid = 8, .block = 128}, cuda::detail::arguments(out, n)));
            std::this_thread::sleep_for(std::chrono::milliseconds(delay_ms));
            std::exit(0);
        }
        EXPECT_TRUE(child_was_right(child)) << "after " << delay_ms << " ms";
    }
}

TEST_F(VariantTuner, threads_that_launch_at_once_all_launch_once)
{
    start({.others = {variant("1"), variant("2")}});
    let_threads_launch();
    launch_and_wait(3);  // from now on launches are timed
    in_threads(4, [&](std::uint64_t) {
        FakeCuda::make_current(m_context);
        for (int n = 0; n < 2000; ++n)
            EXPECT_TRUE(launch().ok());
    });
    EXPECT_EQ(g_launches, 8003);
    EXPECT_EQ(record().winner, "first");
}

}  // namespace hearth::test

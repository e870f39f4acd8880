// sample_cache DIRECTORY ENTRIES [LABEL]: a cache as a fleet's would look after a week, for the tests of the page, its
// figures and its pictures. The same in every run, but for the time.
#include "hearth/admin.hpp"
#include "support/manual_clock.hpp"

#include <fmt/format.h>

#include <array>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <iostream>
#include <optional>
#include <random>

namespace hearth::test {

namespace {

struct SampleCompiler {
    const char* name;
    const char* ending;
    double seconds;  // of a usual compile
    int weight;
};

constexpr std::array k_compilers{
    SampleCompiler{"nvrtc 13.0", ".cu", 1.2, 45}, SampleCompiler{"nvcc 13.0", ".cu", 24, 20},
    SampleCompiler{"triton 3.6", "", 0.8, 20},    SampleCompiler{"inductor 2.11", "", 6, 8},
    SampleCompiler{"g++ 12.2", ".cpp", 9, 4},     SampleCompiler{"jax 0.10", "", 30, 3}};
constexpr std::array k_kernels{"flash_fwd",    "rms_norm",     "silu_and_mul", "paged_attention", "rotary_embedding",
                               "topk_softmax", "moe_align",    "gemm_bf16",    "gemm_fp8",        "layer_norm_bwd",
                               "sampling",     "batch_decode", "dequant_awq",  "fused_add",       "cross_entropy"};
constexpr std::array k_targets{"sm_90", "sm_90a", "sm_80", "sm_89", "sm_100"};

class Sample {
public:
    Sample(const std::string& directory, std::size_t entries, std::string label)
        : m_entries(entries), m_label(std::move(label)), m_began(as_of_now() - std::chrono::hours(7 * 24))
    {
        m_clock.set(m_began);
        CacheOptions options;
        options.directory = directory;
        options.memory_bytes = 64_MiB;
        options.maintenance = Maintenance::by_hand;
        options.clock = &m_clock;
        m_cache.emplace(*Cache::open(std::move(options)));
    }

    // Most is stored at once; some hundreds of kernels are compiled and asked for again, over a week.
    void fill()
    {
        const std::size_t compiled = std::min<std::size_t>(m_entries, 400);
        for (std::size_t i = compiled; i < m_entries; ++i)
            static_cast<void>(m_cache->insert(request(i), artifact(i)));
        for (std::size_t hour = 0; hour < 7 * 24; ++hour) {
            m_clock.set(m_began + std::chrono::hours(hour));
            const double busy = 1 + std::sin(static_cast<double>(hour % 24) / 24 * 6.28 - 2);
            const auto lookups = static_cast<std::size_t>(busy * 20) + m_random() % 4;
            // New kernels come all the time, and most of what is asked for is there.
            const std::size_t known = compiled * (hour + 12) / (7 * 24 + 12);
            for (std::size_t i = 0; i < lookups; ++i)
                ask(m_random() % std::max<std::size_t>(1, known));
            m_cache->flush();
        }
        m_clock.set(as_of_now());
        if (!m_label.empty())
            ask(0, m_label);
        m_cache->flush();
    }

private:
    static WallTime as_of_now()
    {
        return std::chrono::time_point_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now());
    }

    const SampleCompiler& compiler(std::size_t i) const
    {
        auto left = static_cast<int>(i * 7919 % 100);
        for (const SampleCompiler& one : k_compilers)
            if (left -= one.weight; left < 0)
                return one;
        return k_compilers.front();
    }

    Metadata metadata(std::size_t i) const
    {
        const SampleCompiler& by = compiler(i);
        const char* const target = k_targets[i / 7 % k_targets.size()];
        return {.label = fmt::format("{}_{}{}", k_kernels[i % k_kernels.size()], i / 30, by.ending),
                .compiler = by.name,
                .target = target,
                .options = {fmt::format("-arch={}", target), "-std=c++20"}};
    }

    Request request(std::size_t i) const
    {
        const Metadata about = metadata(i);
        return KeyBuilder("sample")
            .text("compiler", about.compiler)
            .text("source", about.label)
            .text("target", about.target)
            .list("options", about.options)
            .number("tile", 16U << (i % 3))
            .build();
    }

    Artifact artifact(std::size_t i) const
    {
        std::mt19937 random(static_cast<unsigned>(i));
        std::string bytes(m_entries > 10'000 ? 200 : 2000 + random() % 60'000, '\0');
        for (char& byte : bytes)
            byte = static_cast<char>(random() & 0xFFU);
        Artifact made(bytes);
        made.metadata = metadata(i);
        made.request = request(i).encoding();
        made.cost = std::chrono::nanoseconds(
            static_cast<std::int64_t>(compiler(i).seconds * 1e9 * (0.3 + static_cast<double>(random() % 1000) / 400)));
        return made;
    }

    void ask(std::size_t i, const std::string& label = "")
    {
        Artifact made = artifact(i);
        if (!label.empty())
            made.metadata.label = label;
        const Request asked =
            label.empty() ? request(i) : KeyBuilder("sample").text("compiler", "nvrtc").text("source", label).build();
        made.request = asked.encoding();
        static_cast<void>(m_cache->get_or_compile(asked, [&] { return made; }, {.metadata = made.metadata}));
    }

    std::size_t m_entries;
    std::string m_label;
    WallTime m_began;
    ManualClock m_clock;
    std::mt19937 m_random{17};
    std::optional<Cache> m_cache;
};

}  // namespace

}  // namespace hearth::test

int main(int argc, char** argv)
{
    if (argc < 3) {
        std::cerr << "sample_cache DIRECTORY ENTRIES [LABEL]\n";
        return 2;
    }
    hearth::test::Sample(argv[1], std::strtoull(argv[2], nullptr, 10), argc > 3 ? argv[3] : "").fill();
}

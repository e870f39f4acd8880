#include "base/error.hpp"
#include "base/own_thread.hpp"
#include "hearth/admin.hpp"
#include "hearth/cuda.hpp"
#include "modules/compile_here.hpp"
#include "modules/ptx_module.hpp"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <fmt/format.h>
#include <functional>
#include <mutex>
#include <thread>

namespace hearth::cuda {

namespace {

constexpr unsigned k_most_threads = 8;

enum class Outcome : std::uint8_t { loaded, skipped };

// Runs `load(i)` for every i below `count` on some threads, each in the place's context.
PreloadReport load_all(const Result<Place>& place, std::size_t count, const PreloadOptions& options,
                       const std::function<Result<Outcome>(std::size_t)>& load)
{
    PreloadReport report;
    if (!place) {
        report.problems.push_back(place.error().message);
        return report;
    }
    std::mutex mutex;
    std::atomic<std::size_t> next{0};
    const auto work = [&] {
        const gpu::ScopedContext context(*place->driver, place->context);
        // relaxed: only the number itself is used.
        for (std::size_t i = 0; (i = next.fetch_add(1, std::memory_order_relaxed)) < count;) {
            const Result<Outcome> outcome =
                context.ok() ? load(i) : Result<Outcome>(error(Code::unavailable, "The CUDA context is gone."));
            const std::lock_guard lock(mutex);
            if (!outcome)
                report.problems.push_back(outcome.error().message);
            else
                ++(*outcome == Outcome::loaded ? report.loaded : report.skipped);
        }
    };
    const unsigned wanted =
        options.threads != 0 ? options.threads : std::clamp(std::thread::hardware_concurrency(), 1U, k_most_threads);
    std::vector<std::thread> threads;
    // As many as the system gives; this thread works too.
    while (threads.size() + 1 < std::min<std::size_t>(wanted, count)) {
        std::thread thread;
        if (!base::try_start_thread(thread, [&] { work(); }))
            break;
        threads.push_back(std::move(thread));
    }
    work();
    for (std::thread& thread : threads)
        thread.join();
    return report;
}

// "sm_90a" is 90, exactly.
struct Architecture {
    int number = 0;
    bool this_chip_only = false;

    static Architecture of(std::string_view target)
    {
        Architecture architecture;
        if (!target.starts_with("sm_"))
            return architecture;
        target.remove_prefix(3);
        const auto end = std::from_chars(target.data(), target.data() + target.size(), architecture.number).ptr;
        architecture.this_chip_only = end != target.data() + target.size();
        return architecture;
    }
    // A CUBIN runs on the same major and an equal or higher minor. An "f" one also runs on other chips; which ones is
    // found out when it is asked for.
    bool runs_on(const Architecture& device) const
    {
        return this_chip_only ? number == device.number : number / 10 == device.number / 10 && number <= device.number;
    }
};

}  // namespace

PreloadReport preload(std::span<const Kernel* const> kernels, const PreloadOptions& options)
{
    return load_all(place_here(), kernels.size(), options, [&](std::size_t i) -> Result<Outcome> {
        const Status warm = kernels[i]->warm();
        HEARTH_TRY(warm);
        return Outcome::loaded;
    });
}

PreloadReport preload(Cache& cache, std::span<const nvrtc::Program> programs, const PreloadOptions& options)
{
    const Result<Place> place = place_here();
    return load_all(place, programs.size(), options, [&](std::size_t i) -> Result<Outcome> {
        HEARTH_TRY(load_here(ModuleTable::of_process(), *place, cache, [&](Cache& through) {
            return compile_here(*place->driver, through, programs[i], nvrtc::CompileOptions{});
        }));
        return Outcome::loaded;
    });
}

PreloadReport preload(Cache& cache, std::span<const ptx::Program> programs, const PreloadOptions& options)
{
    const Result<Place> place = place_here();
    return load_all(place, programs.size(), options, [&](std::size_t i) -> Result<Outcome> {
        HEARTH_TRY(load_ptx(ModuleTable::of_process(), *place, cache, {programs[i].text, programs[i], {}}));
        return Outcome::loaded;
    });
}

PreloadReport preload_hottest(Cache& cache, std::size_t count, const PreloadOptions& options)
{
    const Result<Place> place = place_here();
    int device = 0;
    Architecture here;
    if (place && place->driver->current_device(&device) == gpu::cuda::k_success)
        if (const Result<std::string> target = gpu::target_of_device(*place->driver, device))
            here = Architecture::of(*target);
    const std::vector<EntryRow> rows = place ? admin::hottest(cache, count) : std::vector<EntryRow>{};
    return load_all(place, rows.size(), options, [&](std::size_t i) -> Result<Outcome> {
        const EntryRow& row = rows[i];
        const Architecture target = Architecture::of(row.metadata.target);
        if (row.status != 0 || target.number == 0 || !target.runs_on(here))
            return Outcome::skipped;
        const Lookup found = cache.peek(row.key);
        if (!found || found->bytes("cubin").empty())
            return Outcome::skipped;
        // Only its key is known here, so the next caller that asks for it compiles it. What one node's driver rejects
        // may be good for the others.
        const auto replace = [&](const Error& rejection) -> Result<Bytes> {
            cache.remove(row.key, Reach::this_machine);
            return rejection;
        };
        const Result<ModuleLease> module =
            ModuleTable::of_process().get(*place->driver, place->context, row.key, found->bytes("cubin"), replace);
        HEARTH_TRY(module);
        return Outcome::loaded;
    });
}

}  // namespace hearth::cuda

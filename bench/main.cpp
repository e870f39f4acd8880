// hearth_bench [--json FILE] [--only NAME]... [--quick] [--strict]: measures and prints one table, then which bars were
// missed. With --strict a missed bar is exit status 1. hearth_bench --bars: prints the bars and measures nothing.

#include "benches.hpp"

#include <algorithm>
#include <cstdio>
#include <fmt/format.h>
#include <functional>

namespace hearth::bench {

// Whether this build has them: what is missing is said.
constexpr std::pair<const char*, bool> k_rivals[] = {{"TBB's concurrent map", HEARTH_HAVE_TBB},
                                                     {"RocksDB's HyperClockCache", HEARTH_HAVE_ROCKSDB},
                                                     {"SQLite", HEARTH_HAVE_SQLITE3},
                                                     {"LMDB", HEARTH_HAVE_LMDB}};

int run_as_child(const std::vector<std::string>& arguments)
{
    const std::vector<std::string> rest(arguments.begin() + 1, arguments.end());
    if (arguments[0] == "disk")
        return disk_child(rest);
    if (arguments[0] == "bundle")
        return bundle_child(rest);
    if (arguments[0] == "flight")
        return flight_child(rest);
    if (arguments[0] == "nvrtc")
        return nvrtc_child(rest);
    if (arguments[0] == "recipes")
        return recipe_child(rest);
    if (arguments[0] == "run")
        return run_child(rest);
#ifdef HEARTH_BENCH_REMOTE
    if (arguments[0] == "remote")
        return remote_child(rest);
#endif
    return open_child(rest);
}

}  // namespace hearth::bench

int main(int argc, char** argv)
{
    using namespace hearth::bench;
    const std::vector<std::string> arguments(argv + 1, argv + argc);
    if (arguments.size() > 1 && arguments[0] == "--child")
        return run_as_child({arguments.begin() + 1, arguments.end()});

    std::string json;
    std::vector<std::string> only;
    Effort effort = Effort::full;
    bool strict = false;
    for (std::size_t i = 0; i < arguments.size(); ++i) {
        if (arguments[i] == "--json" && i + 1 < arguments.size()) {
            json = arguments[++i];
        } else if (arguments[i] == "--only" && i + 1 < arguments.size()) {
            only.push_back(arguments[++i]);
        } else if (arguments[i] == "--quick") {
            effort = Effort::quick;
        } else if (arguments[i] == "--strict") {
            strict = true;
        } else if (arguments[i] == "--bars") {
            print_bars();
            return 0;
        } else {
            fmt::print(
                stderr,
                "usage: hearth_bench [--json FILE] [--only "
                "memory|disk|bundle|scale|flight|policy|nvrtc|recipes|run|command|kernel|variants|vram|remote]... "
                "[--quick] [--strict] | --bars\n");
            return 2;
        }
    }

    Report report;
    const auto run = [&](const char* name, const std::function<void()>& bench) {
        if (only.empty() || std::find(only.begin(), only.end(), name) != only.end())
            bench();
    };
    for (const auto& [rival, built_with] : k_rivals)
        if (!built_with)
            report.note(fmt::format("Rows beside {} are left out: it was not found when this was built "
                                    "(scripts/install-deps bench).",
                                    rival));
    run("memory", [&] { bench_memory(report); });
    run("disk", [&] { bench_disk(report); });
    run("bundle", [&] { bench_bundle(report); });
    run("scale", [&] { bench_scale(report, effort); });
    run("flight", [&] { bench_flight(report); });
    run("policy", [&] { bench_policy(report); });
    run("nvrtc", [&] { bench_nvrtc(report); });
    run("recipes", [&] { bench_recipes(report); });
    run("kernel", [&] { bench_kernel(report); });
    run("variants", [&] { bench_variants(report); });
    run("vram", [&] { bench_vram(report); });
    run("command", [&] { bench_command(report); });
    // Loads the drop-in, which then watches NVRTC in the library's stead.
    run("run", [&] { bench_run(report); });
#ifdef HEARTH_BENCH_REMOTE
    run("remote", [&] { bench_remote(report); });
#else
    report.note("remote.*: left out: libcurl or GoogleTest (for the servers of the tests) was not found");
#endif
    report.print();
    if (!json.empty() && !report.write_json(json)) {
        fmt::print(stderr, "hearth_bench: cannot write {}\n", json);
        return 3;
    }
    return strict && !report.all_met() ? 1 : 0;
}

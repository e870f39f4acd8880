#pragma once

#include <cstdint>
#include <string_view>

namespace hearth::bench {

// What each row is held to: the one place where a bar is written. The report looks its rows up here. docs/benchmarks.md
// shows the same table (`hearth_bench --bars` prints it), and a test in tests/docs compares the two.
struct Bar {
    enum class Is : std::uint8_t { at_most, at_least };

    std::string_view rows;  // a row's name; * stands for any text
    Is is;
    double limit;
    std::string_view unit;  // "x": of the ratio to what the row stands beside; otherwise of the value
};

// One line a bar.
// clang-format off
inline constexpr Bar k_bars[] = {
    {"nvrtc_miss.*",                               Bar::Is::at_most,  1.05, "x"},
    {"nvrtc_hit.small.fresh_process",              Bar::Is::at_most,  0.6,  "ms"},
    {"nvrtc_hit.cub.fresh_process",                Bar::Is::at_most,  2.5,  "ms"},
    {"nvrtc_hit.cub.one_more_in_a_process",        Bar::Is::at_most,  1,    "ms"},
    {"nvrtc.16_processes_one_kernel",              Bar::Is::at_most,  1.05, "x"},
    {"nvrtc.16_processes_one_kernel.compiles",     Bar::Is::at_most,  1,    "compiles"},
    {"process.small_hit.over_an_empty_program",    Bar::Is::at_most,  1.5,  "ms"},
    {"process.small_hit.hearth_run",               Bar::Is::at_most,  1.5,  "x"},
    {"run.adds_to_a_process",                      Bar::Is::at_most,  3,    "ms"},
    {"command_hit.nvcc_small.ccache",              Bar::Is::at_most,  1.5,  "x"},
    {"command_hit.sampling",                       Bar::Is::at_most,  50,   "ms"},
    {"command_miss.*",                             Bar::Is::at_most,  1.05, "x"},
    {"kernel_handle.one_thread",                   Bar::Is::at_most,  2,    "ns"},
    {"kernel_handle.scaling",                      Bar::Is::at_least, 0.8,  "x"},
    {"kernel_request.warm_disk",                   Bar::Is::at_most,  1.5,  "x"},
    {"memory_hit.uniform.one_thread",              Bar::Is::at_least, 25,   "M/s"},
    {"memory_hit.zipf.one_thread",                 Bar::Is::at_least, 40,   "M/s"},
    {"memory_hit.one_hot_key.one_thread",          Bar::Is::at_least, 40,   "M/s"},
    {"memory_hit.*.scaling",                       Bar::Is::at_least, 0.8,  "x"},
    {"memory_hit.*.tbb",                           Bar::Is::at_least, 1,    "x"},
    {"disk_hit.*.fresh_process",                   Bar::Is::at_most,  1.2,  "x"},
    {"open.1e6_entries",                           Bar::Is::at_most,  1,    "ms"},
    {"disk_hit.1e?_entries",                       Bar::Is::at_most,  1.2,  "x"},
    {"eviction_flat.*",                            Bar::Is::at_most,  1.5,  "x"},
    {"single_flight.64_threads",                   Bar::Is::at_most,  1.05, "x"},
    {"single_flight.16_processes",                 Bar::Is::at_most,  1.05, "x"},
    {"single_flight.*.compiles",                   Bar::Is::at_most,  1,    "compiles"},
    {"policy.lost.*_percent",                      Bar::Is::at_most,  1,    "x"},
    {"bundle_hit.4k",                              Bar::Is::at_most,  1,    "x"},
    {"bundle_hit.124k",                            Bar::Is::at_most,  1,    "x"},
    {"bundle_open.1e5_entries",                    Bar::Is::at_most,  2,    "x"},
    {"bundle_open.1e5_entries.fresh_process",      Bar::Is::at_most,  1000, "us"},
    {"variants.*.settled",                         Bar::Is::at_most,  1.01, "x"},
    {"vram.lease",                                 Bar::Is::at_most,  100,  "ns"},
    {"vram.read.*k",                               Bar::Is::at_most,  1.15, "x"},
    {"vram.read_many.1024x1k",                     Bar::Is::at_most,  1.3,  "x"},
    {"vram.insert.*k",                             Bar::Is::at_most,  1.5,  "x"},
    {"vram.insert.1k",                             Bar::Is::at_most,  5,    "us"},
    {"remote.redis_hit.*",                         Bar::Is::at_most,  1.15, "x"},
    {"remote.dead.lookup",                         Bar::Is::at_most,  1.02, "x"},
};
// clang-format on

}  // namespace hearth::bench

#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace hearth::bench {

struct Kernel {
    std::uint64_t bytes = 0;
    double seconds = 0;  // to compile it
};

// Which kernels a fleet asks for, in order: indexes into `kernels`.
struct Trace {
    std::vector<Kernel> kernels;
    std::vector<std::uint32_t> requests;
};

// Sizes are log-uniform from 1 KB to 100 MB, compile times lie from 30 ms to 60 s. Popularity is Zipf; now and then it
// drifts (kernels change places), and now and then something walks over a run of kernels once (a test suite, a
// warm-up).
struct TraceOptions {
    std::uint64_t seed = 1;
    std::uint32_t kernels = 6000;
    std::uint32_t requests = 200'000;
    double zipf = 0.9;
    // How far a compile time may lie from what the size alone would give, as a share of its (logarithmic) range:
    // with 0 it follows the size exactly, with 1 it has little to do with it.
    double cost_spread = 0.55;
    std::uint32_t drift_every = 5000;  // requests
    std::uint32_t drift_swaps = 100;   // pairs that change places
    std::uint32_t scan_length = 300;   // kernels
    double scan_share = 0.05;          // of all requests
};

// The same options give the same trace, on every machine.
Trace make_trace(const TraceOptions& options);

// What real programs asked for, as bench/trace/make_trace.py makes it of run logs: text, a line for each run.
//
//   traces := run+
//   run := family (" " lookup)+ "\n"
//   lookup := kernel (":" bytes ":" microseconds)?    decimal. Kernels are numbered from 0 as they appear, and have
//   their
//                                                    size and cost where they appear first
//
// A trace for each family of programs, and "mixed": the runs of all, if there are several. Empty if the file cannot be
// read or has anything else in it.
std::map<std::string, Trace> read_traces(const std::string& path);

}  // namespace hearth::bench

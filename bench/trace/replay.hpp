#pragma once

#include "hearth/policy.hpp"
#include "trace/trace.hpp"

#include <map>
#include <string>
#include <vector>

namespace hearth::bench {

std::uint64_t total_bytes(const Trace& trace);

// Serves the trace from one tier of `capacity` bytes that evicts as `policy` says.
// Gives the share of compile seconds that were not saved, in percent: 100 is no cache at all.
double percent_lost(const Trace& trace, std::uint64_t capacity, Policy& policy);

enum class Variant : std::uint8_t {
    loose,  // large kernels tend to take longer to compile
    close,  // the compile time nearly follows from the size, which leaves a policy that looks at both less to gain
};
TraceOptions trace_options(Variant variant, std::uint64_t seed);

struct TraceRow {
    std::string policy;         // lru, s3-fifo, gdsf
    std::string variant;        // loose, close, or a recorded trace's name
    double share_of_bytes = 0;  // the tier's capacity over the bytes of all kernels
    double percent_lost = 0;
};

// Every policy at 5 % and 20 % of the bytes; the mean over the traces.
std::vector<TraceRow> replay(const std::string& variant, const std::vector<Trace>& traces);
// Both variants that are made up, `traces` traces each, seeds 1 to `traces`.
std::vector<TraceRow> replay_made_up(std::uint32_t traces = 5);

// Those in bench/trace/recorded.trace, by their names.
std::map<std::string, Trace> recorded_traces();
// What no policy can save: the first compile of each kernel, in percent of the seconds asked for.
double percent_of_first_compiles(const Trace& trace);

}  // namespace hearth::bench

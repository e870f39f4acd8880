#pragma once

#include "hearth/admin.hpp"

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// What Prometheus is told. One table says what there is: names, types and help in the text, docs/metrics.md and the
// tests all come from it. Labels are bounded: never a key, a kernel's name or a path.

namespace hearth::cli {

enum class MetricKind : unsigned char { counter, gauge, histogram, info };
std::string_view to_string(MetricKind kind);

// What the samples are made from, read once.
struct MetricFacts {
    explicit MetricFacts(Cache& cache);

    Stats stats;  // of the directory
    std::vector<TierStatus> tiers;
    std::vector<std::pair<std::string, double>> idle_seconds;  // of tiers, by name
};

class MetricWriter;

struct Metric {
    std::string_view name;  // with its unit, without "_total"
    MetricKind kind;
    std::string_view unit;   // "seconds", "bytes" or none
    std::string_view label;  // empty: none
    std::string_view help;
    std::string_view query;  // PromQL that somebody would ask
    void (*write)(MetricWriter& out, const MetricFacts& facts);
};

std::span<const Metric> metric_table();

enum class MetricFormat : unsigned char {
    open_metrics,  // application/openmetrics-text; version=1.0.0; charset=utf-8
    text,          // Prometheus's older one, which node_exporter's textfile collector reads: text/plain; version=0.0.4
};

std::string metrics_text(Cache& cache, MetricFormat format = MetricFormat::open_metrics);

}  // namespace hearth::cli

#pragma once

#include "hearth/stats.hpp"
#include "metrics/metrics.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace hearth::cli {

// Writes the samples of one metric after the other.
class MetricWriter {
public:
    explicit MetricWriter(MetricFormat format) : m_format(format) {}

    void begin(const Metric& metric);
    // `label`: the value of the metric's label, if it has one.
    void sample(double value, std::string_view label = {});
    void sample(std::uint64_t value, std::string_view label = {});
    void histogram(const Latency& latency, std::string_view label = {});
    // A sample of 1 with these labels: name, value, name, value...
    void info(std::string_view labels);

    // The whole text.
    std::string finish();

private:
    void line(std::string_view suffix, std::string_view labels, std::string_view value);
    std::string labels_of(std::string_view value) const;

    const MetricFormat m_format;
    const Metric* m_metric = nullptr;
    std::string m_text;
};

// `name="value"`, with what must be escaped escaped.
std::string metric_label(std::string_view name, std::string_view value);

}  // namespace hearth::cli

#include "metrics/metric_writer.hpp"

#include <fmt/format.h>

namespace hearth::cli {

namespace {

// Every fourth power of two is a limit: from a microsecond to a little over an hour that makes 17 of them.
constexpr int k_first_limit = 10;  // 2^10 ns
constexpr int k_last_limit = 42;
constexpr int k_limit_step = 2;

}  // namespace

std::string_view to_string(MetricKind kind)
{
    switch (kind) {
    case MetricKind::counter:
        return "counter";
    case MetricKind::gauge:
        return "gauge";
    case MetricKind::histogram:
        return "histogram";
    case MetricKind::info:
        return "info";
    }
    return "unknown";
}

std::string metric_label(std::string_view name, std::string_view value)
{
    std::string escaped;
    for (const char c : value) {
        if (c == '\\' || c == '"')
            escaped += '\\';
        escaped += c == '\n' ? std::string("\\n") : std::string(1, c);
    }
    return fmt::format("{}=\"{}\"", name, escaped);
}

std::string MetricWriter::labels_of(std::string_view value) const
{
    return m_metric->label.empty() ? "" : metric_label(m_metric->label, value);
}

void MetricWriter::begin(const Metric& metric)
{
    m_metric = &metric;
    const bool open = m_format == MetricFormat::open_metrics;
    // The older format knows a family by the name of its samples, and has no info.
    const std::string_view suffix = open                                 ? ""
                                    : metric.kind == MetricKind::counter ? "_total"
                                    : metric.kind == MetricKind::info    ? "_info"
                                                                         : "";
    const std::string_view type = !open && metric.kind == MetricKind::info ? "gauge" : to_string(metric.kind);
    m_text += fmt::format("# TYPE {}{} {}\n", metric.name, suffix, type);
    if (open && !metric.unit.empty())
        m_text += fmt::format("# UNIT {} {}\n", metric.name, metric.unit);
    m_text += fmt::format("# HELP {}{} {}\n", metric.name, suffix, metric.help);
}

void MetricWriter::line(std::string_view suffix, std::string_view labels, std::string_view value)
{
    m_text += labels.empty() ? fmt::format("{}{} {}\n", m_metric->name, suffix, value)
                             : fmt::format("{}{}{{{}}} {}\n", m_metric->name, suffix, labels, value);
}

void MetricWriter::sample(double value, std::string_view label)
{
    line(m_metric->kind == MetricKind::counter ? "_total" : "", labels_of(label), fmt::format("{}", value));
}

void MetricWriter::sample(std::uint64_t value, std::string_view label)
{
    line(m_metric->kind == MetricKind::counter ? "_total" : "", labels_of(label), fmt::format("{}", value));
}

void MetricWriter::info(std::string_view labels)
{
    line("_info", labels, "1");
}

void MetricWriter::histogram(const Latency& latency, std::string_view label)
{
    const std::string labels = labels_of(label);
    const std::string before = labels.empty() ? "" : labels + ",";
    std::size_t bucket = 0;
    std::uint64_t below = 0;
    for (int power = k_first_limit; power <= k_last_limit; power += k_limit_step) {
        const std::uint64_t limit = std::uint64_t{1} << static_cast<unsigned>(power);
        while (bucket < Latency::k_buckets && Latency::end_of(bucket) <= limit)
            below += latency.buckets[bucket++];
        line("_bucket", fmt::format("{}le=\"{}\"", before, static_cast<double>(limit) / 1e9), std::to_string(below));
    }
    line("_bucket", before + "le=\"+Inf\"", std::to_string(latency.samples));
    line("_sum", labels, fmt::format("{}", static_cast<double>(latency.total_ns) / 1e9));
    line("_count", labels, std::to_string(latency.samples));
}

std::string MetricWriter::finish()
{
    if (m_format == MetricFormat::open_metrics)
        m_text += "# EOF\n";
    return std::move(m_text);
}

}  // namespace hearth::cli

#include "metrics/metrics.hpp"
#include "cache/open_cache.hpp"
#include "process/file_io.hpp"
#include "terminal/command_line.hpp"
#include "terminal/exit.hpp"
#include "terminal/output.hpp"

#include <fmt/format.h>

namespace hearth::cli {

namespace {

struct MetricsArguments {
    std::string textfile;
    bool table = false;
};

// A pipe would end the row's cell.
std::string cell(std::string_view text)
{
    std::string escaped;
    for (const char c : text)
        escaped += c == '|' ? std::string("\\|") : std::string(1, c);
    return escaped;
}

// docs/metrics.md has it.
void print_table()
{
    print_out("| metric | type | label | what it tells | a query |\n|---|---|---|---|---|\n");
    for (const Metric& metric : metric_table())
        print_out("| `{}{}` | {} | {} | {} | `{}` |\n", metric.name,
                  metric.kind == MetricKind::counter ? "_total"
                  : metric.kind == MetricKind::info  ? "_info"
                                                     : "",
                  to_string(metric.kind), metric.label, cell(metric.help), cell(metric.query));
}

int run_metrics(const Globals& globals, const MetricsArguments& arguments)
{
    if (arguments.table) {
        print_table();
        return k_done;
    }
    Cache cache = open_cache(globals, Use::read, Remotes::yes);
    if (arguments.textfile.empty()) {
        write_out(metrics_text(cache));
        return k_done;
    }
    const std::string text = metrics_text(cache, MetricFormat::text);
    write_whole(arguments.textfile, as_bytes(text));
    return k_done;
}

}  // namespace

void add_metrics(Command& command)
{
    command.describe("Prints the statistics of this cache directory as metrics, for Prometheus.",
                     "  hearth metrics\n"
                     "  hearth metrics --textfile /var/lib/prometheus/node-exporter/hearth.prom\n"
                     "  hearth serve                      the same at http://127.0.0.1:8417/metrics\n",
                     "docs/metrics.md names every metric.");
    auto& arguments = command.runs(run_metrics);
    command.text("--textfile", arguments.textfile,
                 "Write them to FILE, for node_exporter's textfile collector; it is replaced whole", "FILE");
    command.flag("--table", arguments.table, "Print what metrics there are, as a table of Markdown").hide();
}

}  // namespace hearth::cli

#include "report.hpp"

#include "bars.hpp"
#include "machine.hpp"

#include <algorithm>
#include <cstdio>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <fnmatch.h>
#include <fstream>
#include <nlohmann/json.hpp>
#include <unistd.h>

namespace hearth::bench {

namespace {

std::string figure(double value)
{
    if (value >= 100 || value == 0)
        return fmt::format("{:.0f}", value);
    return value >= 10 ? fmt::format("{:.1f}", value) : fmt::format("{:.3g}", value);
}

bool is_for(const Bar& bar, const std::string& row)
{
    return ::fnmatch(std::string(bar.rows).c_str(), row.c_str(), 0) == 0;
}

bool is_met(const Bar& bar, const Row& row)
{
    const double value = bar.unit == "x" ? row.ratio : row.value.value;
    return bar.is == Bar::Is::at_most ? value <= bar.limit : value >= bar.limit;
}

std::string words(const Bar& bar)
{
    return fmt::format("{} {}{}{}", bar.is == Bar::Is::at_most ? "<=" : ">=", bar.limit, bar.unit == "x" ? "" : " ",
                       bar.unit);
}

// Eight of ten tries are within so much of the median.
std::string spread(const Measured& value)
{
    if (value.tries < 2 || value.value == 0)
        return "";
    return fmt::format("{:.0f}%", (value.high - value.low) * 50 / value.value);
}

nlohmann::ordered_json json_of(const Measured& value)
{
    nlohmann::ordered_json json{{"median", value.value}, {"tries", value.tries}};
    if (value.tries > 1) {
        json["p10"] = value.low;
        json["p90"] = value.high;
    }
    if (value.tries >= k_enough_for_p99)
        json["p99"] = value.p99;
    return json;
}

}  // namespace

void Report::add_beside(const std::string& name, Measured value, const std::string& unit, const std::string& beside,
                        Measured beside_value)
{
    add_row({name,
             value,
             unit,
             beside,
             beside_value,
             beside_value.value == 0 ? 0 : value.value / beside_value.value,
             {},
             {}});
}

void Report::add(const std::string& name, Measured value, const std::string& unit)
{
    add_row({name, value, unit, {}, {}, 0, {}, {}});
}

void Report::add_row(Row row)
{
    for (const Bar& bar : k_bars) {
        // A row may stand alone where its rival is missing: then there is no ratio to hold to anything.
        if (!is_for(bar, row.name) || (bar.unit == "x" ? row.beside.empty() : bar.unit != row.unit))
            continue;
        row.bar += (row.bar.empty() ? "" : ", ") + words(bar);
        row.met = row.met.value_or(true) && is_met(bar, row);
    }
    if (::isatty(STDERR_FILENO))
        fmt::print(stderr, "\r\033[K{} {}", m_rows.size() + 1, row.name);
    m_rows.push_back(std::move(row));
}

std::vector<const Row*> Report::missed() const
{
    std::vector<const Row*> rows;
    for (const Row& row : m_rows)
        if (!row.met.value_or(true))
            rows.push_back(&row);
    return rows;
}

std::vector<std::string> Report::unmeasured() const
{
    std::vector<std::string> bars;
    for (const Bar& bar : k_bars)
        if (std::none_of(m_rows.begin(), m_rows.end(),
                         [&](const Row& row) { return row.met && is_for(bar, row.name); }))
            bars.emplace_back(bar.rows);
    return bars;
}

void Report::print() const
{
    if (::isatty(STDERR_FILENO))
        fmt::print(stderr, "\r\033[K");
    static constexpr auto k_line = "{:<52} {:>8} {:<8} {:>6}  {:<50} {:>8} {:>8}  {}{}\n";
    fmt::print(k_line, "WHAT", "VALUE", "UNIT", "SPREAD", "BESIDE", "VALUE", "RATIO", "BAR", "");
    for (const Row& row : m_rows) {
        const bool stands_beside = !row.beside.empty();
        fmt::print(k_line, row.name, figure(row.value.value), row.unit, spread(row.value), row.beside,
                   stands_beside ? figure(row.beside_value.value) : "", stands_beside ? figure(row.ratio) : "", row.bar,
                   !row.met   ? ""
                   : *row.met ? "  met"
                              : "  MISSED");
    }
    for (const std::string& note : m_notes)
        fmt::print("{}\n", note);
    for (const auto& [name, fact] : machine_facts())
        fmt::print("{}: {}\n", name, fact);

    const auto with_bar = std::count_if(m_rows.begin(), m_rows.end(), [](const Row& row) { return row.met; });
    fmt::print("\n{} of {} rows with a bar missed it{}\n", missed().size(), with_bar, missed().empty() ? "." : ":");
    for (const Row* row : missed())
        fmt::print("  {:<44} {} {}{}, bar {}\n", row->name, figure(row->value.value), row->unit,
                   row->beside.empty() ? "" : fmt::format(" = {}x", figure(row->ratio)), row->bar);
    if (const std::vector<std::string> bars = unmeasured(); !bars.empty())
        fmt::print("Not measured in this run: {}\n", fmt::join(bars, ", "));
}

bool Report::write_json(const std::string& path) const
{
    nlohmann::ordered_json all;
    for (const auto& [name, fact] : machine_facts())
        all["run"][name] = fact;
    all["rows"] = nlohmann::ordered_json::array();
    for (const Row& row : m_rows) {
        nlohmann::ordered_json item{{"name", row.name}, {"unit", row.unit}, {"value", json_of(row.value)}};
        if (!row.beside.empty()) {
            item["beside"] = row.beside;
            item["beside_value"] = json_of(row.beside_value);
            item["ratio"] = row.ratio;
        }
        if (row.met) {
            item["bar"] = row.bar;
            item["met"] = *row.met;
        }
        all["rows"].push_back(std::move(item));
    }
    all["not_measured"] = unmeasured();
    all["notes"] = m_notes;
    std::ofstream out(path);
    out << all.dump(2) << '\n';
    return out.good();
}

void print_bars()
{
    fmt::print("| rows | bar |\n|---|---|\n");
    for (const Bar& bar : k_bars)
        fmt::print("| `{}` | {} |\n", bar.rows, words(bar));
}

}  // namespace hearth::bench

#include "report.hpp"

#include <algorithm>
#include <cstdio>
#include <fmt/format.h>
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

bool within(double value, double bar, Better better)
{
    return better == Better::lower ? value <= bar : value >= bar;
}

std::string bar_text(double bar, Better better, const std::string& unit)
{
    return fmt::format("{} {}{}", better == Better::lower ? "<=" : ">=", figure(bar), unit);
}

}  // namespace

void Report::progress(const std::string& name) const
{
    if (::isatty(STDERR_FILENO))
        fmt::print(stderr, "\r\033[K{} {}", m_rows.size(), name);
}

void Report::add_beside(const std::string& name, double value, const std::string& unit, const std::string& beside,
                        double beside_value, std::optional<double> bar, Better better)
{
    Row row{name, value, unit, beside, beside_value, beside_value == 0 ? 0 : value / beside_value, {}, {}};
    if (bar) {
        row.bar = bar_text(*bar, better, "x");
        row.met = within(row.ratio, *bar, better);
    }
    m_rows.push_back(std::move(row));
    progress(name);
}

void Report::add(const std::string& name, double value, const std::string& unit, std::optional<double> bar,
                 Better better)
{
    Row row{name, value, unit, {}, 0, 0, {}, {}};
    if (bar) {
        row.bar = bar_text(*bar, better, " " + unit);
        row.met = within(value, *bar, better);
    }
    m_rows.push_back(std::move(row));
    progress(name);
}

void Report::print() const
{
    if (::isatty(STDERR_FILENO))
        fmt::print(stderr, "\r\033[K");
    fmt::print("{:<40} {:>10} {:<7} {:<38} {:>10} {:>8}  {}\n", "WHAT", "VALUE", "UNIT", "BESIDE", "VALUE", "RATIO",
               "BAR");
    for (const Row& row : m_rows) {
        const bool stands_beside = !row.beside.empty();
        fmt::print("{:<40} {:>10} {:<7} {:<38} {:>10} {:>8}  {}{}\n", row.name, figure(row.value), row.unit, row.beside,
                   stands_beside ? figure(row.beside_value) : "", stands_beside ? figure(row.ratio) : "", row.bar,
                   !row.met   ? ""
                   : *row.met ? "  met"
                              : "  MISSED");
    }
    for (const std::string& note : m_notes)
        fmt::print("{}\n", note);
}

bool Report::write_json(const std::string& path) const
{
    nlohmann::ordered_json all;
    all["rows"] = nlohmann::ordered_json::array();
    for (const Row& row : m_rows) {
        nlohmann::ordered_json item{{"name", row.name}, {"value", row.value}, {"unit", row.unit}};
        if (!row.beside.empty()) {
            item["beside"] = row.beside;
            item["beside_value"] = row.beside_value;
            item["ratio"] = row.ratio;
        }
        if (row.met) {
            item["bar"] = row.bar;
            item["met"] = *row.met;
        }
        all["rows"].push_back(std::move(item));
    }
    all["notes"] = m_notes;
    std::ofstream out(path);
    out << all.dump(2) << '\n';
    return out.good();
}

bool Report::all_met() const
{
    return std::all_of(m_rows.begin(), m_rows.end(), [](const Row& row) { return row.met.value_or(true); });
}

}  // namespace hearth::bench

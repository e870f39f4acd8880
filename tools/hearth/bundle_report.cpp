#include "bundle_report.hpp"

#include "exit.hpp"
#include "hearth/units.hpp"
#include "output.hpp"
#include "table.hpp"
#include "text.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace hearth::cli {

namespace {

constexpr std::size_t k_shown_digits = 16;

// "sm_80 (12), sm_90 (12)"
std::string shown(const std::vector<bundles::Named>& names)
{
    std::string text;
    for (const bundles::Named& one : names)
        text += fmt::format("{}{} ({})", text.empty() ? "" : ", ", printable(one.name), one.entries);
    return text.empty() ? "not said" : text;
}

nlohmann::ordered_json as_json(const std::vector<bundles::Named>& names)
{
    nlohmann::ordered_json all = nlohmann::ordered_json::array();
    for (const bundles::Named& one : names)
        all.push_back({{"name", one.name}, {"entries", one.entries}});
    return all;
}

}  // namespace

void print_facts(const std::string& file, const bundles::Facts& facts)
{
    FactList list;
    list.add("file", printable(file));
    list.add("id", facts.id);
    list.add("entries", std::to_string(facts.entries));
    list.add("size", format_size(facts.bytes));
    list.add("targets", shown(facts.targets));
    list.add("compilers", shown(facts.compilers));
    list.add("signed by", facts.signed_by ? facts.signed_by->text() : "nobody");
    if (!facts.base.empty())
        list.add("delta over", facts.base);
    list.print();
}

nlohmann::ordered_json facts_as_json(const std::string& file, const bundles::Facts& facts)
{
    nlohmann::ordered_json object{{"file", file},
                                  {"id", facts.id},
                                  {"entries", facts.entries},
                                  {"bytes", facts.bytes},
                                  {"targets", as_json(facts.targets)},
                                  {"compilers", as_json(facts.compilers)},
                                  {"signed_by", nullptr},
                                  {"base", nullptr}};
    if (facts.signed_by)
        object["signed_by"] = facts.signed_by->text();
    if (!facts.base.empty())
        object["base"] = facts.base;
    return object;
}

int print_written(const std::string& file, const bundles::WriteReport& report, const std::string& more,
                  const nlohmann::ordered_json* json)
{
    if (json != nullptr) {
        nlohmann::ordered_json object{{"file", file},
                                      {"id", report.id},
                                      {"entries", report.entries},
                                      {"bytes", report.bytes},
                                      {"rejected", report.rejected},
                                      {"problems", report.problems}};
        object.update(*json);
        print_json(object);
    } else {
        print_out("Wrote {} to {} ({}), id {}{}.\n", count_of(report.entries, "entry", "entries"), printable(file),
                  format_size(report.bytes), report.id.substr(0, k_shown_digits), more);
    }
    for (const std::string& problem : report.problems)
        warn(problem);
    return report.rejected != 0 ? k_nothing : k_done;
}

}  // namespace hearth::cli

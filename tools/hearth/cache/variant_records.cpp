#include "cache/variant_records.hpp"

#include "cache/rows.hpp"
#include "terminal/output.hpp"
#include "terminal/table.hpp"
#include "terminal/text.hpp"
#include "terminal/times.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace hearth::cli {

namespace {

const cuda::MeasuredVariant* winner_of(const cuda::VariantRecord& record)
{
    for (const cuda::MeasuredVariant& variant : record.variants)
        if (variant.state == cuda::VariantState::winner && variant.name == record.winner)
            return &variant;
    return nullptr;
}

double gain_of(const cuda::VariantRecord& record)
{
    const cuda::MeasuredVariant* const winner = winner_of(record);
    // Anybody may have written it: no winner takes longer, or no time.
    return winner != nullptr && winner->ratio > 0 && winner->ratio <= 1 ? 1 - winner->ratio : 0;
}

// Numbers that nobody has measured must not fill the screen.
std::string show_ratio(double ratio)
{
    return std::abs(ratio) < 1000 ? fmt::format("{:.3f}", ratio) : fmt::format("{:.0e}", ratio);
}

}  // namespace

std::vector<FoundRecord> variant_records(Cache& cache, const std::function<bool(const FoundRecord&)>& wanted)
{
    std::vector<EntryRow> rows;
    admin::list(cache, [&](const EntryRow& row) {
        if (cuda::is_variant_record(row.metadata))
            rows.push_back(row);
        return true;
    });
    std::vector<FoundRecord> all;
    for (const EntryRow& row : rows) {
        const Lookup found = cache.peek(row.key, EntryKind::derived);  // no server is asked
        std::optional<cuda::VariantRecord> record = found ? cuda::variant_record(*found) : std::nullopt;
        if (!record)
            continue;
        FoundRecord one{row.key, row.created, *std::move(record)};
        if (wanted(one))
            all.push_back(std::move(one));
    }
    std::sort(all.begin(), all.end(), [](const FoundRecord& a, const FoundRecord& b) {
        return std::tie(a.record.kernel, a.record.shape, a.key) < std::tie(b.record.kernel, b.record.shape, b.key);
    });
    return all;
}

std::vector<FoundRecord> variant_records_of(Cache& cache, const Key& entry)
{
    return variant_records(cache, [&](const FoundRecord& found) { return found.record.entry == entry; });
}

Json as_json(const FoundRecord& found)
{
    const cuda::VariantRecord& record = found.record;
    return {{"key", found.key.hex()},
            {"kernel", record.kernel},
            {"entry", record.entry.hex()},
            {"shape", record.shape},
            {"device", record.device},
            {"driver", record.driver},
            {"winner", record.winner},
            {"gain", gain_of(record)},
            {"launches", record.launches},
            {"created", time_as_json(found.created)},
            {"variants", Json::array_of(record.variants, [](const cuda::MeasuredVariant& variant) -> Json {
                 return {{"name", variant.name},
                         {"state", to_string(variant.state)},
                         {"launches", variant.launches},
                         {"median_seconds", std::chrono::duration<double>(variant.median).count()},
                         {"ratio", variant.ratio},
                         {"lowest", variant.lowest},
                         {"highest", variant.highest},
                         {"why", variant.why}};
             })}};
}

std::string result_of(const cuda::VariantRecord& record)
{
    if (winner_of(record) == nullptr || record.variants.empty() || record.winner == record.variants.front().name)
        return "no variant better";
    return fmt::format("{}, {:.1f} % faster", printable(record.winner), gain_of(record) * 100);
}

void print_variants(const cuda::VariantRecord& record)
{
    Table table({{"VARIANT"},
                 {"MEDIAN", Align::right},
                 {"BESIDE FIRST", Align::right},
                 {"99.9 % INTERVAL"},
                 {"TIMED", Align::right},
                 {"RESULT"}});
    for (const cuda::MeasuredVariant& variant : record.variants)
        table.add({printable(variant.name), variant.launches == 0 ? "-" : show_duration(variant.median),
                   variant.ratio > 0 ? show_ratio(variant.ratio) : "-",
                   variant.highest > 0 ? show_ratio(variant.lowest) + " to " + show_ratio(variant.highest) : "-",
                   std::to_string(variant.launches),
                   variant.why.empty() ? std::string(to_string(variant.state))
                                       : fmt::format("{}: {}", to_string(variant.state), printable(variant.why))});
    table.print();
}

void print_winners(const std::vector<FoundRecord>& records)
{
    for (const FoundRecord& found : records)
        print_out("variants  {}: {}  ({}, {}, driver {})\n", printable(found.record.kernel), result_of(found.record),
                  printable(found.record.shape), printable(found.record.device), printable(found.record.driver));
}

}  // namespace hearth::cli

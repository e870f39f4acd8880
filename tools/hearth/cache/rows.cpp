#include "cache/rows.hpp"

#include "terminal/times.hpp"
#include "json/json.hpp"

#include <chrono>

namespace hearth::cli {

namespace {

constexpr std::size_t k_shown_digits = 12;

}  // namespace

Json time_as_json(WallTime time)
{
    const auto text = iso_time(time);
    return text ? Json(*text) : Json(nullptr);
}

Json row_as_json(const EntryRow& row)
{
    return {{"key", row.key.hex()},
            {"label", row.metadata.label},
            {"bytes", row.bytes},
            {"stored_bytes", row.stored_bytes},
            {"created", time_as_json(row.created)},
            {"last_used", time_as_json(row.last_used)},
            {"uses", row.uses},
            {"cost_ms", std::chrono::duration<double, std::milli>(row.cost).count()},
            {"tier", row.tier},
            {"compiler", row.metadata.compiler},
            {"target", row.metadata.target},
            {"options", row.metadata.options},
            {"status", row.status}};
}

std::string short_key(const Key& key)
{
    return key.hex().substr(0, k_shown_digits);
}

}  // namespace hearth::cli

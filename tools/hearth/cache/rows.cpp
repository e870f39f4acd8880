#include "cache/rows.hpp"

#include "base/secrets.hpp"
#include "terminal/text.hpp"
#include "terminal/times.hpp"
#include "json/json.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

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
            {"cost_seconds", std::chrono::duration<double>(row.cost).count()},
            {"tier", row.tier},
            {"compiler", row.metadata.compiler},
            {"target", row.metadata.target},
            {"options", base::without_secrets(row.metadata.options)},
            {"status", row.status},
            {"writer", row.metadata.writer.empty() ? Json(nullptr) : Json(row.metadata.writer)}};
}

std::string options_line(const std::vector<std::string>& options)
{
    std::vector<std::string> words;
    words.reserve(options.size());
    for (const std::string& option : base::without_secrets(options))
        words.push_back(option.empty() || option.find(' ') != std::string::npos ? in_quotes(option)
                                                                                : printable(option));
    return fmt::format("{}", fmt::join(words, " "));
}

bool is_internal(const EntryRow& row)
{
    return row.metadata.compiler == "hearth";
}

std::string short_key(const Key& key)
{
    return key.hex().substr(0, k_shown_digits);
}

}  // namespace hearth::cli

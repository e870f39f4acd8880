#include "cache/key_argument.hpp"

#include "hearth/admin.hpp"
#include "terminal/exit.hpp"
#include "terminal/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <optional>
#include <string>

namespace hearth::cli {

Request exact_key(std::string_view text)
{
    if (const auto key = Key::parse(text))
        return {*key, {}};
    return Request::of("user", text);
}

bool is_key_prefix(std::string_view text)
{
    return text.size() >= k_shortest_prefix && text.size() <= 64 &&
           std::all_of(text.begin(), text.end(), [](char c) { return std::isxdigit(static_cast<unsigned char>(c)); });
}

bool begins_with(const Key& key, std::string_view prefix)
{
    const std::string digits = key.hex();
    return prefix.size() <= digits.size() &&
           std::equal(prefix.begin(), prefix.end(), digits.begin(),
                      [](char a, char b) { return std::tolower(static_cast<unsigned char>(a)) == b; });
}

Key find_key(Cache& cache, std::string_view text)
{
    const Key exact = exact_key(text);
    if (!is_key_prefix(text) || Key::parse(text) || !admin::where(cache, exact).empty())
        return exact;

    std::optional<EntryRow> found;
    bool several = false;
    admin::list(cache, [&](const EntryRow& row) {
        if (!begins_with(row.key, text))
            return true;
        several = found.has_value();
        if (!several)
            found = row;
        return !several;
    });
    if (several)
        fail_usage(fmt::format("More than one key begins with {}. Give more digits; 'hearth ls {}' lists them.",
                               in_quotes(text), printable(text)));
    return found ? found->key : exact;
}

}  // namespace hearth::cli

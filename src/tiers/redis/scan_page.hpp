#pragma once

#include "tiers/redis/reply.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

// What SCAN answers. Pure: no input or output.

namespace hearth::tiers::redis {

struct ScanPage {
    std::string cursor;                   // where to go on: digits; "0" when that was all
    std::vector<std::string_view> names;  // without the prefix, in the reply's own memory
};

// [cursor, [key, ...]]. Keys without the prefix, and what is behind it and no name of ours, are left out: others may
// keep keys of other kinds there. None: it is no such reply.
std::optional<ScanPage> parse_scan(const Reply& reply, std::string_view prefix);

}  // namespace hearth::tiers::redis

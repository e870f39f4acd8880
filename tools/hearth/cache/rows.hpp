#pragma once

#include "cache/pattern.hpp"
#include "hearth/tier.hpp"
#include "json/json.hpp"

#include <string>
#include <vector>

namespace hearth::cli {

// An entry as `ls --json` and `show --json` print it.
Json row_as_json(const EntryRow& row);

// What Hearth keeps about this machine for itself: digests of compilers, time stamps of headers.
bool is_internal(const EntryRow& row);

// ISO 8601 in UTC, or null for never.
Json time_as_json(WallTime time);

// Options in one line, quoted where they hold blanks.
std::string options_line(const std::vector<std::string>& options);

// The first digits of a key: enough to name it in a command.
std::string short_key(const Key& key);

}  // namespace hearth::cli

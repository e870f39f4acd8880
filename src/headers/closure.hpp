#pragma once

#include "format/manifest.hpp"
#include "headers/scan.hpp"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hearth::headers {

// What a compiler is given, as far as it decides which headers are read.
struct Sources {
    std::string_view program;
    std::string program_name;
    std::vector<std::pair<std::string, std::string_view>> memory_headers;  // name and content
    std::vector<std::string> include_directories;                          // in the order they are searched
    std::vector<std::string> pre_includes;
    std::vector<Macro> defines;
    bool search_beside_program = true;
};

// The headers that a compile of `sources` may read: a superset, found by scanning. Headers that are asked for are
// looked up as NVRTC does: a quoted one in the directory of the file that asks, then every one in the include
// directories. Memory headers come first, and are no part of the manifest.
//
// A path matters where the output can hold it: when its file uses __FILE__, assert, or a macro that may come to one.
format::Manifest find_headers(const Sources& sources);

// Whether the sources ask for any header at all.
bool asks_for_headers(const Sources& sources);

// Whether nothing in them asks for a header, names its own file or tells the time: then their manifest is empty, and
// need not be found. False where that takes a closer look.
bool is_plain(const Sources& sources);

enum class ManifestState : std::uint8_t {
    changed,  // find the headers again
    unchanged,
    refreshed,  // the files are as they were, but `manifest` now knows them better and is worth keeping
};

// Whether a compile would still read what the manifest says.
// Cost: one stat for every file and every path that is absent; files whose time stamps changed are read again.
ManifestState check(format::Manifest& manifest);

// Waits, for milliseconds at most, until no file of the manifest is so young that a write could leave its identity as
// it is; true when all are then as the manifest says. From then on same_files() notices every change.
bool settle_for_compile(format::Manifest& manifest);

// Whether not a single file was written or replaced since, be it with the same bytes.
bool same_files(const format::Manifest& manifest);

}  // namespace hearth::headers

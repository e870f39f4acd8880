#pragma once

#include "format/manifest.hpp"
#include "headers/scan.hpp"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hearth::headers {

// The compiler's input, as far as it decides which headers are read.
struct Sources {
    std::string_view program;
    std::string program_name;
    std::vector<std::pair<std::string, std::string_view>> memory_headers;  // name and content
    std::vector<std::string> include_directories;                          // in the order they are searched
    std::vector<std::string> pre_includes;
    std::vector<Macro> defines;
    bool search_beside_program = true;
};

// The headers that a compile of `sources` may read: a superset, found by scanning. They are searched for as
// NVRTC does: a quoted one first in the directory of the file that asks, then all in the include directories. Memory
// headers come before files, and are not part of the manifest.
//
// A path matters if the output can hold it: if its file uses __FILE__, assert, or a macro that may expand to one.
format::Manifest find_headers(const Sources& sources);

// Whether the sources ask for any header at all.
bool asks_for_headers(const Sources& sources);

// Whether nothing in them asks for a header, names its own file or tells the time: then their manifest is empty, and no
// search is needed. False if only a closer look could tell.
bool is_plain(const Sources& sources);

enum class ManifestState : std::uint8_t {
    changed,  // find the headers again
    unchanged,
    refreshed,  // the files are unchanged, but `manifest` has newer identities for them and is worth storing
};

// Whether a compile would still read what the manifest says.
// Cost: one stat for every file and every path that is absent; files whose time stamps changed are read again.
ManifestState check(format::Manifest& manifest);

// Waits, for milliseconds at most, until every file of the manifest is so old that any write would change its identity.
// True if all files are then as the manifest says. From then on same_files() notices every change.
bool settle_for_compile(format::Manifest& manifest);

// Whether no file was written or replaced since, not even with the same bytes.
bool same_files(const format::Manifest& manifest);

}  // namespace hearth::headers

#pragma once

#include "hearth/cache.hpp"
#include "page/entry_index.hpp"
#include "json/json.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace hearth::cli {

enum class PageIs : std::uint8_t {
    live,        // given out by a server, which is asked for newer facts
    changeable,  // and for changes
    written,     // a file
};

Json history_as_json(Cache& cache);
Json events_as_json(Cache& cache);
// The keys of the compiles that took longest, of those that are remembered; each once.
std::vector<Key> slowest_compiles(Cache& cache, std::size_t most);
// Everything on the page but its entries.
// `index`: null while there is none yet.
Json page_facts(Cache& cache, const EntryIndex* index, PageIs page);

// All that is known of an entry, and what sets it apart from the nearest that was there before it: why it was compiled.
// Reads at most some dozens of entries.
Json entry_detail(Cache& cache, const EntryIndex& index, const IndexedEntry& entry);

// The page as a server gives it out: its style and its script are files beside it.
std::string page_with_files(const Json& facts);
// The page as one file that asks nobody for anything.
std::string page_in_one(const Json& facts);

}  // namespace hearth::cli

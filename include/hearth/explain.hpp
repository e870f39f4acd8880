#pragma once

#include "hearth/cache.hpp"

#include <optional>
#include <string>
#include <vector>

namespace hearth {

// A field in which two requests differ. The texts are for people: long ones are shortened.
struct Difference {
    std::string field;
    std::string here;   // empty: this request has no such field
    std::string there;  // empty: the other has none
};

// Why a request hits or misses.
struct Explanation {
    Key key;
    std::vector<std::string> tiers;   // those that hold it; empty: it is a miss
    std::string why_past_the_cache;   // why it is not looked up at all; empty: it is looked up
    std::optional<EntryRow> nearest;  // of a miss: the entry that has the most fields in common with it
    std::vector<Difference> differences;
};

// Compares with every entry that keeps its request and is of the same domain. No lookup is counted.
// Cost: reads the entries of the cache, at most `limit` of them.
HEARTH_API Explanation explain(Cache& cache, const Request& request, std::size_t limit = 20'000);

// Something that a result depends on besides its request: what its compile asked the system, and was told.
struct Dependency {
    std::string kind;   // "file", "absent", "directory", "variable", ...
    std::string what;   // "cub/config.cuh in include directory 2", "NV_NVVM_VERSION"
    std::string value;  // a digest, a variable's value if it is harmless, a link's target; empty where there is none
};
// None if the artifact is no result of a compiler.
HEARTH_API std::vector<Dependency> dependencies(const Artifact& artifact);

// Which fields differ between two requests.
HEARTH_API std::vector<Difference> compare(const Request& here, const Request& there);

}  // namespace hearth

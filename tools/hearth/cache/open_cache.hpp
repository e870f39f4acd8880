#pragma once

#include "hearth/admin.hpp"
#include "hearth/options.hpp"
#include "terminal/command_line.hpp"

#include <optional>
#include <string>
#include <vector>

namespace hearth::cli {

// The settings that programs on this machine would get, and where each came from.
Settings settings_of(const Globals& globals);

enum class Use : unsigned char {
    look,    // read-only: what is read is not counted, as a use or in the statistics
    read,    // as any program does that stores nothing
    change,  // fails unless entries can be written and removed
    work,    // as any program does: with what there is of a cache, or without one
};

// Servers that a fleet shares. Commands about this machine's cache leave them alone.
enum class Remotes : unsigned char { no, yes };

// The cache with a persistent tier in it, or a Failure with the reason why there is none.
// A library call that meets a broken disk goes on without it; a command about the disk must not.
// What the cache warns of while it is open goes to standard error.
Cache open_cache(const Globals& globals, Use use, Remotes remotes = Remotes::no);

// The cache to bring entries into, on its disk and nowhere else: with bundles and servers as they are configured, or
// with one bundle alone, which is opened or a Failure.
Cache open_to_fill(const Globals& globals, const std::optional<std::string>& bundle);

// What is built into: this machine's cache, or a scratch one that becomes a bundle.
enum class Into : unsigned char { cache, bundle };

// A cache to build in. `over`: a bundle whose entries need not be built again; `signed_by`: the public key that must
// have signed it.
Result<Cache> open_to_build(const Globals& globals, Into into, const std::string& over,
                            const std::string& signed_by = {});

// The tier that is this machine's own and outlives this command; there is one in every cache that was opened above.
TierStatus disk_of(Cache& cache);

// Those of a list of tiers that outlive this command, in the same order.
std::vector<std::string> persistent_among(Cache& cache, const std::vector<std::string>& names);

}  // namespace hearth::cli

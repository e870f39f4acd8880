#pragma once

#include "hearth/admin.hpp"
#include "hearth/options.hpp"
#include "terminal/command_line.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace hearth::cli {

// The settings that programs on this machine get, and where each came from. What is wrong with them, and where, is told
// on standard error: this is where every command gets its settings, so whatever follows from a mistake in one stands
// below it.
enum class Tell : unsigned char { problems, nothing };
Settings settings_of(const Globals& globals, Tell tell = Tell::problems);

// HEARTH_MAX_ENTRY_BYTES: nothing larger is kept.
std::uint64_t max_entry_bytes(const Globals& globals);

enum class Use : unsigned char {
    look,    // read-only: reads count neither as uses nor in the statistics
    read,    // like a program that stores nothing
    change,  // fails unless entries can be written and removed
    work,    // like any program: goes on with whatever tiers opened, or none
    quiet,   // the same, and says nothing: what stands on standard error is taken for a compiler's own
};

// Servers that a fleet shares. Commands about this machine's cache leave them alone.
enum class Remotes : unsigned char { no, yes };

// A cache with a persistent tier. Throws a Failure with the reason if there is none: a program goes on without a broken
// disk, but a command about the disk must not. Warnings of the open cache go to standard error. `sign_with`: the key by
// which what is stored is signed, in place of the one in the settings.
Cache open_cache(const Globals& globals, Use use, Remotes remotes = Remotes::no, const std::string& sign_with = {});

// The cache to bring entries into, on its disk only. Entries come from the configured bundles and servers, or from one
// `bundle` alone; throws a Failure if that does not open.
Cache open_to_fill(const Globals& globals, const std::optional<std::string>& bundle);

// Where to build: into this machine's cache, or into a scratch one that becomes a bundle.
enum class Into : unsigned char { cache, bundle };

// A cache to build in. `over`: a bundle whose entries need not be built again; `sign_with`: the key of the bundle, by
// which what is built for it is signed, so that it may go into it.
Result<Cache> open_to_build(const Globals& globals, Into into, const std::string& over,
                            const std::string& sign_with = {});

// This machine's own persistent tier. Every cache that was opened with the functions above has one.
TierStatus disk_of(Cache& cache);

// Those of the named tiers that outlive this command, in the same order.
std::vector<std::string> persistent_among(Cache& cache, const std::vector<std::string>& names);

}  // namespace hearth::cli

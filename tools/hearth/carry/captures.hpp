#pragma once

#include "carry/capture.hpp"
#include "carry/places.hpp"
#include "carry/read_tree.hpp"
#include "hearth/admin.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

// Captures as entries of a cache, which then travel as all entries do: in bundles, to servers and back.
//
// A capture is an entry whose key is a digest of it, and so are the packs that it lists: they never change. What
// changes are references: under a key made of the place and its identity lies the key of the capture that was made
// last. A second one, made of the name alone, finds the last capture of any identity, so that a foreign one can be
// named. Servers have references of their own, since push and pull decide what is new there.

namespace hearth::cli::carry {

// On whose behalf a reference is kept.
enum class Keeper : std::uint8_t { this_machine, server };

// A place, and what a capture of it depends on here.
struct Wanted {
    Place place;
    std::vector<Fact> identity;
};

// A capture that was found.
struct Located {
    Key key;
    Capture capture;
    std::vector<std::string> foreign;  // why it is not for this place; empty: it is
    bool is_trusted = false;           // it was read with a trusted signature, and it names contents by digest
};

struct Stored {
    Key key;
    std::uint64_t new_packs = 0;
    std::uint64_t new_bytes = 0;  // of these
    bool changed = false;         // it is not the capture that was there before
};

// Reads a directory into the cache, unless that would sign what a restore brought unsigned. The reference is set last:
// a capture that is interrupted leaves the one before.
Result<Stored> store_capture(Cache& cache, const Wanted& wanted, const Bounds& bounds, Tree& tree,
                             const Progress& progress);

// The capture of this place and identity, or else the last one of this name. None: there is no capture. An Error if one
// is there that cannot be read, or does not pass check().
Result<std::optional<Located>> locate(Cache& cache, const Wanted& wanted, Keeper keeper, const Bounds& bounds);

// The packs that this machine does not have: they were evicted, or never arrived.
std::vector<Pack> missing_packs(Cache& cache, const Capture& capture);
// A sentence about them.
std::string describe_missing(const Located& located, const std::vector<Pack>& missing);

// The bytes of a pack, checked. It counts as a use.
Result<Bytes> read_pack(Cache& cache, const Pack& pack);

// Everything that a capture is made of, with its references here: what goes into a bundle.
std::vector<Key> keys_of(const Wanted& wanted, const Located& located);

// Sends a capture to a server, and then its references.
Result<TransferReport> push_capture(Cache& cache, const std::string& remote, const Wanted& wanted,
                                    const Located& located, const Progress& progress);
// Fetches what the server's references name, with everything that is not here yet. None: the server has no capture of
// that name.
struct Pulled {
    std::optional<Located> located;
    TransferReport report;
    bool kept_ours = false;  // this machine's capture is newer
};
// What may take the place of this machine's capture.
enum class Adopt : std::uint8_t {
    newer,  // only what was captured later
    any,
    also_foreign,
};
Result<Pulled> pull_capture(Cache& cache, const std::string& remote, const Wanted& wanted, Adopt adopt,
                            const Bounds& bounds, const Progress& progress);

}  // namespace hearth::cli::carry

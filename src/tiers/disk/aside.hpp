#pragma once

#include "hearth/artifact.hpp"
#include "tiers/disk/cache_directory.hpp"

#include <cstdint>

// What lies in a cache directory beside the entries and is of no use to a lookup: copies of entries that were not
// trusted (DIR/quarantine), which people may want to examine for a while, and folders of older formats (DIR/v0), which
// nobody may use any more. Folders of newer formats are the business of newer programs.

namespace hearth::tiers {

// How long such things are kept after they were last changed.
inline constexpr std::chrono::hours k_aside_kept{24 * 30};

// The bytes of both.
std::uint64_t aside_bytes(const CacheDirectory& directory);

// Removes copies that are too old, and then the oldest until the rest takes at most `most` bytes.
void sweep_quarantine(const CacheDirectory& directory, std::uint64_t most, WallTime now);
// Removes folders of older formats in which nothing has changed for so long.
void sweep_older_formats(const CacheDirectory& directory, WallTime now);

}  // namespace hearth::tiers

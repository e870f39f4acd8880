#pragma once

#include "hearth/tier.hpp"

namespace hearth::format {

// What a listing shows of an entry that is at hand. The tier it is from is the caller's to fill in.
inline EntryRow row_of(const Key& key, const Found& found)
{
    EntryRow row;
    row.key = key;
    row.metadata = found.artifact->metadata;
    row.bytes = found.artifact->size();
    row.stored_bytes = found.bytes;
    row.created = found.artifact->created;
    row.cost = found.cost;
    row.status = found.artifact->status;
    return row;
}

}  // namespace hearth::format

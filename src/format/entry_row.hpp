#pragma once

#include "format/entry.hpp"
#include "format/request.hpp"
#include "hearth/tier.hpp"

namespace hearth::format {

// What a listing shows of an entry that is at hand. The caller fills in the tier.
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
    row.compiler_build = compiler_build_of(found.artifact->request.view());
    return row;
}

// The same from the beginning of an entry. If it is damaged, the row stays as it is.
inline void fill_from_head(EntryRow& row, ByteView head)
{
    DecodedHead decoded = decode_head(head);
    if (decoded.outcome != DecodedHead::Outcome::ok)
        return;
    row.metadata = std::move(decoded.head.metadata);
    row.bytes = decoded.head.raw_bytes;
    row.created = decoded.head.created;
    row.cost = decoded.head.cost;
    row.status = decoded.head.status;
    row.compiler_build = std::move(decoded.head.compiler_build);
}

}  // namespace hearth::format

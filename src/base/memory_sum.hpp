#pragma once

#include "hearth/bytes.hpp"

#include <cstdint>

// A sum of bytes that this process keeps outside its own memory, on a device: to notice that what comes back is not
// what was put there, and to tell whether what lies there is what is asked for. It is no defence against whoever
// chooses the bytes. It is never stored: a format has base::checksum(), whose fastest kind depends on how Hearth was
// built. Sixteen bytes at a time are multiplied to twice their width and folded, in four lanes; each lane carries on
// from its last product, so that the order counts. Cost: that of a copy. Together with a copy it is little more on a
// Neoverse V1; on the x86 of H200 machines both add up (docs/benchmarks.md).

namespace hearth::base {

struct MemorySum {
    std::uint64_t first = 0;
    std::uint64_t second = 0;

    friend bool operator==(const MemorySum&, const MemorySum&) = default;
};

MemorySum sum_of(ByteView bytes) noexcept;
// Copies the bytes to `to`, which does not overlap them, and returns their sum.
MemorySum copy_and_sum(std::byte* to, ByteView from) noexcept;

}  // namespace hearth::base

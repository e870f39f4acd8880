#pragma once

#include "base/files.hpp"
#include "hearth/bytes.hpp"

#include <cstdint>

namespace hearth::format {

// The beginning of an entry that lies in a file from byte `at` on and takes `size` bytes: as much of it as
// decode_head() needs. If it cannot be read: nothing, and -errno in `error`.
Bytes read_entry_head(base::Files& files, int fd, std::uint64_t at, std::uint64_t size, int& error);

// The entry, with any signature, that is all of a file of `size` bytes. Of a large file the head is read first, and
// comes back alone, so that it is decoded as what it is, unless it says that the entry has this size. If it cannot be
// read: nothing, and -errno in `error`; -EOVERFLOW: its sections take more than `most`.
Bytes read_entry(base::Files& files, int fd, std::uint64_t size, std::uint64_t most, int& error);

}  // namespace hearth::format

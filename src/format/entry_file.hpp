#pragma once

#include "base/files.hpp"
#include "hearth/bytes.hpp"

#include <cstdint>

namespace hearth::format {

// The beginning of an entry that lies in a file from byte `at` on and takes `size` bytes: as much of it as
// decode_head() needs. If it cannot be read: nothing, and -errno in `error`.
Bytes read_entry_head(base::Files& files, int fd, std::uint64_t at, std::uint64_t size, int& error);

}  // namespace hearth::format

#pragma once

#include "hearth/bytes.hpp"

#include <string>

namespace hearth::cli {

// The whole of a file, or of standard input for "-". Fails with a sentence.
Bytes read_whole(const std::string& path);

// Readers of `path` see the old file or the whole new one, never a part: written beside it and renamed over it.
// A device or a pipe is written to as it is. Fails with a sentence.
void write_whole(const std::string& path, ByteView bytes);

// Writes into an existing file, as compilers do: a process that has it open reads the new bytes, and so do its other
// names. A new file appears whole. Fails with a sentence.
void write_into(const std::string& path, ByteView bytes);

}  // namespace hearth::cli

#pragma once

#include "base/files.hpp"
#include "hearth/bytes.hpp"

#include <functional>

// A small file that is written again and again, such as statistics. It is written in place, in one of two slots in
// turn, so that a write that is cut short leaves the other. (Renaming a new file over the old one makes some file
// systems write it to disk, which costs the end of every process a millisecond.)
//
//   file := slot slot            16 KiB each
//   slot := magic:u8[8] sum:u8[16] sequence:u64 size:u32 payload         the newer is the one with the larger sequence
//   sum  := the first 16 bytes of SHA-256(all that follows it in the slot)

namespace hearth::tiers {

// Empty if there is none, or none that is whole.
Bytes read_note_file(base::Files& files, base::At at);

// Call it under a lock. False if it could not be written, or does not fit.
bool update_note_file(base::Files& files, base::At at, unsigned mode, const std::function<Bytes(ByteView)>& edit);

}  // namespace hearth::tiers

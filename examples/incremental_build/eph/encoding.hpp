#pragma once

#include "hearth/bytes.hpp"
#include "hearth/result.hpp"
#include "ir.hpp"

// IR as bytes: what the cache keeps, and what the linker reads.
//
//   module      = "EPHI" version:u8 body checksum:u64       the checksum is of everything before it
//   body        = list(callee) list(function)
//   callee      = text(module) text(name) signature
//   signature   = list(type:u8) type:u8
//   function    = text(name) exported:u8 signature varint(values in all its blocks) list(block)
//   block       = list(type:u8) list(instruction) end       the types of its parameters
//   instruction = op:u8 type:u8, then of a constant  bits:u64 (float), zigzag varint (int) or u8 (bool)
//                                     of a call      varint(callee) list(value)
//                                     of the others  value, or two
//   end         = 0 value | 1 jump | 2 value jump jump      give back; jump; branch
//   jump        = varint(block) list(value)
//   value       = varint(how many values ago it was made)
//   list(x)     = varint(count) x*        text = list(byte)
//
// Fixed widths are little-endian; a varint holds seven bits a byte, the lowest first. Values are numbered in the order
// in which they stand: a block's parameters, then its instructions.

namespace eph {

inline constexpr std::uint8_t k_ir_version = 1;

// For a module whose blocks are tidy (passes.hpp). The same bytes for the same module, on every machine.
hearth::Bytes encode(const Module& module);

// Trusts nothing: whatever the bytes are, the answer is a module that can be linked and run, or an Error. Any altered
// byte is one (the checksum), and so are bytes that were made up to look right: types, counts and numbers are checked.
hearth::Result<Module> decode(hearth::ByteView bytes);

}  // namespace eph

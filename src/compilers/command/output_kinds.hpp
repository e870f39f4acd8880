#pragma once

#include "compilers/command/profile.hpp"
#include "hearth/bytes.hpp"

namespace hearth::command {

// An entry may come from a stranger, and tools open the files that texts name: an assembler by .incbin, a compiler by
// #include, a linker by a script. So what a compiler reads next is never taken from one, and an object must be an
// object. What is in it is code: linkers and the system do what it says, and only signatures help against that.

// Whether the call makes something that a compiler reads next. Then only this machine's own results answer it.
bool makes_intermediate(const Call& call);

// Whether this is a file of the kind that the call makes: an object, a program, or code for a GPU.
bool is_what_it_makes(const Call& call, ByteView content);

// What assemblers and linkers make: an ELF file, but not for a GPU.
bool is_for_hosts(ByteView content);
// What a linker makes for the system to run or load. Not by its mode, which a umask may have changed.
bool is_program(ByteView content);

}  // namespace hearth::command

#pragma once

#include "base/files.hpp"

#include <string>

namespace hearth::base {

// The GNU build-id of a shared library or program, in hexadecimal. It identifies one build exactly, and is read from
// the file without loading it. Empty if the file is not an ELF file of this machine's kind or has no build-id.
std::string elf_build_id(Files& files, const std::string& path);

// Empty if the file is an ELF file that this process could load; otherwise a phrase that says what it is instead, such
// as "a library for another kind of processor".
std::string elf_mismatch(Files& files, const std::string& path);

}  // namespace hearth::base

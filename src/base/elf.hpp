#pragma once

#include "base/files.hpp"

#include <string>

namespace hearth::base {

// The GNU build-id of a shared library or program, in hexadecimal: exact for one build of it, and read from the file
// without loading it. Empty when the file is not an ELF file of this machine's kind or has none.
std::string elf_build_id(Files& files, const std::string& path);

// Whether the file is an ELF file that this process could load; otherwise a phrase that says what it is instead, such
// as "a library for another processor".
std::string elf_mismatch(Files& files, const std::string& path);

}  // namespace hearth::base

#pragma once

#include "base/files.hpp"

#include <string>

namespace hearth::base {

// The GNU build-id of a shared library or program, in hexadecimal. It identifies one build exactly, and is read from
// the file without loading it. Empty if the file is not an ELF file of this machine's kind or has no build-id.
std::string elf_build_id(Files& files, const std::string& path);

// The same of a library as it is in this process's memory, whatever lies at its path now. `handle`: what dlopen() gave.
std::string loaded_build_id(void* handle);

// Empty if the file is an ELF file that this process could load; otherwise a phrase that says what it is instead, such
// as "a library for another kind of processor".
std::string elf_mismatch(Files& files, const std::string& path);

}  // namespace hearth::base

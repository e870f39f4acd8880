#pragma once

#include "base/files.hpp"

#include <optional>
#include <string>
#include <vector>

namespace hearth::base {

// The GNU build-id of a shared library or program, in hexadecimal. It identifies one build exactly, and is read from
// the file without loading it. Empty if the file is not an ELF file of this machine's kind or has no build-id.
std::string elf_build_id(Files& files, const std::string& path);

// The same of a library as it is in this process's memory, whatever lies at its path now. `handle`: what dlopen() gave.
std::string loaded_build_id(void* handle);

// The functions that it imports, read from the file without loading it. None if they cannot be read.
std::optional<std::vector<std::string>> elf_imports(Files& files, const std::string& path);

// Empty if the file is an ELF file that this process could load; otherwise a phrase that says what it is instead, such
// as "a library for another kind of processor".
std::string elf_mismatch(Files& files, const std::string& path);

}  // namespace hearth::base

#pragma once

#include <cstddef>
#include <elf.h>
#include <link.h>

namespace hearth::audit {

// A shared library's name and what it exports, read from its file. Any bytes may be in it: every offset is checked.
// Uses libc alone.
class ElfFile {
public:
    ElfFile() = default;
    ~ElfFile();
    ElfFile(const ElfFile&) = delete;
    ElfFile& operator=(const ElfFile&) = delete;

    // False if this process could not load it as a shared library, or if its tables cannot be read.
    bool open(const char* path);
    bool has_soname(const char* soname) const;
    // Whether it exports a function or a variable of that name.
    bool exports(const char* name) const;
    // The first exported function that begins with one of the prefixes and is not in the list; null: all are. Both
    // lists end with a null.
    const char* first_unknown(const char* const* functions, const char* const* prefixes) const;

private:
    // `size` bytes at `offset` of the file, freed with this object; null if the file does not have them.
    void* read(std::size_t offset, std::size_t size);
    const char* name_at(std::size_t offset) const;

    int m_fd = -1;
    std::size_t m_size = 0;
    char* m_names = nullptr;  // of the dynamic symbols and the soname; ends with a zero
    std::size_t m_names_size = 0;
    ElfW(Sym) * m_symbols = nullptr;
    std::size_t m_symbol_count = 0;
    ElfW(Dyn) * m_dynamic = nullptr;
    std::size_t m_dynamic_count = 0;
};

}  // namespace hearth::audit

#pragma once

#include "hearth/result.hpp"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace hearth::watch {

// Where a loaded library keeps the address of a function that it imports.
struct ImportSlot {
    std::string name;
    void** address = nullptr;
};

// A loaded shared library, as far as its imports go.
// Thread safety: as an int; replace() is called by one thread at a time.
class ImportTable {
public:
    // `handle`: what dlopen() gave. An Error if its tables cannot be read.
    static Result<ImportTable> of(void* handle);

    // Every function that it imports by name, some of them in several slots.
    const std::vector<ImportSlot>& slots() const { return m_slots; }

    // The function that a slot leads to. The loader fills some slots only when they are first used: it is asked for
    // those. Null if nothing has that name.
    void* target(const ImportSlot& slot) const;

    // Puts `function` into the slot. Pages that the loader made read-only are writable for that moment.
    Status replace(const ImportSlot& slot, void* function) const;

private:
    struct Range {
        std::uintptr_t begin = 0;
        std::uintptr_t end = 0;
        bool holds(std::uintptr_t address) const { return begin <= address && address < end; }
    };

    void* m_handle = nullptr;
    Range m_image;
    Range m_read_only;  // once it was relocated
    std::vector<ImportSlot> m_slots;
};

}  // namespace hearth::watch

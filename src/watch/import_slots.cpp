#include "watch/import_slots.hpp"

#include "base/error.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cerrno>
#include <cstring>
#include <dlfcn.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

namespace hearth::watch {

namespace {

#if defined(__aarch64__)
constexpr std::uint32_t k_jump_slot = R_AARCH64_JUMP_SLOT;
constexpr std::uint32_t k_glob_dat = R_AARCH64_GLOB_DAT;
constexpr std::uint32_t k_absolute = R_AARCH64_ABS64;
#elif defined(__x86_64__)
constexpr std::uint32_t k_jump_slot = R_X86_64_JUMP_SLOT;
constexpr std::uint32_t k_glob_dat = R_X86_64_GLOB_DAT;
constexpr std::uint32_t k_absolute = R_X86_64_64;
#else
#error "Hearth knows x86-64 and aarch64"
#endif

// The dynamic section's tables. glibc has made its addresses absolute.
struct Tables {
    const ElfW(Sym) * symbols = nullptr;
    const char* names = nullptr;
    std::span<const ElfW(Rela)> of_calls;
    std::span<const ElfW(Rela)> of_data;
};

template <class T>
std::span<const T> table(ElfW(Addr) address, std::size_t bytes)
{
    return {std::bit_cast<const T*>(address), address != 0 ? bytes / sizeof(T) : 0};
}

Tables tables_of(const link_map& library)
{
    Tables tables;
    ElfW(Addr) calls = 0;
    ElfW(Addr) data = 0;
    std::size_t calls_bytes = 0;
    std::size_t data_bytes = 0;
    std::size_t relative = 0;  // how many relocations, the first ones, name no symbol
    for (const ElfW(Dyn)* row = library.l_ld; row->d_tag != DT_NULL; ++row)
        switch (row->d_tag) {
        case DT_SYMTAB:
            tables.symbols = std::bit_cast<const ElfW(Sym)*>(row->d_un.d_ptr);
            break;
        case DT_STRTAB:
            tables.names = std::bit_cast<const char*>(row->d_un.d_ptr);
            break;
        case DT_JMPREL:
            calls = row->d_un.d_ptr;
            break;
        case DT_PLTRELSZ:
            calls_bytes = row->d_un.d_val;
            break;
        case DT_RELA:
            data = row->d_un.d_ptr;
            break;
        case DT_RELASZ:
            data_bytes = row->d_un.d_val;
            break;
        case DT_RELACOUNT:
            relative = row->d_un.d_val;
            break;
        default:
            break;
        }
    tables.of_calls = table<ElfW(Rela)>(calls, calls_bytes);
    tables.of_data = table<ElfW(Rela)>(data, data_bytes);
    if (relative <= tables.of_data.size())
        tables.of_data = tables.of_data.subspan(relative);
    return tables;
}

std::uintptr_t page_size()
{
    return static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
}

struct Segments {
    const link_map* library = nullptr;
    std::uintptr_t end = 0;
    std::uintptr_t read_only = 0;
    std::uintptr_t read_only_end = 0;
};

int find_segments(dl_phdr_info* info, std::size_t /*size*/, void* data)
{
    Segments& found = *static_cast<Segments*>(data);
    if (info->dlpi_addr != found.library->l_addr)
        return 0;
    for (const ElfW(Phdr) & segment : std::span(info->dlpi_phdr, info->dlpi_phnum)) {
        const std::uintptr_t begin = info->dlpi_addr + segment.p_vaddr;
        if (segment.p_type == PT_LOAD)
            found.end = std::max<std::uintptr_t>(found.end, begin + segment.p_memsz);
        if (segment.p_type == PT_GNU_RELRO) {
            // As the loader does it: whole pages, and the last one only if it is whole.
            found.read_only = begin / page_size() * page_size();
            found.read_only_end = (begin + segment.p_memsz) / page_size() * page_size();
        }
    }
    return 1;
}

}  // namespace

Result<ImportTable> ImportTable::of(void* handle)
{
    link_map* library = nullptr;
    if (::dlinfo(handle, RTLD_DI_LINKMAP, &library) != 0 || library == nullptr || library->l_ld == nullptr)
        return error(Code::unavailable, "The loader does not tell where a library's imports are.");
    const Tables tables = tables_of(*library);
    Segments segments{.library = library};
    ::dl_iterate_phdr(find_segments, &segments);
    if (tables.symbols == nullptr || tables.names == nullptr || segments.end == 0)
        return error(Code::unavailable, "{} has no table of imports.", library->l_name);

    ImportTable imports;
    imports.m_handle = handle;
    imports.m_image = {library->l_addr, segments.end};
    imports.m_read_only = {segments.read_only, segments.read_only_end};
    for (const auto& relocations : {tables.of_calls, tables.of_data})
        for (const ElfW(Rela) & one : relocations) {
            const std::uint32_t type = ELF64_R_TYPE(one.r_info);
            if (type != k_jump_slot && type != k_glob_dat && (type != k_absolute || one.r_addend != 0))
                continue;
            const ElfW(Sym)& symbol = tables.symbols[ELF64_R_SYM(one.r_info)];
            // Its own functions are bound to itself, and variables are not called.
            if (symbol.st_shndx != SHN_UNDEF || ELF64_ST_TYPE(symbol.st_info) == STT_OBJECT)
                continue;
            imports.m_slots.push_back(
                {tables.names + symbol.st_name, std::bit_cast<void**>(library->l_addr + one.r_offset)});
        }
    return imports;
}

void* ImportTable::target(const ImportSlot& slot) const
{
    void* const there = std::atomic_ref<void*>(*slot.address).load(std::memory_order_relaxed);
    if (there != nullptr && !m_image.holds(reinterpret_cast<std::uintptr_t>(there)))
        return there;
    // It leads back into the library, to code that asks the loader at the first call.
    return ::dlsym(RTLD_DEFAULT, slot.name.c_str());
}

Status ImportTable::replace(const ImportSlot& slot, void* function) const
{
    const auto address = reinterpret_cast<std::uintptr_t>(slot.address);
    const std::uintptr_t page = page_size();
    void* const start = std::bit_cast<void*>(address / page * page);
    const bool locked = m_read_only.holds(address);
    if (locked && ::mprotect(start, page, PROT_READ | PROT_WRITE) != 0)
        return error(Code::unavailable, "The import \"{}\" cannot be replaced: {}.", slot.name, std::strerror(errno));
    // release: whoever is called through the slot sees what was prepared for it.
    std::atomic_ref<void*>(*slot.address).store(function, std::memory_order_release);
    if (locked)
        static_cast<void>(::mprotect(start, page, PROT_READ));
    return {};
}

}  // namespace hearth::watch

#include "base/elf.hpp"

#include "base/hex.hpp"

#include <bit>
#include <cstring>
#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>

namespace hearth::base {

namespace {

constexpr std::size_t k_most_headers = 64;
constexpr std::size_t k_most_note_bytes = 4096;
constexpr std::size_t k_most_symbol_bytes = std::size_t{64} << 20U;

#if defined(__x86_64__)
constexpr auto k_machine = EM_X86_64;
#elif defined(__aarch64__)
constexpr auto k_machine = EM_AARCH64;
#else
#error "Hearth knows x86-64 and aarch64"
#endif

bool is_elf(const Elf64_Ehdr& header)
{
    return std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0;
}

bool is_ours(const Elf64_Ehdr& header)
{
    return header.e_ident[EI_CLASS] == ELFCLASS64 && header.e_ident[EI_DATA] == ELFDATA2LSB &&
           header.e_machine == k_machine;
}

constexpr std::size_t padded(std::size_t size)
{
    return (size + 3) & ~std::size_t{3};
}

// The build-id among the notes of one segment.
std::string find_build_id(std::string_view notes)
{
    Elf64_Nhdr note;
    while (notes.size() >= sizeof note) {
        std::memcpy(&note, notes.data(), sizeof note);
        notes.remove_prefix(sizeof note);
        const std::size_t whole = padded(note.n_namesz) + padded(note.n_descsz);
        if (whole > notes.size())
            return {};
        const std::string_view name = notes.substr(0, note.n_namesz);
        if (note.n_type == NT_GNU_BUILD_ID && name == std::string_view("GNU\0", 4))
            return to_hex(as_bytes(notes.substr(padded(note.n_namesz), note.n_descsz)));
        notes.remove_prefix(whole);
    }
    return {};
}

}  // namespace

std::string elf_build_id(Files& files, const std::string& path)
{
    const FileHandle file(files, files.open(path.c_str(), O_RDONLY, 0));
    Elf64_Ehdr header;
    if (!file.open() || read_exactly(files, file.fd(), &header, sizeof header, 0) != 0 || !is_elf(header) ||
        !is_ours(header) || header.e_phentsize != sizeof(Elf64_Phdr))
        return {};
    for (std::size_t i = 0; i < std::min<std::size_t>(header.e_phnum, k_most_headers); ++i) {
        Elf64_Phdr segment;
        if (read_exactly(files, file.fd(), &segment, sizeof segment, header.e_phoff + i * sizeof segment) != 0)
            return {};
        if (segment.p_type != PT_NOTE || segment.p_filesz > k_most_note_bytes)
            continue;
        std::string notes(segment.p_filesz, '\0');
        if (read_exactly(files, file.fd(), notes.data(), notes.size(), segment.p_offset) != 0)
            return {};
        if (std::string id = find_build_id(notes); !id.empty())
            return id;
    }
    return {};
}

std::string loaded_build_id(void* handle)
{
    struct Search {
        ElfW(Addr) address;
        std::string found;
    };
    const link_map* map = nullptr;
    if (::dlinfo(handle, RTLD_DI_LINKMAP, &map) != 0 || map == nullptr)
        return {};
    Search search{map->l_addr, {}};
    const auto look_at = [](dl_phdr_info* image, std::size_t, void* data) {
        auto& wanted = *static_cast<Search*>(data);
        if (image->dlpi_addr != wanted.address)
            return 0;
        for (ElfW(Half) i = 0; i < image->dlpi_phnum; ++i) {
            const ElfW(Phdr)& segment = image->dlpi_phdr[i];
            if (segment.p_type != PT_NOTE || segment.p_memsz > k_most_note_bytes)
                continue;
            const auto* const notes = std::bit_cast<const char*>(image->dlpi_addr + segment.p_vaddr);
            wanted.found = find_build_id({notes, segment.p_memsz});
            if (!wanted.found.empty())
                return 1;
        }
        return 0;
    };
    ::dl_iterate_phdr(look_at, &search);
    return search.found;
}

std::optional<std::vector<std::string>> elf_imports(Files& files, const std::string& path)
{
    const FileHandle file(files, files.open(path.c_str(), O_RDONLY, 0));
    Elf64_Ehdr header;
    if (!file.open() || read_exactly(files, file.fd(), &header, sizeof header, 0) != 0 || !is_elf(header) ||
        !is_ours(header) || header.e_shentsize != sizeof(Elf64_Shdr))
        return std::nullopt;
    const auto section_at = [&](std::size_t index) -> std::optional<Elf64_Shdr> {
        Elf64_Shdr section;
        if (index >= header.e_shnum ||
            read_exactly(files, file.fd(), &section, sizeof section, header.e_shoff + index * sizeof section) != 0)
            return std::nullopt;
        return section;
    };
    const auto content_of = [&](const Elf64_Shdr& section) -> std::optional<std::string> {
        if (section.sh_size > k_most_symbol_bytes)
            return std::nullopt;
        std::string content(section.sh_size, '\0');
        if (read_exactly(files, file.fd(), content.data(), content.size(), section.sh_offset) != 0)
            return std::nullopt;
        return content;
    };
    for (std::size_t i = 0; i < header.e_shnum; ++i) {
        const std::optional<Elf64_Shdr> section = section_at(i);
        if (!section)
            return std::nullopt;
        if (section->sh_type != SHT_DYNSYM)
            continue;
        const std::optional<Elf64_Shdr> names_section = section_at(section->sh_link);
        const std::optional<std::string> symbols = content_of(*section);
        const std::optional<std::string> names = names_section ? content_of(*names_section) : std::nullopt;
        if (!symbols || !names)
            return std::nullopt;
        std::vector<std::string> imports;
        for (std::size_t at = 0; at + sizeof(Elf64_Sym) <= symbols->size(); at += sizeof(Elf64_Sym)) {
            Elf64_Sym symbol;
            std::memcpy(&symbol, symbols->data() + at, sizeof symbol);
            if (symbol.st_shndx == SHN_UNDEF && symbol.st_name != 0 && symbol.st_name < names->size())
                imports.emplace_back(names->c_str() + symbol.st_name);
        }
        return imports;
    }
    return std::nullopt;
}

std::string elf_mismatch(Files& files, const std::string& path)
{
    const FileHandle file(files, files.open(path.c_str(), O_RDONLY, 0));
    if (!file.open())
        return describe("not readable:", path, file.error());
    Elf64_Ehdr header;
    if (read_exactly(files, file.fd(), &header, sizeof header, 0) != 0 || !is_elf(header))
        return "not a shared library";
    return is_ours(header) ? "" : "a library for another kind of processor";
}

}  // namespace hearth::base

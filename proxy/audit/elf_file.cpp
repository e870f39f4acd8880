#include "audit/elf_file.hpp"

#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace hearth::audit {

namespace {

constexpr std::size_t k_most = 64 << 20;  // the largest table that is read; NVRTC's are some kilobytes

#if defined(__aarch64__)
constexpr unsigned k_machine = EM_AARCH64;
#elif defined(__x86_64__)
constexpr unsigned k_machine = EM_X86_64;
#else
#error "The drop-in library knows aarch64 and x86-64"
#endif

}  // namespace

ElfFile::~ElfFile()
{
    std::free(m_names);
    std::free(m_symbols);
    std::free(m_dynamic);
    if (m_fd >= 0)
        ::close(m_fd);
}

void* ElfFile::read(std::size_t offset, std::size_t size)
{
    if (size == 0 || size > k_most || offset > m_size || size > m_size - offset)
        return nullptr;
    char* const bytes = static_cast<char*>(std::malloc(size + 1));
    if (bytes == nullptr)
        return nullptr;
    std::size_t at = 0;
    while (at < size) {
        const ssize_t got = ::pread(m_fd, bytes + at, size - at, static_cast<off_t>(offset + at));
        if (got <= 0) {
            std::free(bytes);
            return nullptr;
        }
        at += static_cast<std::size_t>(got);
    }
    bytes[size] = '\0';
    return bytes;
}

bool ElfFile::open(const char* path)
{
    m_fd = ::open(path, O_RDONLY | O_CLOEXEC);
    struct stat facts {};
    if (m_fd < 0 || ::fstat(m_fd, &facts) != 0)
        return false;
    m_size = static_cast<std::size_t>(facts.st_size);
    auto* const header = static_cast<ElfW(Ehdr)*>(read(0, sizeof(ElfW(Ehdr))));
    if (header == nullptr)
        return false;
    const ElfW(Ehdr) facts_of_file = *header;
    std::free(header);
    if (std::memcmp(facts_of_file.e_ident, ELFMAG, SELFMAG) != 0 || facts_of_file.e_ident[EI_CLASS] != ELFCLASS64 ||
        facts_of_file.e_machine != k_machine || facts_of_file.e_type != ET_DYN ||
        facts_of_file.e_shentsize != sizeof(ElfW(Shdr)) || facts_of_file.e_shnum == 0)
        return false;
    const std::size_t count = facts_of_file.e_shnum;
    auto* const sections = static_cast<ElfW(Shdr)*>(read(facts_of_file.e_shoff, count * sizeof(ElfW(Shdr))));
    if (sections == nullptr)
        return false;
    for (std::size_t i = 0; i < count; ++i) {
        const ElfW(Shdr)& section = sections[i];
        if (section.sh_type == SHT_DYNSYM && m_symbols == nullptr && section.sh_link < count) {
            m_symbols = static_cast<ElfW(Sym)*>(read(section.sh_offset, section.sh_size));
            m_symbol_count = m_symbols != nullptr ? section.sh_size / sizeof(ElfW(Sym)) : 0;
            const ElfW(Shdr)& names = sections[section.sh_link];
            m_names = static_cast<char*>(read(names.sh_offset, names.sh_size));
            m_names_size = m_names != nullptr ? names.sh_size : 0;
        } else if (section.sh_type == SHT_DYNAMIC && m_dynamic == nullptr) {
            m_dynamic = static_cast<ElfW(Dyn)*>(read(section.sh_offset, section.sh_size));
            m_dynamic_count = m_dynamic != nullptr ? section.sh_size / sizeof(ElfW(Dyn)) : 0;
        }
    }
    std::free(sections);
    ::close(m_fd);
    m_fd = -1;
    return m_names != nullptr && m_symbols != nullptr && m_dynamic != nullptr;
}

const char* ElfFile::name_at(std::size_t offset) const
{
    return offset < m_names_size ? m_names + offset : "";
}

bool ElfFile::has_soname(const char* soname) const
{
    for (std::size_t i = 0; i < m_dynamic_count && m_dynamic[i].d_tag != DT_NULL; ++i)
        if (m_dynamic[i].d_tag == DT_SONAME)
            return std::strcmp(name_at(m_dynamic[i].d_un.d_val), soname) == 0;
    return false;
}

bool ElfFile::exports(const char* name) const
{
    for (std::size_t i = 0; i < m_symbol_count; ++i)
        if (m_symbols[i].st_shndx != SHN_UNDEF && std::strcmp(name_at(m_symbols[i].st_name), name) == 0)
            return true;
    return false;
}

const char* ElfFile::first_unknown(const char* const* functions, const char* const* prefixes) const
{
    for (std::size_t i = 0; i < m_symbol_count; ++i) {
        const ElfW(Sym)& symbol = m_symbols[i];
        if (symbol.st_shndx == SHN_UNDEF || ELF64_ST_TYPE(symbol.st_info) != STT_FUNC)
            continue;
        const char* const name = name_at(symbol.st_name);
        bool ours = false;
        for (const char* const* prefix = prefixes; *prefix != nullptr; ++prefix)
            ours |= std::strncmp(name, *prefix, std::strlen(*prefix)) == 0;
        if (!ours)
            continue;
        const char* const* known = functions;
        while (*known != nullptr && std::strcmp(*known, name) != 0)
            ++known;
        if (*known == nullptr)
            return name;
    }
    return nullptr;
}

}  // namespace hearth::audit

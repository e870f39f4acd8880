#include "doctor/program_facts.hpp"

#include "process/descriptor.hpp"

#include <algorithm>
#include <cerrno>
#include <new>
#include <utility>

#include <fcntl.h>
#include <gelf.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

namespace hearth::cli {

namespace {

#if defined(__aarch64__)
constexpr unsigned k_machine = EM_AARCH64;
#elif defined(__x86_64__)
constexpr unsigned k_machine = EM_X86_64;
#else
#error "Hearth knows x86-64 and aarch64"
#endif

constexpr std::uint64_t k_most_searched = 8ULL << 30U;  // bytes of a file
constexpr std::size_t k_piece = 1U << 20U;
constexpr std::size_t k_script_line = 256;  // the kernel reads no more of it
constexpr const char* k_shell = "/bin/sh";  // execvp() passes it a file that the kernel cannot run

using Kind = ProgramFacts::Kind;

// The file as libelf sees it. It is read, not mapped, so that truncating it meanwhile does no harm.
class ElfHandle {
public:
    explicit ElfHandle(int descriptor)
    {
        ::elf_version(EV_CURRENT);
        m_elf = ::elf_begin(descriptor, ELF_C_READ, nullptr);
    }
    ~ElfHandle() { ::elf_end(m_elf); }
    ElfHandle(const ElfHandle&) = delete;
    ElfHandle& operator=(const ElfHandle&) = delete;

    operator Elf*() const { return m_elf; }

private:
    Elf* m_elf = nullptr;
};

std::string machine_name(unsigned machine)
{
    static constexpr std::pair<unsigned, const char*> k_names[] = {{EM_AARCH64, "AArch64"}, {EM_X86_64, "x86-64"},
                                                                   {EM_386, "x86"},         {EM_ARM, "Arm"},
                                                                   {EM_PPC64, "POWER"},     {EM_RISCV, "RISC-V"}};
    for (const auto& [number, name] : k_names)
        if (number == machine)
            return name;
    return "machine " + std::to_string(machine);
}

// Up to `most` bytes; fewer at the end of the file or if it cannot be read.
std::string read_at(int descriptor, std::uint64_t offset, std::size_t most)
{
    std::string bytes(most, '\0');
    std::size_t have = 0;
    while (have < most) {
        const ssize_t got = ::pread(descriptor, bytes.data() + have, most - have, static_cast<off_t>(offset + have));
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            break;
        have += static_cast<std::size_t>(got);
    }
    bytes.resize(have);
    return bytes;
}

// Reads the file once and finds everything that is searched for in its text. False: it mentions no compiler.
bool search_whole(int descriptor, ProgramFacts& facts)
{
    bool any = false;
    for (std::uint64_t at = 0; at < k_most_searched; at += k_piece) {
        const std::string piece = read_at(descriptor, at, k_piece + k_overlap);
        const bool last = piece.size() < k_piece + k_overlap;
        any = search_text(piece, last ? Piece::last : Piece::any, facts.traces) || any;
        if (last)
            return any;
    }
    facts.whole = false;
    return any;
}

// Finds compilers' functions among those that the file defines. Damaged tables are skipped.
void find_definitions(Elf* elf, ProgramFacts& facts)
{
    for (Elf_Scn* section = ::elf_nextscn(elf, nullptr); section != nullptr; section = ::elf_nextscn(elf, section)) {
        GElf_Shdr header;
        if (::gelf_getshdr(section, &header) == nullptr ||
            (header.sh_type != SHT_SYMTAB && header.sh_type != SHT_DYNSYM))
            continue;
        Elf_Data* const symbols = ::elf_getdata(section, nullptr);
        GElf_Sym symbol;
        for (int i = 0; ::gelf_getsym(symbols, i, &symbol) != nullptr; ++i) {
            const unsigned type = GELF_ST_TYPE(symbol.st_info);
            if (symbol.st_shndx == SHN_UNDEF || (type != STT_FUNC && type != STT_GNU_IFUNC))
                continue;
            const char* const name = ::elf_strptr(elf, header.sh_link, symbol.st_name);
            const bool local = GELF_ST_BIND(symbol.st_info) == STB_LOCAL;
            if (const auto compiler = compiler_defining(name != nullptr ? name : "", local))
                facts.traces.at(static_cast<std::size_t>(*compiler)).defines = true;
        }
    }
}

// Reads from the dynamic section what kind of file it is. False if the section lies outside the file.
bool read_dynamic(Elf* elf, const GElf_Phdr& where, bool& executable, ProgramFacts& facts)
{
    Elf_Data* const entries =
        ::elf_getdata_rawchunk(elf, static_cast<std::int64_t>(where.p_offset), where.p_filesz, ELF_T_DYN);
    GElf_Dyn entry;
    for (int i = 0; ::gelf_getdyn(entries, i, &entry) != nullptr && entry.d_tag != DT_NULL; ++i)
        if (entry.d_tag == DT_FLAGS_1)
            executable = (entry.d_un.d_val & DF_1_PIE) != 0;
        else if (entry.d_tag == DT_AUDIT || entry.d_tag == DT_DEPAUDIT)
            facts.names_auditors = true;
    return entries != nullptr;
}

// Empty if it does not end within the segment.
std::string text_of(Elf* elf, const GElf_Phdr& where)
{
    const Elf_Data* const bytes =
        ::elf_getdata_rawchunk(elf, static_cast<std::int64_t>(where.p_offset), where.p_filesz, ELF_T_BYTE);
    const std::string_view text =
        bytes != nullptr ? std::string_view(static_cast<const char*>(bytes->d_buf), bytes->d_size) : "";
    const std::size_t end = text.find('\0');
    return end == std::string_view::npos ? "" : std::string(text.substr(0, end));
}

Kind read_segments(Elf* elf, bool executable, std::uint64_t file_size, ProgramFacts& facts)
{
    std::size_t count = 0;
    if (::elf_getphdrnum(elf, &count) != 0 || count == 0)
        return Kind::damaged;
    bool asks_for_loader = false;
    for (std::size_t i = 0; i < count; ++i) {
        GElf_Phdr segment;
        if (::gelf_getphdr(elf, static_cast<int>(i), &segment) == nullptr)
            return Kind::damaged;
        if (segment.p_type == PT_LOAD &&
            (segment.p_offset > file_size || segment.p_filesz > file_size - segment.p_offset))
            return Kind::damaged;
        if (segment.p_type == PT_DYNAMIC && !read_dynamic(elf, segment, executable, facts))
            return Kind::damaged;
        if (segment.p_type == PT_INTERP) {
            asks_for_loader = true;
            facts.loader = text_of(elf, segment);
        }
    }
    if (asks_for_loader)
        return facts.loader.empty() ? Kind::damaged : Kind::program;
    return executable ? Kind::static_program : Kind::library;
}

Kind read_elf(int descriptor, std::uint64_t size, ProgramFacts& facts)
{
    const ElfHandle elf(descriptor);
    GElf_Ehdr header;
    if (::elf_kind(elf) != ELF_K_ELF || ::gelf_getehdr(elf, &header) == nullptr)
        return Kind::damaged;
    facts.machine = machine_name(header.e_machine);
    facts.bits = ::gelf_getclass(elf) == ELFCLASS64 ? 64 : 32;
    if (facts.bits != 64 || header.e_ident[EI_DATA] != ELFDATA2LSB || header.e_machine != k_machine)
        return Kind::foreign;
    if (header.e_type != ET_EXEC && header.e_type != ET_DYN)
        return Kind::object;
    const Kind kind = read_segments(elf, header.e_type == ET_EXEC, size, facts);
    if (kind == Kind::damaged)
        return kind;
    if (search_whole(descriptor, facts))
        find_definitions(elf, facts);
    return kind;
}

// What follows "#!". A file without it goes to a shell, unless it is not even text.
Kind read_script(std::string_view start, ProgramFacts& facts)
{
    std::string_view line = start.substr(0, start.find('\n'));
    line = line.starts_with("#!") ? line.substr(2) : "";
    static constexpr std::string_view k_blanks{" \t\r\0", 4};
    while (!(line = line.substr(std::min(line.find_first_not_of(k_blanks), line.size()))).empty()) {
        const std::string_view word = line.substr(0, line.find_first_of(k_blanks));
        facts.interpreter.emplace_back(word);
        line.remove_prefix(word.size());
    }
    if (!facts.interpreter.empty())
        return Kind::script;
    // The kernel refuses "#!" with nothing after it, not even the end of a line.
    if (start.find('\0') != std::string_view::npos || start == "#!")
        return Kind::unknown;
    facts.interpreter.emplace_back(k_shell);
    return Kind::script;
}

void look(const std::string& path, ProgramFacts& facts)
{
    struct stat status {};
    // O_NONBLOCK: opening a pipe that nobody writes to would wait forever.
    const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
    if (file.get() < 0 || ::fstat(file.get(), &status) != 0) {
        facts.error = errno;
        return;
    }
    facts.kind = Kind::irregular;
    if (!S_ISREG(status.st_mode))
        return;
    facts.executable = ::faccessat(AT_FDCWD, path.c_str(), X_OK, AT_EACCESS) == 0;
    facts.set_user_id = (status.st_mode & S_ISUID) != 0;
    // Without the group's right to execute, this bit means locking and not a group.
    facts.set_group_id = (status.st_mode & S_ISGID) != 0 && (status.st_mode & S_IXGRP) != 0;
    facts.capabilities = ::fgetxattr(file.get(), "security.capability", nullptr, 0) > 0;
    const std::string start = read_at(file.get(), 0, k_script_line);
    facts.kind = start.starts_with(ELFMAG) ? read_elf(file.get(), static_cast<std::uint64_t>(status.st_size), facts)
                                           : read_script(start, facts);
}

}  // namespace

std::string_view to_string(ProgramFacts::Kind kind)
{
    constexpr std::array<std::string_view, 10> k_words{"unreadable",     "irregular", "unknown", "script",
                                                       "damaged",        "foreign",   "object",  "library",
                                                       "static_program", "program"};
    return k_words.at(static_cast<std::size_t>(kind));
}

std::string_view this_machine()
{
    return k_machine == EM_AARCH64 ? "AArch64" : "x86-64";
}

ProgramFacts look_at_program(const std::string& path) noexcept
{
    ProgramFacts facts;
    try {
        look(path, facts);
    } catch (const std::bad_alloc&) {
        facts.kind = Kind::unreadable;
        facts.error = ENOMEM;
    }
    return facts;
}

}  // namespace hearth::cli

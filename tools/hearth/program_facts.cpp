#include "program_facts.hpp"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <new>

#include <elf.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

namespace hearth::cli {

namespace {

static_assert(std::endian::native == std::endian::little, "headers are taken as they are in the file");

#if defined(__aarch64__)
constexpr unsigned k_machine = EM_AARCH64;
#elif defined(__x86_64__)
constexpr unsigned k_machine = EM_X86_64;
#else
#error "Hearth knows x86-64 and aarch64"
#endif

constexpr std::uint64_t k_most_searched = 8ULL << 30U;  // bytes of a file
constexpr std::size_t k_most_dynamic = 16384;           // entries; usual are thirty
constexpr std::size_t k_most_symbols = 64U << 20U;
constexpr std::size_t k_most_text = 4096;
constexpr std::size_t k_script_line = 256;  // the kernel looks at no more

constexpr std::size_t k_piece = 1U << 20U;

using Kind = ProgramFacts::Kind;

// A file by its descriptor: reading it in pieces, unlike mapping it, survives its being cut meanwhile.
class File {
public:
    explicit File(const std::string& path)
        // Without waiting: a pipe that nobody writes to would not open.
        : m_fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY))
    {
        if (m_fd < 0 || ::fstat(m_fd, &m_status) != 0)
            m_error = errno;
    }
    ~File()
    {
        if (m_fd >= 0)
            ::close(m_fd);
    }
    File(const File&) = delete;
    File& operator=(const File&) = delete;

    int error() const { return m_error; }
    const struct stat& status() const { return m_status; }
    std::uint64_t size() const { return static_cast<std::uint64_t>(m_status.st_size); }
    bool holds(std::uint64_t offset, std::uint64_t bytes) const { return offset <= size() && bytes <= size() - offset; }

    bool read(std::uint64_t offset, void* to, std::size_t bytes) const
    {
        if (!holds(offset, bytes))
            return false;
        for (std::size_t done = 0; done < bytes;) {
            const ssize_t got =
                ::pread(m_fd, static_cast<char*>(to) + done, bytes - done, static_cast<off_t>(offset + done));
            if (got < 0 && errno == EINTR)
                continue;
            if (got <= 0)
                return false;
            done += static_cast<std::size_t>(got);
        }
        return true;
    }

    template <class Record>
    bool read_records(std::uint64_t offset, std::size_t count, std::vector<Record>& records) const
    {
        if (!holds(offset, std::uint64_t{count} * sizeof(Record)))
            return false;
        records.resize(count);
        return read(offset, records.data(), count * sizeof(Record));
    }

    // The text that ends with a zero; empty where it does not, or is too long to be a path.
    std::string text_at(std::uint64_t offset) const
    {
        if (offset >= size())
            return {};
        std::string text(static_cast<std::size_t>(std::min<std::uint64_t>(k_most_text, size() - offset)), '\0');
        if (!read(offset, text.data(), text.size()))
            return {};
        const std::size_t end = text.find('\0');
        return end == std::string::npos ? std::string() : text.substr(0, end);
    }

    bool has_capabilities() const { return ::fgetxattr(m_fd, "security.capability", nullptr, 0) > 0; }

private:
    int m_fd = -1;
    int m_error = 0;
    struct stat m_status {};
};

std::string machine_name(unsigned machine)
{
    switch (machine) {
    case EM_AARCH64:
        return "AArch64";
    case EM_X86_64:
        return "x86-64";
    case EM_386:
        return "x86";
    case EM_ARM:
        return "Arm";
    case EM_PPC64:
        return "POWER";
    case EM_RISCV:
        return "RISC-V";
    default:
        return "machine " + std::to_string(machine);
    }
}

// One reading of the file, for all that is to be found in its text.
bool search_text(const File& file, TextSearch& search, bool& whole)
{
    const std::uint64_t end = std::min(file.size(), k_most_searched);
    whole = end == file.size();
    std::string bytes;
    for (std::uint64_t begin = 0; begin < end; begin += k_piece) {
        const std::uint64_t from = begin - std::min<std::uint64_t>(begin, TextSearch::k_before);
        const std::uint64_t to = std::min<std::uint64_t>(file.size(), begin + k_piece + TextSearch::k_behind);
        bytes.resize(static_cast<std::size_t>(to - from));
        if (!file.read(from, bytes.data(), bytes.size()))
            return false;
        search.take_piece(bytes, static_cast<std::size_t>(begin - from),
                          static_cast<std::size_t>(std::min<std::uint64_t>(begin + k_piece, end) - from), from);
    }
    return true;
}

bool is_definition(const Elf64_Sym& symbol, const NameInFile& name)
{
    const unsigned type = ELF64_ST_TYPE(symbol.st_info);
    if (symbol.st_shndx == SHN_UNDEF || (type != STT_FUNC && type != STT_GNU_IFUNC))
        return false;
    // nvJitLink.h defines the plain names as local functions in every program that includes it.
    return name.compiler != Compiler::nvjitlink || name.versioned || ELF64_ST_BIND(symbol.st_info) != STB_LOCAL;
}

// Looks for the names that were found in the text among the functions that the file defines. Damaged tables are none.
void find_definitions(const File& file, const Elf64_Ehdr& header, const std::vector<NameInFile>& names,
                      ProgramFacts& facts)
{
    std::vector<Elf64_Shdr> sections;
    if (names.empty() || header.e_shentsize != sizeof(Elf64_Shdr) ||
        !file.read_records(header.e_shoff, header.e_shnum, sections))
        return;
    constexpr std::size_t k_at_once = 8192;
    std::vector<Elf64_Sym> symbols;
    for (const Elf64_Shdr& table : sections) {
        if ((table.sh_type != SHT_SYMTAB && table.sh_type != SHT_DYNSYM) || table.sh_link >= sections.size())
            continue;
        const Elf64_Shdr& texts = sections[table.sh_link];
        const std::uint64_t count = std::min<std::uint64_t>(table.sh_size / sizeof(Elf64_Sym), k_most_symbols);
        for (std::uint64_t at = 0; at < count; at += k_at_once) {
            const auto now = static_cast<std::size_t>(std::min<std::uint64_t>(k_at_once, count - at));
            const std::uint64_t before = at * sizeof(Elf64_Sym);
            if (table.sh_offset > file.size() || !file.read_records(table.sh_offset + before, now, symbols))
                break;
            for (const Elf64_Sym& symbol : symbols)
                for (const NameInFile& name : names)
                    if (name.offset >= texts.sh_offset && name.offset - texts.sh_offset == symbol.st_name &&
                        is_definition(symbol, name))
                        facts.traces.at(static_cast<std::size_t>(name.compiler)).defines = true;
        }
    }
}

// Where in the file the byte lies that is at an address once the file is loaded.
std::optional<std::uint64_t> offset_of(std::uint64_t address, const std::vector<Elf64_Phdr>& segments)
{
    for (const Elf64_Phdr& segment : segments)
        if (segment.p_type == PT_LOAD && address >= segment.p_vaddr && address - segment.p_vaddr < segment.p_filesz)
            return segment.p_offset + (address - segment.p_vaddr);
    return std::nullopt;
}

std::vector<std::string> split(std::string_view text, char separator)
{
    std::vector<std::string> parts;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find(separator), text.size());
        if (end > 0)
            parts.emplace_back(text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return parts;
}

// What the dynamic loader is told: libraries, where to look for them, and whether the file is a program. False where
// that is not in the file.
bool read_dynamic(const File& file, const Elf64_Phdr& where, const std::vector<Elf64_Phdr>& segments, bool& executable,
                  ProgramFacts& facts)
{
    std::vector<Elf64_Dyn> entries;
    const auto count =
        static_cast<std::size_t>(std::min<std::uint64_t>(where.p_filesz / sizeof(Elf64_Dyn), k_most_dynamic));
    if (!file.read_records(where.p_offset, count, entries))
        return false;
    entries.erase(std::find_if(entries.begin(), entries.end(), [](const Elf64_Dyn& e) { return e.d_tag == DT_NULL; }),
                  entries.end());
    std::optional<std::uint64_t> texts;
    for (const Elf64_Dyn& entry : entries)
        if (entry.d_tag == DT_STRTAB)
            texts = offset_of(entry.d_un.d_ptr, segments);
    for (const Elf64_Dyn& entry : entries) {
        if (entry.d_tag == DT_FLAGS_1)
            executable = (entry.d_un.d_val & DF_1_PIE) != 0;
        if (entry.d_tag != DT_NEEDED && entry.d_tag != DT_RPATH && entry.d_tag != DT_RUNPATH)
            continue;
        if (!texts || entry.d_un.d_val > file.size())
            return false;
        const std::string text = file.text_at(*texts + entry.d_un.d_val);
        if (entry.d_tag == DT_NEEDED)
            facts.needed.push_back(text);
        else
            (entry.d_tag == DT_RPATH ? facts.rpath : facts.runpath) = split(text, ':');
    }
    return true;
}

Kind read_segments(const File& file, const Elf64_Ehdr& header, ProgramFacts& facts)
{
    std::vector<Elf64_Phdr> segments;
    if (header.e_phentsize != sizeof(Elf64_Phdr) || header.e_phnum == 0 ||
        !file.read_records(header.e_phoff, header.e_phnum, segments))
        return Kind::damaged;
    bool executable = header.e_type == ET_EXEC;
    bool asks_for_loader = false;
    for (const Elf64_Phdr& segment : segments) {
        if (segment.p_type == PT_LOAD && !file.holds(segment.p_offset, segment.p_filesz))
            return Kind::damaged;
        if (segment.p_type == PT_DYNAMIC && !read_dynamic(file, segment, segments, executable, facts))
            return Kind::damaged;
        if (segment.p_type == PT_INTERP) {
            asks_for_loader = true;
            facts.loader = file.text_at(segment.p_offset);
        }
    }
    if (asks_for_loader)
        return facts.loader.empty() ? Kind::damaged : Kind::program;
    return executable ? Kind::static_program : Kind::library;
}

Kind read_elf(const File& file, ProgramFacts& facts)
{
    // As far as the processor, the header is the same for 32 and 64 bits.
    std::array<unsigned char, EI_NIDENT + 4> start{};
    if (!file.read(0, start.data(), start.size()))
        return Kind::damaged;
    const bool swapped = start[EI_DATA] == ELFDATA2MSB;
    const unsigned machine = swapped ? start[18] * 256U + start[19] : start[19] * 256U + start[18];
    facts.machine = machine_name(machine);
    facts.bits = start[EI_CLASS] == ELFCLASS64 ? 64 : start[EI_CLASS] == ELFCLASS32 ? 32 : 0;
    if (facts.bits == 0 || start[EI_DATA] == ELFDATANONE || start[EI_DATA] > ELFDATA2MSB)
        return Kind::damaged;
    if (facts.bits != 64 || swapped || machine != k_machine)
        return Kind::foreign;
    Elf64_Ehdr header;
    if (!file.read(0, &header, sizeof header))
        return Kind::damaged;
    if (header.e_type != ET_EXEC && header.e_type != ET_DYN)
        return Kind::object;
    const Kind kind = read_segments(file, header, facts);
    if (kind == Kind::damaged)
        return kind;
    TextSearch search;
    if (!search_text(file, search, facts.whole))
        return Kind::damaged;
    facts.traces = search.traces();
    find_definitions(file, header, search.names(), facts);
    // What is linked is in the text too.
    for (const std::string& needed : facts.needed)
        if (const auto known = compiler_of(needed)) {
            CompilerTraces& traces = facts.traces.at(static_cast<std::size_t>(known->compiler));
            traces.linked.push_back(needed);
            traces.named.erase(std::remove(traces.named.begin(), traces.named.end(), needed), traces.named.end());
        }
    return kind;
}

Kind read_script(const File& file, ProgramFacts& facts)
{
    std::string line(static_cast<std::size_t>(std::min<std::uint64_t>(k_script_line, file.size())), '\0');
    if (!file.read(0, line.data(), line.size()))
        return Kind::unknown;
    line = line.substr(2, std::min(line.find('\n'), line.size()) - 2);
    std::replace_if(
        line.begin(), line.end(), [](char c) { return c == '\t' || c == '\r' || c == '\0'; }, ' ');
    facts.interpreter = split(line, ' ');
    return facts.interpreter.empty() ? Kind::unknown : Kind::script;
}

void look(const std::string& path, ProgramFacts& facts)
{
    const File file(path);
    if (file.error() != 0) {
        facts.error = file.error();
        return;
    }
    facts.kind = Kind::irregular;
    if (!S_ISREG(file.status().st_mode))
        return;
    facts.set_user_id = (file.status().st_mode & S_ISUID) != 0;
    // Without the right to execute, this bit asks for locking, not for a group.
    facts.set_group_id = (file.status().st_mode & S_ISGID) != 0 && (file.status().st_mode & S_IXGRP) != 0;
    facts.capabilities = file.has_capabilities();
    facts.kind = Kind::unknown;
    std::array<char, SELFMAG> start{};
    const auto known = static_cast<std::size_t>(std::min<std::uint64_t>(file.size(), start.size()));
    if (!file.read(0, start.data(), known))
        return;
    const std::string_view magic(start.data(), known);
    if (magic == std::string_view(ELFMAG, SELFMAG))
        facts.kind = read_elf(file, facts);
    else if (magic.starts_with("#!"))
        facts.kind = read_script(file, facts);
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

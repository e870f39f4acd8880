#include "compilers/command/output_kinds.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <elf.h>
#include <optional>
#include <string_view>

namespace hearth::command {

namespace {

constexpr unsigned k_machine_of_cuda = 190;
constexpr std::uint32_t k_magic_of_fatbin = 0xBA55ED50;

// Copied out, since nothing in a file is aligned. None: it does not lie inside the file.
template <class T>
std::optional<T> read_at(ByteView file, std::uint64_t at)
{
    T value;
    if (at > file.size() || file.size() - at < sizeof value)
        return std::nullopt;
    std::memcpy(&value, file.data() + at, sizeof value);
    return value;
}

bool is_elf(ByteView file, unsigned char bits)
{
    return file.size() > EI_NIDENT && std::memcmp(file.data(), ELFMAG, SELFMAG) == 0 &&
           file[EI_CLASS] == std::byte{bits} && file[EI_DATA] == std::byte{ELFDATA2LSB};
}

// Type and machine, which lie at one place in both classes.
struct Made {
    std::uint16_t type = ET_NONE;
    std::uint16_t machine = EM_NONE;
};

// None: it is no ELF file.
std::optional<Made> made_as(ByteView file)
{
    return is_elf(file, ELFCLASS64) || is_elf(file, ELFCLASS32) ? read_at<Made>(file, EI_NIDENT) : std::nullopt;
}

}  // namespace

bool makes_intermediate(const Call& call)
{
    const auto asks = [&](std::string_view what) {
        return std::ranges::any_of(call.words, [&](const std::string& word) { return word.find(what) != word.npos; });
    };
    const auto is_header = [](const std::string& word) {
        return word.ends_with("-header") || word.ends_with("-module");
    };
    return call.makes == ".s" || call.makes == ".cu.cpp.ii" || std::ranges::any_of(call.words, is_header) ||
           asks("-flto") || asks("-emit-llvm") || asks("-fembed-bitcode") || asks("--precompile");
}

bool is_for_hosts(ByteView content)
{
    const std::optional<Made> made = made_as(content);
    return made && made->machine != k_machine_of_cuda;
}

bool is_program(ByteView content)
{
    const std::optional<Made> made = made_as(content);
    return is_for_hosts(content) && (made->type == ET_EXEC || made->type == ET_DYN);
}

bool is_what_it_makes(const Call& call, ByteView content)
{
    if (call.makes == k_linked && is_program(content))
        return true;
    if (call.makes == ".o" || call.makes == "a_dlink.o" || call.makes == k_linked)
        return is_for_hosts(content) && made_as(content)->type == ET_REL;
    if (call.makes == ".cubin" || call.makes == "elf.o")
        return made_as(content) && !is_for_hosts(content);
    if (call.makes == ".fatbin")
        return read_at<std::uint32_t>(content, 0) == k_magic_of_fatbin;
    return true;  // PTX and its kin name no files; who runs another command says that its output is harmless
}

}  // namespace hearth::command

#include "compiler_traces.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

namespace hearth::cli {

namespace {

constexpr std::size_t k_enough_messages = 2;
constexpr std::size_t k_most_names = 64;  // that are remembered of a kind: a file may hold nothing else

// What is searched for in a file's text. The messages are put together here from parts, so that this command does not
// look like a compiler itself. Each was found in libnvrtc 11.8, 12.3, 12.9, 13.0 and 13.4, in libnvJitLink 12.3, 12.9,
// 13.0 and 13.5, and in Warp 1.19, which has both inside and is stripped; and in no other library or program of CUDA
// 13.0. One alone proves nothing: programs search logs for such messages.
struct Messages {
    std::string_view before;  // what stands before `mark`
    std::string_view mark;
    std::string_view between;
    std::array<std::string_view, 3> endings;
};
constexpr std::array<Messages, k_compilers.size()> k_messages{
    {{"",
      "nvrtc",
      ": error: ",
      {"failed to load builtins for compute_", "invalid value for --gpu-architecture (-arch)", "unrecognized option "}},
     {"does not match type ", "NVJITLINK_INPUT_", "", {"FATBIN", "OBJECT", "PTX"}}}};

// What file names begin with behind "lib", and the function that everybody who uses the library calls.
struct Names {
    std::string_view family;
    std::string_view function;
};
constexpr std::array<Names, k_compilers.size()> k_names{
    {{"nvrtc", "nvrtcCompileProgram"}, {"nvJitLink", "nvJitLinkCreate"}}};

constexpr std::array<std::string_view, 3> k_marks{"nvrtc", "nvJitLink", "NVJITLINK_INPUT_"};

bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

bool is_in_file_names(char c)
{
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '.' || c == '-' || c == '_';
}

void add_once(std::vector<std::string>& names, std::string_view name)
{
    if (names.size() < k_most_names && std::find(names.begin(), names.end(), name) == names.end())
        names.emplace_back(name);
}

// std::string_view::find() takes three times as long.
std::size_t find(std::string_view bytes, std::string_view mark, std::size_t from)
{
    const void* const found =
        from < bytes.size() ? ::memmem(bytes.data() + from, bytes.size() - from, mark.data(), mark.size()) : nullptr;
    return found != nullptr ? static_cast<std::size_t>(static_cast<const char*>(found) - bytes.data())
                            : std::string_view::npos;
}

}  // namespace

std::string_view to_string(Compiler compiler)
{
    return compiler == Compiler::nvrtc ? "NVRTC" : "nvJitLink";
}

std::optional<CompilerName> compiler_of(std::string_view file_name)
{
    constexpr std::size_t k_hash = 8;  // that tools for Python packages put into names
    for (std::size_t i = 0; i < k_compilers.size(); ++i) {
        std::string_view rest = file_name;
        if (!rest.starts_with("lib") || !rest.substr(3).starts_with(k_names.at(i).family))
            continue;
        rest.remove_prefix(3 + k_names.at(i).family.size());
        if (rest.starts_with('-') && std::min(rest.find_first_not_of("0123456789abcdef", 1), rest.size()) == 1 + k_hash)
            rest.remove_prefix(1 + k_hash);
        if (!rest.starts_with(".so") || rest.find_first_not_of(".0123456789", 3) != std::string_view::npos)
            continue;
        rest.remove_prefix(3);
        CompilerName name{k_compilers.at(i), 0};
        for (const char c : rest.substr(std::min<std::size_t>(1, rest.size()))) {
            if (!is_digit(c) || name.major > 999)
                break;
            name.major = name.major * 10 + (c - '0');
        }
        return name;
    }
    return std::nullopt;
}

void TextSearch::take_piece(std::string_view bytes, std::size_t first, std::size_t last, std::uint64_t offset)
{
    for (const std::string_view mark : k_marks)
        for (std::size_t at = find(bytes, mark, first); at < last; at = find(bytes, mark, at + 1))
            take(bytes.substr(0, at), bytes.substr(at, k_behind), offset + at);
}

std::array<CompilerTraces, k_compilers.size()> TextSearch::traces() const
{
    std::array<CompilerTraces, k_compilers.size()> all;
    for (std::size_t i = 0; i < all.size(); ++i) {
        all.at(i).named = m_file_names.at(i);
        all.at(i).messages = static_cast<std::size_t>(std::popcount(m_messages.at(i))) >= k_enough_messages;
    }
    return all;
}

void TextSearch::take(std::string_view before, std::string_view here, std::uint64_t offset)
{
    for (std::size_t i = 0; i < k_compilers.size(); ++i) {
        take_message(i, before, here);
        if (!here.starts_with(k_names.at(i).family))
            continue;
        if (before.ends_with("lib"))
            take_file_name(here);
        take_function(i, before, here, offset);
    }
}

void TextSearch::take_message(std::size_t compiler, std::string_view before, std::string_view here)
{
    const Messages& messages = k_messages.at(compiler);
    if (!here.starts_with(messages.mark) || !before.ends_with(messages.before))
        return;
    here.remove_prefix(messages.mark.size());
    if (!here.starts_with(messages.between))
        return;
    here.remove_prefix(messages.between.size());
    for (std::size_t i = 0; i < messages.endings.size(); ++i)
        if (here.starts_with(messages.endings.at(i)))
            m_messages.at(compiler) |= 1U << i;
}

void TextSearch::take_file_name(std::string_view here)
{
    const auto* end = std::find_if_not(here.begin(), here.end(), is_in_file_names);
    std::string name = "lib";
    name.append(here.begin(), end);
    name.erase(name.find_last_not_of('.') + 1);  // of a sentence, or of "libnvrtc.so.%d"
    if (const auto known = compiler_of(name))
        add_once(m_file_names.at(static_cast<std::size_t>(known->compiler)), name);
}

void TextSearch::take_function(std::size_t compiler, std::string_view before, std::string_view here,
                               std::uint64_t offset)
{
    const std::string_view function = k_names.at(compiler).function;
    if (!here.starts_with(function) || m_names.size() >= k_most_names)
        return;
    here.remove_prefix(function.size());
    if (here.starts_with('\0'))
        m_names.push_back({offset, k_compilers.at(compiler), false});
    // nvJitLink's functions are __nvJitLinkCreate_13_0 and so on; its header makes the plain names.
    else if (before.ends_with("__") && here.size() > 1 && here[0] == '_' && is_digit(here[1]))
        m_names.push_back({offset - 2, k_compilers.at(compiler), true});
}

}  // namespace hearth::cli

#include "doctor/compiler_traces.hpp"

#include <algorithm>
#include <cstring>

namespace hearth::cli {

namespace {

constexpr std::size_t k_most_names = 64;  // the most names of a kind to remember, since a file may hold nothing else

struct Known {
    std::string_view name;
    std::string_view family;    // what follows "lib" in the names of its files
    std::array<int, 2> majors;  // of its files, that Hearth stands in for
    std::string_view versions;  // the same in words
    std::string_view function;  // a function that every user of it calls; empty: it is never inside a program
    // Its messages. They are put together from these parts only when they are searched for, so that this command does
    // not look like a compiler itself. Each was found in libnvrtc 11.8, 12.3, 12.9, 13.0 and 13.4, in
    // libnvJitLink 12.3, 12.9, 13.0 and 13.5, and in Warp 1.19, which has both inside and is stripped; and in no other
    // library or program of CUDA 13.0.
    std::string_view mark;  // a part of every message that is rare in other files
    std::array<std::string_view, 2> beginning;
    std::array<std::string_view, 3> endings;
};
constexpr std::array<Known, k_compilers.size()> k_known{
    {{"NVRTC",
      "nvrtc",
      {12, 13},
      "versions 12 and 13",
      "nvrtcCompileProgram",
      "nvrtc",
      {"nvrtc", ": error: "},
      {"failed to load builtins for compute_", "invalid value for --gpu-architecture (-arch)", "unrecognized option "}},
     {"nvJitLink",
      "nvJitLink",
      {12, 13},
      "versions 12 and 13",
      "nvJitLinkCreate",
      "NVJITLINK_INPUT_",
      {"does not match type ", "NVJITLINK_INPUT_"},
      {"FATBIN", "OBJECT", "PTX"}},
     // CUDA 11, 12 and 13 have it under one number. NVRTC and nvJitLink have its messages too.
     {"libNVVM", "nvvm", {4, 4}, "version 4", {}, {}, {}, {}}}};

bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

bool is_in_file_names(char c)
{
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '.' || c == '-' || c == '_';
}

// Takes a third of the time of std::string_view::find().
std::size_t find(std::string_view bytes, std::string_view word, std::size_t from = 0)
{
    const void* const found =
        from < bytes.size() ? ::memmem(bytes.data() + from, bytes.size() - from, word.data(), word.size()) : nullptr;
    return found != nullptr ? static_cast<std::size_t>(static_cast<const char*>(found) - bytes.data())
                            : std::string_view::npos;
}

void find_messages(std::string_view piece, const Known& known, CompilerTraces& traces)
{
    for (std::size_t i = 0; i < known.endings.size(); ++i) {
        std::string message;
        for (const std::string_view part : {known.beginning[0], known.beginning[1], known.endings.at(i)})
            message += part;
        if (find(piece, message) != std::string_view::npos)
            traces.messages |= 1U << i;
    }
}

void find_file_names(std::string_view piece, Piece which, const Known& known, std::vector<std::string>& names)
{
    const std::string beginning = "lib" + std::string(known.family);
    for (std::size_t at = find(piece, beginning); at != std::string_view::npos; at = find(piece, beginning, at + 1)) {
        const auto* const end = std::find_if_not(piece.begin() + at, piece.end(), is_in_file_names);
        if (end == piece.end() && which != Piece::last)
            return;  // the name is cut off here; the next piece has all of it
        std::string name(piece.begin() + at, end);
        name.erase(name.find_last_not_of('.') + 1);  // dots at the end of a sentence, or of "libnvrtc.so.%d"
        if (compiler_of(name) && names.size() < k_most_names &&
            std::find(names.begin(), names.end(), name) == names.end())
            names.push_back(name);
    }
}

}  // namespace

std::string_view to_string(Compiler compiler)
{
    return k_known.at(static_cast<std::size_t>(compiler)).name;
}

std::optional<CompilerName> compiler_of(std::string_view file_name)
{
    constexpr std::size_t k_hash = 8;  // digits that tools for Python packages put into names
    for (std::size_t i = 0; i < k_compilers.size(); ++i) {
        std::string_view rest = file_name;
        if (!rest.starts_with("lib") || !rest.substr(3).starts_with(k_known.at(i).family))
            continue;
        rest.remove_prefix(3 + k_known.at(i).family.size());
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

bool is_served(const CompilerName& name)
{
    const std::array<int, 2>& majors = k_known.at(static_cast<std::size_t>(name.compiler)).majors;
    return name.major == 0 || std::find(majors.begin(), majors.end(), name.major) != majors.end();
}

std::string_view served_versions(Compiler compiler)
{
    return k_known.at(static_cast<std::size_t>(compiler)).versions;
}

std::optional<Compiler> compiler_defining(std::string_view symbol, bool local)
{
    // nvJitLink's functions are __nvJitLinkCreate_13_0 and so on. Its header defines the plain names as local
    // functions of every program that includes it.
    static constexpr std::string_view k_versioned = "__nvJitLinkCreate_";
    if (symbol == k_known[0].function)
        return Compiler::nvrtc;
    if ((symbol == k_known[1].function && !local) ||
        (symbol.starts_with(k_versioned) && symbol.size() > k_versioned.size() && is_digit(symbol[k_versioned.size()])))
        return Compiler::nvjitlink;
    return std::nullopt;
}

bool search_text(std::string_view piece, Piece which, AllTraces& traces)
{
    bool any = false;
    for (std::size_t i = 0; i < k_known.size(); ++i) {
        const Known& known = k_known.at(i);
        const bool named = find(piece, known.family) != std::string_view::npos;
        any = any || named;
        if (named)
            find_file_names(piece, which, known, traces.at(i).named);
        if (!known.mark.empty() && find(piece, known.mark) != std::string_view::npos)
            find_messages(piece, known, traces.at(i));
    }
    return any;
}

}  // namespace hearth::cli

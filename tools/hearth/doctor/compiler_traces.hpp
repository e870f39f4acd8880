#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hearth::cli {

// The libraries that `hearth run` stands in for.
enum class Compiler : std::uint8_t { nvrtc, nvjitlink, nvvm };
inline constexpr std::array k_compilers{Compiler::nvrtc, Compiler::nvjitlink, Compiler::nvvm};

// "NVRTC", "nvJitLink", "libNVVM".
std::string_view to_string(Compiler compiler);

// A file name such as "libnvrtc.so.13", "libnvrtc.so" or "libnvrtc-1a2b3c4d.so.12", taken apart as the dynamic loader's
// auditor does. libnvrtc-builtins, the library of built-in headers, is not one of them.
struct CompilerName {
    Compiler compiler = Compiler::nvrtc;
    int major = 0;  // 0: the name does not say
};
std::optional<CompilerName> compiler_of(std::string_view file_name);
// Whether Hearth stands in for that version; a name that does not say may be one that it does. "versions 12 and 13".
bool is_served(const CompilerName& name);
std::string_view served_versions(Compiler compiler);

// The compiler that a file has inside if it defines this symbol. `local`: the symbol is visible only in its own file.
std::optional<Compiler> compiler_defining(std::string_view symbol, bool local);

// Traces of one of the compilers in one file.
struct CompilerTraces {
    std::vector<std::string> linked;  // names by which the program asks the loader for it at the start
    std::vector<std::string> named;   // names in the file's text that are not linked: most likely opened at run time
    bool defines = false;             // its functions are defined in the file
    unsigned messages = 0;            // which of its messages are in the file, a bit each

    // Whether the compiler itself is in the file. One message alone proves nothing: programs search logs for messages.
    // A file that defines the functions, lacks the messages and names the library only passes calls on to it.
    bool inside() const { return (messages & (messages - 1)) != 0 || (defines && named.empty()); }
};

using AllTraces = std::array<CompilerTraces, k_compilers.size()>;

// Finds messages and names of the compilers in a piece of a file, and adds them. Each piece must begin k_overlap bytes
// before the end of the one before it, so that nothing is lost at the edge. False: the piece mentions no compiler.
inline constexpr std::size_t k_overlap = 128;
enum class Piece : std::uint8_t { any, last };
bool search_text(std::string_view piece, Piece which, AllTraces& traces);

}  // namespace hearth::cli

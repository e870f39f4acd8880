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
enum class Compiler : std::uint8_t { nvrtc, nvjitlink };
inline constexpr std::array k_compilers{Compiler::nvrtc, Compiler::nvjitlink};

// "NVRTC", "nvJitLink".
std::string_view to_string(Compiler compiler);

// A file name such as "libnvrtc.so.13", "libnvrtc.so" or "libnvrtc-1a2b3c4d.so.12", taken apart as the dynamic loader's
// auditor does. The library of built-in headers, libnvrtc-builtins, is none of them.
struct CompilerName {
    Compiler compiler = Compiler::nvrtc;
    int major = 0;  // 0: the name does not say
};
std::optional<CompilerName> compiler_of(std::string_view file_name);

// The compiler whose function it is, where a file that defines that symbol has the compiler inside. `local`: the symbol
// is seen in its own file alone.
std::optional<Compiler> compiler_defining(std::string_view symbol, bool local);

// Traces of one of the compilers in one file.
struct CompilerTraces {
    std::vector<std::string> linked;  // names under which the loader is asked for it at the start
    std::vector<std::string> named;   // names in the file's text that are not linked: most likely opened at run time
    bool defines = false;             // its functions are defined in the file
    unsigned messages = 0;            // of its messages that are in the file, a bit each

    // The compiler itself is in the file. One message alone proves nothing: programs search logs for such. A file that
    // defines the functions, lacks the messages and names the library only hands calls on to it.
    bool inside() const { return (messages & (messages - 1)) != 0 || (defines && named.empty()); }
};

using AllTraces = std::array<CompilerTraces, k_compilers.size()>;

// Finds messages and names of the compilers in a piece of a file, and adds them. What stands at the edge of a piece is
// found where the next one begins that many bytes before. False: the piece mentions none of them.
inline constexpr std::size_t k_overlap = 128;
enum class Piece : std::uint8_t { any, last };
bool search_text(std::string_view piece, Piece which, AllTraces& traces);

}  // namespace hearth::cli

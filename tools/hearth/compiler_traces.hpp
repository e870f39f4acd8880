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

// Traces of one of the compilers in one file.
struct CompilerTraces {
    std::vector<std::string> linked;  // names under which the loader is asked for it at the start
    std::vector<std::string> named;   // names in the file's text that are not linked: most likely opened at run time
    bool defines = false;             // its functions are defined in the file
    bool messages = false;            // its messages are in the file: the compiler itself is

    // A file that defines the functions, lacks the messages and names the library only hands calls on to it.
    bool inside() const { return messages || (defines && named.empty()); }
};

// Where in a file the name of a compiler's function stands, for symbol tables to refer to.
struct NameInFile {
    std::uint64_t offset = 0;
    Compiler compiler = Compiler::nvrtc;
    bool versioned = false;  // __nvJitLinkCreate_13_0, not nvJitLinkCreate
};

// Finds traces of the compilers in bytes that come in pieces. What is found at the edge of a piece needs its
// surroundings: that many bytes before and behind it belong to the next piece too.
class TextSearch {
public:
    static constexpr std::size_t k_before = 64;
    static constexpr std::size_t k_behind = 128;

    // Takes what begins in bytes[first, last); bytes[0] is at `offset` of the file.
    void take_piece(std::string_view bytes, std::size_t first, std::size_t last, std::uint64_t offset);

    // Without `linked` and `defines`, which are not in the text.
    std::array<CompilerTraces, k_compilers.size()> traces() const;
    const std::vector<NameInFile>& names() const { return m_names; }

private:
    void take(std::string_view before, std::string_view here, std::uint64_t offset);
    void take_message(std::size_t compiler, std::string_view before, std::string_view here);
    void take_file_name(std::string_view here);
    void take_function(std::size_t compiler, std::string_view before, std::string_view here, std::uint64_t offset);

    std::array<std::vector<std::string>, k_compilers.size()> m_file_names;
    std::array<unsigned, k_compilers.size()> m_messages{};  // a bit each
    std::vector<NameInFile> m_names;
};

}  // namespace hearth::cli

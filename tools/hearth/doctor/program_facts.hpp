#pragma once

#include "doctor/compiler_traces.hpp"

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace hearth::cli {

// What is known from one file alone.
struct ProgramFacts {
    enum class Kind : std::uint8_t {
        unreadable,      // `error` says why
        irregular,       // a directory, a device, a pipe
        unknown,         // neither an ELF file nor a script
        script,          // begins with #!, or is text, which is handed to a shell
        damaged,         // an ELF file that lacks some of its parts
        foreign,         // for another processor, or for 32 bits
        object,          // an ELF file that is neither a program nor a library
        library,         // a shared library
        static_program,  // a program that starts without a dynamic loader
        program,
    } kind = Kind::unreadable;
    int error = 0;

    std::vector<std::string> interpreter;  // of a script: the words after #!, or the shell
    std::string machine;                   // "AArch64", "x86-64", "machine 8"; empty if it is not ELF
    int bits = 0;
    std::string loader;           // the dynamic loader that it asks for
    bool names_auditors = false;  // it names libraries that the loader runs before anything else
    bool executable = false;      // by this user
    bool set_user_id = false;
    bool set_group_id = false;
    bool capabilities = false;
    bool whole = true;  // false: too large, so only its beginning was searched for text
    AllTraces traces;   // without `linked`, which only the loader can tell

    bool is_for_musl() const { return loader.find("ld-musl") != std::string::npos; }
    const CompilerTraces& of(Compiler compiler) const { return traces.at(static_cast<std::size_t>(compiler)); }
};

std::string_view to_string(ProgramFacts::Kind kind);

// The processor that this command was built for, as in ProgramFacts::machine.
std::string_view this_machine();

// Looks at a file without loading or running anything. The file may hold any bytes. It is read once, which takes some
// 0.3 s for 300 MB in the page cache.
ProgramFacts look_at_program(const std::string& path) noexcept;

}  // namespace hearth::cli

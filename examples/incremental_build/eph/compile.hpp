#pragma once

#include "checker.hpp"
#include "hearth/bytes.hpp"
#include "hearth/result.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace eph {

// Raised whenever the same source is to give other IR: a change of the language, of a pass, or of the encoding.
inline constexpr std::uint64_t k_compiler_version = 1;

// Everything that decides a module's IR, and the name of its file for the errors.
struct CompileInput {
    std::string_view file;
    std::string_view source;
    std::vector<ImportedInterface> imports;  // exactly those that the source names
};

// The module's IR, encoded; or an Error whose message has its place: "main.eph:3:14: error: ...".
hearth::Result<hearth::Bytes> compile(const CompileInput& input);

}  // namespace eph

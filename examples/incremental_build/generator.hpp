#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace demo {

struct GeneratorOptions {
    std::uint32_t modules = 200;
    std::uint64_t seed = 1;
};

// File names and sources of a program in layers: every module imports a few of the layers below it, and main.eph all of
// the topmost. The same for the same options on every machine. It runs to its end, and its result depends on each
// module.
std::map<std::string, std::string> generate(const GeneratorOptions& options);

// Edits of a generated source, as a person would make them.
// Another constant, which no generated source has, in the body of a function: the interface stays.
std::string with_edited_body(const std::string& source, std::uint32_t number = 0);
// An exported function takes a float where it took an int, or the other way round. Its callers' sources stay right, and
// their code has to become another. None where the module exports no such function.
std::optional<std::string> with_edited_signature(const std::string& source);

}  // namespace demo

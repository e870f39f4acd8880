#pragma once

#include "types.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace eph {

struct ExportedFunction {
    std::string name;
    Signature signature;
};

// What a module's importers may depend on: the signatures of what it exports, and nothing of how they are done.
struct Interface {
    std::vector<ExportedFunction> functions;  // by name

    const Signature* find(std::string_view name) const;
    // The same text for the same interface, whatever order, layout and parameter names it was written with: importers
    // are compiled again when, and only when, this changes.
    std::string text() const;
};

// What a build has to know of a module before it decides whether to compile it.
struct Outline {
    std::vector<std::string> imports;  // as written
    Interface interface;
};

// Reads past the bodies of functions: a mistake in one is left to the compiler. Throws a CompileError.
Outline outline_of(std::string_view source);

}  // namespace eph

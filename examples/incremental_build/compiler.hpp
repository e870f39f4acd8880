#pragma once

#include "source.hpp"

#include "hearth/key.hpp"
#include "hearth/result.hpp"

#include <map>

namespace eph {

// Everything that decides a module's IR, and nothing else: not its name, not its place, no body of what it imports.
struct Unit {
    Source source;
    std::map<std::string, Function> imports;  // interfaces, by the name they have here: part_003.value

    hearth::Request request() const;
};

// The module's IR as bytes, or a sentence that says what is wrong.
// Every call within the module is inlined, and so is every call in what was inlined. That makes good code, since what
// is equal is computed once, and it makes compiling dear.
hearth::Result<hearth::Bytes> compile(const Unit& unit);

}  // namespace eph

#pragma once

#include "ast.hpp"
#include "interface.hpp"
#include "ir.hpp"

#include <span>
#include <string>
#include <vector>

namespace eph {

struct ImportedInterface {
    std::string name;
    const Interface* interface = nullptr;  // null: there is no such module
};

// Gives every expression its type, every name its number, and puts a conversion wherever an int stands for a float.
// Answers with the functions that are called. Of other modules it sees the interfaces, and only of those that are
// imported. Throws a CompileError.
std::vector<Callee> check(ModuleDeclaration& module, std::span<const ImportedInterface> imports);

}  // namespace eph

#pragma once

#include "ast.hpp"
#include "ir.hpp"

#include <vector>

namespace eph {

// The IR of a module that has been checked, as it stands: passes.hpp makes it better.
Module lower(const ModuleDeclaration& module, std::vector<Callee> callees);

}  // namespace eph

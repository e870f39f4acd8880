#include "interface.hpp"

#include "parser.hpp"

#include <algorithm>

namespace eph {

const Signature* Interface::find(std::string_view name) const
{
    const auto found = std::lower_bound(
        functions.begin(), functions.end(), name,
        [](const ExportedFunction& function, std::string_view wanted) { return function.name < wanted; });
    return found != functions.end() && found->name == name ? &found->signature : nullptr;
}

std::string Interface::text() const
{
    std::string text;
    for (const ExportedFunction& function : functions)
        text += function.name + to_string(function.signature) + '\n';
    return text;
}

Outline outline_of(std::string_view source)
{
    const ModuleDeclaration module = parse(source, Bodies::skipped);
    Outline outline;
    for (const ImportDeclaration& import : module.imports)
        outline.imports.emplace_back(import.name);
    std::vector<ExportedFunction>& functions = outline.interface.functions;
    for (const FunctionDeclaration& function : module.functions)
        if (function.exported)
            functions.push_back({std::string(function.name), function.signature()});
    std::stable_sort(functions.begin(), functions.end(),
                     [](const ExportedFunction& a, const ExportedFunction& b) { return a.name < b.name; });
    return outline;
}

}  // namespace eph

#pragma once

#include "eph/compile.hpp"
#include "eph/encoding.hpp"
#include "eph/interface.hpp"
#include "eph/lowering.hpp"
#include "eph/parser.hpp"
#include "eph/passes.hpp"
#include "eph/program.hpp"

#include <map>
#include <string>
#include <utility>
#include <vector>

// Small programs in and out, for tests of the language.

namespace eph::test {

// Module names and their sources.
using Modules = std::map<std::string, std::string>;

inline std::vector<ImportedInterface> imports_of(const std::string& source, const std::map<std::string, Outline>& known)
{
    std::vector<ImportedInterface> imports;
    for (const std::string& name : outline_of(source).imports) {
        const auto found = known.find(name);
        imports.push_back({name, found == known.end() ? nullptr : &found->second.interface});
    }
    return imports;
}

inline std::map<std::string, Outline> outlines_of(const Modules& modules)
{
    std::map<std::string, Outline> outlines;
    for (const auto& [name, source] : modules)
        outlines[name] = outline_of(source);
    return outlines;
}

// The error a module gives; empty when it compiles.
inline std::string error_of(const std::string& source, const Modules& others = {})
{
    const std::map<std::string, Outline> known = outlines_of(others);
    try {
        const auto result = compile({"test.eph", source, imports_of(source, known)});
        return result ? "" : result.error().message;
    } catch (const CompileError& error) {  // already in the outline
        return describe(error, "test.eph", source);
    }
}

// As it is before any pass.
inline Module lowered(const std::string& source, const std::vector<ImportedInterface>& imports = {})
{
    ModuleDeclaration declaration = parse(source);
    std::vector<Callee> callees = check(declaration, imports);
    return lower(declaration, std::move(callees));
}

inline Module optimised(const std::string& source)
{
    Module module = lowered(source);
    optimise(module);
    return module;
}

// What the program's main() gives back, compiled, encoded, decoded and linked as a build does.
inline hearth::Result<std::int64_t> run(const Modules& modules, const Program::Limits& limits = {})
{
    const std::map<std::string, Outline> known = outlines_of(modules);
    std::vector<LinkedModule> linked;
    for (const auto& [name, source] : modules) {
        const hearth::Result<hearth::Bytes> bytes = compile({name + ".eph", source, imports_of(source, known)});
        if (!bytes)
            return bytes.error();
        hearth::Result<Module> module = decode(*bytes);
        if (!module)
            return module.error();
        linked.push_back({name, std::move(*module)});
    }
    const hearth::Result<Program> program = Program::link(std::move(linked));
    if (!program)
        return program.error();
    return program->run(limits);
}

// Of a body of main().
inline std::int64_t value_of(const std::string& body)
{
    return run({{"main", "export fn main() -> int { " + body + " }"}}).value();
}

}  // namespace eph::test

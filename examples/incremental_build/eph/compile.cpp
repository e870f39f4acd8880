#include "compile.hpp"

#include "encoding.hpp"
#include "lowering.hpp"
#include "parser.hpp"
#include "passes.hpp"

namespace eph {

hearth::Result<hearth::Bytes> compile(const CompileInput& input)
{
    try {
        ModuleDeclaration declaration = parse(input.source);
        std::vector<Callee> callees = check(declaration, input.imports);
        Module module = lower(declaration, std::move(callees));
        optimise(module);
        return encode(module);
    } catch (const CompileError& error) {
        return hearth::Error{hearth::Code::compile_failed, describe(error, input.file, input.source), {}};
    }
}

}  // namespace eph

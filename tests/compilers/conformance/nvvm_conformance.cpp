// libNVVM, as a program makes the calls itself.
#include "compiler_conformance.hpp"

#include "compilers/nvvm/stepped_program.hpp"
#include "hearth/libraries.hpp"
#include "support/nvvm_text.hpp"

namespace hearth::test {

namespace {

class Nvvm : public CompilerUnderTest {
public:
    std::string why_not_here() override
    {
        m_library = find_library({"libnvvm.so.4"});
        return m_library.empty() ? "There is no libnvvm here." : "";
    }
    Result<Seen> compile(Cache& cache, const Ask& ask) override
    {
        using Kind = nvvm::SteppedProgram::Kind;
        nvvm::SteppedProgram program(ask.library.empty() ? m_library : ask.library);
        program.add({.kind = Kind::data,
                     .name = "kernel.ll",
                     .data = nvvm_text(ask.number) + (ask.is_broken ? "garbage\n" : "")});
        program.assume(nvvm::k_success);
        program.add({.kind = Kind::complete, .options = {"-arch=compute_80"}, .type = 1});
        const Result<compilers::Answer> answer = program.answer(cache);
        if (!answer)
            return answer.error();
        const CompileResult result(answer->lookup, Request{}, answer->why_past_the_cache);
        return Seen{result.outcome(), result.status(), everything_in(result.artifact())};
    }
    std::vector<std::string> variables() override { return {"NVVM_IR_VER_CHK=0", "NV_NVVM_VERSION=nvvm-latest"}; }
    std::string library() override { return m_library; }

private:
    std::string m_library;
};

}  // namespace

INSTANTIATE_TEST_SUITE_P(nvvm, CompilerConformance,
                         testing::Values(CompilerCase{"nvvm", [] { return std::make_unique<Nvvm>(); }}), case_name);

}  // namespace hearth::test

#include "compiler_conformance.hpp"

#include "compilers/nvrtc/library.hpp"
#include "hearth/nvrtc.hpp"

namespace hearth::test {

namespace {

class Nvrtc : public CompilerUnderTest {
public:
    std::string why_not_here() override
    {
        Cache cache = Cache::open({.caching = Switch::off}).value();
        const Result<nvrtc::Identity> found = nvrtc::identify(cache, {});
        if (!found)
            return found.error().message;
        m_library = found->path;
        return {};
    }
    Result<Seen> compile(Cache& cache, const Ask& ask) override
    {
        nvrtc::Program program{.name = "kernel.cu", .options = {"-I."}, .target = "sm_90"};
        program.source = "__global__ void k(int* p) { *p = " + std::to_string(ask.number) + "; }\n";
        if (!ask.reads.empty())
            program.source += "#include \"" + ask.reads + "\"\n";
        if (ask.is_broken)
            program.source += "int unfinished(\n";
        const Result<nvrtc::Compiled> compiled = nvrtc::compile(cache, program, {.library = ask.library});
        if (!compiled)
            return compiled.error();
        return Seen{compiled->outcome(), compiled->status(),
                    everything_in(compiled->artifact()) + std::string(compiled->log())};
    }
    std::string content(int number) override
    {
        return "__global__ void r(int* p) { *p = " + std::to_string(number) + "; }\n";
    }
    std::vector<std::string> variables() override
    {
        return {"NVRTC_APPEND_FLAGS=-DNOBODY_USES_IT", "NV_NVVM_VERSION=nvvm-latest"};
    }
    std::string library() override { return m_library; }
    std::string companions() override { return "libnvrtc-builtins.so*"; }

private:
    std::string m_library;
};

}  // namespace

INSTANTIATE_TEST_SUITE_P(cuda, CompilerConformance,
                         testing::Values(CompilerCase{"nvrtc", [] { return std::make_unique<Nvrtc>(); }}), case_name);

}  // namespace hearth::test

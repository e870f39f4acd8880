// PTX by nvJitLink: as one call of the library, and as a program makes the calls itself. The driver needs a GPU.
#include "compiler_conformance.hpp"

#include "compilers/ptx/linker.hpp"
#include "compilers/ptx/stepped_link.hpp"
#include "hearth/ptx.hpp"

namespace hearth::test {

namespace {

class Linker : public CompilerUnderTest {
public:
    explicit Linker(ptx::Linker linker) : m_linker(linker) {}

    std::string why_not_here() override
    {
        Cache cache = Cache::open({.caching = Switch::off}).value();
        const Result<ptx::Identity> found = ptx::identify(cache, {.linker = m_linker});
        if (!found)
            return found.error().message;
        m_library = found->path;
        return {};
    }
    Result<Seen> compile(Cache& cache, const Ask& ask) override
    {
        const Result<ptx::Compiled> compiled =
            ptx::compile(cache, {.text = text_of(ask), .name = "kernel.ptx", .options = options_of(ask)},
                         {.linker = m_linker, .library = ask.library});
        if (!compiled)
            return compiled.error();
        return Seen{compiled->outcome(), compiled->status(), everything_in(compiled->artifact())};
    }
    std::string content(int number) override
    {
        return m_linker == ptx::Linker::nvjitlink ? "-O" + std::to_string(number - 1) : "";
    }
    // What the driver asks for cannot be watched; its compiler's library has no such name.
    std::vector<std::string> variables() override
    {
        return m_linker == ptx::Linker::nvjitlink ? std::vector<std::string>{"CAN_FINALIZE_DEBUG=0"}
                                                  : std::vector<std::string>{};
    }
    std::string library() override { return m_linker == ptx::Linker::nvjitlink ? m_library : ""; }

protected:
    static std::string text_of(const Ask& ask)
    {
        return ".version 7.0\n.target sm_75\n.address_size 64\n.visible .entry store(.param .u64 out)\n{\n"
               ".reg .b64 %rd<3>;\n.reg .b32 %r<4>;\nld.param.u64 %rd1, [out];\nmov.u32 %r1, " +
               std::to_string(ask.number) +
               ";\nld.u32 %r2, [%rd1];\nadd.u32 %r3, %r1, %r2;\nst.u32 [%rd1], %r3;\nret;\n}\n" +
               (ask.is_broken ? "garbage\n" : "");
    }
    static std::vector<std::string> options_of(const Ask& ask)
    {
        std::vector<std::string> options{"-arch=sm_90"};
        if (!ask.reads.empty())
            options.push_back("-Xptxas=--options-file=" + ask.reads);
        return options;
    }

    ptx::Linker m_linker;
    std::string m_library;
};

// As the drop-in library does it. A link is a miss if one of its calls is.
class SteppedLinker : public Linker {
public:
    SteppedLinker() : Linker(ptx::Linker::nvjitlink) {}

    std::string library() override { return {}; }  // the one above, and that takes seconds

    Result<Seen> compile(Cache& cache, const Ask& ask) override
    {
        using Call = ptx::SteppedLink::Call;
        using Kind = ptx::SteppedLink::Kind;
        ptx::SteppedLink link(ask.library.empty() ? m_library : ask.library);
        Seen seen;
        for (Call call : {Call{.kind = Kind::create, .options = options_of(ask)},
                          Call{.kind = Kind::data, .type = 2, .name = "kernel.ptx", .data = text_of(ask)},
                          Call{.kind = Kind::complete}}) {
            link.add(std::move(call));
            const Result<compilers::Answer> answer = link.answer(cache);
            if (!answer)
                return answer.error();
            const Lookup& lookup = answer->lookup;
            if (!answer->why_past_the_cache.empty())
                seen.outcome = Outcome::past_the_cache;
            else if (lookup.compiled() && seen.outcome != Outcome::past_the_cache)
                seen.outcome = lookup.waited() ? Outcome::waited : Outcome::compiled;
            if (seen.status == 0)
                seen.status = lookup->status;
            seen.output += everything_in(*lookup);
        }
        return seen;
    }
};

}  // namespace

INSTANTIATE_TEST_SUITE_P(
    ptx, CompilerConformance,
    testing::Values(CompilerCase{"nvjitlink", [] { return std::make_unique<Linker>(ptx::Linker::nvjitlink); }},
                    CompilerCase{"nvjitlink_in_steps", [] { return std::make_unique<SteppedLinker>(); }},
                    CompilerCase{"driver", [] { return std::make_unique<Linker>(ptx::Linker::driver); }}),
    case_name);

}  // namespace hearth::test

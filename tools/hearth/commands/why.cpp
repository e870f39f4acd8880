#include "build/compile_job.hpp"
#include "cache/explanation.hpp"
#include "cache/open_cache.hpp"
#include "terminal/command_line.hpp"
#include "terminal/exit.hpp"

#include <algorithm>

namespace hearth::cli {

namespace {

struct WhyArguments {
    CompileArguments compile;
    bool json = false;
};

int run_why(const Globals& globals, const WhyArguments& given)
{
    WhyArguments arguments = given;
    arguments.compile.max_source_bytes = std::max(max_entry_bytes(globals), k_max_source_bytes);
    check_kind(arguments.compile.files.front());
    Cache cache = open_cache(globals, Use::look);
    int code = k_done;
    for (const CompileJob& job : jobs_of(cache, arguments.compile)) {
        const Explanation why = or_fail(explain_job(cache, arguments.compile, job));
        code =
            std::max(code, arguments.json ? tell_why_as_json(cache, why, {{"file", job.file}, {"target", job.target}})
                                          : tell_why(cache, why));
    }
    return code;
}

}  // namespace

void add_why(Command& command)
{
    command.describe("Says whether a compile would hit, and if not, what is different from the nearest entry.",
                     "  hearth why saxpy.cu --target sm_90\n"
                     "  hearth why gemm.cu --target sm_90 -I include -D TILE=32 -- -std=c++20\n"
                     "  hearth why nvcc -c saxpy.cu -o saxpy.o          of a compiler that is a program",
                     "Takes the same options as 'hearth compile'; what follows -- is passed to the compiler. Exit code "
                     "0: a hit, 1: a miss, 4: a compile error that is remembered.");
    auto& arguments = command.runs(run_why);
    add_compile_arguments(command, arguments.compile, Files::one);
    command.json(arguments.json);
}

}  // namespace hearth::cli

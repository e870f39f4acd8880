#include "compilers/nvrtc/headers_section.hpp"
#include "compilers/nvrtc/plan.hpp"
#include "compilers/nvrtc/replay.hpp"
#include "headers/closure.hpp"
#include "hearth/nvrtc.hpp"

#include <atomic>
#include <memory>

namespace hearth::nvrtc {

namespace {

constexpr int k_attempts = 3;
constexpr const char* k_paths_section = "paths";

Result<Artifact> compile_now(const Program& program, const Plan& plan)
{
    const Result<std::shared_ptr<const Library>> library = Library::load(plan.compiler.path);
    if (!library)
        return library.error();
    Result<Artifact> made = (*library)->compile(program, plan.options);
    if (!made)
        return made;
    made->metadata.label = plan.program_name.substr(plan.program_name.find_last_of('/') + 1);
    made->metadata.target = plan.facts.target;
    made->metadata.options = plan.options;
    if (const std::string paths = paths_in_log(made->text("log"), plan.program_name, plan.manifest); !paths.empty())
        made->sections.push_back({k_paths_section, Bytes::copy_of(paths)});
    if (!plan.manifest.files.empty())
        made->sections.push_back({k_headers_section, Bytes::copy_of(headers_section(plan.manifest))});
    return made;
}

struct Job {
    Job(std::shared_ptr<const Program> its_program, Plan its_plan)
        : program(std::move(its_program)), plan(std::move(its_plan))
    {
    }

    Result<Artifact> run()
    {
        ran = true;
        const Error changed{Code::unavailable, "A header changed while it was compiled.", {}};
        format::Manifest manifest = plan.manifest;
        headers_changed = !headers::settle_for_compile(manifest);
        if (headers_changed)
            return changed;
        Result<Artifact> made = compile_now(*program, plan);
        // Nobody knows which of the two the compiler read: what it made must not stand under either's key.
        headers_changed = !headers::same_files(manifest);
        if (headers_changed)
            return changed;
        return made;
    }

    const std::shared_ptr<const Program> program;
    const Plan plan;
    std::atomic<bool> ran{false};
    std::atomic<bool> headers_changed{false};
};

Compiled compiled(const Lookup& lookup, const Plan& plan, std::string bypass)
{
    std::string log = replay_log(lookup->text("log"), lookup->text(k_paths_section), plan.program_name, plan.manifest);
    return {CompileResult(lookup, plan.request, std::move(bypass)), std::move(log)};
}

Result<Compiled> compile_past(Cache& cache, const Program& program, const Plan& plan, std::string reason)
{
    const Result<Lookup> made = cache.make_uncached([&] { return compile_now(program, plan); });
    if (!made)
        return made.error();
    return compiled(*made, plan, std::move(reason));
}

}  // namespace

std::optional<std::string> Compiled::lowered_name(std::string_view expression) const
{
    return nvrtc::lowered_name(artifact().text("names"), expression);
}

Result<Compiled> compile(Cache& cache, const Program& program, const CompileOptions& options)
{
    for (int attempt = 1;; ++attempt) {
        Result<Plan> planned = make_plan(cache, program, options);
        if (!planned)
            return planned.error();
        if (!planned->bypass.empty())
            return compile_past(cache, program, *planned, planned->bypass);

        // Shared with the maker: where there is a deadline it may still be at work when we have left. Without one it is
        // done before we return, and need not copy the program.
        const auto job = std::make_shared<Job>(options.deadline.count() > 0
                                                   ? std::make_shared<const Program>(program)
                                                   : std::shared_ptr<const Program>(std::shared_ptr<void>(), &program),
                                               *std::move(planned));
        const Plan& plan = job->plan;
        const Result<Lookup> found =
            cache.get_or_make(plan.request, [job] { return job->run(); }, {.deadline = options.deadline});
        if (found)
            return compiled(*found, plan, {});
        const bool may_have_changed = job->headers_changed || (!job->ran && found.error().code == Code::unavailable);
        if (!may_have_changed)
            return found.error();
        if (attempt == k_attempts)
            return compile_past(cache, program, plan, "its headers keep changing");
    }
}

std::future<Result<Compiled>> compile_async(Cache& cache, Program program, CompileOptions options)
{
    const auto promise = std::make_shared<std::promise<Result<Compiled>>>();
    std::future<Result<Compiled>> future = promise->get_future();
    cache.run_later([&cache, program = std::move(program), options = std::move(options), promise](const Status& turn) {
        promise->set_value(turn.ok() ? compile(cache, program, options) : Result<Compiled>(turn.error()));
    });
    return future;
}

}  // namespace hearth::nvrtc

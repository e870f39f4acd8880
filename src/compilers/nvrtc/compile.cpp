#include "base/error.hpp"
#include "compilers/nvrtc/compile_planned.hpp"
#include "compilers/nvrtc/headers_section.hpp"
#include "compilers/nvrtc/plan.hpp"
#include "compilers/nvrtc/record.hpp"
#include "compilers/nvrtc/replay.hpp"
#include "headers/closure.hpp"
#include "hearth/nvrtc.hpp"

#include <atomic>
#include <memory>

namespace hearth::nvrtc {

namespace {

constexpr int k_attempts = 3;
constexpr const char* k_paths_section = "paths";

// Makes the log, and the list of paths in it, as if it had been compiled at the places in plan.shown.
void settle_log(Artifact& made, const Plan& plan)
{
    const std::string& program = plan.shown ? plan.shown->program_name : plan.program_name;
    const format::Manifest& manifest = plan.shown ? plan.shown->manifest : plan.manifest;
    std::string log(made.text("log"));
    if (plan.shown && !log.empty()) {
        log = replay_log(log, paths_in_log(log, plan.program_name, plan.manifest), program, manifest);
        for (Section& section : made.sections)
            if (section.name == "log")
                section.data = Bytes::copy_of(log);
    }
    if (const std::string paths = paths_in_log(log, program, manifest); !paths.empty())
        made.sections.push_back({k_paths_section, Bytes::copy_of(paths)});
}

Result<Artifact> compile_now(const Program& program, const Plan& plan)
{
    const Result<std::shared_ptr<const Library>> library = Library::load(plan.compiler.path);
    HEARTH_TRY(library);
    Result<Artifact> made = (*library)->compile(program, plan.options);
    if (!made)
        return made;
    made->metadata.label = plan.program_name.substr(plan.program_name.find_last_of('/') + 1);
    made->metadata.target = plan.facts.target;
    made->metadata.options = plan.shown ? plan.shown->options : plan.options;
    settle_log(*made, plan);
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
        // It is not known which version of a header the compiler read, so the result fits neither key.
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

Compiled compiled(const Lookup& lookup, const Plan& plan, std::string why_past_the_cache)
{
    std::string log = replay_log(lookup->text("log"), lookup->text(k_paths_section), plan.program_name, plan.manifest);
    return {CompileResult(lookup, plan.request, std::move(why_past_the_cache)), std::move(log)};
}

Result<Compiled> compile_past(Cache& cache, const Program& program, const Plan& plan, std::string reason)
{
    const Result<Lookup> made = cache.compile_past_the_cache([&] { return compile_now(program, plan); });
    HEARTH_TRY(made);
    return compiled(*made, plan, std::move(reason));
}

std::shared_ptr<const Program> borrowed(const Program& program)
{
    return {std::shared_ptr<void>(), &program};
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
        HEARTH_TRY(planned);
        if (!planned->why_past_the_cache.empty()) {
            Result<Compiled> past = compile_past(cache, program, *planned, planned->why_past_the_cache);
            record(cache, program, *planned, past ? &past->artifact() : nullptr);
            return past;
        }

        // Shared with the compile function, which may still run after we return: at a deadline, or if a server was
        // quicker. Otherwise it is done before we return, and the program need not be copied.
        const bool may_outlive = options.deadline.count() > 0 || cache.races();
        const auto job = std::make_shared<Job>(
            may_outlive ? std::make_shared<const Program>(program) : borrowed(program), *std::move(planned));
        const Plan& plan = job->plan;
        const Result<Lookup> found = cache.get_or_compile(
            plan.request, [job] { return job->run(); },
            {.deadline = options.deadline, .captures = may_outlive ? Captures::owned : Captures::borrowed});
        const bool may_have_changed =
            !found && (job->headers_changed || (!job->ran && found.error().code == Code::unavailable));
        if (!may_have_changed)
            record(cache, program, plan, found ? &**found : nullptr);
        if (found)
            return compiled(*found, plan, {});
        if (!may_have_changed)
            return found.error();
        if (attempt == k_attempts)
            return compile_past(cache, program, plan, "its headers keep changing");
    }
}

Result<Compiled> compile_planned(Cache& cache, const Program& program, Plan plan)
{
    const auto job = std::make_shared<Job>(borrowed(program), std::move(plan));
    const Result<Lookup> found = cache.get_or_compile(job->plan.request, [job] { return job->run(); });
    HEARTH_TRY(found);
    return compiled(*found, job->plan, {});
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

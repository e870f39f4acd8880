#include "base/error.hpp"
#include "compilers/common/given_text.hpp"
#include "compilers/ptx/driver_link.hpp"
#include "compilers/ptx/linker.hpp"
#include "compilers/ptx/nvjitlink.hpp"
#include "format/request.hpp"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <memory>

namespace hearth::ptx {

namespace {

using compilers::check_text;

constexpr std::uint64_t k_request_version = 2;
constexpr const char* k_unnamed = "ptx input";
constexpr std::string_view k_arch = "-arch=";

Error refuse(std::string message)
{
    return error(Code::invalid_argument, "{}", std::move(message));
}

std::string_view name_of(Linker linker)
{
    return linker == Linker::driver ? "driver" : "nvjitlink";
}

Status settle_text(const Program& program, Job& job)
{
    job.text = program.text;
    job.name = program.name.empty() ? k_unnamed : program.name;
    job.input = program.input;
    // A zero at the end only ends the text: many programs include it in the size.
    if (job.input == Input::ptx)
        job.text.resize(job.text.find_last_not_of('\0') + 1);
    if (job.text.empty())
        return refuse(job.input == Input::ptx ? "The PTX is empty. Give the text of a module."
                                              : "The LTO-IR is empty. Give what NVRTC's -dlto gave.");
    if (job.input == Input::ptx)
        HEARTH_TRY(check_text("The PTX", job.text));
    return check_text("The name", job.name);
}

Status settle_options(const Program& program, Job& job)
{
    for (const std::string& option : program.options) {
        HEARTH_TRY(check_text("An option", option));
        if (option.starts_with(k_arch))
            job.target = option.substr(k_arch.size());
    }
    job.options = program.options;
    HEARTH_TRY_SET(std::string target, compilers::named_target(program.target, job.target));
    if (!target.empty()) {
        job.options.push_back(std::string(k_arch) + target);
        job.target = std::move(target);
    }
    if (job.target.empty())
        return refuse("No target is given, and PTX becomes a CUBIN for one. Name it, such as \"sm_90\", or say "
                      "\"device\" for this machine's GPU.");
    if (job.input == Input::lto_ir && std::find(job.options.begin(), job.options.end(), "-lto") == job.options.end())
        job.options.emplace_back("-lto");
    return {};
}

Request request_of(const Plan& plan, const std::vector<std::string>& environment)
{
    // A member that is left out here does not compile.
    const auto& [text, name, options, target, input] = plan.job;
    static_cast<void>(target);  // one of the options
    const auto& [linker, path, build, compiler, its_build] = plan.linker;
    static_cast<void>(path);
    static_cast<void>(compiler);
    KeyBuilder key("ptx");
    key.number("request version", k_request_version)
        .text("linker", name_of(linker))
        .text("linker build", build)
        .text("compiler build", its_build);
    format::add_variables(key, "environment", environment);
    key.number("float mode", plan.asked.float_mode)
        .text("input", input == Input::ptx ? "ptx" : "lto-ir")
        .text("text", text)
        .text("name", name);
    format::add_words(key, "options", options);
    return key.build();
}

std::string label_of(const Job& job)
{
    return job.name.substr(job.name.find_last_of('/') + 1);
}

Result<Artifact> with_metadata(Result<Artifact> made, const Job& job)
{
    if (made) {
        made->metadata.label = label_of(job);
        made->metadata.target = job.target;
        made->metadata.options = job.options;
    }
    return made;
}

Result<compilers::Watched> compile_now(const Plan& plan)
{
    if (plan.linker.linker == Linker::driver) {
        HEARTH_TRY_SET(Artifact made, with_metadata(link_with_driver(plan.job), plan.job));
        if (const std::string why_not = why_not_kept(plan.linker); !why_not.empty())
            return compilers::Watched{std::move(made), error(Code::unavailable, "{}", why_not)};
        // The driver reads nothing but its input, as far as can be known: it cannot be watched.
        return compilers::Watched{std::move(made), watch::Conditions{}};
    }
    HEARTH_TRY_SET(const NvJitLink linker, NvJitLink::load(plan.linker.path));
    return compilers::compile_watched(
        *linker.compiler, plan.asked, [&] { return with_metadata(link_with_nvjitlink(linker, plan.job), plan.job); },
        [&](const watch::EventLog& log, const Artifact&) {
            return watch::conditions_of(log, plan.question.places, compilers::k_libraries_of_linkers);
        });
}

}  // namespace

Result<Plan> make_plan(Cache& cache, const Program& program, const CompileOptions& options)
{
    Plan plan;
    HEARTH_TRY(settle_text(program, plan.job));
    HEARTH_TRY(settle_options(program, plan.job));
    HEARTH_TRY_SET(plan.linker, identify(cache, options));
    const bool by_driver = plan.linker.linker == Linker::driver;
    if (by_driver)
        if (std::string refusal = refusal_of_driver(plan.job); !refusal.empty())
            return refuse(std::move(refusal));
    for (const std::string& option : plan.job.options)
        if (tells_times(option))
            plan.question.why_past_the_cache = k_why_times;
    plan.asked = {plan.linker.build, compilers::float_mode(),
                  cache.has_tiers() && plan.question.why_past_the_cache.empty()};
    const std::string& reads_variables = by_driver ? plan.linker.compiler : plan.linker.path;
    plan.question.request = request_of(plan, cache.has_tiers() ? compilers::environment_of(cache, reads_variables)
                                                               : std::vector<std::string>{});
    plan.question.label = label_of(plan.job);
    std::error_code ignored;
    plan.question.places.working_directory = std::filesystem::current_path(ignored).string();
    return plan;
}

Result<Compiled> compile(Cache& cache, const Program& program, const CompileOptions& options)
{
    HEARTH_TRY_SET(Plan planned, make_plan(cache, program, options));
    // Shared with the compile function, which may still run after we return: at a deadline, or if a server was quicker.
    const auto plan = std::make_shared<const Plan>(std::move(planned));
    HEARTH_TRY_SET(const compilers::Answer answer,
                   compilers::answer(cache, plan->question, [plan] { return compile_now(*plan); },
                                     {.deadline = options.deadline, .captures = Captures::owned}));
    return Compiled(CompileResult(answer.lookup, plan->question.request, answer.why_past_the_cache, answer.key));
}

Result<Explanation> explain(Cache& cache, const Program& program, const CompileOptions& options)
{
    HEARTH_TRY_SET(const Plan plan, make_plan(cache, program, options));
    return compilers::explain(cache, plan.question);
}

}  // namespace hearth::ptx

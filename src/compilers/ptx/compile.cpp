#include "base/error.hpp"
#include "compilers/ptx/driver_link.hpp"
#include "compilers/ptx/jit_link.hpp"
#include "compilers/ptx/linker.hpp"
#include "gpu/cuda/cuda_driver.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <memory>

namespace hearth::ptx {

namespace {

constexpr std::uint64_t k_request_version = 1;
constexpr const char* k_unnamed = "ptx input";
constexpr std::string_view k_arch = "-arch=";

struct Plan {
    Job job;
    Identity linker;
    Request request;
    std::string why_past_the_cache;
};

Error refuse(std::string message)
{
    return error(Code::invalid_argument, "{}", std::move(message));
}

std::string_view name_of(Linker linker)
{
    return linker == Linker::driver ? "driver" : "nvjitlink";
}

// The linkers take zero-terminated strings: what follows a zero would silently be left out.
Status check_text(std::string_view what, std::string_view text)
{
    if (const std::size_t zero = text.find('\0'); zero != std::string_view::npos)
        return refuse(fmt::format("{} has a zero byte at offset {}, where the linker would stop reading. Remove it.",
                                  what, zero));
    return {};
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
        if (Status status = check_text("The PTX", job.text); !status.ok())
            return status;
    return check_text("The name", job.name);
}

Status settle_options(const Program& program, Job& job)
{
    for (const std::string& option : program.options) {
        if (Status status = check_text("An option", option); !status.ok())
            return status;
        if (option.starts_with(k_arch))
            job.target = option.substr(k_arch.size());
    }
    job.options = program.options;
    if (!program.target.empty() && !job.target.empty())
        return refuse(fmt::format("The target is given twice: as \"{}\" and with the option -arch={}. Leave one out.",
                                  program.target, job.target));
    if (program.target.empty() && job.target.empty())
        return refuse("No target is given, and PTX becomes a CUBIN for one. Name it, such as \"sm_90\", or say "
                      "\"device\" for this machine's GPU.");
    if (!program.target.empty()) {
        job.target = program.target;
        if (job.target == "device") {
            Result<std::string> device = gpu::target_of_device(0);
            HEARTH_TRY(device);
            job.target = *std::move(device);
        }
        if (Status status = check_text("The target", job.target); !status.ok())
            return status;
        job.options.push_back(std::string(k_arch) + job.target);
    }
    if (job.input == Input::lto_ir && std::find(job.options.begin(), job.options.end(), "-lto") == job.options.end())
        job.options.emplace_back("-lto");
    return {};
}

// Each member of Program enters here, the target as one of the options.
Request request_of(const Job& job, const Identity& linker)
{
    KeyBuilder key("ptx");
    key.number("request version", k_request_version)
        .text("linker", name_of(linker.linker))
        .text("linker build", linker.build)
        .text("input", job.input == Input::ptx ? "ptx" : "lto-ir")
        .text("text", job.text)
        .text("name", job.name)
        .list("options", job.options);
    return key.build();
}

Result<Plan> make_plan(const Program& program, const CompileOptions& options)
{
    Plan plan;
    HEARTH_TRY(settle_text(program, plan.job));
    HEARTH_TRY(settle_options(program, plan.job));
    Result<Identity> linker = identify(options);
    HEARTH_TRY(linker);
    plan.linker = *std::move(linker);
    if (plan.linker.linker == Linker::driver)
        if (std::string refusal = refusal_of_driver(plan.job); !refusal.empty())
            return refuse(std::move(refusal));
    for (const std::string& option : plan.job.options)
        if (option == "-time" || option.starts_with("-time="))
            plan.why_past_the_cache = "-time tells what no cache can know";
    plan.request = request_of(plan.job, plan.linker);
    return plan;
}

Result<Artifact> compile_now(const Plan& plan)
{
    Result<Artifact> made = link(plan.linker, plan.job);
    if (!made)
        return made;
    made->metadata.label = plan.job.name.substr(plan.job.name.find_last_of('/') + 1);
    made->metadata.target = plan.job.target;
    made->metadata.options = plan.job.options;
    return made;
}

}  // namespace

Result<Artifact> link(const Identity& identity, const Job& job)
{
    return identity.linker == Linker::driver ? link_with_driver(job) : link_with_nvjitlink(identity.path, job);
}

Result<Planned> plan(const Program& program, const CompileOptions& options)
{
    Result<Plan> plan = make_plan(program, options);
    HEARTH_TRY(plan);
    return Planned{std::move(plan->request), std::move(plan->why_past_the_cache)};
}

Result<Compiled> compile(Cache& cache, const Program& program, const CompileOptions& options)
{
    Result<Plan> planned = make_plan(program, options);
    HEARTH_TRY(planned);
    // Shared with the compile function, which may still run after we return: at a deadline, or if a server was quicker.
    const auto plan = std::make_shared<const Plan>(*std::move(planned));
    const auto make = [plan] { return compile_now(*plan); };
    const Result<Lookup> found =
        plan->why_past_the_cache.empty()
            ? cache.get_or_compile(plan->request, make, {.deadline = options.deadline, .captures = Captures::owned})
            : cache.compile_past_the_cache(make);
    HEARTH_TRY(found);
    return Compiled(CompileResult(*found, plan->request, plan->why_past_the_cache));
}

}  // namespace hearth::ptx

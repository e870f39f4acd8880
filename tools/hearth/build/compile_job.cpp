#include "build/compile_job.hpp"

#include "base/error.hpp"
#include "doctor/machine.hpp"
#include "hearth/libraries.hpp"
#include "hearth/nvrtc.hpp"
#include "hearth/opencl.hpp"
#include "hearth/ptx.hpp"
#include "process/file_io.hpp"
#include "terminal/exit.hpp"
#include "terminal/output.hpp"
#include "terminal/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

namespace hearth::cli {

namespace {

// NVRTC does not know where CUDA's own headers are. If the log says that one is missing, this says where it is.
std::string header_hint(std::string_view log)
{
    static constexpr std::string_view k_cannot = "open source file \"";
    const std::size_t at = log.find(k_cannot);
    if (at == std::string_view::npos)
        return {};
    std::string_view name = log.substr(at + k_cannot.size());
    name = name.substr(0, name.find('"'));
    for (const std::string& directory : library_directories())
        for (const char* include : {"/../include", "/../include/cccl"}) {
            std::error_code error;
            const auto candidate = std::filesystem::weakly_canonical(directory + include, error);
            if (!error && std::filesystem::is_regular_file(candidate / name, error))
                return fmt::format("{} is in {}: add -I {}", name, candidate.string(), candidate.string());
        }
    return {};
}

// What all compilers' results have in common.
template <class Compiled>
void take(const Result<Compiled>& compiled, CompileReport& report)
{
    if (!compiled) {
        report.outcome = "error";
        report.reason = compiled.error().message;
        report.log = compiled.error().log;
        return;
    }
    report.outcome = to_string(compiled->outcome());
    report.reason = compiled->reason();
    report.tier = compiled->tier();
    report.log = compiled->log();
    if (report.outcome != "past_the_cache")
        report.key = compiled->key().hex();
    report.sections = compiled->artifact().sections;
    if (compiled->failed()) {
        report.outcome = "error";
        report.compiler_said_no = true;
        report.reason = fmt::format("the compile failed{}", report.tier.empty() ? "" : " before, and is remembered");
    }
}

void compile_cuda(Cache& cache, const CompileArguments& arguments, CompileReport& report)
{
    take(nvrtc::compile(cache, program_of(arguments, report.job.file, report.job.target)), report);
    if (const std::string hint = header_hint(report.log); report.compiler_said_no && !hint.empty())
        report.reason += "; " + hint;
}

Result<Explanation> explain_cuda(Cache& cache, const CompileArguments& arguments, const CompileJob& job)
{
    return nvrtc::explain(cache, program_of(arguments, job.file, job.target));
}

ptx::Program ptx_of(const CompileArguments& arguments, const CompileJob& job)
{
    ptx::Program program;
    program.text = read_whole(job.file, arguments.max_source_bytes).text();
    program.name = job.file;
    program.options = arguments.options;
    program.target = job.target;
    return program;
}

void compile_ptx(Cache& cache, const CompileArguments& arguments, CompileReport& report)
{
    take(ptx::compile(cache, ptx_of(arguments, report.job)), report);
}

Result<Explanation> explain_ptx(Cache& cache, const CompileArguments& arguments, const CompileJob& job)
{
    return ptx::explain(cache, ptx_of(arguments, job));
}

opencl::Source opencl_of(const CompileArguments& arguments, const CompileJob& job)
{
    opencl::Source source;
    source.text = read_whole(job.file, arguments.max_source_bytes).text();
    source.name = std::filesystem::path(job.file).filename().string();
    for (const std::string& directory : arguments.include_directories)
        source.options.push_back("-I" + directory);
    for (const std::string& define : arguments.defines)
        source.options.push_back("-D" + define);
    source.options.insert(source.options.end(), arguments.options.begin(), arguments.options.end());
    return source;
}

// A target is a device's name, or a part of it.
Result<opencl::Device> device_of(const CompileJob& job)
{
    return job.target.empty() || job.target == "device" ? opencl::find_device(0) : opencl::find_device(job.target);
}

void compile_opencl(Cache& cache, const CompileArguments& arguments, CompileReport& report)
{
    const Result<opencl::Device> device = device_of(report.job);
    const Result<opencl::Context> context =
        device ? opencl::Context::open(*device) : Result<opencl::Context>(device.error());
    take(context ? opencl::build(cache, *context, opencl_of(arguments, report.job))
                 : Result<opencl::Program>(context.error()),
         report);
    if (report.outcome == "rebuilt")
        report.outcome = "miss";
}

Result<Explanation> explain_opencl(Cache& cache, const CompileArguments& arguments, const CompileJob& job)
{
    HEARTH_TRY_SET(const opencl::Device device, device_of(job));
    return opencl::explain(cache, device, opencl_of(arguments, job));
}

struct Kind {
    std::string_view ending;
    std::string_view result;  // the section that is written unless another is asked for
    void (*compile)(Cache&, const CompileArguments&, CompileReport&);
    Result<Explanation> (*explain)(Cache&, const CompileArguments&, const CompileJob&);
};
constexpr Kind k_kinds[] = {{".cu", "cubin", compile_cuda, explain_cuda},
                            {".ptx", "cubin", compile_ptx, explain_ptx},
                            {".cl", "binary", compile_opencl, explain_opencl}};

const Kind* kind_of(const std::string& file)
{
    for (const Kind& kind : k_kinds)
        if (file.ends_with(kind.ending))
            return &kind;
    return nullptr;
}

// Fails with a sentence for a file of another kind.
const Kind& kind_or_fail(const std::string& file)
{
    const Kind* kind = kind_of(file);
    if (kind == nullptr)
        fail_usage(
            fmt::format("{} cannot be compiled. The name of a source must end in .cu, .ptx or .cl.", in_quotes(file)));
    return *kind;
}

// Empty if NVRTC is not found or does not tell: the compile then says what is wrong.
std::string newest_target(Cache& cache)
{
    const Result<nvrtc::LibraryFacts> nvrtc = nvrtc::library_facts(cache);
    if (!nvrtc || nvrtc->architectures.empty())
        return {};
    std::string newest =
        fmt::format("sm_{}", *std::max_element(nvrtc->architectures.begin(), nvrtc->architectures.end()));
    complain(fmt::format("There is no GPU here, so the target is {}, the newest of NVRTC {}.{}. Choose one with "
                         "--target.",
                         newest, nvrtc->major, nvrtc->minor));
    return newest;
}

}  // namespace

const Section* CompileReport::section(std::string_view name) const
{
    for (const Section& section : sections)
        if (section.name == name)
            return &section;
    return nullptr;
}

std::string CompileReport::usual_section() const
{
    return job.target.starts_with("compute_") ? "ptx" : std::string(kind_or_fail(job.file).result);
}

void check_kind(const std::string& file)
{
    static_cast<void>(kind_or_fail(file));
}

std::vector<CompileJob> jobs_of(Cache& cache, const CompileArguments& arguments)
{
    std::vector<std::string> targets = arguments.targets;
    const bool chosen = !targets.empty() || has_option(arguments, {"-arch", "--gpu-architecture"});
    const bool any_cuda = std::any_of(arguments.files.begin(), arguments.files.end(),
                                      [](const std::string& file) { return file.ends_with(".cu"); });
    for (const std::string& target : targets)
        if (any_cuda && !target.empty() && target.find_first_not_of("0123456789") == std::string::npos)
            fail_usage(fmt::format("{} is no target. Did you mean sm_{}? 'hearth compile --help' shows what there is.",
                                   in_quotes(target), target));
    if (targets.empty())
        targets.emplace_back(find_gpus().empty() ? "" : "device");
    const std::string newest = !chosen && any_cuda && targets.front().empty() ? newest_target(cache) : "";
    std::vector<CompileJob> jobs;
    for (const std::string& file : arguments.files)
        for (const std::string& target : targets)
            jobs.push_back({file, target.empty() && file.ends_with(".cu") ? newest : target});
    return jobs;
}

CompileReport run_job(Cache& cache, const CompileArguments& arguments, const CompileJob& job)
{
    CompileReport report;
    report.job = job;
    const auto started = std::chrono::steady_clock::now();
    kind_or_fail(job.file).compile(cache, arguments, report);
    report.took = std::chrono::steady_clock::now() - started;
    return report;
}

Result<Explanation> explain_job(Cache& cache, const CompileArguments& arguments, const CompileJob& job)
{
    return kind_or_fail(job.file).explain(cache, arguments, job);
}

}  // namespace hearth::cli

#include "compile_job.hpp"

#include "hearth/libraries.hpp"
#include "hearth/nvrtc.hpp"

#include <fmt/format.h>

#include <filesystem>

namespace hearth::cli {

namespace {

// NVRTC is not told where CUDA's own headers are. A log that misses one gets a hint where it lies.
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

void compile_cuda(Cache& cache, const CompileArguments& arguments, CompileReport& report)
{
    const nvrtc::Program program = program_of(arguments, report.job.file, report.job.target);
    const auto started = std::chrono::steady_clock::now();
    const Result<nvrtc::Compiled> compiled = nvrtc::compile(cache, program);
    report.took = std::chrono::steady_clock::now() - started;
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
    if (compiled->outcome() != nvrtc::Outcome::bypassed)
        report.key = compiled->request().key().hex();
    report.sections = compiled->artifact().sections;
    if (compiled->failed()) {
        report.outcome = "error";
        report.compiler_said_no = true;
        const std::string hint = header_hint(report.log);
        report.reason =
            fmt::format("the compile failed{}{}", compiled->tier().empty() ? "" : " before, and is remembered",
                        hint.empty() ? "" : "; " + hint);
    }
}

struct Kind {
    std::string_view ending;
    void (*compile)(Cache&, const CompileArguments&, CompileReport&);
};
constexpr Kind k_kinds[] = {{".cu", compile_cuda}};

const Kind* kind_of(const std::string& file)
{
    if (file == "-")
        return k_kinds;
    for (const Kind& kind : k_kinds)
        if (file.ends_with(kind.ending))
            return &kind;
    return nullptr;
}

}  // namespace

const Section* CompileReport::section(std::string_view name) const
{
    for (const Section& section : sections)
        if (section.name == name)
            return &section;
    return nullptr;
}

bool can_compile(const std::string& file)
{
    return kind_of(file) != nullptr;
}

CompileReport run_job(Cache& cache, const CompileArguments& arguments, const CompileJob& job)
{
    CompileReport report;
    report.job = job;
    kind_of(job.file)->compile(cache, arguments, report);
    return report;
}

}  // namespace hearth::cli

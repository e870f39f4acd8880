#include "build/compile_job.hpp"
#include "cache/open_cache.hpp"
#include "hearth/units.hpp"
#include "process/file_io.hpp"
#include "terminal/command_line.hpp"
#include "terminal/exit.hpp"
#include "terminal/output.hpp"
#include "terminal/progress_bar.hpp"
#include "terminal/table.hpp"
#include "terminal/text.hpp"
#include "terminal/times.hpp"
#include "json/json.hpp"

#include <fmt/format.h>

#include <atomic>
#include <cstdio>
#include <filesystem>
#include <mutex>
#include <set>
#include <thread>

namespace hearth::cli {

namespace {

// The sections that are code.
const std::set<std::string> k_outputs{"cubin", "ptx", "ltoir", "binary"};

struct CompileCommand {
    CompileArguments compile;
    std::string output;
    std::string emit;
    bool json = false;
};

std::vector<CompileJob> jobs_of(const CompileArguments& arguments)
{
    std::vector<CompileJob> jobs;
    for (const std::string& file : arguments.files) {
        check_kind(file);
        static_cast<void>(read_whole(file));  // reports a missing file before anything is compiled
        for (const std::string& target : targets_of(arguments))
            jobs.push_back({file, target});
    }
    return jobs;
}

std::vector<CompileReport> run_all(Cache& cache, const CompileCommand& arguments, const std::vector<CompileJob>& jobs)
{
    std::vector<CompileReport> reports(jobs.size());
    std::atomic<std::size_t> next{0};
    std::mutex mutex;
    std::size_t done = 0;
    std::exception_ptr failure;
    ProgressBar bar("Compiling", arguments.json || jobs.size() == 1 ? Wanted::no : Wanted::yes);
    const Progress progress = bar.report();
    const auto work = [&] {
        for (std::size_t i = next++; i < jobs.size(); i = next++) {
            try {
                reports[i] = run_job(cache, arguments.compile, jobs[i]);
            } catch (...) {
                const std::lock_guard lock(mutex);
                failure = std::current_exception();
            }
            const std::lock_guard lock(mutex);
            progress(++done, jobs.size());
        }
    };
    {
        std::vector<std::jthread> threads;
        for (std::size_t i = 1; i < std::min<std::size_t>(jobs.size(), std::thread::hardware_concurrency()); ++i)
            threads.emplace_back(work);
        work();
    }
    if (failure)
        std::rethrow_exception(failure);
    return reports;
}

void write_output(const CompileCommand& arguments, const CompileReport& report, bool several)
{
    const std::string name = arguments.emit.empty() ? report.usual_section() : arguments.emit;
    const Section* section = report.section(name);
    if (section == nullptr)
        fail(fmt::format("The compiler gave no {} for {}{}. It gave: {}. Choose with --emit.", name,
                         in_quotes(report.job.file), report.job.target.empty() ? "" : " and " + report.job.target, [&] {
                             std::string names;
                             for (const Section& there : report.sections)
                                 if (k_outputs.contains(there.name))
                                     names += (names.empty() ? "" : ", ") + there.name;
                             return names.empty() ? std::string("nothing") : names;
                         }()));
    std::filesystem::path path = arguments.output;
    if (several)
        path /= fmt::format("{}{}.{}", std::filesystem::path(report.job.file).stem().string(),
                            report.job.target.empty() ? "" : "." + report.job.target, name);
    write_whole(path.string(), section->data);
}

void show_json(const CompileReport& report)
{
    Json sections = Json::object();
    for (const Section& section : report.sections)
        sections.add(section.name, section.data.size());
    print_json({{"file", report.job.file},
                {"target", report.job.target},
                {"key", report.key},
                {"outcome", report.outcome},
                {"reason", report.reason},
                {"tier", report.tier},
                {"ms", std::chrono::duration<double, std::milli>(report.took).count()},
                {"sections", sections}});
}

void show_table(const std::vector<CompileReport>& reports)
{
    Table table(
        {{"FILE"}, {"TARGET"}, {"OUTCOME"}, {"TIER"}, {"TIME", Align::right}, {"SIZE", Align::right}, {"REASON"}});
    for (const CompileReport& report : reports) {
        const Section* result = report.section(report.usual_section());
        table.add({printable(report.job.file), report.job.target.empty() ? "default" : printable(report.job.target),
                   report.outcome, report.tier.empty() ? "-" : report.tier, show_duration(report.took),
                   result != nullptr ? format_size(result->data.size()) : "-", printable(report.reason)});
    }
    table.print();
}

int run_compile(const Globals& globals, const CompileCommand& arguments)
{
    const std::vector<CompileJob> jobs = jobs_of(arguments.compile);
    const bool several = jobs.size() > 1;
    std::error_code error;
    if (!arguments.output.empty() && several && !std::filesystem::is_directory(arguments.output, error))
        fail_usage(fmt::format("There are {} results, and {} is not a directory. Give a directory, or compile one "
                               "file for one target.",
                               jobs.size(), in_quotes(arguments.output)));
    Cache cache = open_cache(globals, Use::work);
    const std::vector<CompileReport> reports = run_all(cache, arguments, jobs);
    cache.flush();

    int code = k_done;
    for (const CompileReport& report : reports) {
        // The compiler's log is printed as it was written, on a hit too.
        if (!report.log.empty() && std::fwrite(report.log.data(), 1, report.log.size(), stderr) != report.log.size())
            code = k_failure;
        if (report.failed()) {
            complain(fmt::format("{}: {}", report.job.file, report.reason));
            code = report.compiler_said_no && code != k_failure ? k_compile_error : k_failure;
        } else if (!arguments.output.empty()) {
            write_output(arguments, report, several);
        }
        if (arguments.json)
            show_json(report);
    }
    if (!arguments.json && (several || arguments.output.empty()))
        show_table(reports);
    return code;
}

}  // namespace

void add_compile(Command& command)
{
    command.describe(
        "Compiles sources through the cache, each for every target.",
        "  hearth compile saxpy.cu --target sm_90 -o saxpy.cubin\n"
        "  hearth compile *.cu --target sm_80,sm_90 -o build/kernels\n"
        "  hearth compile gemm.cu --target sm_90 --name-expr 'gemm<float, 16>' -I include -D TILE=16\n"
        "  hearth compile k.cu --target compute_80 --emit ptx -o k.ptx -- -std=c++20 --use_fast_math",
        "What follows -- is passed to the compiler unchanged. The compiler's log goes to standard error, on "
        "a hit too. Exit code 4: the compiler found an error.");
    auto& arguments = command.runs(run_compile);
    add_compile_arguments(command, arguments.compile, Files::several);
    command.text("-o,--output", arguments.output, "Where to write the result; for several results, a directory", "OUT");
    command
        .text("--emit", arguments.emit, "Which output to write (otherwise the cubin, or ptx for compute_ targets)",
              "cubin|ptx|ltoir")
        .checked_by([](const std::string& name) {
            return k_outputs.contains(name)
                       ? ""
                       : fmt::format("{} is not one of cubin, ptx, ltoir, binary.", in_quotes(name));
        });
    command.json(arguments.json);
}

}  // namespace hearth::cli

#include "build/compile_job.hpp"
#include "cache/open_cache.hpp"
#include "hearth/units.hpp"
#include "process/file_io.hpp"
#include "process/stop_signals.hpp"
#include "terminal/command_line.hpp"
#include "terminal/exit.hpp"
#include "terminal/output.hpp"
#include "terminal/progress_bar.hpp"
#include "terminal/table.hpp"
#include "terminal/text.hpp"
#include "terminal/times.hpp"
#include "json/json.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

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

// Reports a file that is missing, or of another kind, before anything is compiled.
void check_sources(const CompileArguments& arguments)
{
    for (const std::string& file : arguments.files) {
        check_kind(file);
        static_cast<void>(read_whole(file, arguments.max_source_bytes));
    }
}

enum class Where : unsigned char { nowhere, standard_output, file, directory };

// Several results need a directory, which is created. Fails with a sentence if the output cannot take them.
Where where_to_write(const CompileCommand& arguments)
{
    const std::size_t results =
        arguments.compile.files.size() * std::max<std::size_t>(1, arguments.compile.targets.size());
    const std::string& output = arguments.output;
    if (output.empty())
        return Where::nowhere;
    if (output == "-" && results > 1)
        fail_usage(fmt::format("There are {} results, and standard output takes one. Give a directory with -o, or "
                               "compile one file for one target.",
                               results));
    if (output == "-" && arguments.json)
        fail_usage("--json needs -o FILE: standard output cannot hold both the result and the facts about it.");
    if (output == "-")
        return Where::standard_output;
    std::error_code error;
    if (results == 1 && !output.ends_with('/') && !std::filesystem::is_directory(output, error))
        return Where::file;
    std::filesystem::create_directories(output, error);
    if (!std::filesystem::is_directory(output, error))
        fail_usage(fmt::format("{} is not a directory, and none can be created there for {}. Give a directory, or "
                               "compile one file for one target into a file.",
                               in_quotes(output), count_of(results, "result", "results")));
    return Where::directory;
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

std::string result_name(const CompileCommand& arguments, const CompileReport& report)
{
    return arguments.emit.empty() ? report.usual_section() : arguments.emit;
}

const Section& result_of(const CompileCommand& arguments, const CompileReport& report)
{
    const std::string name = result_name(arguments, report);
    if (const Section* section = report.section(name))
        return *section;
    std::vector<std::string> names;
    for (const Section& there : report.sections)
        if (k_outputs.contains(there.name))
            names.push_back(there.name);
    fail(fmt::format("The compiler gave no {} for {}{}. It gave: {}. Choose with --emit.", name,
                     in_quotes(report.job.file), report.job.target.empty() ? "" : " and " + report.job.target,
                     names.empty() ? "nothing" : fmt::format("{}", fmt::join(names, ", "))));
}

void write_output(const CompileCommand& arguments, const CompileReport& report, Where where)
{
    if (where == Where::nowhere)
        return;
    const Section& result = result_of(arguments, report);
    if (where == Where::standard_output) {
        write_out(as_text(result.data));
        return;
    }
    std::filesystem::path path = arguments.output;
    if (where == Where::directory)
        path /= fmt::format("{}{}.{}", std::filesystem::path(report.job.file).stem().string(),
                            report.job.target.empty() ? "" : "." + report.job.target, result.name);
    write_whole(path.string(), result.data);
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
                {"seconds", std::chrono::duration<double>(report.took).count()},
                {"sections", sections}});
}

void show_table(const CompileCommand& arguments, const std::vector<CompileReport>& reports)
{
    Table table(
        {{"FILE"}, {"TARGET"}, {"OUTCOME"}, {"TIER"}, {"TIME", Align::right}, {"SIZE", Align::right}, {"REASON"}});
    for (const CompileReport& report : reports) {
        const Section* result = report.section(result_name(arguments, report));
        table.add({printable(report.job.file), report.job.target.empty() ? "default" : printable(report.job.target),
                   report.outcome, report.tier.empty() ? "-" : report.tier, show_duration(report.took),
                   result != nullptr ? format_size(result->data.size()) : "-", printable(report.reason)});
    }
    table.print();
}

int run_compile(const Globals& globals, const CompileCommand& given)
{
    CompileCommand arguments = given;
    arguments.compile.lto = arguments.emit == "ltoir";
    arguments.compile.max_source_bytes = std::max(max_entry_bytes(globals), k_max_source_bytes);
    check_sources(arguments.compile);
    const Where where = where_to_write(arguments);
    const std::vector<CompileReport> reports = [&] {
        const EndedBySignals signals;  // made first: the cache starts threads
        Cache cache = open_cache(globals, Use::work);
        std::vector<CompileReport> all = run_all(cache, arguments, jobs_of(cache, arguments.compile));
        cache.flush();
        return all;
    }();

    const StopSignals signals;  // a result is written whole
    int code = k_done;
    for (const CompileReport& report : reports) {
        // The compiler's log is printed as it was written, on a hit too.
        if (!report.log.empty() && std::fwrite(report.log.data(), 1, report.log.size(), stderr) != report.log.size())
            code = k_failure;
        if (report.failed()) {
            complain(fmt::format("{}: {}", report.job.file, report.reason));
            code = report.compiler_said_no && code != k_failure ? k_compile_error : k_failure;
        } else {
            write_output(arguments, report, where);
            stop_if_told();
        }
        if (arguments.json)
            show_json(report);
    }
    if (!arguments.json && (where == Where::nowhere || reports.size() > 1))
        show_table(arguments, reports);
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
    command.text("-o,--output", arguments.output,
                 "Where to write the result; - is standard output. For several results, a directory", "OUT");
    command
        .text("--emit", arguments.emit,
              "Which output to write (otherwise the cubin, ptx for compute_ targets, binary for .cl). ltoir adds -dlto",
              "cubin|ptx|ltoir|binary")
        .checked_by([](const std::string& name) {
            return k_outputs.contains(name)
                       ? ""
                       : fmt::format("{} is not one of cubin, ptx, ltoir, binary.", in_quotes(name));
        });
    command.json(arguments.json);
}

}  // namespace hearth::cli

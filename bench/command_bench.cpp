// `hearth exec` beside the bare compiler, ccache and sccache: hits and misses of nvcc and g++, as whole processes.

#include "benches.hpp"
#include "scratch.hpp"
#include "timing.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <optional>
#include <unistd.h>

namespace hearth::bench {

namespace {

constexpr int k_hits = 51;
constexpr int k_compiles = 9;
constexpr double k_slow = 0.2;  // seconds: sccache runs a part of nvcc each time
constexpr int k_slow_hits = 5;

const char* const k_nvcc = "/usr/local/cuda/bin/nvcc";
const char* const k_gxx = "/usr/bin/g++";

using Words = std::vector<std::string>;

// A compile that is measured. `source` is written anew for each miss: `text`, and `kind` with another name.
struct Job {
    std::string name;
    Words command;
    std::string source{};
    std::string text{};
    std::string kind{};
};

std::string path_of(const char* program)
{
    const std::string path = output_of(fmt::format("PATH=\"$PATH:$HOME/.local/bin\" command -v {}", program));
    return path.substr(0, path.find('\n'));
}

Words through(Words launcher, const Words& command)
{
    launcher.insert(launcher.end(), command.begin(), command.end());
    return launcher;
}

Words through_hearth(const Words& command)
{
    return through({beside("hearth"), "exec", "--"}, command);
}

// Whether the cache answers without the compiler.
bool is_kept(const Words& command)
{
    ::setenv("HEARTH_FORBID_COMPILE", "1", 1);
    const bool kept = run_to_its_end(through_hearth(command)) == 0;
    ::unsetenv("HEARTH_FORBID_COMPILE");
    return kept;
}

Measured ms(const Measured& seconds)
{
    return seconds * 1e3;
}

// A source that nobody has compiled.
void write_another(const Job& job)
{
    static int written = 0;
    std::ofstream(job.source) << job.text << fmt::format("{} int another_{};\n", job.kind, written++);
}

void misses(Report& report, const Job& job)
{
    const auto compile_another = [&](const Words& words) {
        write_another(job);
        run_to_its_end(words);
    };
    compile_another(through_hearth(job.command));  // knows the compiler's own files from here on
    const Pair times = side_by_side(
        k_compiles, [&] { compile_another(through_hearth(job.command)); }, [&] { compile_another(job.command); });
    report.add_beside("command_miss." + job.name, ms(times.first), "ms", "the bare command", ms(times.second));
}

// What nvcc takes for two targets where it has compiled for one of them.
void near_misses(Report& report, const Job& job)
{
    std::vector<Words> commands;
    for (int i = 0; i < k_compiles; ++i) {
        Words& words = commands.emplace_back(job.command);
        std::ranges::replace(words, job.source, fmt::format("{}.{}.cu", job.source, i));
        Job one = job;
        one.source = fmt::format("{}.{}.cu", job.source, i);
        write_another(one);
        run_to_its_end(through_hearth(words));
        words.insert(words.end(), {"-gencode", "arch=compute_80,code=sm_80"});
    }
    std::size_t ours = 0;
    std::size_t theirs = 0;
    const Pair times = side_by_side(
        k_compiles, [&] { run_to_its_end(through_hearth(commands[ours++ % commands.size()])); },
        [&] { run_to_its_end(commands[theirs++ % commands.size()]); });
    report.add_beside("command_near_miss." + job.name, ms(times.first), "ms", "the bare command, both targets",
                      ms(times.second));
}

void add_hit(Report& report, const Job& job, const std::string& rival, const Pair& times)
{
    report.add_beside(fmt::format("command_hit.{}{}{}", job.name, rival.empty() ? "" : ".", rival), ms(times.first),
                      "ms", rival.empty() ? "the bare command" : rival + ", the same, warm", ms(times.second));
}

void hits_beside(Report& report, const Job& job, const char* rival)
{
    const std::string path = path_of(rival);
    if (path.empty())
        return report.note(fmt::format("command_hit.{}.{}: left out: it is not installed (scripts/install-deps bench)",
                                       job.name, rival));
    const Words ours = through_hearth(job.command);
    const Words theirs = through({path}, job.command);
    const double first = best_of(1, [&] { run_to_its_end(theirs); });
    const double again = best_of(1, [&] { run_to_its_end(theirs); });
    if (again > first / 2)
        return report.note(fmt::format("command_hit.{}.{}: left out: it does not keep this: {:.1f} s, then {:.1f} s",
                                       job.name, rival, first, again));
    add_hit(report, job, rival,
            side_by_side(
                again > k_slow ? k_slow_hits : k_hits, [&] { run_to_its_end(ours); }, [&] { run_to_its_end(theirs); }));
}

// `bare`: what the command takes, where that is known.
void hits(Report& report, const Job& job, std::optional<Measured> bare = {})
{
    const Words ours = through_hearth(job.command);
    if (run_to_its_end(ours) != 0 || !is_kept(job.command))
        return report.note(fmt::format("command_hit.{}: left out: the command fails, or is not kept", job.name));
    Pair times = side_by_side(
        bare ? k_hits : k_compiles, [&] { run_to_its_end(ours); },
        [&] {
            if (!bare)
                run_to_its_end(job.command);
        });
    if (bare)
        times.second = *bare;
    add_hit(report, job, "", times);
    hits_beside(report, job, "ccache");
    hits_beside(report, job, "sccache");
}

Job small(const char* name, const Scratch& scratch, const char* compiler, const char* file, const char* text)
{
    Words command{compiler, "-O2", "-c", scratch.path(file), "-o", scratch.path(std::string(file) + ".o")};
    if (compiler == k_nvcc)
        command.insert(command.end(), {"-gencode", "arch=compute_90,code=sm_90"});
    return {name, command, scratch.path(file), text, compiler == k_nvcc ? "__device__" : ""};
}

// bench/fetch_flashinfer.py makes the folder; its file "command" has a word a line.
void sampling(Report& report)
{
    const char* const folder = std::getenv("HEARTH_BENCH_FLASHINFER");
    if (folder == nullptr)
        return report.note(
            "command_*.sampling: left out: two minutes a compile. HEARTH_BENCH_FLASHINFER names a folder "
            "that bench/fetch_flashinfer.py has made.");
    Job job{"sampling", {}};
    std::ifstream file(std::string(folder) + "/command");
    for (std::string word; std::getline(file, word);)
        job.command.push_back(word);
    if (job.command.empty())
        return report.note(fmt::format("command_*.sampling: left out: there is no {}/command", folder));
    const Pair times = side_by_side(
        1, [&] { run_to_its_end(through_hearth(job.command)); }, [&] { run_to_its_end(job.command); });
    report.add_beside("command_miss.sampling", ms(times.first), "ms", "the bare command", ms(times.second));
    hits(report, job, times.second);
}

}  // namespace

void bench_command(Report& report)
{
    if (!std::filesystem::exists(beside("hearth")) || !std::filesystem::exists(beside("dropin/libhearth_recorder.so")))
        return report.note("command_*: left out: the command or its recorder is not beside this program");
    const Scratch scratch;
    ::setenv("HEARTH_DIR", scratch.path("cache").c_str(), 1);
    ::setenv("CCACHE_DIR", scratch.path("ccache").c_str(), 1);
    ::setenv("SCCACHE_DIR", scratch.path("sccache").c_str(), 1);
    ::setenv("SCCACHE_SERVER_UDS", scratch.path("sccache.socket").c_str(), 1);
    const Job kernel = small("nvcc_small", scratch, k_nvcc, "k.cu",
                             "#include <cuda_fp16.h>\n__global__ void k(__half* x) { *x = __hadd(*x, *x); }\n");
    const Job program = small("gxx", scratch, k_gxx, "p.cpp",
                              "#include <map>\n#include <string>\n"
                              "int count(const std::map<std::string, int>& all) { return all.at(\"one\"); }\n");
    for (const Job& job : {kernel, program}) {
        if (::access(job.command.front().c_str(), X_OK) != 0) {
            report.note(fmt::format("command_*.{}: left out: there is no {}", job.name, job.command.front()));
            continue;
        }
        misses(report, job);
        if (job.command.front() == k_nvcc)
            near_misses(report, job);
        hits(report, job);
    }
    sampling(report);
    if (const std::string sccache = path_of("sccache"); !sccache.empty())
        static_cast<void>(output_of(sccache + " --stop-server 2>&1"));
    for (const char* name : {"HEARTH_DIR", "CCACHE_DIR", "SCCACHE_DIR", "SCCACHE_SERVER_UDS"})
        ::unsetenv(name);
}

}  // namespace hearth::bench

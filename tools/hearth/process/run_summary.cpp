#include "process/run_summary.hpp"

#include "base/error.hpp"
#include "base/log_file.hpp"
#include "base/signal_guard.hpp"
#include "process/scratch_folder.hpp"
#include "run_log/run_log.hpp"
#include "terminal/output.hpp"
#include "terminal/system_error.hpp"
#include "terminal/text.hpp"
#include "json/json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <set>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace hearth::cli {

namespace {

constexpr std::size_t k_most_shown = 5;

std::string seconds(double milliseconds)
{
    return milliseconds < 1000 ? fmt::format("{:.0f} ms", milliseconds) : fmt::format("{:.1f} s", milliseconds / 1000);
}

void count(RunSummary& summary, const run_log::Event& event)
{
    if (event.outcome == "warning") {
        if (summary.warnings.size() < k_most_shown &&
            std::find(summary.warnings.begin(), summary.warnings.end(), event.reason) == summary.warnings.end())
            summary.warnings.push_back(event.reason);
        return;
    }
    if (event.what == "step") {
        const bool is_hit = event.outcome == "hit" || event.outcome == "waited";
        ++(is_hit ? summary.steps.hits_of[event.tier] : summary.steps.compiled);
        summary.steps.saved_ms += is_hit ? event.cost_ms : 0;
        return;
    }
    RunSummary::Counts& of = summary.of[event.what];
    ++(event.outcome == "hit" || event.outcome == "waited" ? of.hits
       : event.outcome == "forbidden"                      ? of.forbidden
                                                           : of.compiled);
    if (event.outcome == "hit") {
        ++summary.hits_of[event.tier];
        summary.saved_ms += event.cost_ms;
        return;
    }
    if (event.outcome == "forbidden") {
        ++summary.forbidden;
        return;
    }
    if (event.outcome == "waited") {
        ++summary.waited;
        return;
    }
    ++(event.outcome == "miss" || event.outcome == "rebuilt" ? summary.compiled : summary.past_the_cache);
    summary.spent_ms += event.spent_ms;
    summary.slowest.push_back(
        {event.name.empty() ? "default_program" : event.name, event.reason, event.spent_ms, event.after_ready});
    summary.after_ready += event.after_ready ? 1U : 0U;
}

// A framework's kernels are told apart, since a program that has one mostly uses several.
std::string frameworks_of(const std::map<std::string, RunSummary::Counts>& all)
{
    constexpr std::array<std::string_view, 6> k_compilers{"", "command", "library", "nvjitlink", "nvrtc", "nvvm"};
    std::string text;
    for (const auto& [name, counts] : all) {
        if (std::find(k_compilers.begin(), k_compilers.end(), name) != k_compilers.end())
            continue;
        text += fmt::format("{}{} {}", text.empty() ? "" : ", ", printable(name), count_of(counts.hits, "hit", "hits"));
        if (counts.compiled != 0)
            text += fmt::format(" and {} compiled", counts.compiled);
        if (counts.forbidden != 0)
            text += fmt::format(" and {} forbidden", counts.forbidden);
    }
    return text;
}

std::uint64_t sum_of(const std::map<std::string, std::uint64_t>& by_tier)
{
    std::uint64_t sum = 0;
    for (const auto& [tier, number] : by_tier)
        sum += number;
    return sum;
}

Json as_object(const std::map<std::string, std::uint64_t>& by_tier)
{
    Json object = Json::object();
    for (const auto& [tier, number] : by_tier)
        object.add(tier.empty() ? "waited" : tier, number);
    return object;
}

}  // namespace

std::uint64_t RunSummary::hits() const
{
    return sum_of(hits_of);
}

std::string RunSummary::as_text() const
{
    std::string told;
    for (const std::string& warning : warnings)
        told += "hearth: " + printable(warning) + "\n";
    if (hits() + compiled + waited + past_the_cache + forbidden == 0)
        return "hearth: no compile came to Hearth ('hearth doctor --program' tells whether a program can be served)\n" +
               told;
    std::string text = fmt::format("hearth: {}", count_of(hits(), "hit", "hits"));
    std::string tiers;
    for (const auto& [tier, number] : hits_of)
        tiers += fmt::format("{}{} {}", tiers.empty() ? "" : ", ", number, printable(tier));
    if (!tiers.empty())
        text += " (" + tiers + ")";
    text += fmt::format(", {} compiled", compiled);
    if (after_ready != 0)
        text += fmt::format(" ({} after ready)", after_ready);
    if (waited != 0)
        text += fmt::format(", {} waited for another's", waited);
    if (past_the_cache != 0)
        text += fmt::format(", {} past the cache", past_the_cache);
    if (forbidden != 0)
        text += fmt::format(", {} forbidden", forbidden);
    text += fmt::format(", {} saved\n", seconds(saved_ms));
    if (const std::string frameworks = frameworks_of(of); !frameworks.empty())
        text += "hearth:   of these " + frameworks + "\n";
    if (const std::uint64_t hits = sum_of(steps.hits_of); hits != 0)
        text += fmt::format("hearth:   steps of what was compiled: {}, {} compiled, {} saved\n",
                            count_of(hits, "hit", "hits"), steps.compiled, seconds(steps.saved_ms));
    for (std::size_t i = 0; i < std::min(slowest.size(), k_most_shown); ++i)
        text += fmt::format("hearth:   compiled {} in {}{}{}\n", printable(slowest[i].name),
                            seconds(slowest[i].spent_ms), slowest[i].after_ready ? " after ready" : "",
                            slowest[i].reason.empty() ? "" : " (" + printable(slowest[i].reason) + ")");
    if (slowest.size() > k_most_shown)
        text += fmt::format("hearth:   and {} more, quicker\n", slowest.size() - k_most_shown);
    return text + told;
}

std::string RunSummary::as_json() const
{
    Json shown = Json::array();
    for (std::size_t i = 0; i < std::min(slowest.size(), k_most_shown); ++i)
        shown.add({{"name", slowest[i].name},
                   {"reason", slowest[i].reason},
                   {"spent_seconds", slowest[i].spent_ms / 1e3},
                   {"after_ready", slowest[i].after_ready}});
    Json by_compiler = Json::object();
    for (const auto& [name, counts] : of)
        by_compiler.add(name,
                        Json{{"hits", counts.hits}, {"compiled", counts.compiled}, {"forbidden", counts.forbidden}});
    const Json json{{"hits", hits()},
                    {"by_tier", as_object(hits_of)},
                    {"by_compiler", by_compiler},
                    {"compiled", compiled},
                    {"after_ready", after_ready},
                    {"waited", waited},
                    {"past_the_cache", past_the_cache},
                    {"forbidden", forbidden},
                    {"saved_seconds", saved_ms / 1e3},
                    {"spent_seconds", spent_ms / 1e3},
                    {"steps", Json{{"hits", sum_of(steps.hits_of)},
                                   {"by_tier", as_object(steps.hits_of)},
                                   {"compiled", steps.compiled},
                                   {"saved_seconds", steps.saved_ms / 1e3}}},
                    {"processes", processes},
                    {"slowest", shown},
                    {"warnings", warnings}};
    return json.text() + "\n";
}

namespace {

// Closes it. What could not be written there: a disk may be full, or files limited, and then programs note nothing,
// which would look as if they had compiled nothing.
int error_of_writing(int fd)
{
    if (fd < 0)
        return errno;
    int problem = 0;
    struct stat facts {};
    if (::fstat(fd, &facts) == 0 && S_ISREG(facts.st_mode)) {
        const base::FileLimitGuard guard;
        static constexpr std::array<char, 4096> k_page{};
        errno = ENOSPC;  // if only a part of it is written
        if (::write(fd, k_page.data(), k_page.size()) != static_cast<ssize_t>(k_page.size()) || ::ftruncate(fd, 0) != 0)
            problem = errno;
    }
    ::close(fd);
    return problem;
}

}  // namespace

Result<RunLog> RunLog::make(const std::string& path)
{
    const int fd = base::open_log(path, O_CREAT | O_TRUNC);
    if (const int problem = error_of_writing(fd); problem != 0)
        return error(Code::io, "The log {} cannot be written: {}. Name another file with --log, or leave it out.",
                     in_quotes(path), system_error(problem));
    return RunLog(path, Keep::yes);
}

Result<RunLog> RunLog::make()
{
    const std::string folder = temporary_folder();
    std::string path = folder + "/hearth-run-XXXXXX";
    const int fd = ::mkstemp(path.data());
    RunLog made(fd < 0 ? std::string{} : std::move(path), Keep::no);
    if (const int problem = error_of_writing(fd); problem != 0)
        return error(Code::io,
                     "No file for the summary can be written in {}: {}. Name another folder with TMPDIR, or "
                     "leave --summary out.",
                     in_quotes(folder), system_error(problem));
    return made;
}

void RunLog::remove()
{
    if (!m_path.empty() && m_keep == Keep::no)
        ::unlink(m_path.c_str());
    m_path.clear();
}

RunSummary RunLog::read() const
{
    RunSummary summary;
    std::set<std::int64_t> processes;
    for (const run_log::Event& event : run_log::read(m_path)) {
        processes.insert(event.pid);
        count(summary, event);
    }
    summary.processes = processes.size();
    std::sort(summary.slowest.begin(), summary.slowest.end(),
              [](const auto& a, const auto& b) { return a.spent_ms > b.spent_ms; });
    return summary;
}

}  // namespace hearth::cli

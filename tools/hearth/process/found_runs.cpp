#include "process/found_runs.hpp"

#include "base/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <system_error>

#include <sys/stat.h>
#include <unistd.h>

namespace hearth::cli {

namespace {

namespace fs = std::filesystem;

// A line of /proc/PID/status, without its name. Empty: the process has ended, or there is none.
std::string status_of(int pid, std::string_view name)
{
    std::ifstream status(fmt::format("/proc/{}/status", pid));
    for (std::string line; std::getline(status, line);)
        if (line.starts_with(name))
            return line.substr(name.size());
    return {};
}

// Also started by this user: anybody may start a set-user-id program, with an environment of his own.
bool is_of_this_user(int pid)
{
    struct stat facts {};
    return ::stat(fmt::format("/proc/{}", pid).c_str(), &facts) == 0 && facts.st_uid == ::geteuid() &&
           status_of(pid, "Uid:").starts_with(fmt::format("\t{}\t", ::geteuid()));
}

// By the environment of a process of this user, if it still has the mark.
std::optional<FoundRun> run_with(int pid)
{
    if (!is_of_this_user(pid))
        return std::nullopt;
    const std::string process = fmt::format("/proc/{}", pid);
    const std::string named = fmt::format("{}=", base::k_ready_variable);
    std::ifstream environment(process + "/environ", std::ios::binary);
    for (std::string variable; std::getline(environment, variable, '\0');)
        if (variable.starts_with(named))
            if (const auto mark = base::ReadyMark::parse(std::string_view(variable).substr(named.size()));
                mark && !mark->path_in(process).empty())
                return FoundRun{pid, *mark};
    return std::nullopt;
}

int parent_of(int pid)
{
    return base::parse_number<int>(status_of(pid, "PPid:\t")).value_or(0);
}

// Every process of this user that is in a run.
std::vector<FoundRun> processes_in_runs()
{
    std::vector<FoundRun> found;
    std::error_code error;
    for (const fs::directory_entry& entry : fs::directory_iterator("/proc", error))
        if (const std::optional<int> pid = base::parse_number<int>(entry.path().filename().string()))
            if (std::optional<FoundRun> run = run_with(*pid))
                found.push_back(*std::move(run));
    std::sort(found.begin(), found.end(), [](const FoundRun& a, const FoundRun& b) { return a.pid < b.pid; });
    return found;
}

}  // namespace

std::optional<FoundRun> run_of(int pid)
{
    if (std::optional<FoundRun> run = run_with(pid))
        return run;
    // `hearth run --summary` itself, or the script that started it: what it has started is in the run.
    for (FoundRun& found : processes_in_runs())
        for (int parent = parent_of(found.pid); parent > 1; parent = parent_of(parent))
            if (parent == pid)
                return std::move(found);
    return std::nullopt;
}

std::vector<FoundRun> find_runs()
{
    std::vector<FoundRun> runs;
    for (FoundRun& found : processes_in_runs())
        if (std::ranges::find(runs, found.mark.text(), [](const FoundRun& run) { return run.mark.text(); }) ==
            runs.end())
            runs.push_back(std::move(found));
    return runs;
}

}  // namespace hearth::cli

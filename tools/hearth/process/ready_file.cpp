#include "process/ready_file.hpp"

#include "base/text.hpp"
#include "process/scratch_folder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <random>
#include <string_view>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace hearth::cli {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view k_folder = "ready-marks";
constexpr std::chrono::hours k_long_gone{24 * 365};

// Of this user or root, and nobody else can put something else in its place.
bool is_trusted(const struct stat& facts)
{
    const bool others_write = (facts.st_mode & (S_IWGRP | S_IWOTH)) != 0 && (facts.st_mode & S_ISVTX) == 0;
    return S_ISDIR(facts.st_mode) && (facts.st_uid == ::geteuid() || facts.st_uid == 0) && !others_write;
}

// The folder, made if it is not there, if only this user can write it.
bool prepare(const fs::path& folder)
{
    struct stat facts {};
    if (::stat(folder.parent_path().c_str(), &facts) != 0 || !is_trusted(facts))
        return false;
    ::mkdir(folder.c_str(), S_IRWXU);
    return ::lstat(folder.c_str(), &facts) == 0 && S_ISDIR(facts.st_mode) && facts.st_uid == ::geteuid() &&
           (facts.st_mode & (S_IWGRP | S_IWOTH)) == 0 && ::access(folder.c_str(), W_OK) == 0;
}

// "4711-0123456789abcdef"
bool is_mark_name(std::string_view name)
{
    const std::size_t dash = name.find('-');
    constexpr std::size_t k_random_digits = 16;
    return dash != std::string_view::npos && dash != 0 && name.size() == dash + 1 + k_random_digits &&
           std::ranges::all_of(name.substr(0, dash), [](unsigned char c) { return std::isdigit(c) != 0; }) &&
           std::ranges::all_of(name.substr(dash + 1), [](unsigned char c) { return std::isxdigit(c) != 0; });
}

// The file in the environment of a process of this user. Empty: it is in no run, or is another user's.
std::string ready_file_of(int pid)
{
    struct stat facts {};
    const std::string process = fmt::format("/proc/{}", pid);
    if (::stat(process.c_str(), &facts) != 0 || facts.st_uid != ::geteuid())
        return {};
    constexpr std::string_view k_named = "HEARTH_READY_FILE=";
    std::ifstream environment(process + "/environ", std::ios::binary);
    for (std::string variable; std::getline(environment, variable, '\0');)
        if (variable.starts_with(k_named) && is_ready_file(variable.substr(k_named.size())))
            return variable.substr(k_named.size());
    return {};
}

int parent_of(int pid)
{
    std::ifstream status(fmt::format("/proc/{}/status", pid));
    constexpr std::string_view k_parent = "PPid:\t";
    for (std::string line; std::getline(status, line);)
        if (line.starts_with(k_parent))
            return base::parse_number<int>(line.substr(k_parent.size())).value_or(0);
    return 0;
}

// Every process of this user that is in a run.
std::vector<FoundRun> processes_in_runs()
{
    std::vector<FoundRun> found;
    std::error_code error;
    for (const fs::directory_entry& entry : fs::directory_iterator("/proc", error))
        if (const std::optional<int> pid = base::parse_number<int>(entry.path().filename().string()))
            if (std::string file = ready_file_of(*pid); !file.empty())
                found.push_back({*pid, std::move(file)});
    std::sort(found.begin(), found.end(), [](const FoundRun& a, const FoundRun& b) { return a.pid < b.pid; });
    return found;
}

void remove_old(const fs::path& folder)
{
    std::vector<fs::path> old;
    std::error_code error;
    for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
        const auto written = entry.last_write_time(error);
        if (!error && entry.is_regular_file(error) && !entry.is_symlink(error) &&
            is_mark_name(entry.path().filename().string()) && fs::file_time_type::clock::now() - written > k_long_gone)
            old.push_back(entry.path());
    }
    if (old.empty())
        return;
    const std::vector<FoundRun> runs = find_runs();
    for (const fs::path& mark : old)
        if (std::ranges::find(runs, mark.string(), &FoundRun::file) == runs.end())
            fs::remove(mark, error);
}

}  // namespace

bool is_ready_file(const std::string& path)
{
    const fs::path file(path);
    return file.is_absolute() && file.parent_path().filename().string().starts_with(k_folder) &&
           is_mark_name(file.filename().string());
}

std::string new_ready_file(const std::string& cache_directory)
{
    std::error_code error;
    const fs::path directory = fs::absolute(cache_directory, error);
    fs::create_directories(directory, error);
    const std::array<fs::path, 2> folders{directory / k_folder,
                                          fs::path(temporary_folder()) / fmt::format("{}-{}", k_folder, ::geteuid())};
    const auto* const folder = std::ranges::find_if(folders, prepare);
    if (folder == folders.end())
        return {};
    remove_old(*folder);
    // Other machines may share the directory: a process's number is not enough.
    std::random_device random;
    return (*folder / fmt::format("{}-{:08x}{:08x}", ::getpid(), random(), random())).string();
}

FoundRun run_of(int pid)
{
    if (std::string file = ready_file_of(pid); !file.empty())
        return {pid, std::move(file)};
    // `hearth run --summary` itself, or the script that started it: what it has started is in the run.
    for (FoundRun& found : processes_in_runs())
        for (int parent = parent_of(found.pid); parent > 1; parent = parent_of(parent))
            if (parent == pid)
                return std::move(found);
    return {};
}

std::vector<FoundRun> find_runs()
{
    std::vector<FoundRun> runs;
    for (FoundRun& found : processes_in_runs())
        if (std::ranges::find(runs, found.file, &FoundRun::file) == runs.end())
            runs.push_back(std::move(found));
    return runs;
}

int mark_ready(const FoundRun& run)
{
    const std::string seen_by_it = fmt::format("/proc/{}/root{}", run.pid, run.file);
    const int fd = ::open(seen_by_it.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY,
                          S_IRUSR | S_IWUSR);
    if (fd < 0)
        return errno;
    ::close(fd);
    return 0;
}

}  // namespace hearth::cli

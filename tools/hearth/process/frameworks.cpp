#include "process/frameworks.hpp"

#include "process/dropin.hpp"
#include "terminal/output.hpp"
#include "terminal/text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <sstream>

#include <unistd.h>

namespace hearth::cli {

namespace {

namespace fs = std::filesystem;

constexpr const char* k_variable = "HEARTH_FRAMEWORKS";
constexpr std::array<std::string_view, 3> k_all{"triton", "inductor", "jax"};

// In a list with commas or blanks. What is none is said, and left out.
std::vector<std::string> named_in(std::string list)
{
    std::replace(list.begin(), list.end(), ',', ' ');
    std::istringstream words(list);
    std::vector<std::string> names;
    for (std::string word; words >> word;) {
        if (std::find(k_all.begin(), k_all.end(), word) != k_all.end())
            names.push_back(word);
        else
            warn(fmt::format("{} names {}, which is none of {}.", k_variable, in_quotes(word), fmt::join(k_all, ", ")));
    }
    return names;
}

// Of Python's options in one word: those that keep it from running a sitecustomize of PYTHONPATH.
char keeps_to_itself(std::string_view letters)
{
    for (const char letter : letters) {
        if (letter == 'I' || letter == 'E' || letter == 'S')
            return letter;
        if (letter == 'W' || letter == 'X')
            break;  // the rest is its value
    }
    return '\0';
}

}  // namespace

std::string frameworks_folder()
{
    const fs::path dropins = dropin_folder();
    if (dropins.empty())
        return {};
    const fs::path prefix = dropins.parent_path().parent_path();
    const fs::path package = prefix.filename() == "_prefix" ? prefix.parent_path() : dropins / "python/hearth";
    const fs::path folder = package / "_start";
    return ::access((folder / "sitecustomize.py").c_str(), R_OK) == 0 ? folder.string() : std::string{};
}

void serve_frameworks(const std::vector<std::string>& without)
{
    std::vector<std::string> with(k_all.begin(), k_all.end());
    if (const char* const named = std::getenv(k_variable); named != nullptr)
        with = named_in(named);
    std::erase_if(
        with, [&](const std::string& one) { return std::find(without.begin(), without.end(), one) != without.end(); });
    const std::string folder = frameworks_folder();
    // Said even where there are none: another `hearth run` may have turned them on around this one.
    ::setenv(k_variable, fmt::format("{}", fmt::join(with, ",")).c_str(), 1);
    if (!with.empty() && !folder.empty() && folder.find(':') == std::string::npos)
        put_first("PYTHONPATH", folder);
}

void serve_no_frameworks()
{
    ::setenv(k_variable, "", 1);
}

std::string why_no_frameworks(const std::vector<std::string>& command)
{
    if (command.empty() || !fs::path(command.front()).filename().string().starts_with("python"))
        return {};
    for (std::size_t i = 1; i < command.size(); ++i) {
        const std::string_view word = command[i];
        if (word.size() < 2 || word.front() != '-' || word == "-c" || word == "-m" || word == "--")
            break;
        if (word[1] == '-')
            continue;
        if (const char letter = keeps_to_itself(word.substr(1)); letter != '\0')
            return fmt::format("Frameworks are not served: {} was started with -{}, which keeps it from turning them "
                               "on.",
                               in_quotes(command.front()), letter);
        if (word == "-W" || word == "-X")
            ++i;
    }
    return {};
}

}  // namespace hearth::cli

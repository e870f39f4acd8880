#pragma once

#include "support/process.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace hearth::test {

// The built command, run in a scratch directory of its own with nothing of the caller's settings.
class Command : public testing::Test {
protected:
    Command();
    ~Command() override;

    // hearth WORDS, watched: a command that hangs or is ended by a signal fails the test.
    ProcessResult hearth(const std::vector<std::string>& words, ProcessOptions options = {});
    // Starts hearth WORDS with HEARTH_DIR set, sends it the signal once `begun` says so, and returns its exit code.
    // None: it ended before it could be stopped.
    std::optional<int> stopped(const std::vector<std::string>& words, int signal, const std::function<bool()>& begun,
                               const std::map<std::string, std::string>& environment = {});
    // The same, with the signal sent as soon as the command is ready for it. It may be done before: it is tried again,
    // `prepare` before each time, until the signal finds it at work. The exit code, or that of the last try.
    std::optional<int> stopped_at_work(const std::vector<std::string>& words, int signal,
                                       const std::function<void()>& prepare,
                                       const std::map<std::string, std::string>& environment = {});
    // What it printed as JSON: one object, or one a line.
    nlohmann::json json_of(const std::vector<std::string>& words);
    std::vector<nlohmann::json> json_lines_of(const std::vector<std::string>& words);

    // Stores bytes under a key and expects that to work; answers the key's digits.
    std::string put(const std::string& key, const std::string& bytes, const std::vector<std::string>& more = {});

    // Stores what a program would have measured of a kernel's variants; answers the key's digits.
    std::string measure(const std::string& kernel, const std::string& winner, const std::string& entry = {});

    std::filesystem::path write(const std::string& name, const std::string& bytes);
    static std::string read(const std::filesystem::path& path);
    // Turns over a bit of a file's byte.
    static void flip(const std::filesystem::path& file, std::size_t at);
    // The file that holds the largest entry.
    std::filesystem::path largest_file() const;
    // Every path below a directory with its content: two equal ones mean that nothing was touched.
    static std::map<std::string, std::string> snapshot(const std::filesystem::path& directory);

    std::filesystem::path scratch;
    std::filesystem::path cache;               // what HEARTH_DIR says
    std::map<std::string, std::string> given;  // variables that every command gets
};

// Whether a command ended with this code and told this on standard error, or printed it.
testing::AssertionResult ends_saying(const ProcessResult& result, int exit_code, const std::string& text);
testing::AssertionResult ends_printing(const ProcessResult& result, int exit_code, const std::string& text);

// What `hearth run --json` says at the end: the last line of standard error. What comes before is the program's.
nlohmann::json summary_of(const ProcessResult& result);

// Bytes that do not compress, the same in every run.
std::string noise(std::size_t size);

}  // namespace hearth::test

#pragma once

#include "support/process.hpp"
#include "support/scratch_directory.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hearth::test {

using Words = std::vector<std::string>;
using Environment = std::map<std::string, std::optional<std::string>>;

// The built command, run in a scratch directory of its own with nothing of the caller's settings.
class Command : public testing::Test {
protected:
    Command();
    ~Command() override;

    // hearth WORDS, watched: a command that hangs or is ended by a signal fails the test.
    ProcessResult hearth(const Words& words, ProcessOptions options = {});
    // Starts hearth WORDS with HEARTH_DIR set, sends it the signal once `begun` says so, and returns its exit code, or
    // minus the signal that ended it. None: it ended before it could be stopped.
    std::optional<int> stopped(const Words& words, int signal, const std::function<bool()>& begun,
                               std::map<std::string, std::string> environment = {});
    // The same, with the signal sent as soon as the command is ready for it. It may be done before: it is tried again,
    // `prepare` before each time, until the signal finds it at work. The exit code, or that of the last try.
    std::optional<int> stopped_at_work(const Words& words, int signal, const std::function<void()>& prepare,
                                       const std::map<std::string, std::string>& environment = {});
    // What it printed as JSON, while it said nothing else: one object, or one a line.
    nlohmann::json json_of(const Words& words, const ProcessOptions& options = {});
    std::vector<nlohmann::json> json_lines_of(const Words& words);

    // Stores bytes under a key and expects that to work; answers the key's digits.
    std::string put(const std::string& key, const std::string& bytes, const Words& more = {});

    // Stores what a program would have measured of a kernel's variants; answers the key's digits.
    std::string measure(const std::string& kernel, const std::string& winner, const std::string& entry = {});

    std::filesystem::path write(const std::string& name, const std::string& bytes);
    static std::string read(const std::filesystem::path& path);
    // Turns over a bit of a file's byte.
    static void flip(const std::filesystem::path& file, std::size_t at);
    // The file that holds the largest entry.
    std::filesystem::path largest_file() const;

    std::filesystem::path scratch;
    std::filesystem::path cache;               // what HEARTH_DIR says
    std::map<std::string, std::string> given;  // variables that every command gets
    pid_t started = 0;                         // the last command that was to be stopped
};

testing::AssertionResult ends_with(const ProcessResult& result, int exit_code, const std::string& said,
                                   const Words& texts);

// Whether a command ended with this code and told all of this on standard error, or printed it.
template <class... Texts>
testing::AssertionResult ends_saying(const ProcessResult& result, int exit_code, const Texts&... texts)
{
    return ends_with(result, exit_code, result.err, {texts...});
}
template <class... Texts>
testing::AssertionResult ends_printing(const ProcessResult& result, int exit_code, const Texts&... texts)
{
    return ends_with(result, exit_code, result.out, {texts...});
}
// Whether it ended with this code and a sentence of its own on standard error, which has all of this.
template <class... Texts>
testing::AssertionResult is_refused(const ProcessResult& result, int exit_code, const Texts&... texts)
{
    if (!result.err.starts_with("hearth: "))
        return testing::AssertionFailure() << "It does not say that it is hearth: " << result.err;
    return ends_saying(result, exit_code, texts...);
}

// What a command printed as one JSON object, with how it ended as "exit".
nlohmann::json object_of(const ProcessResult& result);
// Whether an object has these members, whatever else it has; "bundle/entries" is a member of a member.
testing::AssertionResult holds(const nlohmann::json& object, const nlohmann::json& members);

Words joined(Words words, const Words& more);
// The words of a text, such as a command line's.
Words words_of(std::string_view text, char separator = ' ');

// What `hearth run --json` says at the end: the last line of standard error. What comes before is the program's.
nlohmann::json summary_of(const ProcessResult& result);

// Bytes that do not compress, the same in every run.
std::string noise(std::size_t size);

}  // namespace hearth::test

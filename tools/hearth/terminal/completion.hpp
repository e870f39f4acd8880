#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace CLI {  // NOLINT(readability-identifier-naming): CLI11's own
class App;
}

// Scripts by which shells complete the words of a command. They are made from the tables that parse these words, so
// that a new option is completed without another line.

namespace hearth::cli {

// What a shell offers for a value.
enum class Offer : std::uint8_t { nothing, words, files, folders };
struct OfferedValue {
    std::string name;  // "FILE", as the help has it
    Offer offer = Offer::nothing;
    std::vector<std::string> words{};
    bool repeats = false;  // several of them may be given
};

struct OfferedOption {
    std::vector<std::string> names{};  // "-o", "--output"
    std::string sentence;
    std::optional<OfferedValue> value{};  // none: it is a flag
    bool repeats = false;
};

// What follows "--" on its line.
enum class AfterDashes : std::uint8_t { nothing, command, files };

struct OfferedCommand {
    std::string path;  // "bundle create"; empty: the program itself
    std::string name;
    std::string sentence;
    std::vector<OfferedOption> options;
    std::vector<OfferedValue> arguments;
    AfterDashes rest = AfterDashes::nothing;
    std::vector<OfferedCommand> parts{};
};

OfferedCommand offered_by(const CLI::App& program, const std::function<AfterDashes(const CLI::App&)>& rest_of);

// The command with its parts and theirs, each after the one that it is a part of.
void visit(const OfferedCommand& command, const std::function<void(const OfferedCommand&)>& see);

// A script with what stands for each of these names in it. What is put in is not looked at again.
struct Blank {
    std::string_view name;
    std::string_view text;
};
std::string filled(std::string_view script, std::initializer_list<Blank> blanks);

// A shell, and its script for a program of that name.
struct CompletionShell {
    std::string_view name;
    std::string (*script)(const std::string& program, const OfferedCommand& root);
};
std::string bash_completion(const std::string& program, const OfferedCommand& root);
std::string zsh_completion(const std::string& program, const OfferedCommand& root);
std::string fish_completion(const std::string& program, const OfferedCommand& root);
inline constexpr CompletionShell k_completion_shells[] = {
    {"bash", bash_completion}, {"zsh", zsh_completion}, {"fish", fish_completion}};

}  // namespace hearth::cli

#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace CLI {  // NOLINT(readability-identifier-naming): CLI11's own
class App;
class Option;
}  // namespace CLI

// How a command says what it takes. CLI11 parses the words. Only command_line.cpp, manual.cpp and completion.cpp
// include it, since its headers add seconds to the compile of each file.

namespace hearth::cli {

// What every command understands.
struct Globals {
    std::optional<std::string> directory;  // --dir
};

// What commas in a value are: they part it into several, or belong to it, as in a path.
enum class Commas : std::uint8_t { separate, belong };

// An option ("-o,--output") or an argument ("FILE") that was added to a command. Copies refer to the same one.
class Option {
public:
    explicit Option(CLI::Option* option) : m_option(option) {}

    Option required() const;
    Option one_of(const std::vector<std::string>& words) const;
    // `problem` returns what is wrong with a value; empty: nothing.
    Option checked_by(std::function<std::string(const std::string&)> problem) const;
    Option needs(Option other) const;
    Option excludes(Option other) const;
    // Leaves it out of the help: it is not for people.
    Option hide() const;

private:
    CLI::Option* m_option;
};

// A command describes itself with this: what it is for, what it takes, and the function that runs it. A name that does
// not begin with a dash is an argument. The variables given here must outlive the command line, as the members of what
// runs() returns do.
class Command {
public:
    struct Line;  // the command line that it is a part of
    Command(CLI::App& app, Line& line) : m_app(app), m_line(line) {}

    // `examples`, one a line, and then `note` are shown below the help.
    void describe(const std::string& sentence, const std::string& examples, const std::string& note = "");
    // Leaves it out of the list of commands: it is not for people.
    void hide();
    // A command within this one, as in 'hearth bundle create'. The user must then give one of the parts.
    Command part(const std::string& name, const std::string& sentence, const std::string& examples = "",
                 const std::string& note = "");

    // The function to call when this command was given. Returns the arguments that it will be called with. The
    // function's result is the exit code.
    template <class Arguments>
    Arguments& runs(int (*run)(const Globals&, const Arguments&))
    {
        const auto arguments = std::make_shared<Arguments>();
        on_chosen([arguments, run](const Globals& globals) { return run(globals, *arguments); });
        return *arguments;
    }

    Option flag(const std::string& name, bool& value, const std::string& help);
    // A flag that may be given a word, as in --forbid-compile=after-ready. Without it the value is "true".
    Option flag(const std::string& name, std::string& value, const std::string& word, const std::string& help);
    Option json(bool& value, const std::string& help = "Print JSON, for programs");
    Option text(const std::string& name, std::string& value, const std::string& help,
                const std::string& placeholder = "TEXT");
    Option text(const std::string& name, std::optional<std::string>& value, const std::string& help,
                const std::string& placeholder = "TEXT");
    // An argument that may be any number of words, the last of its command.
    Option list(const std::string& name, std::vector<std::string>& values, const std::string& help);
    // An option that may be given several times. Like every option, it takes one word each time: what stands behind
    // that is an argument. Its help says whether commas make several values of the word.
    Option repeated(const std::string& name, std::vector<std::string>& values, Commas commas, const std::string& help,
                    const std::string& placeholder);
    Option size(const std::string& name, std::optional<std::uint64_t>& value, const std::string& help);
    Option count(const std::string& name, std::optional<std::uint64_t>& value, const std::string& help);
    Option duration(const std::string& name, std::optional<std::chrono::milliseconds>& value, const std::string& help);

    // Given without a value it is `otherwise`. A number without a unit is of seconds.
    Option seconds(const std::string& name, std::optional<std::chrono::milliseconds>& value,
                   std::chrono::milliseconds otherwise, const std::string& help);

    // What follows "--" goes into `words` unchanged; `usage` stands for it in the help: "-- COMMAND". A user who
    // forgets the dashes is told to put them before `what`, as in `example`.
    void hands_on(std::vector<std::string>& words, const std::string& usage, const std::string& what,
                  const std::string& example);

private:
    void on_chosen(std::function<int(const Globals&)> run);

    CLI::App& m_app;
    Line& m_line;
};

struct CommandRow {
    std::string_view name;
    void (*describe)(Command& command);
};

// The program as a whole: what 'hearth --help' and 'hearth --version' show.
struct ProgramText {
    std::string name;
    std::string sentence;
    std::string (*version)();
    std::string footer;
};

// Runs the command that the words name, and returns its exit code. Wrong usage is reported on standard error. Only the
// chosen command describes itself, so that a start does not pay for all of them. Two more are for packages, and not in
// the help: --manual-pages FOLDER writes a page for each command, --completion SHELL prints a shell's script.
int run_command_line(const ProgramText& program, std::span<const CommandRow> commands, std::vector<std::string> words);

}  // namespace hearth::cli

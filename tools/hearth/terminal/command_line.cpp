#include "terminal/command_line.hpp"

#include "base/secrets.hpp"
#include "base/text.hpp"
#include "hearth/api.hpp"
#include "hearth/units.hpp"
#include "process/file_io.hpp"
#include "terminal/completion.hpp"
#include "terminal/exit.hpp"
#include "terminal/manual.hpp"
#include "terminal/output.hpp"
#include "terminal/text.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <map>
#include <system_error>
#include <utility>

namespace hearth::cli {

struct Command::Line {
    struct Rest {
        std::vector<std::string>* words;
        std::string usage;
        std::string what;
        std::string example;
    };

    CLI::App app;
    Globals globals;
    std::function<int(const Globals&)> chosen;
    std::map<const CLI::App*, Rest> rest_of;  // commands that pass on what follows "--"

    explicit Line(const ProgramText& program);
    void add(const CommandRow& row);
    void take_rest(std::vector<std::string>& words);
    int say_usage(const CLI::ParseError& error) const;
    int print_completion(const std::string& shell) const;

    // The usage line of a command that passes something on shows it too.
    class Formatter : public CLI::Formatter {
    public:
        explicit Formatter(const Line& line) : m_line(line) {}
        std::string make_usage(const CLI::App* command, std::string name) const override;

    private:
        const Line& m_line;
    };
};

namespace {

void add_directory(CLI::App& app, Globals& globals)
{
    app.add_option_function<std::string>(
           "--dir",
           [&globals](const std::string& directory) {
               if (directory.empty())
                   throw CLI::ValidationError("--dir", "needs the name of a directory");
               globals.directory = directory;
           },
           "The cache directory (otherwise HEARTH_DIR; 'hearth config' shows which)")
        ->type_name("DIR");
}

std::string footer_of(const std::string& examples, const std::string& note)
{
    return "Examples:\n" + examples + (note.empty() ? "" : "\n\n" + note);
}

// " Did you mean compile?", or nothing.
std::string did_you_mean(const CLI::App& app, std::string_view word)
{
    std::vector<std::string> names;
    for (const CLI::App* command : app.get_subcommands({}))
        if (!command->get_group().empty())  // hidden ones have none
            names.push_back(command->get_name());
    const std::vector<std::string_view> known(names.begin(), names.end());
    const std::string_view meant = base::closest(word, known);
    return meant.empty() ? "" : fmt::format(" Did you mean {}?", meant);
}

// " Did you mean --summary?", or nothing.
std::string option_meant(const CLI::App& app, std::string_view word)
{
    std::vector<std::string> names;
    for (const CLI::Option* option : app.get_options())
        for (const std::string& name : option->get_lnames())
            names.push_back("--" + name);
    const std::vector<std::string_view> known(names.begin(), names.end());
    const std::string_view meant = base::closest(word.substr(0, word.find('=')), known);
    return meant.empty() ? "" : fmt::format(" Did you mean {}?", meant);
}

// The command that was given, found as the parser finds it; null if no word names one.
const CommandRow* row_of(std::span<const CommandRow> commands, const std::vector<std::string>& words)
{
    for (auto word = words.begin(); word != words.end() && *word != "--"; ++word) {
        if (*word == "--dir" && word + 1 != words.end())
            ++word;
        else if (!word->starts_with('-')) {
            const auto row = std::find_if(commands.begin(), commands.end(),
                                          [&](const CommandRow& candidate) { return candidate.name == *word; });
            return row != commands.end() ? &*row : nullptr;
        }
    }
    return nullptr;
}

}  // namespace

Command::Line::Line(const ProgramText& program) : app(program.sentence, program.name)
{
    app.set_help_flag("-h,--help", "Show this help and exit");
    app.set_version_flag("--version", program.version,
                         "Show the version, and what this command has to work with, and exit");
    app.require_subcommand(1);
    app.formatter(std::make_shared<Formatter>(*this));
    app.get_formatter()->column_width(26);
    app.get_formatter()->label("REQUIRED", "");
    app.get_formatter()->label("SUBCOMMAND", "COMMAND");
    app.get_formatter()->label("Subcommands", "Commands");
    app.get_formatter()->label("Positionals", "Arguments");
    app.get_formatter()->label("OPTIONS", "options");
    add_directory(app, globals);
    app.footer(program.footer);
}

void Command::Line::add(const CommandRow& row)
{
    CLI::App& added = *app.add_subcommand(std::string(row.name));
    added.group("Commands");
    add_directory(added, globals);
    Command command(added, *this);
    row.describe(command);
}

std::string Command::Line::Formatter::make_usage(const CLI::App* command, std::string name) const
{
    std::string usage = CLI::Formatter::make_usage(command, std::move(name));
    if (const auto rest = m_line.rest_of.find(command); rest != m_line.rest_of.end())
        usage.insert(usage.find_last_not_of('\n') + 1, " " + rest->second.usage);
    return usage;
}

void Command::Line::take_rest(std::vector<std::string>& words)
{
    const auto dashes = std::find(words.begin(), words.end(), "--");
    for (const auto& [command, rest] : rest_of) {
        if (std::find(words.begin(), dashes, command->get_name()) == dashes)
            continue;
        rest.words->assign(dashes == words.end() ? dashes : dashes + 1, words.end());
        words.erase(dashes, words.end());
        return;
    }
}

int Command::Line::say_usage(const CLI::ParseError& error) const
{
    // The innermost command that was understood, and whether a part of it still had to follow.
    const CLI::App* at = &app;
    std::string command = at->get_name();
    while (!at->get_subcommands().empty()) {
        at = at->get_subcommands().front();
        command += " " + at->get_name();
    }
    if (at->get_require_subcommand_min() > 0) {
        const std::vector<std::string> words = app.remaining(true);
        if (words.empty() && error.get_name() == "RequiredError") {
            std::fputs(app.help().c_str(), stderr);
            return k_usage;
        }
        if (!words.empty()) {
            const bool is_option = words.front().starts_with('-');
            complain(
                fmt::format("There is no {} {}.{} '{} --help' lists what there is.", is_option ? "option" : "command",
                            in_quotes(base::without_secrets(std::string_view(words.front()))),
                            is_option ? option_meant(*at, words.front()) : did_you_mean(*at, words.front()), command));
            return k_usage;
        }
    }
    if (dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr) {
        const std::vector<std::string> words = app.remaining(true);
        const std::string word = words.empty() ? "" : words.front();
        const std::string meant = word.starts_with("--") ? option_meant(*at, word) : "";
        const auto rest = rest_of.find(at);
        const bool lacks_dashes = rest != rest_of.end() && rest->second.words->empty();
        if (lacks_dashes && meant.empty()) {
            complain(
                fmt::format("Put -- before the {}, as in: {} {}", rest->second.what, command, rest->second.example));
            return k_usage;
        }
        if (word.starts_with('-')) {
            complain(fmt::format("There is no option {}.{} '{} --help' lists what there is.",
                                 in_quotes(base::without_secrets(std::string_view(word))), meant, command));
            return k_usage;
        }
    }
    std::string what = printable(base::without_secrets(std::string_view(error.what())));
    if (!what.empty() && what.back() != '.')
        what += '.';
    complain(fmt::format("{} '{} --help' shows what it takes.", what, command));
    return k_usage;
}

int Command::Line::print_completion(const std::string& shell) const
{
    const auto* const found = std::find_if(std::begin(k_completion_shells), std::end(k_completion_shells),
                                           [&](const CompletionShell& known) { return known.name == shell; });
    if (found == std::end(k_completion_shells))
        fail_usage(fmt::format("There is no completion for {}. Name bash, zsh or fish.", in_quotes(shell)));
    const auto rest = [this](const CLI::App& command) {
        const auto handed_on = rest_of.find(&command);
        if (handed_on == rest_of.end())
            return AfterDashes::nothing;
        return handed_on->second.usage.find("COMMAND") != std::string::npos ? AfterDashes::command : AfterDashes::files;
    };
    write_out(found->script(app.get_name(), offered_by(app, rest)));
    return k_done;
}

Option Option::required() const
{
    m_option->required();
    return *this;
}

Option Option::one_of(const std::vector<std::string>& words) const
{
    m_option->check(CLI::IsMember(words));
    return *this;
}

Option Option::checked_by(std::function<std::string(const std::string&)> problem) const
{
    m_option->check(std::move(problem));
    return *this;
}

Option Option::needs(Option other) const
{
    m_option->needs(other.m_option);
    return *this;
}

Option Option::hide() const
{
    m_option->group("");
    return *this;
}

Option Option::excludes(Option other) const
{
    m_option->excludes(other.m_option);
    return *this;
}

void Command::describe(const std::string& sentence, const std::string& examples, const std::string& note)
{
    m_app.description(sentence);
    m_app.footer(footer_of(examples, note));
}

void Command::hide()
{
    m_app.group("");
}

Command Command::part(const std::string& name, const std::string& sentence, const std::string& examples,
                      const std::string& note)
{
    m_app.require_subcommand(1);
    CLI::App& app = *m_app.add_subcommand(name, sentence);
    add_directory(app, m_line.globals);
    if (!examples.empty())  // otherwise it shows the examples of its parent
        app.footer(footer_of(examples, note));
    return {app, m_line};
}

void Command::on_chosen(std::function<int(const Globals&)> run)
{
    m_app.callback([&line = m_line, run = std::move(run)] { line.chosen = run; });
}

void Command::hands_on(std::vector<std::string>& words, const std::string& usage, const std::string& what,
                       const std::string& example)
{
    m_line.rest_of[&m_app] = {&words, usage, what, example};
}

Option Command::flag(const std::string& name, bool& value, const std::string& help)
{
    return Option(m_app.add_flag(name, value, help));
}

Option Command::flag(const std::string& name, std::string& value, const std::string& word, const std::string& help)
{
    CLI::Option* const option = m_app.add_flag(name, value, help);
    return Option(option).checked_by([word](const std::string& given) {
        return given == word || given == "true" ? "" : fmt::format("\"{}\" is not \"{}\"", given, word);
    });
}

Option Command::json(bool& value, const std::string& help)
{
    return flag("--json", value, help);
}

Option Command::text(const std::string& name, std::string& value, const std::string& help,
                     const std::string& placeholder)
{
    return Option(m_app.add_option(name, value, help)->type_name(name.front() == '-' ? placeholder : ""));
}

Option Command::text(const std::string& name, std::optional<std::string>& value, const std::string& help,
                     const std::string& placeholder)
{
    const auto read = [&value](const std::string& text) { value = text; };
    return Option(
        m_app.add_option_function<std::string>(name, read, help)->type_name(name.front() == '-' ? placeholder : ""));
}

Option Command::list(const std::string& name, std::vector<std::string>& values, const std::string& help)
{
    return Option(m_app.add_option(name, values, help)->type_name(""));
}

Option Command::repeated(const std::string& name, std::vector<std::string>& values, Commas commas,
                         const std::string& help, const std::string& placeholder)
{
    const char* const several = commas == Commas::separate ? " (several: with commas)" : " (may be repeated)";
    CLI::Option* const option = m_app.add_option(name, values, help + several)->type_name(placeholder);
    // CLI11 would let it take every word up to the next option.
    option->expected(1)->allow_extra_args(false)->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    if (commas == Commas::separate)
        option->delimiter(',');
    return Option(option);
}

Option Command::size(const std::string& name, std::optional<std::uint64_t>& value, const std::string& help)
{
    const auto read = [name, &value](const std::string& text) {
        value = parse_size(text);
        if (!value && parse_size(text + "B"))
            throw CLI::ValidationError(name, fmt::format("{0} has no unit: write {0}M, {0}G or {0}B.", text));
        if (!value || *value == 0)
            throw CLI::ValidationError(
                name, fmt::format("{} is not a size. Give a number above 0 with a unit: 512MiB, 10G, 1.5T.",
                                  in_quotes(text)));
    };
    return Option(m_app.add_option_function<std::string>(name, read, help)->type_name("SIZE"));
}

Option Command::count(const std::string& name, std::optional<std::uint64_t>& value, const std::string& help)
{
    const auto read = [name, &value](const std::string& text) {
        std::uint64_t count = 0;
        const char* end = text.data() + text.size();
        const auto [stopped, error] = std::from_chars(text.data(), end, count);
        if (error != std::errc{} || stopped != end || count == 0)
            throw CLI::ValidationError(name,
                                       fmt::format("{} is not a count. Give a whole number above 0.", in_quotes(text)));
        value = count;
    };
    return Option(m_app.add_option_function<std::string>(name, read, help)->type_name("N"));
}

Option Command::duration(const std::string& name, std::optional<std::chrono::milliseconds>& value,
                         const std::string& help)
{
    const auto read = [name, &value](const std::string& text) {
        value = parse_duration(text);
        if (!value)
            throw CLI::ValidationError(
                name,
                fmt::format("{} is not a duration. Give a number with a unit: 90s, 12h, 30d, 2w.", in_quotes(text)));
    };
    return Option(m_app.add_option_function<std::string>(name, read, help)->type_name("DURATION"));
}

Option Command::seconds(const std::string& name, std::optional<std::chrono::milliseconds>& value,
                        std::chrono::milliseconds otherwise, const std::string& help)
{
    static constexpr std::string_view k_no_value = "otherwise";
    const auto read = [name, otherwise, &value](const std::string& text) {
        const bool plain = !text.empty() && text.find_first_not_of("0123456789.") == std::string::npos;
        value = text == k_no_value ? otherwise : parse_duration(plain ? text + "s" : text);
        if (!value || value->count() <= 0)
            throw CLI::ValidationError(
                name, fmt::format("{} is not a number of seconds. Give one above 0: 2, 0.5, 1m.", in_quotes(text)));
    };
    return Option(m_app.add_option_function<std::string>(name, read, help)
                      ->expected(0, 1)
                      ->default_str(std::string(k_no_value))
                      ->type_name("[SECONDS]"));
}

int run_command_line(const ProgramText& program, std::span<const CommandRow> commands, std::vector<std::string> words)
{
    Command::Line line(program);
    // What a package is made with: it is not in the help.
    const bool tells_all = words.size() == 2 && (words[0] == "--manual-pages" || words[0] == "--completion");
    if (const CommandRow* row = tells_all ? nullptr : row_of(commands, words))
        line.add(*row);
    else
        for (const CommandRow& each : commands)
            line.add(each);
    if (tells_all && words[0] == "--completion")
        return line.print_completion(words[1]);
    if (tells_all) {
        for (const ManualPage& page : manual_pages(line.app, HEARTH_VERSION))
            write_whole(words[1] + "/" + page.file, std::as_bytes(std::span(page.text)));
        return k_done;
    }
    line.take_rest(words);
    std::reverse(words.begin(), words.end());  // the parser takes them in reverse
    try {
        line.app.parse(words);
    } catch (const CLI::CallForHelp&) {
        write_out(line.app.help());
        return k_done;
    } catch (const CLI::CallForVersion& version) {
        print_out("{}\n", version.what());
        return k_done;
    } catch (const CLI::ParseError& error) {
        return line.say_usage(error);
    }
    return line.chosen(line.globals);
}

}  // namespace hearth::cli

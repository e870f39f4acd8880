#include "commands.hpp"

#include "hearth/api.hpp"
#include "hearth/units.hpp"
#include "text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <system_error>

namespace hearth::cli {

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
           "Where the cache is (otherwise HEARTH_DIR; 'hearth config' shows which)")
        ->type_name("DIR");
}

}  // namespace

CommandLine::CommandLine() : app("Hearth: never compile the same GPU kernel twice.", "hearth")
{
    app.set_help_flag("-h,--help", "Show this help and exit");
    app.set_version_flag("--version", "hearth " HEARTH_VERSION, "Show the version and exit");
    app.require_subcommand(1);
    app.get_formatter()->column_width(26);
    app.get_formatter()->label("REQUIRED", "");
    app.get_formatter()->label("SUBCOMMAND", "COMMAND");
    app.get_formatter()->label("Subcommands", "Commands");
    app.get_formatter()->label("Positionals", "Arguments");
    app.get_formatter()->label("OPTIONS", "options");
    add_directory(app, globals);
    app.footer("'hearth COMMAND --help' shows a command's options and examples.\n"
               "Exit code: 0 done or hit, 1 miss or nothing found, 2 wrong usage, 3 failure, 4 compile error.\n\n"
               "Examples:\n"
               "  hearth compile saxpy.cu --arch sm_90 -o saxpy.cubin   compile, at most once\n"
               "  hearth why saxpy.cu --arch sm_90  why that would miss\n"
               "  hearth put saxpy saxpy.cubin      store a file under a key\n"
               "  hearth get saxpy -o saxpy.cubin   and have it back, in any process\n"
               "  hearth ls 'sax*'                  what is cached\n"
               "  hearth stats                      what it has saved\n"
               "  hearth doctor                     what Hearth finds on this machine");
}

void CommandLine::take_rest(std::vector<std::string>& words)
{
    const auto dashes = std::find(words.begin(), words.end(), "--");
    for (auto word = words.begin(); word != dashes; ++word)
        if (const auto command = rest_of.find(*word); command != rest_of.end()) {
            command->second->assign(dashes == words.end() ? dashes : dashes + 1, words.end());
            words.erase(dashes, words.end());
            return;
        }
}

CLI::App& CommandLine::add(const std::string& name, const std::string& sentence, const std::string& examples,
                           const std::string& note)
{
    CLI::App& command = *app.add_subcommand(name, sentence);
    command.group("Commands");
    command.footer("Examples:\n" + examples + (note.empty() ? "" : "\n\n" + note));
    add_directory(command, globals);
    return command;
}

CLI::Option* add_json_flag(CLI::App& command, bool& json)
{
    return command.add_flag("--json", json, "Print JSON, for programs");
}

CLI::Option* add_text(CLI::App& command, const std::string& name, std::string& value, const std::string& help,
                      const std::string& placeholder)
{
    CLI::Option* option = command.add_option(name, value, help);
    return option->type_name(name.front() == '-' ? placeholder : "");
}

CLI::Option* add_size(CLI::App& command, const std::string& name, std::optional<std::uint64_t>& value,
                      const std::string& help)
{
    const auto read = [name, &value](const std::string& text) {
        value = parse_size(text);
        if (!value || *value == 0)
            throw CLI::ValidationError(
                name,
                fmt::format("{} is no size. Give a number above 0 with a unit: 512MiB, 10G, 1.5T.", in_quotes(text)));
    };
    return command.add_option_function<std::string>(name, read, help)->type_name("SIZE");
}

CLI::Option* add_count(CLI::App& command, const std::string& name, std::optional<std::uint64_t>& value,
                       const std::string& help)
{
    const auto read = [name, &value](const std::string& text) {
        std::uint64_t count = 0;
        const char* end = text.data() + text.size();
        const auto [stopped, error] = std::from_chars(text.data(), end, count);
        if (error != std::errc{} || stopped != end || count == 0)
            throw CLI::ValidationError(name,
                                       fmt::format("{} is no count. Give a whole number above 0.", in_quotes(text)));
        value = count;
    };
    return command.add_option_function<std::string>(name, read, help)->type_name("N");
}

CLI::Option* add_duration(CLI::App& command, const std::string& name, std::optional<std::chrono::milliseconds>& value,
                          const std::string& help)
{
    const auto read = [name, &value](const std::string& text) {
        value = parse_duration(text);
        if (!value)
            throw CLI::ValidationError(
                name, fmt::format("{} is no duration. Give a number with a unit: 90s, 12h, 30d, 2w.", in_quotes(text)));
    };
    return command.add_option_function<std::string>(name, read, help)->type_name("DURATION");
}

}  // namespace hearth::cli

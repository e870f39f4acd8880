#include "terminal/manual.hpp"

#include "base/text.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

namespace hearth::cli {

namespace {

// Text as it is: roff would take a backslash, and a dot or quote at the beginning of a line, for its own.
std::string plain(std::string_view text)
{
    std::string out;
    for (const char c : text) {
        if ((c == '.' || c == '\'') && (out.empty() || out.back() == '\n'))
            out += "\\&";
        if (c == '\\')
            out += "\\e";
        else if (c == '-')
            out += "\\-";
        else
            out += c;
    }
    return out;
}

// Indented lines are examples, and stay lines.
std::string paragraphs(std::string_view text)
{
    std::string out = ".PP\n";
    bool as_lines = false;
    while (!text.empty()) {
        const std::string_view line = base::take_until('\n', text);
        const bool is_example = line.starts_with(' ');
        if (is_example != as_lines)
            out += is_example ? ".nf\n" : ".fi\n";
        as_lines = is_example;
        out += line.empty() ? ".PP\n" : plain(line) + "\n";
    }
    return out + (as_lines ? ".fi\n" : "");
}

bool is_of_every_command(const CLI::App& app, const CLI::Option& option)
{
    return &option == app.get_help_ptr() || option.check_lname("dir");
}

class Page {
public:
    explicit Page(const CLI::App& program)
        : m_program(program), m_formatter(dynamic_cast<const CLI::Formatter&>(*program.get_formatter()))
    {
    }

    std::string options(const CLI::App& app) const
    {
        std::string out;
        for (const CLI::Option* option : app.get_options()) {
            if (option->get_group().empty() || (&app != &m_program && is_of_every_command(app, *option)))
                continue;
            const std::string name = m_formatter.make_option_name(option, option->get_positional());
            out += fmt::format(".TP\n.B {}\n{}\n", plain(name + m_formatter.make_option_opts(option)),
                               plain(m_formatter.make_option_desc(option)));
        }
        return out;
    }
    // The commands within this one, each with those within it.
    std::string commands(const CLI::App& app, const std::string& name) const
    {
        std::string out;
        for (const CLI::App* command : app.get_subcommands({})) {
            if (command->get_group().empty())  // it is not for people
                continue;
            const std::string full = name + " " + command->get_name();
            out += fmt::format(".SS {}\n{}\n{}{}", plain(full), plain(command->get_description()),
                               usage(*command, full), options(*command));
            if (command->get_footer() != app.get_footer())  // or it has none of its own
                out += paragraphs(command->get_footer());
            out += commands(*command, full);
        }
        return out;
    }
    std::string usage(const CLI::App& app, const std::string& name) const
    {
        const std::string text = m_formatter.make_usage(&app, name);
        return fmt::format(".PP\n.B {}\n", plain(base::trimmed(text.substr(text.find(name)))));
    }

private:
    const CLI::App& m_program;
    const CLI::Formatter& m_formatter;
};

}  // namespace

std::string manual_page(const CLI::App& program, const std::string& version)
{
    const Page page(program);
    const std::string& name = program.get_name();
    const std::string description = program.get_description();
    std::string_view sentence = base::trimmed(description, ".");
    if (const std::size_t colon = sentence.find(": "); colon != std::string_view::npos)
        sentence.remove_prefix(colon + 2);
    return fmt::format(".TH {0} 1 \"\" \"{0} {1}\"\n.SH NAME\n{0} \\- {2}\n.SH SYNOPSIS\n{3}.SH OPTIONS\n{4}"
                       ".SH COMMANDS\n{5}.SH NOTES\n{6}",
                       plain(name), plain(version), plain(sentence), page.usage(program, name), page.options(program),
                       page.commands(program, name), paragraphs(program.get_footer()));
}

}  // namespace hearth::cli

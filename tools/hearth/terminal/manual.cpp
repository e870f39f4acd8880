#include "terminal/manual.hpp"

#include "base/text.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <utility>

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

// One page: of the program, or of a command with its parts.
class Page {
public:
    Page(const CLI::App& app, const CLI::Formatter& formatter, std::string name)
        : m_app(app), m_formatter(formatter), m_name(std::move(name))
    {
    }

    std::string usage() const { return usage_of(m_app, m_name); }
    std::string options() const { return options_of(m_app); }
    // Those within this one, each with those within it.
    std::string parts() const { return parts_of(m_app, m_name); }
    std::string notes() const { return paragraphs(m_app.get_footer()); }

private:
    std::string usage_of(const CLI::App& app, const std::string& name) const
    {
        const std::string text = m_formatter.make_usage(&app, name);
        return fmt::format(".PP\n.B {}\n", plain(base::trimmed(text.substr(text.find(name)))));
    }
    std::string options_of(const CLI::App& app) const
    {
        std::string out;
        for (const CLI::Option* option : app.get_options()) {
            if (option->get_group().empty() || (&app != &m_app && is_of_every_command(app, *option)))
                continue;
            const std::string name = m_formatter.make_option_name(option, option->get_positional());
            out += fmt::format(".TP\n.B {}\n{}\n", plain(name + m_formatter.make_option_opts(option)),
                               plain(m_formatter.make_option_desc(option)));
        }
        return out;
    }
    std::string parts_of(const CLI::App& app, const std::string& name) const
    {
        std::string out;
        for (const CLI::App* part : app.get_subcommands({})) {
            const std::string full = name + " " + part->get_name();
            out += fmt::format(".SS {}\n{}\n{}{}", plain(full), plain(part->get_description()), usage_of(*part, full),
                               options_of(*part));
            if (part->get_footer() != app.get_footer())  // or it has none of its own
                out += paragraphs(part->get_footer());
            out += parts_of(*part, full);
        }
        return out;
    }

    const CLI::App& m_app;
    const CLI::Formatter& m_formatter;
    const std::string m_name;
};

// A page's title, its name with what it is for, and its usage.
std::string opening(const std::string& file, const std::string& version, std::string_view sentence, const Page& page)
{
    return fmt::format(".TH {0} 1 \"\" \"{1}\"\n.SH NAME\n{0} \\- {2}\n.SH SYNOPSIS\n{3}.SH OPTIONS\n{4}", plain(file),
                       plain(version), plain(base::trimmed(sentence, ".")), page.usage(), page.options());
}

}  // namespace

std::vector<ManualPage> manual_pages(const CLI::App& program, const std::string& version)
{
    const auto& formatter = dynamic_cast<const CLI::Formatter&>(*program.get_formatter());
    const std::string& name = program.get_name();
    const std::string source = name + " " + version;
    std::vector<ManualPage> pages;
    std::string list;
    for (const CLI::App* command : program.get_subcommands({})) {
        if (command->get_group().empty())  // it is not for people
            continue;
        const std::string file = name + "-" + command->get_name();
        const Page page(*command, formatter, name + " " + command->get_name());
        const std::string parts = page.parts();
        pages.push_back({file + ".1", opening(file, source, command->get_description(), page) +
                                          (parts.empty() ? "" : ".SH COMMANDS\n" + parts) + ".SH NOTES\n" +
                                          page.notes() + fmt::format(".SH SEE ALSO\n.BR {} (1)\n", plain(name))});
        list += fmt::format(".TP\n.BR {} (1)\n{}\n", plain(file), plain(command->get_description()));
    }
    const Page page(program, formatter, name);
    const std::string description = program.get_description();
    std::string_view sentence = description;  // "Hearth: never ..."
    if (const std::size_t colon = sentence.find(": "); colon != std::string_view::npos)
        sentence.remove_prefix(colon + 2);
    pages.push_back(
        {name + ".1", opening(name, source, sentence, page) + ".SH COMMANDS\n" + list + ".SH NOTES\n" + page.notes()});
    return pages;
}

}  // namespace hearth::cli

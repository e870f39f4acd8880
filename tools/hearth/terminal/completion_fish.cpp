#include "terminal/completion.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace hearth::cli {

namespace {

std::string fish_text(std::string_view text)
{
    std::string out = "'";
    for (const char c : text) {
        if (c == '\'' || c == '\\')
            out += '\\';
        out += c;
    }
    return out + "'";
}

std::string fish_value(const OfferedValue& value)
{
    switch (value.offer) {
    case Offer::nothing:
        return " -x";
    case Offer::words:
        return fmt::format(" -x -a {}", fish_text(fmt::format("{}", fmt::join(value.words, " "))));
    case Offer::files:
        return " -r -F";
    case Offer::folders:
        return " -x -a '(__fish_complete_directories)'";
    }
    return "";
}

std::string fish_row(const std::string& program, const OfferedCommand& command)
{
    const auto line = [&](std::string_view at, std::string_view what) {
        return fmt::format("complete -c {0} -n '__{0}_at \"{1}\"'{2}\n", program, at, what);
    };
    std::string out;
    for (const OfferedCommand& part : command.parts)
        out += line(command.path, fmt::format(" -a {} -d {}", part.name, fish_text(part.sentence)));
    for (const OfferedOption& option : command.options) {
        std::string what;
        for (const std::string& name : option.names)
            what += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
        out += line(command.path,
                    what + (option.value ? fish_value(*option.value) : "") + " -d " + fish_text(option.sentence));
    }
    for (const OfferedValue& argument : command.arguments)
        if (argument.offer != Offer::nothing)
            out += line(command.path, argument.offer == Offer::files ? " -F" : fish_value(argument).substr(3));
    if (command.rest == AfterDashes::command)
        out += line(command.path + " --", fmt::format(" -a '(__{}_rest)'", program));
    else if (command.rest == AfterDashes::files)
        out += line(command.path + " --", " -F");
    return out;
}

constexpr std::string_view k_fish_script = R"(# Completion of PROGRAM for fish, made by 'PROGRAM --completion fish'.

# Whether the words so far name the command $argv[1], with " --" behind it if they have come to that.
function __PROGRAM_at
    set -l commandsCOMMANDS
    set -l with_valueVALUED
    set -l tokens (commandline -opc)
    set -l at ''
    set -l is_value no
    for token in $tokens[2..]
        if test $is_value = yes
            set is_value no
        else if test "$token" = --
            set at "$at --"
            break
        else if contains -- "$at|$token" $with_value
            set is_value yes
        else if contains -- (string trim -- "$at $token") $commands
            set at (string trim -- "$at $token")
        end
    end
    test "$at" = "$argv[1]"
end

# What stands behind "--", completed as if it stood alone.
function __PROGRAM_rest
    set -l tokens (commandline -opc)
    set -l current (commandline -ct)
    set -l words $tokens[(math (contains -i -- -- $tokens) + 1)..]
    complete -C (string join ' ' -- (string escape -- $words) "$current")
end

complete -c PROGRAM -f
ROWS)";

}  // namespace

std::string fish_completion(const std::string& program, const OfferedCommand& root)
{
    std::string commands;
    std::string valued;
    std::string rows;
    visit(root, [&](const OfferedCommand& command) {
        if (!command.path.empty())
            commands += " " + fish_text(command.path);
        for (const OfferedOption& option : command.options)
            for (const std::string& name : option.names)
                if (option.value)
                    valued += " " + fish_text(command.path + "|" + name);
        rows += fish_row(program, command);
    });
    return filled(k_fish_script, {{"PROGRAM", program}, {"COMMANDS", commands}, {"VALUED", valued}, {"ROWS", rows}});
}

}  // namespace hearth::cli

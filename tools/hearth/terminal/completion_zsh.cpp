#include "terminal/completion.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace hearth::cli {

namespace {

// Inside single quotes, where _arguments takes colons and brackets for its own.
std::string zsh_text(std::string_view text)
{
    std::string out;
    for (const char c : text) {
        if (c == '\'')
            out += "'\\''";
        else if (c == ':' || c == '[' || c == ']' || c == '\\')
            out += fmt::format("\\{}", c);
        else
            out += c;
    }
    return out;
}

// "FILE:_files": the value's name, and what offers it.
std::string zsh_value(const OfferedValue& value)
{
    switch (value.offer) {
    case Offer::nothing:
        return zsh_text(value.name) + ": ";
    case Offer::words:
        return fmt::format("{}:({})", zsh_text(value.name), fmt::join(value.words, " "));
    case Offer::files:
        return zsh_text(value.name) + ":_files";
    case Offer::folders:
        return zsh_text(value.name) + ":_files -/";
    }
    return "";
}

std::string zsh_option(const OfferedOption& option)
{
    std::string specs;
    for (const std::string& name : option.names) {
        const bool is_long = name.starts_with("--");
        const std::string_view joined = !option.value ? "" : is_long ? "=" : "+";
        const std::string others =
            option.repeats ? "*" : fmt::format("({})", fmt::join(option.names, " "));  // once is enough
        specs += fmt::format(" \\\n    '{}{}{}[{}]{}'", others, name, joined, zsh_text(option.sentence),
                             option.value ? ":" + zsh_value(*option.value) : "");
    }
    return specs;
}

std::string zsh_function(const std::string& program, const OfferedCommand& command)
{
    std::string name = "_" + program + (command.path.empty() ? "" : "_" + command.path);
    std::replace(name.begin(), name.end(), ' ', '_');
    std::replace(name.begin(), name.end(), '-', '_');
    return name;
}

std::string zsh_row(const std::string& program, const OfferedCommand& command)
{
    std::string specs;
    for (const OfferedOption& option : command.options)
        specs += zsh_option(option);
    for (std::size_t i = 0; i < command.arguments.size(); ++i) {
        const OfferedValue& argument = command.arguments[i];
        const std::string place = argument.repeats ? "*" : std::to_string(i + 1);
        specs += fmt::format(" \\\n    '{}:{}'", place, zsh_value(argument));
    }
    std::string out = fmt::format("\n{}()\n{{\n", zsh_function(program, command));
    if (command.rest != AfterDashes::nothing)
        out += fmt::format("  _{}_rest {} && return\n", program,
                           command.rest == AfterDashes::command ? "_normal" : "_files");
    if (command.parts.empty())
        return out + fmt::format("  _arguments -s -S :{}\n}}\n", specs);

    std::string described;
    std::string chosen;
    for (const OfferedCommand& part : command.parts) {
        described += fmt::format("    '{}:{}'\n", part.name, zsh_text(part.sentence));
        chosen += fmt::format("    ({}) {} ;;\n", part.name, zsh_function(program, part));
    }
    return out + fmt::format("  local curcontext=$curcontext state\n  local -a line parts=(\n{}  )\n"
                             "  local -A opt_args\n"
                             "  _arguments -C :{} \\\n    '1:command:->command' '*::argument:->argument' && return\n"
                             "  case $state in\n  (command) _describe command parts ;;\n"
                             "  (argument)\n    case $words[1] in\n{}    esac\n    ;;\n  esac\n}}\n",
                             described, specs, chosen);
}

constexpr std::string_view k_zsh_script = R"(#compdef PROGRAM
# Completion of PROGRAM for zsh, made by 'PROGRAM --completion zsh'.

# What stands behind "--", completed with $1 as if it stood alone. Fails before it.
_PROGRAM_rest()
{
  local -i dashes=${words[(i)--]}
  (( dashes < CURRENT )) || return 1
  shift dashes words
  (( CURRENT -= dashes ))
  $1
  return 0
}
FUNCTIONS
_PROGRAM "$@"
)";

}  // namespace

std::string zsh_completion(const std::string& program, const OfferedCommand& root)
{
    std::string functions;
    visit(root, [&](const OfferedCommand& command) { functions += zsh_row(program, command); });
    return filled(k_zsh_script, {{"PROGRAM", program}, {"FUNCTIONS", functions}});
}

}  // namespace hearth::cli

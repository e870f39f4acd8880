#include "terminal/completion.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace hearth::cli {

namespace {

// What bash's _hearth_offer() understands.
std::string bash_offer(const OfferedValue& value)
{
    switch (value.offer) {
    case Offer::nothing:
        return "nothing";
    case Offer::words:
        return fmt::format("words {}", fmt::join(value.words, " "));
    case Offer::files:
        return "files";
    case Offer::folders:
        return "folders";
    }
    return "";
}

// One case of _hearth_table(). No word of ours has a quote or a blank in it.
std::string bash_row(const OfferedCommand& command)
{
    std::string parts;
    for (const OfferedCommand& part : command.parts)
        parts += (parts.empty() ? "" : " ") + part.name;
    std::string options;
    std::string values;
    for (const OfferedOption& option : command.options)
        for (const std::string& name : option.names) {
            options += (options.empty() ? "" : " ") + name;
            if (option.value)
                values += fmt::format(" [{}]='{}'", name, bash_offer(*option.value));
        }
    std::string arguments;
    std::string further = "nothing";
    for (const OfferedValue& argument : command.arguments) {
        arguments += fmt::format(" '{}'", bash_offer(argument));
        if (argument.repeats)
            further = bash_offer(argument);
    }
    const std::string_view rest = command.rest == AfterDashes::command ? "command"
                                  : command.rest == AfterDashes::files ? "files"
                                                                       : "nothing";
    return fmt::format("    '{}')\n        parts='{}' further='{}' rest='{}'\n        options='{}'\n"
                       "        values=({}) arguments=({})\n        ;;\n",
                       command.path, parts, further, rest, options, values.empty() ? "" : values.substr(1),
                       arguments.empty() ? "" : arguments.substr(1));
}

constexpr std::string_view k_bash_script = R"(# Completion of PROGRAM for bash, made by 'PROGRAM --completion bash'.

# What may follow the command $1.
_PROGRAM_table()
{
    case $1 in
TABLE    esac
}

# A command with its own words, from word $1 on: completed as if it stood alone.
_PROGRAM_rest()
{
    if declare -F _comp_command_offset >/dev/null; then
        _comp_command_offset "$1"
    elif declare -F _command_offset >/dev/null; then
        _command_offset "$1"
    elif ((COMP_CWORD == $1)); then
        compopt -o filenames
        mapfile -t COMPREPLY < <(compgen -c -- "${COMP_WORDS[COMP_CWORD]}")
    else
        compopt -o default
    fi
}

_PROGRAM()
{
    local current=${COMP_WORDS[COMP_CWORD]} command= offer= word i
    local parts further rest options
    local -a arguments
    local -A values
    local -i given=0
    COMPREPLY=()
    _PROGRAM_table ''
    for ((i = 1; i < COMP_CWORD; ++i)); do
        word=${COMP_WORDS[i]}
        if [[ -n $offer ]]; then
            [[ $word == = ]] || offer= # --name=value comes as three words
        elif [[ $word == -- ]]; then
            [[ $rest == command ]] && { _PROGRAM_rest $((i + 1)); return; }
            offer=$rest
            break
        elif [[ -n ${values[$word]:-} ]]; then
            offer=${values[$word]}
        elif [[ $word == -* ]]; then
            continue
        elif [[ " $parts " == *" $word "* ]]; then
            command+=${command:+ }$word
            _PROGRAM_table "$command"
        else
            given+=1
        fi
    done
    if [[ -n $offer ]]; then
        [[ $current == = ]] && current=
    elif [[ $current == -* ]]; then
        offer="words $options"
    elif [[ -n $parts ]]; then
        offer="words $parts"
    else
        offer=${arguments[given]:-$further}
    fi
    case $offer in
    words\ *) mapfile -t COMPREPLY < <(compgen -W "${offer#words }" -- "$current") ;;
    files) compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- "$current") ;;
    folders) compopt -o filenames; mapfile -t COMPREPLY < <(compgen -d -- "$current") ;;
    esac
}

complete -F _PROGRAM PROGRAM
)";

}  // namespace

std::string bash_completion(const std::string& program, const OfferedCommand& root)
{
    std::string table;
    visit(root, [&](const OfferedCommand& command) { table += bash_row(command); });
    return filled(k_bash_script, {{"PROGRAM", program}, {"TABLE", table}});
}

}  // namespace hearth::cli

#include "compilers/command/readers.hpp"

#include "base/text.hpp"
#include "compilers/command/program_names.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <fstream>
#include <iterator>
#include <optional>

namespace hearth::command {

namespace {

// Parts of compilers, which ask for variables by their names.
constexpr std::array<std::string_view, 20> k_ask_by_name{
    "as",      "cc1",    "cc1plus", "cicc",        "collect2", "cudafe++", "f951",  "fatbinary", "ld",    "ld.bfd",
    "ld.gold", "ld.lld", "lto1",    "lto-wrapper", "nvlink",   "nvprune",  "ptxas", "tileiras",  "bin2c", "nvcc"};

constexpr std::array<std::string_view, 3> k_shells{"sh", "dash", "bash"};

// What a shell asks for before its text begins. (What it finds along PATH is seen.)
constexpr std::array<std::string_view, 9> k_of_shells{"HOME",   "IFS",      "ENV",       "CDPATH",  "PS4",
                                                      "OPTIND", "BASH_ENV", "SHELLOPTS", "BASHOPTS"};

// Words with which a shell's text can reach variables that it does not name.
constexpr std::array<std::string_view, 9> k_reach_all{"eval",  "export", "set", "declare", "typeset",
                                                      "local", "source", ".",   "read"};

bool has(auto& list, std::string_view name)
{
    return std::ranges::find(list, name) != list.end();
}

bool is_part_of_name(char c)
{
    return c == '_' || base::is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

// The variables that a shell's text names. None if it may use others.
std::optional<std::vector<std::string>> named_in(std::string_view text)
{
    std::vector<std::string> names;
    for (std::size_t at = 0; at < text.size(); ++at) {
        if (text[at] == '$') {
            std::size_t begin = at + 1;
            if (begin < text.size() && text[begin] == '{')
                ++begin;
            if (begin < text.size() && text[begin] == '!')
                return std::nullopt;  // the name is the value of another
            std::size_t end = begin;
            while (end < text.size() && is_part_of_name(text[end]))
                ++end;
            if (end > begin)
                names.emplace_back(text.substr(begin, end - begin));
            at = std::max(at, end - 1);
            continue;
        }
        const bool begins = at == 0 || (!is_part_of_name(text[at - 1]) && text[at - 1] != '.' && text[at - 1] != '/' &&
                                        text[at - 1] != '-');
        if (!begins)
            continue;
        const std::size_t end = std::min(text.find_first_of(" \t\n;|&()", at), text.size());
        if (has(k_reach_all, text.substr(at, end - at)))
            return std::nullopt;
    }
    return names;
}

// What a shell makes up by itself, as far as a text names it. Empty: nothing.
std::string_view new_each_time(std::string_view text)
{
    static constexpr std::array<std::string_view, 9> k_new{"RANDOM", "SECONDS", "EPOCH", "BASHPID", "PPID",
                                                           "$$",     "%(",      "times", "urandom"};
    for (const std::string_view each : k_new)
        if (text.find(each) != std::string_view::npos)
            return each;
    return {};
}

std::string text_of_script(const std::string& path)
{
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

ReadUnseen read_unseen(const std::vector<watch::TreeProgram>& programs, const std::vector<std::string>& environment)
{
    ReadUnseen unseen;
    for (const watch::TreeProgram& program : programs) {
        const std::string_view name = plain_name(program.path);
        if (has(k_ask_by_name, name) || names_compiler(name))
            continue;
        // Its text is the word behind -c, or a file.
        std::optional<std::vector<std::string>> named;
        if (has(k_shells, name) && program.words.size() >= 2) {
            const bool is_word = program.words[1] == "-c" && program.words.size() >= 3;
            const std::string text = is_word ? program.words[2] : text_of_script(program.words[1]);
            if (const std::string_view found = new_each_time(text); !found.empty())
                return {{}, true, true, fmt::format("{} uses {}, which is new each time", program.words[1], found)};
            if (!text.empty())
                named = named_in(text);
            unseen.paths |= text.find("PWD") != std::string::npos || text.find("pwd") != std::string::npos;
        }
        if (!named) {
            unseen.all = unseen.paths = true;
            continue;
        }
        unseen.names.insert(unseen.names.end(), named->begin(), named->end());
        unseen.names.insert(unseen.names.end(), k_of_shells.begin(), k_of_shells.end());
        for (const std::string& variable : environment)
            if (variable.starts_with("BASH_FUNC_"))
                unseen.names.push_back(variable.substr(0, variable.find('=')));
    }
    if (unseen.all)
        unseen.names.clear();
    std::ranges::sort(unseen.names);
    unseen.names.erase(std::unique(unseen.names.begin(), unseen.names.end()), unseen.names.end());
    return unseen;
}

}  // namespace hearth::command

#include "base/secrets.hpp"
#include "base/text.hpp"
#include "compilers/command/profile.hpp"
#include "compilers/command/temporary_names.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <iterator>
#include <utility>

namespace hearth::command {

namespace {

using enum Means;
using enum Form;

struct Reader {
    const Profile& profile;
    const std::vector<std::string>* arguments;
    Call call{};
    bool tells_dependencies = false;
    bool writes_inputs = false;
    std::string unknown{};  // an option that is in no row
    bool has_o = false;
    int depth = 0;             // of files of arguments
    std::size_t argument = 0;  // that is read
    std::size_t value_at = 0;  // where its value begins

    void past(std::string_view why)
    {
        if (call.why_past_the_cache.empty())
            call.why_past_the_cache = base::without_secrets(why);
    }

    void name(Named::What what, std::size_t index)
    {
        if (depth == 0)
            call.named.push_back({what, index, argument, value_at});
    }

    // Its arguments count as if they stood here; the file itself is seen to be read. Nothing in it is quoted but words
    // with blanks: what else a compiler might understand goes past the cache.
    void take_file(const std::string& path)
    {
        std::error_code error;
        if (!std::filesystem::is_regular_file(path, error))
            return past(fmt::format("its arguments are in {}, which is no file", path));
        std::ifstream file(path);
        std::string text{std::istreambuf_iterator<char>(file), {}};
        if (!file)
            return past(fmt::format("its arguments are in {}, which cannot be read", path));
        take_text(text, path);
    }

    void take_text(const std::string& text, const std::string& where)
    {
        static constexpr int k_deepest = 8;
        if (depth >= k_deepest || text.find_first_of("\\'") != std::string::npos)
            return past(fmt::format("its arguments are in {}, which cannot be understood", where));
        std::vector<std::string> words;
        for (std::size_t at = text.find_first_not_of(" \t\r\n"); at < text.size();
             at = text.find_first_not_of(" \t\r\n", at)) {
            const bool quoted = text[at] == '"';
            const std::size_t end = std::min(text.find_first_of(quoted ? "\"" : " \t\r\n", at + 1), text.size());
            words.push_back(text.substr(at + (quoted ? 1 : 0), end - at - (quoted ? 1 : 0)));
            if (words.back().find('"') != std::string::npos)
                return past(fmt::format("its arguments are in {}, which cannot be understood", where));
            at = std::min(end + (quoted ? 1 : 0), text.size());
        }
        const std::vector<std::string>* const outer = std::exchange(arguments, &words);
        ++depth;
        for (std::size_t i = 0; i < words.size(); ++i)
            take(i);
        --depth;
        arguments = outer;
    }

    // A device, a pipe or a directory.
    static bool is_no_file(const std::string& path)
    {
        std::error_code error;
        return std::filesystem::exists(path, error) && !std::filesystem::is_regular_file(path, error);
    }

    // One that nvcc hands on, or that nobody knows: what is written may hold a path.
    void take_unknown(const std::string& word)
    {
        const OptionRow* const row = row_of(options_of_host_compilers(), word);
        if (word.ends_with("=native"))
            past(fmt::format("{} means another processor on every machine", word));
        else if (row == nullptr || row->means == paths || row->means == debug)
            call.paths_matter = true;
        else if (row->means != value)
            past(fmt::format("{} asks the host compiler for more than its output", word));
    }

    // A name that what is written may hold. One that is new each time is given again as this call has it.
    void take_name(const std::string& option, const std::string& value)
    {
        if (!is_temporary(value)) {
            call.words.insert(call.words.end(), {option, value});
            return;
        }
        const auto known = std::ranges::find(call.temporaries, value);
        call.words.push_back(fmt::format("{} temporary {}", option, known - call.temporaries.begin()));
        if (known == call.temporaries.end())
            call.temporaries.push_back(value);
    }

    void take_value(const OptionRow& row, const std::string& value, bool behind_equals)
    {
        const std::string option = std::string(row.name) + (behind_equals ? "=" : "");
        switch (row.means == input && writes_inputs ? output : row.means) {
        case output:
        case dependency_file:
            if (row.name == "-o" && std::exchange(has_o, true))
                past("it names its output twice");
            call.names_output |= row.means != dependency_file;
            if (value == "-" || is_no_file(value) || std::ranges::find(call.outputs, value) != call.outputs.end())
                past(fmt::format("its output {} is no file of its own", value));
            if (row.means == dependency_file)
                call.dependencies = call.outputs.size();
            call.words.push_back(fmt::format("{} output {}", option, call.outputs.size()));
            name(Named::What::output, call.outputs.size());
            call.outputs.push_back(value);
            if (profile.writes_names)
                take_name("called", value);
            if (profile.suffixes.empty())  // nobody knows whether what is written holds its name
                call.words.push_back(value);
            break;
        case input:
            call.words.push_back(fmt::format("{} source {}", option, call.sources.size()));
            name(Named::What::source, call.sources.size());
            call.sources.push_back(value);
            break;
        case Means::name:
            take_name(option, value);
            break;
        case directory:
            call.words.push_back(fmt::format("{} directory {}", option, call.directories.size()));
            name(Named::What::directory, call.directories.size());
            call.directories.push_back(value);
            break;
        case ignored:
            break;
        case more_arguments:
            take_file(value);
            break;
        case host:
            for (std::string_view rest = value; !rest.empty();)
                take_unknown(std::string(base::take_until(',', rest)));
            call.words.push_back(option);
            call.words.push_back(value);
            break;
        case target:
            for (const std::string_view name : base::words_of(value))
                call.targets.emplace_back(name);
            [[fallthrough]];
        default:
            if (value == "native")
                past(fmt::format("{} {} means another processor on every machine", row.name, value));
            call.paths_matter |= row.means == paths && value != "false";
            call.words.push_back(option);
            call.words.push_back(value);
        }
    }

    void take(std::size_t& i)
    {
        const std::string word = (*arguments)[i];
        if (word.starts_with('@') && word.size() > 1)
            return take_file(word.substr(1));
        if (word == "-")
            return past("it reads its source from the standard input");
        const OptionRow* const row = word.starts_with('-') ? row_of(profile.options, word) : nullptr;
        if (row == nullptr) {
            const std::string suffix = std::filesystem::path(word).extension().string();
            if (!word.starts_with('-') && std::ranges::find(profile.suffixes, suffix) != profile.suffixes.end()) {
                call.words.push_back(fmt::format("source {}", call.sources.size()));
                argument = i;
                value_at = 0;
                name(Named::What::source, call.sources.size());
                call.sources.push_back(word);
            } else {
                if (word.starts_with('-'))
                    unknown = word;
                if (word.starts_with("--") && profile.spells_long)
                    past(fmt::format("{} is not known, and may name an output or ask for another one", word));
                if (word.starts_with('-') && profile.keeps_names && !profile.suffixes.empty())
                    take_unknown(word);
                call.words.push_back(word);
            }
            return;
        }
        if (!row->makes.empty() && call.makes != ".s")  // -S wins over -c
            call.makes = row->makes;
        call.is_for_device |= row->means == compiles_device;
        call.compiles |= row->means == compiles || row->means == compiles_apart || row->means == compiles_device;
        call.paths_matter |= row->means == compiles_apart;
        call.only_tells |= row->means == tells;
        tells_dependencies |= row->means == dependencies;
        writes_inputs |= row->means == writes_input;
        call.paths_matter |= row->means == paths && row->form != next;
        call.has_debug |= row->means == debug;
        if (word.ends_with("=native"))
            past(fmt::format("{} means another processor on every machine", word));
        if (row->means == unkept)
            past(fmt::format("{} asks for more than its output", word));
        const bool has_value = row->form == next || row->form == glued;
        const bool is_same_word = word.size() > row->name.size();
        if (!has_value || (!is_same_word && i + 1 == arguments->size())) {
            call.words.push_back(word);
            return;
        }
        i += is_same_word ? 0 : 1;
        argument = i;
        value_at = is_same_word ? row->name.size() + (row->form == next ? 1 : 0) : 0;
        take_value(*row, (*arguments)[i].substr(value_at), is_same_word && row->form == next);
    }
};

// What is compiled, and not only linked.
bool is_text(const std::string& source)
{
    return !source.ends_with(".o") && !source.ends_with(".cubin") && !source.ends_with(".fatbin");
}

// Those that are written into the working directory since no output is named.
void add_default_outputs(Call& call)
{
    const auto add = [&](std::string name) {
        if (std::ranges::find(call.outputs, name) == call.outputs.end())
            call.outputs.push_back(std::move(name));
    };
    if (!call.makes.empty() && !call.makes.starts_with('.'))
        add(std::string(call.makes));
    else if (!call.makes.empty())
        for (const std::string& source : call.sources)
            if (is_text(source))
                add(std::filesystem::path(source).stem().string().append(call.makes));
}

}  // namespace

Call read_call(const Profile& profile, const std::vector<std::string>& arguments)
{
    Reader reader{profile, &arguments};
    reader.call.makes = profile.makes;
    for (std::size_t i = 0; i < arguments.size(); ++i)
        reader.take(i);
    Call& call = reader.call;
    for (const std::string_view name : profile.variables)
        if (const char* const more = std::getenv(std::string(name).c_str()); more != nullptr && *more != '\0')
            reader.take_text(more, std::string(name));
    call.only_tells |= arguments.empty();
    call.compiles |= profile.compiles_always || std::ranges::any_of(call.sources, is_text);
    if (call.sources.empty() && !profile.suffixes.empty())
        reader.past("it names no source");
    for (const std::string& word : call.words)
        if (is_temporary(word))
            reader.past(fmt::format("it names {}, of which it is not known what it is for", word));
    call.names_sources = profile.keeps_names || call.paths_matter;
    for (const std::string& source : call.sources)
        if (call.names_sources)
            call.words.push_back("named " + std::filesystem::path(source).filename().string());
    // Without a name of its own it is called as the output is.
    if (reader.tells_dependencies && !call.dependencies) {
        const bool named = !call.outputs.empty();
        std::filesystem::path name(named ? call.outputs.front() : call.sources.empty() ? "" : call.sources.front());
        name.replace_extension(".d");
        call.dependencies = call.outputs.size();
        call.outputs.push_back(named ? name.string() : name.filename().string());
    }
    call.is_linked = call.makes == k_linked;
    if (!call.names_output)
        add_default_outputs(call);
    // An option may ask for a file of another name, or for none. A hit would write one that the compiler does not.
    if (!call.names_output && !call.outputs.empty() && !reader.unknown.empty())
        reader.past(fmt::format("it names no output, and what {} means for that is not known", reader.unknown));
    return std::move(call);
}

}  // namespace hearth::command

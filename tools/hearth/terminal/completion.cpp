#include "terminal/completion.hpp"

#include "base/text.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>

namespace hearth::cli {

namespace {

// By its name in the help: nothing else says what a value is.
Offer offer_of(std::string_view name)
{
    static constexpr std::string_view k_files[] = {"BUNDLE", "FILE", "NEW", "OLD", "OUT", "PATH", "RECIPES"};
    static constexpr std::string_view k_folders[] = {"DIR", "FOLDER"};
    if (std::find(std::begin(k_files), std::end(k_files), name) != std::end(k_files))
        return Offer::files;
    const bool is_folder = std::find(std::begin(k_folders), std::end(k_folders), name) != std::end(k_folders);
    return is_folder ? Offer::folders : Offer::nothing;
}

OfferedValue value_of(const CLI::Option& option)
{
    const std::string type = option.get_type_name();  // "FIELD:{cost,size}", or "cubin|ptx"
    std::string_view words = type;
    const std::string_view placeholder = base::take_until(':', words);
    OfferedValue value{.name = option.get_positional() ? option.get_name() : std::string(placeholder),
                       .repeats = option.get_items_expected_max() > 1};
    value.offer = offer_of(value.name);
    const bool is_set = words.starts_with('{') && words.ends_with('}');
    words = is_set ? words.substr(1, words.size() - 2) : placeholder;
    if (is_set || placeholder.find('|') != std::string_view::npos) {
        value.offer = Offer::words;
        while (!words.empty())
            value.words.emplace_back(base::take_until(is_set ? ',' : '|', words));
    }
    return value;
}

OfferedOption offered_option(const CLI::Option& option)
{
    OfferedOption offered;
    offered.sentence = option.get_description();
    for (const std::string& name : option.get_snames())
        offered.names.push_back("-" + name);
    for (const std::string& name : option.get_lnames())
        offered.names.push_back("--" + name);
    if (option.get_items_expected_max() > 0) {
        offered.value = value_of(option);
        offered.repeats = option.get_multi_option_policy() == CLI::MultiOptionPolicy::TakeAll;
    }
    return offered;
}

void fill(const CLI::App& app, const std::function<AfterDashes(const CLI::App&)>& rest_of, OfferedCommand& command)
{
    command.sentence = app.get_description();
    command.rest = rest_of(app);
    for (const CLI::Option* option : app.get_options()) {
        if (option->get_group().empty())  // it is not for people
            continue;
        if (option->get_positional())
            command.arguments.push_back(value_of(*option));
        else
            command.options.push_back(offered_option(*option));
    }
    for (const CLI::App* part : app.get_subcommands({})) {
        if (part->get_group().empty())
            continue;
        OfferedCommand& offered = command.parts.emplace_back();
        offered.name = part->get_name();
        offered.path = command.path + (command.path.empty() ? "" : " ") + offered.name;
        fill(*part, rest_of, offered);
    }
}

}  // namespace

OfferedCommand offered_by(const CLI::App& program, const std::function<AfterDashes(const CLI::App&)>& rest_of)
{
    OfferedCommand root;
    fill(program, rest_of, root);
    return root;
}

void visit(const OfferedCommand& command, const std::function<void(const OfferedCommand&)>& see)
{
    see(command);
    for (const OfferedCommand& part : command.parts)
        visit(part, see);
}

std::string filled(std::string_view script, std::initializer_list<Blank> blanks)
{
    std::string out;
    while (!script.empty()) {
        const auto* const blank =
            std::find_if(blanks.begin(), blanks.end(), [&](const Blank& one) { return script.starts_with(one.name); });
        if (blank != blanks.end())
            out += blank->text;
        else
            out += script.front();
        script.remove_prefix(blank != blanks.end() ? blank->name.size() : 1);
    }
    return out;
}

}  // namespace hearth::cli

// Reads the settings in code, in the environment and in the file, and decides which of them count.

#include "base/files.hpp"
#include "base/secrets.hpp"
#include "base/text.hpp"
#include "config/location.hpp"
#include "config/setting_rows.hpp"
#include "hearth/options.hpp"
#include "json/json.hpp"

#include <algorithm>
#include <cstdlib>
#include <fmt/format.h>

namespace hearth {

namespace {

using Kind = JsonValue::Kind;
using config::SettingRow;

// An array of words is a list; anything else must be plain.
bool holds_texts(const JsonValue& value, bool many)
{
    if (value.kind != Kind::array)
        return true;
    return many && std::all_of(value.elements.begin(), value.elements.end(),
                               [](const JsonValue& one) { return one.kind == Kind::string; });
}

std::string as_setting_text(const JsonValue& value)
{
    if (value.kind == Kind::boolean)
        return value.text == "true" ? "1" : "0";
    if (value.kind != Kind::array)
        return value.text;
    std::string all;
    for (const JsonValue& one : value.elements)
        all += (all.empty() ? "" : " ") + one.text;
    return all;
}

// Settings as texts, by name.
using Texts = std::vector<std::pair<std::string, std::string>>;

// A file that cannot be read may have asked for care, so care is taken.
Texts careful_settings(std::string problem, std::vector<std::string>& problems)
{
    Texts values;
    problem += "; it was passed over";
    for (const SettingRow& setting : config::setting_rows())
        if (setting.careful_if_unread) {
            values.emplace_back(setting.name, setting.careful);
            problem += fmt::format(", and {} is \"{}\", as it may have said", setting.name, setting.careful);
        }
    problems.push_back(problem + ".");
    return values;
}

// The same name to somebody who remembers it roughly: DemandSignatures, demand-signature.
bool is_meant(std::string_view given, std::string_view name)
{
    const auto folded = [](std::string_view text) {
        std::string letters;
        for (const char c : text)
            if (base::is_letter_or_digit(c))
                letters += static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
        if (letters.ends_with('s'))
            letters.pop_back();
        return letters;
    };
    return folded(given) == folded(name);
}

// The configuration file: its text, and the settings in it.
struct File {
    std::string path{};
    std::string text{};
    Texts values{};
    mutable JsonValue::Places places{};

    // "file PATH, line 3".
    std::string at(std::string_view name, const char* old_name = nullptr) const
    {
        if (places.empty())  // most files have no mistake
            places = JsonValue::places_of_members(text, JsonValue::Comments::passed_over);
        auto place = places.find(name);
        if (place == places.end() && old_name != nullptr)
            place = places.find(std::string_view(old_name));
        return fmt::format("file {}{}", path,
                           place == places.end() ? "" : fmt::format(", line {}", line_of(place->second)));
    }
    // " (line 3, column 7)": where it stops being JSON, or where something begins that is no object.
    std::string where_wrong() const
    {
        const std::size_t place = JsonValue::first_mistake(text, JsonValue::Comments::passed_over)
                                      .value_or(std::min(text.find_first_not_of(" \t\r\n"), text.size()));
        const std::size_t before = std::string_view(text).substr(0, place).rfind('\n');
        return fmt::format(" (line {}, column {})", line_of(place),
                           place - (before == std::string_view::npos ? 0 : before + 1) + 1);
    }

private:
    std::size_t line_of(std::size_t place) const
    {
        const std::string_view before = std::string_view(text).substr(0, place);
        return static_cast<std::size_t>(std::count(before.begin(), before.end(), '\n')) + 1;
    }
};

// A missing file is an empty one; a broken one is a problem to be told.
File read_file(const std::string& path, bool must_exist, std::vector<std::string>& problems)
{
    File file{.path = path};
    if (path.empty())
        return file;
    static constexpr std::uint64_t k_max_file = 1 << 20;
    int error = 0;
    // Links are followed: a configuration file may well be a link into a dotfiles folder.
    file.text = base::read_file(base::system_files(), base::real_path(path).c_str(), k_max_file, error).text();
    if (error != 0) {
        // Nobody is known to have written one: where it would be is no folder, or one that this user may not search.
        const bool is_seen = ::access(path.c_str(), F_OK) == 0;
        if (must_exist || (error != -ENOENT && ((error != -ENOTDIR && error != -EACCES) || is_seen)))
            file.values = careful_settings(base::describe("Cannot read the configuration file", path, error), problems);
        return file;
    }
    const JsonValue parsed = JsonValue::parse(file.text, JsonValue::Comments::passed_over);
    if (!parsed.is_object()) {
        file.values = careful_settings(
            fmt::format("The configuration file {} is not a JSON object such as {{\"max_bytes\": \"10G\"}}{}", path,
                        file.where_wrong()),
            problems);
        return file;
    }
    const std::vector<SettingRow> settings = config::setting_rows();
    for (std::size_t i = 0; i < parsed.names.size(); ++i) {
        const std::string& name = parsed.names[i];
        const JsonValue& value = parsed.elements[i];
        const auto known = std::find_if(settings.begin(), settings.end(), [&name](const SettingRow& setting) {
            return name == setting.name || (setting.old_name != nullptr && name == setting.old_name);
        });
        if (known == settings.end()) {
            problems.push_back(fmt::format("{}: Hearth has no setting \"{}\"; `hearth config` lists those it has.",
                                           file.at(name), name));
            for (const SettingRow& setting : settings)
                if (setting.careful_if_unread && is_meant(name, setting.name)) {
                    problems.back() += fmt::format(" It looks like {}, so {} counts.", setting.name, setting.careful);
                    file.values.emplace_back(setting.name, setting.careful);
                }
        } else if (value.kind == Kind::object || value.kind == Kind::null || !holds_texts(value, known->many)) {
            problems.push_back(fmt::format(
                "{}: {} takes {}, not a JSON {}; {}.", file.at(name), name, known->takes, to_string(value.kind),
                known->careful != nullptr ? fmt::format("{} counts", known->careful) : "it was passed over"));
            if (known->careful != nullptr)
                file.values.emplace_back(known->name, known->careful);
        } else
            file.values.emplace_back(known->name, as_setting_text(value));
    }
    return file;
}

// Variables that nobody reads, and that look like one that is read. They are told, and the careful ones count.
Texts look_at_variables(std::vector<std::string>& problems)
{
    constexpr std::string_view k_ours = "HEARTH_";
    Texts values;
    const std::vector<SettingRow> settings = config::setting_rows();
    std::vector<std::string_view> known{"HEARTH_CONFIG"};
    for (const SettingRow& setting : settings)
        for (const char* variable : {setting.environment, setting.old_environment})
            if (variable != nullptr)
                known.emplace_back(variable);
    for (char** variable = environ; variable != nullptr && *variable != nullptr; ++variable) {
        const std::string_view name = std::string_view(*variable).substr(0, std::string_view(*variable).find('='));
        if (!name.starts_with(k_ours) || std::find(known.begin(), known.end(), name) != known.end())
            continue;
        const auto meant =
            std::find_if(known.begin(), known.end(), [name](std::string_view one) { return is_meant(name, one); });
        const std::string_view close = meant != known.end() ? *meant : base::closest(name, known);
        if (close.empty())
            continue;
        problems.push_back(fmt::format("environment {}: Hearth does not know it. Did you mean {}?", name, close));
        for (const SettingRow& setting : settings)
            if (setting.careful_if_unread && close == setting.environment) {
                problems.back() +=
                    fmt::format(" Since it may have asked for care, {} is {}.", setting.name, setting.careful);
                values.emplace_back(setting.name, setting.careful);
            }
    }
    return values;
}

}  // namespace

const Setting* Settings::find(std::string_view name) const
{
    for (const Setting& setting : values)
        if (setting.name == name)
            return &setting;
    return nullptr;
}

Settings resolve(CacheOptions given)
{
    Settings settings;
    bool named = false;
    const std::string path = config::configuration_file(named);
    const File file = read_file(path, named, settings.problems);
    const auto meant = look_at_variables(settings.problems);
    CacheOptions options = std::move(given);
    CacheOptions defaults = config::preset_options(Preset::production);
    for (const SettingRow& setting : config::setting_rows()) {
        Setting shown{setting.name, {}, "option", setting.environment, setting.meaning};
        const auto try_text = [&](std::string_view text, const std::string& source, bool in_file = false) {
            const std::vector<std::string> objections =
                setting.objections ? setting.objections(options, text) : std::vector<std::string>{};
            bool is_read = setting.parse(options, text);
            if (is_read && objections.empty()) {
                shown.source = source;
                return true;
            }
            if (setting.careful != nullptr)
                is_read = setting.parse(options, setting.careful);
            const std::string fate = setting.careful != nullptr ? fmt::format("{} counts", setting.careful)
                                     : is_read                  ? "the others count"
                                                                : "it was passed over";
            const std::string place = in_file ? file.at(setting.name, setting.old_name) : source;
            for (const std::string& objection : objections)
                settings.problems.push_back(
                    fmt::format("{}: {} takes {}; {}. {}", place, setting.name, setting.takes, fate, objection));
            if (objections.empty())
                settings.problems.push_back(fmt::format("{}: {} takes {}, not \"{}\"; {}.", place, setting.name,
                                                        setting.takes, base::without_secrets(text), fate));
            if (is_read)
                shown.source = source;
            return is_read;
        };
        bool set = setting.is_set(options);
        if (set && setting.careful != nullptr)
            try_text(setting.show(options), "option");
        for (const char* variable : {setting.environment, setting.old_environment}) {
            const char* const text = variable != nullptr ? std::getenv(variable) : nullptr;
            if (!set && text != nullptr && *text != '\0')
                set = try_text(text, variable == setting.environment
                                         ? fmt::format("environment {}", variable)
                                         : fmt::format("environment {}, now {}", variable, setting.environment));
        }
        for (const auto& [name, text] : meant)
            if (!set && name == setting.name)
                set = try_text(text, "environment, misspelt");
        for (const auto& [name, text] : file.values)
            if (!set && name == setting.name)
                set = try_text(text, fmt::format("file {}", file.path), true);
        if (!set && std::string_view(setting.name) == "directory") {
            options.directory = config::default_directory(shown.source);
        } else if (!set) {
            const bool is_preset = std::string_view(setting.name) == "preset";
            setting.parse(options, is_preset ? "production" : setting.show(defaults));
            shown.source = is_preset || config::preset_name(*options.preset) == "production"
                               ? "default"
                               : fmt::format("preset {}", config::preset_name(*options.preset));
        }
        // The preset stands first in the table, so its values are known before any other setting needs a default.
        if (std::string_view(setting.name) == "preset")
            defaults = config::preset_options(*options.preset);
        shown.value = base::without_secrets(setting.show(options));
        settings.values.push_back(std::move(shown));
    }
    settings.values.push_back({"config", file.path.empty() ? "none" : file.path,
                               named ? "environment HEARTH_CONFIG" : "default", "HEARTH_CONFIG",
                               "the JSON file of settings, if there is one"});
    settings.options = std::move(options);
    return settings;
}

}  // namespace hearth

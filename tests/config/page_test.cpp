// docs/configuration.md beside the table of settings: HEARTH_WRITE_CONFIGURATION=1 writes its tables anew.

#include "config/setting_rows.hpp"
#include "hearth/options.hpp"
#include "support/isolated_environment.hpp"
#include "support/scratch_directory.hpp"

#include <algorithm>
#include <cstdlib>
#include <fmt/format.h>
#include <gtest/gtest.h>

namespace hearth::test {

namespace {

constexpr std::string_view k_begin = "<!-- made from src/config/setting_rows.cpp: HEARTH_WRITE_CONFIGURATION=1 -->\n";
constexpr std::string_view k_end = "<!-- the end of what is made -->\n";
constexpr std::string_view k_of_zero = "; 0: ";

const config::SettingRow* row_of(const std::vector<config::SettingRow>& rows, const std::string& name)
{
    const auto found = std::find_if(rows.begin(), rows.end(), [&](const auto& row) { return row.name == name; });
    return found == rows.end() ? nullptr : &*found;
}

bool takes(const config::SettingRow& row, std::string_view text)
{
    CacheOptions options = resolve().options;
    return row.parse(options, text) && (!row.objections || row.objections(options, text).empty());
}

bool is_number(const config::SettingRow& row)
{
    const std::string_view what = row.takes;
    return what.starts_with("a size") || what.starts_with("a duration") || what.starts_with("a whole number") ||
           what.starts_with("a number");
}

// Paths and lists have no 0: it would be a name like any other.
std::string meaning_of_zero(const config::SettingRow* row)
{
    if (row == nullptr || (!is_number(*row) && row->takes != std::string_view("0 or 1")))
        return "";
    if (!is_number(*row))
        return "no";
    if (!takes(*row, "0"))
        return takes(*row, "none") ? "refused; `none`: no limit" : "refused";
    const std::string_view meaning = row->meaning;
    const std::size_t at = meaning.find(k_of_zero);
    return at == std::string_view::npos ? "?" : std::string(meaning.substr(at + k_of_zero.size()));
}

std::string tables()
{
    const std::vector<config::SettingRow> rows = config::setting_rows();
    const Settings production = resolve({.preset = Preset::production});
    const Settings development = resolve({.preset = Preset::development});
    const Settings high_performance = resolve({.preset = Preset::high_performance});
    std::string all = "| in the file | variable | what it is | takes | 0 | default |\n|---|---|---|---|---|---|\n";
    std::string presets = "| | development | production | high_performance |\n|---|---|---|---|\n";
    std::string careful;
    std::string older;
    for (const Setting& setting : production.values) {
        const config::SettingRow* const row = row_of(rows, setting.name);
        const bool is_place = setting.name == "directory" || setting.name == "config";
        all += fmt::format("| {} | `{}` | {} | {} | {} | {} |\n",
                           setting.name == "config" ? "" : fmt::format("`{}`", setting.name), setting.environment,
                           setting.meaning.substr(0, setting.meaning.find(k_of_zero)),
                           row != nullptr ? row->takes : "a path", meaning_of_zero(row),
                           is_place ? "[below](#places)" : fmt::format("`{}`", setting.value));
        const std::string& small = development.find(setting.name)->value;
        const std::string& large = high_performance.find(setting.name)->value;
        if (setting.name != "preset" && (small != setting.value || large != setting.value))
            presets += fmt::format("| `{}` | {} | {} | {} |\n", setting.name, small, setting.value, large);
        if (row != nullptr && row->careful != nullptr)
            careful +=
                fmt::format("- `{}` is then `{}`{}\n", row->name, row->careful,
                            row->careful_if_unread ? ", also if the file cannot be read or is no JSON object" : "");
        if (row != nullptr && row->old_name != nullptr)
            older += fmt::format("- `{}` and `{}`: now `{}` and `{}`\n", row->old_name, row->old_environment, row->name,
                                 row->environment);
    }
    return fmt::format("{}\nWhat the presets set differently:\n\n{}\nWhat is set to something that cannot be read is "
                       "passed over, with a warning. Not so where that would open a door:\n\n{}\n"
                       "Names of 0.1 that still work:\n\n{}",
                       all, presets, careful, older);
}

class ConfigurationPage : public testing::Test {
protected:
    const bool m_writes = std::getenv("HEARTH_WRITE_CONFIGURATION") != nullptr;  // asked before it is hidden
    IsolatedEnvironment m_environment;
    const std::string m_path = HEARTH_DOCS "/configuration.md";
};

}  // namespace

TEST_F(ConfigurationPage, has_every_setting_as_the_table_in_code_has_it)
{
    std::string page = read_file(m_path);
    const std::size_t begin = page.find(k_begin);
    const std::size_t end = page.find(k_end);
    ASSERT_NE(begin, std::string::npos) << m_path << " lacks the line " << k_begin;
    ASSERT_TRUE(end != std::string::npos && begin < end) << m_path << " lacks the line " << k_end;
    const std::size_t from = begin + k_begin.size();
    if (m_writes) {
        page.replace(from, end - from, tables());
        write_file(m_path, page);
    } else {
        EXPECT_EQ(page.substr(from, end - from), tables()) << "HEARTH_WRITE_CONFIGURATION=1 writes it anew";
    }
}

TEST_F(ConfigurationPage, says_of_every_number_what_0_means)
{
    for (const config::SettingRow& row : config::setting_rows())
        EXPECT_NE(meaning_of_zero(&row), "?")
            << row.name << " takes 0, and its meaning does not say in \"" << k_of_zero << "...\" what that is";
}

}  // namespace hearth::test

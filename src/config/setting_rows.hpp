#pragma once

#include "hearth/options.hpp"

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace hearth::config {

struct SettingRow {
    bool many = false;  // a list: words with blanks between, or an array in the file
    // Of a list: what is wrong with each word that cannot be used. The others are.
    std::function<std::vector<std::string>(const CacheOptions&, std::string_view)> objections{};
    // What counts where a text has something that cannot be used, and to pass over it would open a door.
    const char* careful = nullptr;
    const char* name;
    const char* environment;
    const char* meaning;
    const char* takes;  // for the sentence when a value cannot be used
    std::function<bool(const CacheOptions&)> is_set;
    std::function<bool(CacheOptions&, std::string_view)> parse;
    std::function<std::string(const CacheOptions&)> show;
    // Its names before 0.2.0, in the file and as a variable, which still work; null: the same as now.
    const char* old_name = nullptr;
    const char* old_environment = nullptr;
    bool careful_if_unread = false;  // `careful` counts also where nobody can tell what a file says of it
};

// Every setting, in the order in which they are resolved: the preset first.
std::vector<SettingRow> setting_rows();

std::string preset_name(Preset preset);
// Every optional is filled, except the directory.
CacheOptions preset_options(Preset preset);

}  // namespace hearth::config

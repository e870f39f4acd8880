#include "config/location.hpp"

#include <cstdlib>
#include <string_view>
#include <unistd.h>

namespace hearth::config {

namespace {

// XDG says that a path which is not absolute is to be ignored; HOME and TMPDIR are treated the same way.
std::string absolute_from(const char* variable)
{
    const char* value = std::getenv(variable);
    return value && value[0] == '/' ? std::string(value) : std::string{};
}

}  // namespace

std::string default_directory(std::string& source)
{
    if (const std::string xdg = absolute_from("XDG_CACHE_HOME"); !xdg.empty()) {
        source = "environment XDG_CACHE_HOME";
        return xdg + "/hearth";
    }
    if (const std::string home = absolute_from("HOME"); !home.empty()) {
        source = "environment HOME";
        return home + "/.cache/hearth";
    }
    source = "default: neither HEARTH_DIR nor HOME is set";
    const std::string temporary = absolute_from("TMPDIR");
    return (temporary.empty() ? "/tmp" : temporary) + "/hearth-" + std::to_string(::geteuid());
}

std::string configuration_file(bool& named)
{
    named = false;
    if (const char* file = std::getenv("HEARTH_CONFIG"); file && *file) {
        named = true;
        return file;
    }
    if (const std::string xdg = absolute_from("XDG_CONFIG_HOME"); !xdg.empty())
        return xdg + "/hearth/config.json";
    if (const std::string home = absolute_from("HOME"); !home.empty())
        return home + "/.config/hearth/config.json";
    return {};
}

}  // namespace hearth::config

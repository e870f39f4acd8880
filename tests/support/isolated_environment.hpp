#pragma once

#include <cstdlib>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <unistd.h>

namespace hearth::test {

// The environment without anything that Hearth reads, until the end; then as it was. Whatever the person who runs the
// tests has set, or keeps in a configuration file, they show the same.
// Thread safety: none. While it is made, changed or dropped no other thread may read the environment.
class IsolatedEnvironment {
public:
    IsolatedEnvironment()
    {
        std::vector<std::string> names;
        for (char** variable = environ; *variable; ++variable) {
            const std::string_view text(*variable);
            if (const std::string_view name = text.substr(0, text.find('=')); is_read(name))
                names.emplace_back(name);
        }
        for (const std::string& name : names)
            unset(name);
    }
    ~IsolatedEnvironment()
    {
        for (const auto& [name, value] : m_before) {
            if (value)
                ::setenv(name.c_str(), value->c_str(), 1);
            else
                ::unsetenv(name.c_str());
        }
    }
    IsolatedEnvironment(const IsolatedEnvironment&) = delete;
    IsolatedEnvironment& operator=(const IsolatedEnvironment&) = delete;

    void set(const std::string& name, const std::string& value)
    {
        remember(name);
        ::setenv(name.c_str(), value.c_str(), 1);
    }
    void unset(const std::string& name)
    {
        remember(name);
        ::unsetenv(name.c_str());
    }

private:
    // TMPDIR is left until a test sets it: scratch directories are made there. So is what the tests themselves read.
    static bool is_read(std::string_view name)
    {
        return (name.starts_with("HEARTH_") && name != "HEARTH_SOAK" && name != "HEARTH_SEED") || name == "HOME" ||
               name == "XDG_CACHE_HOME" || name == "XDG_CONFIG_HOME";
    }
    void remember(const std::string& name)
    {
        const char* const value = std::getenv(name.c_str());
        m_before.try_emplace(name, value ? std::optional<std::string>(value) : std::nullopt);
    }

    std::map<std::string, std::optional<std::string>> m_before;
};

}  // namespace hearth::test

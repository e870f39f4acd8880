#pragma once

#include <cstdlib>
#include <map>
#include <string>
#include <string_view>

#include <unistd.h>

namespace hearth::test {

// The environment without anything that Hearth reads, until the end; then as it was. Whatever the person who runs the
// tests has set, or keeps in a configuration file, they show the same.
// Thread safety: none. While it is made, used or dropped no other thread may read the environment.
class IsolatedEnvironment {
public:
    IsolatedEnvironment()
    {
        for (char** variable = environ; *variable; ++variable) {
            const std::string_view text(*variable);
            const std::size_t equals = text.find('=');
            if (equals != std::string_view::npos && is_read(text.substr(0, equals)))
                m_before.emplace(text.substr(0, equals), text.substr(equals + 1));
        }
        for (const auto& [name, value] : m_before)
            ::unsetenv(name.c_str());
        // HOME leads to a configuration file; without one nothing is read.
        m_changed = m_before;
    }
    ~IsolatedEnvironment()
    {
        for (const auto& [name, value] : m_changed)
            ::unsetenv(name.c_str());
        for (const auto& [name, value] : m_before)
            ::setenv(name.c_str(), value.c_str(), 1);
    }
    IsolatedEnvironment(const IsolatedEnvironment&) = delete;
    IsolatedEnvironment& operator=(const IsolatedEnvironment&) = delete;

    void set(const std::string& name, const std::string& value)
    {
        if (!m_changed.contains(name) && std::getenv(name.c_str()))
            m_before[name] = std::getenv(name.c_str());
        m_changed[name] = value;
        ::setenv(name.c_str(), value.c_str(), 1);
    }
    void unset(const std::string& name)
    {
        set(name, {});
        ::unsetenv(name.c_str());
    }

private:
    // TMPDIR stays until a test sets it: scratch directories are made there.
    static bool is_read(std::string_view name)
    {
        if (name == "HEARTH_SOAK" || name == "HEARTH_SEED")
            return false;
        return name.starts_with("HEARTH_") || name == "HOME" || name == "XDG_CACHE_HOME" || name == "XDG_CONFIG_HOME";
    }

    std::map<std::string, std::string> m_before;
    std::map<std::string, std::string> m_changed;
};

}  // namespace hearth::test

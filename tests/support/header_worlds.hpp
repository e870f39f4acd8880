#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace hearth::test {

// A random tree of headers in three directories, with links, shadowing, several ways to ask for a header and several
// things to ask. Header N defines the macro VN from those of headers with higher numbers.
class HeaderWorlds {
public:
    static constexpr int k_directories = 3;
    static constexpr int k_names = 6;

    enum class Once : std::uint8_t {
        either,  // #pragma once or a guard
        guards,
        pragmas,  // and no two headers with one text: compilers tell those apart by their times
    };

    HeaderWorlds(std::string root, std::uint64_t seed) : m_root(std::move(root)), m_random(seed) {}

    // Below `root`: d0, d1 and d2 as they are at the beginning of another world.
    void begin(Once once = Once::either);
    // Of one header, or of what lies beside them. False: what it changed is nothing that a compile asks.
    bool change();

    std::size_t any(std::size_t count) { return m_random() % count; }
    std::string any_directory();
    std::string any_file();
    const std::string& root() const { return m_root; }

private:
    std::string text(int name);
    std::string ask_for(int other);
    void write(const std::string& file, const std::string& content) const;

    std::string m_root;
    std::mt19937_64 m_random;
    Once m_once = Once::either;
    int m_written = 0;
};

}  // namespace hearth::test

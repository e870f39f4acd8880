#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace hearth::cli {

bool is_terminal(int descriptor);

// Whether it is a terminal that obeys escape sequences: not where TERM is "dumb".
bool obeys_escapes(int descriptor);

// Columns of the terminal behind a descriptor; 0 when it is not one or does not say.
std::size_t terminal_columns(int descriptor);

// Colours where they help and nowhere else: on a terminal, unless NO_COLOR is set or TERM is "dumb".
class Paint {
public:
    explicit Paint(int descriptor);

    std::string bold(std::string_view text) const { return in("1", text); }
    std::string dim(std::string_view text) const { return in("2", text); }
    std::string red(std::string_view text) const { return in("31", text); }
    std::string green(std::string_view text) const { return in("32", text); }
    std::string yellow(std::string_view text) const { return in("33", text); }

private:
    std::string in(std::string_view code, std::string_view text) const;

    bool m_on = false;
};

}  // namespace hearth::cli

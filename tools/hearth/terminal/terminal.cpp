#include "terminal/terminal.hpp"

#include <fmt/format.h>

#include <cstdlib>

#include <sys/ioctl.h>
#include <unistd.h>

namespace hearth::cli {

bool is_terminal(int descriptor)
{
    return isatty(descriptor) == 1;
}

bool obeys_escapes(int descriptor)
{
    const char* term = std::getenv("TERM");
    return is_terminal(descriptor) && (term == nullptr || std::string_view(term) != "dumb");
}

std::size_t terminal_columns(int descriptor)
{
    winsize size{};
    if (!is_terminal(descriptor) || ioctl(descriptor, TIOCGWINSZ, &size) != 0)
        return 0;
    return size.ws_col;
}

Paint::Paint(int descriptor)
{
    const char* no_color = std::getenv("NO_COLOR");
    const bool unwanted = no_color != nullptr && *no_color != '\0';
    m_on = obeys_escapes(descriptor) && !unwanted;
}

std::string Paint::in(std::string_view code, std::string_view text) const
{
    return m_on ? fmt::format("\x1b[{}m{}\x1b[0m", code, text) : std::string(text);
}

}  // namespace hearth::cli

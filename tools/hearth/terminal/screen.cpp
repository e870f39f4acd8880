#include "terminal/screen.hpp"

#include "process/stop_signals.hpp"
#include "terminal/output.hpp"
#include "terminal/terminal.hpp"
#include "terminal/text.hpp"

#include <array>
#include <csignal>
#include <string_view>

#include <poll.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

namespace hearth::cli {

namespace {

constexpr std::string_view k_take = "\x1b[?1049h\x1b[?25l";       // the other screen, without a cursor
constexpr std::string_view k_give_back = "\x1b[?25h\x1b[?1049l";  // and back

constexpr std::array k_killing{SIGQUIT, SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGALRM, SIGUSR1, SIGUSR2};

// For the handlers, which may use nothing else.
termios g_before{};
volatile std::sig_atomic_t g_resized = 0;

void restore_terminal()
{
    static_cast<void>(::tcsetattr(STDIN_FILENO, TCSAFLUSH, &g_before));
}

void restore_and_die(int signal)
{
    [[maybe_unused]] const ssize_t written = ::write(STDOUT_FILENO, k_give_back.data(), k_give_back.size());
    restore_terminal();
    static_cast<void>(::raise(signal));  // its handler is the system's again
}

void on_signal(int signal, void (*handler)(int), int flags)
{
    struct sigaction action {};
    action.sa_handler = handler;
    action.sa_flags = flags;
    static_cast<void>(::sigaction(signal, &action, nullptr));
}

}  // namespace

Screen::Screen()
{
    static_cast<void>(::tcgetattr(STDIN_FILENO, &g_before));
    for (const int signal : k_killing)
        on_signal(signal, restore_and_die, static_cast<int>(SA_RESETHAND | SA_NODEFER));
    on_signal(
        SIGWINCH, [](int) { g_resized = 1; }, 0);
    take();
}

Screen::~Screen()
{
    for (const int signal : k_killing)
        on_signal(signal, SIG_DFL, 0);
    on_signal(SIGWINCH, SIG_DFL, 0);
    try {
        give_back();
    } catch (...) {  // nobody reads the terminal any more
        restore_terminal();
    }
}

void Screen::take()
{
    termios raw = g_before;
    raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO | ISIG);
    raw.c_cc[VMIN] = 0;
    raw.c_cc[VTIME] = 0;
    static_cast<void>(::tcsetattr(STDIN_FILENO, TCSAFLUSH, &raw));
    write_out(k_take);
    finish_output();
}

void Screen::give_back()
{
    restore_terminal();
    write_out(k_give_back);
    finish_output();
}

Screen::Size Screen::size()
{
    winsize size{};
    if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0 || size.ws_row == 0)
        return {};
    return {size.ws_col, size.ws_row};
}

void Screen::draw(const std::vector<ScreenLine>& lines)
{
    const Paint paint(STDOUT_FILENO);
    const Size room = size();
    std::string frame = "\x1b[H";
    for (std::size_t i = 0; i < std::min(lines.size(), room.rows); ++i) {
        const std::string text = shortened(lines[i].text, room.columns);
        frame += (i == 0 ? "" : "\r\n") + (lines[i].strong ? paint.bold(text) : text) + "\x1b[K";
    }
    write_out(frame + "\x1b[J");
    finish_output();
}

Screen::Event Screen::wait(std::chrono::milliseconds time, const sigset_t& mask)
{
    const timespec pause{.tv_sec = time.count() / 1000, .tv_nsec = time.count() % 1000 * 1'000'000};
    pollfd input{.fd = STDIN_FILENO, .events = POLLIN, .revents = 0};
    const int ready = ::ppoll(&input, 1, &pause, &mask);
    if (told_to_stop() != 0)
        return Event::quit;
    if (g_resized != 0) {
        g_resized = 0;
        return Event::resized;
    }
    if (ready <= 0)
        return Event::tick;
    char key = 0;
    if (::read(STDIN_FILENO, &key, 1) <= 0)
        return Event::quit;  // the terminal is gone
    constexpr char k_ctrl_c = 3;
    constexpr char k_ctrl_z = 26;
    if (key == k_ctrl_z) {
        give_back();
        static_cast<void>(::raise(SIGTSTP));
        take();
        return Event::resized;
    }
    return key == 'q' || key == 'Q' || key == k_ctrl_c ? Event::quit : Event::tick;
}

}  // namespace hearth::cli

#include "terminal/progress_bar.hpp"

#include "process/stop_signals.hpp"
#include "terminal/progress_line.hpp"
#include "terminal/terminal.hpp"

#include <cstdio>
#include <utility>

#include <unistd.h>

namespace hearth::cli {

namespace {

constexpr auto k_first_shown_after = std::chrono::milliseconds(300);
constexpr auto k_redrawn_every = std::chrono::milliseconds(100);
constexpr std::size_t k_usual_columns = 80;
constexpr const char* k_erase_line = "\r\x1b[K";

}  // namespace

ProgressBar::ProgressBar(std::string what, Wanted wanted)
    : m_what(std::move(what)), m_on(wanted == Wanted::yes && obeys_escapes(STDERR_FILENO)),
      m_next(std::chrono::steady_clock::now() + k_first_shown_after)
{
}

ProgressBar::~ProgressBar()
{
    if (m_drawn)
        std::fputs(k_erase_line, stderr);
}

Progress ProgressBar::report()
{
    return [this](std::uint64_t done, std::uint64_t total) {
        update(done, total);
        m_ended = told_to_stop() != 0;
        return !m_ended;
    };
}

void ProgressBar::update(std::uint64_t done, std::uint64_t total)
{
    if (!m_on)
        return;
    const auto moment = std::chrono::steady_clock::now();
    if (moment < m_next)
        return;
    m_next = moment + k_redrawn_every;
    m_drawn = true;

    // The last column stays free: some terminals begin a new line once it is written.
    const std::size_t columns = terminal_columns(STDERR_FILENO);
    std::fputs(k_erase_line, stderr);
    std::fputs(progress_line(m_what, done, total, (columns == 0 ? k_usual_columns : columns) - 1).c_str(), stderr);
    std::fflush(stderr);
}

}  // namespace hearth::cli

#include "terminal/progress_bar.hpp"

#include "process/stop_signals.hpp"
#include "terminal/terminal.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <utility>

#include <unistd.h>

namespace hearth::cli {

namespace {

constexpr auto k_first_shown_after = std::chrono::milliseconds(300);
constexpr auto k_redrawn_every = std::chrono::milliseconds(100);
constexpr std::size_t k_width = 30;
constexpr const char* k_erase_line = "\r\x1b[K";

}  // namespace

ProgressBar::ProgressBar(std::string what, Wanted wanted)
    : m_what(std::move(what)), m_on(wanted == Wanted::yes && is_terminal(STDERR_FILENO)),
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
        return told_to_stop() == 0;
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

    std::string line;
    if (total == 0) {
        line = fmt::format("{}{} {}", k_erase_line, m_what, done);
    } else {
        const double share = std::min(1.0, static_cast<double>(done) / static_cast<double>(total));
        const auto filled = static_cast<std::size_t>(share * static_cast<double>(k_width));
        line = fmt::format("{}{} [{:#<{}}{:.<{}}] {:3.0f} %  {} of {}", k_erase_line, m_what, "", filled, "",
                           k_width - filled, share * 100, done, total);
    }
    std::fputs(line.c_str(), stderr);
    std::fflush(stderr);
}

}  // namespace hearth::cli

#pragma once

#include <chrono>
#include <csignal>
#include <cstddef>
#include <string>
#include <vector>

namespace hearth::cli {

struct ScreenLine {
    std::string text;  // printable
    bool strong = false;
};

// A terminal that one command has for itself. What was on it comes back when this is destroyed, when a signal kills the
// process, and while it is suspended. One at a time. Lives within a StopSignals and a HeldStopSignals.
class Screen {
public:
    Screen();
    ~Screen();
    Screen(const Screen&) = delete;
    Screen& operator=(const Screen&) = delete;

    struct Size {
        std::size_t columns = 80;
        std::size_t rows = 24;
    };
    static Size size();
    // Lines are cut at the right, and what does not fit below is left out.
    void draw(const std::vector<ScreenLine>& lines);

    enum class Event : unsigned char { tick, resized, quit };
    // Waits for a key, another size, a signal or the end of the time; `mask`: the signals that are blocked meanwhile.
    Event wait(std::chrono::milliseconds time, const sigset_t& mask);

private:
    void take();
    void give_back();
};

}  // namespace hearth::cli

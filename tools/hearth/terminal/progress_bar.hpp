#pragma once

#include "hearth/tier.hpp"

#include <chrono>
#include <cstdint>
#include <string>

namespace hearth::cli {

enum class Wanted : unsigned char { no, yes };
// With JSON, a program reads the output, and needs no bar.
inline Wanted unless(bool json)
{
    return json ? Wanted::no : Wanted::yes;
}

// A line on standard error that says how far a long operation has come, and is gone when it ends.
// Shown only on a terminal and only once the operation has taken a moment. Lives as long as the operation.
class ProgressBar {
public:
    ProgressBar(std::string what, Wanted wanted);
    ~ProgressBar();
    ProgressBar(const ProgressBar&) = delete;
    ProgressBar& operator=(const ProgressBar&) = delete;

    // A function to give to the cache; it refers to this object. It ends the operation once a StopSignals has noted a
    // signal.
    Progress report();

private:
    void update(std::uint64_t done, std::uint64_t total);

    std::string m_what;
    bool m_on = false;
    bool m_drawn = false;
    std::chrono::steady_clock::time_point m_next;
};

}  // namespace hearth::cli

#include "hearth/ready.hpp"

#include "base/ready_mark.hpp"

#include <atomic>
#include <cstdlib>
#include <optional>

namespace hearth {

namespace {

std::atomic<bool> g_ready{false};

}  // namespace

void ready()
{
    g_ready.store(true, std::memory_order_relaxed);
    if (const std::optional<base::ReadyMark> mark = base::ReadyMark::of_this_run())
        mark->seal();
}

bool is_ready()
{
    if (g_ready.load(std::memory_order_relaxed))
        return true;
    const char* const text = std::getenv(base::k_ready_variable);
    if (text == nullptr || *text == '\0')
        return false;
    // What names no mark has lost it: then what comes after the start is forbidden.
    const std::optional<base::ReadyMark> mark = base::ReadyMark::parse(text);
    const base::ReadyMark::State state = mark ? mark->state() : base::ReadyMark::State::lost;
    // A process that is short of descriptors cannot look, and may be able to later.
    if (state == base::ReadyMark::State::ready)
        g_ready.store(true, std::memory_order_relaxed);
    return state != base::ReadyMark::State::starting;
}

}  // namespace hearth

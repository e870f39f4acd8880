#pragma once

#include "base/fork.hpp"
#include "engine/options.hpp"
#include "engine/stack/stack.hpp"
#include "engine/stats/statistics.hpp"

#include <atomic>
#include <stop_token>
#include <thread>

namespace hearth::engine {

// Keeps the cache in order: a thread in the background credits uses, sweeps tiers and writes statistics. At the end,
// uses and statistics are written once more.
// Thread safety: all of it.
class Upkeep {
public:
    Upkeep(const EngineOptions& options, Stack& stack, Statistics& statistics);
    ~Upkeep();
    Upkeep(const Upkeep&) = delete;
    Upkeep& operator=(const Upkeep&) = delete;

    // Starts the thread, unless it runs already or is not wanted.
    void start();
    void maintain(const std::stop_token& stop);
    void flush();

private:
    void work(const std::stop_token& stop);
    void after_fork();

    const EngineOptions& m_options;
    Stack& m_stack;
    Statistics& m_statistics;
    base::ForkSafeMutex m_mutex{base::LockLevel::engine};
    std::atomic<bool> m_started{false};
    std::jthread m_thread;
    const base::ForkGuard m_fork_guard{[this] { after_fork(); }};
};

}  // namespace hearth::engine

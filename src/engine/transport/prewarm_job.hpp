#pragma once

#include "base/fork.hpp"
#include "hearth/prewarm.hpp"

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <string>
#include <thread>

namespace hearth::engine {

// One prewarming: its thread, how far it has come, and who waits for it. What it does is handed in.
// Thread safety: every function, from any thread. Ownership: handles own it, and the engine that it works for knows of
// it. Whichever of them ends first calls end(); after that the job has no thread.
class PrewarmJob {
public:
    PrewarmJob() = default;
    PrewarmJob(const PrewarmJob&) = delete;
    PrewarmJob& operator=(const PrewarmJob&) = delete;

    // Call it once. `work` returns whether it did everything. If no thread can be started, the report says so.
    void start(std::function<bool()> work);

    void wait();
    bool wait_for(std::chrono::milliseconds most);
    void stop();
    void end();
    PrewarmReport report() const;

    // These are for the work.
    bool told_to_stop() const;
    // False: it is told to stop.
    bool rest_until(std::chrono::steady_clock::time_point time);
    void count(const std::function<void(PrewarmReport&)>& change);
    void tell(std::string problem);

private:
    struct Running {
        std::thread thread;
        std::condition_variable_any changed;
    };

    void run(std::function<bool()> work);
    void settle(bool finished);
    void after_fork();

    mutable base::ForkSafeMutex m_mutex{base::LockLevel::engine};
    PrewarmReport m_report;
    bool m_stop = false;
    bool m_over = false;
    // Null in a forked child: objects of a thread that it does not have are abandoned, not destroyed.
    std::unique_ptr<Running> m_running = std::make_unique<Running>();
    const base::ForkGuard m_fork_guard{[this] { after_fork(); }};
};

}  // namespace hearth::engine

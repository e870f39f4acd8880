#pragma once

#include "process/child.hpp"

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace hearth::cli {

// Processes of this same command that answer each line they are given with a line, as in worker_protocol.hpp.
// A worker that ends during a line loses that line only, and another takes its place. Workers end with their pool. They
// also end with this process, because their standard input then ends.
class WorkerPool {
public:
    struct Events {
        std::function<void(std::size_t line, const std::string& answer)> answered;
        std::function<void(std::size_t line, const std::string& how)> lost;  // "was ended by signal 11 (...)"
        std::function<void()> now_and_then;
        std::function<bool()> enough{};  // once it returns true, no other line is begun; without it all are
    };

    // The words of each worker's command line, without the command itself.
    explicit WorkerPool(std::vector<std::vector<std::string>> commands);
    ~WorkerPool();
    WorkerPool(const WorkerPool&) = delete;
    WorkerPool& operator=(const WorkerPool&) = delete;

    // Hands out the lines in order until each is answered or lost, and returns how many were. Fails with a sentence if
    // no worker can be started, or if this process is told to stop.
    std::size_t run(const std::vector<std::string>& lines, const Events& events);

private:
    struct Worker {
        std::vector<std::string> command;
        std::optional<Child> process;  // none: not started yet
        bool ready = false;
        std::string read;  // not yet a whole line
        std::optional<std::size_t> line;
    };

    void start(Worker& worker);
    // Waits until it has ended, and says how it ended.
    std::string end(Worker& worker);
    void hand_out(Worker& worker, const std::vector<std::string>& lines);
    void take_from(Worker& worker, const Events& events);
    void take_line(Worker& worker, const std::string& text, const Events& events);

    std::vector<Worker> m_workers;
    std::size_t m_next = 0;
    std::size_t m_settled = 0;
    int m_stillborn = 0;  // workers in a row that were never ready
};

}  // namespace hearth::cli

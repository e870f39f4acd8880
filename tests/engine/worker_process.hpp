#pragma once

#include <chrono>
#include <string>
#include <vector>

#include <sys/types.h>

namespace hearth::test {

// A running cache_worker. What it is told and what it answers are lines, so that a test orders what several of them do.
// It ends with its input: when this is dropped, or when the test itself is killed.
class WorkerProcess {
public:
    WorkerProcess(const std::string& directory, std::chrono::milliseconds flight_wait);
    ~WorkerProcess();
    WorkerProcess(const WorkerProcess&) = delete;
    WorkerProcess& operator=(const WorkerProcess&) = delete;

    void tell(const std::string& line);
    // The next line it says; empty when it has ended.
    std::string hear();
    std::string ask(const std::string& line)
    {
        tell(line);
        return hear();
    }
    void kill();
    // Lets it come to its end; its exit status.
    int finish();

    // The first of these that has something to say, or has ended; waits until one does.
    static WorkerProcess& first_to_speak(const std::vector<WorkerProcess*>& workers);

private:
    int wait();

    pid_t m_process = -1;
    int m_to = -1;
    int m_from = -1;
    std::string m_heard;
};

}  // namespace hearth::test

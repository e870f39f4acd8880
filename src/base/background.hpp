#pragma once

#include "base/fork.hpp"

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <thread>
#include <vector>

namespace hearth::base {

// One thread of the process for work that only the end of its owner, or of the process, waits for. It leaves the
// processor to others, is started when there is work and ends when there is none.
//
// A process must not end while a compiler runs in it: the compiler's own destructors would pull the ground from under
// it, and from under what it has kept for its thread. So the end of the process waits for the piece of work that runs
// and until the thread is gone; other pieces are not begun. exit() runs the destructors of its thread's variables
// first, so the main thread has one once it has submitted work. For other threads there is a handler, which comes too
// late for what a compiler has set up after it was registered.
// Thread safety: all of it.
class Background {
public:
    using Work = std::function<void()>;
    enum class Turn : std::uint8_t { last, next };

    static Background& of_process();

    Background();
    Background(const Background&) = delete;
    Background& operator=(const Background&) = delete;

    // `owner` is only compared. False: no thread can be had, the owner is being forgotten, or the process is ending.
    bool submit(const void* owner, Work work, Turn turn = Turn::last);
    // Nothing runs, and nothing waits.
    bool is_idle();
    // Of this owner nothing runs any more, or will. Waits for the piece that runs, unless that is what calls this.
    void forget(const void* owner);
    // Of nobody.
    void end();

private:
    struct Piece {
        const void* owner;
        Work work;
    };
    void run();
    void wait_for_running(std::unique_lock<ForkSafeMutex>& lock, const void* owner);

    ForkSafeMutex m_mutex{LockLevel::engine};
    std::condition_variable_any m_ended;
    int m_waiters = 0;
    std::deque<Piece> m_waiting;
    std::vector<const void*> m_leaving;  // owners that are being forgotten
    const void* m_running = nullptr;     // whose
    std::thread::id m_thread{};          // that takes what waits; none: there is no thread, or it is ending
    std::thread m_to_join;
    std::thread m_to_join_first;  // by the new thread, so that nobody who submits waits for the end of the old one
    bool m_ending = false;
    int m_handlers = 0;
    const ForkGuard m_fork;
};

}  // namespace hearth::base

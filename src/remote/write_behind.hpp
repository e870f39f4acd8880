#pragma once

#include "base/fork.hpp"
#include "hearth/bytes.hpp"
#include "hearth/result.hpp"

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace hearth::remotes {

// Something to be sent to a server.
struct Outgoing {
    enum class Kind : std::uint8_t { object, end_of_lease };
    Kind kind = Kind::object;
    std::string name;
    Bytes bytes;  // of an object; for a lease, what was stored when it was taken
    int attempts = 0;
    bool rests = false;  // its server is left alone for now, though others that `Send` knows answer
};

// Sends things in the background, in the order in which they were added, on a thread that is started with the first
// one. Of an object that is added again before it was sent, only the newest is. Thread safety: all of it. What does not
// fit is refused at once; add() never waits. Fork: the parent sends what it has added. A child begins with nothing and
// without a thread.
class WriteBehind {
public:
    struct Bounds {
        std::uint64_t bytes = 0;
        std::uint64_t entries = 0;
    };
    // Returns for each whether it is done (sent, or never will be). False: try it again; if it says that one rests,
    // after the others.
    using Send = std::function<std::vector<bool>(std::span<Outgoing> batch)>;
    // Called on the thread now and then, to keep leases alive. Returns when to call again; zero: not before something
    // else happens.
    using Tick = std::function<std::chrono::milliseconds()>;

    WriteBehind(Bounds bounds, Send send, Tick tick);
    ~WriteBehind();
    WriteBehind(const WriteBehind&) = delete;
    WriteBehind& operator=(const WriteBehind&) = delete;

    // False: there is no room, or no thread to send it. The end of a lease always fits.
    bool add(Outgoing outgoing) noexcept;
    // Forgets the object of that name. If it is being sent, waits until it has been, at most that long. Returns whether
    // it was on its way.
    bool drop(std::string_view name, std::chrono::milliseconds limit);
    // Makes the thread call `Tick` again.
    void wake();
    // Waits until nothing is left but what rests, at most that long. Returns whether nothing is left.
    bool flush(std::chrono::milliseconds limit);
    // Sends what can be sent within that time, then ends the thread. Returns how many objects were not sent, also
    // before.
    std::uint64_t stop(std::chrono::milliseconds limit);

    struct Waiting {
        std::uint64_t entries = 0;
        std::uint64_t bytes = 0;
    };
    Waiting waiting() const;

private:
    struct Sending {
        std::string name;
        bool dropped = false;  // if it cannot be sent now, it is not sent later either
    };

    void work();
    bool is_idle() const;
    std::vector<Outgoing> take_batch() noexcept;
    bool settle_batch(std::vector<Outgoing>& batch, const std::vector<bool>& done) noexcept;
    enum class End : std::uint8_t { front, back };
    void put_back(Outgoing& outgoing, End end) noexcept;
    void forget(const Outgoing& outgoing);
    struct Forgotten {
        bool queued = false;
        bool sending = false;
    };
    Forgotten forget_object(std::string_view name);
    bool has_thread() noexcept;
    std::vector<bool> send(std::span<Outgoing> batch) const noexcept;
    std::chrono::milliseconds tick() const noexcept;
    void forget_parent() noexcept;

    const Bounds m_bounds;
    const Send m_send;
    const Tick m_tick;
    mutable base::ForkSafeMutex m_mutex{base::LockLevel::tier_part};
    std::condition_variable_any m_changed;
    std::deque<Outgoing> m_queue;
    std::vector<Sending> m_sending;  // the batch that is under way
    Waiting m_waiting;
    std::uint64_t m_lost = 0;  // for want of memory
    bool m_woken = false;
    bool m_running = false;
    bool m_ending = false;
    std::chrono::steady_clock::time_point m_end{};  // once m_ending: no later than this
    std::thread m_thread;
    const base::ForkGuard m_at_fork{[this] { forget_parent(); }};
};

}  // namespace hearth::remotes

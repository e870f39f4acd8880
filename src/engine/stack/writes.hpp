#pragma once

#include "base/fork.hpp"
#include "hearth/key.hpp"

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <unordered_map>
#include <utility>

namespace hearth::engine {

// Keeps copies from undoing what was written. Entries are copied between tiers all the time, and a copy carries the
// value that was there when it was read. An insert or a remove of the same key that came since must win.
//
//   copying                                   writing
//   ticket = now()                            Write write(key)  (waits for Copies and Writes of this key)
//   read the entry                            change the tiers
//   Copy copy(key, ticket)  (never waits)
//   false: the key was, or is being, written. The copy is dropped.
//   true: store it                            ~Write: takes the next number
//
// The last k_remembered writes are known by their keys. A ticket from before those is of no use: when in doubt, a copy
// is dropped, which costs a hit in a faster tier and never a value.
// Thread safety: all of it. Cost: now() is one load; the others take a lock for a lookup in a table.
class Writes {
public:
    using Ticket = std::uint64_t;
    static constexpr std::size_t k_remembered = 4096;

    // Take it before the entry is read.
    // acquire: pairs with the release in end_write(), so that what was written before the ticket is what is read.
    Ticket now() const noexcept { return m_now.load(std::memory_order_acquire); }

    class Write {
    public:
        Write(Writes& writes, const Key& key) : m_writes(writes), m_key(key) { writes.begin_write(key); }
        ~Write() { m_writes.end_write(m_key); }
        Write(const Write&) = delete;
        Write& operator=(const Write&) = delete;

    private:
        Writes& m_writes;
        const Key m_key;
    };

    // No Write of the key begins while one exists. Nothing may be waited for, or written, while one is held.
    class Copy {
    public:
        Copy(Writes& writes, const Key& key, Ticket read)
            : m_writes(writes), m_key(key), m_allowed(writes.begin_copy(key, read))
        {
        }
        ~Copy()
        {
            if (m_allowed)
                m_writes.end_copy(m_key);
        }
        Copy(const Copy&) = delete;
        Copy& operator=(const Copy&) = delete;
        explicit operator bool() const noexcept { return m_allowed; }

    private:
        Writes& m_writes;
        const Key m_key;
        const bool m_allowed;
    };

private:
    struct State {
        Ticket ended = 0;  // the number of its last write; 0: none that is remembered
        std::uint32_t copies = 0;
        bool writing = false;
    };

    void begin_write(const Key& key);
    void end_write(const Key& key) noexcept;
    bool begin_copy(const Key& key, Ticket read);
    void end_copy(const Key& key) noexcept;
    void forget_oldest();
    void after_fork() noexcept;

    std::atomic<Ticket> m_now{0};  // how many writes have ended; changed under the lock
    base::ForkSafeMutex m_mutex{base::LockLevel::engine};
    std::condition_variable_any m_changed;
    std::size_t m_waiting = 0;
    std::unordered_map<Key, State> m_keys;
    std::deque<std::pair<Key, Ticket>> m_ended;  // oldest first
    Ticket m_forgotten = 0;                      // the newest number that is not among them any more
    const base::ForkGuard m_at_fork{[this] { after_fork(); }};
};

}  // namespace hearth::engine

#pragma once

#include "base/fork.hpp"
#include "hearth/key.hpp"

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_map>

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
// is dropped. That costs a hit in a faster tier or, if it was a victim on its way down and no slower tier had it, a
// compile. To wait for the write instead would make a hit of another key wait for its I/O. A write that changed nothing
// refuses no copy once it has ended: an insert that no tier took must not cost the value that was there.
// Thread safety: all of it. Cost: now() is one load; the others take a lock, for a lookup among those under way and one
// among the remembered.
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
        ~Write() { m_writes.end_write(m_key, m_changed); }
        Write(const Write&) = delete;
        Write& operator=(const Write&) = delete;

        void changed_nothing() noexcept { m_changed = false; }

    private:
        Writes& m_writes;
        const Key m_key;
        bool m_changed = true;
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
        std::uint32_t copies = 0;
        bool writing = false;
    };
    // The place of a write among the last ones, from 1 on; 0: none.
    using Place = std::uint16_t;
    static_assert(k_remembered <= UINT16_MAX);
    // The last writes: the one with number n at (n - 1) % k_remembered. Those whose keys hash alike are chained, the
    // latest first, so that the oldest of all is the last of its chain. Nothing here is allocated when a write ends,
    // which must not fail.
    struct Ended {
        std::array<Key, k_remembered> keys;
        std::array<Place, k_remembered> first{};
        std::array<Place, k_remembered> next{};
        std::array<Place, k_remembered> before{};
    };

    void begin_write(const Key& key);
    void end_write(const Key& key, bool changed) noexcept;
    bool begin_copy(const Key& key, Ticket read);
    void end_copy(const Key& key) noexcept;
    void remember(const Key& key, Ticket number) noexcept;
    Ticket last_write_of(const Key& key) const noexcept;
    using UnderWay = std::unordered_map<Key, State>;
    void forget_if_idle(UnderWay::iterator known) noexcept;
    void after_fork() noexcept;

    std::atomic<Ticket> m_now{0};  // how many writes have ended; changed under the lock
    base::ForkSafeMutex m_mutex{base::LockLevel::engine};
    std::condition_variable_any m_changed;
    std::size_t m_waiting = 0;
    UnderWay m_keys;
    std::unique_ptr<Ended> m_ended;  // from the first write on
    Ticket m_forgotten = 0;          // the newest number that is not among them any more
    const base::ForkGuard m_at_fork{[this] { after_fork(); }};
};

}  // namespace hearth::engine

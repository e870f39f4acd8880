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
// Each write leaves its number in the slot of its key. Two keys that share a slot refuse each other's copies: when in
// doubt, a copy is dropped. That costs a hit in a faster tier or, if it was a victim on its way down and no slower tier
// had it, a compile. To wait for the write instead would make a hit of another key wait for its I/O. A write that
// changed nothing refuses no copy once it has ended: an insert that no tier took must not cost the value that was
// there.
// A WriteAll is a write of every key: while one lives no copy begins, and what was read before it is never stored.
// Thread safety: all of it. Cost: now() is one load; the others take a lock, for a lookup among those under way.
class Writes {
public:
    using Ticket = std::uint64_t;
    static constexpr std::size_t k_slots = 16384;

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

    // For clear(). Waits for Copies, not for Writes: an insert beside it may come before it or after it.
    class WriteAll {
    public:
        explicit WriteAll(Writes& writes) : m_writes(writes) { writes.begin_write_all(); }
        ~WriteAll() { m_writes.end_write_all(); }
        WriteAll(const WriteAll&) = delete;
        WriteAll& operator=(const WriteAll&) = delete;

    private:
        Writes& m_writes;
    };

    // No Write of the key, and no WriteAll, begins while one exists. Nothing may be waited for, or written, while one
    // is held.
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
    // By slot: the number of the last write that ended.
    using LastWrites = std::array<Ticket, k_slots>;

    void begin_write(const Key& key);
    void end_write(const Key& key, bool changed) noexcept;
    bool begin_copy(const Key& key, Ticket read);
    void end_copy(const Key& key) noexcept;
    void begin_write_all();
    void end_write_all() noexcept;
    using UnderWay = std::unordered_map<Key, State>;
    void forget_if_idle(UnderWay::iterator known) noexcept;
    void after_fork() noexcept;

    std::atomic<Ticket> m_now{0};  // how many writes have ended; changed under the lock
    base::ForkSafeMutex m_mutex{base::LockLevel::engine};
    std::condition_variable_any m_changed;
    std::size_t m_waiting = 0;
    UnderWay m_keys;
    std::size_t m_copies = 0;
    bool m_writing_all = false;
    Ticket m_last_write_all = 0;
    std::unique_ptr<LastWrites> m_last_writes;  // from the first write on: a write that ends must not allocate
    const base::ForkGuard m_at_fork{[this] { after_fork(); }};
};

}  // namespace hearth::engine

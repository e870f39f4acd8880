#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace hearth::engine {

// Limits how many compiles run at once. A compile inside a compile, on the same thread, needs no place of its own.
class CompileLimit {
public:
    explicit CompileLimit(std::uint32_t most) : m_most(most) {}

    // Whether the calling thread runs a compile, of this cache or another.
    static bool compiles_here() noexcept;

    // Waits for a place, and holds it.
    class Place {
    public:
        explicit Place(CompileLimit& limit) : m_limit(limit) { limit.enter(); }
        ~Place() { m_limit.leave(); }
        Place(const Place&) = delete;
        Place& operator=(const Place&) = delete;

    private:
        CompileLimit& m_limit;
    };

    // While one exists, the place of the compile on this thread, if there is one, is free for others. Create one to
    // wait for another's compile: that compile may be the next in line for our place.
    class StepAside {
    public:
        StepAside();
        ~StepAside();
        StepAside(const StepAside&) = delete;
        StepAside& operator=(const StepAside&) = delete;

    private:
        CompileLimit* m_place;
    };

private:
    void enter();
    void leave();
    void take_place();
    void give_place();

    const std::uint32_t m_most;  // 0: no limit
    std::mutex m_mutex;
    std::condition_variable m_left;
    std::uint32_t m_inside = 0;
};

}  // namespace hearth::engine

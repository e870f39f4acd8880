#pragma once

#include "hearth/artifact.hpp"
#include "hearth/key.hpp"
#include "hearth/result.hpp"

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <unordered_map>

namespace hearth::engine {

using SharedArtifact = std::shared_ptr<const Artifact>;

// One make at a time for each key in this process: who comes first makes, the others wait for what it gives.
// Thread safety: all of it. No lock is held while anything is made.
class Flights {
public:
    class Flight {
    public:
        // What the maker gave, or none when `deadline` passed first.
        std::optional<Result<SharedArtifact>> wait(std::optional<std::chrono::steady_clock::time_point> deadline);
        bool is_mine() const { return m_owner == std::this_thread::get_id(); }

    private:
        friend class Flights;
        std::mutex m_mutex;
        std::condition_variable m_landed;
        std::optional<Result<SharedArtifact>> m_result;
        std::thread::id m_owner = std::this_thread::get_id();
    };

    struct Boarding {
        std::shared_ptr<Flight> flight;
        bool leader = false;  // the caller makes, and must call land()
    };

    Boarding board(const Key& key);
    void land(const Key& key, const std::shared_ptr<Flight>& flight, Result<SharedArtifact> result);

private:
    std::mutex m_mutex;
    std::unordered_map<Key, std::shared_ptr<Flight>> m_flights;
};

// How many may make at once. A make inside a make, on the same thread, needs no place of its own.
class MakerLimit {
public:
    explicit MakerLimit(std::uint32_t most) : m_most(most) {}

    void enter();
    void leave();

    // While one stands, the place of the make on this thread, if there is one, is free for others. Whoever waits for
    // another's make takes one: that make may be the next in line for our place.
    class StepAside {
    public:
        StepAside();
        ~StepAside();
        StepAside(const StepAside&) = delete;
        StepAside& operator=(const StepAside&) = delete;

    private:
        MakerLimit* m_place;
    };

private:
    void take_place();
    void give_place();

    const std::uint32_t m_most;  // 0: as many as ask
    std::mutex m_mutex;
    std::condition_variable m_left;
    std::uint32_t m_inside = 0;
};

}  // namespace hearth::engine

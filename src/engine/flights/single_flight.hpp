#pragma once

#include "engine/flights/waits.hpp"
#include "hearth/artifact.hpp"
#include "hearth/key.hpp"
#include "hearth/result.hpp"

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>

namespace hearth::engine {

using SharedArtifact = std::shared_ptr<const Artifact>;

// One compile at a time for each key in this process: the first caller compiles, and the others wait for its result.
// Thread safety: all of it. No lock is held while anything is compiled.
class SingleFlight {
public:
    class Flight {
    public:
        // The result of the compile, or none when `deadline` passed first.
        std::optional<Result<SharedArtifact>> wait(std::optional<std::chrono::steady_clock::time_point> deadline);
        // What its leader does, for those who wait.
        const waits::Work& work() const { return m_work; }

        explicit Flight(const Key& key) : m_work(key) {}

    private:
        friend class SingleFlight;
        std::mutex m_mutex;
        std::condition_variable m_landed;
        std::optional<Result<SharedArtifact>> m_result;
        waits::Work m_work;
    };

    struct Boarding {
        std::shared_ptr<Flight> flight;
        bool leader = false;  // the caller compiles, and lands the flight with a Landing
    };

    // Lands the leader's flight when it is destroyed, however the leader ends: nobody waits for ever.
    class Landing {
    public:
        Landing(SingleFlight& flights, const Key& key, std::shared_ptr<Flight> flight);
        ~Landing();
        Landing(const Landing&) = delete;
        Landing& operator=(const Landing&) = delete;

        Result<SharedArtifact> result;  // an Error, until the leader has something better

    private:
        SingleFlight& m_flights;
        const Key m_key;
        const std::shared_ptr<Flight> m_flight;
        const waits::Doing m_doing;
    };

    Boarding board(const Key& key);

private:
    void land(const Key& key, Flight& flight, Result<SharedArtifact> result);

    std::mutex m_mutex;
    std::unordered_map<Key, std::shared_ptr<Flight>> m_flights;
};

}  // namespace hearth::engine

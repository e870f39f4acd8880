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

// One compile at a time for each key in this process: the first caller compiles, and the others wait for its result.
// Thread safety: all of it. No lock is held while anything is compiled.
class SingleFlight {
public:
    class Flight {
    public:
        // The result of the compile, or none when `deadline` passed first.
        std::optional<Result<SharedArtifact>> wait(std::optional<std::chrono::steady_clock::time_point> deadline);
        bool is_mine() const { return m_owner == std::this_thread::get_id(); }

    private:
        friend class SingleFlight;
        std::mutex m_mutex;
        std::condition_variable m_landed;
        std::optional<Result<SharedArtifact>> m_result;
        std::thread::id m_owner = std::this_thread::get_id();
    };

    struct Boarding {
        std::shared_ptr<Flight> flight;
        bool leader = false;  // the caller compiles, and must call land()
    };

    Boarding board(const Key& key);
    void land(const Key& key, const std::shared_ptr<Flight>& flight, Result<SharedArtifact> result);

private:
    std::mutex m_mutex;
    std::unordered_map<Key, std::shared_ptr<Flight>> m_flights;
};

}  // namespace hearth::engine

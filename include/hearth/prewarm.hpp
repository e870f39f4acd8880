#pragma once

#include "hearth/api.hpp"
#include "hearth/key.hpp"
#include "hearth/tier.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

// A tier that is filled beforehand, in the background: what is in memory when the first request comes, or when a CUDA
// graph is captured, is neither read nor compiled then. docs/prewarm.md.

namespace hearth {

class Cache;
namespace engine {
class PrewarmJob;
}

enum class Priority : std::uint8_t {
    idle,   // takes only what nobody else wants of processor and disk
    usual,  // as its program does
};

struct PrewarmOptions {
    std::string tier{};                  // to be filled, by its name; empty: the fastest that can be written
    std::uint64_t max_bytes = 0;         // to be stored, and no more; 0: as much as the tier has room for
    std::uint64_t bytes_per_second = 0;  // to be read; 0: no limit
    Priority priority = Priority::idle;
};

// How far it has come. Each entry that is done counts in one of `filled` to `refused`.
struct PrewarmReport {
    std::uint64_t total = 0;  // 0 until it is known
    std::uint64_t done = 0;
    std::uint64_t filled = 0;
    std::uint64_t already_there = 0;  // and intact: what the tier had was read
    std::uint64_t absent = 0;         // nobody who answered has it
    std::uint64_t no_room = 0;        // beyond max_bytes or the tier's limits
    std::uint64_t refused = 0;        // damaged, not signed as it must be, or it could not be stored
    std::uint64_t bytes = 0;          // of `filled`, as the tier counts them
    std::uint64_t bytes_read = 0;     // on the way, also of what was there already and of what was refused
    bool finished = false;            // everything is done
    bool stopped = false;             // it ended before that: stop(), the cache was closed, a fork; or `problems` tells
    std::vector<std::string> problems{};  // a sentence each, the first hundred
};

// Entries on their way into a tier, on a thread of their own.
// It fills: nothing leaves the tier to make room. (Who stores at the same moment may take the room that was left, and
// gaps in device memory may be too small; the tier's policy then decides, as for every store.) No lookup and no use is
// counted, and what a server is asked for takes as long as it takes.
// Thread safety: every function, from any thread. Ownership: the handle's end stops it and waits; when the cache closes
// first that stops it too. In a forked child it is stopped: its thread stays with the parent.
class HEARTH_API Prewarm {
public:
    Prewarm() = default;
    explicit Prewarm(std::shared_ptr<engine::PrewarmJob> job) : m_job(std::move(job)) {}
    Prewarm(Prewarm&&) noexcept = default;
    Prewarm& operator=(Prewarm&&) noexcept;
    Prewarm(const Prewarm&) = delete;
    Prewarm& operator=(const Prewarm&) = delete;
    ~Prewarm();

    // Until it has finished or stopped.
    void wait();
    // Whether it has by then.
    bool wait_for(std::chrono::milliseconds most);
    // Returns at once; the entry that is on its way still arrives.
    void stop();
    PrewarmReport report() const;

private:
    std::shared_ptr<engine::PrewarmJob> m_job;
};

// What any tier has of these, servers included, in their order.
HEARTH_API Prewarm prewarm(Cache& cache, std::vector<Key> keys, PrewarmOptions options = {});
// Everything in a tier that need not be one of the cache's, such as bundle(path).
HEARTH_API Prewarm prewarm(Cache& cache, const TierSpec& source, PrewarmOptions options = {});
// What was used most, the most used first: admin::hottest().
HEARTH_API Prewarm prewarm_hottest(Cache& cache, std::size_t count, PrewarmOptions options = {});

}  // namespace hearth

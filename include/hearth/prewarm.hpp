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

// Fills a tier beforehand, in the background. What is in memory when the first request comes, or when a CUDA graph is
// captured, need not be read or compiled then. docs/prewarm.md.

namespace hearth {

class Cache;
namespace engine {
class PrewarmJob;
}

enum class Priority : std::uint8_t {
    idle,   // uses the processor and the disk only when nobody else wants them
    usual,  // uses them as the rest of the program does
};

struct PrewarmOptions {
    std::string tier{};                  // the name of the tier to fill; empty: the fastest that can be written
    std::uint64_t max_bytes = 0;         // to store at most; 0: as much as the tier has room for
    std::uint64_t bytes_per_second = 0;  // to read at most; 0: no limit
    Priority priority = Priority::idle;
};

// How far it has come. Each entry that is done counts in one of `filled` to `refused`.
struct PrewarmReport {
    std::uint64_t total = 0;  // 0 until it is known
    std::uint64_t done = 0;
    std::uint64_t filled = 0;
    std::uint64_t already_there = 0;  // and intact: what the tier had was read
    std::uint64_t absent = 0;         // no tier that could be asked has it
    std::uint64_t no_room = 0;        // beyond max_bytes or the tier's limits
    std::uint64_t refused = 0;        // damaged, not signed as it must be, or it could not be stored
    std::uint64_t bytes = 0;          // of `filled`, as the tier counts them
    std::uint64_t bytes_read = 0;     // in all, including entries that were there already or were refused
    bool finished = false;            // everything is done
    bool stopped = false;             // it ended early: stop(), the cache was closed, a fork, or what `problems` says
    std::vector<std::string> problems{};  // a sentence each, the first hundred
};

// Entries on their way into a tier, on a thread of their own.
// It only fills free room and evicts nothing. (But another store may take that room at the same moment, or the gaps in
// device memory may be too small; then the tier's policy decides, as for every store.) No lookup and no use is counted,
// and the timeout of lookups does not apply to servers here.
// Thread safety: every function, from any thread. Ownership: destroying the handle stops it and waits for its end;
// closing the cache stops it too. In a forked child it is stopped: its thread stays with the parent.
class HEARTH_API Prewarm {
public:
    Prewarm() = default;
    explicit Prewarm(std::shared_ptr<engine::PrewarmJob> job) : m_job(std::move(job)) {}
    Prewarm(Prewarm&&) noexcept = default;
    Prewarm& operator=(Prewarm&&) noexcept;
    Prewarm(const Prewarm&) = delete;
    Prewarm& operator=(const Prewarm&) = delete;
    ~Prewarm();

    // Waits until it has finished or stopped.
    void wait();
    // The same for at most this long; returns whether it has finished or stopped.
    bool wait_for(std::chrono::milliseconds most);
    // Returns at once. The entry that is on its way still arrives.
    void stop();
    PrewarmReport report() const;

private:
    std::shared_ptr<engine::PrewarmJob> m_job;
};

// Brings these keys, in their order, from whichever tier has them, servers included.
HEARTH_API Prewarm prewarm(Cache& cache, std::vector<Key> keys, PrewarmOptions options = {});
// Brings everything from a tier that need not be one of the cache's, such as bundle(path).
HEARTH_API Prewarm prewarm(Cache& cache, const TierSpec& source, PrewarmOptions options = {});
// Brings the entries that were used most, the most used first: admin::hottest().
HEARTH_API Prewarm prewarm_hottest(Cache& cache, std::size_t count, PrewarmOptions options = {});

}  // namespace hearth

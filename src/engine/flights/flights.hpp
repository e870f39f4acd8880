#pragma once

#include "base/fork.hpp"
#include "base/workers.hpp"
#include "engine/flights/compile_limit.hpp"
#include "engine/flights/single_flight.hpp"
#include "engine/options.hpp"
#include "engine/stack/stack.hpp"
#include "engine/stats/journal.hpp"
#include "engine/stats/statistics.hpp"

#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <optional>

namespace hearth::engine {

// A compile, what it is for, and why it is needed.
struct Order {
    Key key{};
    Bytes request{};  // Request::encoding(), or empty
    CompileFunction compile;
    GetOptions options{};
    Miss why = Miss::absent;
};

// What happens on a miss: there is one compile for a key in this process, on this machine and in the fleet; no more
// compiles run at once than are allowed; and failures are remembered.
// Thread safety: all of it. No lock is held over a compile.
//   flights.cpp  flights in this process, compiling, remembering
//   waiting.cpp  flights of other processes and other nodes
//   racing.cpp   quick compiles, which do not wait for servers
class Flights {
public:
    Flights(const EngineOptions& options, Stack& stack, Statistics& statistics, Journal& journal);
    ~Flights();
    Flights(const Flights&) = delete;
    Flights& operator=(const Flights&) = delete;

    // The lookup of a caller who can compile. If that is expected to be quick, compile_missing() asks the servers.
    Lookup look(const Key& key, const GetOptions& options, Reach& asked);
    // Call it after look() found nothing, or found a compile that failed.
    Result<Lookup> compile_missing(Order order, Lookup found, Reach asked);
    std::future<Result<Lookup>> compile_later(Order order);
    Result<Lookup> compile_past_the_cache(const CompileFunction& compile, const Metadata& metadata, Timed timed);
    Status may_compile(const Metadata& metadata);
    // Counts what its caller has compiled, in the time that its cost says.
    void compiled_by_caller(const Key& key, const Artifact& artifact);

    void run_later(std::function<void(const Status&)> work);
    bool races() const noexcept;

private:
    using Deadline = std::optional<std::chrono::steady_clock::time_point>;

    Result<Lookup> fly(const Order& order, const Deadline& deadline);
    Result<Lookup> race(const Order& order);
    bool is_quick(const GetOptions& options) const;
    Result<SharedArtifact> lead(const Order& order, CompiledBy& by);
    std::unique_ptr<hearth::Flight> wait_for_machine(const Order& order, SharedArtifact& found);
    std::unique_ptr<hearth::Flight> wait_for_fleet(const Key& key, SharedArtifact& found);
    Result<SharedArtifact> run(const Order& order);
    void remember(const Order& order, const Artifact& artifact);
    // For people who look at it later, as admin::events() and, after hearth::ready(), the log.
    void tell_of_compile(Event event);
    bool is_forbidden() const;
    Error forbidden(const std::string& what);
    template <std::uint64_t Stats::*k_member>
    void count(const GetOptions& options, std::uint64_t by = 1)
    {
        if (options.kind == EntryKind::result)
            m_stack.counters().add<k_member>(by);
    }

    void prepare();
    void after_fork();

    const EngineOptions& m_options;
    Stack& m_stack;
    Statistics& m_statistics;
    Journal& m_journal;
    const Tiers& m_tiers;
    // Whether it was told that work threw.
    const std::shared_ptr<std::atomic<bool>> m_told = std::make_shared<std::atomic<bool>>(false);
    // By pointer: a forked child abandons these, because their threads did not come along, and creates new ones.
    std::unique_ptr<SingleFlight> m_flights;
    std::unique_ptr<CompileLimit> m_limit;
    std::unique_ptr<base::Workers> m_workers;
    const base::ForkGuard m_fork_guard{[this] { after_fork(); }};
};

}  // namespace hearth::engine

// What a remote reports about itself, and the check of its present state.

#include "base/clock.hpp"
#include "base/error.hpp"
#include "remote/store_tier.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <unistd.h>

namespace hearth::remotes {

std::string_view to_string(State state)
{
    switch (state) {
    case State::unused:
        return "unused";
    case State::working:
        return "working";
    case State::down:
        return "down";
    }
    return "unused";
}

Report StoreTier::report()
{
    Report report;
    const WriteBehind::Waiting waiting = m_writes.waiting();
    m_breaker.look();
    report.state = m_breaker.is_down()                      ? State::down
                   : m_used.load(std::memory_order_relaxed) ? State::working
                                                            : State::unused;
    report.server = m_url.shown();
    report.fetched_bytes = m_fetched_bytes.load(std::memory_order_relaxed);
    report.sent = m_sent.load(std::memory_order_relaxed);
    report.sent_bytes = m_sent_bytes.load(std::memory_order_relaxed);
    report.queued = waiting.entries;
    report.queued_bytes = waiting.bytes;
    report.dropped = m_dropped.load(std::memory_order_relaxed);
    report.untrusted = m_untrusted.load(std::memory_order_relaxed);
    report.corrupt = m_corrupt.load(std::memory_order_relaxed);
    report.leases = m_leases_taken.load(std::memory_order_relaxed);
    report.lease_waits = m_lease_waits.load(std::memory_order_relaxed);
    const std::lock_guard lock(m_mutex);
    report.problem = report.state == State::down && m_problem.empty() ? std::string(k_found_by_another) : m_problem;
    report.lease_problem = m_lease_problem;
    return report;
}

std::string StoreTier::note()
{
    const Report now = report();
    std::string note = now.server;
    if (now.state == State::down)
        note += fmt::format(", down: {}", now.problem);
    else if (RemoteStore* const store = m_store.load(std::memory_order_acquire); store && store->is_partly_down())
        note += fmt::format(", partly down: {}", now.problem);
    if (now.queued != 0)
        note += fmt::format(", {} on their way out", now.queued);
    if (now.dropped != 0)
        note += fmt::format(", {} dropped", now.dropped);
    if (now.untrusted != 0)
        note += fmt::format(", {} not trusted", now.untrusted);
    return note;
}

// Ignores the breaker: the caller wants to know the present state.
Check StoreTier::check(std::uint64_t samples)
{
    Check check;
    const Result<RemoteStore*> store = opened();
    check.server = m_url.shown();
    if (!store) {
        check.reachable = store.error();
        check.writable = store.error();
        return check;
    }
    const std::string probe =
        fmt::format("probe-{}", Key::of("probe", base::monotonic_ns(), ::getpid()).hex().substr(0, 16));
    const Bytes bytes = Bytes::copy_of(std::string(1024, 'p'));
    const Result<std::optional<Bytes>> first = settled((*store)->get(probe, read_deadline()));
    check.reachable = first.ok() ? Status{} : Status{first.error()};
    check.server = (*store)->description();
    if (!first)
        check.writable = first.error();
    else if (m_options.access == Access::read_only)
        check.writable = error(Code::unavailable, "it is configured to be read only");
    else
        check.writable = (*store)->put(probe, bytes, write_deadline());
    std::vector<std::uint64_t> times;
    for (std::uint64_t i = 0; i < samples && check.reachable.ok(); ++i) {
        const std::uint64_t start = base::monotonic_ns();
        const Result<std::optional<Bytes>> got = (*store)->get(probe, read_deadline());
        times.push_back(base::monotonic_ns() - start);
        if (!got)
            check.reachable = got.error();
    }
    std::sort(times.begin(), times.end());
    check.samples = times.size();
    if (!times.empty()) {
        check.p50_us = static_cast<double>(times[times.size() / 2]) * 1e-3;
        check.p99_us = static_cast<double>(times[times.size() * 99 / 100]) * 1e-3;
    }
    if (check.writable.ok()) {
        static_cast<void>((*store)->remove(probe, write_deadline()));
        const std::string lease = probe + ".lease";
        const Result<bool> taken =
            (*store)->put_if_absent(lease, bytes, std::chrono::milliseconds(1000), write_deadline());
        check.leases = taken.ok() && *taken;
        if (check.leases)
            static_cast<void>((*store)->remove_if(lease, bytes, write_deadline()));
    }
    return check;
}

}  // namespace hearth::remotes

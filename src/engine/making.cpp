// What happens on a miss: single flight in this process, then on this machine, then the make itself.

#include "base/clock.hpp"
#include "engine/engine.hpp"
#include "engine/make_errors.hpp"

#include <algorithm>
#include <exception>
#include <fmt/format.h>

namespace hearth::engine {

namespace {

// A failure that came as an Error is kept in these sections, so that it comes back as one.
constexpr std::string_view k_error_section = "hearth.error";
constexpr std::string_view k_log_section = "log";
const std::string k_made = "made";

Artifact failure_artifact(const Error& error)
{
    Artifact artifact;
    artifact.status = 1;
    artifact.sections.push_back({std::string(k_error_section), Bytes::copy_of(error.message)});
    artifact.sections.push_back({std::string(k_log_section), Bytes::copy_of(error.log)});
    return artifact;
}

Result<Artifact> call(const Maker& make)
try {
    return make();
} catch (const std::exception& thrown) {
    return Error{Code::io, fmt::format("The maker threw: {}", thrown.what()), {}};
} catch (...) {
    return Error{Code::io, "The maker threw something that is no std::exception.", {}};
}

// An artifact of a failure that came as an Error is that Error again; any other is an answer.
Result<Lookup> answer_with(ArtifactLease artifact, const std::string* tier)
{
    if (const Section* error = artifact->find(k_error_section); error && artifact->failed())
        return Error{Code::make_failed, std::string(error->data.text()), std::string(artifact->text(k_log_section))};
    return Lookup(std::move(artifact), tier);
}

}  // namespace

Result<Lookup> Engine::make_missing(const Key& key, const Bytes& request, const Maker& make, const GetOptions& options,
                                    Lookup found)
{
    if (found) {
        m_counters.add(Count::failures_replayed);
        return answer_with(ArtifactLease(found.share()), found.tier_name());
    }
    if (m_options.making == Making::forbidden && options.counted) {
        return forbidden(fmt::format("Entry {} is missing ({})", key.hex(), to_string(found.why())));
    }
    const auto because = [why = found.why()](Result<Lookup> made) {
        if (made.ok())
            made->m_why = why;
        return made;
    };
    if (found.m_servers_unasked)
        return race(key, request, make, options, found.why());
    if (options.deadline.count() <= 0)
        return because(fly(key, request, make, options, std::nullopt));

    // The maker cannot be stopped, but its caller can go: it runs elsewhere and finishes for whoever asks next.
    const auto deadline = std::chrono::steady_clock::now() + options.deadline;
    auto promise = std::make_shared<std::promise<Result<Lookup>>>();
    std::future<Result<Lookup>> future = promise->get_future();
    const base::Workers::StepAside thread(*m_workers);
    m_workers->submit([this, key, request, make, options, deadline, promise](base::Workers::Call call_kind) {
        if (call_kind == base::Workers::Call::run)
            promise->set_value(fly(key, request, make, options, deadline));
        else
            promise->set_value(closed());
    });
    const MakerLimit::StepAside place;
    if (future.wait_until(deadline) != std::future_status::ready)
        return out_of_time(options.deadline);
    return because(future.get());
}

Error Engine::forbidden(const std::string& what)
{
    m_counters.add(Count::forbidden);
    return {Code::make_forbidden,
            fmt::format("{} and this cache may not make it. Fill the cache beforehand, or allow making "
                        "(HEARTH_FORBID_MAKE=0).",
                        what),
            {}};
}

Result<Lookup> Engine::make_past(const Maker& make, const Metadata& metadata)
{
    m_counters.miss(Miss::bypassed);
    if (m_options.making == Making::forbidden)
        return forbidden("This cannot be cached,");
    m_maker_limit->enter();
    Result<SharedArtifact> made = run_maker(nullptr, {}, make, {.metadata = metadata});
    m_maker_limit->leave();
    if (!made)
        return made.error();
    Result<Lookup> answer = answer_with(ArtifactLease(*std::move(made)), &k_made);
    if (answer.ok())
        answer->m_why = Miss::bypassed;
    return answer;
}

void Engine::run_later(std::function<void(const Status&)> work)
{
    m_workers->submit([work = std::move(work)](base::Workers::Call call_kind) {
        work(call_kind == base::Workers::Call::run ? Status{} : Status{closed()});
    });
}

std::future<Result<Lookup>> Engine::make_later(const Key& key, const Bytes& request, Maker make,
                                               const GetOptions& options)
{
    auto promise = std::make_shared<std::promise<Result<Lookup>>>();
    std::future<Result<Lookup>> future = promise->get_future();
    Lookup found = look(key, options);
    if (found && !found->failed()) {
        promise->set_value(std::move(found));
        return future;
    }
    auto shared = std::make_shared<Lookup>(std::move(found));
    m_workers->submit(
        [this, key, request, make = std::move(make), options, promise, shared](base::Workers::Call call_kind) {
            if (call_kind == base::Workers::Call::run)
                promise->set_value(make_missing(key, request, make, options, std::move(*shared)));
            else
                promise->set_value(closed());
        });
    return future;
}

Result<Lookup> Engine::fly(const Key& key, const Bytes& request, const Maker& make, const GetOptions& options,
                           const Deadline& deadline)
{
    const auto answer = [](SharedArtifact artifact, bool coalesced) {
        Result<Lookup> answered = answer_with(ArtifactLease(std::move(artifact)), &k_made);
        if (answered.ok())
            answered->m_coalesced = coalesced;
        return answered;
    };
    const Flights::Boarding boarding = m_flights->board(key);
    if (!boarding.leader) {
        if (boarding.flight->is_mine())
            return Error{
                Code::invalid_argument,
                fmt::format("The maker of entry {} asks for that same entry: it would wait for itself.", key.hex()),
                {}};
        count(Count::coalesced, options);
        const MakerLimit::StepAside place;
        std::optional<Result<SharedArtifact>> landed = boarding.flight->wait(deadline);
        if (!landed)
            return out_of_time(options.deadline);
        if (!*landed)
            return landed->error();
        return answer(**std::move(landed), true);
    }
    bool coalesced = false;
    Result<SharedArtifact> made = make_as_leader(key, request, make, options, coalesced);
    m_flights->land(key, boarding.flight, made);
    if (!made)
        return made.error();
    return answer(*std::move(made), coalesced);
}

Result<SharedArtifact> Engine::make_as_leader(const Key& key, const Bytes& request, const Maker& make,
                                              const GetOptions& options, bool& coalesced)
{
    coalesced = true;
    // Somebody may have made it between our lookup and our turn to lead. From here on no deadline counts: a caller who
    // has one waits elsewhere, and others who have none may have joined.
    for (const std::unique_ptr<Tier>& tier : m_tiers) {
        if (tier->traits().remote)
            continue;  // it has just been asked; should another node be at it, its lease tells
        if (const Found found = tier->peek(key)) {
            count(Count::coalesced, options);
            return found.artifact.share();
        }
    }
    SharedArtifact found_meanwhile;
    const std::unique_ptr<hearth::Flight> held = wait_for_machine(key, found_meanwhile);
    std::unique_ptr<hearth::Flight> of_fleet;
    if (!found_meanwhile && options.counted && !is_quick(options))
        of_fleet = wait_for_fleet(key, found_meanwhile);
    if (found_meanwhile) {
        count(Count::coalesced, options);
        return found_meanwhile;
    }
    coalesced = false;
    m_maker_limit->enter();
    Result<SharedArtifact> made = run_maker(&key, request, make, options);
    m_maker_limit->leave();
    return made;
}

std::unique_ptr<hearth::Flight> Engine::wait_for_machine(const Key& key, SharedArtifact& found)
{
    Tier* const keeper = local_keeper(true);
    if (!keeper)
        return nullptr;
    const auto give_up = std::chrono::steady_clock::now() + m_options.flight_wait;
    auto pause = std::chrono::microseconds(500);
    bool waited = false;
    for (;;) {
        FlightAttempt attempt = keeper->try_flight(key);
        const bool held = attempt.outcome == FlightAttempt::Outcome::held;
        // Whoever held it before us has most likely stored what we want.
        if (held || waited) {
            if (const Found there = keeper->peek(key)) {
                found = there.artifact.share();
                return nullptr;
            }
        }
        if (attempt.outcome != FlightAttempt::Outcome::busy)
            return std::move(attempt.flight);
        if (std::chrono::steady_clock::now() >= give_up)
            return nullptr;  // its holder takes too long: make it ourselves rather than wait for ever
        std::this_thread::sleep_for(pause);
        pause = std::min(pause * 2, std::chrono::microseconds(10000));
        waited = true;
    }
}

// The same for other nodes, by the first remote that keeps leases. What another node has made is brought home.
std::unique_ptr<hearth::Flight> Engine::wait_for_fleet(const Key& key, SharedArtifact& found)
{
    const auto give_up = std::chrono::steady_clock::now() + m_options.flight_wait;
    for (std::size_t i = 0; i < m_tiers.size(); ++i) {
        Tier& tier = *m_tiers[i];
        if (!tier.traits().remote)
            continue;
        const auto look = [&] {
            const Found there = tier.peek(key);
            if (there) {
                bring_home(i, key, there.as_entry());
                found = there.artifact.share();
            }
            return static_cast<bool>(there);
        };
        FlightAttempt attempt = tier.try_flight(key);
        auto pause = std::chrono::microseconds(5000);
        for (int asked = 1; attempt.outcome == FlightAttempt::Outcome::busy; ++asked) {
            if (std::chrono::steady_clock::now() >= give_up)
                return nullptr;  // compiled twice rather than waited for without end
            // Thousands may wait for the same: each asks in its own time, and less and less often.
            std::this_thread::sleep_for(pause * 3 / 4 + pause * (base::monotonic_ns() % 512) / 1024);
            pause = std::min(pause * 2, std::chrono::microseconds(500'000));
            if (look())
                return nullptr;
            // The lease is asked for now and then only: its holder may be dead.
            if (asked % 4 == 0)
                attempt = tier.try_flight(key);
        }
        if (attempt.outcome != FlightAttempt::Outcome::held)
            continue;
        // Whoever held it before us, since we looked, has sent what we want.
        if (look())
            return nullptr;
        return std::move(attempt.flight);
    }
    return nullptr;
}

Result<SharedArtifact> Engine::run_maker(const Key* key, const Bytes& request, const Maker& make,
                                         const GetOptions& options)
{
    const std::uint64_t start = base::monotonic_ns();
    Result<Artifact> made = call(make);
    const std::uint64_t spent = base::monotonic_ns() - start;
    count(Count::makes, options);
    count(Count::make_ns_spent, options, spent);

    if (!made && made.error().code != Code::make_failed) {
        count(Count::make_failures, options);
        return made.error();  // out of memory, a missing library: may well succeed next time
    }
    Artifact artifact = made ? *std::move(made) : failure_artifact(made.error());
    if (artifact.cost.count() == 0)
        artifact.cost = std::chrono::nanoseconds(static_cast<std::int64_t>(spent));
    if (artifact.request.empty())
        artifact.request = request;
    if (artifact.metadata == Metadata{})
        artifact.metadata = options.metadata;
    artifact.created = m_clock.now();
    if (artifact.failed()) {
        count(Count::make_failures, options);
        artifact.expires = artifact.created + m_options.failure_ttl;
    }
    if (key && (!artifact.failed() || m_options.failure_ttl.count() > 0))
        remember(*key, artifact, options);
    return {std::make_shared<const Artifact>(std::move(artifact))};
}

void Engine::remember(const Key& key, const Artifact& artifact, const GetOptions& options)
{
    // Where a server won the race while this was being made, it is here already, and the fleet has it.
    if (m_options.race_under.count() > 0 && options.counted)
        if (const Lookup here = peek(key, Reach::this_machine); here && !here->failed())
            return;
    if (const Result<InsertReport> stored = insert(key, artifact, {.counted = options.counted}); !stored)
        count(Count::dropped_stores, options);
}

void Engine::count(Count what, const GetOptions& options, std::uint64_t by)
{
    if (options.counted)
        m_counters.add(what, by);
}

}  // namespace hearth::engine

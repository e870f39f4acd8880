#include "engine/flights/flights.hpp"

#include "base/clock.hpp"
#include "engine/flights/compile_errors.hpp"
#include "hearth/ready.hpp"

#include <algorithm>
#include <thread>

namespace hearth::engine {

namespace {

// An Error of a compile function is kept in these sections, so that it comes back as an Error.
constexpr std::string_view k_error_section = "hearth.error";
constexpr std::string_view k_log_section = "log";

// Nobody waits longer, and later than this is past the end of the clock's nanoseconds.
constexpr std::chrono::milliseconds k_longest_deadline = std::chrono::years(100);
// To write the statistics takes some 0.1 ms.
constexpr std::chrono::milliseconds k_slow_compile{10};

Artifact failure_artifact(const Error& error)
{
    Artifact artifact;
    artifact.status = 1;
    artifact.sections.push_back({std::string(k_error_section), Bytes::copy_of(error.message)});
    artifact.sections.push_back({std::string(k_log_section), Bytes::copy_of(error.log)});
    return artifact;
}

Result<Artifact> call(const CompileFunction& compile)
try {
    return compile();
} catch (...) {
    return error(code_of_thrown(Code::io), "The compile threw: {}", what_was_thrown());
}

// "k.cu (entry 1f3a9c04b7d2)": as `hearth ls` shows it.
std::string name_for_people(const Order& order)
{
    constexpr std::size_t k_shown_digits = 12;
    const std::string key = order.key.hex().substr(0, k_shown_digits);
    const std::string& label = order.options.metadata.label;
    return label.empty() ? "Entry " + key : fmt::format("{} (entry {})", label, key);
}

// For a catch block.
Error not_compiled(const Key& key)
{
    return error(code_of_thrown(Code::unavailable), "Entry {} was not compiled: {}", key.hex(), what_was_thrown());
}

// Turns an artifact that keeps an Error back into that Error; any other artifact is a result.
Result<Lookup> as_result(Lookup lookup)
{
    if (const Section* section = lookup->find(k_error_section); section && lookup->failed())
        return Error{Code::compile_failed, std::string(section->data.text()), std::string(lookup->text(k_log_section))};
    return lookup;
}

// What a worker does for one who waits for it.
struct Task {
    explicit Task(const Key& key) : work(key) {}
    std::promise<Result<Lookup>> promise;
    waits::Work work;
};

// The compile on this thread waits for the task, and is seen to: it holds up nobody, and a circle is an Error.
Result<Lookup> wait_for(const Task& task, std::future<Result<Lookup>>& future)
{
    const base::Workers::StepAside thread;
    const waits::Waiting waiting(task.work);
    if (waiting.refused())
        return *waiting.refused();
    const CompileLimit::StepAside place;
    return future.get();
}

}  // namespace

Flights::Flights(const EngineOptions& options, Stack& stack, Statistics& statistics, Journal& journal)
    : m_options(options), m_stack(stack), m_statistics(statistics), m_journal(journal), m_tiers(stack.tiers())
{
    prepare();
}

Flights::~Flights()
{
    m_workers->stop();
}

void Flights::prepare()
{
    const std::size_t cores = std::max(1U, std::thread::hardware_concurrency());
    m_flights = std::make_unique<SingleFlight>();
    m_limit = std::make_unique<CompileLimit>(m_options.max_parallel_compiles);
    m_workers = std::make_unique<base::Workers>(m_options.max_parallel_compiles != 0 ? m_options.max_parallel_compiles
                                                                                     : std::max<std::size_t>(cores, 4));
}

// Objects of threads that this process does not have, or that wait for such threads, are abandoned and not destroyed:
// destroying them would wait for those threads.
void Flights::after_fork()
{
    static_cast<void>(m_flights.release());
    static_cast<void>(m_limit.release());
    static_cast<void>(m_workers.release());
    base::Workers::forget_this_thread();
    prepare();
}

Result<Lookup> Flights::compile_missing(Order order, Lookup found, Reach asked)
try {
    if (found) {
        m_stack.counters().add<&Stats::failures_replayed>();
        return as_result(std::move(found));
    }
    order.why = found.why();
    if (order.options.kind == EntryKind::result && is_forbidden())
        return forbidden(fmt::format("{} is missing ({})", name_for_people(order), to_string(order.why)));
    // A compile that uses what belongs to its caller cannot be left alone.
    if (order.options.deadline.count() <= 0 && order.options.captures == Captures::owned &&
        order.options.kind == EntryKind::result)
        order.options.deadline = m_options.compile_time_limit;
    order.options.deadline = std::min(order.options.deadline, k_longest_deadline);
    if (asked == Reach::this_machine)
        return race(order);
    if (order.options.deadline.count() <= 0)
        return fly(order, std::nullopt);

    // A compile cannot be stopped, but its caller can leave: it runs on a worker, and finishes for whoever asks next.
    const auto deadline = std::chrono::steady_clock::now() + order.options.deadline;
    const auto task = std::make_shared<Task>(order.key);
    std::future<Result<Lookup>> future = task->promise.get_future();
    const base::Workers::StepAside thread;
    m_workers->submit([this, order, deadline, task](base::Workers::Call call_kind) {
        const waits::Doing doing(task->work);
        if (call_kind == base::Workers::Call::run)
            task->promise.set_value(fly(order, deadline));
        else
            task->promise.set_value(closed());
    });
    const waits::Waiting waiting(task->work);
    if (waiting.refused())
        return *waiting.refused();
    const CompileLimit::StepAside place;
    if (future.wait_until(deadline) != std::future_status::ready)
        return out_of_time(order.options.deadline);
    return future.get();
} catch (...) {
    return not_compiled(order.key);
}

bool Flights::is_forbidden() const
{
    return m_options.compiling == Compiling::forbidden ||
           (m_options.compiling == Compiling::forbidden_after_ready && is_ready());
}

Error Flights::forbidden(const std::string& what)
{
    m_stack.counters().add<&Stats::forbidden>();
    if (m_options.compiling == Compiling::forbidden_after_ready)
        return error(Code::compile_forbidden,
                     "{} and this cache may not compile it after the program said that it is ready, or where this "
                     "process cannot see whether it did. Compile it before, fill the cache beforehand, or allow "
                     "compiling: without --forbid-compile=after-ready, and with HEARTH_FORBID_COMPILE=0.",
                     what);
    return error(Code::compile_forbidden,
                 "{} and this cache may not compile it. Fill the cache beforehand, or allow compiling: without "
                 "--forbid-compile, and with HEARTH_FORBID_COMPILE=0.",
                 what);
}

Result<Lookup> Flights::compile_past_the_cache(const CompileFunction& compile, const Metadata& metadata, Timed timed)
{
    m_stack.counters().miss(Miss::past_the_cache);
    if (is_forbidden())
        return forbidden((metadata.label.empty() ? "This" : metadata.label) + " cannot be cached,");
    const CompileLimit::Place place(*m_limit);
    const Order order{
        .compile = compile, .options = {.metadata = metadata, .timed = timed}, .why = Miss::past_the_cache};
    HEARTH_TRY_SET(SharedArtifact artifact, run(order));
    return as_result(Lookup(ArtifactLease(std::move(artifact)), CompiledBy::this_call, order.why));
}

Status Flights::may_compile(const Metadata& metadata)
{
    if (is_forbidden())
        return forbidden((metadata.label.empty() ? "This" : metadata.label) + " is missing,");
    return {};
}

void Flights::run_later(std::function<void(const Status&)> work)
{
    // The work may close the cache, so what it throws is told without the help of this object.
    m_workers->submit([work = std::move(work), log = m_options.log, told = m_told](base::Workers::Call call_kind) {
        try {
            work(call_kind == base::Workers::Call::run ? Status{} : Status{closed()});
        } catch (...) {
            if (log && !told->exchange(true, std::memory_order_relaxed))
                log(LogLevel::warning, fmt::format("What run_later() was given threw: {}", what_was_thrown()));
        }
    });
}

std::future<Result<Lookup>> Flights::compile_later(Order order)
{
    const auto task = std::make_shared<Task>(order.key);
    std::future<Result<Lookup>> future = task->promise.get_future();
    Reach asked = Reach::everywhere;
    Lookup found = look(order.key, order.options, asked);
    if (found && !found->failed()) {
        task->promise.set_value(std::move(found));
        return future;
    }
    auto shared = std::make_shared<Lookup>(std::move(found));
    const bool in_compile = CompileLimit::compiles_here();
    const auto work = [this, order = std::move(order), asked, task, shared](base::Workers::Call call_kind) {
        const waits::Doing doing(task->work);
        if (call_kind == base::Workers::Call::run)
            task->promise.set_value(compile_missing(order, std::move(*shared), asked));
        else
            task->promise.set_value(closed());
    };
    m_workers->submit(work, in_compile ? base::Workers::Turn::next : base::Workers::Turn::last);
    if (!in_compile)
        return future;
    // Nobody sees who waits for a future. But a deferred one calls us when a compile begins to wait for it.
    return std::async(std::launch::deferred,
                      [task, future = std::move(future)]() mutable { return wait_for(*task, future); });
}

// What is thrown on the way, such as std::bad_alloc, is an Error to the caller, as it is to those who wait for it.
Result<Lookup> Flights::fly(const Order& order, const Deadline& deadline)
try {
    const SingleFlight::Boarding boarding = m_flights->board(order.key);
    if (!boarding.leader) {
        const waits::Waiting waiting(boarding.flight->work());
        if (waiting.refused())
            return *waiting.refused();
        count<&Stats::waited>(order.options);
        const CompileLimit::StepAside place;
        const base::Workers::StepAside worker;
        std::optional<Result<SharedArtifact>> landed = boarding.flight->wait(deadline);
        if (!landed)
            return out_of_time(order.options.deadline);
        HEARTH_TRY(*landed);
        return as_result(Lookup(ArtifactLease(**std::move(landed)), CompiledBy::another, order.why));
    }
    CompiledBy by = CompiledBy::this_call;
    SingleFlight::Landing landing(*m_flights, order.key, boarding.flight);
    landing.result = lead(order, by);
    HEARTH_TRY(landing.result);
    return as_result(Lookup(ArtifactLease(*landing.result), by, order.why));
} catch (...) {
    return not_compiled(order.key);
}

// No deadline counts from here on: a caller with a deadline waits elsewhere, and callers without one may have joined.
Result<SharedArtifact> Flights::lead(const Order& order, CompiledBy& by)
{
    // Somebody may have compiled it between our lookup and our turn to lead. (Servers have just been asked; if another
    // node is compiling it, its lease tells.)
    SharedArtifact meanwhile = m_stack.peek_here(order.key, order.options.kind).share();
    std::unique_ptr<hearth::Flight> of_machine;
    std::unique_ptr<hearth::Flight> of_fleet;
    if (!meanwhile)
        of_machine = wait_for_machine(order, meanwhile);
    if (!meanwhile && order.options.kind == EntryKind::result && !is_quick(order.options))
        of_fleet = wait_for_fleet(order.key, meanwhile);
    if (meanwhile) {
        by = CompiledBy::another;
        count<&Stats::waited>(order.options);
        return meanwhile;
    }
    const CompileLimit::Place place(*m_limit);
    HEARTH_TRY_SET(SharedArtifact artifact, run(order));
    // A result that cannot be stored is a result all the same.
    if (!artifact->failed() || m_options.failure_ttl.count() > 0)
        m_stack.attempt("Storing what was compiled", [&] { remember(order, *artifact); });
    return artifact;
}

Result<SharedArtifact> Flights::run(const Order& order)
{
    const std::uint64_t start = base::monotonic_ns();
    Result<Artifact> compiled = call(order.compile);
    const std::uint64_t spent = base::monotonic_ns() - start;
    // An answer that must not be kept comes as `denied`, and one that was not even tried as `invalid_argument`.
    const Code code = compiled ? Code::compile_failed : compiled.error().code;
    const bool failed = compiled ? compiled->failed() : code != Code::denied && code != Code::invalid_argument;
    if (order.options.kind == EntryKind::result && (compiled || code != Code::invalid_argument)) {
        const Metadata& metadata =
            compiled && compiled->metadata != Metadata{} ? compiled->metadata : order.options.metadata;
        m_stack.counters().compiled(compiler_kind_of(metadata.compiler), spent, order.options.timed);
        tell_of_compile({.key = order.key,
                         .label = metadata.label,
                         .compiler = metadata.compiler,
                         .target = metadata.target,
                         .why = order.why,
                         .took = std::chrono::nanoseconds(spent),
                         .failed = failed});
    }
    if (failed)
        count<&Stats::compile_failures>(order.options);
    if (!compiled && compiled.error().code != Code::compile_failed)
        return compiled.error();  // out of memory, a missing library: may well succeed next time

    Artifact artifact = compiled ? *std::move(compiled) : failure_artifact(compiled.error());
    if (artifact.cost.count() == 0)
        artifact.cost = std::chrono::nanoseconds(static_cast<std::int64_t>(spent));
    if (artifact.request.empty())
        artifact.request = order.request;
    if (artifact.metadata == Metadata{})
        artifact.metadata = order.options.metadata;
    artifact.metadata.writer = HEARTH_VERSION;
    artifact.created = m_options.clock->now();
    if (artifact.failed())
        artifact.expires = artifact.created + m_options.failure_ttl;
    return {std::make_shared<const Artifact>(std::move(artifact))};
}

void Flights::compiled_by_caller(const Key& key, const Artifact& artifact)
{
    const Metadata& metadata = artifact.metadata;
    m_stack.counters().compiled(compiler_kind_of(metadata.compiler),
                                static_cast<std::uint64_t>(std::max<std::int64_t>(artifact.cost.count(), 0)),
                                Timed::by_itself);
    tell_of_compile({.key = key,
                     .label = metadata.label,
                     .compiler = metadata.compiler,
                     .target = metadata.target,
                     .took = artifact.cost,
                     .failed = artifact.failed()});
}

void Flights::tell_of_compile(Event event)
{
    const bool was_slow = event.took >= k_slow_compile;
    m_stack.attempt("Noting a compile", [&] {
        event.when = m_options.clock->now();
        event.after_ready = is_ready();
        if (event.after_ready) {
            m_stack.counters().add<&Stats::compiles_after_ready>();
            if (m_options.log)
                m_options.log(LogLevel::info,
                              fmt::format("{} was compiled after the program was ready: {} ms.",
                                          event.label.empty() ? "Entry " + event.key.hex() : event.label,
                                          std::chrono::duration_cast<std::chrono::milliseconds>(event.took).count()));
        }
        m_journal.note(std::move(event));
    });
    // Beside a slow compile the note costs nothing, and a process that ends by a signal or by _exit() writes no other.
    if (was_slow)
        m_statistics.write();
    else
        m_statistics.write_now_and_then(base::monotonic_ns());
}

void Flights::remember(const Order& order, const Artifact& artifact)
{
    // If a server won the race during this compile, the entry is here already, and the fleet has it.
    if (m_options.race_under.count() > 0 && order.options.kind == EntryKind::result)
        if (const Lookup here = m_stack.peek(order.key, Reach::this_machine); here && !here->failed())
            return;
    if (!m_stack.insert(order.key, artifact, {.kind = order.options.kind}))
        count<&Stats::dropped_stores>(order.options);
}

}  // namespace hearth::engine

#include "modules/variants/tuner.hpp"

#include "base/own_thread.hpp"
#include "base/priority.hpp"
#include "base/workers.hpp"
#include "hearth/lasting.hpp"
#include "modules/compile_here.hpp"
#include "modules/variants/launch_timer.hpp"
#include "modules/variants/machine.hpp"
#include "modules/variants/record.hpp"

#include <algorithm>
#include <optional>
#include <thread>

namespace hearth::cuda {

namespace {

constexpr const char* k_first = "first";

Status launch_as(const LoadedFunction& function, const Relaunch& relaunch, const LaunchConfig& asked,
                 std::span<const Argument> arguments)
{
    if (!relaunch)
        return function.launch(asked, arguments);
    LaunchConfig config;
    try {
        config = relaunch(asked, arguments);
    } catch (...) {
        return Error{Code::invalid_argument, "Its function for the launch has thrown an exception.", {}};
    }
    config.stream = asked.stream;
    return function.launch(config, arguments);
}

}  // namespace

struct Tuner::Candidate {
    std::string name;
    Relaunch relaunch{};
    Function loaded{};  // null: not yet, or dropped
    VariantState state = VariantState::waiting;
    std::string why{};
    bool lasting_reason = true;  // it would be dropped again by the next process
};

struct Tuner::Class {
    Class(const gpu::CudaDriver& its_driver, const gpu::CudaContext& its_context, Shape its_shape,
          const Variants& variants)
        : driver(its_driver), context(its_context), shape(std::move(its_shape)),
          rounds(variants.others.size() + 1, variants.least_gain), timer(its_driver, its_context)
    {
    }

    const gpu::CudaDriver& driver;
    const gpu::CudaContext context;
    const Shape shape;
    std::string text;                    // of the shape
    std::vector<std::string> constants;  // "-DN=4096", by m_constants
    Machine machine;
    Class* next = nullptr;

    // Points into `candidates`. Once set, it changes only to the first, if the driver will not launch what it was.
    std::atomic<const Candidate*> settled{nullptr};
    std::atomic<std::uint64_t> launches{0};
    std::atomic<bool> ready{false};  // everything is compiled, or dropped
    std::atomic<bool> to_store{false};

    mutable std::mutex mutex;           // for what follows, but not for a `loaded` once it is settled or the first's
    std::vector<Candidate> candidates;  // the first, then as declared
    Rounds rounds;
    LaunchTimer timer;
    std::uint64_t settled_after = 0;
    std::optional<VariantRecord> found;  // an earlier process's
};

Tuner::Tuner(Cache& cache, nvrtc::Program program, std::string name, Variants variants, nvrtc::CompileOptions options)
    : m_cache(&lasting(cache)), m_program(std::move(program)), m_name(std::move(name)), m_variants(std::move(variants)),
      m_options(std::move(options)), m_constants(all_constants(m_variants)),
      m_after(m_variants.after_launches.value_or(m_cache->variants_after()))
{
}

Tuner::~Tuner()
{
    for (Class* one = m_classes.load(std::memory_order_acquire); one != nullptr;) {
        Class* const next = one->next;
        delete one;
        one = next;
    }
}

Tuner::Class* Tuner::find(std::uint64_t context, const Shape& shape) const noexcept
{
    // acquire: pairs with the release in add(), so that the class is seen filled in.
    for (Class* one = m_classes.load(std::memory_order_acquire); one != nullptr; one = one->next)
        if (one->context.id == context && one->shape == shape)
            return one;
    return nullptr;
}

Status Tuner::launch(const gpu::CudaDriver& driver, const GetFirst& get_first, const LaunchConfig& asked,
                     std::span<const Argument> arguments)
{
    const std::optional<Shape> shape = shape_of(m_variants, m_constants, asked, arguments);
    unsigned long long context = 0;
    Class* one = nullptr;
    if (shape && driver.context_id != nullptr && driver.context_id(nullptr, &context) == gpu::cuda::k_success)
        one = find(context, *shape);
    if (one == nullptr) {
        const Result<Function> first = get_first();
        HEARTH_TRY(first);
        if (shape && may_measure(driver, asked.stream))
            one = add(driver, *shape, *first, arguments);
        if (one == nullptr)
            return (*first)->launch(asked, arguments);
    }
    // acquire: pairs with the release in settle(): its module is seen loaded.
    if (const Candidate* chosen = one->settled.load(std::memory_order_acquire))
        return launch_settled(*one, *chosen, asked, arguments);
    return launch_unsettled(*one, asked, arguments);
}

Tuner::Class* Tuner::add(const gpu::CudaDriver& driver, const Shape& shape, const Function& first,
                         std::span<const Argument> arguments)
{
    const gpu::CudaContext& context = first->context();
    const std::lock_guard lock(m_adding);
    if (Class* const known = find(context.id, shape))
        return known;
    std::uint32_t count = 0;
    Class* const newest = m_classes.load(std::memory_order_acquire);
    for (const Class* other = newest; other != nullptr; other = other->next)
        count += other->context.id == context.id ? 1 : 0;
    if (count >= m_variants.max_classes)
        return nullptr;

    auto one = std::make_unique<Class>(driver, context, shape, m_variants);
    one->text = describe(shape, m_constants, arguments);
    for (const Constant& constant : m_constants)
        one->constants.push_back(define(constant, arguments[constant.argument]));
    one->machine = current_machine(driver);
    one->candidates.push_back({.name = k_first, .loaded = first});
    for (const Variant& variant : m_variants.others)
        one->candidates.push_back({.name = variant.name, .relaunch = variant.relaunch});
    start_with_record(*one);
    one->next = newest;
    // release: pairs with the acquire in find().
    m_classes.store(one.get(), std::memory_order_release);
    return one.release();
}

void Tuner::start_with_record(Class& one)
{
    const Key question = question_of(record_of(one), m_variants);
    const Lookup kept = m_cache->peek(question, EntryKind::manifest);
    if (!kept)
        return;
    one.found = variant_record(*kept);
    if (!one.found)
        return;
    one.found->launches = 0;
    for (std::size_t i = 0; i < one.candidates.size(); ++i) {
        Candidate& candidate = one.candidates[i];
        if (candidate.name != one.found->winner)
            continue;
        if (i == 0)
            return settle(one, 0);
        Result<Function> loaded = load(one, i);
        if (!loaded) {
            // It won elsewhere and cannot run here: no reason to measure anew in every process.
            candidate.state = VariantState::dropped;
            candidate.why = loaded.error().message;
            one.found.reset();
            return settle(one, 0);
        }
        candidate.loaded = *std::move(loaded);
        return settle(one, i);
    }
    one.found.reset();  // it names none of ours
}

Result<Tuner::Function> Tuner::load(const Class& one, std::size_t candidate) const
{
    const Variant& variant = m_variants.others[candidate - 1];
    nvrtc::Program program = m_program;
    program.options.insert(program.options.end(), variant.options.begin(), variant.options.end());
    for (std::size_t i = 0; i < m_constants.size(); ++i)
        if (std::any_of(variant.constants.begin(), variant.constants.end(), [&](const Constant& constant) {
                return constant.macro == m_constants[i].macro && constant.argument == m_constants[i].argument;
            }))
            program.options.push_back(one.constants[i]);
    return load_program(one.driver, one.context, *m_cache, program, m_options, m_name);
}

void Tuner::begin_compiling(Class& one)
{
    m_cache->run_later([self = shared_from_this(), &one](const Status& status) {
        if (!status.ok())
            return;
        // A thread cannot step forward again, and the cache's workers serve others, too.
        std::thread thread;
        const base::Workers::StepAside waiting;
        if (base::try_start_thread(thread, [&] {
                base::step_back();
                self->compile(one);
            }))
            thread.join();
    });
}

void Tuner::compile(Class& one)
{
    const gpu::ScopedContext context(one.driver, one.context);
    for (std::size_t i = 1; i < m_variants.others.size() + 1 && context.ok(); ++i) {
        Result<Function> loaded = load(one, i);
        const std::lock_guard lock(one.mutex);
        Candidate& candidate = one.candidates[i];
        if (loaded) {
            candidate.loaded = *std::move(loaded);
            continue;
        }
        candidate.state = VariantState::dropped;
        candidate.why = loaded.error().message;
        candidate.lasting_reason = loaded.error().code == Code::compile_failed;
        one.rounds.drop(i);
    }
    // release: pairs with the acquire in launch_unsettled(). A context that is gone has no launches either.
    one.ready.store(context.ok(), std::memory_order_release);
}

// Not while the launch becomes part of a graph, and not after that.
bool Tuner::may_measure(const gpu::CudaDriver& driver, Stream stream)
{
    int status = gpu::cuda::k_capture_none;
    // An error: the default stream while another is captured.
    if (driver.capture_status(stream, &status) != gpu::cuda::k_success)
        return false;
    if (status != gpu::cuda::k_capture_none)
        m_captured.store(true, std::memory_order_relaxed);
    return status == gpu::cuda::k_capture_none;
}

Status Tuner::launch_unsettled(Class& one, const LaunchConfig& asked, std::span<const Argument> arguments)
{
    const auto as_asked = [&] { return one.candidates.front().loaded->launch(asked, arguments); };
    if (m_after == 0 || !may_measure(one.driver, asked.stream) || m_captured.load(std::memory_order_relaxed))
        return as_asked();
    const std::uint64_t count = one.launches.fetch_add(1, std::memory_order_relaxed) + 1;
    if (count == m_after)
        begin_compiling(one);
    // acquire: pairs with the release in compile(): the candidates are seen loaded.
    if (count < m_after || !one.ready.load(std::memory_order_acquire))
        return as_asked();
    const std::unique_lock lock(one.mutex, std::try_to_lock);
    return lock ? launch_timed(one, asked, arguments) : as_asked();
}

Status Tuner::launch_timed(Class& one, const LaunchConfig& asked, std::span<const Argument> arguments)
{
    const LoadedFunction& first = *one.candidates.front().loaded;
    if (one.settled.load(std::memory_order_relaxed) != nullptr)
        return first.launch(asked, arguments);  // by another thread, just now
    one.timer.collect(one.rounds);
    if (one.rounds.settled()) {
        one.settled_after = one.launches.load(std::memory_order_relaxed);
        settle(one, one.rounds.winner());
        store_later(one);
        return first.launch(asked, arguments);
    }
    const std::optional<Rounds::Turn> turn = one.timer.has_room() ? one.rounds.next() : std::nullopt;
    if (!turn)
        return first.launch(asked, arguments);
    const std::optional<LaunchTimer::Events> events = one.timer.begin(asked.stream);
    if (!events) {
        one.rounds.lose(*turn);
        return first.launch(asked, arguments);
    }
    Candidate& candidate = one.candidates[turn->candidate];
    Status launched = launch_as(*candidate.loaded, candidate.relaunch, asked, arguments);
    if (launched.ok()) {
        one.timer.end(*events, *turn, asked.stream, one.rounds);
        return launched;
    }
    one.timer.give_back(*events);
    one.rounds.lose(*turn);
    if (turn->candidate == 0)
        return launched;
    Status instead = first.launch(asked, arguments);
    if (instead.ok()) {  // otherwise the launch was at fault, and not the variant
        candidate.state = VariantState::dropped;
        candidate.why = launched.error().message;
        one.rounds.drop(turn->candidate);
    }
    return instead;
}

Status Tuner::launch_settled(Class& one, const Candidate& chosen, const LaunchConfig& asked,
                             std::span<const Argument> arguments)
{
    Status launched = launch_as(*chosen.loaded, chosen.relaunch, asked, arguments);
    const Candidate& first = one.candidates.front();
    if (launched.ok() || &chosen == &first)
        return launched;
    Status instead = first.loaded->launch(asked, arguments);
    if (instead.ok())
        one.settled.store(&first, std::memory_order_release);
    return instead;
}

// The others are let go. What they launched has ended, since its time is known; and their modules stay loaded while
// there is room.
void Tuner::settle(Class& one, std::size_t winner)
{
    for (std::size_t i = 0; i < one.candidates.size(); ++i) {
        Candidate& candidate = one.candidates[i];
        if (i != 0 && i != winner)
            candidate.loaded.reset();
        if (candidate.state == VariantState::waiting)
            candidate.state = i == winner ? VariantState::winner : VariantState::measured;
    }
    // release: pairs with the acquire in launch().
    one.settled.store(&one.candidates[winner], std::memory_order_release);
}

// On a worker: a launch does not wait for a disk.
void Tuner::store_later(Class& one)
{
    for (const Candidate& candidate : one.candidates)
        if (candidate.state == VariantState::dropped && !candidate.lasting_reason)
            return;  // the next process may have more luck
    one.to_store.store(true, std::memory_order_relaxed);
    m_cache->run_later([self = shared_from_this(), &one](const Status& status) {
        if (status.ok())
            self->store(one);
    });
}

void Tuner::store(Class& one)
{
    if (!one.to_store.exchange(false, std::memory_order_relaxed))
        return;
    std::unique_lock lock(one.mutex);
    const VariantRecord record = record_of(one);
    const std::chrono::nanoseconds cost(static_cast<std::int64_t>(one.rounds.total_ns()));
    lock.unlock();
    static_cast<void>(
        m_cache->insert(question_of(record, m_variants), to_artifact(record, cost), {.kind = EntryKind::manifest}));
}

void Tuner::finish()
{
    for (Class* one = m_classes.load(std::memory_order_acquire); one != nullptr; one = one->next)
        store(*one);
}

VariantRecord Tuner::record_of(const Class& one) const
{
    if (one.found)
        return *one.found;
    VariantRecord record{.kernel = m_name,
                         .entry = one.candidates.front().loaded->module->key,
                         .shape = one.text,
                         .device = one.machine.device,
                         .driver = one.machine.driver,
                         .winner = {},
                         .launches = one.settled_after};
    const Candidate* const settled = one.settled.load(std::memory_order_acquire);
    if (settled != nullptr)
        record.winner = settled->name;
    for (std::size_t i = 0; i < one.candidates.size(); ++i) {
        const Candidate& candidate = one.candidates[i];
        const Rounds::Times times = one.rounds.times(i);
        record.variants.push_back({.name = candidate.name,
                                   .state = candidate.state,
                                   .launches = times.launches,
                                   .median = std::chrono::nanoseconds(static_cast<std::int64_t>(times.median_ns)),
                                   .ratio = times.ratio,
                                   .lowest = times.lowest,
                                   .highest = times.highest,
                                   .why = candidate.why});
    }
    return record;
}

std::vector<VariantRecord> Tuner::records() const
{
    std::vector<VariantRecord> all;
    for (const Class* one = m_classes.load(std::memory_order_acquire); one != nullptr; one = one->next) {
        const std::lock_guard lock(one->mutex);
        all.push_back(record_of(*one));
    }
    std::reverse(all.begin(), all.end());
    return all;
}

}  // namespace hearth::cuda

#include "modules/variants/tuner.hpp"

#include "base/background.hpp"
#include "hearth/lasting.hpp"
#include "modules/compile_here.hpp"
#include "modules/variants/launch_timer.hpp"
#include "modules/variants/machine.hpp"
#include "modules/variants/record.hpp"

#include <algorithm>
#include <condition_variable>
#include <optional>

namespace hearth::cuda {

namespace {

constexpr const char* k_first = "first";
// What a first launch waits for a winner that is known: enough for one on this machine's disk.
constexpr std::chrono::milliseconds k_wait_for_record(10);

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

    // For what follows, but not for a `loaded` once it is settled or the first's. A program's Relaunch is called while
    // it is held, and may ask for records.
    mutable std::recursive_mutex mutex;
    std::condition_variable_any looked_up;
    bool is_looked_up = false;          // the record, and its winner loaded
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
    base::Background::of_process().forget(this);
    for (Class* one = m_classes.load(std::memory_order_acquire); one != nullptr; one = one->next)
        store(*one);
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
    if (const Candidate* chosen = one->settled.load(std::memory_order_acquire)) {
        // Others of its launches may be in a graph that runs beside what is measured.
        if (m_unsettled.load(std::memory_order_relaxed) > 0)
            static_cast<void>(may_measure(driver, asked.stream));
        return launch_settled(*one, *chosen, asked, arguments);
    }
    return launch_unsettled(*one, asked, arguments);
}

Tuner::Class* Tuner::add(const gpu::CudaDriver& driver, const Shape& shape, const Function& first,
                         std::span<const Argument> arguments)
{
    const gpu::CudaContext& context = first->context();
    std::unique_lock lock(m_adding, std::try_to_lock);
    if (!lock)
        return nullptr;
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
    for (const Variant& variant : m_variants.others) {
        Candidate candidate{.name = variant.name, .relaunch = variant.relaunch};
        // A record tells them apart by their names.
        if (std::any_of(one->candidates.begin(), one->candidates.end(),
                        [&](const Candidate& other) { return other.name == variant.name; })) {
            candidate.state = VariantState::dropped;
            candidate.why = "Another variant has this name. Give each its own, and none that of the first.";
            one->rounds.drop(one->candidates.size());
        }
        one->candidates.push_back(std::move(candidate));
    }
    one->next = newest;
    Class& added = *one;
    m_unsettled.fetch_add(1, std::memory_order_relaxed);
    // release: pairs with the acquire in find().
    m_classes.store(one.release(), std::memory_order_release);
    lock.unlock();

    base::Background& background = base::Background::of_process();
    const bool is_soon = background.is_idle();  // and does not compile something else
    const bool begun = background.submit(
        this, [this, &added] { start_with_record(added); }, base::Background::Turn::next);
    std::unique_lock class_lock(added.mutex);
    if (begun && is_soon)
        added.looked_up.wait_for(class_lock, k_wait_for_record, [&] { return added.is_looked_up; });
    return &added;
}

void Tuner::start_with_record(Class& one)
{
    std::unique_lock lock(one.mutex);
    const Key question = question_of(record_of(one), m_variants);
    lock.unlock();
    const Lookup kept = m_cache->peek(question, EntryKind::manifest);
    std::optional<VariantRecord> found = kept ? variant_record(*kept) : std::nullopt;
    std::size_t winner = 0;
    while (found && winner < one.candidates.size() && one.candidates[winner].name != found->winner)
        ++winner;
    Result<Function> loaded = Function{};
    const bool is_ours = found && winner < one.candidates.size();  // it may name none of ours
    if (is_ours && winner > 0) {
        const gpu::ScopedContext context(one.driver, one.context);
        if (context.ok())
            loaded = load(one, winner);
    }

    lock.lock();
    one.is_looked_up = true;
    one.looked_up.notify_all();
    if (!is_ours || one.settled.load(std::memory_order_relaxed) != nullptr)
        return;
    if (winner > 0 && (!loaded || *loaded == nullptr)) {
        // It won elsewhere and cannot run here: no reason to measure anew in every process.
        Candidate& candidate = one.candidates[winner];
        candidate.state = VariantState::dropped;
        candidate.why = loaded ? "Its context is gone." : loaded.error().message;
        return settle(one, 0);
    }
    found->launches = 0;
    one.found = std::move(found);
    if (winner > 0)
        one.candidates[winner].loaded = *std::move(loaded);
    settle(one, winner);
}

Result<Tuner::Function> Tuner::load(const Class& one, std::size_t candidate) const
{
    const Variant& variant = m_variants.others[candidate - 1];
    nvrtc::Program program = m_program;
    program.options.insert(program.options.end(), variant.options.begin(), variant.options.end());
    for (std::size_t i = 0; i < m_constants.size(); ++i)
        if (std::any_of(variant.constants.begin(), variant.constants.end(), [&](const Constant& constant) {
                return constant.macro == m_constants[i].macro && constant.argument == m_constants[i].argument &&
                       constant.type == m_constants[i].type;
            }))
            program.options.push_back(one.constants[i]);
    return load_program(one.driver, one.context, *m_cache, program, m_options, m_name);
}

// One variant a piece of work, so that others have their turn.
void Tuner::compile(Class& one, std::size_t candidate)
{
    if (one.settled.load(std::memory_order_acquire) != nullptr)
        return;
    if (candidate == one.candidates.size()) {
        // release: pairs with the acquire in launch_unsettled().
        one.ready.store(true, std::memory_order_release);
        return;
    }
    Candidate& compiled = one.candidates[candidate];
    if (compiled.state != VariantState::dropped) {
        const gpu::ScopedContext context(one.driver, one.context);
        if (!context.ok())
            return;  // there will be no more launches
        Result<Function> loaded = load(one, candidate);
        const std::lock_guard lock(one.mutex);
        if (loaded) {
            compiled.loaded = *std::move(loaded);
        } else {
            compiled.state = VariantState::dropped;
            compiled.why = loaded.error().message;
            compiled.lasting_reason = loaded.error().code == Code::compile_failed;
            one.rounds.drop(candidate);
        }
    }
    base::Background::of_process().submit(this, [this, &one, candidate] { compile(one, candidate + 1); });
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
        base::Background::of_process().submit(this, [this, &one] { compile(one, 1); });
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
        if (!one.timer.is_empty())
            return first.launch(asked, arguments);  // what is let go has to have ended
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
    one.rounds.cancel(*turn);
    if (turn->candidate == 0)
        return launched;
    Status instead = first.launch(asked, arguments);
    if (instead.ok()) {  // otherwise the launch was at fault, and not the variant
        candidate.state = VariantState::dropped;
        candidate.why = launched.error().message;
        candidate.lasting_reason = launched.error().code == Code::invalid_argument;
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
    m_unsettled.fetch_sub(1, std::memory_order_relaxed);
    // release: pairs with the acquire in launch().
    one.settled.store(&one.candidates[winner], std::memory_order_release);
}

// In the background: a launch does not wait for a disk.
void Tuner::store_later(Class& one)
{
    if (one.rounds.gave_up())
        return;
    for (const Candidate& candidate : one.candidates)
        if (candidate.state == VariantState::dropped && !candidate.lasting_reason)
            return;  // the next process may have more luck
    one.to_store.store(true, std::memory_order_relaxed);
    base::Background::of_process().submit(
        this, [this, &one] { store(one); }, base::Background::Turn::next);
}

void Tuner::store(Class& one)
{
    if (!one.to_store.exchange(false, std::memory_order_relaxed))
        return;
    std::unique_lock<std::recursive_mutex> lock(one.mutex);
    const VariantRecord record = record_of(one);
    const std::chrono::nanoseconds cost(static_cast<std::int64_t>(one.rounds.total_ns()));
    lock.unlock();
    static_cast<void>(
        m_cache->insert(question_of(record, m_variants), to_artifact(record, cost), {.kind = EntryKind::manifest}));
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

#include "modules/variants/tuner.hpp"

#include "base/background.hpp"
#include "base/error.hpp"
#include "hearth/lasting.hpp"
#include "modules/variants/tuned_class.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <future>
#include <optional>

namespace hearth::cuda {

namespace {

constexpr const char* k_first = "first";
// What a first launch waits for a winner that is known: enough for one on this machine's disk.
constexpr std::chrono::milliseconds k_wait_for_record(10);

// The launch that a variant needs for what the program asks.
Result<LaunchConfig> config_for(const Relaunch* relaunch, const LaunchConfig& asked,
                                std::span<const Argument> arguments)
{
    if (relaunch == nullptr || !*relaunch)
        return asked;
    LaunchConfig config;
    try {
        config = (*relaunch)(asked, arguments);
    } catch (...) {
        return Error{Code::unavailable, "Its function for the launch has thrown an exception.", {}};
    }
    config.stream = asked.stream;
    return config;
}

void tell_times(const Rounds::Times& times, MeasuredVariant& variant)
{
    variant.launches = times.launches;
    variant.median = std::chrono::nanoseconds(static_cast<std::int64_t>(times.median_ns));
    variant.ratio = times.ratio;
    variant.lowest = times.lowest;
    variant.highest = times.highest;
}

Variants checked(Variants variants)
{
    if (!(variants.least_gain >= 0 && variants.least_gain < 1))
        variants.least_gain = Variants{}.least_gain;
    return variants;
}

}  // namespace

Tuner::Tuner(Cache& cache, nvrtc::Program program, std::string name, Variants variants, nvrtc::CompileOptions options)
    : m_cache(&lasting(cache)), m_program(std::move(program)), m_name(std::move(name)),
      m_variants(checked(std::move(variants))), m_options(std::move(options)), m_constants(all_constants(m_variants)),
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
    // acquire: pairs with the release in settle(): its module is seen loaded.
    const Candidate* const chosen = one != nullptr ? one->settled.load(std::memory_order_acquire) : nullptr;
    // Whatever launch is captured: its graph may run beside what is measured.
    const bool is_plain =
        (chosen != nullptr && m_captured.load(std::memory_order_relaxed)) || is_outside_captures(driver, asked.stream);
    if (chosen != nullptr)
        return launch_settled(*one, *chosen, asked, arguments);
    if (one == nullptr) {
        const Result<Function> first = get_first();
        HEARTH_TRY(first);
        if (shape && is_plain)
            one = add(driver, *shape, *first, arguments);
        if (one == nullptr)
            return (*first)->launch(asked, arguments);
        if (const Candidate* const known = one->settled.load(std::memory_order_acquire))
            return launch_settled(*one, *known, asked, arguments);
    }
    if (is_plain && m_after != 0 && !m_captured.load(std::memory_order_relaxed))
        return launch_unsettled(*one, asked, arguments);
    return one->candidates.front().loaded->launch(asked, arguments);
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
    for (std::size_t i = 0; i < m_constants.size(); ++i)
        one->constants.push_back(shape.misses(i) ? std::string()
                                                 : define(m_constants[i], arguments[m_constants[i].argument]));
    one->machine = current_machine(driver);
    one->candidates.push_back({.told = {.name = k_first, .entry = first->module->key}, .loaded = first});
    for (const Variant& variant : m_variants.others) {
        Candidate candidate{.told = {.name = variant.name}, .relaunch = &variant.relaunch};
        if (std::string mistake = mistake_in(variant, *one); !mistake.empty()) {
            candidate.drop(std::move(mistake), true);
            one->measuring->rounds.drop(one->candidates.size());
        }
        one->candidates.push_back(std::move(candidate));
    }
    one->next = newest;
    Class& added = *one;
    std::future<void> looked_up = added.looked_up.get_future();
    // Before any thread can find the class, so that the record is looked up before variants are compiled.
    base::Background& background = base::Background::of_process();
    const bool is_soon = background.is_idle();  // and does not compile something else
    const bool begun = background.submit(
        this, [this, &added] { start_with_record(added); }, base::Background::Turn::next);
    // release: pairs with the acquire in find().
    m_classes.store(one.release(), std::memory_order_release);
    lock.unlock();
    if (begun && is_soon)
        looked_up.wait_for(k_wait_for_record);
    return &added;
}

// Why a declaration cannot be tried in this class; empty: it can.
std::string Tuner::mistake_in(const Variant& variant, const Class& one) const
{
    if (variant.name.empty())
        return "It has no name, by which a record could tell it from others. Give it one.";
    if (std::any_of(one.candidates.begin(), one.candidates.end(),
                    [&](const Candidate& other) { return other.told.name == variant.name; }))
        return "Another variant has this name. Give each its own, and none that of the first.";
    for (const Constant& constant : variant.constants) {
        const std::size_t place = place_of(constant, m_constants);
        if (place == m_constants.size())
            return fmt::format("The kernel's variants have more than {} constants, and {} is one too many.",
                               k_most_constants, constant.macro);
        if (one.shape.misses(place))
            return fmt::format("Its constant {} is argument {} (counted from 0), which this launch does not have, or "
                               "which is no number of its type.",
                               constant.macro, constant.argument);
    }
    return {};
}

// Notes it where the launch becomes part of a graph.
bool Tuner::is_outside_captures(const gpu::CudaDriver& driver, Stream stream)
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
    const std::uint64_t count = one.launches.fetch_add(1, std::memory_order_relaxed) + 1;
    if (count == m_after)
        base::Background::of_process().submit(this, [this, &one] { compile(one, 1); });
    // acquire: pairs with the release in compile(): the candidates are seen loaded.
    if (count < m_after || !one.ready.load(std::memory_order_acquire))
        return as_asked();
    // acquire, and release below: the next sees what this one has left. Also for a launch of this kernel by the
    // program's own Relaunch.
    if (one.timing.exchange(true, std::memory_order_acquire))
        return as_asked();
    struct Timing {
        std::atomic<bool>& is;
        ~Timing() { is.store(false, std::memory_order_release); }
    } const timing{one.timing};
    return launch_timed(one, asked, arguments);
}

// Whose turn it is; none if nobody's is to be timed now. Settles the class when its time has come.
std::optional<Rounds::Turn> Tuner::next_turn(Class& one)
{
    LetGo let_go;
    {
        const std::lock_guard lock(one.mutex);
        if (one.measuring == nullptr)
            return std::nullopt;
        Rounds& rounds = one.measuring->rounds;
        LaunchTimer& timer = one.measuring->timer;
        timer.collect(rounds);
        if (!rounds.settled())
            return timer.has_room() ? rounds.next() : std::nullopt;
        if (!timer.is_empty())
            return std::nullopt;  // what is let go has to have ended
        one.settled_after = one.launches.load(std::memory_order_relaxed);
        one.cost = std::chrono::nanoseconds(static_cast<std::int64_t>(rounds.total_ns()));
        const bool is_proven = !rounds.gave_up();
        for (std::size_t i = 0; i < one.candidates.size(); ++i)
            tell_times(rounds.times(i), one.candidates[i].told);
        settle(one, rounds.winner(), let_go);
        // What was dropped for a reason that passes may do better in the next process.
        if (is_proven && std::ranges::all_of(one.candidates, &Candidate::lasting_reason))
            one.to_store = record_of(one);
    }
    // In the background: a launch does not wait for a disk.
    base::Background::of_process().submit(
        this, [this, &one] { store(one); }, base::Background::Turn::next);
    return std::nullopt;
}

Status Tuner::launch_timed(Class& one, const LaunchConfig& asked, std::span<const Argument> arguments)
{
    const LoadedFunction& first = *one.candidates.front().loaded;
    const std::optional<Rounds::Turn> turn = next_turn(one);
    if (!turn)
        return first.launch(asked, arguments);
    // Once variants are compiled, only the thread that times a launch settles the class: nothing of it goes meanwhile.
    Candidate& candidate = one.candidates[turn->candidate];
    const Result<LaunchConfig> config = config_for(candidate.relaunch, asked, arguments);
    std::optional<LaunchTimer::Events> events;
    if (config) {
        const std::lock_guard lock(one.mutex);
        events = one.measuring->timer.begin(asked.stream);
        if (!events)
            one.measuring->rounds.lose(*turn);
    }
    if (config && !events)
        return first.launch(asked, arguments);
    Status launched = config ? candidate.loaded->launch(*config, arguments) : Status(config.error());
    {
        const std::lock_guard lock(one.mutex);
        if (launched.ok()) {
            one.measuring->timer.end(*events, *turn, asked.stream, one.measuring->rounds);
        } else {
            if (events)
                one.measuring->timer.give_back(*events);
            one.measuring->rounds.cancel(*turn);
        }
    }
    if (launched.ok() || turn->candidate == 0)
        return launched;
    Status instead = first.launch(asked, arguments);
    if (instead.ok()) {  // otherwise the launch was at fault, and not the variant
        const std::lock_guard lock(one.mutex);
        candidate.drop(launched.error().message, is_lasting(launched.error().code));
        one.measuring->rounds.drop(turn->candidate);
    }
    return instead;
}

Status Tuner::launch_settled(Class& one, const Candidate& chosen, const LaunchConfig& asked,
                             std::span<const Argument> arguments)
{
    const Result<LaunchConfig> config = config_for(chosen.relaunch, asked, arguments);
    Status launched = config ? chosen.loaded->launch(*config, arguments) : Status(config.error());
    const std::size_t place = static_cast<std::size_t>(&chosen - one.candidates.data());
    if (launched.ok() || place == 0)
        return launched;
    const Candidate& first = one.candidates.front();
    Status instead = first.loaded->launch(asked, arguments);
    // For this once, unless the driver would refuse it again.
    if (instead.ok() && is_lasting(launched.error().code)) {
        const std::lock_guard lock(one.mutex);
        one.candidates[place].drop(launched.error().message, true);
        one.winner = 0;
        one.settled.store(&first, std::memory_order_release);
    }
    return instead;
}

// With the lock. The others are let go. What they launched has ended, since its time is known; and their modules stay
// loaded while there is room.
void Tuner::settle(Class& one, std::size_t winner, LetGo& let_go)
{
    one.winner = winner;
    for (std::size_t i = 0; i < one.candidates.size(); ++i) {
        Candidate& candidate = one.candidates[i];
        if (i != 0 && i != winner)
            let_go.functions.push_back(std::move(candidate.loaded));
        if (candidate.told.state == VariantState::waiting)
            candidate.told.state = i == winner ? VariantState::winner : VariantState::measured;
    }
    let_go.measuring = std::move(one.measuring);
    // release: pairs with the acquire in launch().
    one.settled.store(&one.candidates[winner], std::memory_order_release);
}

// With the lock.
VariantRecord Tuner::record_of(const Class& one) const
{
    VariantRecord record{.kernel = m_name,
                         .entry = one.candidates.front().told.entry,
                         .shape = one.text,
                         .device = one.machine.device,
                         .driver = one.machine.driver,
                         .winner = one.measuring ? std::string() : one.candidates[one.winner].told.name,
                         .launches = one.settled_after};
    for (std::size_t i = 0; i < one.candidates.size(); ++i) {
        record.variants.push_back(one.candidates[i].told);
        if (one.measuring)
            tell_times(one.measuring->rounds.times(i), record.variants.back());
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

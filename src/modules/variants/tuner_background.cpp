// What a Tuner does on the background's thread: look records up, compile variants, store what was proven.

#include "base/background.hpp"
#include "modules/compile_here.hpp"
#include "modules/variants/record.hpp"
#include "modules/variants/tuned_class.hpp"

#include <algorithm>
#include <utility>

namespace hearth::cuda {

// What is kept under that question, here or on a server. That counts as a use, and a server's record is copied here.
std::optional<VariantRecord> Tuner::known_record(const VariantRecord& asked)
{
    const Request question = question_of(asked, m_variants);
    const Lookup kept = m_cache->peek(question, EntryKind::manifest);
    std::optional<VariantRecord> found = kept ? variant_record(*kept) : std::nullopt;
    if (!found || !answers(*found, asked))
        return std::nullopt;
    if (!m_cache->touch(question))
        static_cast<void>(m_cache->insert(question, *kept, {.kind = EntryKind::derived}));
    return found;
}

// On the thread that compiles variants, and before it compiles those of this class: nothing is being measured.
void Tuner::start_with_record(Class& one)
{
    LetGo let_go;
    const VariantRecord asked = [&] {
        const std::lock_guard lock(one.mutex);
        return record_of(one);
    }();
    if (const std::optional<VariantRecord> found = known_record(asked)) {
        const auto winner = static_cast<std::size_t>(
            std::ranges::find(found->variants, found->winner, &MeasuredVariant::name) - found->variants.begin());
        Result<Function> loaded = Function{};
        if (winner > 0) {
            const gpu::ScopedContext context(one.driver, one.context);
            if (context.ok())
                loaded = load(one, winner);
        }
        take_over(one, *found, winner, std::move(loaded), let_go);
    }
    one.looked_up.set_value();
}

void Tuner::take_over(Class& one, const VariantRecord& found, std::size_t winner, Result<Function> loaded,
                      LetGo& let_go)
{
    const bool is_there = winner == 0 || (loaded && *loaded != nullptr);
    // A header that only the variant includes has changed since.
    if (is_there && winner > 0 && (*loaded)->module->key != found.variants[winner].entry)
        return;
    const std::lock_guard lock(one.mutex);
    for (std::size_t i = 0; i < one.candidates.size(); ++i)
        one.candidates[i].told = found.variants[i];
    one.candidates.front().told.entry = found.entry;
    if (is_there) {
        if (winner > 0)
            one.candidates[winner].loaded = *std::move(loaded);
        return settle(one, winner, let_go);
    }
    // It won elsewhere and cannot run here: no reason to measure anew in every process.
    one.candidates[winner].drop(loaded ? "Its context is gone." : loaded.error().message, false);
    settle(one, 0, let_go);
}

Result<Tuner::Function> Tuner::load(const Class& one, std::size_t candidate) const
{
    const Variant& variant = m_variants.others[candidate - 1];
    nvrtc::Program program = m_program;
    program.options.insert(program.options.end(), variant.options.begin(), variant.options.end());
    for (const Constant& constant : variant.constants)
        program.options.push_back(one.constants[place_of(constant, m_constants)]);
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
    if (compiled.told.state != VariantState::dropped) {
        const gpu::ScopedContext context(one.driver, one.context);
        if (!context.ok())
            return;  // there will be no more launches
        Result<Function> loaded = load(one, candidate);
        const std::lock_guard lock(one.mutex);
        if (loaded) {
            compiled.loaded = *std::move(loaded);
            compiled.told.entry = compiled.loaded->module->key;
        } else {
            compiled.drop(loaded.error().message, is_lasting(loaded.error().code));
            one.measuring->rounds.drop(candidate);
        }
    }
    base::Background::of_process().submit(this, [this, &one, candidate] { compile(one, candidate + 1); });
}

void Tuner::store(Class& one)
{
    std::unique_lock lock(one.mutex);
    const std::optional<VariantRecord> record = std::exchange(one.to_store, std::nullopt);
    lock.unlock();
    if (record)
        static_cast<void>(m_cache->insert(question_of(*record, m_variants), to_artifact(*record, one.cost),
                                          {.kind = EntryKind::manifest}));
}

}  // namespace hearth::cuda

#include "hearth/command.hpp"

#include "base/error.hpp"
#include "compilers/command/compile.hpp"
#include "compilers/command/kept_files.hpp"
#include "compilers/command/program_names.hpp"
#include "compilers/command/record.hpp"
#include "compilers/command/run_watched.hpp"
#include "compilers/command/step.hpp"
#include "hearth/refuse.hpp"

#include <memory>

namespace hearth::command {

namespace {

Ran straight(const Plan& plan, const Ended& ended, std::string why)
{
    return {.code = ended.code,
            .signal = ended.signal,
            .outcome = Outcome::past_the_cache,
            .reason = std::move(why),
            .label = plan.question.label};
}

}  // namespace

Result<Ran> run(Cache& cache, const Command& command, const RunOptions& options)
{
    const auto plan = std::make_shared<const Plan>(make_plan(cache, command, options));
    const std::string& past = plan->question.why_past_the_cache;
    const Watching watching = watching_of(*plan);
    const Timed timed = options.step_of.empty() ? Timed::by_itself : Timed::within_another;
    // What compiles nothing is none of ours: links, questions for a version, other programs.
    if (plan->call.only_tells || !plan->call.compiles || !cache.has_tiers()) {
        HEARTH_TRY_SET(const Ended ended, run_straight(command.words, watching));
        Ran ran = straight(*plan, ended, past);
        ran.compiles = plan->call.compiles && !plan->call.only_tells;
        return ran;
    }
    const auto done = std::make_shared<Done>();
    if (!past.empty()) {
        const auto compile = [&]() -> Result<Artifact> {
            HEARTH_TRY_SET(const Ended ended, run_straight(command.words, watching));
            *done = {true, ended.code, ended.signal};
            return Artifact{};
        };
        HEARTH_TRY(cache.compile_past_the_cache(
            compile, {.label = plan->question.label, .compiler = std::string(plan->profile->name)}, timed));
        record(cache, *plan, nullptr, *done);
        return straight(*plan, {.code = done->code, .signal = done->signal}, past);
    }
    const Result<compilers::Answer> answered =
        compilers::answer(cache, plan->question, [plan, done, &cache] { return compile_now(cache, *plan, *done); },
                          {.metadata = {.label = plan->question.label, .compiler = std::string(plan->profile->name)},
                           .kind = is_for_this_machine(*plan) ? EntryKind::derived : EntryKind::result,
                           .timed = timed});
    if (!answered) {
        // What a bundle still lacks.
        if (answered.error().code == Code::compile_forbidden)
            record(cache, *plan, nullptr, *done);
        return answered.error();
    }
    const compilers::Answer& answer = *answered;
    Ran ran{.code = done->code,
            .signal = done->signal,
            .reason = answer.why_past_the_cache,
            .label = plan->question.label,
            .key = answer.key,
            .cost = answer.lookup->cost};
    if (done->ran) {
        ran.outcome = answer.why_past_the_cache.empty() ? Outcome::compiled : Outcome::past_the_cache;
        record(cache, *plan, &answer, *done);
        return ran;
    }
    // Where its files cannot be put, the command itself says why.
    if (const Status replayed = replay(*answer.lookup, *plan); !replayed) {
        if (replayed.error().code == Code::corrupt)
            refuse(cache, answer.lookup, answer.key);
        HEARTH_TRY_SET(const Ended ended, run_straight(command.words, watching));
        return straight(*plan, ended, replayed.error().message);
    }
    if (is_for_this_machine(*plan))
        cache.touch(answer.key);  // what is derived is not counted as used
    if (!plan->options.step_of.empty())
        if (auto conditions = compilers::conditions_of(*answer.lookup))
            tell_what_was_answered(*plan, *std::move(conditions));
    record(cache, *plan, &answer, *done);
    ran.outcome = answer.lookup.compiled() ? Outcome::waited : Outcome::hit;
    ran.tier = answer.lookup.tier();
    return ran;
}

bool is_compiler(std::string_view program)
{
    return names_compiler(program);
}

Result<Explanation> explain(Cache& cache, const Command& command, const RunOptions& options)
{
    Plan plan = make_plan(cache, command, options);
    std::string& past = plan.question.why_past_the_cache;
    if (past.empty() && (plan.call.only_tells || !plan.call.compiles))
        past = "it compiles nothing";
    return compilers::explain(cache, plan.question);
}

}  // namespace hearth::command

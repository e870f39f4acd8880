#include "compilers/common/answer.hpp"

#include "base/error.hpp"
#include "base/secrets.hpp"
#include "compilers/common/first_results.hpp"
#include "hearth/admin.hpp"
#include "hearth/refuse.hpp"
#include "watch/manifest.hpp"

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <new>
#include <random>
#include <vector>

namespace hearth::compilers {

namespace {

// Worlds that take turns faster than they can be told apart are compiled without the cache.
constexpr std::uint32_t k_most_numbers = watch::Manifest::k_most_sets;

Key manifest_key(const Question& question)
{
    return Key::of("hearth manifest", question.request.key().hex());
}

Key result_key(const Key& question, std::uint32_t number)
{
    return number == 0 ? question : Key::of("hearth result", question.hex(), std::uint64_t{number});
}

// Where nothing is kept, nothing is watched: nobody knows which files go into what another thread compiles just now. So
// each compiles for itself.
Key nobodys_key()
{
    static constinit std::atomic<std::uint64_t> s_count{0};
    // relaxed: only that no two are equal.
    return Key::of("hearth not shared", s_count.fetch_add(1, std::memory_order_relaxed));
}

// Stamps are those of files of this machine, at these places, for these conditions.
Key stamps_key(const Question& question, const watch::Places& at, std::string_view conditions)
{
    std::string places = at.working_directory + "\n" + at.program_directory;
    for (const std::string& directory : at.directories)
        places.append("\n").append(directory);
    return Key::of("hearth stamps", question.request.key().hex(), places, conditions);
}

// EntryKind::derived: as far as this machine knows.
watch::Manifest manifest_of(Cache& cache, const Question& question, EntryKind kind)
{
    if (const Lookup known = cache.peek(manifest_key(question), kind))
        if (std::optional<watch::Manifest> manifest = watch::decode_manifest(known->bytes()))
            return *std::move(manifest);
    return {};
}

// Only conditions on what a file holds have stamps.
bool have_stamps(const std::vector<watch::Condition>& list)
{
    return std::ranges::find(list, watch::Condition::Kind::content, &watch::Condition::kind) != list.end();
}

// Files that whoever asks finds at the same paths: those of the compiler and of the system.
bool have_fixed_files(const std::vector<watch::Condition>& list)
{
    return std::ranges::any_of(list, [](const watch::Condition& condition) {
        return condition.kind == watch::Condition::Kind::content && condition.spot.from == watch::Spot::From::root;
    });
}

std::optional<watch::Stamps> known_stamps(Cache& cache, const Key& key)
{
    const Lookup known = peek_fact(cache, key);
    return known ? watch::decode_stamps(known->bytes()) : std::nullopt;
}

void keep_stamps(Cache& cache, const Question& question, const Key& key, const watch::Stamps& stamps)
{
    Artifact artifact{watch::encode_stamps(stamps)};
    artifact.metadata.label = "stamps of " + question.label;
    static_cast<void>(cache.insert(key, std::move(artifact), {.kind = EntryKind::derived}));
}

// Those that nobody has kept at these places. A stamp tells what a file is by its identity, whatever path led to it: so
// they are kept for other places too, where a compiler's programs would have to be read again.
void keep_new_stamps(Cache& cache, const Question& question, const std::vector<watch::Condition>& list,
                     std::string_view encoded, const watch::Stamps& stamps)
{
    keep_stamps(cache, question, stamps_key(question, question.places, encoded), stamps);
    if (have_fixed_files(list))
        keep_stamps(cache, question, stamps_key(question, {}, encoded), stamps);
}

// `encoded`: the same conditions.
bool all_hold(Cache& cache, const Question& question, const std::vector<watch::Condition>& list,
              std::string_view encoded, watch::CheckBudget& budget)
try {
    watch::Stamps stamps;
    if (!have_stamps(list))
        return watch::first_broken(list, stamps, question.places, question.request, budget) == list.size();
    const Key key = stamps_key(question, question.places, encoded);
    std::optional<watch::Stamps> known = known_stamps(cache, key);
    const bool known_here = known.has_value();
    if (!known && have_fixed_files(list))
        known = known_stamps(cache, stamps_key(question, {}, encoded));
    if (known)
        stamps = *std::move(known);
    if (watch::first_broken(list, stamps, question.places, question.request, budget) < list.size())
        return false;
    if (stamps.have_changed && known_here)
        keep_stamps(cache, question, key, stamps);
    else if (stamps.have_changed)
        keep_new_stamps(cache, question, list, encoded, stamps);
    return true;
} catch (const std::bad_alloc&) {
    return false;  // it named a file that there is no memory for: the compiler may need less
}

// A question with one result needs no manifest: that result has the first number, and carries its conditions.
// Best effort: a set that another has added at the same moment may be lost, and is found again by its number, which
// numbers_to_try() gives.
void remember(Cache& cache, const Question& question, std::uint32_t number, watch::ConditionSet set, EntryKind kind)
{
    watch::Manifest manifest = manifest_of(cache, question, EntryKind::derived);
    if (number == 0 && manifest.sets.empty())
        return;
    const watch::Manifest before = manifest;
    watch::hide_values(set.conditions, question.request);  // an older version stored them
    manifest.add(std::move(set));
    manifest.next = std::max(manifest.next, number + 1);
    if (manifest == before)
        return;
    Artifact artifact{watch::encode_manifest(manifest)};
    artifact.metadata.label = "conditions of " + question.label;
    static_cast<void>(cache.insert(manifest_key(question), std::move(artifact), {.kind = kind}));
}

constexpr std::uint32_t k_most_checked = 4096;

// Whether a key is that of one of a question's results. A manifest may have been signed here after sets of others had
// joined it, so it is only a hint: nothing is stored under a key because a manifest names it.
bool is_result_of(const Key& question, const Key& key, std::uint32_t next)
{
    for (std::uint32_t number = next; number > 0 && next - number < k_most_checked; --number)
        if (result_key(question, number - 1) == key)
            return true;
    return false;
}

// A result that may be the answer.
struct Candidate {
    std::uint32_t number = 0;
    Key known{};                     // meaningful only with `holding`: the key that a manifest gives
    std::optional<Bytes> holding{};  // conditions that are known to hold

    Key key(const Question& question) const { return holding ? known : result_key(question.request, number); }
};

// The result whose conditions hold here. Then numbers that the manifest should know and does not (its writer lost to
// another, or it is the first number), and those that nobody has used.
std::vector<Candidate> candidates_of(Cache& cache, const Question& question, const watch::Manifest& manifest)
{
    std::vector<Candidate> candidates;
    candidates.reserve(2 * k_most_numbers + 1);
    watch::CheckBudget budget;
    for (const watch::ConditionSet& set : manifest.sets) {
        Bytes encoded = watch::encode_conditions(set.conditions);
        if (all_hold(cache, question, set.conditions, encoded.text(), budget)) {
            candidates.push_back({0, set.result, std::move(encoded)});
            break;
        }
    }
    const std::uint32_t first = manifest.next - std::min(manifest.next, k_most_numbers);
    for (std::uint32_t number = first; number < manifest.next + k_most_numbers; ++number)
        if (manifest.sets.empty() || std::ranges::find(manifest.sets, result_key(question.request, number),
                                                       &watch::ConditionSet::result) == manifest.sets.end())
            candidates.push_back({number});
    return candidates;
}

std::string_view encoded_conditions(const Artifact& result)
{
    return result.text(k_conditions_section);
}

// Whether a result has its sections, each once, and no others.
bool is_result(const Question& question, const Artifact& artifact)
{
    return question.sections.empty() || (artifact.sections.size() == question.sections.size() + 1 &&
                                         artifact.find(k_conditions_section) != nullptr &&
                                         std::ranges::all_of(question.sections, [&](const std::string& name) {
                                             return artifact.find(name) != nullptr;
                                         }));
}

bool holds_as_known(Cache& cache, const Question& question, const Artifact& result, const FirstResults::Known& known,
                    watch::CheckBudget& budget)
{
    const std::string_view encoded = encoded_conditions(result);
    return encoded == known.encoded.text() && all_hold(cache, question, known.conditions, encoded, budget);
}

// A number that whoever wrote entries to keep their readers busy has hardly taken.
std::uint32_t free_number(const watch::Manifest& manifest)
{
    static constexpr std::uint32_t k_range = k_most_checked / 2;
    return manifest.next + k_most_numbers + std::random_device{}() % k_range;
}

// What a compile leaves behind for whoever asked for it. Shared with it: it may end later.
struct Compile {
    explicit Compile(std::function<Result<Watched>()> its_compile) : compile(std::move(its_compile)) {}

    Result<Artifact> run(const Key& question, const Bytes& encoding)
    {
        ran = true;
        HEARTH_TRY_SET(Watched watched, compile());
        watched.artifact.request = encoding;
        std::vector<std::string> shown = base::without_secrets(watched.artifact.metadata.options);
        // A message repeats the word that it is about.
        if (shown != watched.artifact.metadata.options && !watched.artifact.text("log").empty() && watched.depends_on)
            watched.depends_on = error(Code::unavailable, "what it says may hold a secret of its options");
        watched.artifact.metadata.options = std::move(shown);
        Bytes encoded;
        if (watched.depends_on) {
            std::vector<watch::Condition>& list = watched.depends_on->list;
            watch::hide_values(list, question);
            encoded = watch::encode_conditions(list);
            if (list.size() > watch::k_most_conditions || encoded.size() > watch::k_most_bytes_of_conditions)
                watched.depends_on =
                    error(Code::unavailable,
                          "it depends on {} things, told in {} bytes, and {} in {} bytes are the most that are kept",
                          list.size(), encoded.size(), watch::k_most_conditions, watch::k_most_bytes_of_conditions);
        }
        if (!watched.depends_on) {
            const std::lock_guard lock(mutex);
            not_kept = std::make_shared<const Artifact>(std::move(watched.artifact));
            why_not_kept = watched.depends_on.error().message;
            return error(Code::denied, "{}", why_not_kept);
        }
        const std::lock_guard lock(mutex);
        conditions = *std::move(watched.depends_on);
        watched.artifact.sections.push_back({std::string(k_conditions_section), std::move(encoded)});
        return std::move(watched.artifact);
    }

    const std::function<Result<Watched>()> compile;
    std::atomic<bool> ran{false};
    std::mutex mutex;
    std::optional<watch::Conditions> conditions;
    std::shared_ptr<const Artifact> not_kept;
    std::string why_not_kept;
};

Result<Answer> past_the_cache(Cache& cache, const Question& question, const std::function<Result<Watched>()>& compile,
                              std::string why, Timed timed)
{
    const auto artifact = [&compile]() -> Result<Artifact> {
        HEARTH_TRY_SET(Watched watched, compile());
        return std::move(watched.artifact);
    };
    HEARTH_TRY_SET(Lookup lookup, cache.compile_past_the_cache(artifact, {.label = question.label}, timed));
    return Answer{std::move(lookup), std::move(why), {}};
}

}  // namespace

Result<Answer> answer(Cache& cache, const Question& question, std::function<Result<Watched>()> compile,
                      GetOptions options)
{
    if (options.metadata.label.empty())
        options.metadata.label = question.label;
    if (!question.why_past_the_cache.empty())
        return past_the_cache(cache, question, compile, question.why_past_the_cache, options.timed);
    const EntryKind of_manifests = options.kind == EntryKind::derived ? EntryKind::derived : EntryKind::manifest;
    std::string directory = cache.directory();
    std::shared_ptr<const FirstResults::Known> first = FirstResults::of_process().find(question.request, directory);
    watch::Manifest manifest;
    if (!first)
        manifest = manifest_of(cache, question, EntryKind::derived);
    std::vector<Candidate> candidates = candidates_of(cache, question, manifest);
    watch::CheckBudget budget;
    bool has_refused = false;
    for (std::size_t i = 0; i < candidates.size(); ++i) {
        const Candidate candidate = candidates[i];
        const Key key = candidate.key(question);
        const auto state = std::make_shared<Compile>(compile);
        Result<Lookup> found = cache.get_or_compile(
            cache.has_tiers() ? key : nobodys_key(),
            [state, request = question.request.key(), encoding = question.request.encoding(), key,
             is_hint = candidate.holding.has_value(), next = manifest.next]() -> Result<Artifact> {
                if (is_hint && !is_result_of(request, key, next))
                    return error(Code::invalid_argument, "Entry {} is not a result of this question.", key.hex());
                return state->run(request, encoding);
            },
            options);
        const std::lock_guard lock(state->mutex);
        if (!found && candidate.holding && !state->ran && found.error().code == Code::invalid_argument)
            continue;
        if (!found) {
            if (state->not_kept != nullptr)
                return Answer{Lookup(ArtifactLease(state->not_kept), CompiledBy::this_call, Miss::past_the_cache),
                              state->why_not_kept,
                              {}};
            // Whom we waited for could not keep its result.
            if (!state->ran && found.error().code == Code::denied)
                return past_the_cache(cache, question, compile, found.error().message, options.timed);
            return found.error();
        }
        Answer answer{*std::move(found), {}, key};
        if (state->conditions && answer.lookup.compiled() && !answer.lookup.waited()) {
            if (have_stamps(state->conditions->list))
                keep_new_stamps(cache, question, state->conditions->list, answer.lookup->text(k_conditions_section),
                                state->conditions->stamps);
            remember(cache, question, candidate.number, {key, state->conditions->list}, of_manifests);
            return answer;
        }
        if (!is_result(question, *answer.lookup)) {
            refuse(cache, answer.lookup, key);
            continue;
        }
        // The result says itself what it is the answer to.
        if (candidate.holding && answer.lookup->request != question.request.encoding())
            continue;
        // What lies under this key may be another result than the manifest knew.
        if (candidate.holding && answer.lookup->text(k_conditions_section) == candidate.holding->text())
            return answer;
        if (first && holds_as_known(cache, question, *answer.lookup, *first, budget))
            return answer;
        if (std::exchange(first, nullptr))
            FirstResults::of_process().forget(question.request);
        std::optional<std::vector<watch::Condition>> conditions = conditions_of(*answer.lookup);
        const std::string_view encoded = encoded_conditions(*answer.lookup);
        if (conditions && all_hold(cache, question, *conditions, encoded, budget)) {
            if (candidate.number != 0 || !manifest.sets.empty())
                remember(cache, question, candidate.number, {key, *std::move(conditions)}, of_manifests);
            else
                FirstResults::of_process().remember(
                    question.request, std::make_shared<const FirstResults::Known>(FirstResults::Known{
                                          std::move(directory), Bytes::copy_of(encoded), *std::move(conditions)}));
            return answer;
        }
        const bool is_refused = !conditions || budget.is_spent();
        if (is_refused)
            refuse(cache, answer.lookup, key);
        // The first result is of another world, and nothing more is known here. A server may know.
        if ((i == 0 || is_refused) && manifest.sets.empty()) {
            manifest = manifest_of(cache, question, of_manifests);
            if (!manifest.sets.empty()) {
                candidates.resize(i + 1);
                for (Candidate& known : candidates_of(cache, question, manifest))
                    if (known.key(question) != key)
                        candidates.push_back(std::move(known));
            }
        }
        // No other results are looked at but one that a manifest knows to hold.
        if (is_refused && !std::exchange(has_refused, true)) {
            candidates.erase(std::remove_if(candidates.begin() + static_cast<std::ptrdiff_t>(i) + 1, candidates.end(),
                                            [](const Candidate& other) { return !other.holding; }),
                             candidates.end());
            candidates.push_back({free_number(manifest)});
        }
    }
    return past_the_cache(cache, question, compile, "what it reads keeps changing", options.timed);
}

Known look_up(Cache& cache, const Question& question)
{
    Known known;
    watch::Manifest manifest = manifest_of(cache, question, EntryKind::manifest);
    // What no manifest knows of may still be there, as when its manifest was lost.
    for_each_result(cache, question.request, [&](const Key& key, const Lookup& result) {
        if (std::ranges::find(manifest.sets, key, &watch::ConditionSet::result) == manifest.sets.end())
            if (auto conditions = conditions_of(*result))
                manifest.sets.push_back({key, *std::move(conditions)});
    });
    watch::CheckBudget budget;
    for (const watch::ConditionSet& set : manifest.sets) {
        watch::Stamps stamps;
        const std::size_t broken =
            watch::first_broken(set.conditions, stamps, question.places, question.request, budget);
        Lookup result = cache.peek(set.result);
        if (!result || !is_result(question, *result))
            continue;
        if (broken == set.conditions.size())
            return {std::move(result), set.result, {}, {}};
        if (known.why.empty()) {
            known.why = budget.is_spent() ? "its entries name more than is looked at for one question"
                                          : watch::why_broken(set.conditions[broken], question.places);
            known.nearest = std::move(result);
            known.key = set.result;
        }
    }
    return known;
}

Explanation explain(Cache& cache, const Question& question)
{
    Explanation explanation;
    explanation.key = question.request.key();
    explanation.why_past_the_cache = question.why_past_the_cache;
    if (!explanation.why_past_the_cache.empty())
        return explanation;
    const Known known = look_up(cache, question);
    if (!known.result && !known.nearest)
        return hearth::explain(cache, question.request);
    if (known.result) {
        explanation.key = known.key;
        explanation.tiers = admin::where(cache, known.key);
        return explanation;
    }
    // An entry has the same question: what differs is something that its compile asked.
    admin::list(cache, [&](const EntryRow& row) {
        if (row.key == known.key)
            explanation.nearest = row;
        return !explanation.nearest;
    });
    explanation.differences = {{known.why, {}, {}}};
    return explanation;
}

std::optional<std::vector<watch::Condition>> conditions_of(const Artifact& result)
{
    const Section* const section = result.find(k_conditions_section);
    return section != nullptr ? watch::decode_conditions(as_bytes(section->data.text())) : std::nullopt;
}

void for_each_result(Cache& cache, const Key& question, const std::function<void(const Key&, const Lookup&)>& visit)
{
    for (std::uint32_t number = 0; number < k_most_numbers; ++number) {
        const Key key = result_key(question, number);
        const Lookup result = cache.peek(key);
        if (!result)
            return;
        visit(key, result);
    }
}

}  // namespace hearth::compilers

#include "recipes/result.hpp"

#include "format/acceptance.hpp"
#include "format/entry.hpp"
#include "format/signature.hpp"
#include "recipes/contents.hpp"

namespace hearth::recipes {

namespace {

void record_result_in(Recorder& recorder, const Recording& recording, const Key& key, const Artifact& artifact)
{
    const LogSink& log = recording.log;
    if (recorder.stopped())
        return;
    recorder.look_for_the_file();
    if (recorder.claim(key)) {
        // Not compressed: the whole of it is.
        Result<Bytes> entry = format::encode_entry(key, artifact, {.compression = 0});
        if (entry && recording.sign_with && artifact.origin != Origin::elsewhere)
            entry = format::sign_entry(key, *entry, *recording.sign_with);
        format::Recipe recipe;
        recipe.kind = format::RecipeKind::result;
        recipe.key = key;
        recipe.name = artifact.metadata.label;
        recipe.compiler = artifact.metadata.compiler;
        recipe.target = artifact.metadata.target;
        recipe.status = artifact.status;
        recipe.cost = std::max(artifact.cost, std::chrono::nanoseconds(0));
        if (entry)
            recipe.source = base::sha256(*entry);
        if (!entry || !Contents(recorder, log).add(as_text(*entry), recipe.source)) {
            recorder.disclaim(key);
            return;
        }
        recorder.append(format::encode_recipe(recipe), log);
    }
    recorder.use(key, log);
}

}  // namespace

void record_result(const Recording& recording, const Key& key, const Artifact& artifact) noexcept
{
    try {
        record_result_in(Recorder::of(recording.path), recording, key, artifact);
    } catch (...) {
        // Out of memory, or the user's log function threw.
    }
}

std::shared_ptr<Artifact> result_of(const format::Recipe& recipe, const Recipes::Data& data, const Trust& trust)
{
    const std::optional<Bytes> entry = data.content(recipe.source);
    std::shared_ptr<Artifact> artifact = entry ? format::decode_entry(*entry, recipe.key).artifact : nullptr;
    if (artifact && format::is_accepted(trust, recipe.key, *entry))
        artifact->origin = Origin::trusted;
    return artifact;
}

}  // namespace hearth::recipes

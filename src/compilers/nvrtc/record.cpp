#include "compilers/nvrtc/record.hpp"

#include "base/digest.hpp"
#include "recipes/recorder.hpp"
#include "watch/source_file.hpp"

namespace hearth::nvrtc {

namespace {

constexpr int k_compression = 3;

// Writes the contents of a recipe before the recipe. False if one of them could not be read.
class Contents {
public:
    Contents(Recorder& recorder, const LogSink& log) : m_recorder(recorder), m_log(log) {}

    bool add(std::string_view text, const base::Sha256& digest)
    {
        if (text.size() > format::k_max_content)
            return false;
        if (m_recorder.claim(digest))
            m_recorder.append(format::encode_content(digest, as_bytes(text), k_compression), m_log);
        return true;
    }

    bool add(const format::ManifestFile& file)
    {
        if (!m_recorder.claim(file.digest))
            return true;
        const std::optional<watch::SourceFile> source = watch::read_source(file.path);
        // The file has changed since the compile, and its old content is lost.
        if (!source || source->text.size() > format::k_max_content ||
            base::sha256(as_bytes(source->text)) != file.digest) {
            m_recorder.disclaim(file.digest);
            return false;
        }
        m_recorder.append(format::encode_content(file.digest, as_bytes(source->text), k_compression), m_log);
        return true;
    }

private:
    Recorder& m_recorder;
    const LogSink& m_log;
};

bool add_contents(Contents contents, const Program& program, const Plan& plan, const format::Recipe& recipe)
{
    if (!contents.add(program.source, recipe.source))
        return false;
    for (std::size_t i = 0; i < program.headers.size(); ++i)
        if (!contents.add(program.headers[i].content, recipe.given[i].digest))
            return false;
    if (!plan.why_past_the_cache.empty())
        return true;
    for (const format::ManifestFile& file : plan.manifest.files)
        if (!contents.add(file))
            return false;
    return true;
}

void record_in(Recorder& recorder, const LogSink& log, const Program& program, const Plan& plan, const Artifact* result)
{
    if (recorder.stopped())
        return;
    recorder.look_for_the_file();
    format::Recipe recipe;
    const bool past_the_cache = !plan.why_past_the_cache.empty();
    if (past_the_cache)
        recipe = recipe_of(program, plan, result);
    const Key key = past_the_cache ? recipe.key : plan.request.key();
    if (recorder.claim(key)) {
        if (!past_the_cache)
            recipe = recipe_of(program, plan, result);
        if (!add_contents(Contents(recorder, log), program, plan, recipe)) {
            recorder.disclaim(key);
            return;
        }
        recorder.append(format::encode_recipe(recipe), log);
    }
    recorder.use(key, log);
}

}  // namespace

format::Recipe recipe_of(const Program& program, const Plan& plan, const Artifact* result)
{
    format::Recipe recipe;
    recipe.source = base::sha256(as_bytes(program.source));
    recipe.name = program.name;
    recipe.options = plan.options;
    recipe.names = program.name_expressions;
    for (const Header& header : program.headers)
        recipe.given.push_back({header.name, base::sha256(as_bytes(header.content))});
    recipe.target = plan.facts.target;
    recipe.build_id = plan.compiler.build_id;
    recipe.builtins = plan.compiler.builtins;
    recipe.appended = plan.appended_flags;
    recipe.working_directory = plan.working_directory;
    recipe.why_past_the_cache = plan.why_past_the_cache;
    if (result != nullptr) {
        recipe.compiler = result->metadata.compiler;
        recipe.status = result->status;
    }
    if (!plan.why_past_the_cache.empty()) {
        recipe.key = format::key_of_past_the_cache(recipe);
        return recipe;
    }
    recipe.key = plan.request.key();
    recipe.program_path_matters = plan.manifest.program_path_matters;
    recipe.all_paths_matter = plan.manifest.all_paths_matter;
    for (const format::ManifestFile& file : plan.manifest.files)
        recipe.files.push_back({file.path, file.label, file.digest, file.path_matters});
    if (result != nullptr && result->cost.count() > 0)
        recipe.cost = result->cost;
    return recipe;
}

void record(Cache& cache, const Program& program, const Plan& plan, const Artifact* result) noexcept
{
    const Recording* recording = cache.recording();
    if (recording == nullptr)
        return;
    try {
        record_in(Recorder::of(recording->path), recording->log, program, plan, result);
    } catch (...) {
        // Out of memory, or the user's log function threw: no reason for a compile to fail.
    }
}

}  // namespace hearth::nvrtc

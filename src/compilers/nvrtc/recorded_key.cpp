#include "compilers/nvrtc/recorded_key.hpp"

#include "compilers/nvrtc/workplace.hpp"

namespace hearth::nvrtc {

format::Manifest manifest_of(const format::Recipe& recipe)
{
    format::Manifest manifest;
    manifest.program_path_matters = recipe.program_path_matters;
    manifest.all_paths_matter = recipe.all_paths_matter;
    for (const format::RecipeFile& file : recipe.files) {
        format::ManifestFile& found = manifest.files.emplace_back();
        found.path = file.path;
        found.label = file.label;
        found.digest = file.digest;
        found.path_matters = file.path_matters;
    }
    return manifest;
}

Key key_there(const format::Recipe& recipe, Program program, std::vector<std::string> options, const Identity& compiler)
{
    Plan plan;
    program.options = std::move(options);
    plan.options = program.options;
    plan.facts = read_options(plan.options);
    plan.compiler = compiler;
    plan.program_name = program.name.empty() ? std::string(k_unnamed) : program.name;
    plan.appended_flags = recipe.appended;
    plan.working_directory = recipe.working_directory;
    finish_plan(program, manifest_of(recipe), plan);
    return plan.request.key();
}

bool has_its_key(const format::Recipe& recipe, const Program& program)
{
    if (!recipe.why_past_the_cache.empty())
        return format::key_of_past_the_cache(recipe) == recipe.key;
    return key_there(recipe, program, recipe.options, {{}, recipe.build_id, recipe.builtins}) == recipe.key;
}

bool comes_to_its_key(const format::Recipe& recipe, const recipes::Recipes::Data& data)
{
    const Result<Program> program = recorded_program(recipe, data);
    return program && has_its_key(recipe, *program);
}

}  // namespace hearth::nvrtc

namespace hearth::recipes {

Result<Recipes> read(const std::string& path)
{
    return read(path, nvrtc::comes_to_its_key);
}

Result<MergeReport> merge(const std::string& path, const std::vector<std::string>& inputs)
{
    return merge(base::system_files(), path, inputs, nvrtc::comes_to_its_key);
}

}  // namespace hearth::recipes

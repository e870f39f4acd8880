#include "compilers/nvrtc/recorded_key.hpp"

#include "compilers/nvrtc/record.hpp"
#include "compilers/nvrtc/workplace.hpp"

#include <algorithm>
#include <set>

namespace hearth::nvrtc {

Key question_there(const format::Recipe& recipe, Program program, std::vector<std::string> options,
                   const Identity& compiler)
{
    Plan plan;
    program.options = std::move(options);
    plan.options = program.options;
    plan.facts = read_options(plan.options);
    plan.compiler = compiler;
    plan.environment = split_environment(recipe.environment);
    std::erase_if(plan.environment, [](const std::string& one) { return one.starts_with(k_appended_flags); });
    plan.program_name = program.name.empty() ? std::string(k_unnamed) : program.name;
    return request_of(program, plan).key();
}

bool has_its_key(const format::Recipe& recipe, const Program& program)
{
    if (!recipe.why_past_the_cache.empty())
        return format::key_of_past_the_cache(recipe) == recipe.key;
    const Key question = question_there(recipe, program, recipe.options, {{}, recipe.build_id, recipe.builtins});
    return name_of_recipe(question, recipe.files) == recipe.key;
}

bool read_the_files_of(const format::Recipe& recipe, const Artifact& result)
{
    const auto conditions = compilers::conditions_of(result);
    if (!conditions)
        return false;
    std::set<base::Sha256> recorded;
    for (const format::RecipeFile& file : recipe.files)
        recorded.insert(file.digest);
    return std::all_of(conditions->begin(), conditions->end(), [&](const watch::Condition& condition) {
        return condition.kind != watch::Condition::Kind::content || recorded.contains(condition.digest);
    });
}

bool comes_to_its_key(const format::Recipe& recipe, const recipes::Recipes::Data& data)
{
    const Result<Program> program = recorded_program(recipe, data);
    return program && has_its_key(recipe, *program);
}

}  // namespace hearth::nvrtc

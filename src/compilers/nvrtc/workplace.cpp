#include "compilers/nvrtc/workplace.hpp"

#include "base/error.hpp"
#include "compilers/nvrtc/option_facts.hpp"
#include "watch/source_file.hpp"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>

namespace hearth::nvrtc {

namespace {

bool is_absolute(std::string_view path)
{
    return path.starts_with('/');
}

// Found by an absolute path: no tree can replace it.
bool is_fixed(const format::RecipeFile& file)
{
    return file.label.starts_with("A:");
}

// Which paths of a recipe must not change.
struct Staying {
    bool all = false;       // the working directory too
    bool absolute = false;  // absolute paths
    bool program = false;   // the program's name
};

Staying staying(const format::Recipe& recipe, const OptionFacts& facts)
{
    Staying stay;
    stay.all = facts.paths_matter || recipe.all_paths_matter;
    stay.program = stay.all || recipe.program_path_matters;
    const auto holds_place = [&](const format::RecipeFile& file) {
        if (!is_absolute(file.path) || is_fixed(file))
            return false;
        // If the program's name stays, so do its directory and the files there.
        return file.path_matters || (stay.program && is_absolute(recipe.name) && file.label.starts_with("P:"));
    };
    stay.absolute = stay.all || std::any_of(recipe.files.begin(), recipe.files.end(), holds_place);
    stay.program |= stay.absolute;
    return stay;
}

Error not_here(std::string reason)
{
    return error(Code::unavailable, "{}", std::move(reason));
}

Status check_in_place(const format::Recipe& recipe, const format::RecipeFile& file, const Staying& stay)
{
    const std::string path =
        is_absolute(file.path) ? file.path : fmt::format("{}/{}", recipe.working_directory, file.path);
    const std::optional<watch::SourceFile> here = watch::read_source(path);
    if (here && base::sha256(as_bytes(here->text)) == file.digest)
        return {};
    const std::string why = is_fixed(file) ? "it is included by that path"
                            : stay.all     ? "the result may hold the path of every file"
                                           : "the result may hold paths of headers";
    return not_here(fmt::format("{} is {} on this machine, and {}. Build it where that file is as "
                                "it was, as in the image that the program runs in.",
                                path, here ? "another file" : "not", why));
}

Error not_laid_out(const Error& problem)
{
    return error(problem.code, "Its headers cannot be laid out here: {}.", problem.message);
}

}  // namespace

Result<Program> recorded_program(const format::Recipe& recipe, const recipes::Recipes::Data& data)
{
    const auto lost = [](const std::string& what) {
        return error(Code::corrupt, "{} is not in the recipe file, or is damaged. Record it again.", what);
    };
    Program program;
    const std::optional<Bytes> source = data.content(recipe.source);
    if (!source)
        return lost("The source");
    program.source = source->text();
    program.name = recipe.name;
    program.options = recipe.options;
    program.name_expressions = recipe.names;
    for (const format::RecipeHeader& header : recipe.given) {
        const std::optional<Bytes> content = data.content(header.digest);
        if (!content)
            return lost(header.name);
        program.headers.push_back({header.name, std::string(content->text())});
    }
    return program;
}

Result<Workplace> lay_out(const format::Recipe& recipe, const recipes::Recipes::Data& data, recipes::HeaderTree& tree)
{
    Result<Program> program = recorded_program(recipe, data);
    HEARTH_TRY(program);
    // Nothing was compiled, so it is not known which headers it reads: it is built where they are.
    if (recipe.compiler.empty()) {
        std::error_code error;
        if (!std::filesystem::is_directory(recipe.working_directory, error))
            return not_here(fmt::format("It was not compiled when it was recorded, so that its headers are not known, "
                                        "and {}, where it was asked for, is not on this machine. Build it there.",
                                        recipe.working_directory));
        return Workplace{*std::move(program), recipe.working_directory};
    }
    const OptionFacts facts = read_options(recipe.options);
    const Staying stay = staying(recipe, facts);
    recipes::TreePlan plan;
    for (const format::RecipeFile& file : recipe.files) {
        const bool in_place = is_absolute(file.path) ? is_fixed(file) || stay.absolute : stay.all;
        if (const Status placed = in_place ? check_in_place(recipe, file, stay)
                                           : plan.add_file(recipe.working_directory, file.path, file.digest);
            !placed.ok())
            return in_place ? placed.error() : not_laid_out(placed.error());
    }
    const auto moves = [&](const std::string& path) { return is_absolute(path) ? !stay.absolute : !stay.all; };
    // A search below the tree's root must not find files above it.
    recipes::TreePlan within;
    for (const std::string& directory : facts.include_directories)
        if (moves(directory))
            if (const Status placed = within.add_directory(recipe.working_directory, directory); !placed.ok())
                return not_laid_out(placed.error());
    if (const Status placed = within.add_directory(recipe.working_directory, recipe.name); !placed.ok())
        return not_laid_out(placed.error());

    Workplace workplace;
    workplace.working_directory = stay.all ? recipe.working_directory : tree.root() + recipe.working_directory;
    std::error_code error;
    if (stay.all && !std::filesystem::is_directory(workplace.working_directory, error))
        return not_here(fmt::format("It was compiled in {}, which is not on this machine, and the result may hold the "
                                    "path of every file. Build it where that directory is.",
                                    recipe.working_directory));
    if (!stay.all)
        if (const Status placed = plan.add_directory(recipe.working_directory, "."); !placed.ok())
            return not_laid_out(placed.error());
    if (const Status made = tree.become(plan, [&](const base::Sha256& digest) { return data.content(digest); });
        !made.ok())
        return not_laid_out(made.error());

    workplace.program = *std::move(program);
    if (is_absolute(recipe.name) && !stay.program)
        workplace.program.name = tree.root() + recipe.name;
    if (!stay.absolute)
        workplace.program.options = with_directories(recipe.options, [&](const std::string& directory) {
            return is_absolute(directory) ? tree.root() + directory : directory;
        });
    return workplace;
}

}  // namespace hearth::nvrtc

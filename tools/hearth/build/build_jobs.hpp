#pragma once

#include "cache/open_cache.hpp"
#include "hearth/recipes.hpp"
#include "process/scratch_folder.hpp"
#include "terminal/progress_bar.hpp"
#include "json/json.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

// What the commands that compile recipes have in common: 'hearth build' and 'hearth prewarm'.

namespace hearth::cli {

// One recipe for one target, and what came of it.
struct BuildJob {
    std::size_t recipe = 0;
    std::string target;
    recipes::BuildResult result{};
};

// Merges the recipes of some files into one file, "recipes" in the scratch folder, since the recorded files may grow
// while they are read. Warns of damage; fails with a sentence if nothing can be read.
recipes::Recipes gather_recipes(const std::vector<std::string>& files, const ScratchFolder& scratch);
void tell_of_damage(const recipes::Damage& damage);

struct BuildPlace {
    Globals globals;  // says which directory to build into
    Into into = Into::cache;
    std::string over{};                   // a bundle whose entries need not be built; empty: none
    std::string sign_with{};              // the key of the bundle; empty: none, or what the settings say
    std::string library{};                // the libnvrtc to use; empty: as configured
    std::optional<std::uint64_t> jobs{};  // processes at once; none: one a core
    bool nice = false;
    Wanted progress = Wanted::yes;
};

// Compiles, in worker processes and in the order of the jobs, what gather_recipes() has put into the scratch folder.
// Once `enough` returns true, no other job is begun. Jobs that were not begun are removed from the list; returns how
// many they were.
std::size_t run_build_jobs(std::vector<BuildJob>& jobs, const ScratchFolder& scratch, const BuildPlace& place,
                           const std::function<bool()>& enough = {});

using OutcomeCounts = std::map<recipes::Outcome, std::uint64_t>;
OutcomeCounts count_outcomes(const std::vector<BuildJob>& jobs);
// How many jobs left a program without its kernel for a reason that somebody can do something about.
std::uint64_t count_problems(const OutcomeCounts& counts);

// Whether any of them is compiled with NVRTC. Commands are compiled with the programs that they name.
bool needs_nvrtc(const recipes::Recipes& all);
// Warns once if recipes were recorded with another NVRTC than the one they are built with; returns how many.
std::uint64_t tell_of_compiler(const recipes::Recipes& all, const std::string& build);
void print_failed_as_recorded(const OutcomeCounts& counts);
// On standard error: a problem that several targets of a recipe share is told once.
void tell_of_problems(const std::vector<BuildJob>& jobs, const recipes::Recipes& all);
// Adds "failed_as_recorded" and so on: the outcomes that left nothing in a cache.
void add_failures(Json& object, const OutcomeCounts& counts);
Json problems_as_json(const std::vector<BuildJob>& jobs, const recipes::Recipes& all);

}  // namespace hearth::cli

#pragma once

#include "cache/open_cache.hpp"
#include "hearth/recipes.hpp"
#include "process/scratch_folder.hpp"
#include "json/json.hpp"
#include "terminal/progress_bar.hpp"

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

// The recipes of some files in one of our own, "recipes" in the scratch folder: the recorded ones may grow while they
// are read. Warns of what is damaged; fails with a sentence where nothing can be read.
recipes::Recipes gather_recipes(const std::vector<std::string>& files, const ScratchFolder& scratch);
void tell_of_damage(const recipes::Damage& damage);

struct BuildPlace {
    Globals globals;  // whose directory is built into
    Into into = Into::cache;
    std::string over{};                   // a bundle whose entries need not be built; empty: none
    std::string over_signed_by{};         // the key that must have signed it; empty: anybody, or nobody
    std::string library{};                // the libnvrtc to use; empty: as configured
    std::optional<std::uint64_t> jobs{};  // processes at once; none: one a core
    bool nice = false;
    Wanted progress = Wanted::yes;
};

// Compiles in processes of their own, in the order of the jobs, what gather_recipes() has put into the scratch folder.
// Once `enough` says so no other is begun: those that were not are taken from the list, and counted in the answer.
std::size_t run_build_jobs(std::vector<BuildJob>& jobs, const ScratchFolder& scratch, const BuildPlace& place,
                           const std::function<bool()>& enough = {});

using OutcomeCounts = std::map<recipes::Outcome, std::uint64_t>;
OutcomeCounts count_outcomes(const std::vector<BuildJob>& jobs);
// Of those that stand between a program and its kernels, as far as anybody can do something about it.
std::uint64_t count_problems(const OutcomeCounts& counts);

// Says, once, that what is built is for another compiler than the recorded one, and for how many recipes that holds.
std::uint64_t tell_of_compiler(const recipes::Recipes& all, const std::string& build);
void print_failed_as_recorded(const OutcomeCounts& counts);
// On standard error, once for all targets of a recipe that have the same one.
void tell_of_problems(const std::vector<BuildJob>& jobs, const recipes::Recipes& all);
// "failed_as_recorded" and so on: those that are in no cache.
void add_failures(Json& object, const OutcomeCounts& counts);
Json problems_as_json(const std::vector<BuildJob>& jobs, const recipes::Recipes& all);

}  // namespace hearth::cli

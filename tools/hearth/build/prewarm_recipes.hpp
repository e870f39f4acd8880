#pragma once

#include "cache/open_cache.hpp"
#include "hearth/prewarm.hpp"
#include "terminal/progress_bar.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace hearth::cli {

struct PrewarmArguments {
    std::string recipes;
    std::string bundle;
    std::optional<std::uint64_t> top;
    std::optional<std::uint64_t> rate;
    std::optional<std::uint64_t> max_size;
    std::optional<std::uint64_t> jobs;
    bool no_compile = false;
    bool json = false;

    Wanted progress() const { return json ? Wanted::no : Wanted::yes; }
    // For the tier of that name.
    PrewarmOptions options(std::string tier) const;
};

// Waits, with a progress bar, and returns the report. Throws a Failure if nothing could be done at all.
PrewarmReport wait_for(Prewarm prewarm, const std::string& what, const PrewarmArguments& arguments);
void warn_of(const PrewarmReport& report);

// How full the disk tier may become, and what to do about it: "(10 GiB). Raise ...".
std::string how_to_make_room(const TierStatus& disk, const PrewarmArguments& arguments);

int prewarm_from_recipes(const Globals& globals, const PrewarmArguments& arguments);

}  // namespace hearth::cli

#pragma once

#include "hearth/admin.hpp"
#include "terminal/command_line.hpp"

#include <chrono>
#include <optional>
#include <string>

namespace hearth::cli {

// The entries that a command is about: PATTERN and the options beside it. All that is given must hold.
struct Selection {
    std::optional<std::string> pattern{};
    std::optional<std::string> target{};
    std::optional<std::string> compiler{};
    std::optional<std::chrono::milliseconds> older_than{};
    bool failed = false;

    bool is_everything() const { return !pattern && !target && !compiler && !older_than && !failed; }
};

// Adds an argument of this name, and --target, --compiler, --older-than and --failed. Returns the argument.
Option add_selection(Command& command, Selection& selection, const std::string& argument = "PATTERN");

// Returns true for the entries that are meant; empty if all are.
Choose chosen_by(const Selection& selection);

bool anything_matches(Cache& cache, const Choose& choose);
// "Nothing matches "gemm*" --target sm_90", or that the cache is empty.
std::string nothing_matches(const Selection& selection);

// The key of the one entry that is meant: the one that `put` stored under the pattern, or else the only one that
// matches; the pattern's own key if none does. None: the options beside the pattern leave that one out. Fails, and
// lists them, if several match.
std::optional<Key> find_one(Cache& cache, const Selection& selection);

}  // namespace hearth::cli

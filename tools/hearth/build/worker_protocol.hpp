#pragma once

#include "hearth/recipes.hpp"

#include <cstddef>
#include <optional>
#include <string>

// What 'hearth build' and its worker processes say to each other, one JSON object per line:
//
//   a worker, first    {"ready": true}, or {"error": "..."} if it cannot work
//   to a worker        {"recipe": 3, "target": [115, 109, 95, 56, 48]}     the target's bytes, which may be any
//   its answer         {"outcome": 0, "key": "1f3a...", "reason": "", "log": "", "ms": 1.5}

namespace hearth::cli {

// One recipe for one target.
struct WorkerJob {
    std::size_t recipe = 0;
    std::string target;
};

std::string ready_line();
std::string refusal_line(const std::string& why);
// Why the worker cannot work, from its first line; empty: it can.
std::string refusal_in(const std::string& line);

std::string line_of(const WorkerJob& job);
// None if the line is not a job.
std::optional<WorkerJob> job_in(const std::string& line);

std::string line_of(const recipes::BuildResult& result);
// A line that makes no sense gives a failed result that says so.
recipes::BuildResult result_in(const std::string& line);

}  // namespace hearth::cli

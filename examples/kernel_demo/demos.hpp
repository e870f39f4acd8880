#pragma once

#include "hearth/hearth.hpp"
#include "record.hpp"

#include <optional>
#include <vector>

namespace demo {

// Each says what it found, compiles its kernels through the cache and launches them where it can. None where the
// machine has no such compiler; then `why` says what was missing.
std::optional<std::vector<Row>> run_cuda(hearth::Cache& cache, std::string& why);
std::optional<std::vector<Row>> run_opencl(hearth::Cache& cache, std::string& why);

}  // namespace demo

#pragma once

#include "hearth/ptx.hpp"
#include "modules/compile_here.hpp"

#include <string_view>

namespace hearth::cuda {

// PTX, or LTO-IR, where the caller keeps it, with how it is compiled.
struct PtxSource {
    std::string_view text;
    const ptx::Program& rest;  // its `text` is not looked at
    const ptx::CompileOptions& options;
};

// What a module is known by before it is compiled: a digest of everything that is given. The device is not part of it,
// since a module is of one context.
// Cost: one pass over the text, which is not copied.
Key module_key(const PtxSource& source);

// The module in the place's context, which has to be the current one. The cache is asked only if it is not loaded
// there.
Result<ModuleLease> load_ptx(ModuleTable& table, const Place& place, Cache& cache, const PtxSource& source);

}  // namespace hearth::cuda

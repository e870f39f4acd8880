#pragma once

#include "hearth/nvrtc.hpp"
#include "modules/module_table.hpp"

namespace hearth::cuda {

// A program's result, with the code to load from it.
struct CompiledHere {
    nvrtc::Compiled compiled;
    Key key;
    ByteView image;  // of `compiled`: its CUBIN, or its PTX where the target is a virtual architecture
};

// Compiles through the cache for the device of the current context, unless the program says for what. A compile error
// is an Error here.
Result<CompiledHere> compile_here(const gpu::CudaDriver& driver, Cache& cache, nvrtc::Program program,
                                  const nvrtc::CompileOptions& options);

// Loads the program's result into the current context. An entry whose image the driver rejects is removed, compiled
// anew and loaded, once; `compiled` is then what was made.
Result<ModuleLease> load_here(ModuleTable& table, const gpu::CudaDriver& driver, const gpu::CudaContext& context,
                              Cache& cache, const nvrtc::Program& program, const nvrtc::CompileOptions& options,
                              CompiledHere& compiled);

}  // namespace hearth::cuda

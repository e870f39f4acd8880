#pragma once

#include "hearth/nvrtc.hpp"
#include "modules/loaded_function.hpp"

namespace hearth::cuda {

// A program's result, with the code to load from it.
struct CompiledHere {
    nvrtc::Compiled compiled;
    Key key;
    ByteView image;  // of `compiled`: its CUBIN, or its PTX if the target is a virtual one
};

// Compiles through the cache for the device of the current context, unless the program names a target. A compile error
// is an Error here.
Result<CompiledHere> compile_here(const gpu::CudaDriver& driver, Cache& cache, const nvrtc::Program& program,
                                  const nvrtc::CompileOptions& options);

// Loads the program's result into the current context. If the driver rejects an entry's image, the entry is removed,
// and the program is compiled again and loaded, once; `compiled` is then the new result.
Result<ModuleLease> load_here(ModuleTable& table, const gpu::CudaDriver& driver, const gpu::CudaContext& context,
                              Cache& cache, const nvrtc::Program& program, const nvrtc::CompileOptions& options,
                              CompiledHere& compiled);

// The program's kernel, loaded into the current context: by its name in the compiled code, or by a name expression of
// the program.
Result<std::shared_ptr<const LoadedFunction>> load_program(const gpu::CudaDriver& driver,
                                                           const gpu::CudaContext& context, Cache& cache,
                                                           const nvrtc::Program& program,
                                                           const nvrtc::CompileOptions& options,
                                                           const std::string& name);

}  // namespace hearth::cuda

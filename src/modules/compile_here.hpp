#pragma once

#include "hearth/nvrtc.hpp"
#include "hearth/ptx.hpp"
#include "modules/loaded_function.hpp"
#include "modules/place.hpp"

#include <functional>
#include <string>

namespace hearth::cuda {

// A program's result, with the code to load from it.
struct CompiledHere {
    CompileResult compiled;
    std::string log;
    Key key;
    ByteView image;  // of `compiled`: its CUBIN, or its PTX if the target is a virtual one
};

// These compile through the cache for the device of the current context, unless the program names a target. A compile
// error is an Error here.
Result<CompiledHere> compile_here(const gpu::CudaDriver& driver, Cache& cache, const nvrtc::Program& program,
                                  const nvrtc::CompileOptions& options);
// What nvJitLink refuses, the driver is given, unless a linker is named: it may be newer, and know this PTX.
Result<CompiledHere> compile_here(const gpu::CudaDriver& driver, Cache& cache, ptx::Program program,
                                  const ptx::CompileOptions& options);

struct LoadedHere {
    CompiledHere compiled;
    ModuleLease module;
};

// One of the above, of one program, through the cache that it is given.
using CompileThrough = std::function<Result<CompiledHere>(Cache& cache)>;

// Compiles, and loads the result into the current context. If the driver rejects an entry's image, the entry is
// removed, and the program is compiled again and loaded, once.
Result<LoadedHere> load_here(ModuleTable& table, const Place& place, Cache& cache, const CompileThrough& compile);

// The program's kernel, loaded into the current context: by its name in the compiled code, or by a name expression of
// the program.
Result<FunctionLease> load_program(const gpu::CudaDriver& driver, const gpu::CudaContext& context, Cache& cache,
                                   const nvrtc::Program& program, const nvrtc::CompileOptions& options,
                                   const std::string& name);

}  // namespace hearth::cuda

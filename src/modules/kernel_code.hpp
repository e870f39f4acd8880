#pragma once

#include "modules/loaded_function.hpp"
#include "modules/place.hpp"

#include <memory>
#include <string>

namespace hearth::cuda {

// Where a kernel's code comes from: compiled through a cache, or given.
// Thread safety: all of it. Ownership: the cache must outlive it.
class KernelCode {
public:
    virtual ~KernelCode() = default;

    // Loads the code into the place's context, which has to be the current one, unless it is loaded there, and finds
    // the kernel in it.
    virtual Result<FunctionLease> load(const Place& place, const std::string& name) const = 0;
};

std::unique_ptr<const KernelCode> code_of(Cache& cache, nvrtc::Program program, nvrtc::CompileOptions options);
std::unique_ptr<const KernelCode> code_of(Cache& cache, ptx::Program program, ptx::CompileOptions options);
std::unique_ptr<const KernelCode> code_of(ByteView image);

// The program in which a kernel of this name is found: if it is a name expression that the program lacks, it is added.
nvrtc::Program with_name(nvrtc::Program program, const std::string& name);

}  // namespace hearth::cuda

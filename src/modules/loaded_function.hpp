#pragma once

#include "modules/module_table.hpp"

#include <atomic>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace hearth::cuda {

struct LoadedFunction;
// A function, and a lease on its module.
using FunctionLease = std::shared_ptr<const LoadedFunction>;

// A function of a loaded module with what the driver knows of it. Immutable except for `all_shared`.
// Thread safety: all of it. Ownership: its module's, in which it is remembered once it was asked for.
struct LoadedFunction {
    const gpu::CudaDriver* driver = nullptr;
    const LoadedModule* module = nullptr;
    std::string name;    // as it was asked for
    std::string symbol;  // in the module
    CUfunc_st* function = nullptr;
    std::optional<std::vector<std::size_t>> argument_sizes;  // none if the driver cannot tell
    std::uint32_t usual_shared_bytes = 0;                    // dynamic, without asking
    std::uint32_t most_shared_bytes = 0;                     // dynamic, when asked for
    // The driver has been asked for most_shared_bytes. Two threads may both ask: it is the same number.
    mutable std::atomic<bool> all_shared{false};

    // The module's context has to be current. Cost, from the second time on: one allocation, and the driver is not
    // asked.
    static Result<FunctionLease> find(const gpu::CudaDriver& driver, ModuleLease module, std::string_view name,
                                      std::string_view symbol);
    static Loaded handle(FunctionLease function);

    const gpu::CudaContext& context() const noexcept { return module->context; }
    // The module's context has to be current.
    Status launch(const LaunchConfig& config, std::span<const Argument> arguments) const;
};

}  // namespace hearth::cuda

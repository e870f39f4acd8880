#pragma once

#include "modules/module_table.hpp"

#include <atomic>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace hearth::cuda {

// A function of a loaded module with what the driver knows of it. Immutable except for `all_shared`.
// Thread safety: all of it. Ownership: holds a lease on its module.
struct LoadedFunction {
    const gpu::CudaDriver* driver = nullptr;
    ModuleLease module;
    std::string name;  // as it was asked for
    CUfunc_st* function = nullptr;
    std::optional<std::vector<std::size_t>> argument_sizes;  // none if the driver cannot tell
    std::uint32_t usual_shared_bytes = 0;                    // dynamic, without asking
    std::uint32_t most_shared_bytes = 0;                     // dynamic, when asked for
    // The driver has been asked for most_shared_bytes. Two threads may both ask: it is the same number.
    mutable std::atomic<bool> all_shared{false};

    // `symbol` is the function's name in the module. The module's context has to be current.
    static Result<std::shared_ptr<const LoadedFunction>> find(const gpu::CudaDriver& driver, ModuleLease module,
                                                              std::string name, const std::string& symbol);

    const gpu::CudaContext& context() const noexcept { return module->context; }
    // The module's context has to be current.
    Status launch(const LaunchConfig& config, std::span<const Argument> arguments) const;
};

}  // namespace hearth::cuda

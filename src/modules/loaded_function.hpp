#pragma once

#include "modules/module_table.hpp"

#include <atomic>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace hearth::cuda {

// What the driver knows of a function, as far as a launch needs it.
struct LaunchFacts {
    std::optional<std::vector<std::size_t>> argument_sizes;  // none if the driver cannot tell
    std::uint32_t usual_shared_bytes = 0;                    // dynamic, without asking
    std::uint32_t most_shared_bytes = 0;                     // dynamic, when asked for
};

// A function of a loaded module. Immutable except for what its first launches find out.
// Thread safety: all of it. Ownership: holds a lease on its module.
// Cost: find() asks the driver for the function only; the first launch asks for the rest, which many programs that take
// function() never need.
struct LoadedFunction {
    LoadedFunction() = default;
    ~LoadedFunction() { delete facts.load(std::memory_order_acquire); }
    LoadedFunction(const LoadedFunction&) = delete;
    LoadedFunction& operator=(const LoadedFunction&) = delete;

    const gpu::CudaDriver* driver = nullptr;
    ModuleLease module;
    std::string name;  // as it was asked for
    CUfunc_st* function = nullptr;
    // Null until the first launch. Two threads may both ask: the first one's are kept.
    mutable std::atomic<const LaunchFacts*> facts{nullptr};
    // The driver has been asked for most_shared_bytes. Two threads may both ask: it is the same number.
    mutable std::atomic<bool> all_shared{false};

    // `symbol` is the function's name in the module. The module's context has to be current.
    static Result<std::shared_ptr<const LoadedFunction>> find(const gpu::CudaDriver& driver, ModuleLease module,
                                                              std::string name, const std::string& symbol);

    const gpu::CudaContext& context() const noexcept { return module->context; }
    // The module's context has to be current.
    Status launch(const LaunchConfig& config, std::span<const Argument> arguments) const;

private:
    Result<const LaunchFacts*> find_facts() const;
};

}  // namespace hearth::cuda

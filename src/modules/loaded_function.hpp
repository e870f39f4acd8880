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

// What the driver knows of a function, as far as a launch needs it.
struct LaunchFacts {
    std::optional<std::vector<std::size_t>> argument_sizes;  // none if the driver cannot tell
    std::uint32_t usual_shared_bytes = 0;                    // dynamic, without asking
    std::uint32_t most_shared_bytes = 0;                     // dynamic, when asked for
};

struct LoadedFunction;
// A function, and a lease on its module.
using FunctionLease = std::shared_ptr<const LoadedFunction>;

// A function of a loaded module. Immutable except for what its first launches find out.
// Thread safety: all of it. Ownership: its module's, in which it is remembered once it was asked for.
// Cost: find() asks the driver for the function only; the first launch asks for the rest, which many programs that take
// function() never need.
struct LoadedFunction {
    LoadedFunction() = default;
    ~LoadedFunction() { delete facts.load(std::memory_order_acquire); }
    LoadedFunction(const LoadedFunction&) = delete;
    LoadedFunction& operator=(const LoadedFunction&) = delete;

    const gpu::CudaDriver* driver = nullptr;
    const LoadedModule* module = nullptr;
    std::string name;    // as it was asked for
    std::string symbol;  // in the module
    CUfunc_st* function = nullptr;
    // Null until the first launch. Two threads may both ask: the first one's are kept.
    mutable std::atomic<const LaunchFacts*> facts{nullptr};
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

private:
    Result<const LaunchFacts*> find_facts() const;
};

}  // namespace hearth::cuda

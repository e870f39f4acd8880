#include "modules/loaded_function.hpp"

#include "base/error.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace hearth::cuda {

namespace {

constexpr unsigned k_names_shown = 20;
constexpr std::size_t k_usual_arguments = 32;

Status refuse(std::string message)
{
    return error(Code::invalid_argument, "{}", std::move(message));
}

// A value that no device has would reach the driver cut to 32 bits, and then another number of blocks is launched.
Status check_extent(const std::string& kernel, const char* what, const Extent& extent)
{
    for (const auto& [dimension, value] : {std::pair{'x', extent.x}, {'y', extent.y}, {'z', extent.z}})
        if (value < 0 || value > Extent::k_most)
            return refuse(
                fmt::format("Kernel \"{}\" is launched with a {} of {} in {}, and no device takes more than {} "
                            "or less than 1. Give a smaller one, and let each thread do more.",
                            kernel, what, value, dimension, Extent::k_most));
    return {};
}

// The module's functions, for a message to people; empty if the driver cannot tell.
std::vector<std::string> entries_of(const gpu::CudaDriver& driver, CUmod_st* module)
{
    unsigned count = 0;
    if (driver.function_count == nullptr || driver.list_functions == nullptr || driver.function_name == nullptr ||
        driver.function_count(&count, module) != gpu::cuda::k_success)
        return {};
    std::vector<CUfunc_st*> functions(std::min(count, k_names_shown));
    if (driver.list_functions(functions.data(), static_cast<unsigned>(functions.size()), module) !=
        gpu::cuda::k_success)
        return {};
    std::vector<std::string> names;
    for (CUfunc_st* function : functions) {
        const char* name = nullptr;
        if (driver.function_name(&name, function) == gpu::cuda::k_success && name != nullptr)
            names.emplace_back(name);
    }
    return names;
}

Error no_such_entry(const gpu::CudaDriver& driver, CUmod_st* module, const std::string& name, const std::string& symbol)
{
    const std::vector<std::string> entries = entries_of(driver, module);
    return error(Code::not_found,
                 "The module has no kernel \"{}\"{}{}{}. Declare the kernel extern \"C\", give the name that the "
                 "compiler gave it, or put the name among program.name_expressions.",
                 name, symbol != name ? fmt::format(" (\"{}\")", symbol) : "",
                 entries.empty() ? "" : "; it has: ", fmt::join(entries, ", "));
}

std::optional<std::vector<std::size_t>> sizes_of_arguments(const gpu::CudaDriver& driver, CUfunc_st* function)
{
    if (driver.parameter_info == nullptr)
        return std::nullopt;
    std::vector<std::size_t> sizes;
    for (;;) {
        std::size_t offset = 0;
        std::size_t size = 0;
        const int error = driver.parameter_info(function, sizes.size(), &offset, &size);
        if (error == gpu::cuda::k_invalid_value)  // one past the last
            return sizes;
        if (error != gpu::cuda::k_success)
            return std::nullopt;
        sizes.push_back(size);
    }
}

Result<std::unique_ptr<const LoadedFunction>> ask_driver(const gpu::CudaDriver& driver, const LoadedModule& module,
                                                         std::string name, std::string symbol)
{
    const gpu::AllowedInCapture allowed(driver);
    CUfunc_st* function = nullptr;
    int error = driver.function(&function, module.handle, symbol.c_str());
    if (error == gpu::cuda::k_not_found)
        return no_such_entry(driver, module.handle, name, symbol);
    // The driver may put off loading a kernel's code until it is launched, which is too late inside a capture. Drivers
    // before 12.4 have no call for it and need none: CUDA's guide says of their lazy loading that a kernel is loaded
    // when cuModuleGetFunction is called.
    if (error == gpu::cuda::k_success && driver.load_function != nullptr)
        error = driver.load_function(function);
    if (error != gpu::cuda::k_success)
        return hearth::error(Code::unavailable, "The driver does not give kernel \"{}\": {}.", name,
                             describe(driver, error));

    auto found = std::make_unique<LoadedFunction>();
    found->driver = &driver;
    found->module = &module;
    found->name = std::move(name);
    found->symbol = std::move(symbol);
    found->function = function;
    return std::unique_ptr<const LoadedFunction>(std::move(found));
}

}  // namespace

Result<FunctionLease> LoadedFunction::find(const gpu::CudaDriver& driver, ModuleLease module, std::string_view name,
                                           std::string_view symbol)
{
    const auto is_asked_for = [&](const std::unique_ptr<const LoadedFunction>& other) {
        return other->name == name && other->symbol == symbol;
    };
    const std::unique_ptr<const LoadedFunction>* found = module->functions.find(is_asked_for);
    if (found == nullptr) {
        HEARTH_TRY_SET(std::unique_ptr<const LoadedFunction> asked,
                       ask_driver(driver, *module, std::string(name), std::string(symbol)));
        found = &module->functions.add(std::move(asked), is_asked_for);
    }
    const LoadedFunction* const function = found->get();
    return FunctionLease(std::make_shared<ModuleLease>(std::move(module)), function);
}

Loaded LoadedFunction::handle(FunctionLease function)
{
    CUfunc_st* const pointer = function->function;
    return {nullptr, std::move(function), pointer};
}

Result<const LaunchFacts*> LoadedFunction::find_facts() const
{
    const gpu::AllowedInCapture allowed(*driver);
    int static_bytes = 0;
    int dynamic_bytes = 0;
    int most_bytes = 0;
    int device = 0;
    int error = driver->function_attribute(&static_bytes, gpu::cuda::k_static_shared_bytes, function);
    if (error == gpu::cuda::k_success)
        error = driver->function_attribute(&dynamic_bytes, gpu::cuda::k_dynamic_shared_bytes, function);
    if (error == gpu::cuda::k_success)
        error = driver->current_device(&device);
    if (error == gpu::cuda::k_success)
        error = driver->device_attribute(&most_bytes, gpu::cuda::k_most_shared_bytes, device);
    if (error != gpu::cuda::k_success)
        return hearth::error(Code::unavailable, "The driver does not tell what kernel \"{}\" needs: {}.", name,
                             describe(*driver, error));
    auto fresh = std::make_unique<LaunchFacts>();
    fresh->argument_sizes = sizes_of_arguments(*driver, function);
    fresh->usual_shared_bytes = static_cast<std::uint32_t>(std::max(dynamic_bytes, 0));
    fresh->most_shared_bytes = static_cast<std::uint32_t>(std::max(most_bytes - static_bytes, dynamic_bytes));
    const LaunchFacts* there = nullptr;
    // release: pairs with the acquire in launch(). acquire on failure: another thread's are used.
    if (facts.compare_exchange_strong(there, fresh.get(), std::memory_order_release, std::memory_order_acquire))
        there = fresh.release();
    return there;
}

Status LoadedFunction::launch(const LaunchConfig& config, std::span<const Argument> arguments) const
{
    HEARTH_TRY(check_extent(name, "grid", config.grid));
    HEARTH_TRY(check_extent(name, "block", config.block));
    const LaunchFacts* known = facts.load(std::memory_order_acquire);
    if (known == nullptr) {
        HEARTH_TRY_SET(known, find_facts());
    }
    if (known->argument_sizes) {
        const std::vector<std::size_t>& sizes = *known->argument_sizes;
        if (arguments.size() != sizes.size())
            return refuse(fmt::format("Kernel \"{}\" takes {} arguments and was given {}. Give each one it declares.",
                                      name, sizes.size(), arguments.size()));
        for (std::size_t i = 0; i < arguments.size(); ++i)
            if (arguments[i].size != sizes[i])
                return refuse(
                    fmt::format("Argument {} of kernel \"{}\" has {} bytes and was given as {}. Convert it to "
                                "the type that the kernel declares.",
                                i + 1, name, sizes[i], arguments[i].size));
    }
    if (config.shared_bytes > known->usual_shared_bytes) {
        if (config.shared_bytes > known->most_shared_bytes)
            return refuse(
                fmt::format("Kernel \"{}\" is launched with {} bytes of dynamic shared memory, and this device "
                            "has {} for it. Lower shared_bytes.",
                            name, config.shared_bytes, known->most_shared_bytes));
        // acquire: pairs with the release below: a thread that sees it set launches after the driver was asked.
        if (!all_shared.load(std::memory_order_acquire)) {
            if (const int error = driver->set_function_attribute(function, gpu::cuda::k_dynamic_shared_bytes,
                                                                 static_cast<int>(known->most_shared_bytes));
                error != gpu::cuda::k_success)
                return hearth::error(Code::unavailable,
                                     "The driver does not give kernel \"{}\" {} bytes of dynamic shared memory: {}.",
                                     name, known->most_shared_bytes, describe(*driver, error));
            all_shared.store(true, std::memory_order_release);
        }
    }

    std::array<void*, k_usual_arguments> few{};
    std::vector<void*> many;
    void** values = few.data();
    if (arguments.size() > few.size()) {
        many.resize(arguments.size());
        values = many.data();
    }
    for (std::size_t i = 0; i < arguments.size(); ++i)
        values[i] = const_cast<void*>(arguments[i].value);
    const auto size = [](std::int64_t checked) { return static_cast<unsigned>(checked); };
    const int error =
        driver->launch(function, size(config.grid.x), size(config.grid.y), size(config.grid.z), size(config.block.x),
                       size(config.block.y), size(config.block.z), config.shared_bytes, config.stream, values, nullptr);
    if (error == gpu::cuda::k_success)
        return {};
    // These launches will never do, whatever else the device has to do.
    const bool is_wrong = error == gpu::cuda::k_invalid_value || error == gpu::cuda::k_out_of_resources;
    return Error{is_wrong ? Code::invalid_argument : Code::unavailable,
                 fmt::format("Kernel \"{}\" was not launched with a grid of {}x{}x{} blocks of {}x{}x{} threads and {} "
                             "bytes of dynamic shared memory: {}.",
                             name, config.grid.x, config.grid.y, config.grid.z, config.block.x, config.block.y,
                             config.block.z, config.shared_bytes, describe(*driver, error)),
                 {}};
}

}  // namespace hearth::cuda

#include "base/error.hpp"
#include "hearth/cuda.hpp"
#include "hearth/lasting.hpp"
#include "modules/compile_here.hpp"
#include "modules/loaded_function.hpp"
#include "modules/variants/tuner.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace hearth::cuda {

namespace {

bool is_expression(const std::string& name)
{
    return name.find('<') != std::string::npos || name.find("::") != std::string::npos;
}

bool contains(const std::vector<std::string>& list, const std::string& item)
{
    return std::find(list.begin(), list.end(), item) != list.end();
}

Error context_gone(const std::string& name)
{
    return error(Code::unavailable,
                 "The CUDA context that kernel \"{}\" was bound in is gone: destroyed or reset. Bind the kernel "
                 "again.",
                 name);
}

}  // namespace

// The kernel's functions, one for each context it was used in, form a list that only grows. So a reader needs neither a
// lock nor an announcement. Functions of contexts that are gone stay in the list, a hundred bytes each: identities are
// never used again, so nobody finds them.
struct Kernel::State {
    struct Slot {
        std::uint64_t context;
        std::shared_ptr<const LoadedFunction> loaded;
        const Slot* next;
    };

    Cache* cache = nullptr;  // null: an image was given
    nvrtc::Program program;
    nvrtc::CompileOptions options;
    Bytes image;
    Key image_key;
    std::string name;
    std::shared_ptr<Tuner> tuner;  // null: it has no variants
    std::atomic<const Slot*> slots{nullptr};

    State() = default;
    State(const State&) = delete;
    State& operator=(const State&) = delete;
    ~State()
    {
        if (tuner)
            tuner->finish();
        for (const Slot* slot = slots.load(std::memory_order_acquire); slot != nullptr;) {
            const Slot* next = slot->next;
            delete slot;
            slot = next;
        }
    }

    const std::shared_ptr<const LoadedFunction>* find(std::uint64_t context) const noexcept
    {
        // acquire: pairs with the release in publish(), so that the slot and all behind it are seen filled in.
        for (const Slot* slot = slots.load(std::memory_order_acquire); slot != nullptr; slot = slot->next)
            if (slot->context == context)
                return &slot->loaded;
        return nullptr;
    }

    // Null when it has not been loaded in the current context, or there is none.
    const std::shared_ptr<const LoadedFunction>* find_here() const noexcept
    {
        const gpu::CudaDriver* driver = gpu::loaded_cuda_driver();
        unsigned long long context = 0;
        if (driver == nullptr || slots.load(std::memory_order_relaxed) == nullptr ||
            driver->context_id(nullptr, &context) != gpu::cuda::k_success)
            return nullptr;
        return find(context);
    }

    Result<const std::shared_ptr<const LoadedFunction>*> get()
    {
        if (const auto* found = find_here())
            return found;
        return load();
    }

    Result<const std::shared_ptr<const LoadedFunction>*> load()
    {
        const Result<const gpu::CudaDriver*> driver = gpu::cuda_driver();
        HEARTH_TRY(driver);
        const Result<gpu::CudaContext> context = gpu::current_context(**driver);
        HEARTH_TRY(context);
        Result<std::shared_ptr<const LoadedFunction>> loaded =
            cache != nullptr ? load_program(**driver, *context, *cache, program, options, name)
                             : load_given(**driver, *context);
        HEARTH_TRY(loaded);
        return publish(context->id, *std::move(loaded));
    }

    Result<std::shared_ptr<const LoadedFunction>> load_given(const gpu::CudaDriver& driver,
                                                             const gpu::CudaContext& context) const
    {
        Result<ModuleLease> module = ModuleTable::of_process().get(driver, context, image_key, image);
        HEARTH_TRY(module);
        return LoadedFunction::find(driver, *std::move(module), name, name);
    }

    const std::shared_ptr<const LoadedFunction>* publish(std::uint64_t context,
                                                         std::shared_ptr<const LoadedFunction> loaded)
    {
        auto slot = std::make_unique<Slot>(Slot{context, std::move(loaded), nullptr});
        const Slot* first = slots.load(std::memory_order_acquire);
        do {
            for (const Slot* other = first; other != nullptr; other = other->next)
                if (other->context == context)
                    return &other->loaded;  // another thread was faster, with the same module
            slot->next = first;
            // release: pairs with the acquire in find(). acquire on failure: what came in between is read.
        } while (!slots.compare_exchange_weak(first, slot.get(), std::memory_order_release, std::memory_order_acquire));
        return &slot.release()->loaded;
    }
};

Kernel::Kernel(std::unique_ptr<State> state) : m_state(std::move(state)) {}

Kernel::Kernel(Cache& cache, nvrtc::Program program, std::string name, nvrtc::CompileOptions options)
    : m_state(std::make_unique<State>())
{
    if (is_expression(name) && !contains(program.name_expressions, name))
        program.name_expressions.push_back(name);
    m_state->cache = &lasting(cache);
    m_state->program = std::move(program);
    m_state->options = std::move(options);
    m_state->name = std::move(name);
}

Kernel::Kernel(Cache& cache, nvrtc::Program program, std::string name, Variants variants, nvrtc::CompileOptions options)
    : Kernel(cache, std::move(program), std::move(name), std::move(options))
{
    if (!variants.others.empty())
        m_state->tuner =
            std::make_shared<Tuner>(cache, m_state->program, m_state->name, std::move(variants), m_state->options);
}

Kernel Kernel::from_image(std::string_view ptx, std::string name)
{
    return from_image(as_bytes(ptx), std::move(name));
}

Kernel Kernel::from_image(ByteView image, std::string name)
{
    auto state = std::make_unique<State>();
    state->image = Bytes::copy_of(image);
    state->image_key = Key::of("cuda image", image);
    state->name = std::move(name);
    return Kernel(std::move(state));
}

Kernel::Kernel(Kernel&&) noexcept = default;
Kernel& Kernel::operator=(Kernel&&) noexcept = default;
Kernel::~Kernel() = default;

const std::string& Kernel::name() const noexcept
{
    return m_state->name;
}

Result<Function> Kernel::function() const
{
    if (const auto* found = m_state->find_here())
        return (*found)->function;
    const auto loaded = m_state->load();
    HEARTH_TRY(loaded);
    return (**loaded)->function;
}

Status Kernel::warm() const
{
    const auto loaded = m_state->get();
    return loaded ? Status{} : Status{loaded.error()};
}

Result<Loaded> Kernel::bind() const
{
    const auto loaded = m_state->get();
    HEARTH_TRY(loaded);
    return Loaded(nullptr, **loaded, (**loaded)->function);
}

Result<Loaded> Kernel::on(int device) const
{
    const Result<const gpu::CudaDriver*> found = gpu::cuda_driver();
    HEARTH_TRY(found);
    const gpu::CudaDriver* driver = *found;
    CUctx_st* handle = nullptr;
    int number = 0;
    int error = driver->device(&number, device);
    if (error == gpu::cuda::k_success)
        error = driver->primary_retain(&handle, number);
    if (error != gpu::cuda::k_success) {
        int count = 0;
        driver->device_count(&count);
        return hearth::error(Code::invalid_argument,
                             "Device {} cannot be used: {}. This process sees {} of them, counted from 0.", device,
                             describe(*driver, error), count);
    }
    std::shared_ptr<const void> retained(handle, [driver, number](const void*) { driver->primary_release(number); });
    if (driver->push_current(handle) != gpu::cuda::k_success)
        return context_gone(name());
    Result<Loaded> loaded = bind();
    driver->pop_current(&handle);
    if (loaded)
        loaded->m_context = std::move(retained);
    return loaded;
}

Status Kernel::launch_packed(const LaunchConfig& config, std::span<const Argument> arguments) const
{
    if (m_state->tuner) {
        const Result<const gpu::CudaDriver*> driver = gpu::cuda_driver();
        HEARTH_TRY(driver);
        const auto first = [this]() -> Result<std::shared_ptr<const LoadedFunction>> {
            const auto loaded = m_state->get();
            HEARTH_TRY(loaded);
            return **loaded;
        };
        return m_state->tuner->launch(**driver, first, config, arguments);
    }
    if (const auto* found = m_state->find_here())
        return (*found)->launch(config, arguments);
    const auto loaded = m_state->load();
    HEARTH_TRY(loaded);
    return (**loaded)->launch(config, arguments);
}

std::vector<VariantRecord> Kernel::variants() const
{
    return m_state->tuner ? m_state->tuner->records() : std::vector<VariantRecord>{};
}

bool Loaded::alive() const noexcept
{
    return m_loaded && gpu::is_alive(*m_loaded->driver, m_loaded->context());
}

Status Loaded::launch_packed(const LaunchConfig& config, std::span<const Argument> arguments) const
{
    if (!m_loaded)
        return error(Code::invalid_argument, "An empty kernel handle was launched. Take it from Kernel::bind().");
    const gpu::ScopedContext context(*m_loaded->driver, m_loaded->context());
    if (!context.ok())
        return context_gone(m_loaded->name);
    return m_loaded->launch(config, arguments);
}

}  // namespace hearth::cuda

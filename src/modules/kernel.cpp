#include "base/error.hpp"
#include "hearth/cuda.hpp"
#include "modules/kernel_code.hpp"
#include "modules/variants/tuner.hpp"

namespace hearth::cuda {

namespace {

Error context_gone(const std::string& name)
{
    return error(Code::unavailable,
                 "The CUDA context that kernel \"{}\" was bound in is gone: destroyed or reset. Bind the kernel "
                 "again.",
                 name);
}

}  // namespace

// The kernel's functions, one for each context it was used in. Those of contexts that are gone stay in the list, a few
// hundred bytes each: identities are never used again, so nobody finds them.
struct Kernel::State {
    struct Slot {
        std::uint64_t context;
        FunctionLease loaded;
    };

    const std::unique_ptr<const KernelCode> code;
    const std::string name;
    std::unique_ptr<Tuner> tuner;  // null: it has no variants
    GrowingList<Slot> slots;

    State(std::unique_ptr<const KernelCode> its_code, std::string its_name)
        : code(std::move(its_code)), name(std::move(its_name))
    {
    }
    State(const State&) = delete;
    State& operator=(const State&) = delete;
    ~State() = default;

    // Null when it has not been loaded in the current context, or there is none.
    const FunctionLease* find_here() const noexcept
    {
        const gpu::CudaDriver* driver = gpu::loaded_cuda_driver();
        unsigned long long context = 0;
        if (driver == nullptr || slots.empty() || driver->context_id(nullptr, &context) != gpu::cuda::k_success)
            return nullptr;
        const Slot* slot = slots.find([&](const Slot& other) { return other.context == context; });
        return slot != nullptr ? &slot->loaded : nullptr;
    }

    Result<const FunctionLease*> get()
    {
        if (const FunctionLease* found = find_here())
            return found;
        return load();
    }

    Result<const FunctionLease*> load()
    {
        HEARTH_TRY_SET(const Place place, place_here());
        HEARTH_TRY_SET(FunctionLease loaded, code->load(place, name));
        const auto is_ours = [&](const Slot& other) { return other.context == place.context.id; };
        return &slots.add(Slot{place.context.id, std::move(loaded)}, is_ours).loaded;
    }
};

Kernel::Kernel(std::unique_ptr<State> state) : m_state(std::move(state)) {}

Kernel::Kernel(Cache& cache, nvrtc::Program program, std::string name, nvrtc::CompileOptions options)
    : m_state(std::make_unique<State>(code_of(cache, with_name(std::move(program), name), std::move(options)), name))
{
}

Kernel::Kernel(Cache& cache, nvrtc::Program program, std::string name, Variants variants, nvrtc::CompileOptions options)
    : Kernel(cache, program, std::move(name), options)
{
    if (!variants.others.empty())
        m_state->tuner = std::make_unique<Tuner>(cache, with_name(std::move(program), m_state->name), m_state->name,
                                                 std::move(variants), std::move(options));
}

Kernel::Kernel(Cache& cache, ptx::Program program, std::string name, ptx::CompileOptions options)
    : m_state(std::make_unique<State>(code_of(cache, std::move(program), std::move(options)), std::move(name)))
{
}

Kernel Kernel::from_image(std::string_view ptx, std::string name)
{
    return from_image(as_bytes(ptx), std::move(name));
}

Kernel Kernel::from_image(ByteView image, std::string name)
{
    return Kernel(std::make_unique<State>(code_of(image), std::move(name)));
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
    if (const FunctionLease* found = m_state->find_here())
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
    return LoadedFunction::handle(**loaded);
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
        const auto first = [this]() -> Result<FunctionLease> {
            const auto loaded = m_state->get();
            HEARTH_TRY(loaded);
            return **loaded;
        };
        return m_state->tuner->launch(**driver, first, config, arguments);
    }
    if (const FunctionLease* found = m_state->find_here())
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

#include "gpu/cuda/cuda_context.hpp"

#include "base/error.hpp"

#include <fmt/format.h>

namespace hearth::gpu {

Result<CudaContext> current_context(const CudaDriver& driver)
{
    if (driver.context_id == nullptr)
        return error(
            Code::unavailable,
            "The CUDA driver is older than 12.0 and cannot tell one context from the next at the same address, "
            "so kernels are not kept loaded. Update it to 525 or later.");
    CudaContext context;
    if (const int error = driver.current_context(&context.handle); error != cuda::k_success)
        return hearth::error(
            Code::unavailable,
            "The CUDA driver cannot be used in this process: {}. After a fork only a program that had not "
            "used CUDA before can use it.",
            describe(driver, error));
    if (context.handle == nullptr)
        return error(Code::unavailable,
                     "No CUDA context is current on this thread. Make one current (cudaSetDevice, cuCtxSetCurrent), or "
                     "name the device with Kernel::on().");
    unsigned long long id = 0;
    if (const int error = driver.context_id(context.handle, &id); error != cuda::k_success)
        return hearth::error(Code::unavailable,
                             "The CUDA context that is current on this thread cannot be used: {}. Make a living one "
                             "current.",
                             describe(driver, error));
    context.id = id;
    return context;
}

bool is_alive(const CudaDriver& driver, const CudaContext& context) noexcept
{
    unsigned long long id = 0;
    return driver.context_id(context.handle, &id) == cuda::k_success && id == context.id;
}

Result<std::shared_ptr<const KeptCudaContext>> KeptCudaContext::take(const CudaDriver& driver, int device, Kind kind)
{
    CUctx_st* handle = nullptr;
    int error =
        kind == Kind::primary ? driver.primary_retain(&handle, device) : driver.create_context(&handle, 0, device);
    if (error == cuda::k_success && kind == Kind::primary) {
        error = driver.push_current(handle);  // a new one is current already
        if (error != cuda::k_success)
            driver.primary_release(device);
    }
    if (error != cuda::k_success)
        return hearth::error(Code::unavailable, "CUDA device {} has no context to work in: {}.", device,
                             describe(driver, error));
    // From here on `kept` releases the context, whatever happens.
    const std::shared_ptr<KeptCudaContext> kept(new KeptCudaContext(driver, device, kind));
    kept->m_context.handle = handle;
    const Result<CudaContext> context = current_context(driver);
    driver.pop_current(&handle);
    HEARTH_TRY(context);
    kept->m_context = *context;
    return {std::shared_ptr<const KeptCudaContext>(kept)};
}

KeptCudaContext::~KeptCudaContext()
{
    if (m_kind == Kind::primary)
        m_driver.primary_release(m_device);
    else if (m_context.id == 0 || is_alive(m_driver, m_context))
        m_driver.destroy_context(m_context.handle);
}

ScopedContext::ScopedContext(const CudaDriver& driver, const CudaContext& context) noexcept : m_driver(driver)
{
    unsigned long long id = 0;
    if (driver.context_id(nullptr, &id) == cuda::k_success && id == context.id) {
        m_ok = true;
        return;
    }
    m_pushed = is_alive(driver, context) && driver.push_current(context.handle) == cuda::k_success;
    m_ok = m_pushed;
}

ScopedContext::~ScopedContext()
{
    CUctx_st* popped = nullptr;
    if (m_pushed)
        m_driver.pop_current(&popped);
}

}  // namespace hearth::gpu

#pragma once

#include "gpu/cuda/cuda_driver.hpp"

#include <cstdint>
#include <memory>

namespace hearth::gpu {

// A context and its identity. Handles come back: a new context may lie where a destroyed one lay, and a device's
// primary context keeps its address when it is reset. Identities never do.
struct CudaContext {
    CUctx_st* handle = nullptr;
    std::uint64_t id = 0;

    friend bool operator==(const CudaContext&, const CudaContext&) = default;
};

// The calling thread's. An Error where there is none, where it has been destroyed or reset, and where the driver is too
// old to tell one context from the next at the same address.
Result<CudaContext> current_context(const CudaDriver& driver);

// Whether it is still there, not just another one in its place.
bool is_alive(const CudaDriver& driver, const CudaContext& context) noexcept;

// A context that stays as long as somebody holds this: a device's primary one, or one of our own on it.
class KeptCudaContext {
public:
    enum class Kind : std::uint8_t { primary, own };
    static Result<std::shared_ptr<const KeptCudaContext>> take(const CudaDriver& driver, int device, Kind kind);
    ~KeptCudaContext();
    KeptCudaContext(const KeptCudaContext&) = delete;
    KeptCudaContext& operator=(const KeptCudaContext&) = delete;

    const CudaDriver& driver() const noexcept { return m_driver; }
    const CudaContext& context() const noexcept { return m_context; }

private:
    KeptCudaContext(const CudaDriver& driver, int device, Kind kind) : m_driver(driver), m_device(device), m_kind(kind)
    {
    }

    const CudaDriver& m_driver;
    const int m_device;
    const Kind m_kind;
    CudaContext m_context;
};

// Makes a context current for the calling thread until the end, unless it already is.
class ScopedContext {
public:
    ScopedContext(const CudaDriver& driver, const CudaContext& context) noexcept;
    ~ScopedContext();
    ScopedContext(const ScopedContext&) = delete;
    ScopedContext& operator=(const ScopedContext&) = delete;

    // False: the context is gone.
    bool ok() const noexcept { return m_ok; }

private:
    const CudaDriver& m_driver;
    bool m_pushed = false;
    bool m_ok = false;
};

// Lets the calling thread load and unload modules while a stream is captured, its own or another thread's. Otherwise
// such a call fails, and the capture with it.
class AllowedInCapture {
public:
    explicit AllowedInCapture(const CudaDriver& driver) noexcept : m_driver(driver)
    {
        m_known = driver.exchange_capture_mode(&m_mode) == cuda::k_success;
    }
    ~AllowedInCapture()
    {
        if (m_known)
            m_driver.exchange_capture_mode(&m_mode);
    }
    AllowedInCapture(const AllowedInCapture&) = delete;
    AllowedInCapture& operator=(const AllowedInCapture&) = delete;

private:
    const CudaDriver& m_driver;
    int m_mode = cuda::k_capture_relaxed;
    bool m_known = false;
};

}  // namespace hearth::gpu

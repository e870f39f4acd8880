#pragma once

#include "gpu/cuda/cuda_driver.hpp"

#include <cstdint>
#include <memory>

namespace hearth::gpu {

// A context and its identity. Handles are reused: a new context may get the address of a destroyed one, and a device's
// primary context keeps its address when it is reset. Identities are never reused.
struct CudaContext {
    CUctx_st* handle = nullptr;
    std::uint64_t id = 0;

    friend bool operator==(const CudaContext&, const CudaContext&) = default;
};

// The calling thread's context. An Error if there is none, if it has been destroyed or reset, or if the driver is too
// old to tell one context from the next at the same address.
Result<CudaContext> current_context(const CudaDriver& driver);

// Whether this very context still exists, and not another one at its address.
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

// Makes a context current for the calling thread while this lives, unless it already is.
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

// Lets the calling thread load and unload modules while its own or another thread's stream is captured. Otherwise such
// a call fails and ends the capture.
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

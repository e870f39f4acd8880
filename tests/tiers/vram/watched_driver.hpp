#pragma once

#include "gpu/cuda/cuda_context.hpp"

#include <atomic>
#include <iterator>
#include <map>
#include <mutex>

namespace hearth::test {

// A CUDA driver around another one, which knows in which context each address was allocated: it counts the copies that
// were made in another context than that, and those that went from one context to another.
// Thread safety: all of it. One at a time: a driver is functions without state of ours.
class WatchedDriver {
public:
    explicit WatchedDriver(const gpu::CudaDriver& inner) : m_inner(inner), m_driver(inner)
    {
        s_watched = this;
        m_driver.allocate = [](std::uint64_t* address, std::size_t bytes) {
            const int error = s_watched->m_inner.allocate(address, bytes);
            if (error == gpu::cuda::k_success)
                s_watched->add(*address, bytes);
            return error;
        };
        m_driver.free = [](std::uint64_t address) {
            const bool alive = s_watched->check(address, 0);
            s_watched->remove(address);
            return alive ? s_watched->m_inner.free(address) : k_gone;
        };
        m_driver.copy_to_device = [](std::uint64_t to, const void* from, std::size_t bytes, CUstream_st* stream) {
            const bool alive = s_watched->check(to, bytes);
            return alive ? s_watched->m_inner.copy_to_device(to, from, bytes, stream) : k_gone;
        };
        m_driver.copy_to_host = [](void* to, std::uint64_t from, std::size_t bytes, CUstream_st* stream) {
            const bool alive = s_watched->check(from, bytes);
            return alive ? s_watched->m_inner.copy_to_host(to, from, bytes, stream) : k_gone;
        };
        m_driver.copy_between = [](std::uint64_t to, CUctx_st* to_context, std::uint64_t from, CUctx_st* from_context,
                                   std::size_t bytes, CUstream_st* stream) {
            ++s_watched->m_peer_copies;
            const bool alive = s_watched->check(to, bytes, to_context) && s_watched->check(from, bytes, from_context);
            return alive ? s_watched->m_inner.copy_between(to, to_context, from, from_context, bytes, stream) : k_gone;
        };
    }
    ~WatchedDriver() { s_watched = nullptr; }
    WatchedDriver(const WatchedDriver&) = delete;
    WatchedDriver& operator=(const WatchedDriver&) = delete;

    const gpu::CudaDriver& driver() const { return m_driver; }
    std::uint64_t peer_copies() const { return m_peer_copies; }
    // Addresses that were used in a context other than their own, or beyond their end.
    std::uint64_t misuses() const { return m_misuses; }
    // The context that an address was allocated in, 0 if it was not.
    std::uint64_t context_of(std::uint64_t address) const
    {
        const std::lock_guard lock(m_mutex);
        const auto next = m_allocated.upper_bound(address);
        if (next == m_allocated.begin())
            return 0;
        const auto& [start, allocation] = *std::prev(next);
        return address < start + allocation.bytes ? allocation.context : 0;
    }

private:
    struct Allocation {
        std::uint64_t bytes = 0;
        std::uint64_t context = 0;
    };

    std::uint64_t id_of(CUctx_st* context) const
    {
        unsigned long long id = 0;
        return m_inner.context_id(context, &id) == gpu::cuda::k_success ? id : 0;
    }
    void add(std::uint64_t address, std::uint64_t bytes)
    {
        const std::uint64_t id = id_of(nullptr);
        const std::lock_guard lock(m_mutex);
        // What went with its context was not freed, and its addresses may come again.
        std::erase_if(m_allocated, [&](const auto& old) {
            return old.first < address + bytes && address < old.first + old.second.bytes;
        });
        m_allocated[address] = {bytes, id};
    }
    void remove(std::uint64_t address)
    {
        const std::lock_guard lock(m_mutex);
        m_allocated.erase(address);
    }
    // False: there is no such context any more. A driver says so too.
    bool check(std::uint64_t address, std::uint64_t bytes, CUctx_st* context = nullptr)
    {
        const std::uint64_t here = id_of(context);
        const std::uint64_t last = bytes == 0 ? address : address + bytes - 1;
        if (here != 0 && (context_of(address) != here || context_of(last) != here))
            ++m_misuses;
        return here != 0;
    }

    static constexpr int k_gone = gpu::cuda::k_context_is_destroyed;
    static inline WatchedDriver* s_watched = nullptr;
    const gpu::CudaDriver m_inner;
    gpu::CudaDriver m_driver;
    mutable std::mutex m_mutex;
    std::map<std::uint64_t, Allocation> m_allocated;
    std::atomic<std::uint64_t> m_peer_copies{0};
    std::atomic<std::uint64_t> m_misuses{0};
};

}  // namespace hearth::test

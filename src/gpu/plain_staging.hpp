#pragma once

#include "gpu/device_memory.hpp"

#include <new>

namespace hearth::gpu {

// Staging for backends without pinned memory: plain memory of the host.
class PlainStaging final : public StagingBuffer {
public:
    explicit PlainStaging(std::uint64_t bytes) : m_memory(new std::byte[bytes]) { m_bytes = {m_memory.get(), bytes}; }

    // Null if there is none.
    static std::unique_ptr<StagingBuffer> take(std::uint64_t bytes)
    try {
        return std::make_unique<PlainStaging>(bytes);
    } catch (const std::bad_alloc&) {
        return nullptr;
    }

private:
    const std::unique_ptr<std::byte[]> m_memory;
};

}  // namespace hearth::gpu

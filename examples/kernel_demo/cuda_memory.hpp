#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace demo {

// Memory of the first CUDA device, as a program without the CUDA toolkit gets it: the driver is loaded when it is
// there.
class CudaMemory {
public:
    // None where there is no driver or no device.
    static std::optional<CudaMemory> open();

    std::uint64_t copy_in(const std::vector<float>& values);
    std::vector<float> copy_out(std::uint64_t pointer, std::size_t count);
    // Everything that copy_in() gave.
    void free_all();

private:
    struct Driver {
        int (*allocate)(std::uint64_t*, std::size_t) = nullptr;
        int (*free)(std::uint64_t) = nullptr;
        int (*to_device)(std::uint64_t, const void*, std::size_t) = nullptr;
        int (*to_host)(void*, std::uint64_t, std::size_t) = nullptr;
    };
    explicit CudaMemory(Driver driver) : m_driver(driver) {}

    Driver m_driver;
    std::vector<std::uint64_t> m_pointers;
};

}  // namespace demo

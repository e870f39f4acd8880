#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

// Memory of the first CUDA device, as a program without the CUDA toolkit gets it: the driver is loaded when it is
// there. Without a driver or a device, host memory stands in.
class DeviceMemory {
public:
    DeviceMemory();

    const std::string& name() const { return m_name; }
    // 0: there is none left.
    std::uint64_t allocate(std::size_t bytes);
    void free(std::uint64_t address);
    bool write(std::uint64_t address, const void* from, std::size_t bytes);
    bool read(void* to, std::uint64_t address, std::size_t bytes);

private:
    struct Driver {
        int (*allocate)(std::uint64_t*, std::size_t) = nullptr;
        int (*free)(std::uint64_t) = nullptr;
        int (*write)(std::uint64_t, const void*, std::size_t) = nullptr;
        int (*read)(void*, std::uint64_t, std::size_t) = nullptr;
    };

    Driver m_driver;
    std::string m_name;
};

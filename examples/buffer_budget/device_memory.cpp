#include "device_memory.hpp"

#include <cstdlib>
#include <cstring>
#include <dlfcn.h>

namespace {

template <class Function>
bool find(void* library, const char* name, Function*& function)
{
    function = library ? reinterpret_cast<Function*>(dlsym(library, name)) : nullptr;
    return function != nullptr;
}

int allocate_on_host(std::uint64_t* address, std::size_t bytes)
{
    void* const memory = std::malloc(bytes);
    *address = reinterpret_cast<std::uint64_t>(memory);
    return memory ? 0 : 1;
}

void* pointer(std::uint64_t address)
{
    return reinterpret_cast<void*>(address);  // NOLINT(performance-no-int-to-ptr)
}

int free_on_host(std::uint64_t address)
{
    std::free(pointer(address));
    return 0;
}

int write_on_host(std::uint64_t address, const void* from, std::size_t bytes)
{
    std::memcpy(pointer(address), from, bytes);
    return 0;
}

int read_on_host(void* to, std::uint64_t address, std::size_t bytes)
{
    std::memcpy(to, pointer(address), bytes);
    return 0;
}

}  // namespace

DeviceMemory::DeviceMemory()
{
    void* const library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    int (*initialize)(unsigned) = nullptr;
    int (*retain)(void**, int) = nullptr;
    int (*make_current)(void*) = nullptr;
    int (*name_of)(char*, int, int) = nullptr;
    void* context = nullptr;
    char name[256] = "";
    if (find(library, "cuInit", initialize) && find(library, "cuDevicePrimaryCtxRetain", retain) &&
        find(library, "cuCtxSetCurrent", make_current) && find(library, "cuDeviceGetName", name_of) &&
        find(library, "cuMemAlloc_v2", m_driver.allocate) && find(library, "cuMemFree_v2", m_driver.free) &&
        find(library, "cuMemcpyHtoD_v2", m_driver.write) && find(library, "cuMemcpyDtoH_v2", m_driver.read) &&
        initialize(0) == 0 && retain(&context, 0) == 0 && make_current(context) == 0 &&
        name_of(name, sizeof name, 0) == 0) {
        m_name = name;
        return;
    }
    m_driver = {allocate_on_host, free_on_host, write_on_host, read_on_host};
    m_name = "host memory in place of a GPU's: none was found";
}

std::uint64_t DeviceMemory::allocate(std::size_t bytes)
{
    std::uint64_t address = 0;
    return m_driver.allocate(&address, bytes) == 0 ? address : 0;
}

void DeviceMemory::free(std::uint64_t address)
{
    m_driver.free(address);
}

bool DeviceMemory::write(std::uint64_t address, const void* from, std::size_t bytes)
{
    return m_driver.write(address, from, bytes) == 0;
}

bool DeviceMemory::read(void* to, std::uint64_t address, std::size_t bytes)
{
    return m_driver.read(to, address, bytes) == 0;
}

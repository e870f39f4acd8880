#include "cuda_memory.hpp"

#include <dlfcn.h>

namespace demo {

namespace {

template <class Function>
void find(void* library, const char* name, Function*& function)
{
    function = reinterpret_cast<Function*>(dlsym(library, name));
}

}  // namespace

std::optional<CudaMemory> CudaMemory::open()
{
    void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr)
        return std::nullopt;
    int (*initialize)(unsigned) = nullptr;
    int (*retain)(void**, int) = nullptr;
    int (*make_current)(void*) = nullptr;
    Driver driver;
    find(library, "cuInit", initialize);
    find(library, "cuDevicePrimaryCtxRetain", retain);
    find(library, "cuCtxSetCurrent", make_current);
    find(library, "cuMemAlloc_v2", driver.allocate);
    find(library, "cuMemFree_v2", driver.free);
    find(library, "cuMemcpyHtoD_v2", driver.to_device);
    find(library, "cuMemcpyDtoH_v2", driver.to_host);
    void* context = nullptr;
    if (initialize == nullptr || initialize(0) != 0 || retain(&context, 0) != 0 || make_current(context) != 0)
        return std::nullopt;
    return CudaMemory(driver);
}

std::uint64_t CudaMemory::copy_in(const std::vector<float>& values)
{
    std::uint64_t pointer = 0;
    if (m_driver.allocate(&pointer, values.size() * sizeof(float)) != 0)
        return 0;
    m_pointers.push_back(pointer);
    m_driver.to_device(pointer, values.data(), values.size() * sizeof(float));
    return pointer;
}

std::vector<float> CudaMemory::copy_out(std::uint64_t pointer, std::size_t count)
{
    std::vector<float> values(count);
    m_driver.to_host(values.data(), pointer, count * sizeof(float));
    return values;
}

void CudaMemory::free_all()
{
    for (const std::uint64_t pointer : m_pointers)
        m_driver.free(pointer);
    m_pointers.clear();
}

}  // namespace demo

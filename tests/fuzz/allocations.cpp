#include "fuzz/allocations.hpp"

#include <algorithm>
#include <cstdlib>
#include <new>

// All of a kind: AddressSanitizer has its own, and wants what it has made.
void* operator new(std::size_t size, const std::nothrow_t& /*tag*/) noexcept
{
    hearth::fuzz::g_largest_allocation = std::max(hearth::fuzz::g_largest_allocation, size);
    return std::malloc(std::max<std::size_t>(size, 1));
}

void* operator new(std::size_t size)
{
    if (void* const memory = operator new(size, std::nothrow))
        return memory;
    throw std::bad_alloc();
}

void operator delete(void* memory) noexcept
{
    std::free(memory);
}

void operator delete(void* memory, std::size_t /*size*/) noexcept
{
    std::free(memory);
}

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <new>

// How much memory a decoder asks for at once. It replaces operator new, so one file of a program includes it.
// Not thread safe.

namespace hearth::fuzz {

inline std::size_t g_largest_allocation = 0;

// The largest single allocation since it was made.
class Allocations {
public:
    Allocations() { g_largest_allocation = 0; }
    std::size_t largest() const { return g_largest_allocation; }
};

}  // namespace hearth::fuzz

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

// every_call with an operator new of its own, which notices what others have allocated. Those for arrays and sizes come
// here too.
#include "every_call.c"

#include <cstdio>
#include <cstdlib>
#include <new>

namespace {

constexpr unsigned long k_mine = 0x1234567;

struct alignas(16) Head {
    unsigned long mark = k_mine;
};

}  // namespace

void* operator new(std::size_t size)
{
    void* const place = std::malloc(sizeof(Head) + size);
    if (place == nullptr)
        std::abort();
    return new (place) Head + 1;
}

void operator delete(void* object) noexcept
{
    if (object == nullptr)
        return;
    Head* const head = static_cast<Head*>(object) - 1;
    if (head->mark != k_mine) {
        std::fputs("operator delete: not mine\n", stderr);
        std::abort();
    }
    head->mark = 0;
    std::free(head);
}

void operator delete(void* object, std::size_t) noexcept
{
    operator delete(object);
}

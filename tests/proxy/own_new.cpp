// A program with an operator new of its own, which notices what others have allocated. Compiles with the libnvrtc that
// is named, by its own name or path.

#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <new>

namespace {

constexpr unsigned long k_mine = 0x1234567;

struct alignas(16) Head {
    unsigned long mark = k_mine;
};

void* allocate(std::size_t size)
{
    void* const place = std::malloc(sizeof(Head) + size);
    if (place == nullptr)
        std::abort();
    return new (place) Head + 1;
}

void release(void* object) noexcept
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

template <class F>
F* find(void* library, const char* name)
{
    return reinterpret_cast<F*>(::dlsym(library, name));
}

}  // namespace

void* operator new(std::size_t size)
{
    return allocate(size);
}
void* operator new[](std::size_t size)
{
    return allocate(size);
}
void operator delete(void* object) noexcept
{
    release(object);
}
void operator delete[](void* object) noexcept
{
    release(object);
}
void operator delete(void* object, std::size_t) noexcept
{
    release(object);
}
void operator delete[](void* object, std::size_t) noexcept
{
    release(object);
}

int main(int, char** words)
{
    void* const library = ::dlopen(words[1], RTLD_NOW);
    if (library == nullptr) {
        std::fprintf(stderr, "%s\n", ::dlerror());
        return 1;
    }
    auto* const create = find<int(void**, const char*, const char*, int, const char* const*, const char* const*)>(
        library, "nvrtcCreateProgram");
    auto* const compile = find<int(void*, int, const char* const*)>(library, "nvrtcCompileProgram");
    void* program = nullptr;
    const char* const options[] = {"-arch=sm_80"};
    const int created = create(&program, "__global__ void own(int* x) { *x = 1; }", "own.cu", 0, nullptr, nullptr);
    std::printf("create %d compile %d\n", created, compile(program, 1, options));
    return 0;
}

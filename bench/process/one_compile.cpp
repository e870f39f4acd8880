// A program that uses NVRTC for one kernel and knows nothing of Hearth.
#include <cstddef>
#include <dlfcn.h>
#include <iostream>

namespace {

void* g_library = nullptr;

template <class Function, class... Arguments>
int call(const char* name, Arguments... arguments)
{
    auto* const function = reinterpret_cast<Function*>(::dlsym(g_library, name));
    return function != nullptr ? function(arguments...) : -1;
}

}  // namespace

int main(int count, char** arguments)
{
    g_library = ::dlopen(count > 1 ? arguments[1] : "libnvrtc.so.13", RTLD_NOW | RTLD_LOCAL);
    if (g_library == nullptr) {
        std::cerr << ::dlerror() << '\n';
        return 2;
    }
    void* program = nullptr;
    const char* options[] = {"-arch=sm_90"};
    if (call<int(void**, const char*, const char*, int, const char* const*, const char* const*)>(
            "nvrtcCreateProgram", &program, "extern \"C\" __global__ void one(int* x) { *x += 1; }", "one.cu", 0,
            nullptr, nullptr) != 0)
        return 1;
    return call<int(void*, int, const char* const*)>("nvrtcCompileProgram", program, 1, options);
}

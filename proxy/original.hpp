#pragma once

#include <dlfcn.h>

// For libraries that are preloaded, and stand before functions of the C library.

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace hearth::proxy {

template <class Function>
Function* original(const char* name, Function*& slot)
{
    Function* function = __atomic_load_n(&slot, __ATOMIC_RELAXED);
    if (function == nullptr) {
        function = reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
        __atomic_store_n(&slot, function, __ATOMIC_RELAXED);
    }
    return function;
}

}  // namespace hearth::proxy

// The function of this name that comes after ours.
#define ORIGINAL(name, ...)                                                                                            \
    ([]() {                                                                                                            \
        using Function = __VA_ARGS__;                                                                                  \
        static Function* slot;                                                                                         \
        return hearth::proxy::original<Function>(#name, slot);                                                         \
    }())

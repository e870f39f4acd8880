// What the programs share that use every call of a library. C that is C++ as well.
#pragma once

#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Fills a struct of function pointers. The names are those of its members, in their order.
static inline void find_functions(void* library, void* functions, const char* prefix, const char* const* names,
                                  size_t count, const char* suffix)
{
    for (size_t i = 0; i < count; ++i) {
        char name[100];
        snprintf(name, sizeof name, "%s%s%s", prefix, names[i], suffix);
        void* const found = dlsym(library, name);
        memcpy((char*)functions + i * sizeof found, &found, sizeof found);
    }
}

static inline uint64_t hash(const void* bytes, size_t size)
{
    uint64_t sum = 1469598103934665603u;
    for (size_t i = 0; i < size; ++i)
        sum = (sum ^ ((const unsigned char*)bytes)[i]) * 1099511628211u;
    return sum;
}

// With what lies behind the bytes, which nobody may write to.
static inline void show_bytes(const char* name, void* handle, int (*size_of)(void*, size_t*), int (*get)(void*, char*))
{
    size_t size = 4711;
    const int sized = size_of(handle, &size);
    char* const bytes = (char*)malloc(size + 64);
    memset(bytes, 90, size + 64);
    const int got = get(handle, bytes);
    printf("  %s %d %zu %d %016llx\n", name, sized, size, got, (unsigned long long)hash(bytes, size + 64));
    free(bytes);
}

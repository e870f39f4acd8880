// What the programs share that use every call of a library. C that is C++ as well.
#pragma once

#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// The program itself: "-".
static inline void* open_library(const char* name)
{
    void* const library = dlopen(strcmp(name, "-") == 0 ? NULL : name, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        fprintf(stderr, "%s\n", dlerror());
        exit(2);
    }
    return library;
}

// Fills a struct of function pointers. The names, with blanks between them, are those of its members in their order.
static inline void find_functions(void* library, void* functions, const char* prefix, const char* names,
                                  const char* suffix)
{
    for (char* place = (char*)functions; *names; place += sizeof(void*)) {
        char name[100];
        const int length = (int)strcspn(names, " ");
        snprintf(name, sizeof name, "%s%.*s%s", prefix, length, names, suffix);
        void* const found = dlsym(library, name);
        memcpy(place, &found, sizeof found);
        names += length + strspn(names + length, " ");
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

static inline void show_text(void* handle, int (*size_of)(void*, size_t*), int (*get)(void*, char*))
{
    size_t size = 0;
    size_of(handle, &size);
    char* const text = (char*)calloc(size + 1, 1);
    get(handle, text);
    printf("  |%s|\n", text);
    free(text);
}

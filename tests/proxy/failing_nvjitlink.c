// An nvJitLink that cannot start the threads it needs.

#include <stddef.h>
#include <stdint.h>

#define BOTH(name, parameters, body)                                                                                   \
    int nvJitLink##name parameters                                                                                     \
    {                                                                                                                  \
        body                                                                                                           \
    }                                                                                                                  \
    int __nvJitLink##name##_13_0 parameters                                                                            \
    {                                                                                                                  \
        body                                                                                                           \
    }

static char g_handle;

enum { k_success = 0, k_internal = 6, k_thread_pool = 7 };

BOTH(Create, (void** handle, uint32_t count, const char* const* options), {
    (void)count;
    (void)options;
    *handle = &g_handle;
    return k_success;
})
BOTH(Destroy, (void** handle), {
    *handle = NULL;
    return k_success;
})
BOTH(AddData, (void* handle, int type, const void* data, size_t size, const char* name), {
    (void)handle;
    (void)type;
    (void)data;
    (void)size;
    (void)name;
    return k_success;
})
BOTH(AddFile, (void* handle, int type, const char* path), {
    (void)handle;
    (void)type;
    (void)path;
    return k_success;
})
BOTH(Complete, (void* handle), {
    (void)handle;
    return k_thread_pool;
})

#define OUTPUT(name, status)                                                                                           \
    BOTH(Get##name##Size, (void* handle, size_t* size), {                                                              \
        (void)handle;                                                                                                  \
        if (status == k_success)                                                                                       \
            *size = 0;                                                                                                 \
        return status;                                                                                                 \
    })                                                                                                                 \
    BOTH(Get##name, (void* handle, void* out), {                                                                       \
        (void)handle;                                                                                                  \
        (void)out;                                                                                                     \
        return status;                                                                                                 \
    })

OUTPUT(LinkedCubin, k_internal)
OUTPUT(LinkedPtx, k_internal)
OUTPUT(ErrorLog, k_success)
OUTPUT(InfoLog, k_success)

int nvJitLinkVersion(unsigned* major, unsigned* minor)
{
    *major = 13;
    *minor = 0;
    return k_success;
}

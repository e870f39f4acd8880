// An nvJitLink that cannot start the threads it needs. Its functions take what they look at, and are given more.
#include <stddef.h>

#define BOTH(name, parameters, body)                                                                                   \
    int nvJitLink##name parameters                                                                                     \
    {                                                                                                                  \
        body                                                                                                           \
    }                                                                                                                  \
    int __nvJitLink##name##_13_0 parameters                                                                            \
    {                                                                                                                  \
        body                                                                                                           \
    }
#define ANSWERS(name, status) BOTH(name, (void), return status;)

enum { k_success = 0, k_internal = 6, k_thread_pool = 7 };

static char g_handle;

BOTH(Create, (void** handle), *handle = &g_handle; return k_success;)
BOTH(Destroy, (void** handle), *handle = NULL; return k_success;)
ANSWERS(AddData, k_success)
ANSWERS(AddFile, k_success)
ANSWERS(Complete, k_thread_pool)
ANSWERS(GetLinkedCubinSize, k_internal)
ANSWERS(GetLinkedCubin, k_internal)
ANSWERS(GetLinkedPtxSize, k_internal)
ANSWERS(GetLinkedPtx, k_internal)
BOTH(GetErrorLogSize, (void* handle, size_t* size), (void)handle; *size = 0; return k_success;)
ANSWERS(GetErrorLog, k_success)
BOTH(GetInfoLogSize, (void* handle, size_t* size), (void)handle; *size = 0; return k_success;)
ANSWERS(GetInfoLog, k_success)

int nvJitLinkVersion(unsigned* major, unsigned* minor)
{
    *major = 13;
    *minor = 0;
    return k_success;
}

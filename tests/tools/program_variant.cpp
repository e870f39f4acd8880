// Programs and libraries that come to NVRTC in different ways, or not at all; `hearth doctor --program` looks at them.
// None of them is ever run. NVRTC and nvJitLink are their names alone here: no CUDA toolkit is needed.

#if defined(IS_NVRTC)  // a library under NVRTC's name
extern "C" int nvrtcVersion(int* major, int* minor)
{
    *major = *minor = 0;
    return 0;
}
#endif

#if defined(IS_NEWER_NVRTC)  // with a function that no Hearth knows
extern "C" int nvrtcCompileInTheFuture()
{
    return 0;
}
#endif

#if defined(IS_AUDITOR)  // leaves a mark where it is run
#include <cstdio>
#include <cstdlib>
extern "C" unsigned la_version(unsigned version)
{
    if (const char* const mark = std::getenv("AUDITOR_WAS_HERE"))
        if (std::FILE* const file = std::fopen(mark, "w"))
            std::fclose(file);
    return version;
}
#endif

#if defined(DEFINES_NVRTC)  // as if linked with libnvrtc_static
extern "C" __attribute__((used)) int nvrtcCompileProgram(void* /*program*/)
{
    return 0;
}
#endif

#if defined(POINTS_TO_NVRTC)  // a pointer under the function's name, as programs have that load the library themselves
extern "C" {
__attribute__((used)) int (*nvrtcCompileProgram)(void*) = nullptr;
}
#endif

#if defined(DEFINES_NVJITLINK)  // as if linked with libnvJitLink_static
extern "C" __attribute__((used)) int __nvJitLinkCreate_13_0(void* /*handle*/)
{
    return 0;
}
#endif

#if defined(INCLUDES_NVJITLINK)  // the local function that nvJitLink.h leaves in programs
extern "C" {
__attribute__((used)) static int nvJitLinkCreate(void* /*handle*/)
{
    return 0;
}
}
#endif

#if defined(HAS_MESSAGES)  // what is left of libnvrtc_static in a stripped file
__attribute__((used)) const char* g_messages[] = {"nvrtc: error: failed to load builtins for compute_",
                                                  "nvrtc: error: invalid value for --gpu-architecture (-arch)"};
#endif

#if defined(READS_LOGS)  // one message alone, as programs have that look for it in NVRTC's log
__attribute__((used)) const char* g_message = "nvrtc: error: invalid value for --gpu-architecture (-arch)";
#endif

#if defined(OPENS)  // a name for dlopen()
__attribute__((used)) const char* g_name = OPENS;
#endif

#if defined(LINKS_NVRTC)
extern "C" int nvrtcVersion(int* major, int* minor);
#endif

#if defined(LINKS_VARIANT)
extern "C" int variant();
#endif

#if defined(IS_VARIANT)
extern "C" int variant()
{
    return 0;
}
#elif defined(IS_STATIC)
extern "C" void _start()
{
    for (;;)
        __asm__ volatile("");
}
#elif !defined(IS_NVRTC) && !defined(IS_AUDITOR)
int main()
{
    int answer = 0;
#if defined(LINKS_NVRTC)
    answer += nvrtcVersion(&answer, &answer);
#endif
#if defined(LINKS_VARIANT)
    answer += variant();
#endif
    return answer;
}
#endif

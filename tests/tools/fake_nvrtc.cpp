// A compiler for tests of what stands around one: it does what words in its source say.
//   FAILS        a compile error; FAILS_LATER is one to the second version of it alone
//   DIES         ends the process, where FAKENVRTCDIES is set
//   WAITS        until a signal of its own handlers comes, where FAKENVRTCWAITS names a file to make first; then it is
//                a compile error, as with the real one
//   PRINTS       writes to standard output; MUTTERS does not end its line
//   ERASES       removes what a cache in a folder of TMPDIR holds, where FAKENVRTCERASES is set
// What it "compiles" to is its options and the priorities of its process.
//
// (Names with an underscore would be part of the question: its constructors might ask for them.)
//
// It is watched as a real one is, so it imports nothing that is not known to ask nothing: what it has to do besides is
// found by name at run time.

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <initializer_list>
#include <sys/resource.h>
#include <sys/syscall.h>

namespace {

constexpr std::size_t k_most = 4096;

struct Program {
    char* source;
    char log[k_most];
    char ptx[k_most];
};

Program& of(void* handle)
{
    return *static_cast<Program*>(handle);
}

template <class Function>
Function* hidden(const char* name)
{
    return reinterpret_cast<Function*>(::dlsym(RTLD_DEFAULT, name));
}

int give_size(const char* text, std::size_t* size)
{
    *size = std::strlen(text) + 1;
    return 0;
}

int give(const char* text, char* target)
{
    std::memcpy(target, text, std::strlen(text) + 1);
    return 0;
}

}  // namespace

#define FAKE extern "C" __attribute__((visibility("default")))

FAKE int nvrtcVersion(int* major, int* minor)
{
    *major = 98;
    *minor = FAKE_NVRTC_MINOR;
    return 0;
}
FAKE const char* nvrtcGetErrorString(int)
{
    return "FAKE_ERROR";
}
FAKE int nvrtcCreateProgram(void** program, const char* source, const char*, int, const char* const*,
                            const char* const*)
{
    auto* const made = static_cast<Program*>(std::calloc(1, sizeof(Program)));
    made->source = static_cast<char*>(std::malloc(std::strlen(source) + 1));
    std::memcpy(made->source, source, std::strlen(source) + 1);
    *program = made;
    return 0;
}
FAKE int nvrtcDestroyProgram(void** program)
{
    std::free(of(*program).source);
    std::free(*program);
    *program = nullptr;
    return 0;
}
FAKE int nvrtcAddNameExpression(void*, const char*)
{
    return 0;
}
FAKE int nvrtcGetLoweredName(void*, const char* expression, const char** name)
{
    *name = expression;
    return 0;
}
FAKE int nvrtcCompileProgram(void* handle, int count, const char* const* options)
{
    Program& program = of(handle);
    const auto says = [&](const char* word) { return std::strstr(program.source, word) != nullptr; };
    if (says("DIES") && std::getenv("FAKENVRTCDIES") != nullptr)
        std::abort();
    if (const char* mark = std::getenv("FAKENVRTCWAITS"); says("WAITS") && mark != nullptr) {
        for (const int stopping : {SIGINT, SIGTERM})
            hidden<void*(int, void (*)(int))>("signal")(stopping, [](int) {});
        std::fclose(std::fopen(mark, "w"));
        hidden<int()>("pause")();
        return 6;
    }
    if (says("PRINTS"))
        hidden<int(int, const char*, ...)>("dprintf")(1, "a line of its own\n");
    if (says("MUTTERS"))
        hidden<int(int, const char*, ...)>("dprintf")(1, "a line without an end ");
    if (says("ERASES") && std::getenv("FAKENVRTCERASES") != nullptr)
        hidden<int(const char*)>("system")("rm -rf \"$TMPDIR\"/*/cache/v1/entries");
    if (says("FAILS") && (FAKE_NVRTC_MINOR > 1 || !says("FAILS_LATER"))) {
        std::snprintf(program.log, k_most, "k.cu(1): error: it says that it fails\n");
        return 6;
    }
    int length = std::snprintf(program.ptx, k_most, "// priority %d io %ld",
                               hidden<int(int, int)>("getpriority")(PRIO_PROCESS, 0),
                               hidden<long(long, ...)>("syscall")(SYS_ioprio_get, 1, 0) >> 13);
    for (int i = 0; i < count; ++i)
        length += std::snprintf(program.ptx + length, k_most - static_cast<std::size_t>(length), " %s", options[i]);
    return 0;
}
FAKE int nvrtcGetProgramLogSize(void* program, std::size_t* size)
{
    return give_size(of(program).log, size);
}
FAKE int nvrtcGetProgramLog(void* program, char* log)
{
    return give(of(program).log, log);
}
FAKE int nvrtcGetPTXSize(void* program, std::size_t* size)
{
    return give_size(of(program).ptx, size);
}
FAKE int nvrtcGetPTX(void* program, char* ptx)
{
    return give(of(program).ptx, ptx);
}

// A compiler for tests of what stands around one: it does what words in its source say.
//   FAILS        a compile error; FAILS_LATER is one to the second version of it alone
//   DIES         ends the process, where FAKE_NVRTC_DIES is set
//   WAITS        for ever, where FAKE_NVRTC_WAITS names a file to make first
//   PRINTS       writes to standard output; MUTTERS does not end its line
//   ERASES       removes what a cache in a folder of TMPDIR holds, where FAKE_NVRTC_ERASES is set
// What it "compiles" to is its options and the priorities of its process.

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>

#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace {

struct Program {
    std::string source;
    std::string log;
    std::string ptx;
};

Program& of(void* handle)
{
    return *static_cast<Program*>(handle);
}

int give_size(const std::string& text, std::size_t* size)
{
    *size = text.size() + 1;
    return 0;
}

int give(const std::string& text, char* target)
{
    std::memcpy(target, text.c_str(), text.size() + 1);
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
    *program = new Program{source, {}, {}};
    return 0;
}
FAKE int nvrtcDestroyProgram(void** program)
{
    delete static_cast<Program*>(*program);
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
    const auto says = [&](const char* word) { return program.source.find(word) != std::string::npos; };
    if (says("DIES") && std::getenv("FAKE_NVRTC_DIES") != nullptr)
        std::abort();
    if (const char* mark = std::getenv("FAKE_NVRTC_WAITS"); says("WAITS") && mark != nullptr) {
        std::fclose(std::fopen(mark, "w"));
        for (;;)
            ::pause();
    }
    if (says("PRINTS")) {
        std::puts("a line of its own");
        std::fflush(stdout);
    }
    if (says("MUTTERS")) {
        std::fputs("a line without an end ", stdout);
        std::fflush(stdout);
    }
    if (says("ERASES") && std::getenv("FAKE_NVRTC_ERASES") != nullptr)
        for (const auto& folder : std::filesystem::directory_iterator(std::getenv("TMPDIR")))
            std::filesystem::remove_all(folder.path() / "cache/v1/entries");
    if (says("FAILS") && (FAKE_NVRTC_MINOR > 1 || !says("FAILS_LATER"))) {
        program.log = "k.cu(1): error: it says that it fails\n";
        return 6;
    }
    program.ptx = "// priority " + std::to_string(::getpriority(PRIO_PROCESS, 0)) + " io " +
                  std::to_string(::syscall(SYS_ioprio_get, 1, 0) >> 13);
    for (int i = 0; i < count; ++i)
        program.ptx += std::string(" ") + options[i];
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

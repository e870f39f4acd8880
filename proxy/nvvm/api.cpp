// libNVVM's interface, answered through the cache.

#include "compilers/nvvm/stepped_program.hpp"
#include "real.hpp"
#include "steps.hpp"

#include <array>
#include <chrono>
#include <utility>

#define HEARTH_EXPORT extern "C" __attribute__((visibility("default")))

namespace hearth::proxy {

namespace {

using nvvm::k_compilation;
using nvvm::k_invalid_input;
using nvvm::k_invalid_program;
using nvvm::k_success;
using Call = Steps::Call;
using Kind = Steps::Kind;

// Functions that are not exported know only the real library's programs. Once the program has asked for some, it gets
// real programs.
bool uses_hidden_functions()
{
    return was_forwarded("__nvvmHandle") || was_forwarded("__nvvmHandleTarget");
}

// Calls `body` with our program, or the real library's function of that name.
template <class F, class... Arguments>
int with_program(const char* function, F&& body, void* handle, Arguments... arguments) noexcept
{
    return guarded(k_compilation, [&]() -> int {
        if (Steps* const program = Steps::of(handle))
            return body(*program);
        return handle != nullptr && uses_hidden_functions() ? ask_real(function, k_compilation, handle, arguments...)
                                                            : k_invalid_program;
    });
}

int add_module(Steps& program, Kind kind, const char* buffer, std::size_t size, const char* name)
{
    if (buffer == nullptr)
        return k_invalid_input;
    Call call{.kind = kind, .data = std::string(buffer, size)};
    if (name != nullptr)
        call.name = name;
    return program.assume(std::move(call), k_success);
}

int compile(Steps& program, Kind kind, int count, const char* const* options)
{
    Call call{.kind = kind, .type = count};
    for (int i = 0; i < count && options != nullptr && options[i] != nullptr; ++i)
        call.options.emplace_back(options[i]);
    return program.step(std::move(call));
}

// A program of the real library's own.
int compile_real(void* handle, int count, const char** options)
{
    Event event{.what = "nvvm", .outcome = "past_the_cache", .reason = "created after __nvvmHandle was called"};
    int status = k_compilation;
    if (making_is_forbidden()) {
        event.outcome = "forbidden";
    } else {
        const auto start = std::chrono::steady_clock::now();
        status = ask_real("nvvmCompileProgram", k_compilation, handle, count, options);
        event.spent_ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
    }
    note(event);
    return status;
}

}  // namespace

}  // namespace hearth::proxy

using namespace hearth::proxy;

HEARTH_EXPORT const char* nvvmGetErrorString(int result)
try {
    static constexpr std::array k_names{"NVVM_SUCCESS",
                                        "NVVM_ERROR_OUT_OF_MEMORY",
                                        "NVVM_ERROR_PROGRAM_CREATION_FAILURE",
                                        "NVVM_ERROR_IR_VERSION_MISMATCH",
                                        "NVVM_ERROR_INVALID_INPUT",
                                        "NVVM_ERROR_INVALID_PROGRAM",
                                        "NVVM_ERROR_INVALID_IR",
                                        "NVVM_ERROR_INVALID_OPTION",
                                        "NVVM_ERROR_NO_MODULE_IN_PROGRAM",
                                        "NVVM_ERROR_COMPILATION"};
    if (result >= 0 && static_cast<std::size_t>(result) < k_names.size())
        return k_names[static_cast<std::size_t>(result)];
    // Versions differ in what comes after these.
    if (auto* const ask = reinterpret_cast<const char* (*)(int)>(real_function("nvvmGetErrorString")))
        return ask(result);
    return "NVVM_ERROR not found";
} catch (...) {
    return "NVVM_ERROR not found";
}

HEARTH_EXPORT int nvvmVersion(int* major, int* minor)
{
    return guarded(k_compilation, [&] {
        return remembered("nvvm version", {major, minor},
                          [&] { return ask_real("nvvmVersion", k_compilation, major, minor); });
    });
}

HEARTH_EXPORT int nvvmIRVersion(int* major, int* minor, int* debug_major, int* debug_minor)
{
    return guarded(k_compilation, [&] {
        return remembered("nvvm IR version", {major, minor, debug_major, debug_minor}, [&] {
            return ask_real("nvvmIRVersion", k_compilation, major, minor, debug_major, debug_minor);
        });
    });
}

HEARTH_EXPORT int nvvmLLVMVersion(const char* arch, int* major)
{
    return guarded(k_compilation, [&] {
        const auto ask = [&] { return ask_real("nvvmLLVMVersion", k_invalid_input, arch, major); };
        return arch != nullptr ? remembered("nvvm LLVM version of " + std::string(arch), {major}, ask) : ask();
    });
}

HEARTH_EXPORT int nvvmCreateProgram(void** handle)
{
    if (handle == nullptr)
        return k_invalid_program;
    return guarded(k_compilation, [&] {
        if (uses_hidden_functions())
            return ask_real("nvvmCreateProgram", k_compilation, handle);
        auto program = std::make_unique<hearth::nvvm::SteppedProgram>(real_path());
        auto nothing = std::make_shared<const hearth::Artifact>(program->nothing_yet());
        *handle = std::make_unique<Steps>(std::move(program), std::move(nothing)).release();
        return k_success;
    });
}

HEARTH_EXPORT int nvvmDestroyProgram(void** handle)
{
    if (handle == nullptr)
        return k_invalid_program;
    return guarded(k_compilation, [&] {
        Steps* const program = Steps::of(*handle);
        if (program == nullptr)
            return *handle != nullptr && uses_hidden_functions() ? ask_real("nvvmDestroyProgram", k_compilation, handle)
                                                                 : k_invalid_program;
        delete program;
        *handle = nullptr;
        return k_success;
    });
}

HEARTH_EXPORT int nvvmAddModuleToProgram(void* handle, const char* buffer, std::size_t size, const char* name)
{
    return with_program(
        __func__, [&](Steps& program) { return add_module(program, Kind::data, buffer, size, name); }, handle, buffer,
        size, name);
}

HEARTH_EXPORT int nvvmLazyAddModuleToProgram(void* handle, const char* buffer, std::size_t size, const char* name)
{
    return with_program(
        __func__, [&](Steps& program) { return add_module(program, Kind::lazy_data, buffer, size, name); }, handle,
        buffer, size, name);
}

HEARTH_EXPORT int nvvmCompileProgram(void* handle, int count, const char** options)
{
    if (Steps::of(handle) == nullptr && handle != nullptr && uses_hidden_functions())
        return guarded(k_compilation, [&] { return compile_real(handle, count, options); });
    return with_program(
        __func__, [&](Steps& program) { return compile(program, Kind::complete, count, options); }, handle, count,
        options);
}

HEARTH_EXPORT int nvvmVerifyProgram(void* handle, int count, const char** options)
{
    return with_program(
        __func__, [&](Steps& program) { return compile(program, Kind::verify, count, options); }, handle, count,
        options);
}

#define HEARTH_OUTPUT(NAME, SECTION)                                                                                   \
    HEARTH_EXPORT int nvvmGet##NAME##Size(void* handle, std::size_t* size)                                             \
    {                                                                                                                  \
        return with_program(                                                                                           \
            __func__, [&](const Steps& program) { return program.size_of(SECTION, size); }, handle, size);             \
    }                                                                                                                  \
    HEARTH_EXPORT int nvvmGet##NAME(void* handle, char* out)                                                           \
    {                                                                                                                  \
        return with_program(                                                                                           \
            __func__, [&](const Steps& program) { return program.get(SECTION, out); }, handle, out);                   \
    }
HEARTH_OUTPUT(CompiledResult, "ptx")
HEARTH_OUTPUT(ProgramLog, "log")

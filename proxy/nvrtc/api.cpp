// NVRTC's interface, answered through the cache. It returns and writes exactly what the real library does: tests/proxy
// compares the two call by call.

#include "hearth/nvrtc.hpp"
#include "nvrtc/program.hpp"
#include "nvrtc/real_library.hpp"
#include "process_cache.hpp"
#include "real.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <new>

#define HEARTH_EXPORT extern "C" __attribute__((visibility("default")))

namespace hearth::proxy {

namespace {

// No exception may reach a program that uses a C interface.
template <class F>
int guarded(F&& body) noexcept
try {
    return body();
} catch (const std::bad_alloc&) {
    return 1;  // NVRTC_ERROR_OUT_OF_MEMORY
} catch (...) {
    return k_internal;
}

// A handle that we did not create is the real library's: programs get such handles from __nvrtcCPEx.
bool is_foreign(void* handle)
{
    return handle != nullptr && was_forwarded("__nvrtcCPEx");
}

// Calls `body` with our program, or for a foreign handle the real library's function of that name.
template <class F, class... Arguments>
int with_program(const char* function, F&& body, void* handle, Arguments... arguments) noexcept
{
    return guarded([&]() -> int {
        if (Program* const program = Program::of(handle))
            return body(*program);
        if (!is_foreign(handle))
            return k_invalid_program;
        return ask_real(function, k_internal, handle, arguments...);
    });
}

int compile_foreign(void* handle, int count, const char* const* options)
{
    Event event{.what = "nvrtc", .outcome = "past_the_cache", .reason = "made with __nvrtcCPEx"};
    int status = k_compilation;
    if (making_is_forbidden()) {
        event.outcome = "forbidden";
    } else {
        const auto start = std::chrono::steady_clock::now();
        const RealLibrary* const real = RealLibrary::loaded();
        status = real != nullptr ? real->compile(static_cast<RealProgram*>(handle), count, options) : k_internal;
        event.spent_ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
    }
    note(event);
    return status;
}

// Version and targets of the real library, remembered in the cache.
std::optional<nvrtc::LibraryFacts> facts()
try {
    Cache* const store = !real_path().empty() ? cache() : nullptr;
    if (store == nullptr)
        return std::nullopt;
    Result<nvrtc::LibraryFacts> known = nvrtc::library_facts(*store, real_path());
    return known ? std::optional(*std::move(known)) : std::nullopt;
} catch (...) {
    return std::nullopt;  // the real library is asked
}

}  // namespace

}  // namespace hearth::proxy

using namespace hearth::proxy;

HEARTH_EXPORT const char* nvrtcGetErrorString(int result)
try {
    static constexpr std::array k_names{"NVRTC_SUCCESS",
                                        "NVRTC_ERROR_OUT_OF_MEMORY",
                                        "NVRTC_ERROR_PROGRAM_CREATION_FAILURE",
                                        "NVRTC_ERROR_INVALID_INPUT",
                                        "NVRTC_ERROR_INVALID_PROGRAM",
                                        "NVRTC_ERROR_INVALID_OPTION",
                                        "NVRTC_ERROR_COMPILATION",
                                        "NVRTC_ERROR_BUILTIN_OPERATION_FAILURE",
                                        "NVRTC_ERROR_NO_NAME_EXPRESSIONS_AFTER_COMPILATION",
                                        "NVRTC_ERROR_NO_LOWERED_NAMES_BEFORE_COMPILATION",
                                        "NVRTC_ERROR_NAME_EXPRESSION_NOT_VALID",
                                        "NVRTC_ERROR_INTERNAL_ERROR"};
    if (result >= 0 && static_cast<std::size_t>(result) < k_names.size())
        return k_names[static_cast<std::size_t>(result)];
    // Versions differ in what comes after these.
    if (auto* const ask = reinterpret_cast<const char* (*)(int)>(real_function("nvrtcGetErrorString")))
        return ask(result);
    return "NVRTC_ERROR unknown";
} catch (...) {
    return "NVRTC_ERROR unknown";
}

HEARTH_EXPORT int nvrtcVersion(int* major, int* minor)
{
    if (major == nullptr || minor == nullptr)
        return k_invalid_input;
    return guarded([&] {
        if (const auto known = facts()) {
            *major = known->major;
            *minor = known->minor;
            return static_cast<int>(k_success);
        }
        const RealLibrary* const real = RealLibrary::loaded();
        return real != nullptr && real->version != nullptr ? real->version(major, minor) : k_internal;
    });
}

HEARTH_EXPORT int nvrtcGetNumSupportedArchs(int* count)
{
    if (count == nullptr)
        return k_invalid_input;
    return guarded([&] {
        if (const auto known = facts(); known && !known->architectures.empty()) {
            *count = static_cast<int>(known->architectures.size());
            return static_cast<int>(k_success);
        }
        const RealLibrary* const real = RealLibrary::loaded();
        return real != nullptr && real->arch_count != nullptr ? real->arch_count(count) : k_internal;
    });
}

HEARTH_EXPORT int nvrtcGetSupportedArchs(int* archs)
{
    if (archs == nullptr)
        return k_invalid_input;
    return guarded([&] {
        if (const auto known = facts(); known && !known->architectures.empty()) {
            std::copy(known->architectures.begin(), known->architectures.end(), archs);
            return static_cast<int>(k_success);
        }
        const RealLibrary* const real = RealLibrary::loaded();
        return real != nullptr && real->archs != nullptr ? real->archs(archs) : k_internal;
    });
}

HEARTH_EXPORT int nvrtcCreateProgram(void** out, const char* source, const char* name, int header_count,
                                     const char* const* headers, const char* const* header_names)
{
    if (out == nullptr)
        return k_invalid_program;
    if (source == nullptr || header_count < 0 || (header_count > 0 && (headers == nullptr || header_names == nullptr)))
        return k_invalid_input;
    return guarded([&] {
        hearth::nvrtc::Program asked;
        asked.source = source;
        asked.name = name != nullptr ? name : "";
        for (int i = 0; i < header_count; ++i) {
            if (headers[i] == nullptr || header_names[i] == nullptr)
                return static_cast<int>(k_invalid_input);
            for (const hearth::nvrtc::Header& before : asked.headers)
                if (before.name == header_names[i])
                    return static_cast<int>(k_invalid_input);
            asked.headers.push_back({header_names[i], headers[i]});
        }
        *out = new Program(std::move(asked));
        return static_cast<int>(k_success);
    });
}

HEARTH_EXPORT int nvrtcDestroyProgram(void** handle)
{
    if (handle == nullptr)
        return k_invalid_program;
    return guarded([&]() -> int {
        if (const Program* const program = Program::of(*handle)) {
            delete program;
            *handle = nullptr;
            return k_success;
        }
        const RealLibrary* const real = is_foreign(*handle) ? RealLibrary::loaded() : nullptr;
        return real != nullptr ? real->destroy(reinterpret_cast<RealProgram**>(handle)) : k_invalid_program;
    });
}

HEARTH_EXPORT int nvrtcCompileProgram(void* handle, int count, const char* const* options)
{
    return guarded([&]() -> int {
        if (Program* const program = Program::of(handle))
            return program->compile(count, options);
        return is_foreign(handle) ? compile_foreign(handle, count, options) : k_invalid_program;
    });
}

#define HEARTH_OUTPUT(NAME, SECTION, KIND, KNOWN)                                                                      \
    static constexpr Output k_##NAME{SECTION, "nvrtcGet" #NAME "Size", "nvrtcGet" #NAME, Output::Kind::KIND,           \
                                     Output::Known::KNOWN};                                                            \
    HEARTH_EXPORT int nvrtcGet##NAME##Size(void* handle, std::size_t* size)                                            \
    {                                                                                                                  \
        return with_program(                                                                                           \
            k_##NAME.size, [&](Program& program) { return program.size_of(k_##NAME, size); }, handle, size);           \
    }                                                                                                                  \
    HEARTH_EXPORT int nvrtcGet##NAME(void* handle, char* out)                                                          \
    {                                                                                                                  \
        return with_program(                                                                                           \
            k_##NAME.get, [&](Program& program) { return program.get(k_##NAME, out); }, handle, out);                  \
    }

HEARTH_OUTPUT(PTX, "ptx", text, always)
HEARTH_OUTPUT(CUBIN, "cubin", bytes, always)
HEARTH_OUTPUT(LTOIR, "ltoir", bytes, always)
HEARTH_OUTPUT(OptiXIR, "optixir", bytes, in_some)
#if HEARTH_PROXY_MAJOR == 12
HEARTH_OUTPUT(NVVM, "nvvm", bytes, in_some)
#else
HEARTH_OUTPUT(TileIR, "tileir", bytes, in_some)
#endif
HEARTH_OUTPUT(ProgramLog, "log", text, always)

HEARTH_EXPORT int nvrtcAddNameExpression(void* handle, const char* expression)
{
    return with_program(
        "nvrtcAddNameExpression", [&](Program& program) { return program.add_name(expression); }, handle, expression);
}

HEARTH_EXPORT int nvrtcGetLoweredName(void* handle, const char* expression, const char** name)
{
    return with_program(
        "nvrtcGetLoweredName", [&](Program& program) { return program.lowered_name(expression, name); }, handle,
        expression, name);
}

HEARTH_EXPORT int nvrtcGetPCHCreateStatus(void* handle)
{
    return with_program(
        "nvrtcGetPCHCreateStatus", [](Program& program) { return program.pch_status(); }, handle);
}

HEARTH_EXPORT int nvrtcGetPCHHeapSizeRequired(void* handle, std::size_t* size)
{
    return with_program(
        "nvrtcGetPCHHeapSizeRequired", [&](Program& program) { return program.pch_heap_required(size); }, handle, size);
}

HEARTH_EXPORT int nvrtcSetFlowCallback(void* handle, Program::FlowCallback* callback, void* payload)
{
    return with_program(
        "nvrtcSetFlowCallback", [&](Program& program) { return program.set_flow_callback(callback, payload); }, handle,
        callback, payload);
}

#include "compilers/ptx/jit_link.hpp"

#include "base/error.hpp"
#include "base/shared_library.hpp"

#include <array>
#include <cstdint>
#include <fmt/format.h>
#include <memory>

namespace hearth::ptx {

namespace {

using Handle = void*;

// nvJitLinkResult, by number.
constexpr std::array k_names{
    "NVJITLINK_SUCCESS",
    "NVJITLINK_ERROR_UNRECOGNIZED_OPTION",
    "NVJITLINK_ERROR_MISSING_ARCH",
    "NVJITLINK_ERROR_INVALID_INPUT",
    "NVJITLINK_ERROR_PTX_COMPILE",
    "NVJITLINK_ERROR_NVVM_COMPILE",
    "NVJITLINK_ERROR_INTERNAL",
    "NVJITLINK_ERROR_THREADPOOL",
    "NVJITLINK_ERROR_UNRECOGNIZED_INPUT",
    "NVJITLINK_ERROR_FINALIZE",
    "NVJITLINK_ERROR_NULL_INPUT",
    "NVJITLINK_ERROR_INCOMPATIBLE_OPTIONS",
    "NVJITLINK_ERROR_INCORRECT_INPUT_TYPE",
    "NVJITLINK_ERROR_ARCH_MISMATCH",
    "NVJITLINK_ERROR_OUTDATED_LIBRARY",
    "NVJITLINK_ERROR_MISSING_FATBIN",
    "NVJITLINK_ERROR_UNRECOGNIZED_ARCH",
    "NVJITLINK_ERROR_UNSUPPORTED_ARCH",
    "NVJITLINK_ERROR_LTO_NOT_ENABLED",
};
constexpr int k_linker_success = 0;
constexpr int k_internal = 6;
constexpr int k_thread_pool = 7;
constexpr int k_linker_input_ptx = 2;
constexpr int k_linker_input_lto_ir = 3;

std::string name_of(int result)
{
    return result >= 0 && static_cast<std::size_t>(result) < k_names.size() ? k_names[static_cast<std::size_t>(result)]
                                                                            : fmt::format("error {}", result);
}

// Internal errors, failures of the thread pool and unknown codes may not happen the next time.
bool is_deterministic(int result)
{
    return result != k_internal && result != k_thread_pool && result >= 0 &&
           static_cast<std::size_t>(result) < k_names.size();
}

struct LinkerFunctions {
    using Size = int(Handle, std::size_t*);
    using Get = int(Handle, void*);

    int (*create)(Handle*, std::uint32_t, const char* const*);
    int (*destroy)(Handle*);
    int (*add)(Handle, int, const void*, std::size_t, const char*);
    int (*complete)(Handle);
    Size* error_log_size;
    Get* error_log;
    Size* info_log_size;
    Get* info_log;
    Size* cubin_size;
    Get* cubin;
    Size* ptx_size;  // 12.0 lacks these two
    Get* ptx;
    int (*version)(unsigned*, unsigned*);  // before 12.4 there is none
};

Result<LinkerFunctions> load_linker(const std::string& path)
{
    const Result<base::SharedLibrary> loaded = base::SharedLibrary::load(path);
    HEARTH_TRY(loaded);
    LinkerFunctions functions{};
    base::FunctionFinder library(*loaded);
    library.need(functions.create, "nvJitLinkCreate");
    library.need(functions.destroy, "nvJitLinkDestroy");
    library.need(functions.add, "nvJitLinkAddData");
    library.need(functions.complete, "nvJitLinkComplete");
    library.need(functions.error_log_size, "nvJitLinkGetErrorLogSize");
    library.need(functions.error_log, "nvJitLinkGetErrorLog");
    library.need(functions.info_log_size, "nvJitLinkGetInfoLogSize");
    library.need(functions.info_log, "nvJitLinkGetInfoLog");
    library.need(functions.cubin_size, "nvJitLinkGetLinkedCubinSize");
    library.need(functions.cubin, "nvJitLinkGetLinkedCubin");
    if (!library.missing().empty())
        return error(Code::unavailable, "{} is no libnvJitLink that Hearth knows: it lacks {}.", path,
                     library.missing());
    functions.ptx_size = loaded->find<LinkerFunctions::Size>("nvJitLinkGetLinkedPtxSize");
    functions.ptx = loaded->find<LinkerFunctions::Get>("nvJitLinkGetLinkedPtx");
    functions.version = loaded->find<int(unsigned*, unsigned*)>("nvJitLinkVersion");
    return functions;
}

Bytes fetch(Handle handle, LinkerFunctions::Size* size, LinkerFunctions::Get* get)
{
    std::size_t count = 0;
    if (size == nullptr || get == nullptr || size(handle, &count) != k_linker_success || count == 0)
        return {};
    bool got = false;
    // One more than it says: versions differ in whether a log's size counts its terminating zero.
    Bytes bytes = Bytes::make(count + 1, [&](std::span<std::byte> target) {
        target[count] = std::byte{0};
        got = get(handle, target.data()) == k_linker_success;
    });
    return got ? bytes.slice(0, count) : Bytes{};
}

std::string fetch_text(Handle handle, LinkerFunctions::Size* size, LinkerFunctions::Get* get)
{
    const Bytes bytes = fetch(handle, size, get);
    const std::string_view text = bytes.text();
    return std::string(text.substr(0, text.find('\0')));
}

}  // namespace

Result<Artifact> link_with_nvjitlink(const std::string& path, const Job& job)
{
    const Result<LinkerFunctions> loaded = load_linker(path);
    HEARTH_TRY(loaded);
    const LinkerFunctions& linker = *loaded;
    std::vector<const char*> options;
    for (const std::string& option : job.options)
        options.push_back(option.c_str());

    Handle handle = nullptr;
    Artifact artifact;
    artifact.status = linker.create(&handle, static_cast<std::uint32_t>(options.size()), options.data());
    // There is a handle even if the options were refused: it has the log.
    const auto destroy = [&linker](Handle* doomed) { linker.destroy(doomed); };
    const std::unique_ptr<Handle, decltype(destroy)> owner(handle != nullptr ? &handle : nullptr, destroy);
    if (!artifact.failed())
        artifact.status = linker.add(handle, job.input == Input::ptx ? k_linker_input_ptx : k_linker_input_lto_ir,
                                     job.text.data(), job.text.size(), job.name.c_str());
    // Otherwise nvJitLink would complete without the refused input, and report success.
    if (!artifact.failed())
        artifact.status = linker.complete(handle);

    std::string log;
    if (handle != nullptr)
        log = fetch_text(handle, linker.error_log_size, linker.error_log) +
              fetch_text(handle, linker.info_log_size, linker.info_log);
    if (!is_deterministic(artifact.status))
        return Error{Code::io, fmt::format("nvJitLink failed: {}.", name_of(artifact.status)), std::move(log)};
    if (artifact.failed() && log.empty())
        log = name_of(artifact.status) + "\n";
    if (!artifact.failed()) {
        if (Bytes cubin = fetch(handle, linker.cubin_size, linker.cubin); !cubin.empty())
            artifact.sections.push_back({"cubin", std::move(cubin)});
        else if (std::string text = fetch_text(handle, linker.ptx_size, linker.ptx); !text.empty())
            artifact.sections.push_back({"ptx", Bytes::copy_of(text)});
        else
            return Error{Code::io, "nvJitLink reports success and gives neither CUBIN nor PTX.", std::move(log)};
    }
    if (!log.empty())
        artifact.sections.push_back({"log", Bytes::copy_of(log)});
    artifact.metadata.compiler = "nvjitlink";
    unsigned major = 0;
    unsigned minor = 0;
    if (linker.version != nullptr && linker.version(&major, &minor) == k_linker_success)
        artifact.metadata.compiler += fmt::format(" {}.{}", major, minor);
    return artifact;
}

}  // namespace hearth::ptx

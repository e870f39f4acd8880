#include "compilers/ptx/nvjitlink.hpp"

#include "base/error.hpp"

#include <fmt/format.h>
#include <memory>

namespace hearth::ptx {

namespace {

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
constexpr int k_thread_pool = 7;
constexpr int k_input_ptx = 2;
constexpr int k_input_lto_ir = 3;

std::string name_of(int result)
{
    return result >= 0 && static_cast<std::size_t>(result) < k_names.size() ? k_names[static_cast<std::size_t>(result)]
                                                                            : fmt::format("error {}", result);
}

std::string text_of(const Bytes& bytes)
{
    const std::string_view text = bytes.text();
    return std::string(text.substr(0, text.find('\0')));
}

}  // namespace

bool is_deterministic(int result)
{
    return result != k_link_internal && result != k_thread_pool && result >= 0 &&
           static_cast<std::size_t>(result) < k_names.size();
}

Result<NvJitLink> NvJitLink::load(const std::string& path)
{
    NvJitLink linker;
    HEARTH_TRY_SET(linker.compiler, compilers::LoadedCompiler::load(path));
    const base::SharedLibrary& library = linker.compiler->library();
    base::FunctionFinder needed(library);
    needed.need(linker.create, "nvJitLinkCreate");
    needed.need(linker.destroy, "nvJitLinkDestroy");
    needed.need(linker.add, "nvJitLinkAddData");
    needed.need(linker.add_file, "nvJitLinkAddFile");
    needed.need(linker.complete, "nvJitLinkComplete");
    // 12.0 has no PTX, and 12.x no LTO-IR.
    static constexpr std::array<const char*, k_count> k_getters{"nvJitLinkGetLinkedCubin", "nvJitLinkGetLinkedPtx",
                                                                "nvJitLinkGetLinkedLTOIR", "nvJitLinkGetErrorLog",
                                                                "nvJitLinkGetInfoLog"};
    for (std::size_t i = 0; i < k_count; ++i)
        linker.outputs[i] = {k_link_sections[i],
                             library.find<Output::Size>((std::string(k_getters[i]) + "Size").c_str()),
                             library.find<Output::Get>(k_getters[i])};
    if (!needed.missing().empty() || linker.outputs[k_cubin].get == nullptr)
        return error(Code::unavailable, "{} is no libnvJitLink that Hearth knows: it lacks {}.", path,
                     needed.missing().empty() ? k_getters[k_cubin] : needed.missing());
    linker.version = library.find<int(unsigned*, unsigned*)>("nvJitLinkVersion");
    return linker;
}

int NvJitLink::create_with(Handle* handle, std::span<const std::string> options) const
{
    std::vector<const char*> texts;
    texts.reserve(options.size());
    for (const std::string& option : options)
        texts.push_back(option.c_str());
    return create(handle, static_cast<std::uint32_t>(texts.size()), texts.data());
}

std::string NvJitLink::name_and_version() const
{
    unsigned major = 0;
    unsigned minor = 0;
    return version != nullptr && version(&major, &minor) == k_link_success
               ? fmt::format("nvjitlink {}.{}", major, minor)
               : "nvjitlink";
}

Result<Artifact> link_with_nvjitlink(const NvJitLink& linker, const Job& job)
{
    NvJitLink::Handle handle = nullptr;
    Artifact artifact;
    artifact.status = linker.create_with(&handle, job.options);
    // There is a handle even if the options were refused: it has the log.
    const auto destroy = [&linker](NvJitLink::Handle* doomed) { linker.destroy(doomed); };
    const std::unique_ptr<NvJitLink::Handle, decltype(destroy)> owner(handle != nullptr ? &handle : nullptr, destroy);
    if (!artifact.failed())
        artifact.status = linker.add(handle, job.input == Input::ptx ? k_input_ptx : k_input_lto_ir, job.text.data(),
                                     job.text.size(), job.name.c_str());
    // Otherwise nvJitLink would complete without the refused input, and report success.
    if (!artifact.failed())
        artifact.status = linker.complete(handle);

    std::string log;
    if (handle != nullptr)
        log = text_of(linker.fetch(handle, NvJitLink::k_error_log)) +
              text_of(linker.fetch(handle, NvJitLink::k_info_log));
    if (!is_deterministic(artifact.status))
        return Error{Code::io, fmt::format("nvJitLink failed: {}.", name_of(artifact.status)), std::move(log)};
    if (artifact.failed() && log.empty())
        log = name_of(artifact.status) + "\n";
    if (!artifact.failed()) {
        if (Bytes cubin = linker.fetch(handle, NvJitLink::k_cubin); !cubin.empty())
            artifact.sections.push_back({"cubin", std::move(cubin)});
        else if (const std::string text = text_of(linker.fetch(handle, NvJitLink::k_ptx)); !text.empty())
            artifact.sections.push_back({"ptx", Bytes::copy_of(text)});
        else
            return Error{Code::io, "nvJitLink reports success and gives neither CUBIN nor PTX.", std::move(log)};
    }
    if (!log.empty())
        artifact.sections.push_back({"log", Bytes::copy_of(log)});
    artifact.metadata.compiler = linker.name_and_version();
    return artifact;
}

}  // namespace hearth::ptx

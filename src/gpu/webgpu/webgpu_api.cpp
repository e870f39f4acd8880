#include "gpu/webgpu/webgpu_api.hpp"

#include "base/error.hpp"
#include "base/shared_library.hpp"
#include "hearth/libraries.hpp"

#include <algorithm>
#include <cstdlib>
#include <fmt/format.h>
#include <iterator>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

namespace hearth::gpu::wgpu {

namespace {

constexpr const char* k_library = "libwgpu_native.so";
constexpr const char* k_packaged = "/wgpu/resources/libwgpu_native-release.so";
constexpr const char* k_how_to_get_it = "Install one with \"pip install wgpu==0.32.0\", or say where it is with "
                                        "HEARTH_WEBGPU.";

// The versions whose headers were compared with the declarations; they are in the package `wgpu` 0.22.2 to 0.32.0.
struct KnownVersion {
    std::uint32_t number;  // a byte for each of the four parts
    std::uint32_t instance_extras_type;
};
constexpr std::array k_known{
    KnownVersion{0x18000301, 0x00030006}, KnownVersion{0x19000201, 0x00030006}, KnownVersion{0x19000202, 0x00030006},
    KnownVersion{0x1b000200, 0x00030006}, KnownVersion{0x1b000400, 0x00030006}, KnownVersion{0x1d000101, 0x00030004},
};

std::string version_text(std::uint32_t number)
{
    return fmt::format("{}.{}.{}.{}", number >> 24U, number >> 16U & 0xFFU, number >> 8U & 0xFFU, number & 0xFFU);
}

std::string known_versions()
{
    std::string all;
    for (const KnownVersion& known : k_known)
        all += fmt::format("{}{}", all.empty() ? "" : ", ", version_text(known.number));
    return all;
}

Error unusable(const std::string& path, const std::string& why)
{
    return error(Code::unavailable, "{} is no wgpu-native that Hearth knows: {}. {}", path, why, k_how_to_get_it);
}

std::string environment(const char* name)
{
    const char* value = std::getenv(name);
    return value != nullptr ? value : "";
}

std::vector<std::string> packaged_libraries()
{
    std::vector<std::string> libraries;
    for (const std::string& root : python_packages())
        for (std::string& found : expand(root + k_packaged))
            libraries.push_back(std::move(found));
    return libraries;
}

Result<std::shared_ptr<const Api>> fill_in(const base::SharedLibrary& loaded, const std::string& path)
{
    auto* const get_version = loaded.find<std::uint32_t()>("wgpuGetVersion");
    if (get_version == nullptr)
        return unusable(path, "it has no wgpuGetVersion");
    const std::uint32_t number = get_version();
    const auto* known =
        std::find_if(k_known.begin(), k_known.end(), [&](const KnownVersion& one) { return one.number == number; });
    if (known == k_known.end())
        return unusable(path,
                        fmt::format("it is version {}, and known are {}", version_text(number), known_versions()));

    auto api = std::make_shared<Api>();
    api->path = path;
    api->version = version_text(number);
    api->instance_extras_type = known->instance_extras_type;
    base::FunctionFinder library(loaded);
    library.need(api->create_instance, "wgpuCreateInstance");
    library.need(api->release_instance, "wgpuInstanceRelease");
    library.need(api->enumerate_adapters, "wgpuInstanceEnumerateAdapters");
    library.need(api->adapter_info, "wgpuAdapterGetInfo");
    library.need(api->free_adapter_info, "wgpuAdapterInfoFreeMembers");
    library.need(api->adapter_limits, "wgpuAdapterGetLimits");
    library.need(api->request_device, "wgpuAdapterRequestDevice");
    library.need(api->release_adapter, "wgpuAdapterRelease");
    library.need(api->device_queue, "wgpuDeviceGetQueue");
    library.need(api->poll, "wgpuDevicePoll");
    library.need(api->release_device, "wgpuDeviceRelease");
    library.need(api->create_buffer, "wgpuDeviceCreateBuffer");
    library.need(api->map, "wgpuBufferMapAsync");
    library.need(api->mapped, "wgpuBufferGetConstMappedRange");
    library.need(api->unmap, "wgpuBufferUnmap");
    library.need(api->release_buffer, "wgpuBufferRelease");
    library.need(api->create_encoder, "wgpuDeviceCreateCommandEncoder");
    library.need(api->copy, "wgpuCommandEncoderCopyBufferToBuffer");
    library.need(api->finish, "wgpuCommandEncoderFinish");
    library.need(api->release_encoder, "wgpuCommandEncoderRelease");
    library.need(api->release_commands, "wgpuCommandBufferRelease");
    library.need(api->write, "wgpuQueueWriteBuffer");
    library.need(api->submit, "wgpuQueueSubmit");
    library.need(api->release_queue, "wgpuQueueRelease");
    if (!library.missing().empty())
        return unusable(path, fmt::format("it lacks {}", library.missing()));
    return std::shared_ptr<const Api>(std::move(api));
}

}  // namespace

std::string_view view(const Text& text) noexcept
{
    if (text.data == nullptr)
        return {};
    return text.length == std::numeric_limits<std::size_t>::max() ? std::string_view(text.data)
                                                                  : std::string_view(text.data, text.length);
}

Result<std::shared_ptr<const Api>> load()
{
    const std::string configured = environment("HEARTH_WEBGPU");
    std::vector<std::string> places{configured};
    if (configured.empty()) {
        places = packaged_libraries();
        places.insert(places.begin(), k_library);
    }
    // The error of a library that exists but cannot be used says more than that of a missing one.
    std::optional<Error> why;
    for (const std::string& path : places) {
        const Result<base::SharedLibrary> library = base::SharedLibrary::load(path);
        if (!library) {
            if (!configured.empty())
                why = error(Code::unavailable,
                            "wgpu-native is not where HEARTH_WEBGPU says it is: {} Name the file, or unset "
                            "HEARTH_WEBGPU to have it looked for.",
                            library.error().message);
            continue;
        }
        Result<std::shared_ptr<const Api>> api = fill_in(*library, path);
        if (api)
            return api;
        if (!why)
            why = api.error();
    }
    if (why)
        return std::move(*why);
    return error(Code::unavailable,
                 "WebGPU is not installed here: the loader finds no {} and no Python package has one. {}", k_library,
                 k_how_to_get_it);
}

}  // namespace hearth::gpu::wgpu

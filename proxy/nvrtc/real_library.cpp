#include "nvrtc/real_library.hpp"

#include "real.hpp"

#include <type_traits>

namespace hearth::proxy {

namespace {

std::atomic<const RealLibrary*> g_real_library{nullptr};

}  // namespace

const RealLibrary* RealLibrary::loaded()
{
    const RealLibrary& library = made_once(g_real_library, [] {
        RealLibrary made;
        const auto find = [](auto& function, const char* name) {
            function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(real_function(name));
        };
        find(made.version, "nvrtcVersion");
        find(made.arch_count, "nvrtcGetNumSupportedArchs");
        find(made.archs, "nvrtcGetSupportedArchs");
        find(made.create, "nvrtcCreateProgram");
        find(made.destroy, "nvrtcDestroyProgram");
        find(made.compile, "nvrtcCompileProgram");
        find(made.add_name, "nvrtcAddNameExpression");
        find(made.lowered_name, "nvrtcGetLoweredName");
        find(made.pch_status, "nvrtcGetPCHCreateStatus");
        find(made.pch_heap_required, "nvrtcGetPCHHeapSizeRequired");
        find(made.set_flow_callback, "nvrtcSetFlowCallback");
        return made;
    });
    return library.create != nullptr && library.compile != nullptr && library.destroy != nullptr &&
                   library.add_name != nullptr && library.lowered_name != nullptr
               ? &library
               : nullptr;
}

}  // namespace hearth::proxy

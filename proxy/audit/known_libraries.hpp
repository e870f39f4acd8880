#pragma once

#include "nvjitlink/functions.hpp"
#include "nvrtc/functions.hpp"
#include "nvvm/functions.hpp"

#include <cstddef>

// The libraries that ours stand in for. A library with more functions than these is newer than this Hearth. Then
// programs get the library itself, so that no function is missing.

namespace hearth::audit {

struct Known {
    const char* family;  // what a file's name begins with
    const char* soname;  // of the real one and of ours
    const char* const* functions;
    const char* const* prefixes;  // that the names of the library's interface begin with
};

#define HEARTH_NAME(name) #name,
inline constexpr const char* k_nvrtc_12_functions[] = {HEARTH_NVRTC_ANSWERED(HEARTH_NAME) HEARTH_NVRTC_ANSWERED_12(
    HEARTH_NAME) HEARTH_NVRTC_FORWARDED(HEARTH_NAME) nullptr};
inline constexpr const char* k_nvrtc_13_functions[] = {HEARTH_NVRTC_ANSWERED(HEARTH_NAME) HEARTH_NVRTC_ANSWERED_13(
    HEARTH_NAME) HEARTH_NVRTC_FORWARDED(HEARTH_NAME) HEARTH_NVRTC_FORWARDED_13(HEARTH_NAME) nullptr};
inline constexpr const char* k_nvrtc_prefixes[] = {"nvrtc", "__nvrtc", nullptr};

#define HEARTH_PLAIN(name) "nvJitLink" #name,
#define HEARTH_VERSIONED(name, version) "__nvJitLink" #name "_" #version,
#define HEARTH_OF_12(name) HEARTH_PLAIN(name) HEARTH_JITLINK_VERSIONS_12(HEARTH_VERSIONED, name)
#define HEARTH_OF_13(name) HEARTH_PLAIN(name) HEARTH_JITLINK_VERSIONS_13(HEARTH_VERSIONED, name)
inline constexpr const char* k_nvjitlink_12_functions[] = {
    HEARTH_JITLINK_ANSWERED(HEARTH_OF_12) HEARTH_JITLINK_FORWARDED(HEARTH_NAME) "nvJitLinkVersion", nullptr};
inline constexpr const char* k_nvjitlink_13_functions[] = {
    HEARTH_JITLINK_ANSWERED(HEARTH_OF_13) HEARTH_JITLINK_FORWARDED(HEARTH_NAME) "nvJitLinkVersion", nullptr};
inline constexpr const char* k_nvjitlink_prefixes[] = {"nvJitLink", "__nvJitLink", nullptr};

inline constexpr const char* k_nvvm_functions[] = {HEARTH_NVVM_ANSWERED(HEARTH_NAME)
                                                       HEARTH_NVVM_FORWARDED(HEARTH_NAME) nullptr};
inline constexpr const char* k_nvvm_prefixes[] = {"nvvm", "__nvvm", nullptr};
#undef HEARTH_NAME
#undef HEARTH_PLAIN
#undef HEARTH_VERSIONED
#undef HEARTH_OF_12
#undef HEARTH_OF_13

inline constexpr Known k_known[] = {
    {"libnvrtc", "libnvrtc.so.12", k_nvrtc_12_functions, k_nvrtc_prefixes},
    {"libnvrtc", "libnvrtc.so.13", k_nvrtc_13_functions, k_nvrtc_prefixes},
    {"libnvJitLink", "libnvJitLink.so.12", k_nvjitlink_12_functions, k_nvjitlink_prefixes},
    {"libnvJitLink", "libnvJitLink.so.13", k_nvjitlink_13_functions, k_nvjitlink_prefixes},
    {"libnvvm", "libnvvm.so.4", k_nvvm_functions, k_nvvm_prefixes},
};
inline constexpr std::size_t k_known_count = sizeof k_known / sizeof k_known[0];

}  // namespace hearth::audit

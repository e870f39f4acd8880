#pragma once

// Every function that a libnvrtc from 12.0 to 13.4 exports.

// Answered here. Functions of only one major version are below.
#define HEARTH_NVRTC_ANSWERED(X)                                                                                       \
    X(nvrtcGetErrorString)                                                                                             \
    X(nvrtcVersion)                                                                                                    \
    X(nvrtcGetNumSupportedArchs)                                                                                       \
    X(nvrtcGetSupportedArchs)                                                                                          \
    X(nvrtcCreateProgram)                                                                                              \
    X(nvrtcDestroyProgram)                                                                                             \
    X(nvrtcCompileProgram)                                                                                             \
    X(nvrtcGetPTXSize)                                                                                                 \
    X(nvrtcGetPTX)                                                                                                     \
    X(nvrtcGetCUBINSize)                                                                                               \
    X(nvrtcGetCUBIN)                                                                                                   \
    X(nvrtcGetLTOIRSize)                                                                                               \
    X(nvrtcGetLTOIR)                                                                                                   \
    X(nvrtcGetOptiXIRSize)                                                                                             \
    X(nvrtcGetOptiXIR)                                                                                                 \
    X(nvrtcGetProgramLogSize)                                                                                          \
    X(nvrtcGetProgramLog)                                                                                              \
    X(nvrtcAddNameExpression)                                                                                          \
    X(nvrtcGetLoweredName)                                                                                             \
    X(nvrtcGetPCHCreateStatus)                                                                                         \
    X(nvrtcGetPCHHeapSizeRequired)                                                                                     \
    X(nvrtcSetFlowCallback)

#define HEARTH_NVRTC_ANSWERED_12(X)                                                                                    \
    X(nvrtcGetNVVMSize)                                                                                                \
    X(nvrtcGetNVVM)
#define HEARTH_NVRTC_ANSWERED_13(X)                                                                                    \
    X(nvrtcGetTileIRSize)                                                                                              \
    X(nvrtcGetTileIR)

// Passed on unchanged, whatever their arguments (forward.hpp).
#define HEARTH_NVRTC_FORWARDED(X)                                                                                      \
    X(nvrtcGetPCHHeapSize)                                                                                             \
    X(nvrtcSetPCHHeapSize)                                                                                             \
    X(__nvrtcCPEx)
#define HEARTH_NVRTC_FORWARDED_13(X)                                                                                   \
    X(nvrtcGetBundledHeadersInfo)                                                                                      \
    X(nvrtcInstallBundledHeaders)                                                                                      \
    X(nvrtcRemoveBundledHeaders)                                                                                       \
    X(__nvrtcNvvmHandle)

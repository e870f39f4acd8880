#pragma once

// Every function that a libnvvm from 11.8 to 13.4 exports.

// Answered here. nvvmLLVMVersion came with 13.1.
#define HEARTH_NVVM_ANSWERED(X)                                                                                        \
    X(nvvmGetErrorString)                                                                                              \
    X(nvvmVersion)                                                                                                     \
    X(nvvmIRVersion)                                                                                                   \
    X(nvvmLLVMVersion)                                                                                                 \
    X(nvvmCreateProgram)                                                                                               \
    X(nvvmDestroyProgram)                                                                                              \
    X(nvvmAddModuleToProgram)                                                                                          \
    X(nvvmLazyAddModuleToProgram)                                                                                      \
    X(nvvmCompileProgram)                                                                                              \
    X(nvvmVerifyProgram)                                                                                               \
    X(nvvmGetCompiledResultSize)                                                                                       \
    X(nvvmGetCompiledResult)                                                                                           \
    X(nvvmGetProgramLogSize)                                                                                           \
    X(nvvmGetProgramLog)

// Passed on unchanged (forward.hpp). The first two hand out functions that are not exported.
#define HEARTH_NVVM_FORWARDED(X)                                                                                       \
    X(__nvvmHandle)                                                                                                    \
    X(__nvvmHandleTarget)                                                                                              \
    X(nvvmDisableConcurrentAPI)

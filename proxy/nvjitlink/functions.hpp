#pragma once

// Every function that a libnvJitLink from 12.0 to 13.5 exports. Programs are compiled to call nvJitLinkX by a name
// with their toolkit's version, __nvJitLinkX_13_0, and look it up by the plain one.

#define HEARTH_JITLINK_ANSWERED(X)                                                                                     \
    X(Create)                                                                                                          \
    X(Destroy)                                                                                                         \
    X(AddData)                                                                                                         \
    X(AddFile)                                                                                                         \
    X(Complete)                                                                                                        \
    X(GetLinkedCubinSize)                                                                                              \
    X(GetLinkedCubin)                                                                                                  \
    X(GetLinkedPtxSize)                                                                                                \
    X(GetLinkedPtx)                                                                                                    \
    X(GetLinkedLTOIRSize)                                                                                              \
    X(GetLinkedLTOIR)                                                                                                  \
    X(GetErrorLogSize)                                                                                                 \
    X(GetErrorLog)                                                                                                     \
    X(GetInfoLogSize)                                                                                                  \
    X(GetInfoLog)

// The versions in the names, by major version.
#define HEARTH_JITLINK_VERSIONS_12(X, name)                                                                            \
    X(name, 12_0)                                                                                                      \
    X(name, 12_1)                                                                                                      \
    X(name, 12_2)                                                                                                      \
    X(name, 12_3)                                                                                                      \
    X(name, 12_4)                                                                                                      \
    X(name, 12_5)                                                                                                      \
    X(name, 12_6)                                                                                                      \
    X(name, 12_7)                                                                                                      \
    X(name, 12_8)                                                                                                      \
    X(name, 12_9)
#define HEARTH_JITLINK_VERSIONS_13(X, name)                                                                            \
    X(name, 13_0)                                                                                                      \
    X(name, 13_1)                                                                                                      \
    X(name, 13_2)                                                                                                      \
    X(name, 13_3)                                                                                                      \
    X(name, 13_4)                                                                                                      \
    X(name, 13_5)

// Passed on unchanged (forward.hpp).
#define HEARTH_JITLINK_FORWARDED(X) X(__nvJitLinkAPI)

#pragma once

#include <cstddef>

namespace hearth::proxy {

struct RealProgram;  // what the real library's nvrtcProgram points to

// The functions of the real NVRTC that are called by name. The others come from real_function().
class RealLibrary {
public:
    // Null if it cannot be loaded.
    static const RealLibrary* loaded();

    using Size = int(RealProgram*, std::size_t*);
    using Get = int(RealProgram*, char*);

    int (*version)(int*, int*) = nullptr;
    int (*arch_count)(int*) = nullptr;
    int (*archs)(int*) = nullptr;
    int (*create)(RealProgram**, const char*, const char*, int, const char* const*, const char* const*) = nullptr;
    int (*destroy)(RealProgram**) = nullptr;
    int (*compile)(RealProgram*, int, const char* const*) = nullptr;
    int (*add_name)(RealProgram*, const char*) = nullptr;
    int (*lowered_name)(RealProgram*, const char*, const char**) = nullptr;
    // Not in every version.
    int (*pch_status)(RealProgram*) = nullptr;
    Size* pch_heap_required = nullptr;
    int (*set_flow_callback)(RealProgram*, int (*)(void*, void*), void*) = nullptr;
};

}  // namespace hearth::proxy

// nvJitLink's interface, answered through the cache, under both spellings of its names.

#include "nvjitlink/functions.hpp"
#include "nvjitlink/link.hpp"
#include "real.hpp"

#include <new>

#define HEARTH_EXPORT extern "C" __attribute__((visibility("default")))

namespace hearth::proxy {

namespace {

// No exception may reach a program that uses a C interface.
template <class F>
int guarded(F&& body) noexcept
try {
    return body();
} catch (...) {
    return k_link_internal;
}

template <class F>
int with_link(void* handle, F&& body) noexcept
{
    Link* const link = Link::of(handle);
    if (link == nullptr)
        return k_link_null_input;
    return guarded([&] { return body(*link); });
}

}  // namespace

}  // namespace hearth::proxy

using namespace hearth::proxy;

HEARTH_EXPORT int nvJitLinkCreate(void** handle, std::uint32_t count, const char* const* options)
{
    if (handle == nullptr || options == nullptr || count == 0)
        return k_link_null_input;
    return guarded([&] {
        std::vector<std::string> all;
        for (std::uint32_t i = 0; i < count; ++i) {
            if (options[i] == nullptr)
                return k_link_null_input;
            all.emplace_back(options[i]);
        }
        auto link = std::make_unique<Link>();
        const int status = link->create(std::move(all));
        if (link->is_there())
            *handle = link.release();
        return status;
    });
}

HEARTH_EXPORT int nvJitLinkDestroy(void** handle)
{
    Link* const link = handle != nullptr ? Link::of(*handle) : nullptr;
    if (link == nullptr)
        return k_link_null_input;
    return guarded([&] {
        delete link;
        *handle = nullptr;
        return k_link_success;
    });
}

HEARTH_EXPORT int nvJitLinkAddData(void* handle, int type, const void* data, std::size_t size, const char* name)
{
    return with_link(handle, [&](Link& link) { return link.add_data(type, data, size, name); });
}

HEARTH_EXPORT int nvJitLinkAddFile(void* handle, int type, const char* path)
{
    return with_link(handle, [&](Link& link) { return link.add_file(type, path); });
}

HEARTH_EXPORT int nvJitLinkComplete(void* handle)
{
    return with_link(handle, [](Link& link) { return link.complete(); });
}

// NOLINTBEGIN(bugprone-macro-parentheses): a type takes none
#define HEARTH_OUTPUT(NAME, SECTION, TYPE)                                                                             \
    HEARTH_EXPORT int nvJitLinkGet##NAME##Size(void* handle, std::size_t* size)                                        \
    {                                                                                                                  \
        return with_link(handle, [&](const Link& link) { return link.size_of(SECTION, size); });                       \
    }                                                                                                                  \
    HEARTH_EXPORT int nvJitLinkGet##NAME(void* handle, TYPE* out)                                                      \
    {                                                                                                                  \
        return with_link(handle, [&](const Link& link) { return link.get(SECTION, out); });                            \
    }

// NOLINTEND(bugprone-macro-parentheses)
HEARTH_OUTPUT(LinkedCubin, "cubin", void)
HEARTH_OUTPUT(LinkedPtx, "ptx", char)
HEARTH_OUTPUT(LinkedLTOIR, "ltoir", void)
HEARTH_OUTPUT(ErrorLog, "error log", char)
HEARTH_OUTPUT(InfoLog, "info log", char)

HEARTH_EXPORT int nvJitLinkVersion(unsigned* major, unsigned* minor)
{
    return guarded([&] { return link_version(major, minor); });
}

// __nvJitLinkCreate_13_0 is nvJitLinkCreate.
#define HEARTH_ALIAS(NAME, VERSION)                                                                                    \
    asm(".globl __nvJitLink" #NAME "_" #VERSION "\n.type __nvJitLink" #NAME "_" #VERSION                               \
        ", %function\n.set __nvJitLink" #NAME "_" #VERSION ", nvJitLink" #NAME);
#if HEARTH_PROXY_MAJOR == 12
#define HEARTH_ALIASES(NAME) HEARTH_JITLINK_VERSIONS_12(HEARTH_ALIAS, NAME)
#else
#define HEARTH_ALIASES(NAME) HEARTH_JITLINK_VERSIONS_13(HEARTH_ALIAS, NAME)
#endif
HEARTH_JITLINK_ANSWERED(HEARTH_ALIASES)

// nvJitLink's interface, answered through the cache, under both spellings of its names.

#include "compilers/ptx/stepped_link.hpp"
#include "nvjitlink/functions.hpp"
#include "real.hpp"
#include "steps.hpp"
#include "watch/source_file.hpp"

#define HEARTH_EXPORT extern "C" __attribute__((visibility("default")))

namespace hearth::proxy {

namespace {

using ptx::k_link_internal;
using ptx::k_link_null_input;
using ptx::k_link_success;
using Call = Steps::Call;
using Kind = Steps::Kind;

template <class F>
int with_link(void* handle, F&& body) noexcept
{
    Steps* const link = Steps::of(handle);
    if (link == nullptr)
        return k_link_null_input;
    return guarded(k_link_internal, [&] { return body(*link); });
}

int add_data(Steps& link, int type, const void* data, std::size_t size, const char* name)
{
    Call call{.kind = Kind::data, .type = type};
    if (data != nullptr)
        call.data.emplace(static_cast<const char*>(data), size);
    if (name != nullptr)
        call.name = name;
    return link.step(std::move(call));
}

int add_file(Steps& link, int type, const char* path)
{
    Call call{.kind = Kind::file, .type = type};
    if (path != nullptr)
        call.name = path;
    // The question is about the file's content, not only its name.
    if (path != nullptr && link.why_past_the_cache().empty())
        if (std::optional<watch::SourceFile> file = watch::read_source(path))
            call.data = std::move(file->text);
    return link.step(std::move(call));
}

}  // namespace

}  // namespace hearth::proxy

using namespace hearth::proxy;

HEARTH_EXPORT int nvJitLinkCreate(void** handle, std::uint32_t count, const char* const* options)
{
    if (handle == nullptr || options == nullptr || count == 0)
        return k_link_null_input;
    return guarded(k_link_internal, [&] {
        Call call{.kind = Kind::create};
        for (std::uint32_t i = 0; i < count; ++i) {
            if (options[i] == nullptr)
                return k_link_null_input;
            call.options.emplace_back(options[i]);
        }
        auto link = std::make_unique<Steps>(std::make_unique<hearth::ptx::SteppedLink>(real_path()));
        const int status = link->step(std::move(call));
        if (link->is_there())
            *handle = link.release();
        return status;
    });
}

HEARTH_EXPORT int nvJitLinkDestroy(void** handle)
{
    return with_link(handle != nullptr ? *handle : nullptr, [&](Steps& link) {
        delete &link;
        *handle = nullptr;
        return k_link_success;
    });
}

HEARTH_EXPORT int nvJitLinkAddData(void* handle, int type, const void* data, std::size_t size, const char* name)
{
    return with_link(handle, [&](Steps& link) { return add_data(link, type, data, size, name); });
}

HEARTH_EXPORT int nvJitLinkAddFile(void* handle, int type, const char* path)
{
    return with_link(handle, [&](Steps& link) { return add_file(link, type, path); });
}

HEARTH_EXPORT int nvJitLinkComplete(void* handle)
{
    return with_link(handle, [](Steps& link) { return link.step({.kind = Kind::complete}); });
}

// NOLINTBEGIN(bugprone-macro-parentheses): a type takes none
#define HEARTH_OUTPUT(NAME, SECTION, TYPE)                                                                             \
    HEARTH_EXPORT int nvJitLinkGet##NAME##Size(void* handle, std::size_t* size)                                        \
    {                                                                                                                  \
        return with_link(handle, [&](const Steps& link) { return link.size_of(SECTION, size); });                      \
    }                                                                                                                  \
    HEARTH_EXPORT int nvJitLinkGet##NAME(void* handle, TYPE* out)                                                      \
    {                                                                                                                  \
        return with_link(handle, [&](const Steps& link) { return link.get(SECTION, out); });                           \
    }

// NOLINTEND(bugprone-macro-parentheses)
HEARTH_OUTPUT(LinkedCubin, "cubin", void)
HEARTH_OUTPUT(LinkedPtx, "ptx", char)
HEARTH_OUTPUT(LinkedLTOIR, "ltoir", void)
HEARTH_OUTPUT(ErrorLog, "error log", char)
HEARTH_OUTPUT(InfoLog, "info log", char)

HEARTH_EXPORT int nvJitLinkVersion(unsigned* major, unsigned* minor)
{
    return guarded(k_link_internal, [&] {
        return remembered("nvjitlink version", {reinterpret_cast<int*>(major), reinterpret_cast<int*>(minor)},
                          [&] { return ask_real("nvJitLinkVersion", k_link_internal, major, minor); });
    });
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

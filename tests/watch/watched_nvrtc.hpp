#pragma once

#include "hearth/libraries.hpp"
#include "support/bare_nvrtc.hpp"
#include "watch/recording.hpp"

namespace hearth::test {

// NVRTC called directly, with recorders in its import slots.
class WatchedNvrtc {
public:
    // Null where there is no NVRTC.
    static const WatchedNvrtc* get()
    {
        static const WatchedNvrtc nvrtc(find_library({"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"}));
        return nvrtc.m_handle != nullptr ? &nvrtc : nullptr;
    }

    const Result<const watch::WatchedLibrary*>& library() const { return m_library; }

    // NVRTC's status: 0 if it compiled.
    int compile(const std::string& source, const std::vector<std::string>& options) const
    {
        return m_nvrtc.compile({.source = source, .name = "k.cu", .options = options}).status;
    }

private:
    explicit WatchedNvrtc(const std::string& path)
        : m_nvrtc(path),
          m_handle(path.empty() ? nullptr : ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE)),
          m_library(m_handle != nullptr ? watch::WatchedLibrary::watch(m_handle)
                                        : Result<const watch::WatchedLibrary*>(Error{Code::not_found, "none", {}}))
    {
    }

    BareNvrtc m_nvrtc;
    void* m_handle;
    Result<const watch::WatchedLibrary*> m_library;
};

}  // namespace hearth::test

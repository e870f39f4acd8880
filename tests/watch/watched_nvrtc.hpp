#pragma once

#include "hearth/libraries.hpp"
#include "watch/recording.hpp"

#include <dlfcn.h>
#include <string>
#include <vector>

namespace hearth::test {

// NVRTC called directly, with recorders in its import slots.
class WatchedNvrtc {
public:
    // Null where there is no NVRTC.
    static const WatchedNvrtc* get()
    {
        static const WatchedNvrtc nvrtc;
        return nvrtc.m_handle != nullptr ? &nvrtc : nullptr;
    }

    const Result<const watch::WatchedLibrary*>& library() const { return m_library; }

    // NVRTC's status: 0 if it compiled.
    int compile(const std::string& source, const std::vector<std::string>& options,
                const std::string& name = "k.cu") const
    {
        void* program = nullptr;
        std::vector<const char*> arguments;
        for (const std::string& option : options)
            arguments.push_back(option.c_str());
        find<int(void**, const char*, const char*, int, const char* const*, const char* const*)>("nvrtcCreateProgram")(
            &program, source.c_str(), name.c_str(), 0, nullptr, nullptr);
        const int status = find<int(void*, int, const char* const*)>("nvrtcCompileProgram")(
            program, static_cast<int>(arguments.size()), arguments.data());
        find<int(void**)>("nvrtcDestroyProgram")(&program);
        return status;
    }

private:
    WatchedNvrtc()
        : m_handle(open()),
          m_library(m_handle != nullptr ? watch::WatchedLibrary::watch(m_handle)
                                        : Result<const watch::WatchedLibrary*>(Error{Code::not_found, "none", {}}))
    {
    }
    static void* open()
    {
        const std::string path = find_library({"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"});
        return path.empty() ? nullptr : ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    }
    template <class Function>
    Function* find(const char* name) const
    {
        return reinterpret_cast<Function*>(::dlsym(m_handle, name));
    }

    void* m_handle;
    Result<const watch::WatchedLibrary*> m_library;
};

}  // namespace hearth::test

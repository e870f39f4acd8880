#pragma once

#include "hearth/nvrtc.hpp"

#include <dlfcn.h>
#include <string>
#include <vector>

namespace hearth::test {

// What NVRTC gives when nobody stands in between.
struct BareResult {
    int status = 0;
    std::string log;
    std::string ptx;
    std::string cubin;
};

// Calls the library itself.
class BareNvrtc {
public:
    explicit BareNvrtc(const std::string& path) : m_handle(::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) {}

    BareResult compile(const nvrtc::Program& program) const
    {
        BareResult result;
        void* handle = nullptr;
        std::vector<const char*> contents;
        std::vector<const char*> names;
        for (const nvrtc::Header& header : program.headers) {
            contents.push_back(header.content.c_str());
            names.push_back(header.name.c_str());
        }
        std::vector<std::string> options = program.options;
        if (!program.target.empty())
            options.push_back("-arch=" + program.target);
        std::vector<const char*> arguments;
        for (const std::string& option : options)
            arguments.push_back(option.c_str());
        call<int(void**, const char*, const char*, int, const char* const*, const char* const*)>(
            "nvrtcCreateProgram", &handle, program.source.c_str(),
            program.name.empty() ? nullptr : program.name.c_str(), static_cast<int>(names.size()), contents.data(),
            names.data());
        for (const std::string& expression : program.name_expressions)
            call<int(void*, const char*)>("nvrtcAddNameExpression", handle, expression.c_str());
        result.status = call<int(void*, int, const char* const*)>("nvrtcCompileProgram", handle,
                                                                  static_cast<int>(arguments.size()), arguments.data());
        result.log = text(handle, "nvrtcGetProgramLogSize", "nvrtcGetProgramLog", 1);
        result.ptx = text(handle, "nvrtcGetPTXSize", "nvrtcGetPTX", 1);
        result.cubin = text(handle, "nvrtcGetCUBINSize", "nvrtcGetCUBIN", 0);
        call<int(void**)>("nvrtcDestroyProgram", &handle);
        return result;
    }

private:
    template <class Function, class... Arguments>
    int call(const char* name, Arguments... arguments) const
    {
        return reinterpret_cast<Function*>(::dlsym(m_handle, name))(arguments...);
    }
    std::string text(void* program, const char* size_name, const char* get_name, std::size_t zeros) const
    {
        std::size_t size = 0;
        if (call<int(void*, std::size_t*)>(size_name, program, &size) != 0 || size <= zeros)
            return {};
        std::string bytes(size, '\0');
        if (call<int(void*, char*)>(get_name, program, bytes.data()) != 0)
            return {};
        bytes.resize(size - zeros);
        return bytes;
    }

    void* m_handle;
};

}  // namespace hearth::test

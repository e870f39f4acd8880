#include "base/shared_library.hpp"

#include "base/error.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

namespace hearth::base {

Result<SharedLibrary> SharedLibrary::load(const std::string& path)
{
    // Two slashes are one to the system, and to the audit library of `hearth run` a sign that the file itself is meant,
    // not what stands in for it.
    const std::string name = path.starts_with('/') ? "/" + path : path;
    if (void* handle = ::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE))
        return SharedLibrary(handle);
    const char* why = ::dlerror();
    return error(Code::unavailable, "{} cannot be loaded: {}.", path, why != nullptr ? why : "no reason given");
}

void* SharedLibrary::symbol(const char* name) const
{
    return ::dlsym(m_handle, name);
}

}  // namespace hearth::base

#include "base/shared_library.hpp"

#include "base/error.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

namespace hearth::base {

Result<SharedLibrary> SharedLibrary::load(const std::string& path)
{
    // To the system two slashes are the same as one. To the audit library of `hearth run` they say that the file itself
    // is meant, not its drop-in.
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

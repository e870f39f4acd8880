#include "base/shared_library.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

namespace hearth::base {

Result<SharedLibrary> SharedLibrary::load(const std::string& path)
{
    if (void* handle = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE))
        return SharedLibrary(handle);
    const char* why = ::dlerror();
    return Error{
        Code::unavailable, fmt::format("{} cannot be loaded: {}.", path, why != nullptr ? why : "no reason given"), {}};
}

void* SharedLibrary::symbol(const char* name) const
{
    return ::dlsym(m_handle, name);
}

}  // namespace hearth::base

#include "base/shared_library.hpp"

#include "base/error.hpp"

#include <charconv>
#include <cstdint>
#include <dlfcn.h>
#include <fmt/format.h>
#include <fstream>

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

std::string mapped_file(const void* address)
{
    const auto wanted = reinterpret_cast<std::uintptr_t>(address);
    std::ifstream maps("/proc/self/maps");
    // "ffff8000-ffff9000 r-xp 00000000 fe:01 1234    /usr/lib/libx.so"
    for (std::string line; std::getline(maps, line);) {
        const char* const end = line.data() + line.size();
        std::uintptr_t from = 0;
        std::uintptr_t to = 0;
        const char* const dash = std::from_chars(line.data(), end, from, 16).ptr;
        if (dash == end || std::from_chars(dash + 1, end, to, 16).ec != std::errc{} || wanted < from || wanted >= to)
            continue;
        const std::size_t path = line.find('/');
        return path == std::string::npos ? std::string{} : line.substr(path);
    }
    return {};
}

}  // namespace hearth::base

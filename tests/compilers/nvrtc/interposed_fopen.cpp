#include "interposed_fopen.hpp"

#include <cstdio>
#include <dlfcn.h>
#include <utility>

namespace {

hearth::test::FopenWatch::Before g_before;
hearth::test::FopenWatch::After g_after;
thread_local bool t_inside = false;  // what the watcher itself opens is not told of

FILE* watched(const char* function, const char* path, const char* mode)
{
    using Fopen = FILE*(const char*, const char*);
    const bool tell = path != nullptr && !std::exchange(t_inside, true);
    if (tell && g_before)
        g_before(path);
    FILE* file = reinterpret_cast<Fopen*>(::dlsym(RTLD_NEXT, function))(path, mode);
    if (tell && g_after)
        g_after(path, file != nullptr);
    if (tell)
        t_inside = false;
    return file;
}

}  // namespace

// These take the place of the C library's.
extern "C" __attribute__((visibility("default"))) FILE* fopen(const char* path, const char* mode)
{
    return watched("fopen", path, mode);
}
extern "C" __attribute__((visibility("default"))) FILE* fopen64(const char* path, const char* mode)
{
    return watched("fopen64", path, mode);
}

namespace hearth::test {

FopenWatch::FopenWatch(Before before, After after)
{
    g_before = std::move(before);
    g_after = std::move(after);
}

FopenWatch::~FopenWatch()
{
    g_before = {};
    g_after = {};
}

}  // namespace hearth::test

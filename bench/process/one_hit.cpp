// A program that uses the library for one kernel: DIRECTORY is the cache.
#include "hearth/hearth.hpp"

int main(int count, char** arguments)
{
    if (count != 2)
        return 2;
    hearth::CacheOptions options;
    options.directory = arguments[1];
    hearth::Result<hearth::Cache> cache = hearth::Cache::open(options);
    if (!cache)
        return 2;
    const auto compiled = hearth::nvrtc::compile(
        *cache,
        {.source = "extern \"C\" __global__ void one(int* x) { *x += 1; }", .name = "one.cu", .target = "sm_90"});
    return compiled && !compiled->failed() ? 0 : 1;
}

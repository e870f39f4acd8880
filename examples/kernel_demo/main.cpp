// Compiles a set of kernels through the cache and launches them where there is something to launch them on.
//
//   kernel_demo CACHE_DIRECTORY RECORD       the first run writes RECORD; a later one compares itself with it

#include "demos.hpp"

#include <filesystem>
#include <fmt/format.h>

int main(int count, char** words)
{
    if (count != 3) {
        fmt::print(stderr, "usage: kernel_demo CACHE_DIRECTORY RECORD\n");
        return 2;
    }
    hearth::Result<hearth::Cache> cache = hearth::Cache::open({.directory = words[1]});
    if (!cache) {
        fmt::print(stderr, "kernel_demo: {}\n", cache.error().message);
        return 3;
    }
    const std::string record = words[2];
    const bool warm = std::filesystem::exists(record);
    std::vector<demo::Row> all;
    for (const auto run : {demo::run_cuda, demo::run_opencl}) {
        std::string why;
        if (const auto rows = run(*cache, why))
            all.insert(all.end(), rows->begin(), rows->end());
        else
            fmt::print("{}\n", why);
    }
    if (all.empty())
        return 1;  // neither compiler is here
    const bool good = demo::show(all, warm ? demo::read_record(record) : std::map<std::string, demo::Cold>{});
    if (!warm)
        demo::write_record(record, all);
    return good ? 0 : 3;
}

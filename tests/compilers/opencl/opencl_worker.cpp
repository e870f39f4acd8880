// opencl_worker DIRECTORY LOCAL_SIZE...: builds saxpy through the cache in DIRECTORY, launches it with each local size,
// and says on one line
//   OUTCOME right|wrong HITS MAKES STORES FILES
// where FILES is how many files the launches added to PoCL's directory, POCL_CACHE_DIR: its compiler works with files.

#include "base/error.hpp"
#include "hearth/hearth.hpp"
#include "sample.hpp"

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <numeric>
#include <span>
#include <string>

namespace {

std::ptrdiff_t count_files()
{
    const char* directory = std::getenv("POCL_CACHE_DIR");
    std::error_code ignored;
    const std::filesystem::recursive_directory_iterator files(directory != nullptr ? directory : "", ignored);
    return std::distance(begin(files), end(files));
}

hearth::Status work(const char* directory, std::span<char*> local_sizes)
{
    using namespace hearth;
    HEARTH_TRY_SET(Cache cache, Cache::open({.directory = directory, .maintenance = Maintenance::by_hand}));
    HEARTH_TRY_SET(const opencl::Device device, opencl::find_device(test::device_of_tests()));
    HEARTH_TRY_SET(const opencl::Context context, opencl::Context::open(device));
    HEARTH_TRY_SET(const opencl::Program program, opencl::build(cache, context, test::saxpy_source()));
    HEARTH_TRY_SET(opencl::Kernel saxpy, program.kernel("saxpy"));
    std::vector<float> x(256);
    std::iota(x.begin(), x.end(), 0.0F);
    HEARTH_TRY_SET(const opencl::Buffer in, context.buffer_of(x));
    HEARTH_TRY_SET(const opencl::Buffer out, context.buffer(x.size() * sizeof(float)));
    const std::vector<float> ones(x.size(), 1.0F);
    bool right = true;
    const std::ptrdiff_t before = count_files();
    for (const char* size : local_sizes) {
        HEARTH_TRY(out.write(std::as_bytes(std::span(ones))));
        HEARTH_TRY(saxpy.launch({.global = x.size(), .local = std::strtoul(size, nullptr, 10)}, out, in, 2.0F,
                                static_cast<std::uint32_t>(x.size())));
        HEARTH_TRY_SET(const std::vector<float> y, out.read_as<float>());
        for (std::size_t k = 0; k < x.size(); ++k)
            right = right && y[k] == 2.0F * x[k] + 1.0F;
    }
    const std::ptrdiff_t files = count_files() - before;
    const Stats stats = cache.stats();
    std::printf("%s %s %llu %llu %llu %td\n", std::string(to_string(program.outcome())).c_str(),
                right ? "right" : "wrong", static_cast<unsigned long long>(stats.hits),
                static_cast<unsigned long long>(stats.compiles), static_cast<unsigned long long>(stats.stores), files);
    return {};
}

}  // namespace

int main(int count, char** arguments)
{
    if (count < 3)
        return 2;
    const hearth::Status worked = work(arguments[1], std::span(arguments + 2, arguments + count));
    if (!worked.ok())
        std::fprintf(stderr, "%s\n%s\n", worked.error().message.c_str(), worked.error().log.c_str());
    return worked.ok() ? 0 : 1;
}

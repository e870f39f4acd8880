// opencl_worker DIRECTORY LOCAL_SIZE...: builds saxpy through the cache in DIRECTORY, launches it with each local size,
// and says on one line
//   OUTCOME right|wrong HITS MAKES STORES FILES
// where FILES is how many files the launches added to PoCL's directory, POCL_CACHE_DIR: its compiler works with files.

#include "device_of_tests.hpp"
#include "hearth/hearth.hpp"
#include "sample_source.hpp"

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <numeric>
#include <string>

namespace {

std::ptrdiff_t count_files()
{
    const char* directory = std::getenv("POCL_CACHE_DIR");
    std::error_code ignored;
    const std::filesystem::recursive_directory_iterator files(directory != nullptr ? directory : "", ignored);
    return std::distance(begin(files), end(files));
}

int fail(const hearth::Error& error)
{
    std::fprintf(stderr, "%s\n%s\n", error.message.c_str(), error.log.c_str());
    return 1;
}

}  // namespace

int main(int count, char** arguments)
{
    using namespace hearth;
    if (count < 3)
        return 2;
    CacheOptions options;
    options.directory = arguments[1];
    options.maintenance = Maintenance::by_hand;
    Result<Cache> cache = Cache::open(std::move(options));
    if (!cache)
        return fail(cache.error());
    const Result<opencl::Device> device = opencl::find_device(test::device_of_tests());
    if (!device)
        return fail(device.error());
    const Result<opencl::Context> context = opencl::Context::open(*device);
    if (!context)
        return fail(context.error());
    const Result<opencl::Program> program = opencl::build(*cache, *context, test::saxpy_source());
    if (!program)
        return fail(program.error());
    Result<opencl::Kernel> saxpy = program->kernel("saxpy");
    if (!saxpy)
        return fail(saxpy.error());

    std::vector<float> x(256);
    std::iota(x.begin(), x.end(), 0.0F);
    const Result<opencl::Buffer> in = context->buffer_of(x);
    const Result<opencl::Buffer> out = context->buffer(x.size() * sizeof(float));
    if (!in || !out)
        return fail(!in ? in.error() : out.error());
    const std::vector<float> ones(x.size(), 1.0F);
    bool right = true;
    const std::ptrdiff_t before = count_files();
    for (int i = 2; i < count; ++i) {
        const std::size_t local = std::strtoul(arguments[i], nullptr, 10);
        Status status = out->write(std::as_bytes(std::span(ones)));
        if (status.ok())
            status = saxpy->launch({.global = x.size(), .local = local}, *out, *in, 2.0F,
                                   static_cast<std::uint32_t>(x.size()));
        if (!status.ok())
            return fail(status.error());
        const Result<std::vector<float>> y = out->read_as<float>();
        if (!y)
            return fail(y.error());
        for (std::size_t k = 0; k < x.size(); ++k)
            right = right && (*y)[k] == 2.0F * x[k] + 1.0F;
    }
    const std::ptrdiff_t files = count_files() - before;
    const Stats stats = cache->stats();
    std::printf("%s %s %llu %llu %llu %td\n", std::string(to_string(program->outcome())).c_str(),
                right ? "right" : "wrong", static_cast<unsigned long long>(stats.hits),
                static_cast<unsigned long long>(stats.compiles), static_cast<unsigned long long>(stats.stores), files);
    return 0;
}

#include "cases.hpp"
#include "demos.hpp"

#include <chrono>
#include <fmt/format.h>
#include <functional>

namespace demo {

namespace {

namespace opencl = hearth::opencl;

bool launch_add(const opencl::Context& context, opencl::Kernel& kernel)
{
    const int n = 4096;
    const std::vector<float> a = numbers(n, 1);
    const std::vector<float> b = numbers(n, 2);
    const auto c = context.buffer(n * sizeof(float));
    return c && kernel.launch({.global = n, .local = 64}, *context.buffer_of(a), *context.buffer_of(b), *c, n).ok() &&
           close_to(*c->read_as<float>(), sums(a, b));
}

bool launch_gemm(const opencl::Context& context, opencl::Kernel& kernel)
{
    const int n = 64;
    const std::vector<float> a = numbers(n * n, 3);
    const std::vector<float> b = numbers(n * n, 4);
    const auto c = context.buffer(n * n * sizeof(float));
    return c &&
           kernel.launch({.global = {n, n}, .local = {8, 8}}, *context.buffer_of(a), *context.buffer_of(b), *c, n)
               .ok() &&
           close_to(*c->read_as<float>(), product(a, b, n));
}

struct Case {
    std::string name;
    bool (*launch)(const opencl::Context&, opencl::Kernel&);
};

Row run(hearth::Cache& cache, const opencl::Context& context, const Case& demo)
{
    Row row{demo.name + ".cl", "OpenCL", 0, {}, {}, {}, false};
    const auto started = std::chrono::steady_clock::now();
    const auto program =
        opencl::build(cache, context, {.text = kernel_source(demo.name + ".cl"), .name = demo.name + ".cl"});
    row.ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - started).count();
    if (!program || program->failed()) {
        row.failed = true;
        row.launch = program ? program->log() : program.error().message;
        return row;
    }
    row.tier = program->tier();
    auto kernel = program->kernel(demo.name);
    row.launch = kernel && demo.launch(context, *kernel) ? "right" : "WRONG";
    return row;
}

}  // namespace

std::optional<std::vector<Row>> run_opencl(hearth::Cache& cache, std::string& why)
{
    const auto device = opencl::find_device(0);
    const auto context = device ? opencl::Context::open(*device) : hearth::Result<opencl::Context>(device.error());
    if (!context) {
        why = context.error().message;
        return std::nullopt;
    }
    fmt::print("OpenCL on {} ({}), launched and checked\n", context->device().name, context->device().platform);
    std::vector<Row> rows;
    for (const Case& demo : {Case{"vector_add", launch_add}, Case{"gemm", launch_gemm}})
        rows.push_back(run(cache, *context, demo));
    return rows;
}

}  // namespace demo

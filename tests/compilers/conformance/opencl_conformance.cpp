#include "compiler_conformance.hpp"

#include "hearth/libraries.hpp"
#include "hearth/opencl.hpp"

#include <filesystem>

namespace hearth::test {

namespace {

class OpenCl : public CompilerUnderTest {
public:
    std::string why_not_here() override
    {
        return expand("/etc/OpenCL/vendors/*.icd").empty() ? "No OpenCL driver is installed." : "";
    }
    Result<Seen> compile(Cache& cache, const Ask& ask) override
    {
        // PoCL has a cache of its own, which would answer in the place of ours.
        ::setenv("POCL_KERNEL_CACHE", "0", 1);
        ::setenv("POCL_CACHE_DIR", std::filesystem::current_path().c_str(), 1);
        const Result<opencl::Device> device = opencl::find_device(0);
        if (!device)
            return device.error();
        const Result<opencl::Context> context = opencl::Context::open(*device);
        if (!context)
            return context.error();
        opencl::Source source{.name = "kernel.cl"};
        source.text = "kernel void k(global int* p) { *p = " + std::to_string(ask.number) + "; }\n" +
                      (ask.is_broken ? "int unfinished(\n" : "");
        const Result<opencl::Program> built = opencl::build(cache, *context, source);
        if (!built)
            return built.error();
        return Seen{built->outcome(), built->artifact().status,
                    built->failed() ? std::string(built->log()) : everything_in(built->artifact())};
    }
    bool repeats_itself() override { return false; }  // PoCL's binaries and logs hold names of temporary files
    std::vector<std::string> variables() override { return {"POCL_WORK_GROUP_METHOD=loopvec"}; }
};

}  // namespace

INSTANTIATE_TEST_SUITE_P(opencl, CompilerConformance,
                         testing::Values(CompilerCase{"first_device", [] { return std::make_unique<OpenCl>(); }}),
                         case_name);

}  // namespace hearth::test

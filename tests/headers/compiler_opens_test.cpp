// What the scanner finds, beside what NVRTC really opens.

#include "header_tree.hpp"
#include "headers/closure.hpp"
#include "hearth/libraries.hpp"
#include "hearth/nvrtc.hpp"
#include "interposed_fopen.hpp"

#include <cstdlib>
#include <set>

namespace hearth::test {

namespace {

class CompilerOpens : public HeaderTree {
protected:
    void SetUp() override
    {
        ::setenv("CUDA_CACHE_DISABLE", "1", 1);  // or NVRTC opens the files of a cache of its own
        CacheOptions options;
        options.directory = m_scratch / "cache";
        options.maintenance = Maintenance::by_hand;
        m_cache.emplace(Cache::open(options).value());
        if (const auto found = nvrtc::compile(*m_cache, {.source = "__global__ void k() {}"}); !found)
            GTEST_SKIP() << found.error().message;
        for (const std::string& directory : library_directories())
            for (const char* include : {"/../include/cccl", "/../include"})
                if (std::filesystem::exists(directory + include + "/cuda_fp16.h") ||
                    std::filesystem::exists(directory + include + "/cub/cub.cuh"))
                    m_cuda.push_back(std::filesystem::canonical(directory + include).string());
    }

    // Compiles the program with NVRTC and expects that all it opened, and all it failed to open, is in the manifest.
    void expect_all_known(nvrtc::Program program, bool needs_cuda = true)
    {
        if (needs_cuda && m_cuda.empty())
            GTEST_SKIP() << "the CUDA toolkit's headers are not on this machine";
        if (needs_cuda)
            for (const std::string& directory : m_cuda)
                program.options.push_back("-I" + directory);
        headers::Sources all;
        all.program = program.source;
        all.program_name = program.name;
        for (const nvrtc::Header& header : program.headers)
            all.memory_headers.emplace_back(header.name, header.content);
        for (const std::string& option : program.options) {
            if (option.starts_with("-I"))
                all.include_directories.push_back(option.substr(2));
            if (option.starts_with("--pre-include="))
                all.pre_includes.push_back(option.substr(14));
            if (option.starts_with("-DPICKED="))
                all.defines.push_back({"PICKED", false, {}, option.substr(9)});
        }
        const format::Manifest manifest = headers::find_headers(all);
        EXPECT_EQ(manifest.why_past_the_cache, "");

        std::set<std::string> opened;
        std::set<std::string> missing;
        const Result<nvrtc::Compiled> compiled = [&] {
            const FopenWatch watch(
                {}, [&](const std::string& path, bool there) { (there ? opened : missing).insert(path); });
            return nvrtc::compile(*m_cache, program);
        }();
        ASSERT_TRUE(compiled.ok()) << compiled.error().message;
        ASSERT_FALSE(compiled->failed()) << compiled->log();
        ASSERT_EQ(compiled->outcome(), nvrtc::Outcome::compiled);

        // "pre.h" and "/here/pre.h" are one place.
        std::set<std::string> known;
        for (const format::ManifestFile& file : manifest.files)
            known.insert(std::filesystem::absolute(file.path));
        std::set<std::string> absent;
        for (const std::string& path : manifest.absent)
            absent.insert(std::filesystem::absolute(path));
        std::size_t headers = 0;
        for (const std::string& opened_path : opened) {
            const std::string path = std::filesystem::absolute(opened_path);
            if (path.starts_with("/proc") || path.starts_with(m_scratch / "cache"))
                continue;
            ++headers;
            EXPECT_TRUE(known.contains(path)) << path << " is read but was not found by the scanner";
        }
        for (const std::string& opened_path : missing) {
            const std::string path = std::filesystem::absolute(opened_path);
            EXPECT_TRUE(absent.contains(path) || known.contains(path)) << path << " is looked for first, unknown to us";
        }
        EXPECT_GT(headers, 0U) << "nothing was recorded: NVRTC opens its headers in another way";
    }

    std::optional<Cache> m_cache;
    std::vector<std::string> m_cuda;
};

TEST_F(CompilerOpens, of_half_precision)
{
    expect_all_known({.source = "#include <cuda_fp16.h>\n__global__ void k(__half* x) { *x = __hadd(*x, *x); }"});
}

TEST_F(CompilerOpens, of_cooperative_groups)
{
    expect_all_known({.source = "#include <cooperative_groups.h>\n__global__ void k() {"
                                " cooperative_groups::this_thread_block().sync(); }"});
}

TEST_F(CompilerOpens, of_cub)
{
    expect_all_known({.source = "#include <cub/block/block_reduce.cuh>\n"
                                "__global__ void k(const float* x, float* y) {\n"
                                "  using Reduce = cub::BlockReduce<float, 128>;\n"
                                "  __shared__ typename Reduce::TempStorage storage;\n"
                                "  *y = Reduce(storage).Sum(x[threadIdx.x]);\n}"});
}

TEST_F(CompilerOpens, of_libcudacxx)
{
    expect_all_known({.source = "#include <cuda/std/tuple>\n#include <cuda/std/atomic>\n"
                                "__global__ void k(int* x) { *x = cuda::std::get<0>(cuda::std::make_tuple(1, 2)); }"});
}

TEST_F(CompilerOpens, of_a_tree_with_every_trick)
{
    write("program/beside.h", "#pragma once\n#include \"sub/inner.h\"\n");
    write("program/sub/inner.h", "#include \"../beside.h\"\n#include <angled.h>\n");
    write("one/shadowed.h", "#define FROM_ONE\n");
    write("two/shadowed.h", "#error the second must not be read\n");
    write("two/angled.h", "#include \"quoted_in_two.h\"\n");
    write("two/quoted_in_two.h", "#if __has_include(<maybe.h>)\n#include <maybe.h>\n#endif\n"
                                 "#if __has_include(\"never.h\")\n#error\n#endif\n");
    write("two/maybe.h", "");
    write("two/picked.h", "#define LATER <later.h>\n");
    write("two/later.h", "");
    write("two/pre.h", "#define PRE 1\n");
    write("two/from_memory.h", "");
    nvrtc::Program program;
    program.name = path("program/main.cu");
    program.source = "#include \"beside.h\"\n#include <shadowed.h>\n#include PICKED\n#include LATER\n"
                     "#inc\\\nlude /* here */ <given.h>\n#if !PRE\n#error\n#endif\n__global__ void k() {}";
    program.headers = {{"given.h", "#include <from_memory.h>\n"}};
    program.options = {"-I" + path("one"), "-I" + path("missing"), "-I" + path("two"), "--pre-include=pre.h",
                       "-DPICKED=<picked.h>"};
    expect_all_known(program, false);
}

}  // namespace

}  // namespace hearth::test

// What is decided before anything is built. No OpenCL is needed for it.

#include "compilers/opencl/request.hpp"
#include "opencl_test.hpp"

#include <set>

namespace hearth::test {

namespace {

class OpenClRequests : public testing::Test {
protected:
    static opencl::Device some_device()
    {
        opencl::Device device;
        device.type = opencl::DeviceType::gpu;
        device.name = "device";
        device.il_version = "SPIR-V_1.2";
        return device;
    }
    static Key key_of(const opencl::Device& device, const opencl::Source& source)
    {
        return opencl::question_of(device, source).value().request.key();
    }
    static std::string refusal_of(const opencl::Device& device, const opencl::Source& source)
    {
        const Result<compilers::Question> question = opencl::question_of(device, source);
        return question.ok() ? "" : question.error().message;
    }
    static std::string bypass_of(const std::string& text, std::vector<std::string> options = {})
    {
        return opencl::question_of(some_device(), {.text = text, .options = std::move(options)})
            .value()
            .why_past_the_cache;
    }

    IsolatedEnvironment m_environment;
};

TEST_F(OpenClRequests, everything_about_the_device_and_driver_is_in_the_key)
{
    std::vector<opencl::Device> devices(10, some_device());
    devices[1].name = "other";
    devices[2].vendor = "other";
    devices[3].vendor_id = 7;
    devices[4].version = "OpenCL 3.0";
    devices[5].driver_version = "2";
    devices[6].address_bits = 64;
    devices[7].platform = "other";
    devices[8].platform_version = "2";
    devices[9].type = opencl::DeviceType::cpu;  // then what its processor can do is, too
    std::set<Key> keys;
    for (const opencl::Device& device : devices)
        keys.insert(key_of(device, saxpy_source()));
    EXPECT_EQ(keys.size(), devices.size());
}

TEST_F(OpenClRequests, everything_about_the_source_but_its_name_is_in_the_key)
{
    const Bytes il = Bytes::copy_of(saxpy_source().text);
    std::vector<opencl::Source> sources(5, saxpy_source());
    sources[1].text += " ";
    sources[2].options = {"-DA", "-DB"};
    sources[3].options = {"-DB", "-DA"};
    sources[4] = {.text = {}, .il = il, .options = saxpy_source().options};
    std::set<Key> keys;
    for (const opencl::Source& source : sources)
        keys.insert(key_of(some_device(), source));
    EXPECT_EQ(keys.size(), sources.size());

    opencl::Source renamed = saxpy_source();
    renamed.name = "other.cl";
    EXPECT_EQ(key_of(some_device(), renamed), key_of(some_device(), saxpy_source()));
}

TEST_F(OpenClRequests, settings_of_the_driver_are_in_the_key)
{
    const Key before = key_of(some_device(), saxpy_source());
    m_environment.set("POCL_CACHE_DIR", "/elsewhere");
    EXPECT_EQ(key_of(some_device(), saxpy_source()), before);
    m_environment.set("NEO_CACHE_DIR", "/elsewhere");
    m_environment.set("AMD_COMGR_CACHE_DIR", "/elsewhere");
    EXPECT_EQ(key_of(some_device(), saxpy_source()), before);
    std::set<Key> keys{before};
    for (const char* setting : {"POCL_EXTRA_BUILD_FLAGS", "HSA_OVERRIDE_GFX_VERSION", "AMD_COMGR_OPTIONS",
                                "NEO_ForceCompiler", "MESA_DEBUG"}) {
        m_environment.set(setting, "1");
        EXPECT_TRUE(keys.insert(key_of(some_device(), saxpy_source())).second) << setting;
    }
}

TEST_F(OpenClRequests, a_source_that_cannot_be_given_is_refused)
{
    EXPECT_EQ(refusal_of(some_device(), {}), "The source is empty. Give OpenCL C or IL.");
    EXPECT_EQ(refusal_of(some_device(), {.text = std::string("a\0b", 3)}),
              "The source has a zero byte at offset 1, where a compiler would stop reading. Remove it.");
    EXPECT_EQ(refusal_of(some_device(), {.text = "a", .il = Bytes::copy_of("b")}),
              "Both OpenCL C and IL are given, and a program is made of one. Leave one out.");
    opencl::Device device = some_device();
    device.il_version.clear();
    EXPECT_EQ(refusal_of(device, {.il = Bytes::copy_of("b")}),
              "Device \"device\" takes no IL. Give OpenCL C, or choose another device.");
}

TEST_F(OpenClRequests, what_no_key_can_hold_is_not_looked_up)
{
    EXPECT_EQ(bypass_of(saxpy_source().text), "");
    EXPECT_EQ(bypass_of("#include \"own.h\"\n"),
              "the source has an #include, and which file that is only the driver knows");
    EXPECT_NE(bypass_of("# inc\\\nlude <own.h>\n"), "");
    EXPECT_NE(bypass_of("constant char when[] = __TIME__;"), "");
    EXPECT_NE(bypass_of("constant char where[] = __FILE__;"), "");
    EXPECT_NE(bypass_of("constant char when[] = WHEN;", {"-DWHEN=__DATE__"}), "");
    EXPECT_NE(bypass_of("kernel void k() {}", {"-include", "own.h"}), "");
    EXPECT_NE(bypass_of("kernel void k() {}", {"-Werror -include own.h"}), "") << "two options in one";
    EXPECT_NE(bypass_of("kernel void k() {}", {" -include own.h"}), "");
    EXPECT_NE(bypass_of("kernel void k() {}", {"-Werror\t\"-include\" own.h"}), "");
    EXPECT_EQ(bypass_of("kernel void k() {}", {"-Werror -DA=no-include"}), "");
}

}  // namespace

}  // namespace hearth::test

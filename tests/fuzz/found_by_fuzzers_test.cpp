// What fuzzing found once and what is too large, or too particular, to be kept as an input in corpus/.

#include "base/digest.hpp"
#include "base/wire.hpp"
#include "hearth/options.hpp"
#include "remote/breaker.hpp"
#include "support/isolated_environment.hpp"
#include "support/scratch_directory.hpp"
#include "support/single_file.hpp"

#include <gtest/gtest.h>

namespace hearth::test {

namespace {

class ConfigurationFile : public testing::Test {
protected:
    Settings resolve_with(const std::string& text)
    {
        write_file(m_scratch / "config.json", text);
        m_environment.set("HEARTH_CONFIG", m_scratch / "config.json");
        return resolve();
    }

    IsolatedEnvironment m_environment;
    ScratchDirectory m_scratch;
};

}  // namespace

TEST_F(ConfigurationFile, nested_deeper_than_any_stack_is_told_and_passed_over)
{
    const std::size_t depth = 400000;
    const Settings settings =
        resolve_with("{\"max_bytes\": " + std::string(depth, '[') + std::string(depth, ']') + ", \"max_entries\": 7}");
    ASSERT_EQ(settings.problems.size(), 1U);
    EXPECT_EQ(settings.problems[0],
              "file " + (m_scratch / "config.json") +
                  ", line 1: max_bytes takes a size with a unit, such as 512M or 10GiB, or none, not a JSON array; it "
                  "was passed over.");
    EXPECT_EQ(settings.find("max_entries")->value, "7");
}

TEST_F(ConfigurationFile, with_a_zero_byte_in_a_path_does_not_mean_the_path_before_it)
{
    write_file(m_scratch / "precious", "a user's own file");
    const Settings settings = resolve_with("{\"directory\": \"" + (m_scratch / "precious") + "\\u0000x\"}");
    EXPECT_EQ(settings.problems.size(), 1U);
    EXPECT_EQ(settings.options.directory->find("precious"), std::string::npos);
}

TEST_F(ConfigurationFile, null_is_no_name_of_a_directory)
{
    const Settings settings = resolve_with(R"({"directory": null})");
    EXPECT_EQ(settings.problems.size(), 1U);
    EXPECT_NE(settings.options.directory, "null");
}

// Twice such a pause is none in 32 bits, and what it was divided by was zero.
TEST(BreakerFile, with_a_pause_of_weeks_does_not_end_the_process)
{
    constexpr std::uint64_t k_s = 1'000'000'000;
    std::uint64_t now = 1'700'000'000 * k_s;
    base::WireWriter out;
    out.raw("HRTHBRK1");
    out.number(now);
    out.number(std::uint32_t{0x80000000});
    out.number(std::uint32_t{0});
    const base::Checksum sum = base::checksum(base::ChecksumKind::sha256, out.view()).value();
    out.raw(std::as_bytes(std::span(sum)).first(8));
    SingleFile file(out.out());
    remotes::Breaker breaker(
        "state/remote", [&] { return now; }, Users::one, file);
    EXPECT_TRUE(breaker.allows());
    breaker.failed(remotes::Breaker::Failure::server);
    EXPECT_FALSE(breaker.allows());
    now += 30 * k_s;
    EXPECT_TRUE(breaker.allows());
}

}  // namespace hearth::test

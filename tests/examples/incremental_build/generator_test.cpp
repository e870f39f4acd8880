#include "generator.hpp"

#include "eph/checksum.hpp"
#include "eph/interface.hpp"

#include <algorithm>
#include <gtest/gtest.h>

namespace demo {
namespace {

TEST(Generator, the_same_seed_gives_the_same_sources)
{
    EXPECT_EQ(generate({.modules = 50, .seed = 7}), generate({.modules = 50, .seed = 7}));
    EXPECT_NE(generate({.modules = 50, .seed = 7}), generate({.modules = 50, .seed = 8}));
}

// The same on every machine and with every compiler, or figures from two of them could not be compared.
TEST(Generator, the_sources_of_a_seed_stay_what_they_are)
{
    std::string all;
    for (const auto& [file, source] : generate({.modules = 50, .seed = 7}))
        all += file + source;
    EXPECT_EQ(eph::checksum(hearth::as_bytes(all)), 16399733197535511180U);
}

TEST(Generator, modules_are_as_long_as_people_write_them_and_import_a_few)
{
    const auto files = generate({.modules = 200, .seed = 1});
    EXPECT_EQ(files.size(), 200U);
    std::ptrdiff_t lines = 0;
    std::size_t imports = 0;
    for (const auto& [file, source] : files) {
        lines += std::count(source.begin(), source.end(), '\n');
        imports += eph::outline_of(source).imports.size();
    }
    EXPECT_GT(lines / 200, 100);
    EXPECT_LT(lines / 200, 300);
    EXPECT_GT(imports, 200U);
    EXPECT_LT(imports, 800U);
}

TEST(Generator, an_edit_of_a_body_keeps_the_interface_and_one_of_a_signature_changes_it)
{
    const std::string source = generate({.modules = 3, .seed = 1}).at("part_001.eph");
    const std::string interface = eph::outline_of(source).interface.text();
    const std::string body = with_edited_body(source, 12345);
    EXPECT_NE(body, source);
    EXPECT_EQ(eph::outline_of(body).interface.text(), interface);
    const std::string signature = with_edited_signature(source).value();
    EXPECT_NE(eph::outline_of(signature).interface.text(), interface);
    EXPECT_EQ(with_edited_signature(signature), source);
    EXPECT_FALSE(with_edited_signature("export fn main() -> int { return 1; }"));
}

}  // namespace
}  // namespace demo

#include "eph/interface.hpp"

#include "eph/error.hpp"

#include <gtest/gtest.h>

namespace eph {
namespace {

std::string interface_of(const std::string& source)
{
    return outline_of(source).interface.text();
}

const std::string k_source = "import a;\n"
                             "export fn twice(x: int) -> int { return help(x) * 2; }\n"
                             "export fn above(x: float, limit: float) -> bool { return x > limit; }\n"
                             "fn help(x: int) -> int { return x; }\n";

TEST(Interface, it_holds_exported_signatures_by_name)
{
    EXPECT_EQ(interface_of(k_source), "above(float, float) -> bool\ntwice(int) -> int\n");
    const Outline outline = outline_of(k_source);
    EXPECT_EQ(outline.imports, std::vector<std::string>{"a"});
    EXPECT_NE(outline.interface.find("twice"), nullptr);
    EXPECT_EQ(outline.interface.find("help"), nullptr);
    EXPECT_EQ(outline.interface.find("zero"), nullptr);
}

TEST(Interface, bodies_private_functions_layout_order_and_parameter_names_leave_it_as_it_is)
{
    EXPECT_EQ(interface_of(k_source), interface_of("import b; // another\n"
                                                   "fn other() -> bool { return true; }\n"
                                                   "export fn above(a: float, b: float)\n -> bool { return b > a; }\n"
                                                   "export fn twice(y: int) -> int { return 0; }\n"));
}

TEST(Interface, any_change_of_a_signature_changes_it)
{
    const std::string before = interface_of("export fn f(x: int) -> int { return x; }");
    for (const std::string source : {
             "export fn f(x: float) -> int { return 1; }",
             "export fn f(x: int) -> float { return x; }",
             "export fn f(x: int, y: int) -> int { return x; }",
             "export fn g(x: int) -> int { return x; }",
             "fn f(x: int) -> int { return x; }",
             "export fn f(x: int) -> int { return x; } export fn g() -> int { return 1; }",
         })
        EXPECT_NE(interface_of(source), before) << source;
}

TEST(Interface, a_mistake_in_a_body_is_left_to_the_compiler)
{
    EXPECT_EQ(interface_of("export fn f() -> int { this is ( not { right } @ }"), "f() -> int\n");
    EXPECT_THROW(outline_of("export fn f( -> int { return 1; }"), CompileError);
    EXPECT_THROW(outline_of("export fn f() -> int { return 1;"), CompileError);
}

}  // namespace
}  // namespace eph

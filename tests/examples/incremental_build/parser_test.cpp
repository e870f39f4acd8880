#include "eph/parser.hpp"

#include "eph_test.hpp"

#include <gtest/gtest.h>

namespace eph {
namespace {

// Fully parenthesised, so that a test sees what binds to what.
std::string shown(const Expression& expression)
{
    static const char* const k_names[] = {"+", "-", "*", "/", "%", "==", "!=", "<", "<=", ">", ">=", "&&", "||"};
    std::string text;
    switch (expression.kind) {
    case Expression::Kind::integer:
        return std::to_string(expression.bits);
    case Expression::Kind::variable:
        return std::string(expression.name);
    case Expression::Kind::negate:
        return "(-" + shown(expression.operands[0]) + ")";
    case Expression::Kind::invert:
        return "(!" + shown(expression.operands[0]) + ")";
    case Expression::Kind::binary:
        return "(" + shown(expression.operands[0]) + k_names[static_cast<int>(expression.op)] +
               shown(expression.operands[1]) + ")";
    default:
        text = std::string(expression.module) + ":" + std::string(expression.name) + "(";
        for (const Expression& operand : expression.operands)
            text += shown(operand) + ",";
        return text + ")";
    }
}

std::string parsed(const std::string& expression)
{
    const std::string source = "fn f() -> int { return " + expression + "; }";
    return shown(parse(source).functions.at(0).body.at(0).value);
}

TEST(Parser, operators_bind_as_usual)
{
    EXPECT_EQ(parsed("a + b * c - d"), "((a+(b*c))-d)");
    EXPECT_EQ(parsed("a - b - c"), "((a-b)-c)");
    EXPECT_EQ(parsed("(a - (b - c)) % 2"), "((a-(b-c))%2)");
    EXPECT_EQ(parsed("a || b && c == d < e + f"), "(a||(b&&(c==(d<(e+f)))))");
    EXPECT_EQ(parsed("-a * !b"), "((-a)*(!b))");
    EXPECT_EQ(parsed("--a"), "(-(-a))");
}

TEST(Parser, calls_name_their_module)
{
    EXPECT_EQ(parsed("f(1, g(), m.h(x + 1))"), ":f(1,:g(),m:h((x+1),),)");
}

TEST(Parser, a_module_is_imports_and_functions)
{
    const std::string source = "import one; import two;\n"
                               "export fn f(a: int, b: float) -> bool { return true; }\n"
                               "fn g() -> int { let x: int = 1; x = 2; f(x, 1.5); if x > 1 { return 1; } else if x > 0 "
                               "{ return 2; } while true { x = 3; } return x; }";
    const ModuleDeclaration module = parse(source);
    ASSERT_EQ(module.imports.size(), 2U);
    EXPECT_EQ(module.imports[1].name, "two");
    ASSERT_EQ(module.functions.size(), 2U);
    EXPECT_TRUE(module.functions[0].exported);
    EXPECT_FALSE(module.functions[1].exported);
    EXPECT_EQ(to_string(module.functions[0].signature()), "(int, float) -> bool");
    const std::vector<Statement>& body = module.functions[1].body;
    ASSERT_EQ(body.size(), 6U);
    EXPECT_EQ(body[0].kind, Statement::Kind::let);
    EXPECT_EQ(body[1].kind, Statement::Kind::assign);
    EXPECT_EQ(body[2].kind, Statement::Kind::call);
    EXPECT_EQ(body[3].kind, Statement::Kind::choose);
    EXPECT_EQ(body[3].otherwise.at(0).kind, Statement::Kind::choose);
    EXPECT_EQ(body[4].kind, Statement::Kind::loop);
    EXPECT_EQ(body[5].kind, Statement::Kind::give_back);
}

TEST(Parser, errors_say_what_was_expected_and_where)
{
    using test::error_of;
    EXPECT_EQ(error_of("import 3;"), "test.eph:1:8: error: Expected the name of a module, found \"3\".");
    EXPECT_EQ(error_of("export let"), "test.eph:1:8: error: Expected \"fn\", found \"let\".");
    EXPECT_EQ(error_of("let x = 1;"), "test.eph:1:1: error: Expected a function, found \"let\".");
    EXPECT_EQ(error_of("fn f(a) -> int {}"), "test.eph:1:7: error: Expected \":\", found \")\".");
    EXPECT_EQ(error_of("fn f(a: int,) -> int {}"),
              "test.eph:1:13: error: Expected the name of a parameter, found \")\".");
    EXPECT_EQ(error_of("fn f() -> text {}"),
              "test.eph:1:11: error: Expected a type (int, float or bool), found \"text\".");
    EXPECT_EQ(error_of("fn f() -> int"), "test.eph:1:14: error: Expected \"{\", found the end of the file.");
    EXPECT_EQ(error_of("fn f() -> int {\n    return 1\n}"), "test.eph:3:1: error: Expected \";\", found \"}\".");
    EXPECT_EQ(error_of("fn f() -> int {\n    return 1 +;\n}"),
              "test.eph:2:15: error: Expected an expression, found \";\".");
    EXPECT_EQ(error_of("fn f() -> int {\n    1;\n}"), "test.eph:2:5: error: Expected a statement, found \"1\".");
    EXPECT_EQ(error_of("fn f() -> int { x; }"), "test.eph:1:18: error: Expected \"(\", found \";\".");
    EXPECT_EQ(error_of("fn f() -> int { return 1;"), "test.eph:1:15: error: This \"{\" is never closed.");
    EXPECT_EQ(error_of("fn f() -> int { return int(1, 2); }"),
              "test.eph:1:32: error: A conversion to int takes one value.");
}

TEST(Parser, numbers_that_do_not_fit_are_refused)
{
    using test::error_of;
    EXPECT_EQ(test::value_of("return 9223372036854775807;"), INT64_MAX);
    EXPECT_EQ(error_of("fn f() -> int { return 9223372036854775808; }"),
              "test.eph:1:24: error: The number 9223372036854775808 does not fit into an int, which ends at "
              "9223372036854775807.");
    EXPECT_EQ(error_of("fn f() -> float { return 1.0e999; }"),
              "test.eph:1:26: error: The number 1.0e999 does not fit into a float.");
}

std::string repeated(std::string_view text, int count)
{
    std::string whole;
    for (; count > 0; --count)
        whole += text;
    return whole;
}

// Every stage recurses; a source must not be able to run it out of stack.
TEST(Parser, what_nests_too_deep_is_refused)
{
    using test::error_of;
    const int deep = 100'000;
    for (const std::string& body : {
             "return " + repeated("(", deep) + "1" + repeated(")", deep) + ";",
             "return " + repeated("-", deep) + "1;",
             "return 1" + repeated(" + 1", deep) + ";",
             "return " + repeated("f(", deep) + repeated(")", deep) + ";",
             repeated("if true {", deep) + repeated("}", deep),
             repeated("while true {", deep) + repeated("}", deep),
             "if true {} " + repeated("else if true {} ", deep),
         }) {
        const std::string error = error_of("fn f() -> int { " + body + " }");
        EXPECT_NE(error.find("200 levels"), std::string::npos) << error << " for " << body.substr(0, 40);
    }
    EXPECT_EQ(test::value_of("return 1" + repeated(" + 1", 150) + ";"), 151);
    EXPECT_EQ(test::value_of("return " + repeated("(", 150) + "1" + repeated(")", 150) + ";"), 1);
}

}  // namespace
}  // namespace eph

#include "hearth/operator.hpp"
#include "support/isolated_environment.hpp"

#include <gtest/gtest.h>
#include <stdexcept>
#include <vector>

// An operation with its original as fallback: off or failing, the numbers are the same (51).

namespace hearth::test {

namespace {

class OperatorTest : public testing::Test {
protected:
    using Sum = Operator<int(int, int)>;
    Sum::Fast fast()
    {
        return [this](int a, int b) -> Result<int> {
            ++m_tried;
            if (m_failing)
                return Error{Code::compile_failed, "k.cu(1): no", {}};
            return a + b;
        };
    }
    static Sum::Original original()
    {
        return [](int a, int b) { return a + b; };
    }
    OperatorOptions logged()
    {
        return {.log = [this](LogLevel, std::string_view line) { m_log.emplace_back(line); }};
    }

    IsolatedEnvironment m_environment;
    bool m_failing = false;
    int m_tried = 0;
    std::vector<std::string> m_log;
};

TEST_F(OperatorTest, the_fast_version_answers_while_it_works_and_a_failure_is_answered_by_the_original_and_logged_once)
{
    Sum sum("sum", fast(), original(), logged());
    EXPECT_EQ(sum(2, 3), 5);
    EXPECT_EQ(sum.stats().fast, 1U);
    EXPECT_TRUE(m_log.empty());
    m_failing = true;
    for (int i = 0; i < 10; ++i)
        EXPECT_EQ(sum(i, 3), i + 3);
    EXPECT_EQ(sum.stats().original, 10U);
    EXPECT_EQ(sum.stats().failures, 3U) << "then it has given up";
    EXPECT_EQ(m_tried, 1 + 3);
    ASSERT_EQ(m_log.size(), 1U);
    EXPECT_EQ(m_log[0], "Operator \"sum\" falls back to its original: k.cu(1): no");
    m_failing = false;
    sum.retry();
    EXPECT_EQ(sum(2, 3), 5);
    EXPECT_EQ(sum.stats().fast, 2U);
}

TEST_F(OperatorTest, failures_that_are_not_in_a_row_do_not_make_it_give_up)
{
    Sum sum("sum", fast(), original());
    for (int i = 0; i < 10; ++i) {
        m_failing = i % 2 == 0;
        EXPECT_EQ(sum(i, 1), i + 1);
    }
    EXPECT_EQ(sum.stats().failures, 5U);
    EXPECT_EQ(sum.stats().fast, 5U);
}

TEST_F(OperatorTest, switched_off_it_calls_the_original_alone)
{
    Sum sum("sum", fast(), original(), {.fast = Switch::off});
    EXPECT_EQ(sum(2, 3), 5);
    m_environment.set("HEARTH_DISABLE", "1");
    Sum disabled("sum", fast(), original());
    EXPECT_EQ(disabled(2, 3), 5);
    EXPECT_EQ(m_tried, 0);
    sum.set_enabled(true);
    EXPECT_EQ(sum(2, 3), 5);
    EXPECT_EQ(m_tried, 1);
}

TEST_F(OperatorTest, what_the_fast_version_throws_is_a_failure)
{
    Operator<void(std::vector<int>&)> fill(
        "fill", [](std::vector<int>&) -> Status { throw std::runtime_error("out of luck"); },
        [](std::vector<int>& out) { out.push_back(1); }, logged());
    std::vector<int> out;
    fill(out);
    EXPECT_EQ(out, std::vector{1});
    EXPECT_EQ(fill.stats().failures, 1U);
    ASSERT_EQ(m_log.size(), 1U);
    EXPECT_NE(m_log[0].find("out of luck"), std::string::npos);
}

}  // namespace

}  // namespace hearth::test

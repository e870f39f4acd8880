#include "terminal/progress_line.hpp"

#include <gtest/gtest.h>

namespace hearth::cli {

TEST(ProgressLine, has_a_bar_and_numbers)
{
    EXPECT_EQ(progress_line("Exporting", 3, 10, 79), "Exporting [#########.....................]  30 %  3 of 10");
    EXPECT_EQ(progress_line("Exporting", 3, 0, 79), "Exporting 3") << "the total is not known yet";
    EXPECT_EQ(progress_line("Exporting", 12, 10, 79), "Exporting [##############################] 100 %  12 of 10");
}

TEST(ProgressLine, is_never_wider_than_the_terminal)
{
    EXPECT_EQ(progress_line("Exporting", 5, 10, 39), "Exporting [######......]  50 %  5 of 10");
    EXPECT_EQ(progress_line("Exporting", 5, 10, 30), "Exporting  50 %  5 of 10") << "no room for a bar";
    for (std::size_t columns = 0; columns < 90; ++columns)
        for (const std::uint64_t total : {0U, 7U, 1'000'000U})
            EXPECT_LE(progress_line("Verifying", 3, total, columns).size(), columns);
}

}  // namespace hearth::cli

#include "compilers/command/dependency_file.hpp"

#include <gtest/gtest.h>

namespace hearth::test {

namespace {

watch::Places places(const std::string& program, const std::string& directory)
{
    return {"/work", program, {directory}};
}

}  // namespace

TEST(DependencyFile, names_the_files_of_who_asks)
{
    const std::string text = "out/a.o: /one/a.cpp /one/a.h \\\n inc/b.h /usr/include/stdio.h here.h\n\n/one/a.h:\n";
    const auto kept = command::without_places(text, places("/one", "inc"), {"out/a.o"});
    ASSERT_TRUE(kept);
    EXPECT_EQ(kept->text().find("/one"), std::string::npos);
    EXPECT_EQ(command::with_places(kept->text(), places("/one", "inc"), {"out/a.o"}), text);
    EXPECT_EQ(command::with_places(kept->text(), places("/two", "/deep/inc"), {"b.o"}),
              "b.o: /two/a.cpp /two/a.h \\\n /deep/inc/b.h /usr/include/stdio.h here.h\n\n/two/a.h:\n");
}

TEST(DependencyFile, is_not_kept_where_names_are_quoted)
{
    EXPECT_FALSE(command::without_places("a.o: a\\ b.h\n", places("", "inc"), {"a.o"}));
    EXPECT_FALSE(command::without_places("a.o: $$x.h\n", places("", "inc"), {"a.o"}));
}

TEST(DependencyFile, that_grows_beyond_all_measure_is_refused)
{
    const auto kept = command::without_places("a.o:\n", places("/one", "inc"), {"a.o"});
    ASSERT_TRUE(kept);
    std::string many;
    for (int i = 0; i < 20'000; ++i)
        many += kept->text();
    const std::string longer(1000, 'a');
    EXPECT_TRUE(command::with_places(many.substr(0, many.size() / 2), places("/one", "inc"), {longer}));
    EXPECT_FALSE(command::with_places(many, places("/one", "inc"), {longer}));
    EXPECT_FALSE(command::with_places(std::string(20U << 20U, '\0'), places("/one", "inc"), {"a.o"}))
        << "pieces that become nothing";
}

TEST(DependencyFile, that_is_damaged_is_refused)
{
    const auto kept = command::without_places("a.o: /one/a.h\n", places("/one", "inc"), {"a.o"});
    ASSERT_TRUE(kept);
    EXPECT_FALSE(command::with_places(kept->text(), places("/one", "inc"), {}));
    EXPECT_FALSE(command::with_places(kept->text().substr(0, kept->size() - 3), places("/one", "inc"), {"a.o"}));
    EXPECT_FALSE(command::with_places("\x7f", places("/one", "inc"), {"a.o"}));
}

}  // namespace hearth::test

#include "header_tree.hpp"

#include <sys/stat.h>

namespace hearth::test {

namespace {

using headers::find_headers;
using Labels = std::vector<std::string>;

class Closures : public HeaderTree {};

TEST_F(Closures, follow_includes_of_includes_once_each)
{
    write("inc/a.h", "#include <b.h>\n#include \"sub/c.h\"");
    write("inc/b.h", "#pragma once\n#include <a.h>");  // a cycle
    write("inc/sub/c.h", "#include \"d.h\"\n#include \"../b.h\"");
    write("inc/sub/d.h", "");
    const format::Manifest manifest = find_headers(sources("#include <a.h>\n#include <a.h>", {"inc"}));
    EXPECT_EQ(labels(manifest), (Labels{"I:a.h", "I:b.h", "I:sub/c.h", "I:sub/d.h", "I:sub/../b.h"}));
    EXPECT_EQ(manifest.why_past_the_cache, "");
}

TEST_F(Closures, take_the_first_of_the_include_directories_and_note_where_nothing_was)
{
    write("two/a.h", "");
    write("three/a.h", "");
    const format::Manifest manifest = find_headers(sources("#include <a.h>", {"one", "two", "three"}));
    ASSERT_EQ(labels(manifest), Labels{"I:a.h"});
    EXPECT_EQ(manifest.files[0].path, path("two/a.h"));
    EXPECT_TRUE(lacks(manifest, "one/a.h"));
    EXPECT_FALSE(lacks(manifest, "three/a.h"));
}

TEST_F(Closures, quoted_headers_are_looked_for_beside_who_asks_first)
{
    write("program/a.h", "");
    write("inc/a.h", "");
    write("inc/deep/user.h", "#include \"a.h\"");
    write("inc/deep/a.h", "");
    const format::Manifest manifest =
        find_headers(sources("#include \"a.h\"\n#include <a.h>\n#include <deep/user.h>", {"inc"}));
    EXPECT_EQ(labels(manifest), (Labels{"P:a.h", "I:a.h", "I:deep/user.h", "I:deep/a.h"}));
}

TEST_F(Closures, nothing_is_looked_for_beside_the_program_where_that_is_switched_off)
{
    write("program/a.h", "");
    write("inc/a.h", "");
    headers::Sources off = sources("#include \"a.h\"", {"inc"});
    off.search_beside_program = false;
    EXPECT_EQ(labels(find_headers(off)), Labels{"I:a.h"});
}

TEST_F(Closures, headers_given_in_memory_come_first_and_are_followed)
{
    write("inc/given.h", "");
    write("inc/from_given.h", "");
    headers::Sources all = sources("#include <given.h>", {"inc"});
    all.memory_headers.emplace_back("given.h", "#include <from_given.h>");
    EXPECT_EQ(labels(find_headers(all)), Labels{"I:from_given.h"});
}

TEST_F(Closures, pre_included_headers_count)
{
    write("inc/pre.h", "#include <a.h>");
    write("inc/a.h", "");
    headers::Sources all = sources("", {"inc"});
    all.pre_includes = {"pre.h"};
    EXPECT_EQ(labels(find_headers(all)), (Labels{"I:pre.h", "I:a.h"}));
    EXPECT_TRUE(headers::asks_for_headers(all));
}

TEST_F(Closures, an_absolute_include_is_taken_as_it_is)
{
    const std::string absolute = write("elsewhere/x.h", "");
    const std::string program = "#include \"" + absolute + "\"";
    EXPECT_EQ(labels(find_headers(sources(program))), Labels{"A:" + absolute});
}

TEST_F(Closures, include_next_takes_every_one_there_is)
{
    write("one/a.h", "#include_next <a.h>");
    write("two/a.h", "");
    EXPECT_EQ(find_headers(sources("#include <a.h>", {"one", "two"})).files.size(), 2U);
}

TEST_F(Closures, a_question_whether_a_header_is_there_counts_as_reading_it)
{
    write("inc/there.h", "");
    const format::Manifest manifest = find_headers(
        sources("#define HAS(x) __has_include(x)\n#if HAS(<there.h>) || HAS(\"missing.h\") || __has_include(<no.h>)\n",
                {"inc"}));
    EXPECT_EQ(labels(manifest), Labels{"I:there.h"});
    EXPECT_TRUE(lacks(manifest, "inc/missing.h"));
    EXPECT_TRUE(lacks(manifest, "inc/no.h"));
}

TEST_F(Closures, computed_includes_come_to_all_they_may_mean)
{
    write("inc/config.h", "#ifdef X\n#define PART <x.h>\n#else\n#define PART <y.h>\n#endif");
    write("inc/x.h", "");
    write("inc/y.h", "#define LATER \"z.h\"");
    write("inc/z.h", "");
    headers::Sources all = sources("#include <config.h>\n#include PART\n#include LATER\n#include FROM_OPTION", {"inc"});
    write("inc/option.h", "");
    all.defines = {{"FROM_OPTION", false, {}, "<option.h>"}};
    const format::Manifest manifest = find_headers(all);
    for (const char* label : {"I:config.h", "I:x.h", "I:y.h", "I:z.h", "I:option.h"})
        EXPECT_NE(find(manifest, label), nullptr) << label;
    EXPECT_EQ(manifest.why_past_the_cache, "");
}

TEST_F(Closures, an_include_that_cannot_be_told_is_a_reason_to_bypass)
{
    const format::Manifest manifest =
        find_headers(sources("#define STRING(x) #x\n#define H STRING(a.h)\n#include H\n"));
    EXPECT_NE(manifest.why_past_the_cache.find("#include H"), std::string::npos) << manifest.why_past_the_cache;
}

TEST_F(Closures, the_clock_in_any_header_is_a_reason_to_bypass)
{
    write("inc/a.h", "const char* built = __DATE__;");
    EXPECT_NE(find_headers(sources("#include <a.h>", {"inc"})).why_past_the_cache, "");
    EXPECT_NE(find_headers(sources("__TIME__")).why_past_the_cache, "");
}

TEST_F(Closures, links_are_followed_and_folders_and_pipes_are_no_headers)
{
    write("real/a.h", "#include \"b.h\"");
    std::filesystem::create_directories(path("inc"));
    std::filesystem::create_symlink(path("real/a.h"), path("inc/a.h"));
    write("inc/b.h", "");
    std::filesystem::create_directories(path("inc/folder.h"));
    ASSERT_EQ(::mkfifo(path("inc/pipe.h").c_str(), 0600), 0);
    const format::Manifest manifest =
        find_headers(sources("#include <a.h>\n#include <folder.h>\n#include <pipe.h>", {"inc"}));
    EXPECT_EQ(labels(manifest), (Labels{"I:a.h", "I:b.h"}));
}

TEST_F(Closures, a_tree_that_moved_has_the_same_labels_and_digests)
{
    const auto make = [&](const std::string& root) {
        write(root + "/program/local.h", "int local;");
        write(root + "/inc/a.h", "#include \"b.h\"");
        write(root + "/inc/b.h", "int b;");
        headers::Sources all;
        all.program = "#include \"local.h\"\n#include <a.h>";
        all.program_name = path(root + "/program/main.cu");
        all.include_directories = {path(root + "/inc")};
        return find_headers(all);
    };
    const format::Manifest here = make("here");
    const format::Manifest there = make("there");
    ASSERT_EQ(labels(here), labels(there));
    for (std::size_t i = 0; i < here.files.size(); ++i)
        EXPECT_EQ(here.files[i].digest, there.files[i].digest);
}

TEST_F(Closures, a_path_matters_only_for_files_whose_code_can_name_itself)
{
    write("inc/check.h",
          "#define CHECK(x) fail(__FILE__, x)\n#define JOIN(a, b) a##b\n#define KERNEL JOIN(__glo, bal__)\n");
    write("inc/uses.h", "void f() { CHECK(1); }");
    write("inc/plain.h", "KERNEL void g();");
    write("inc/pastes.h", "int JOIN(a, b);");
    write("inc/makes.h", "const char* f = JOIN(__FI, LE__);");
    write("inc/asserts.h", "void h(int x) { assert(x); }");
    const format::Manifest manifest = find_headers(
        sources("#include <check.h>\n#include <uses.h>\n#include <plain.h>\n#include <pastes.h>\n#include <asserts.h>",
                {"inc"}));
    EXPECT_FALSE(find(manifest, "I:check.h")->path_matters);
    EXPECT_TRUE(find(manifest, "I:uses.h")->path_matters);
    EXPECT_FALSE(find(manifest, "I:plain.h")->path_matters);
    EXPECT_FALSE(find(manifest, "I:pastes.h")->path_matters);
    const format::Manifest making = find_headers(sources("#include <check.h>\n#include <makes.h>\n", {"inc"}));
    EXPECT_TRUE(find(making, "I:makes.h")->path_matters);
    EXPECT_TRUE(find(manifest, "I:asserts.h")->path_matters);
    EXPECT_FALSE(manifest.program_path_matters);
    EXPECT_FALSE(manifest.all_paths_matter);
    EXPECT_TRUE(find_headers(sources("void f() { assert(1); }")).program_path_matters);
    EXPECT_TRUE(find_headers(sources("void f(const char* from = __builtin_FILE());")).program_path_matters);
    EXPECT_TRUE(find_headers(sources("auto f = [](const char* from = __builtin_FILE()) {};")).all_paths_matter);
    write("inc/location.h",
          "struct S { static S current(const char* f = __builtin_FILE()); };\nvoid fail(S s = S::current());");
    write("inc/fails.h", "void g() { fail(); }");
    const format::Manifest located =
        find_headers(sources("#include <location.h>\n#include <fails.h>\n#include <plain.h>\n", {"inc"}));
    EXPECT_TRUE(find(located, "I:fails.h")->path_matters);
    EXPECT_FALSE(find(located, "I:plain.h")->path_matters);
    EXPECT_FALSE(located.program_path_matters);
    EXPECT_FALSE(located.all_paths_matter);
}

TEST_F(Closures, a_source_that_asks_for_nothing_is_known_as_such)
{
    EXPECT_FALSE(headers::asks_for_headers(sources("__global__ void k() {}")));
    for (const char* source : {"#include <a.h>", "#inc\\\nlude <a.h>", "__has_include(<a.h>)", "#import <a.h>"})
        EXPECT_TRUE(headers::asks_for_headers(sources(source))) << source;
}

TEST_F(Closures, only_a_source_with_nothing_to_find_is_plain)
{
    EXPECT_TRUE(headers::is_plain(sources("__global__ void k(int* x) { *x = 1; }")));
    for (const char* source : {"#include <a.h>", "__FILE__", "assert(1);", "__builtin_FILE()", "__TIME__", "__DATE__",
                               "__TIMESTAMP__", "#embed \"x\"", "#define J(a, b) a##b"})
        EXPECT_FALSE(headers::is_plain(sources(source))) << source;
    headers::Sources defined = sources("WHERE");
    defined.defines = {{"WHERE", false, {}, "__FILE__"}};
    EXPECT_FALSE(headers::is_plain(defined));
}

}  // namespace

}  // namespace hearth::test

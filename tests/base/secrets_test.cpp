#include "base/secrets.hpp"

#include "base/text.hpp"

#include <gtest/gtest.h>

namespace hearth::test {

namespace {

using Words = std::vector<std::string>;

std::string masked(std::string_view word)
{
    return base::without_secrets(word);
}

}  // namespace

TEST(Secrets, are_masked_behind_their_names)
{
    EXPECT_EQ(masked("--token=hunter2"), "--token=***");
    EXPECT_EQ(masked("--password=correct horse"), "--password=***");
    EXPECT_EQ(masked("-DAPI_KEY=hunter2"), "-DAPI_KEY=***");
    EXPECT_EQ(masked("-DKEY=\"hunter2\""), "-DKEY=***");
    EXPECT_EQ(masked("PASSWORD=123"), "PASSWORD=***");
    EXPECT_EQ(masked("AWS_SECRET_ACCESS_KEY=hunter2"), "AWS_SECRET_ACCESS_KEY=***");
    EXPECT_EQ(masked("-Xcompiler=-DaccessToken=hunter2"), "-Xcompiler=-DaccessToken=***");
    EXPECT_EQ(masked("Authorization: Bearer hunter2"), "Authorization: ***");
    EXPECT_EQ(masked("-DTOKEN(x)=hunter2"), "-DTOKEN(x)=***");
    EXPECT_EQ(masked("-DAPI_KEY_PROD = hunter2"), "-DAPI_KEY_PROD =***");
    EXPECT_EQ(masked("-DGITHUB_TOKEN_RO=hunter2"), "-DGITHUB_TOKEN_RO=***");
}

TEST(Secrets, end_where_the_word_ends)
{
    EXPECT_EQ(masked(R"({"user": "ann", "token": "hunter2", "more": 1})"), R"({"user": "ann", "token": ***)");
    EXPECT_EQ(masked(R"(-DCFG="{\"token\":\"hunter2\"}")"), R"(-DCFG="{\"token\":***)");
    EXPECT_EQ(masked("Authorization: Digest user=\"ann\", response=\"hunter2\""), "Authorization: ***");
    EXPECT_EQ(masked("curl -H 'X-Api-Key: hunter2' --token hunter2"), "curl -H 'X-Api-Key: ***");
}

TEST(Secrets, are_masked_in_addresses)
{
    EXPECT_EQ(masked("https://ann:hunter2@host/path"), "https://***@host/path");
    EXPECT_EQ(masked("--from=redis://:hun@ter2@host:1?x=1"), "--from=redis://***@host:1?x=1");
    EXPECT_EQ(masked("https://ann:hun/ter?2@host/path"), "https://***@host/path");
    EXPECT_EQ(masked("https://host/a?x=1&sig=hunter2&token=hunter2&y=2"), "https://host/a?x=1&sig=***&token=***&y=2");
    EXPECT_EQ(masked("https://host/?X-Amz-Credential=hunter2&X-Amz-Signature=hunter2"),
              "https://host/?X-Amz-Credential=***&X-Amz-Signature=***");
}

TEST(Secrets, are_masked_in_the_word_that_follows_an_option)
{
    EXPECT_EQ(base::without_secrets(Words{"--password", "1234", "--token", "hunter2", "k.cu"}),
              (Words{"--password", "***", "--token", "***", "k.cu"}));
    EXPECT_EQ(base::without_secrets(Words{"--token", "-hunter2"}), (Words{"--token", "***"}));
    EXPECT_EQ(base::without_secrets(Words{"--auth", "--verbose", "k.cu"}), (Words{"--auth", "--verbose", "k.cu"}));
}

TEST(Secrets, leave_the_words_of_compilers_as_they_are)
{
    Words words;
    for (const std::string_view word : base::words_of(
             "nvcc -keep --keyword k.cu -fkeep-static-functions -DKEY_BITS=4 -DNUM_TOKENS=128 -DNUM_PASSES=3 "
             "-DEND_TOKEN=2 -DUSE_TOKEN monkey.cu -o key.o -DMONKEY=banana -I/home/secret/include "
             "-Wl,-rpath,/opt/token:/opt/lib -fdebug-prefix-map=/src/token=. -gencode=arch=compute_90,code=sm_90 "
             "--tokenize=yes -DAUTHOR=ann https://host:80/path@2 std::token::x -D"))
        words.emplace_back(word);
    words.emplace_back("test -n \"$API_TOKEN\" && cp a b");
    EXPECT_EQ(base::without_secrets(words), words);
}

TEST(Secrets, that_were_masked_stay_so)
{
    for (const char* word : {"--token=hunter2", "https://ann:hunter2@host/?key=hunter2", "x --token hunter2"})
        EXPECT_EQ(masked(masked(word)), masked(word));
}

TEST(Variables, are_harmless_only_by_name_and_value)
{
    EXPECT_TRUE(base::is_harmless_variable("PATH", "/bin:/usr/bin"));
    EXPECT_TRUE(base::is_harmless_variable("LC_ALL", "C"));
    EXPECT_FALSE(base::is_harmless_variable("API_TOKEN", "x"));
    EXPECT_FALSE(base::is_harmless_variable("DATABASE", "x"));
    EXPECT_FALSE(base::is_harmless_variable("CUDA_SECRET", "x"));
    EXPECT_FALSE(base::is_harmless_variable("CPATH LANG", "x"));
    EXPECT_FALSE(base::is_harmless_variable("NVCC_APPEND_FLAGS", "-DPASSWORD=x"));
    EXPECT_EQ(base::shown_variable("LANG=C"), "LANG=C");
    EXPECT_EQ(base::shown_variable("NAME=a=b"), "NAME=***");
}

}  // namespace hearth::test

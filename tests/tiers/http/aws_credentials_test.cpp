#include "tiers/http/aws_credentials.hpp"

#include <gtest/gtest.h>
#include <map>

namespace hearth::test {

using namespace tiers::http;

namespace {

struct Sources {
    std::map<std::string, std::string> variables;
    std::map<std::string, std::string> files;

    AwsSources look() const
    {
        const auto in = [](const std::map<std::string, std::string>& where, const std::string& name) {
            const auto found = where.find(name);
            return found == where.end() ? std::nullopt : std::optional(found->second);
        };
        return {[this, in](const char* name) { return in(variables, name); },
                [this, in](const std::string& path) { return in(files, path); }};
    }
};

constexpr const char* k_file = "# comment\r\n"
                               "[default]\r\n"
                               "aws_access_key_id=DK\r\n"
                               "aws_secret_access_key = d/s=+ \r\n"
                               "; another\r\n"
                               "\r\n"
                               "[ work ]\n"
                               "aws_access_key_id = WK\n"
                               "aws_secret_access_key = ws\n"
                               "aws_session_token = wt\n"
                               "s3 =\n"
                               "  aws_access_key_id = nested\n"
                               "[half]\n"
                               "aws_access_key_id = HK";

}  // namespace

TEST(AwsCredentials, the_environment_comes_first)
{
    const Sources sources{{{"AWS_ACCESS_KEY_ID", "EK"},
                           {"AWS_SECRET_ACCESS_KEY", "es"},
                           {"AWS_SESSION_TOKEN", "et"},
                           {"HOME", "/home/me"}},
                          {{"/home/me/.aws/credentials", k_file}}};
    const auto keys = find_credentials(sources.look());
    ASSERT_TRUE(keys.ok());
    EXPECT_EQ(keys->access_key, "EK");
    EXPECT_EQ(keys->secret_key, "es");
    EXPECT_EQ(keys->session_token, "et");
}

TEST(AwsCredentials, then_the_file_with_its_profiles)
{
    Sources sources{{{"HOME", "/home/me"}, {"AWS_ACCESS_KEY_ID", "alone"}}, {{"/home/me/.aws/credentials", k_file}}};
    auto keys = find_credentials(sources.look());
    ASSERT_TRUE(keys.ok());
    EXPECT_EQ(keys->access_key, "DK");
    EXPECT_EQ(keys->secret_key, "d/s=+");
    EXPECT_EQ(keys->session_token, "");
    sources.variables["AWS_PROFILE"] = "work";
    keys = find_credentials(sources.look());
    ASSERT_TRUE(keys.ok());
    EXPECT_EQ(keys->access_key, "WK");
    EXPECT_EQ(keys->session_token, "wt");
    sources.files["/elsewhere"] = "[work]\naws_access_key_id=X\naws_secret_access_key=y\n";
    sources.variables["AWS_SHARED_CREDENTIALS_FILE"] = "/elsewhere";
    EXPECT_EQ(find_credentials(sources.look())->access_key, "X");
}

TEST(AwsCredentials, where_there_are_none_the_sentence_says_where_it_looked)
{
    Sources sources{{{"HOME", "/home/me"}}, {}};
    const auto missing = find_credentials(sources.look());
    ASSERT_FALSE(missing.ok());
    EXPECT_EQ(missing.error().code, Code::denied);
    EXPECT_NE(missing.error().message.find("/home/me/.aws/credentials"), std::string::npos);
    sources.files["/home/me/.aws/credentials"] = k_file;
    for (const char* profile : {"half", "none"}) {
        sources.variables["AWS_PROFILE"] = profile;
        const auto incomplete = find_credentials(sources.look());
        ASSERT_FALSE(incomplete.ok());
        EXPECT_NE(incomplete.error().message.find(profile), std::string::npos) << incomplete.error().message;
        EXPECT_EQ(incomplete.error().message.find("HK"), std::string::npos) << incomplete.error().message;
    }
}

TEST(AwsCredentials, the_region_and_the_endpoint_are_found_likewise)
{
    Sources sources{{{"HOME", "/h"}}, {}};
    EXPECT_FALSE(find_region(sources.look()));
    EXPECT_FALSE(find_endpoint(sources.look()));
    sources.files["/h/.aws/config"] = "[default]\nregion = eu-west-1\n[profile work]\nregion=eu-north-1\n";
    EXPECT_EQ(find_region(sources.look()), "eu-west-1");
    sources.variables["AWS_PROFILE"] = "work";
    EXPECT_EQ(find_region(sources.look()), "eu-north-1");
    sources.variables["AWS_DEFAULT_REGION"] = "a";
    EXPECT_EQ(find_region(sources.look()), "a");
    sources.variables["AWS_REGION"] = "b";
    EXPECT_EQ(find_region(sources.look()), "b");
    sources.variables["AWS_ENDPOINT_URL"] = "http://x";
    EXPECT_EQ(find_endpoint(sources.look()), "http://x");
    sources.variables["AWS_ENDPOINT_URL_S3"] = "http://y";
    EXPECT_EQ(find_endpoint(sources.look()), "http://y");
}

TEST(AwsCredentials, an_odd_file_does_no_harm)
{
    for (const char* text : {"", "[", "[]", "]", "=", "[default", "[default]\n=x", "[default]\nk", "\r\n\r\n",
                             "[default]\nk=\n", "k = v", "[default]\n  k = v"})
        EXPECT_FALSE(ini_value(text, "default", "k")) << text;
    EXPECT_EQ(ini_value("[default]\nk=1\n[x]\nk=2\n[default]\nk=3", "default", "k"), "3");
    EXPECT_EQ(ini_value(std::string_view("[default]\nk=a\0b\n", 16), "default", "k"), std::string("a\0b", 3));
}

}  // namespace hearth::test

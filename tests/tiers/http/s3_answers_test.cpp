#include "tiers/http/s3_answers.hpp"

#include <gtest/gtest.h>

namespace hearth::test {

using namespace tiers::http;

TEST(S3Listing, reads_keys_sizes_and_where_to_go_on)
{
    const auto page =
        parse_listing("<?xml version='1.0' encoding='UTF-8'?>\n<ListBucketResult "
                      "xmlns=\"http://s3/\"><Name>b</Name><Prefix>p/</Prefix>"
                      "<NextContinuationToken>1&amp;2==</NextContinuationToken><IsTruncated>true</IsTruncated>"
                      "<Contents><Key>p/a</Key><Size>17</Size><ETag>\"x\"</ETag></Contents>"
                      "<Contents><ETag>y</ETag><Size>0</Size><Key>p/b&lt;&#65;&#x42;&gt;</Key></Contents>"
                      "<CommonPrefixes><Prefix>p/q/</Prefix></CommonPrefixes></ListBucketResult>");
    ASSERT_TRUE(page.ok()) << page.error().message;
    ASSERT_EQ(page->objects.size(), 2U);
    EXPECT_EQ(page->objects[0].key, "p/a");
    EXPECT_EQ(page->objects[0].bytes, 17U);
    EXPECT_EQ(page->objects[1].key, "p/b<AB>");
    EXPECT_TRUE(page->truncated);
    EXPECT_EQ(page->next_token, "1&2==");
}

TEST(S3Listing, reads_a_long_one_and_an_empty_one)
{
    std::string xml = "<ListBucketResult><IsTruncated>false</IsTruncated>";
    for (int i = 0; i < 2000; ++i)
        xml += "<Contents><Key>k" + std::to_string(i) + "</Key><Size>" + std::to_string(i) + "</Size></Contents>";
    const auto page = parse_listing(xml + "</ListBucketResult>");
    ASSERT_TRUE(page.ok()) << page.error().message;
    ASSERT_EQ(page->objects.size(), 2000U);
    EXPECT_EQ(page->objects[1999].key, "k1999");
    EXPECT_EQ(page->objects[1999].bytes, 1999U);
    EXPECT_FALSE(page->truncated);
    EXPECT_TRUE(parse_listing("<ListBucketResult xmlns='x'></ListBucketResult>")->objects.empty());
}

TEST(S3Listing, a_key_cannot_pose_as_something_else)
{
    const auto page = parse_listing("<ListBucketResult><Contents><Key>&lt;IsTruncated&gt;true</Key><Size>1</Size>"
                                    "<Owner><IsTruncated>true</IsTruncated></Owner></Contents></ListBucketResult>");
    ASSERT_TRUE(page.ok());
    EXPECT_FALSE(page->truncated);
    EXPECT_EQ(page->objects[0].key, "<IsTruncated>true");
}

TEST(S3Listing, what_is_cut_or_hostile_is_corrupt)
{
    const std::string whole = "<ListBucketResult><Contents><Key>a</Key><Size>1</Size></Contents>"
                              "<IsTruncated>false</IsTruncated></ListBucketResult>";
    for (std::size_t length = 0; length < whole.size(); ++length) {
        const auto page = parse_listing(whole.substr(0, length));
        ASSERT_FALSE(page.ok()) << length;
        EXPECT_EQ(page.error().code, Code::corrupt);
    }
    for (const char* xml :
         {"<html>no</html>", "</ListBucketResult><ListBucketResult>",
          "<ListBucketResult><Contents></Contents></ListBucketResult>",
          "<ListBucketResult><Contents><Key>a</ListBucketResult>",
          "<ListBucketResult><Contents><Key>a</Key><Size>-1</Size></Contents></ListBucketResult>",
          "<ListBucketResult><Contents><Key>a</Key><Size>99999999999999999999</Size></Contents></ListBucketResult>",
          "<ListBucketResult><IsTruncated>true</IsTruncated></ListBucketResult>"})
        EXPECT_FALSE(parse_listing(xml).ok()) << xml;
    // Quadratic in none of its parts: this ends at once.
    std::string nested = "<ListBucketResult>";
    for (int i = 0; i < 100'000; ++i)
        nested += "<Contents><Key>";
    EXPECT_FALSE(parse_listing(nested + "</ListBucketResult>").ok());
}

// libcurl takes no URL of that length, and would have asked for the one before it again. A fuzzer found it.
TEST(S3Listing, a_token_that_fits_into_no_request_is_corrupt)
{
    const auto page = [](std::size_t bytes) {
        return parse_listing("<ListBucketResult><IsTruncated>true</IsTruncated><NextContinuationToken>" +
                             std::string(bytes, '%') + "</NextContinuationToken></ListBucketResult>");
    };
    EXPECT_TRUE(page(8192).ok());
    ASSERT_FALSE(page(8193).ok());
    EXPECT_EQ(page(8193).error().code, Code::corrupt);
}

TEST(S3Listing, references_are_decoded_and_nothing_is_expanded)
{
    const auto key_of = [](const std::string& text) -> std::string {
        const auto page =
            parse_listing("<ListBucketResult><Contents><Key>" + text + "</Key></Contents></ListBucketResult>");
        return page.ok() ? page->objects.at(0).key : "none";
    };
    EXPECT_EQ(key_of("a&amp;b&lt;&gt;&quot;&apos;"), "a&b<>\"'");
    EXPECT_EQ(key_of("&#228;&#x20AC;&#x1F525;"), "\xC3\xA4\xE2\x82\xAC\xF0\x9F\x94\xA5");
    EXPECT_EQ(key_of("&amp;amp;"), "&amp;");
    for (const char* text :
         {"&", "&;", "&nope;", "&#;", "&#x;", "&#0;", "&#x110000;", "&#xD800;", "&#-5;", "&amp", "& &&"})
        EXPECT_EQ(key_of(text), "none") << text;
    for (const char* dtd : {"<!DOCTYPE x [<!ENTITY a \"b\">]>", "<!DOCTYPE x SYSTEM \"file:///etc/passwd\">",
                            "<!DOCTYPE x [<!ENTITY a SYSTEM \"http://127.0.0.1/\">]>"}) {
        const auto page = parse_listing(std::string(dtd) +
                                        "<ListBucketResult><Contents><Key>&a;</Key></Contents></ListBucketResult>");
        ASSERT_FALSE(page.ok()) << dtd;
        EXPECT_NE(page.error().message.find("DTD"), std::string::npos) << page.error().message;
    }
}

TEST(S3Listing, an_error_says_its_code)
{
    EXPECT_EQ(error_code_of("<?xml version=\"1.0\"?><Error><Code>NoSuchBucket</Code><Message>x</Message></Error>"),
              "NoSuchBucket");
    EXPECT_EQ(error_code_of("<html>404</html>"), "");
    EXPECT_EQ(error_code_of("<Code>with words</Code>"), "");
    EXPECT_EQ(error_code_of("<Code>" + std::string(1000, 'x') + "</Code>"), "");
}

}  // namespace hearth::test

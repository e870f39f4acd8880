// What the stores on HTTP and S3 read beside the answers themselves.

#include "fuzz/fuzz.hpp"
#include "tiers/http/aws_credentials.hpp"
#include "tiers/http/http_leases.hpp"
#include "tiers/http/s3_answers.hpp"

#include <algorithm>
#include <string>

namespace {

using namespace hearth;
using namespace hearth::tiers::http;

// The input is ~/.aws/credentials, and ~/.aws/config.

bool is_value(std::string_view text, std::string_view of)
{
    constexpr std::string_view k_blanks = " \t\r\n";
    return !text.empty() && k_blanks.find(text.front()) == std::string_view::npos &&
           k_blanks.find(text.back()) == std::string_view::npos && text.find('\n') == std::string_view::npos &&
           of.find(text) != std::string_view::npos;
}

void check_value(const std::string& file, std::string_view key)
{
    const std::optional<std::string> value = ini_value(file, "default", key);
    fuzz::require(!value || is_value(*value, file), "a value is what stands in a line, without blanks around it");
    if (value)
        fuzz::require(ini_value("[default]\n" + std::string(key) + "=" + *value, "default", key) == value,
                      "a value that is written and read again is the same");
    const std::string more = "\n[ default ]\r\n" + std::string(key) + " = later # not a comment\r\n";
    fuzz::require(ini_value(file + more, "default", key) == "later # not a comment", "the last one is it");
    fuzz::require(ini_value(file + "\n[other]\n" + std::string(key) + " = x\n", "default", key) == value,
                  "another section's is not");
}

AwsSources sources(const std::string& file, std::string profile)
{
    return {[profile = std::move(profile)](const char* name) -> std::optional<std::string> {
                return std::string_view(name) == "AWS_PROFILE" ? std::optional(profile) : std::nullopt;
            },
            [&file](const std::string&) { return std::optional(file); }};
}

void check_profile(const std::string& file, const std::string& profile)
{
    const AwsSources from = sources(file, profile);
    const Result<AwsCredentials> keys = find_credentials(from);
    if (keys.ok()) {
        fuzz::require(is_value(keys->access_key, file) && is_value(keys->secret_key, file), "keys are two values");
        fuzz::require(keys->session_token.empty() || is_value(keys->session_token, file), "a token is one, or none");
    } else {
        fuzz::require(keys.error().code == Code::denied && keys.error().message.ends_with('.'),
                      "where there are none, a sentence says so");
        const std::optional<std::string> secret = ini_value(file, profile, "aws_secret_access_key");
        // One of some length would hardly be in a sentence by chance.
        fuzz::require(!secret || secret->size() < 8 || keys.error().message.find(*secret) == std::string::npos ||
                          find_credentials(sources("", profile)).error().message.find(*secret) != std::string::npos,
                      "without the secret");
    }
    const std::optional<std::string> region = find_region(from);
    fuzz::require(!region || is_value(*region, file), "a region is a value");
}

void try_aws_files(std::string_view input)
{
    const std::string file(input);
    check_value(file, "aws_access_key_id");
    check_value(file, "region");
    check_profile(file, "default");
    check_profile(file, "work");
}

std::optional<LeaseObject> decode(std::string_view object)
{
    return decode_lease(Bytes::copy_of(object));
}

void try_lease_object(std::string_view text)
{
    if (const std::optional<LeaseObject> lease = decode(text)) {
        fuzz::require(lease->expires >= WallTime{}, "a lease ends after 1970");
        fuzz::require(lease->expires.time_since_epoch() % std::chrono::milliseconds(1) == std::chrono::nanoseconds(0),
                      "at a millisecond");
        fuzz::require(text.ends_with(lease->content.text()) && lease->content.size() < text.size(),
                      "its content is what follows the first line");
        const std::optional<LeaseObject> again = decode(encode_lease(lease->content, lease->expires));
        fuzz::require(again && again->content == lease->content && again->expires == lease->expires,
                      "a lease that is written and read again is the same");
    }

    // The same bytes as a lease's content, and the first eight of them as its end.
    std::uint64_t bits = 0;
    for (std::size_t i = 0; i < std::min<std::size_t>(text.size(), 8); ++i)
        bits = bits << 8U | static_cast<unsigned char>(text[i]);
    const WallTime expires{std::chrono::nanoseconds(static_cast<std::int64_t>(bits))};
    const std::optional<LeaseObject> read = decode(encode_lease(as_bytes(text), expires));
    fuzz::require(read && read->content.text() == text, "any content can be leased");
    fuzz::require(read->expires == std::chrono::floor<std::chrono::milliseconds>(std::max(WallTime{}, expires)),
                  "until any millisecond after 1970");
}

// The input is an answer of S3: a list of objects, or an error.

std::string escaped(std::string_view text)
{
    std::string out;
    for (const char c : text) {
        if (c == '&')
            out += "&amp;";
        else if (c == '<')
            out += "&lt;";
        else if (c == '>')
            out += "&#x3E;";
        else if (c == '\r')
            out += "&#13;";
        else
            out += c;
    }
    return out;
}

std::string xml_of(const ListingPage& page)
{
    std::string xml = "<?xml version=\"1.0\"?><ListBucketResult xmlns=\"http://s3/\">";
    for (const ListedObject& object : page.objects)
        xml += "<Contents><Key>" + escaped(object.key) + "</Key><Size>" + std::to_string(object.bytes) +
               "</Size></Contents>";
    xml += "<NextContinuationToken>" + escaped(page.next_token) + "</NextContinuationToken>";
    return xml + (page.truncated ? "<IsTruncated>true</IsTruncated>" : "") + "</ListBucketResult>";
}

bool same(const ListingPage& a, const ListingPage& b)
{
    return a.truncated == b.truncated && a.next_token == b.next_token &&
           std::equal(a.objects.begin(), a.objects.end(), b.objects.begin(), b.objects.end(),
                      [](const ListedObject& one, const ListedObject& other) {
                          return one.key == other.key && one.bytes == other.bytes;
                      });
}

// As RFC 3629 has it: no longer forms, no surrogates, nothing beyond U+10FFFF.
bool is_utf8(std::string_view text)
{
    while (!text.empty()) {
        const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
        const std::size_t size = byte(0) < 0x80 ? 1 : byte(0) < 0xE0 ? 2 : byte(0) < 0xF0 ? 3 : 4;
        if (size > text.size() || (byte(0) >= 0x80 && byte(0) < 0xC2) || byte(0) > 0xF4)
            return false;
        for (std::size_t i = 1; i < size; ++i)
            if ((byte(i) & 0xC0U) != 0x80)
                return false;
        if ((byte(0) == 0xE0 && byte(1) < 0xA0) || (byte(0) == 0xED && byte(1) > 0x9F) ||
            (byte(0) == 0xF0 && byte(1) < 0x90) || (byte(0) == 0xF4 && byte(1) > 0x8F))
            return false;
        text.remove_prefix(size);
    }
    return true;
}

void check_page(std::string_view xml)
{
    const Result<ListingPage> page = parse_listing(xml);
    if (!page.ok()) {
        fuzz::require(page.error().code == Code::corrupt && page.error().message.ends_with('.'),
                      "what is no list is corrupt");
        return;
    }
    std::size_t taken = page->next_token.size();
    for (const ListedObject& object : page->objects) {
        fuzz::require(is_utf8(object.key), "a key is UTF-8");
        taken += object.key.size() + std::string_view("<Contents><Key></Key></Contents>").size();
        for (const std::string_view prefix : {"p/", ""})
            if (const std::optional<std::string_view> name = listed_name(object.key, prefix))
                fuzz::require(fuzz::is_name(*name) && name->front() != '.', "a name is one of ours");
    }
    fuzz::require(taken <= xml.size(), "a list has no more in it than was sent");
    fuzz::require(!page->truncated || !page->next_token.empty(), "one that goes on says where");
    fuzz::require(page->next_token.size() <= 8192, "in an address that a request can have");
    const Result<ListingPage> again = parse_listing(xml_of(*page));
    fuzz::require(again.ok() && same(*page, *again), "a list that is written and read again is the same");
}

void try_s3_listing(std::string_view xml)
{
    check_page(xml);
    const std::string code = error_code_of(xml);
    fuzz::require(code.size() <= 64 && fuzz::is_word(code), "the code of an error is a word");
}

const fuzz::Added k_added{{"aws_files", 400'000, try_aws_files},
                          {"lease_object", 2'000'000, try_lease_object},
                          {"s3_listing", 500'000, try_s3_listing}};

}  // namespace

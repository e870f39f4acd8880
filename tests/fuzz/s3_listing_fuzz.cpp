// The input is an answer of S3: a list of objects, or an error.

#include "fuzz/fuzz.hpp"
#include "tiers/http/s3_answers.hpp"

#include <algorithm>
#include <string>

namespace {

using namespace hearth;
using namespace hearth::tiers::http;

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

bool is_word(std::string_view text, std::string_view also)
{
    return std::all_of(text.begin(), text.end(), [also](char c) {
        return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
               also.find(c) != std::string_view::npos;
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
                fuzz::require(!name->empty() && name->size() <= 128 && name->front() != '.' && is_word(*name, "-_."),
                              "a name is one of ours");
    }
    fuzz::require(taken <= xml.size(), "a list has no more in it than was sent");
    fuzz::require(!page->truncated || !page->next_token.empty(), "one that goes on says where");
    fuzz::require(page->next_token.size() <= 8192, "in an address that a request can have");
    const Result<ListingPage> again = parse_listing(xml_of(*page));
    fuzz::require(again.ok() && same(*page, *again), "a list that is written and read again is the same");
}

void try_input(std::string_view xml)
{
    check_page(xml);
    const std::string code = error_code_of(xml);
    fuzz::require(code.size() <= 64 && is_word(code, ""), "the code of an error is a word");
}

const fuzz::Added k_added({"s3_listing", 500'000, try_input});

}  // namespace

#include "tiers/http/s3_answers.hpp"

#include "base/error.hpp"
#include "base/text.hpp"
#include "remote/remote_store.hpp"

#include <algorithm>
#include <expat.h>
#include <fmt/format.h>
#include <functional>
#include <memory>

namespace hearth::tiers::http {

namespace {

constexpr std::size_t k_max_error_code = 64;
constexpr std::size_t k_max_token = 8192;  // the token goes into the next request, and must fit there
constexpr std::size_t k_max_depth = 16;
constexpr std::size_t k_max_document = 64U << 20U;

// Hands out the elements of a document as they end: their path, as in "/Error/Code", and the text in them.
class XmlReader {
public:
    using Visit = std::function<void(std::string_view path, const std::string& text)>;

    explicit XmlReader(Visit visit) : m_visit(std::move(visit)) {}

    // Empty: it was read to its end. Else what is wrong with it.
    std::string_view read(std::string_view xml)
    {
        const std::unique_ptr<XML_ParserStruct, decltype(&XML_ParserFree)> parser(XML_ParserCreate("UTF-8"),
                                                                                  &XML_ParserFree);
        if (!parser || xml.size() > k_max_document)
            return parser ? "it is too long" : k_no_memory;
        m_parser = parser.get();
        XML_SetUserData(m_parser, this);
        XML_SetElementHandler(m_parser, &on_start, &on_end);
        XML_SetCharacterDataHandler(m_parser, &on_text);
        XML_SetStartDoctypeDeclHandler(m_parser, &on_doctype);
        if (XML_Parse(m_parser, xml.data(), static_cast<int>(xml.size()), XML_TRUE) == XML_STATUS_OK)
            return {};
        return m_why ? m_why : XML_ErrorString(XML_GetErrorCode(m_parser));
    }

private:
    static constexpr const char* k_no_memory = "there is no memory for it";

    // Called from C: nothing may be thrown.
    template <class Act>
    static void guarded(void* data, Act act) noexcept
    {
        auto& reader = *static_cast<XmlReader*>(data);
        try {
            act(reader);
        } catch (...) {
            reader.stop(k_no_memory);
        }
    }

    static void on_start(void* data, const char* name, const char** /*attributes*/)
    {
        guarded(data, [&](XmlReader& reader) {
            if (reader.m_starts.size() == k_max_depth)
                return reader.stop("it is nested too deep");
            reader.m_starts.push_back(reader.m_path.size());
            reader.m_path += '/';
            reader.m_path += name;
            reader.m_text.clear();
        });
    }

    // For an empty element this is called even if reading was stopped at its start.
    static void on_end(void* data, const char* /*name*/)
    {
        guarded(data, [](XmlReader& reader) {
            if (reader.m_why)
                return;
            reader.m_visit(reader.m_path, reader.m_text);
            reader.m_text.clear();
            reader.m_path.resize(reader.m_starts.back());
            reader.m_starts.pop_back();
        });
    }

    static void on_text(void* data, const char* text, int size)
    {
        guarded(data, [&](XmlReader& reader) { reader.m_text.append(text, static_cast<std::size_t>(size)); });
    }

    static void on_doctype(void* data, const char*, const char*, const char*, int)
    {
        static_cast<XmlReader*>(data)->stop("it has a DTD");
    }

    void stop(const char* why) noexcept
    {
        m_why = why;
        XML_StopParser(m_parser, XML_FALSE);
    }

    const Visit m_visit;
    XML_Parser m_parser = nullptr;
    std::string m_path;
    std::vector<std::size_t> m_starts;  // where in the path each open element begins
    std::string m_text;                 // since the last tag
    const char* m_why = nullptr;        // it was stopped
};

Error not_a_listing(std::string_view why)
{
    return error(Code::corrupt, "A list of objects from S3 cannot be read: {}.", why);
}

}  // namespace

Result<ListingPage> parse_listing(std::string_view xml)
{
    ListingPage page;
    std::optional<std::string> key;
    std::optional<std::uint64_t> bytes = 0;
    bool is_list = false;
    std::string_view wrong;
    XmlReader reader([&](std::string_view path, const std::string& text) {
        if (path == "/ListBucketResult/Contents/Key") {
            key = text;
        } else if (path == "/ListBucketResult/Contents/Size") {
            bytes = base::parse_number<std::uint64_t>(text);
        } else if (path == "/ListBucketResult/Contents") {
            if (!key || !bytes)
                wrong = key ? "the size of an object in it is not a number" : "an object in it has no key";
            page.objects.push_back({key.value_or(""), bytes.value_or(0)});
            key.reset();
            bytes = 0;
        } else if (path == "/ListBucketResult/IsTruncated") {
            page.truncated = text == "true";
        } else if (path == "/ListBucketResult/NextContinuationToken") {
            page.next_token = text;
        } else if (path == "/ListBucketResult") {
            is_list = true;
        }
    });
    if (const std::string_view why = reader.read(xml); !why.empty() || !wrong.empty())
        return not_a_listing(why.empty() ? wrong : why);
    if (!is_list)
        return not_a_listing("it has no ListBucketResult");
    if (page.truncated && page.next_token.empty())
        return not_a_listing("it is truncated and does not say where to go on");
    if (page.next_token.size() > k_max_token)
        return not_a_listing(fmt::format("where it goes on is named in {} bytes, and {} are the most",
                                         page.next_token.size(), k_max_token));
    return page;
}

std::optional<std::string_view> listed_name(std::string_view key, std::string_view prefix)
{
    if (!key.starts_with(prefix))
        return std::nullopt;
    key.remove_prefix(prefix.size());
    return remotes::is_name(key) ? std::optional(key) : std::nullopt;
}

std::string error_code_of(std::string_view xml)
{
    std::string code;
    XmlReader reader([&](std::string_view path, const std::string& text) {
        if (path == "/Error/Code")
            code = text;
    });
    // A truncated document may still hold the code.
    static_cast<void>(reader.read(xml));
    const bool plain =
        code.size() <= k_max_error_code && std::all_of(code.begin(), code.end(), base::is_letter_or_digit);
    return plain ? code : std::string();
}

}  // namespace hearth::tiers::http

#include "page/page_assets.hpp"
#include "page/page_facts.hpp"
#include "process/random_word.hpp"

#include <fmt/format.h>

namespace hearth::cli {

namespace {

void put_in(std::string& text, std::string_view mark, std::string_view by)
{
    text.replace(text.find(mark), mark.size(), by);
}

// A page ends a script at "</script>", wherever that stands. In JSON "<" occurs only in texts, which may escape it.
std::string harmless(const std::string& json)
{
    std::string text;
    text.reserve(json.size());
    for (const char c : json)
        if (c == '<')
            text += "\\u003c";
        else
            text += c;
    return text;
}

}  // namespace

std::string page_with_files(const Json& facts)
{
    std::string page(k_page_html);
    put_in(page, "<!--POLICY-->\n", "");
    put_in(page, "<!--STYLE-->", R"(<link rel="stylesheet" href="page.css">)");
    put_in(page, "<!--SCRIPT-->", R"(<script src="page.js"></script>)");
    put_in(page, "<!--DATA-->", harmless(facts.text()));
    return page;
}

std::string page_in_one(const Json& facts)
{
    // Only what carries this word is run: not even markup that found its way in.
    const std::string nonce = random_word();
    std::string page(k_page_html);
    put_in(page, "<!--POLICY-->",
           fmt::format(R"(<meta http-equiv="Content-Security-Policy" content="default-src 'none'; )"
                       R"(script-src 'nonce-{0}'; style-src 'nonce-{0}'; img-src data:; base-uri 'none'; )"
                       R"(form-action 'none'">)",
                       nonce));
    put_in(page, "<!--STYLE-->", fmt::format("<style nonce=\"{}\">\n{}</style>", nonce, k_page_css));
    put_in(page, "<!--SCRIPT-->", fmt::format("<script nonce=\"{}\">\n{}</script>", nonce, k_page_js));
    put_in(page, "<!--DATA-->", harmless(facts.text()));
    return page;
}

}  // namespace hearth::cli

// The input is a page of keys as a server sends it, and then what it says of itself.

#include "fuzz/fuzz.hpp"
#include "fuzz/redis_wire.hpp"
#include "tiers/redis/redis_answers.hpp"

#include <algorithm>
#include <string>

namespace {

using namespace hearth;
using namespace hearth::tiers::redis;

Reply text_reply(std::string text)
{
    Reply reply;
    reply.kind = Reply::Kind::bulk;
    reply.text = std::move(text);
    return reply;
}

Reply reply_of(const ScanPage& page, std::string_view prefix)
{
    Reply keys;
    keys.kind = Reply::Kind::array;
    for (const std::string_view name : page.names)
        keys.elements.push_back(text_reply(std::string(prefix) + std::string(name)));
    Reply reply;
    reply.kind = Reply::Kind::array;
    reply.elements = {text_reply(page.cursor), keys};
    return reply;
}

bool is_part_of_name(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '-' || c == '_' ||
           c == '.';
}

void check_page(const Reply& reply, std::string_view prefix)
{
    const std::optional<ScanPage> page = parse_scan(reply, prefix);
    if (!page)
        return;
    fuzz::require(!page->cursor.empty() && page->cursor.size() <= 20 &&
                      page->cursor.find_first_not_of("0123456789") == std::string::npos,
                  "a cursor is a number");
    for (const std::string_view name : page->names)
        fuzz::require(!name.empty() && name.size() <= 128 && std::all_of(name.begin(), name.end(), is_part_of_name),
                      "a name is one of ours");
    const std::optional<Reply> again = fuzz::first_reply(fuzz::on_the_wire(reply_of(*page, prefix)));
    fuzz::require(again.has_value(), "a page can be written");
    const std::optional<ScanPage> same = parse_scan(*again, prefix);
    fuzz::require(same && same->cursor == page->cursor && same->names == page->names,
                  "a page that is written and read again is the same");
}

void try_input(std::string_view text)
{
    if (const std::optional<Reply> reply = fuzz::first_reply(text))
        for (const std::string_view prefix : {"hearth:", ""})
            check_page(*reply, prefix);
    const std::string version = version_in(text);
    fuzz::require(version.size() <= 32, "a version is short");
    for (const char c : version)
        fuzz::require(c >= ' ' && c <= '~', "and can be printed");
}

const fuzz::Added k_added({"redis_scan", 1'500'000, try_input});

}  // namespace

// What redis servers send.

#include "fuzz/allocations.hpp"
#include "fuzz/fuzz.hpp"
#include "fuzz/redis_wire.hpp"
#include "tiers/redis/redis_answers.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

namespace {

using namespace hearth;
using namespace hearth::tiers::redis;

// The input is what a server sends, read as a connection reads it: one reply after another.

constexpr std::uint64_t k_most_object_bytes = 1000;

struct Heard {
    std::vector<Result<Reply>> replies;
    std::optional<Error> end;  // none: the server broke off, or was cut off
    bool cut_off = false;
};

Heard hear(std::string_view bytes, std::size_t at_once)
{
    ReplyReader reader("server:1");
    Heard heard;
    while (!reader.is_cut_off()) {
        Reply reply;
        const Result<bool> whole = reader.next(reply, k_most_object_bytes);
        if (!whole.ok() && whole.error().code != Code::too_large) {
            heard.end = whole.error();
            break;
        }
        if (!whole.ok() || *whole)
            heard.replies.push_back(whole.ok() ? Result<Reply>(std::move(reply)) : whole.error());
        else if (bytes.empty())
            break;
        else
            fuzz::feed(reader, bytes, at_once);
    }
    heard.cut_off = reader.is_cut_off();
    return heard;
}

void check_error(const Error& error)
{
    fuzz::require(error.message.ends_with('.') && error.message.size() < 500 && fuzz::is_printable(error.message),
                  "what goes wrong is a sentence");
}

void check_parts(const Reply& reply, std::size_t depth, std::size_t& count)
{
    ++count;
    fuzz::require(depth <= ReplyReader::k_max_depth, "nothing is nested without bound");
    fuzz::require(reply.kind == Reply::Kind::array || reply.elements.empty(), "only arrays have elements");
    fuzz::require(depth == 0 || reply.bytes.empty(), "what is in an array is text");
    for (const Reply& element : reply.elements)
        check_parts(element, depth + 1, count);
}

void check_reply(const Reply& reply, std::size_t bytes)
{
    fuzz::require(reply.bytes.size() <= k_most_object_bytes, "no object is larger than was asked for");
    std::size_t count = 0;
    check_parts(reply, 0, count);
    fuzz::require(count <= bytes, "a reply has no more elements than bytes");
    const Heard again = hear(fuzz::on_the_wire(reply), SIZE_MAX);
    fuzz::require(again.replies.size() == 1 && again.replies[0].ok() && fuzz::same(*again.replies[0], reply),
                  "what was read, written and read again is the same");
}

bool same_reply(const Result<Reply>& a, const Result<Reply>& b)
{
    if (a.ok() != b.ok())
        return false;
    return a.ok() ? fuzz::same(*a, *b) : a.error().message == b.error().message;
}

bool same_replies(const Heard& a, const Heard& b)
{
    return a.cut_off == b.cut_off && a.end.has_value() == b.end.has_value() &&
           (!a.end || a.end->message == b.end->message) &&
           std::equal(a.replies.begin(), a.replies.end(), b.replies.begin(), b.replies.end(), same_reply);
}

void try_redis_answer(std::string_view bytes)
{
    const fuzz::Allocations allocations;
    const Heard all_at_once = hear(bytes, SIZE_MAX);
    const Heard one_by_one = hear(bytes, 1);
    // A reply of three bytes takes some hundred, and a vector that grows has three times what it holds.
    fuzz::require(allocations.largest() <= 4096 + k_most_object_bytes + 512 * bytes.size(),
                  "memory is taken for what has arrived or may be asked for, not for what is announced");
    for (const Result<Reply>& reply : all_at_once.replies) {
        if (reply.ok())
            check_reply(*reply, bytes.size());
        else
            check_error(reply.error());
    }
    if (all_at_once.end)
        check_error(*all_at_once.end);
    for (const Heard& other : {one_by_one, hear(bytes, 7)})
        fuzz::require(same_replies(other, all_at_once), "how bytes arrive makes no difference");
}

// The input is a page of keys as a server sends it, and then what it says of itself.

Reply reply_of(const ScanPage& page, std::string_view prefix)
{
    std::vector<Reply> keys;
    for (const std::string_view name : page.names)
        keys.push_back(fuzz::text(std::string(prefix) + std::string(name)));
    return fuzz::array({fuzz::text(page.cursor), fuzz::array(std::move(keys))});
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
        fuzz::require(fuzz::is_name(name), "a name is one of ours");
    const std::optional<Reply> again = fuzz::first_reply(fuzz::on_the_wire(reply_of(*page, prefix)));
    fuzz::require(again.has_value(), "a page can be written");
    const std::optional<ScanPage> same = parse_scan(*again, prefix);
    fuzz::require(same && same->cursor == page->cursor && same->names == page->names,
                  "a page that is written and read again is the same");
}

void try_redis_scan(std::string_view text)
{
    if (const std::optional<Reply> reply = fuzz::first_reply(text))
        for (const std::string_view prefix : {"hearth:", ""})
            check_page(*reply, prefix);
    const std::string version = version_in(text);
    fuzz::require(version.size() <= 32 && fuzz::is_printable(version), "a version is short, and can be printed");
}

// The input is a cluster's map of slots as a server sends it, and then the words of an error that sends us elsewhere.

const Endpoint k_asked{"10.0.0.9", 7000, {}};

void check_node(const Endpoint& node)
{
    fuzz::require(!node.host.empty() && node.host.size() <= 255 && node.path.empty(), "a node has a host");
    fuzz::require(fuzz::is_printable(node.host) && node.host.find(' ') == std::string::npos, "which is one word");
    fuzz::require(node.host != "?", "that is known");
    fuzz::require(node.port != 0, "and a port");
}

// A range for every run of slots that one master has.
Reply reply_of(const SlotMap& map)
{
    std::vector<Reply> ranges;
    for (std::size_t first = 0, last = 0; first < k_slots; first = last + 1) {
        const std::uint16_t owner = map.owner[first];
        last = first;
        while (last + 1 < k_slots && map.owner[last + 1] == owner)
            ++last;
        if (owner != SlotMap::k_nobody)
            ranges.push_back(fuzz::array(
                {fuzz::integer(static_cast<std::int64_t>(first)), fuzz::integer(static_cast<std::int64_t>(last)),
                 fuzz::array({fuzz::text(map.masters[owner].host), fuzz::integer(map.masters[owner].port)})}));
    }
    return fuzz::array(std::move(ranges));
}

// Masters may stand in another order, and those without slots are not written.
bool same_owners(const SlotMap& a, const SlotMap& b)
{
    std::map<std::uint16_t, std::uint16_t> numbers = {{SlotMap::k_nobody, SlotMap::k_nobody}};
    for (std::size_t slot = 0; slot < k_slots; ++slot) {
        if (slot > 0 && a.owner[slot] == a.owner[slot - 1] && b.owner[slot] == b.owner[slot - 1])
            continue;
        if (numbers.emplace(a.owner[slot], b.owner[slot]).first->second != b.owner[slot])
            return false;
    }
    for (const auto& [one, other] : numbers)
        if (one != SlotMap::k_nobody && (other == SlotMap::k_nobody || a.masters[one] != b.masters[other]))
            return false;
    return true;
}

void check_map(const Reply& reply)
{
    const Result<SlotMap> map = parse_slots(reply, k_asked);
    if (!map.ok()) {
        fuzz::require(map.error().code == Code::corrupt && !map.error().message.empty(), "what is no map is corrupt");
        return;
    }
    fuzz::require(map->masters.size() <= SlotMap::k_max_nodes && map->replicas.size() <= SlotMap::k_max_nodes,
                  "nodes are bounded");
    for (const Endpoint& master : map->masters)
        check_node(master);
    for (const Endpoint& replica : map->replicas)
        check_node(replica);
    for (const std::uint16_t owner : map->owner)
        fuzz::require(owner == SlotMap::k_nobody || owner < map->masters.size(), "a slot's master is one of them");
    const Result<SlotMap> again = parse_slots(*fuzz::first_reply(fuzz::on_the_wire(reply_of(*map))), k_asked);
    fuzz::require(again.ok() && same_owners(*map, *again), "a map that is written and read again is the same");
}

void check_redirection(std::string_view words)
{
    const std::optional<Redirection> found = parse_redirection(words, k_asked);
    if (!found)
        return;
    check_node(found->to);
    fuzz::require(found->slot < k_slots, "a slot is one of those there are");
    const std::string written = (found->kind == Redirection::Kind::ask ? "ASK " : "MOVED ") +
                                std::to_string(found->slot) + " " + found->to.host + ":" +
                                std::to_string(found->to.port);
    const std::optional<Redirection> again = parse_redirection(written, {"elsewhere", 1, {}});
    fuzz::require(again && again->kind == found->kind && again->slot == found->slot && again->to == found->to,
                  "words that are written and read again say the same");
}

void check_slot(std::string_view key)
{
    fuzz::require(slot_of(key) < k_slots, "every key has a slot");
    if (!key.empty() && key.find('}') == std::string_view::npos)
        fuzz::require(slot_of("x{" + std::string(key) + "}" + std::string(key)) == crc16(key) % k_slots,
                      "a tag's slot is the slot of what has it");
}

void try_redis_slots(std::string_view text)
{
    if (const std::optional<Reply> reply = fuzz::first_reply(text)) {
        check_map(*reply);
        check_redirection(reply->text);
    }
    check_redirection(text);
    check_slot(text);
}

const fuzz::Added k_added{{"redis_answer", 250'000, try_redis_answer},
                          {"redis_scan", 1'500'000, try_redis_scan},
                          {"redis_slots", 500'000, try_redis_slots}};

}  // namespace

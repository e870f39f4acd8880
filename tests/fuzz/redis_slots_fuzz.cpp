// The input is a cluster's map of slots as a server sends it, and then the words of an error that sends us elsewhere.

#include "fuzz/fuzz.hpp"
#include "fuzz/redis_wire.hpp"
#include "tiers/redis/redis_answers.hpp"

#include <map>
#include <string>

namespace {

using namespace hearth;
using namespace hearth::tiers::redis;

const Endpoint k_asked{"10.0.0.9", 7000, {}};

void check_node(const Endpoint& node)
{
    fuzz::require(!node.host.empty() && node.host.size() <= 255 && node.path.empty(), "a node has a host");
    for (const char c : node.host)
        fuzz::require(c > ' ' && c <= '~', "which is one word");
    fuzz::require(node.host != "?", "that is known");
    fuzz::require(node.port != 0, "and a port");
}

Reply array(std::vector<Reply> elements)
{
    Reply reply;
    reply.kind = Reply::Kind::array;
    reply.elements = std::move(elements);
    return reply;
}

Reply integer(std::size_t value)
{
    Reply reply;
    reply.kind = Reply::Kind::integer;
    reply.integer = static_cast<std::int64_t>(value);
    return reply;
}

Reply node(const Endpoint& of)
{
    Reply host;
    host.kind = Reply::Kind::bulk;
    host.text = of.host;
    return array({host, integer(of.port)});
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
            ranges.push_back(array({integer(first), integer(last), node(map.masters[owner])}));
    }
    return array(std::move(ranges));
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

void try_input(std::string_view text)
{
    if (const std::optional<Reply> reply = fuzz::first_reply(text)) {
        check_map(*reply);
        check_redirection(reply->text);
    }
    check_redirection(text);
    check_slot(text);
}

const fuzz::Added k_added({"redis_slots", 500'000, try_input});

}  // namespace

// The input is what a server sends, read as a connection reads it: one reply after another.

#include "fuzz/allocations.hpp"
#include "fuzz/fuzz.hpp"
#include "fuzz/redis_wire.hpp"

#include <string>
#include <vector>

namespace {

using namespace hearth;
using namespace hearth::tiers::redis;

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
    fuzz::require(error.message.ends_with('.') && error.message.size() < 500, "what goes wrong is a sentence");
    for (const char c : error.message)
        fuzz::require(c >= ' ' && c <= '~', "and it can be printed");
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

void try_input(std::string_view bytes)
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

const fuzz::Added k_added({"redis_answer", 250'000, try_input});

}  // namespace

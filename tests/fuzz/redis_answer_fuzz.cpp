// The input is what a server sends, read as a connection reads it: an answer to one command after another.

#include "fuzz/allocations.hpp"
#include "fuzz/fuzz.hpp"
#include "fuzz/redis_wire.hpp"
#include "tiers/redis/answer_reader.hpp"

#include <cstring>
#include <string>
#include <vector>

namespace {

using namespace hearth;
using namespace hearth::tiers::redis;

constexpr std::uint64_t k_most_object_bytes = 1000;
constexpr std::size_t k_deepest = 8;  // what hiredis has room for

// A server that sends this, so many bytes at once, and ends.
class Sent final : public ByteSource {
public:
    Sent(std::string_view bytes, std::size_t at_once) : m_rest(bytes), m_at_once(at_once) {}

    Result<std::size_t> receive(std::span<const iovec> targets, SteadyTime /*deadline*/) override
    {
        if (m_rest.empty())
            return Error{Code::unavailable, "It ended.", {}};
        std::size_t got = 0;
        for (const iovec& target : targets) {
            const std::size_t part = std::min({target.iov_len, m_at_once - got, m_rest.size()});
            std::memcpy(target.iov_base, m_rest.data(), part);
            m_rest.remove_prefix(part);
            got += part;
        }
        fuzz::require(got > 0, "a reader has room for what it asks for");
        return got;
    }
    std::string_view left() const { return m_rest; }

private:
    std::string_view m_rest;
    const std::size_t m_at_once;
};

struct Heard {
    std::vector<Task> tasks;
    std::optional<Error> end;  // none: it was left, in the middle of a refused answer or behind an array
    bool cut_off = false;
    std::size_t bytes = 0;
};

Heard hear(std::string_view bytes, std::size_t at_once, std::size_t most_answers = SIZE_MAX)
{
    Sent server(bytes, at_once);
    AnswerReader reader(server, "server:1");
    Heard heard;
    while (heard.tasks.size() < most_answers && !reader.is_cut_off()) {
        // Nothing is ever sent behind a command that is answered by an array.
        if (reader.is_drained() && server.left().starts_with('*'))
            most_answers = heard.tasks.size() + 1;
        Task task;
        task.max_bytes = k_most_object_bytes;
        if (const Status read = reader.read(task, {}); !read.ok()) {
            heard.end = read.error();
            break;
        }
        heard.tasks.push_back(std::move(task));
    }
    heard.cut_off = reader.is_cut_off();
    heard.bytes = bytes.size() - server.left().size();
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
    fuzz::require(depth <= k_deepest, "nothing is nested without bound");
    fuzz::require(reply.kind == Reply::Kind::array || reply.elements.empty(), "only arrays have elements");
    fuzz::require(depth == 0 || reply.bytes.empty(), "what is in an array is text");
    for (const Reply& element : reply.elements)
        check_parts(element, depth + 1, count);
}

void check_answer(const Task& task, std::size_t bytes)
{
    if (!task.answer.ok()) {
        check_error(task.answer.error());
        return;
    }
    const Reply& reply = *task.answer;
    fuzz::require(reply.kind != Reply::Kind::error && task.refusal.empty(), "a refusal is an error");
    fuzz::require(reply.bytes.size() <= k_most_object_bytes, "no object is larger than was asked for");
    std::size_t count = 0;
    check_parts(reply, 0, count);
    fuzz::require(count <= bytes, "a reply has no more elements than bytes");
    const Heard again = hear(fuzz::on_the_wire(reply), SIZE_MAX);
    fuzz::require(again.tasks.size() == 1 && again.tasks[0].answer.ok() && fuzz::same(*again.tasks[0].answer, reply),
                  "what was read, written and read again is the same");
}

bool same_answer(const Task& a, const Task& b)
{
    if (a.answer.ok() != b.answer.ok() || a.refusal != b.refusal)
        return false;
    return a.answer.ok() ? fuzz::same(*a.answer, *b.answer) : a.answer.error().message == b.answer.error().message;
}

bool same_answers(const Heard& a, const Heard& b)
{
    return a.cut_off == b.cut_off && a.end.has_value() == b.end.has_value() &&
           (!a.end || a.end->message == b.end->message) &&
           std::equal(a.tasks.begin(), a.tasks.end(), b.tasks.begin(), b.tasks.end(), same_answer);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    const std::string_view bytes = fuzz::text_of(data, size);
    const fuzz::Allocations allocations;
    const Heard all_at_once = hear(bytes, SIZE_MAX);
    const Heard one_by_one = hear(bytes, 1);
    // A reply of three bytes takes some hundred, and a vector that grows has three times what it holds.
    fuzz::require(allocations.largest() <= 4096 + k_most_object_bytes + 512 * size,
                  "memory is taken for what has arrived or may be asked for, not for what is announced");
    for (const Heard* heard : {&all_at_once, &one_by_one}) {
        for (const Task& task : heard->tasks)
            check_answer(task, size);
        if (heard->end)
            check_error(*heard->end);
    }
    // Not of all bytes: what is behind an array is seen only where it arrives together with it.
    const std::string_view read = bytes.substr(0, one_by_one.bytes);
    const std::size_t answers = one_by_one.end ? SIZE_MAX : one_by_one.tasks.size();
    for (const std::size_t at_once : {std::size_t{7}, SIZE_MAX})
        fuzz::require(same_answers(hear(read, at_once, answers), one_by_one), "how bytes arrive makes no difference");
    return 0;
}

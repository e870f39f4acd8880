#include "tiers/redis/reply.hpp"

#include <algorithm>
#include <charconv>
#include <fmt/format.h>
#include <hiredis.h>

namespace hearth::tiers::redis {

// Stands in for hiredis's own reply objects. Its functions are called from C, so nothing may leave them.
struct ReplyDecoder::Builder {
    std::size_t elements = 0;
    std::string why;

    // The object for a task: the root is ours until hiredis hands it out, all others lie in their array.
    static Reply* place(const redisReadTask* task)
    {
        auto* self = static_cast<Builder*>(task->privdata);
        try {
            if (++self->elements > k_max_elements) {
                self->why = fmt::format("a reply has more than {} elements", k_max_elements);
                return nullptr;
            }
            if (task->parent == nullptr)
                return new Reply;
            // Elements come in their order, and none before them is still being built: growing moves nothing in use.
            return &static_cast<Reply*>(task->parent->obj)->elements.emplace_back();
        } catch (...) {
            return nullptr;
        }
    }

    static void* make_string(const redisReadTask* task, char* text, std::size_t size)
    {
        Reply* reply = place(task);
        if (!reply)
            return nullptr;
        reply->kind = task->type == REDIS_REPLY_ERROR    ? Reply::Kind::error
                      : task->type == REDIS_REPLY_STATUS ? Reply::Kind::status
                                                         : Reply::Kind::bulk;
        try {
            reply->text.assign(text, size);
        } catch (...) {
            return failed(task, reply);
        }
        return reply;
    }

    static void* make_array(const redisReadTask* task, int size)
    {
        auto* self = static_cast<Builder*>(task->privdata);
        if (size < 0 || static_cast<std::size_t>(size) > k_max_elements) {
            try {
                self->why = fmt::format("a reply announces {} elements, and {} are the most", size, k_max_elements);
            } catch (...) {
            }
            return nullptr;
        }
        Reply* reply = place(task);
        if (reply)
            reply->kind = Reply::Kind::array;
        return reply;
    }

    static void* make_integer(const redisReadTask* task, long long value)
    {
        Reply* reply = place(task);
        if (reply) {
            reply->kind = Reply::Kind::integer;
            reply->integer = value;
        }
        return reply;
    }

    static void* make_nil(const redisReadTask* task) { return place(task); }
    static void free_object(void* object) { delete static_cast<Reply*>(object); }

    static void* failed(const redisReadTask* task, Reply* reply)
    {
        if (task->parent == nullptr)
            delete reply;
        return nullptr;
    }
};

ReplyDecoder::ReplyDecoder() : m_builder(std::make_unique<Builder>())
{
    static redisReplyObjectFunctions functions = {&Builder::make_string, &Builder::make_array, &Builder::make_integer,
                                                  &Builder::make_nil, &Builder::free_object};
    m_reader = redisReaderCreateWithFunctions(&functions);
    if (m_reader)
        m_reader->privdata = m_builder.get();
}

ReplyDecoder::~ReplyDecoder()
{
    if (m_reader)
        redisReaderFree(m_reader);
}

ReplyDecoder::State ReplyDecoder::broken(std::string why)
{
    m_why = std::move(why);
    return State::broken;
}

ReplyDecoder::State ReplyDecoder::feed(std::string_view bytes, Reply& reply)
{
    if (!m_reader)
        return broken("there is no memory for its replies");
    m_fed += bytes.size();
    if (m_fed > k_max_bytes)
        return broken(fmt::format("a reply is longer than {} bytes", k_max_bytes));
    void* made = nullptr;
    if (redisReaderFeed(m_reader, bytes.data(), bytes.size()) != REDIS_OK ||
        redisReaderGetReply(m_reader, &made) != REDIS_OK)
        return broken(m_builder->why.empty() ? std::string(m_reader->errstr) : m_builder->why);
    if (!made) {
        if (waits_for_too_much())
            return broken(fmt::format("a part of a reply is longer than {} bytes", k_max_bytes));
        return State::more;
    }
    const std::unique_ptr<Reply> whole(static_cast<Reply*>(made));
    reply = std::move(*whole);
    m_fed = 0;
    m_builder->elements = 0;
    return State::whole;
}

std::size_t ReplyDecoder::left_over() const
{
    return m_reader ? m_reader->len - m_reader->pos : 0;
}

// hiredis would wait for a bulk string of any length. Where it stopped, behind the '$', that length stands.
bool ReplyDecoder::waits_for_too_much() const
{
    if (m_reader->ridx < 0 || m_reader->rstack[m_reader->ridx].type != REDIS_REPLY_STRING)
        return false;
    const BulkHeader header = parse_bulk_header({m_reader->buf + m_reader->pos, left_over()});
    return header.state == BulkHeader::State::broken ||
           (header.state == BulkHeader::State::whole && header.length > static_cast<std::int64_t>(k_max_bytes));
}

BulkHeader parse_bulk_header(std::string_view bytes)
{
    constexpr std::size_t k_longest = 23;  // a sign, 20 digits, CR and LF
    const std::string_view head = bytes.substr(0, k_longest);
    const std::size_t end = head.find("\r\n");
    if (end == std::string_view::npos)
        return {head.size() < k_longest ? BulkHeader::State::more : BulkHeader::State::broken};
    BulkHeader header{BulkHeader::State::whole, 0, end + 2};
    const auto [stop, error] = std::from_chars(head.data(), head.data() + end, header.length);
    if (error != std::errc{} || stop != head.data() + end || header.length < -1)
        header.state = BulkHeader::State::broken;
    return header;
}

}  // namespace hearth::tiers::redis

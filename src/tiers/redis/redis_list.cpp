#include "tiers/redis/redis_errors.hpp"
#include "tiers/redis/redis_store.hpp"

#include <algorithm>

// What a store holds, page by page. SCAN shows every key that is there from beginning to end.

namespace hearth::tiers::redis {

namespace {

constexpr std::size_t k_longest_name = 128;
constexpr std::size_t k_longest_cursor = 20;

// A pattern of SCAN that means this text and whatever follows it.
std::string pattern_of(std::string_view prefix)
{
    std::string pattern;
    for (const char c : prefix) {
        if (c == '*' || c == '?' || c == '[' || c == ']' || c == '\\')
            pattern += '\\';
        pattern += c;
    }
    return pattern + "*";
}

bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

// Others may keep keys of other kinds under our prefix.
bool is_name(std::string_view text)
{
    return !text.empty() && text.size() <= k_longest_name && std::all_of(text.begin(), text.end(), [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c) || c == '-' || c == '_' || c == '.';
    });
}

bool is_cursor(std::string_view text)
{
    return !text.empty() && text.size() <= k_longest_cursor && std::all_of(text.begin(), text.end(), is_digit);
}

}  // namespace

Status RedisStore::list(const std::function<bool(std::string_view name, std::uint64_t bytes)>& visit,
                        SteadyTime deadline)
{
    const Result<std::vector<std::shared_ptr<RedisNode>>> nodes = m_router->holders(deadline);
    if (!nodes.ok())
        return nodes.error();
    for (const std::shared_ptr<RedisNode>& node : *nodes) {
        const Result<Walk> walked = list_node(*node, visit, deadline);
        if (!walked.ok())
            return walked.error();
        if (*walked == Walk::enough)
            break;
    }
    return {};
}

Result<RedisStore::Walk> RedisStore::list_node(RedisNode& node,
                                               const std::function<bool(std::string_view, std::uint64_t)>& visit,
                                               SteadyTime deadline) const
{
    const std::string pattern = pattern_of(m_settings->prefix);
    std::string cursor = "0";
    do {
        Task task = task_of(Command({}, {"SCAN", cursor, "MATCH", pattern, "COUNT", "1000"}));
        Task* const one[] = {&task};
        node.run(one, deadline);
        if (!task.answer.ok())
            return task.answer.error();
        const std::vector<Reply>& page = task.answer->elements;
        if (page.size() != 2 || !is_cursor(page[0].text) || page[1].kind != Reply::Kind::array)
            return unexpected();
        for (const Reply& key : page[1].elements) {
            const std::string_view text = key.text;
            if (!text.starts_with(m_settings->prefix) || !is_name(text.substr(m_settings->prefix.size())))
                continue;
            if (!visit(text.substr(m_settings->prefix.size()), 0))
                return Walk::enough;
        }
        cursor = page[0].text;
    } while (cursor != "0");
    return Walk::on;
}

}  // namespace hearth::tiers::redis

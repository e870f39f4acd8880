#include "base/error.hpp"
#include "tiers/redis/redis_errors.hpp"
#include "tiers/redis/redis_store.hpp"
#include "tiers/redis/scan_page.hpp"

// What a store holds, page by page. SCAN shows every key that is there from beginning to end.

namespace hearth::tiers::redis {

namespace {

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

}  // namespace

Status RedisStore::list(const std::function<bool(std::string_view name, std::uint64_t bytes)>& visit,
                        SteadyTime deadline)
{
    const Result<std::vector<std::shared_ptr<RedisNode>>> nodes = m_router->holders(deadline);
    HEARTH_TRY(nodes);
    for (const std::shared_ptr<RedisNode>& node : *nodes) {
        const Result<Walk> walked = list_node(*node, visit, deadline);
        HEARTH_TRY(walked);
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
        HEARTH_TRY(task.answer);
        std::optional<ScanPage> page = parse_scan(*task.answer, m_settings->prefix);
        if (!page)
            return unexpected();
        for (const std::string_view name : page->names)
            if (!visit(name, 0))
                return Walk::enough;
        cursor = std::move(page->cursor);
    } while (cursor != "0");
    return Walk::on;
}

}  // namespace hearth::tiers::redis

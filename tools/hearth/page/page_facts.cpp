#include "page/page_facts.hpp"

#include "base/secrets.hpp"
#include "cache/rows.hpp"
#include "cache/stats_json.hpp"
#include "hearth/admin.hpp"
#include "hearth/explain.hpp"
#include "hearth/history.hpp"
#include "terminal/times.hpp"

#include <algorithm>

namespace hearth::cli {

namespace {

double in_seconds(std::uint64_t nanoseconds)
{
    return static_cast<double>(nanoseconds) / 1e9;
}

// The earlier entry whose request differs least, if it and the entry keep theirs.
struct Nearest {
    const IndexedEntry* entry = nullptr;
    std::vector<Difference> differences;
};

Nearest nearest_before(Cache& cache, const EntryIndex& index, const IndexedEntry& entry, const Request& request)
{
    static constexpr std::size_t k_most_entries = 48;
    static constexpr std::uint64_t k_most_bytes = 64_MiB;
    Nearest nearest;
    std::uint64_t read = 0;
    const std::vector<Field> fields = request.fields();
    for (const IndexedEntry* const other : index.earlier_like(entry, k_most_entries)) {
        if (read += other->bytes; read > k_most_bytes)
            break;
        const Lookup found = cache.peek(other->key);
        if (!found || found->request.empty())
            continue;
        const Request before(other->key, found->request);
        const std::vector<Field> others = before.fields();
        if (fields.empty() || others.empty() || fields.front().value != others.front().value)
            continue;  // of another kind of compile
        std::vector<Difference> differences = compare(request, before);
        if (nearest.entry == nullptr || differences.size() < nearest.differences.size())
            nearest = {other, std::move(differences)};
    }
    return nearest;
}

}  // namespace

Json history_as_json(Cache& cache)
{
    return Json::array_of(admin::history(cache), [](const Period& period) -> Json {
        return {{"start", time_as_json(period.start)},
                {"end", time_as_json(period.end)},
                {"lookups", period.lookups},
                {"hits", period.hits},
                {"compiles", period.compiles},
                {"compile_seconds_spent", in_seconds(period.compile_ns_spent)},
                {"compile_seconds_saved", in_seconds(period.compile_ns_saved)}};
    });
}

Json events_as_json(Cache& cache)
{
    return Json::array_of(admin::events(cache), [](const Event& event) -> Json {
        return {{"kind", event.kind == Event::Kind::compile ? "compile" : "fault"},
                {"when", time_as_json(event.when)},
                {"key", event.key.hex()},
                {"label", event.label},
                {"compiler", event.compiler},
                {"target", event.target},
                {"why", to_string(event.why)},
                {"seconds", std::chrono::duration<double>(event.took).count()},
                {"failed", event.failed},
                {"after_ready", event.after_ready},
                {"text", event.text}};
    });
}

std::vector<Key> slowest_compiles(Cache& cache, std::size_t most)
{
    std::vector<Event> events = admin::events(cache);
    std::erase_if(events, [](const Event& event) { return event.kind != Event::Kind::compile; });
    std::ranges::stable_sort(events, std::ranges::greater{}, &Event::took);
    std::vector<Key> keys;
    for (const Event& event : events)
        if (keys.size() < most && std::ranges::find(keys, event.key) == keys.end())
            keys.push_back(event.key);
    return keys;
}

Json page_facts(Cache& cache, const EntryIndex* index, PageIs page)
{
    return {{"version", HEARTH_VERSION},
            {"directory", cache.directory()},
            {"time", time_as_json(now())},
            {"live", page != PageIs::written},
            {"changes", page == PageIs::changeable},
            {"stats", stats_as_json(cache.stats(Scope::directory))},
            {"longest_unused", index != nullptr ? index->longest_unused() : Json::object()},
            {"history", history_as_json(cache)},
            {"events", events_as_json(cache)}};
}

Json entry_detail(Cache& cache, const EntryIndex& index, const IndexedEntry& entry)
{
    Json detail = index.as_json(entry);
    const Lookup found = cache.peek(entry.key);
    detail.add("options", found ? base::without_secrets(found->metadata.options) : std::vector<std::string>{});
    detail.add("tiers", std::vector<std::string>{index.word(entry.tier)});
    if (!found || found->request.empty()) {
        detail.add("nearest", nullptr);
        detail.add("differences", Json::array());
        detail.add("why_not", found ? "The request is not kept with this entry, so it cannot be compared with others."
                                    : "The entry is no longer in the cache.");
        return detail;
    }
    const Nearest nearest = nearest_before(cache, index, entry, Request(entry.key, found->request));
    detail.add("nearest", nearest.entry == nullptr ? Json(nullptr)
                                                   : Json{{"key", nearest.entry->key.hex()},
                                                          {"label", nearest.entry->label},
                                                          {"created", time_as_json(nearest.entry->created)}});
    detail.add("differences", Json::array_of(nearest.differences, [](const Difference& one) -> Json {
                   return {{"field", one.field}, {"here", one.here}, {"there", one.there}};
               }));
    detail.add("why_not", "");
    return detail;
}

}  // namespace hearth::cli

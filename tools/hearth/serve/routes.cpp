#include "serve/routes.hpp"

#include "cache/stats_json.hpp"
#include "hearth/admin.hpp"
#include "metrics/metrics.hpp"
#include "page/page_assets.hpp"
#include "page/page_facts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace hearth::cli {

namespace {

constexpr std::size_t k_most_rows = 200;
constexpr std::chrono::milliseconds k_good_for{300};
constexpr std::string_view k_entries = "/api/entries/";

HttpResponse json(const Json& value)
{
    return {.type = "application/json", .body = value.text() + "\n"};
}

HttpResponse refused(unsigned status, std::string sentence)
{
    return {.status = status, .body = std::move(sentence) + "\n"};
}

HttpResponse nothing_there()
{
    return refused(404, "There is nothing here. The page is at /, its facts are below /api/.");
}

// None if it is not a number.
std::optional<std::size_t> number_in(const HttpRequest& request, const char* name, std::size_t otherwise)
{
    const std::optional<std::string> text = request.argument(name);
    if (!text)
        return otherwise;
    std::size_t value = 0;
    const char* const end = text->data() + text->size();
    const auto [stopped, error] = std::from_chars(text->data(), end, value);
    return error == std::errc{} && stopped == end ? std::optional(value) : std::nullopt;
}

// Nothing from elsewhere, no frames around it, no guesses about types, no copies that others could read.
void protect(HttpResponse& response)
{
    static const std::vector<std::pair<std::string, std::string>> k_headers{
        {"Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; "
                                    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"},
        {"X-Content-Type-Options", "nosniff"},
        {"X-Frame-Options", "DENY"},
        {"Referrer-Policy", "no-referrer"},
        {"Cross-Origin-Resource-Policy", "same-origin"},
        {"Cross-Origin-Opener-Policy", "same-origin"},
        {"Cache-Control", "no-store"}};
    response.headers.insert(response.headers.end(), k_headers.begin(), k_headers.end());
}

}  // namespace

HttpResponse Routes::answer(const HttpRequest& request)
{
    std::optional<HttpResponse> refusal = m_access.refuse(request);
    HttpResponse response = refusal                      ? *std::move(refusal)
                            : request.method() == "POST" ? change(request)
                                                         : read(request);
    protect(response);
    return response;
}

const Json& Routes::facts()
{
    using Steady = std::chrono::steady_clock;
    if (const Steady::time_point now = Steady::now(); now >= m_facts_until) {
        m_facts = page_facts(m_cache, m_entries.latest().get(),
                             m_access.allows_changes() ? PageIs::changeable : PageIs::live);
        m_facts_until = now + k_good_for;
    }
    return m_facts;
}

HttpResponse Routes::read(const HttpRequest& request)
{
    const std::string_view path = request.path();
    if (path == "/")
        return {.type = "text/html; charset=utf-8", .body = page_with_files(facts())};
    if (path == "/page.css")
        return {.type = "text/css; charset=utf-8", .body = std::string(k_page_css)};
    if (path == "/page.js")
        return {.type = "text/javascript; charset=utf-8", .body = std::string(k_page_js)};
    if (path == "/healthz")
        return {.body = "ok\n"};
    if (path == "/metrics")
        return metrics();
    if (path == "/api/page")
        return json(facts());
    if (path == "/api/stats")
        return json(stats_as_json(m_cache.stats(Scope::directory)));
    if (path == "/api/history")
        return json(history_as_json(m_cache));
    if (path == "/api/events")
        return json(events_as_json(m_cache));
    if (path == "/api/entries")
        return entries(request);
    if (path.starts_with(k_entries))
        return entry(path.substr(k_entries.size()));
    return nothing_there();
}

HttpResponse Routes::metrics()
{
    using Steady = std::chrono::steady_clock;
    if (const Steady::time_point now = Steady::now(); now >= m_metrics_until) {
        m_metrics = metrics_text(m_cache);
        m_metrics_until = now + k_good_for;
    }
    return {.type = "application/openmetrics-text; version=1.0.0; charset=utf-8", .body = m_metrics};
}

HttpResponse Routes::entries(const HttpRequest& request)
{
    const std::string sort = request.argument("sort").value_or("size");
    const auto order = std::ranges::find(k_entry_orders, sort);
    const std::optional<std::size_t> from = number_in(request, "from", 0);
    const std::optional<std::size_t> count = number_in(request, "count", 25);
    if (order == k_entry_orders.end() || !from || !count || *count > k_most_rows)
        return refused(400, fmt::format("sort is one of {}; from is a whole number, and count one up to {}.",
                                        fmt::join(k_entry_orders, ", "), k_most_rows));
    const std::shared_ptr<const EntryIndex> index = m_entries.latest();
    if (!index)
        return json({{"ready", false}, {"total", 0}, {"matching", 0}, {"entries", Json::array()}});
    const EntryIndex::Part part = index->find(static_cast<EntryOrder>(order - k_entry_orders.begin()),
                                              request.argument("search").value_or(""), *from, *count);
    return json(
        {{"ready", true},
         {"total", index->size()},
         {"matching", part.matching},
         {"entries", Json::array_of(part.entries, [&](const IndexedEntry* entry) { return index->as_json(*entry); })}});
}

HttpResponse Routes::entry(std::string_view text)
{
    const std::optional<Key> key = Key::parse(text);
    if (!key)
        return refused(400, "A key has 64 hexadecimal digits.");
    const std::shared_ptr<const EntryIndex> index = m_entries.latest();
    const IndexedEntry* const found = index ? index->find(*key) : nullptr;
    if (found == nullptr)
        return refused(404, "That entry is not in the cache: it was removed, or its compile was not kept.");
    return json(entry_detail(m_cache, *index, *found));
}

HttpResponse Routes::change(const HttpRequest& request)
{
    Json done = Json::object();
    if (request.path() == "/api/reset") {
        admin::reset_stats(m_cache);
    } else if (request.path() == "/api/gc") {
        const GcReport report = admin::gc(m_cache, {});
        done = {{"removed_entries", report.removed_entries}, {"removed_bytes", report.removed_bytes}};
    } else if (request.path() == "/api/remove") {
        const std::optional<Key> key = Key::parse(request.argument("key").value_or(""));
        if (!key)
            return refused(400, "Say which entry to remove: key, 64 hexadecimal digits.");
        done = {{"removed_entries", m_cache.remove(*key, Reach::this_machine) ? 1 : 0}};
    } else {
        return nothing_there();
    }
    m_entries.make_again();
    m_facts_until = {};
    m_metrics_until = {};
    return json(done);
}

}  // namespace hearth::cli

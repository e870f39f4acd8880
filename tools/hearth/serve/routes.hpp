#pragma once

#include "hearth/cache.hpp"
#include "page/entry_index.hpp"
#include "serve/access.hpp"

#include <chrono>
#include <string>

namespace hearth::cli {

// What `hearth serve` answers. Nothing here reads a file by a name that a client gave.
// Thread safety: answer() from one thread at a time.
class Routes {
public:
    // All of them outlive it.
    Routes(Cache& cache, IndexKeeper& entries, const Access& access)
        : m_cache(cache), m_entries(entries), m_access(access)
    {
    }
    HttpResponse answer(const HttpRequest& request);

private:
    HttpResponse read(const HttpRequest& request);
    HttpResponse change(const HttpRequest& request);
    HttpResponse metrics();
    HttpResponse entries(const HttpRequest& request);
    HttpResponse entry(std::string_view text);
    const Json& facts();

    Cache& m_cache;
    IndexKeeper& m_entries;
    const Access& m_access;
    // A thousand clients that ask within a moment are given the same facts.
    Json m_facts;
    std::chrono::steady_clock::time_point m_facts_until{};
    std::string m_metrics;
    std::chrono::steady_clock::time_point m_metrics_until{};
};

}  // namespace hearth::cli

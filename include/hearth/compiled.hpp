#pragma once

#include "hearth/cache.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace hearth {

// Where the result of a compile came from.
enum class Outcome : std::uint8_t {
    hit,             // the cache had it
    compiled,        // it was compiled, and is stored
    rebuilt,         // a driver refused the stored result; it was removed, compiled again and stored
    past_the_cache,  // it was compiled, and cannot be stored; reason() says why
    waited,          // another thread, process or node compiled it, and this call waited for that
};

constexpr std::string_view to_string(Outcome outcome)
{
    switch (outcome) {
    case Outcome::hit:
        return "hit";
    case Outcome::compiled:
        return "miss";
    case Outcome::rebuilt:
        return "rebuilt";
    case Outcome::past_the_cache:
        return "past_the_cache";
    case Outcome::waited:
        return "waited";
    }
    return "";
}

// What the results of all compilers have in common, hits or not. A compile error is a result too: failed(), with its
// log.
class CompileResult {
public:
    // `lookup` comes from get_or_compile(), or, if there is a reason to go past the cache, compile_past_the_cache().
    CompileResult(const Lookup& lookup, Request request, std::string why_past_the_cache)
        : CompileResult(lookup, std::move(request), std::move(why_past_the_cache), {})
    {
        m_key = m_request.key();
    }
    // `key`: of the result. A request may have several, each for what its compile read.
    CompileResult(const Lookup& lookup, Request request, std::string why_past_the_cache, const Key& key)
        : m_artifact(lookup.share()), m_request(std::move(request)), m_key(key), m_reason(std::move(why_past_the_cache))
    {

        if (!m_reason.empty()) {
            m_outcome = Outcome::past_the_cache;
        } else if (lookup.compiled()) {
            m_outcome = lookup.waited() ? Outcome::waited : Outcome::compiled;
            m_reason = to_string(lookup.why());
        } else {
            m_tier = lookup.tier();
        }
    }

    bool failed() const noexcept { return m_artifact->failed(); }
    int status() const noexcept { return m_artifact->status; }  // the compiler's own code
    Outcome outcome() const noexcept { return m_outcome; }
    const std::string& reason() const noexcept { return m_reason; }  // why it missed, or went past the cache
    const std::string& tier() const noexcept { return m_tier; }      // that hit; empty when none did
    const Request& request() const noexcept { return m_request; }
    const Key& key() const noexcept { return m_key; }  // of its entry, if it did not go past the cache
    const Artifact& artifact() const noexcept { return *m_artifact; }

private:
    ArtifactLease m_artifact;
    Request m_request;
    Key m_key;
    Outcome m_outcome = Outcome::hit;
    std::string m_reason;
    std::string m_tier;
};

}  // namespace hearth

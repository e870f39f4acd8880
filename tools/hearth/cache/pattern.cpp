#include "cache/pattern.hpp"

#include "cache/key_argument.hpp"
#include "terminal/text.hpp"

#include <optional>
#include <tuple>
#include <utility>

namespace hearth::cli {

namespace {

Character take(std::string_view& text)
{
    const Character c = first_character(text);
    text.remove_prefix(c.length);
    return c;
}

bool same(const Character& a, const Character& b)
{
    return a.value == b.value && a.valid == b.valid;
}

// Whether the set that `glob` is in, after its '[', has `c`; moves `glob` behind the set.
// None if the set has no end: then the '[' stands for itself.
std::optional<bool> set_matches(std::string_view& glob, const Character& c)
{
    std::string_view rest = glob;
    const bool negated = !rest.empty() && (rest.front() == '!' || rest.front() == '^');
    if (negated)
        rest.remove_prefix(1);
    bool found = false;
    for (bool first = true; !rest.empty(); first = false) {
        if (rest.front() == ']' && !first) {
            glob = rest.substr(1);
            return found != negated;
        }
        const Character low = take(rest);
        Character high = low;
        if (rest.size() >= 2 && rest[0] == '-' && rest[1] != ']') {
            rest.remove_prefix(1);
            high = take(rest);
        }
        found = found || (c.valid && low.value <= c.value && c.value <= high.value);
    }
    return std::nullopt;
}

// Whether the first element of the glob, which is not '*', matches the first character of the text; moves both on.
bool step(std::string_view& glob, std::string_view& text)
{
    if (glob.empty() || text.empty())
        return false;
    Character want = take(glob);
    const Character have = take(text);
    if (want.value == '?' && want.valid)
        return true;
    if (want.value == '[' && want.valid)
        if (const auto in_set = set_matches(glob, have))
            return *in_set;
    if (want.value == '\\' && !glob.empty())
        want = take(glob);
    return same(want, have);
}

}  // namespace

bool glob_matches(std::string_view glob, std::string_view text)
{
    // Only the last '*' ever needs to be tried again, so the cost is bounded by the product of the lengths.
    std::optional<std::pair<std::string_view, std::string_view>> retry;
    while (!text.empty() || !glob.empty()) {
        if (!glob.empty() && glob.front() == '*') {
            glob.remove_prefix(1);
            retry = {glob, text};
            continue;
        }
        if (step(glob, text))
            continue;
        if (!retry || retry->second.empty())
            return false;
        take(retry->second);
        std::tie(glob, text) = *retry;
    }
    return true;
}

Pattern::Pattern(std::string text) : m_text(std::move(text)), m_key(exact_key(m_text).key()) {}

bool Pattern::matches(const EntryRow& entry) const
{
    if (entry.key == m_key)
        return true;
    // An empty pattern is more likely an unset variable than a request for entries without a label.
    if (m_text.empty())
        return false;
    return entry.metadata.label == m_text || glob_matches(m_text, entry.metadata.label) ||
           (is_key_prefix(m_text) && begins_with(entry.key, m_text));
}

}  // namespace hearth::cli

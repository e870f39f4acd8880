#include "recipes/contents.hpp"

namespace hearth::recipes {

namespace {

constexpr int k_compression = 3;

}  // namespace

bool Contents::add(std::string_view text, const base::Sha256& digest)
{
    if (text.size() > format::k_max_content)
        return false;
    if (m_recorder.claim(digest))
        m_recorder.append(format::encode_content(digest, as_bytes(text), k_compression), m_log);
    return true;
}

bool Contents::add(const base::Sha256& digest, const std::function<std::optional<std::string>()>& read)
{
    if (!m_recorder.claim(digest))
        return true;
    const std::optional<std::string> text = read();
    if (!text || text->size() > format::k_max_content || base::sha256(as_bytes(*text)) != digest) {
        m_recorder.disclaim(digest);
        return false;
    }
    m_recorder.append(format::encode_content(digest, as_bytes(*text), k_compression), m_log);
    return true;
}

}  // namespace hearth::recipes

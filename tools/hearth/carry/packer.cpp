#include "carry/packer.hpp"

#include "base/error.hpp"

#include <utility>

namespace hearth::cli::carry {

namespace {

// A pack ends behind one content in 64, or when it is as large as this.
constexpr std::uint8_t k_end_mask = 0x3F;
constexpr std::size_t k_pack_limit = 1_MiB;

}  // namespace

Result<std::uint32_t> Packer::add(const Bytes& content)
{
    const Key digest = content_key(content);
    const auto number = static_cast<std::uint32_t>(pieces.size());
    if (const auto [known, is_new] = m_known.emplace(digest, number); !is_new)
        return known->second;
    pieces.push_back({digest, 0, 0, content.size()});
    if (!m_store)
        return number;
    if (content.size() >= k_small_bytes) {
        // On its own its key is its digest.
        pieces.back().pack = static_cast<std::uint32_t>(packs.size());
        packs.push_back({digest, content.size()});
        HEARTH_TRY(m_store(packs.back(), content));
        return number;
    }
    pieces.back().offset = m_open.size();
    m_in_open.push_back(number);
    m_open += content.text();
    if ((digest.digest[0] & k_end_mask) == 0 || m_open.size() >= k_pack_limit)
        HEARTH_TRY(close_pack());
    return number;
}

Status Packer::finish()
{
    return m_in_open.empty() ? Status{} : close_pack();
}

Status Packer::close_pack()
{
    const Bytes content = Bytes::copy_of(std::exchange(m_open, {}));
    for (const std::uint32_t number : std::exchange(m_in_open, {}))
        pieces[number].pack = static_cast<std::uint32_t>(packs.size());
    packs.push_back({content_key(content), content.size()});
    return m_store(packs.back(), content);
}

}  // namespace hearth::cli::carry

#include "tiers/disk/layout.hpp"

#include "base/hex.hpp"

#include <array>
#include <span>

namespace hearth::tiers {

Layout::Layout(std::string directory) : m_directory(std::move(directory)), m_root(m_directory + "/v1") {}

std::string Layout::shard(unsigned number) const
{
    const std::array<std::uint8_t, 1> byte{static_cast<std::uint8_t>(number)};
    return entries() + "/" + base::to_hex(std::as_bytes(std::span(byte)));
}

std::string Layout::entry(const Key& key) const
{
    std::string path;
    path.reserve(m_root.size() + 80);
    path += m_root;
    path += "/entries/";
    path += key.hex();
    path.insert(path.size() - 62, 1, '/');
    return path;
}

std::optional<Key> Layout::key_of(unsigned shard, std::string_view file_name)
{
    Key key;
    key.digest[0] = static_cast<std::uint8_t>(shard);
    // Upper case would be a second name for the same key: not ours.
    if (file_name.find_first_of("ABCDEF") != std::string_view::npos)
        return std::nullopt;
    if (!base::from_hex(file_name, std::span(key.digest).subspan(1)))
        return std::nullopt;
    return key;
}

}  // namespace hearth::tiers

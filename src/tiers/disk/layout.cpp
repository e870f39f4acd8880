#include "tiers/disk/layout.hpp"

#include "base/hex.hpp"

#include <array>
#include <span>

namespace hearth::tiers {

Layout::Layout(std::string directory)
    : m_directory(std::move(directory)), m_root(m_directory + "/v" + std::to_string(k_version))
{
}

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

namespace {

// Upper case would be a second name for the same entry, so it is refused.
bool from_lower_hex(std::string_view hex, std::span<std::uint8_t> out)
{
    return hex.find_first_of("ABCDEF") == std::string_view::npos && base::from_hex(hex, out);
}

bool is_number(std::string_view text)
{
    return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

}  // namespace

bool Layout::names_temporary(std::string_view file_name)
{
    std::array<std::uint8_t, 8> seed{};
    constexpr std::size_t k_seed_digits = 2 * seed.size();
    if (file_name.size() <= k_seed_digits || file_name[k_seed_digits] != '-' ||
        !from_lower_hex(file_name.substr(0, k_seed_digits), seed))
        return false;
    file_name.remove_prefix(k_seed_digits + 1);
    const std::size_t dash = file_name.find('-');
    return dash != std::string_view::npos && is_number(file_name.substr(0, dash)) &&
           is_number(file_name.substr(dash + 1));
}

bool Layout::names_key(std::string_view file_name)
{
    Key key;
    return from_lower_hex(file_name, key.digest);
}

std::optional<unsigned> Layout::shard_of(std::string_view folder_name)
{
    std::array<std::uint8_t, 1> number{};
    if (!from_lower_hex(folder_name, number))
        return std::nullopt;
    return number.front();
}

std::optional<Key> Layout::key_of(unsigned shard, std::string_view file_name)
{
    Key key;
    key.digest[0] = static_cast<std::uint8_t>(shard);
    if (!from_lower_hex(file_name, std::span(key.digest).subspan(1)))
        return std::nullopt;
    return key;
}

}  // namespace hearth::tiers

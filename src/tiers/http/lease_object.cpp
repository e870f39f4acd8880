#include "tiers/http/lease_object.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <fmt/format.h>

namespace hearth::tiers::http {

namespace {

constexpr std::string_view k_magic = "hearth-lease 1 ";
constexpr std::size_t k_max_digits = 19;
// The year 2262: WallTime counts nanoseconds.
constexpr std::int64_t k_last_millisecond = INT64_MAX / 1'000'000;

}  // namespace

bool is_lease_name(std::string_view name)
{
    return name.ends_with(".lease");
}

std::string encode_lease(ByteView content, WallTime expires)
{
    const auto since_1970 = std::chrono::duration_cast<std::chrono::milliseconds>(expires.time_since_epoch());
    std::string object = fmt::format("{}{}\n", k_magic, std::max<std::int64_t>(since_1970.count(), 0));
    object += as_text(content);
    return object;
}

std::optional<LeaseObject> decode_lease(const Bytes& object)
{
    const std::string_view text = object.text();
    if (!text.starts_with(k_magic))
        return std::nullopt;
    const std::string_view rest = text.substr(k_magic.size());
    const std::size_t digits = rest.substr(0, k_max_digits + 1).find('\n');
    if (digits == std::string_view::npos || digits == 0 || rest.front() == '-')
        return std::nullopt;
    std::int64_t milliseconds = 0;
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + digits, milliseconds);
    if (error != std::errc{} || end != rest.data() + digits)
        return std::nullopt;
    const std::size_t header = k_magic.size() + digits + 1;
    return LeaseObject{object.slice(header, object.size() - header),
                       WallTime(std::chrono::milliseconds(std::min(milliseconds, k_last_millisecond)))};
}

}  // namespace hearth::tiers::http

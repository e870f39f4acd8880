#include "fuzz/fuzz.hpp"
#include "tiers/http/http_leases.hpp"

#include <algorithm>
#include <string>

namespace {

using namespace hearth;
using namespace hearth::tiers::http;

std::optional<LeaseObject> decode(std::string_view object)
{
    return decode_lease(Bytes::copy_of(object));
}

void try_input(std::string_view text)
{
    if (const std::optional<LeaseObject> lease = decode(text)) {
        fuzz::require(lease->expires >= WallTime{}, "a lease ends after 1970");
        fuzz::require(lease->expires.time_since_epoch() % std::chrono::milliseconds(1) == std::chrono::nanoseconds(0),
                      "at a millisecond");
        fuzz::require(text.ends_with(lease->content.text()) && lease->content.size() < text.size(),
                      "its content is what follows the first line");
        const std::optional<LeaseObject> again = decode(encode_lease(lease->content, lease->expires));
        fuzz::require(again && again->content == lease->content && again->expires == lease->expires,
                      "a lease that is written and read again is the same");
    }

    // The same bytes as a lease's content, and the first eight of them as its end.
    std::uint64_t bits = 0;
    for (std::size_t i = 0; i < std::min<std::size_t>(text.size(), 8); ++i)
        bits = bits << 8U | static_cast<unsigned char>(text[i]);
    const WallTime expires{std::chrono::nanoseconds(static_cast<std::int64_t>(bits))};
    const std::optional<LeaseObject> read = decode(encode_lease(as_bytes(text), expires));
    fuzz::require(read && read->content.text() == text, "any content can be leased");
    fuzz::require(read->expires == std::chrono::floor<std::chrono::milliseconds>(std::max(WallTime{}, expires)),
                  "until any millisecond after 1970");
}

const fuzz::Added k_added({"lease_object", 2'000'000, try_input});

}  // namespace

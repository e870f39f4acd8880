#include "format/entry_file.hpp"

#include "format/entry.hpp"

#include <algorithm>

namespace hearth::format {

namespace {

// Most heads are shorter.
constexpr std::size_t k_head_guess = 4096;

}  // namespace

Bytes read_entry_head(base::Files& files, int fd, std::uint64_t at, std::uint64_t size, int& error)
{
    std::size_t wanted = std::min<std::size_t>(size, k_head_guess);
    for (;;) {
        Bytes head = Bytes::make(wanted, [&](std::span<std::byte> buffer) {
            error = base::read_exactly(files, fd, buffer.data(), buffer.size(), at);
        });
        if (error != 0)
            return {};
        const DecodedHead decoded = decode_head(head);
        if (decoded.outcome != DecodedHead::Outcome::need_more || decoded.needed > size || decoded.needed <= wanted)
            return head;
        wanted = decoded.needed;
    }
}

}  // namespace hearth::format

#include "format/entry_file.hpp"

#include "format/entry.hpp"
#include "format/signature.hpp"

#include <algorithm>
#include <cerrno>

namespace hearth::format {

namespace {

// Most heads are shorter.
constexpr std::size_t k_head_guess = 4096;
// Files up to this size are read at once, so that most entries cost one read.
constexpr std::uint64_t k_read_at_once = 1_MiB;

}  // namespace

Bytes read_entry_head(base::Files& files, int fd, std::uint64_t at, std::uint64_t size, int& error)
{
    std::size_t wanted = std::min<std::size_t>(size, k_head_guess);
    for (;;) {
        Bytes head = base::read_part(files, fd, at, wanted, error);
        if (error != 0)
            return {};
        const DecodedHead decoded = decode_head(head);
        if (decoded.outcome != DecodedHead::Outcome::need_more || decoded.needed > size || decoded.needed <= wanted)
            return head;
        wanted = decoded.needed;
    }
}

Bytes read_entry(base::Files& files, int fd, std::uint64_t size, std::uint64_t most, int& error)
{
    if (size > k_read_at_once) {
        Bytes head = base::read_part(files, fd, 0, k_entry_fixed_size, error);
        const std::optional<std::uint64_t> total = claimed_size(head);
        if (!total || (size != *total && size != *total + k_trailer_size))
            return head;
        if (*total > k_max_table_bytes && *total - k_max_table_bytes > most) {
            error = -EOVERFLOW;
            return {};
        }
    }
    return base::read_part(files, fd, 0, size, error);
}

}  // namespace hearth::format

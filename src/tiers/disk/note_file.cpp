#include "tiers/disk/note_file.hpp"

#include "base/digest.hpp"
#include "base/open_file.hpp"
#include "base/wire.hpp"

#include <array>
#include <fcntl.h>
#include <span>

namespace hearth::tiers {

namespace {

constexpr std::string_view k_slot_magic = "HRTHNOT1";
constexpr std::size_t k_slot_sum = 16;
constexpr std::size_t k_slot_head = 8 + k_slot_sum + 8 + 4;
constexpr std::size_t k_slot_size = std::size_t{16} << 10U;
constexpr std::size_t k_read_at_once = 4096;

struct Slot {
    std::uint64_t sequence = 0;  // 0: it holds nothing
    Bytes payload;
};

std::string_view sum_of(const base::Sha256& digest)
{
    return as_text(std::as_bytes(std::span(digest))).substr(0, k_slot_sum);
}

Slot read_slot(base::Files& files, int fd, std::uint64_t number)
{
    std::string bytes(k_slot_size, '\0');
    const ssize_t got = files.pread(fd, bytes.data(), k_read_at_once, number * k_slot_size);
    if (got < static_cast<ssize_t>(k_slot_head))
        return {};
    base::WireReader in(as_bytes(std::string_view(bytes).substr(8 + k_slot_sum)));
    const auto sequence = in.number<std::uint64_t>();
    const auto size = in.number<std::uint32_t>();
    if (!bytes.starts_with(k_slot_magic) || size > k_slot_size - k_slot_head)
        return {};
    const std::size_t whole = k_slot_head + size;
    if (whole > static_cast<std::size_t>(got) &&
        base::read_exactly(files, fd, bytes.data(), whole, number * k_slot_size) != 0)
        return {};
    const std::string_view summed = std::string_view(bytes).substr(8 + k_slot_sum, whole - 8 - k_slot_sum);
    if (std::string_view(bytes).substr(8, k_slot_sum) != sum_of(base::sha256(as_bytes(summed))))
        return {};
    return {sequence, Bytes::copy_of(std::string_view(bytes).substr(k_slot_head, size))};
}

std::string encode_slot(std::uint64_t sequence, ByteView payload)
{
    base::WireWriter body;
    body.number(sequence);
    body.number(static_cast<std::uint32_t>(payload.size()));
    body.raw(payload);
    base::WireWriter slot;
    slot.raw(k_slot_magic);
    slot.raw(sum_of(base::sha256(as_bytes(body.out()))));
    slot.raw(body.out());
    return std::move(slot.out());
}

}  // namespace

Bytes read_note_file(base::Files& files, base::At at)
{
    base::FileStat stat;
    const base::FileHandle file(files, base::open_file(files, at, O_RDONLY, stat));
    if (!file.open())
        return {};
    Slot one = read_slot(files, file.fd(), 0);
    Slot other = read_slot(files, file.fd(), 1);
    return one.sequence > other.sequence ? std::move(one.payload) : std::move(other.payload);
}

bool update_note_file(base::Files& files, base::At at, unsigned mode, const std::function<Bytes(ByteView)>& edit)
{
    const base::FileHandle file(files, base::open_or_create(files, at, O_RDWR, mode));
    if (!file.open())
        return false;
    const std::array<Slot, 2> slots{read_slot(files, file.fd(), 0), read_slot(files, file.fd(), 1)};
    const std::size_t newer = slots[0].sequence > slots[1].sequence ? 0 : 1;
    const Bytes next = edit(slots[newer].payload);
    return next.size() <= k_slot_size - k_slot_head &&
           base::write_all(files, file.fd(), as_bytes(encode_slot(slots[newer].sequence + 1, next)),
                           (1 - newer) * k_slot_size) == 0;
}

}  // namespace hearth::tiers

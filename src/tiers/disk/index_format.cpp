#include "tiers/disk/index_format.hpp"

#include "base/wire.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

namespace hearth::tiers {

namespace {

constexpr std::string_view k_magic = "HRTHIDX1";

// Four bytes are enough to recognise a torn write; they prove nothing else. It takes eight bytes at a time, because a
// bucket has two hundred records, which are checked while the directory's lock is held.
std::uint32_t short_sum(ByteView bytes)
{
    std::uint64_t hash = 0x9E3779B97F4A7C15U;
    for (; !bytes.empty(); bytes = bytes.subspan(std::min<std::size_t>(bytes.size(), 8))) {
        base::WireReader reader(bytes);
        const std::uint64_t word =
            bytes.size() >= 8 ? reader.number<std::uint64_t>() : std::uint64_t{reader.number<std::uint32_t>()};
        hash = (hash ^ word) * 0xFF51AFD7ED558CCDU;
        hash ^= hash >> 32U;
    }
    const auto folded = static_cast<std::uint32_t>(hash);
    return folded == 0 ? 1 : folded;
}

void put_record(base::WireWriter& out, const IndexRecord& record)
{
    out.raw(std::as_bytes(std::span(record.key.digest)));
    out.number(record.tick);
    out.number(std::bit_cast<std::uint64_t>(record.aging));
    out.number(record.bytes);
    out.number(std::bit_cast<std::uint32_t>(record.cost));
    out.number(record.uses);
    out.number(record.created);
    out.number(record.last_used);
    out.number(record.expires);
}

IndexRecord get_record(base::WireReader& in)
{
    IndexRecord record;
    const ByteView key = in.raw(record.key.digest.size());
    if (!key.empty())
        std::memcpy(record.key.digest.data(), key.data(), key.size());
    record.tick = in.number<std::uint64_t>();
    record.aging = std::bit_cast<double>(in.number<std::uint64_t>());
    record.bytes = in.number<std::uint64_t>();
    record.cost = std::bit_cast<float>(in.number<std::uint32_t>());
    record.uses = in.number<std::uint32_t>();
    record.created = in.number<std::uint32_t>();
    record.last_used = in.number<std::uint32_t>();
    record.expires = in.number<std::uint32_t>();
    return record;
}

}  // namespace

std::string encode_header(const IndexHeader& header)
{
    base::WireWriter out;
    out.raw(k_magic);
    out.raw(std::as_bytes(std::span(header.boot)));
    out.number(header.buckets);
    out.number(header.totals.bytes);
    out.number(header.totals.entries);
    out.number(header.tick);
    out.number(std::bit_cast<std::uint64_t>(header.clock));
    out.number(static_cast<std::uint8_t>(header.announced));
    out.number(header.announced_old_bytes);
    put_record(out, header.announced_record);
    out.out().resize(k_index_header_bytes - sizeof(std::uint32_t), '\0');
    out.number(short_sum(out.view()));
    return std::move(out.out());
}

bool decode_header(ByteView bytes, IndexHeader& header)
{
    base::WireReader sum(bytes.last(sizeof(std::uint32_t)));
    if (sum.number<std::uint32_t>() != short_sum(bytes.first(bytes.size() - sizeof(std::uint32_t))))
        return false;
    base::WireReader in(bytes);
    if (as_text(in.raw(k_magic.size())) != k_magic)
        return false;
    const ByteView boot = in.raw(header.boot.size());
    std::memcpy(header.boot.data(), boot.data(), boot.size());
    header.buckets = in.number<std::uint64_t>();
    header.totals.bytes = in.number<std::uint64_t>();
    header.totals.entries = in.number<std::uint64_t>();
    header.tick = in.number<std::uint64_t>();
    header.clock = std::bit_cast<double>(in.number<std::uint64_t>());
    header.announced = static_cast<IndexChange>(in.number<std::uint8_t>());
    header.announced_old_bytes = in.number<std::uint64_t>();
    header.announced_record = get_record(in);
    return !in.failed() && header.buckets > 0 && header.announced <= IndexChange::remove;
}

std::string encode_record(const IndexRecord& record)
{
    if (record.bytes == 0)
        return std::string(k_index_record_bytes, '\0');
    base::WireWriter out;
    put_record(out, record);
    out.number(short_sum(out.view()));
    return std::move(out.out());
}

std::optional<IndexRecord> decode_record(ByteView bytes)
{
    base::WireReader in(bytes);
    const IndexRecord record = get_record(in);
    const auto sum = in.number<std::uint32_t>();
    if (sum != short_sum(bytes.first(k_index_record_bytes - sizeof sum)))
        return std::nullopt;
    return record;
}

}  // namespace hearth::tiers

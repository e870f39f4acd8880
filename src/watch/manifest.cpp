#include "watch/manifest.hpp"

#include "base/wire.hpp"

#include <algorithm>
#include <cstring>
#include <span>

namespace hearth::watch {

namespace {

constexpr std::string_view k_manifest_magic = "hearth manifest 3\n";
constexpr std::string_view k_stamps_magic = "hearth stamps 1\n";
// The smallest encodings, which bound the counts before anything is allocated.
constexpr std::size_t k_least_condition = 1 + 4 + 2;
constexpr std::size_t k_stamp_size = 5 * 8 + 1;

using Kind = Condition::Kind;

bool is_named(Kind kind)
{
    return kind == Kind::variable || kind == Kind::variable_unset || kind == Kind::found ||
           kind == Kind::variable_digest;
}

bool has_digest(Kind kind)
{
    return kind == Kind::content || kind == Kind::names || kind == Kind::environment;
}

bool has_target(Kind kind)
{
    return kind == Kind::leads_to || kind == Kind::really || kind == Kind::place;
}

void write(base::WireWriter& out, const Condition& condition)
{
    out.number(static_cast<std::uint8_t>(condition.kind));
    out.number(condition.same_file);
    if (is_named(condition.kind)) {
        out.prefixed<std::uint16_t>(condition.name);
        if (condition.kind == Kind::variable_digest)
            out.raw(std::as_bytes(std::span(condition.digest)));
        else if (condition.kind != Kind::variable_unset)
            out.prefixed<std::uint32_t>(condition.text);
        return;
    }
    out.number(static_cast<std::uint8_t>(condition.spot.from));
    out.number(condition.spot.index);
    out.prefixed<std::uint16_t>(condition.spot.rest);
    if (has_digest(condition.kind))
        out.raw(std::as_bytes(std::span(condition.digest)));
    if (condition.kind == Kind::refused)
        out.number(static_cast<std::int32_t>(condition.error));
    if (has_target(condition.kind))
        out.prefixed<std::uint16_t>(condition.text);
}

void write(base::WireWriter& out, const std::vector<Condition>& conditions)
{
    out.number(static_cast<std::uint32_t>(conditions.size()));
    for (const Condition& condition : conditions)
        write(out, condition);
}

template <std::size_t k_size>
void read(base::WireReader& in, std::array<std::uint8_t, k_size>& bytes)
{
    if (const ByteView read = in.raw(k_size); !in.failed())
        std::memcpy(bytes.data(), read.data(), k_size);
}

std::optional<Condition> read_condition(base::WireReader& in)
{
    Condition condition;
    const auto kind = in.number<std::uint8_t>();
    if (kind > static_cast<std::uint8_t>(Kind::variable_digest))
        return std::nullopt;
    condition.kind = static_cast<Kind>(kind);
    condition.same_file = in.number<std::uint32_t>();
    if (is_named(condition.kind)) {
        condition.name = in.prefixed<std::uint16_t>();
        if (condition.kind == Kind::variable_digest)
            read(in, condition.digest);
        else if (condition.kind != Kind::variable_unset)
            condition.text = in.prefixed<std::uint32_t>();
        return condition;
    }
    const auto from = in.number<std::uint8_t>();
    if (from > static_cast<std::uint8_t>(Spot::From::directory))
        return std::nullopt;
    condition.spot.from = static_cast<Spot::From>(from);
    condition.spot.index = in.number<std::uint16_t>();
    condition.spot.rest = in.prefixed<std::uint16_t>();
    if (has_digest(condition.kind))
        read(in, condition.digest);
    if (condition.kind == Kind::refused)
        condition.error = in.number<std::int32_t>();
    if (has_target(condition.kind))
        condition.text = in.prefixed<std::uint16_t>();
    return condition;
}

std::optional<std::vector<Condition>> read_conditions(base::WireReader& in)
{
    const auto count = in.number<std::uint32_t>();
    const std::size_t before = in.rest();
    if (count > before / k_least_condition || count > k_most_conditions)
        return std::nullopt;
    std::vector<Condition> conditions;
    conditions.reserve(count);
    for (std::uint32_t i = 0; i < count; ++i) {
        std::optional<Condition> condition = read_condition(in);
        if (!condition || in.failed() || condition->same_file > i || before - in.rest() > k_most_bytes_of_conditions)
            return std::nullopt;
        conditions.push_back(*std::move(condition));
    }
    return conditions;
}

}  // namespace

void Manifest::add(ConditionSet set)
{
    std::erase_if(sets, [&](const ConditionSet& known) {
        return known.result == set.result || known.conditions == set.conditions;
    });
    sets.insert(sets.begin(), std::move(set));
    if (sets.size() > k_most_sets)
        sets.resize(k_most_sets);
}

Bytes encode_manifest(const Manifest& manifest)
{
    base::WireWriter out;
    out.raw(k_manifest_magic);
    out.number(manifest.next);
    out.number(static_cast<std::uint8_t>(manifest.sets.size()));
    for (const ConditionSet& set : manifest.sets) {
        out.raw(std::as_bytes(std::span(set.result.digest)));
        write(out, set.conditions);
    }
    return Bytes::copy_of(out.view());
}

Bytes encode_conditions(const std::vector<Condition>& conditions)
{
    base::WireWriter out;
    write(out, conditions);
    return Bytes::copy_of(out.view());
}

Bytes encode_stamps(const Stamps& stamps)
{
    base::WireWriter out;
    out.raw(k_stamps_magic);
    out.number(static_cast<std::uint32_t>(stamps.of.size()));
    for (const Stamps::One& one : stamps.of) {
        const auto& [device, inode, size, modified_ns, changed_ns] = one.file;
        out.number(device);
        out.number(inode);
        out.number(size);
        out.number(modified_ns);
        out.number(changed_ns);
        out.number(static_cast<std::uint8_t>(one.settled));
    }
    return Bytes::copy_of(out.view());
}

std::optional<Manifest> decode_manifest(ByteView bytes)
{
    base::WireReader in(bytes);
    if (as_text(in.raw(k_manifest_magic.size())) != k_manifest_magic)
        return std::nullopt;
    Manifest manifest;
    manifest.next = in.number<std::uint32_t>();
    const auto sets = in.number<std::uint8_t>();
    if (sets > Manifest::k_most_sets)
        return std::nullopt;
    for (std::uint8_t i = 0; i < sets; ++i) {
        std::array<std::uint8_t, 32> result{};
        read(in, result);
        std::optional<std::vector<Condition>> conditions = read_conditions(in);
        if (!conditions || in.failed())
            return std::nullopt;
        manifest.sets.push_back({Key{result}, *std::move(conditions)});
    }
    if (in.failed() || !in.at_end())
        return std::nullopt;
    return manifest;
}

std::optional<std::vector<Condition>> decode_conditions(ByteView bytes)
{
    base::WireReader in(bytes);
    std::optional<std::vector<Condition>> conditions = read_conditions(in);
    return conditions && !in.failed() && in.at_end() ? std::move(conditions) : std::nullopt;
}

std::optional<Stamps> decode_stamps(ByteView bytes)
{
    base::WireReader in(bytes);
    if (as_text(in.raw(k_stamps_magic.size())) != k_stamps_magic)
        return std::nullopt;
    const auto count = in.number<std::uint32_t>();
    if (count != in.rest() / k_stamp_size)
        return std::nullopt;
    Stamps stamps;
    stamps.of.resize(count);
    for (Stamps::One& one : stamps.of) {
        auto& [device, inode, size, modified_ns, changed_ns] = one.file;
        device = in.number<std::uint64_t>();
        inode = in.number<std::uint64_t>();
        size = in.number<std::uint64_t>();
        modified_ns = in.number<std::int64_t>();
        changed_ns = in.number<std::int64_t>();
        const auto settled = in.number<std::uint8_t>();
        if (settled > 1)
            return std::nullopt;
        one.settled = settled == 1;
    }
    if (in.failed() || !in.at_end())
        return std::nullopt;
    return stamps;
}

}  // namespace hearth::watch

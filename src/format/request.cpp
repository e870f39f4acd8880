#include "format/request.hpp"

#include "base/digest.hpp"
#include "base/hex.hpp"
#include "base/secrets.hpp"
#include "base/wire.hpp"

#include <fmt/format.h>

namespace hearth {

namespace {

enum class Form : std::uint8_t { whole = 0, digest = 1 };

std::string_view digest_text(const base::Sha256& digest)
{
    return {reinterpret_cast<const char*>(digest.data()), digest.size()};
}

constexpr std::size_t k_longest_name = UINT16_MAX;
constexpr std::size_t k_usual_encoding = 512;

// A name that is too long ends in the digest of the whole name: if it were only cut, two names could become one.
std::string shortened(std::string_view name)
{
    const std::string digest = base::to_hex(as_bytes(digest_text(base::sha256(as_bytes(name)))));
    return std::string(name.substr(0, k_longest_name - digest.size())) + digest;
}

void append_field(std::string& encoding, FieldKind kind, std::string_view name, std::uint64_t size, ByteView value,
                  std::size_t inline_limit)
{
    const bool whole = value.size() <= inline_limit;
    base::WireWriter out;
    out.out().swap(encoding);
    out.number(static_cast<std::uint8_t>(kind));
    out.number(static_cast<std::uint8_t>(whole ? Form::whole : Form::digest));
    if (name.size() <= k_longest_name)
        out.prefixed<std::uint16_t>(name);
    else
        out.prefixed<std::uint16_t>(shortened(name));
    out.number(size);
    if (whole)
        out.raw(value);
    else
        out.raw(digest_text(base::sha256(value)));
    out.out().swap(encoding);
}

}  // namespace

std::string Key::hex() const
{
    return base::to_hex(std::as_bytes(std::span(digest)));
}

std::optional<Key> Key::parse(std::string_view hex)
{
    Key key;
    if (!base::from_hex(hex, key.digest))
        return std::nullopt;
    return key;
}

KeyBuilder::KeyBuilder(std::string_view domain)
{
    m_encoding.reserve(k_usual_encoding);
    m_encoding = format::k_request_magic;
    text("domain", domain);
}

void KeyBuilder::field(FieldKind kind, std::string_view name, ByteView value)
{
    append_field(m_encoding, kind, name, value.size(), value, k_inline_limit);
}

KeyBuilder& KeyBuilder::text(std::string_view name, std::string_view value)
{
    field(FieldKind::text, name, as_bytes(value));
    return *this;
}

KeyBuilder& KeyBuilder::bytes(std::string_view name, ByteView value)
{
    field(FieldKind::bytes, name, value);
    return *this;
}

KeyBuilder& KeyBuilder::number(std::string_view name, std::uint64_t value)
{
    base::WireWriter encoded;
    encoded.number(value);
    field(FieldKind::number, name, encoded.view());
    return *this;
}

KeyBuilder& KeyBuilder::flag(std::string_view name, bool value)
{
    base::WireWriter encoded;
    encoded.number(static_cast<std::uint8_t>(value));
    field(FieldKind::flag, name, encoded.view());
    return *this;
}

KeyBuilder& KeyBuilder::list(std::string_view name, std::span<const std::string> items)
{
    base::WireWriter encoded;
    for (const std::string& item : items)
        encoded.prefixed<std::uint64_t>(item);
    append_field(m_encoding, FieldKind::list, name, items.size(), encoded.view(), format::k_list_inline_limit);
    return *this;
}

Key KeyBuilder::key() const
{
    return Key{base::sha256(as_bytes(m_encoding))};
}

Request KeyBuilder::build() const
{
    return {key(), Bytes::copy_of(m_encoding)};
}

std::vector<Field> Request::fields() const
{
    return format::decode_request(m_encoding).value_or(std::vector<Field>{});
}

std::string Field::display() const
{
    if (digested)
        return fmt::format("sha256:{} ({} {})", base::to_hex(as_bytes(value)), size,
                           kind == FieldKind::list ? "items" : "bytes");
    switch (kind) {
    case FieldKind::text:
        return value;
    case FieldKind::bytes:
        return base::to_hex(as_bytes(value));
    case FieldKind::number:
        return std::to_string(base::WireReader(as_bytes(value)).number<std::uint64_t>());
    case FieldKind::flag:
        return value == std::string(1, '\0') ? "false" : "true";
    case FieldKind::list: {
        std::string joined;
        for (const std::string& item : items)
            joined += (joined.empty() ? "" : " ") + item;
        return joined;
    }
    }
    return {};
}

namespace format {

namespace {

// Only what append_field() would have written is accepted: a request has exactly one encoding.
bool decode_digest(base::WireReader& reader, Field& field)
{
    field.value = as_text(reader.raw(sizeof(base::Sha256)));
    switch (field.kind) {
    case FieldKind::number:
    case FieldKind::flag:
        return false;
    case FieldKind::list:
        return field.size > 0;
    default:
        return field.size > KeyBuilder::k_inline_limit;
    }
}

bool decode_list(base::WireReader& reader, Field& field)
{
    const std::size_t before = reader.rest();
    // Every item takes at least the bytes of its length field. A larger count is false, and is refused before use.
    if (field.size > before / sizeof(std::uint64_t))
        return false;
    for (std::uint64_t i = 0; i < field.size; ++i)
        field.items.emplace_back(reader.prefixed<std::uint64_t>());
    return before - reader.rest() <= k_list_inline_limit;
}

bool decode_value(base::WireReader& reader, Field& field)
{
    if (field.digested)
        return decode_digest(reader, field);
    if (field.kind == FieldKind::list)
        return decode_list(reader, field);
    field.value = as_text(reader.raw(field.size));
    switch (field.kind) {
    case FieldKind::number:
        return field.size == sizeof(std::uint64_t);
    case FieldKind::flag:
        return field.value == std::string_view("\0", 1) || field.value == "\1";
    default:
        return field.size <= KeyBuilder::k_inline_limit;
    }
}

bool is_domain(const Field& field)
{
    return field.kind == FieldKind::text && field.name == "domain";
}

void add_list(KeyBuilder& key, std::string_view name, const std::vector<std::string>& all,
              const std::vector<std::string>& shown)
{
    key.list(name, shown);
    if (shown != all)
        key.text(fmt::format("{} (digest)", name), Key::of("hearth words", all).hex());
}

}  // namespace

void add_words(KeyBuilder& key, std::string_view name, const std::vector<std::string>& words)
{
    add_list(key, name, words, base::without_secrets(words));
}

void add_variables(KeyBuilder& key, std::string_view name, const std::vector<std::string>& variables)
{
    std::vector<std::string> shown;
    shown.reserve(variables.size());
    for (const std::string& variable : variables)
        shown.push_back(base::shown_variable(variable));
    add_list(key, name, variables, shown);
}

std::optional<std::vector<Field>> decode_request(ByteView encoding)
{
    base::WireReader reader(encoding);
    if (as_text(reader.raw(k_request_magic.size())) != k_request_magic)
        return std::nullopt;
    std::vector<Field> fields;
    while (!reader.at_end()) {
        Field field;
        const auto kind = reader.number<std::uint8_t>();
        const auto form = reader.number<std::uint8_t>();
        field.name = reader.prefixed<std::uint16_t>();
        field.size = reader.number<std::uint64_t>();
        if (kind < 1 || kind > 5 || form > 1)
            return std::nullopt;
        field.kind = static_cast<FieldKind>(kind);
        field.digested = form == static_cast<std::uint8_t>(Form::digest);
        if (!decode_value(reader, field) || reader.failed())
            return std::nullopt;
        fields.push_back(std::move(field));
    }
    if (fields.empty() || !is_domain(fields.front()))
        return std::nullopt;
    return fields;
}

std::string compiler_build_of(ByteView encoding)
{
    std::string build;
    if (encoding.empty())
        return build;
    for (const Field& field : decode_request(encoding).value_or(std::vector<Field>{}))
        if ((field.name == "compiler build" || field.name == "linker build") && !field.value.empty())
            build.append(build.empty() ? "" : " ").append(field.display());
    return build;
}

}  // namespace format

}  // namespace hearth

#pragma once

#include "hearth/api.hpp"
#include "hearth/bytes.hpp"

#include <array>
#include <compare>
#include <concepts>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace hearth {

// The SHA-256 of a request's canonical, length-prefixed encoding: the same in every process, build and CPU.
struct Key {
    std::array<std::uint8_t, 32> digest{};

    // Key::of("ir", version, source): each part is a field of its own, so ("ab", "c") and ("a", "bc") differ.
    template <class... Parts>
    static Key of(std::string_view domain, const Parts&... parts);

    // 64 lower-case hexadecimal digits, and back. parse() takes exactly what hex() gives (either case).
    HEARTH_API std::string hex() const;
    HEARTH_API static std::optional<Key> parse(std::string_view hex);

    friend auto operator<=>(const Key&, const Key&) = default;
    // Four words rather than a call to memcmp: every hit compares two keys.
    friend bool operator==(const Key& a, const Key& b) noexcept
    {
        return ((a.word(0) ^ b.word(0)) | (a.word(1) ^ b.word(1)) | (a.word(2) ^ b.word(2)) |
                (a.word(3) ^ b.word(3))) == 0;
    }

    // Eight of the digest's bytes. They are uniform, so any eight are as good a hash as any function of them.
    std::uint64_t word(std::size_t number) const noexcept
    {
        std::uint64_t value = 0;
        std::memcpy(&value, digest.data() + number * sizeof value, sizeof value);
        return value;
    }
    std::uint64_t hash() const noexcept { return word(0); }
};

enum class FieldKind : std::uint8_t {
    text = 1,
    bytes = 2,
    number = 3,
    flag = 4,
    list = 5,
};

// One member of a request as an entry keeps it: a short value itself, a long one by its digest.
struct Field {
    FieldKind kind = FieldKind::text;
    std::string name;
    bool digested = false;
    std::uint64_t size = 0;          // bytes of the whole value, digested or not (items, for a list)
    std::string value;               // the value, or the 32 bytes of its digest
    std::vector<std::string> items;  // of a list that is not digested

    // For people: text as it is, numbers in decimal, bytes and digests in hexadecimal.
    HEARTH_API std::string display() const;
    friend bool operator==(const Field&, const Field&) = default;
};

// Everything that determines a result, as named, typed fields, and the key computed from them.
// A Request converts to its key, so it can stand wherever a key is asked for.
class Request {
public:
    Request() = default;
    Request(Key key, Bytes encoding) : m_key(key), m_encoding(std::move(encoding)) {}

    template <class... Parts>
    static Request of(std::string_view domain, const Parts&... parts);

    const Key& key() const noexcept { return m_key; }
    operator const Key&() const noexcept { return m_key; }

    // The canonical encoding: what is hashed into the key, and what an entry stores to be explained later.
    const Bytes& encoding() const noexcept { return m_encoding; }
    HEARTH_API std::vector<Field> fields() const;

private:
    Key m_key;
    Bytes m_encoding;
};

// Builds a request field by field. Order counts; every length is written before its bytes.
// Cost: a value longer than k_inline_limit is hashed once and kept as its digest.
class KeyBuilder {
public:
    static constexpr std::size_t k_inline_limit = 128;

    HEARTH_API explicit KeyBuilder(std::string_view domain);

    HEARTH_API KeyBuilder& text(std::string_view name, std::string_view value);
    HEARTH_API KeyBuilder& bytes(std::string_view name, ByteView value);
    HEARTH_API KeyBuilder& number(std::string_view name, std::uint64_t value);
    HEARTH_API KeyBuilder& flag(std::string_view name, bool value);
    HEARTH_API KeyBuilder& list(std::string_view name, std::span<const std::string> items);

    HEARTH_API Key key() const;
    HEARTH_API Request build() const;

    // Adds a field of the kind that fits the type. Key::of() and Request::of() use this.
    template <class Part>
    KeyBuilder& part(std::string_view name, const Part& value)
    {
        if constexpr (std::same_as<Part, bool>)
            return flag(name, value);
        else if constexpr (std::integral<Part>)
            return number(name, static_cast<std::uint64_t>(value));
        else if constexpr (std::convertible_to<const Part&, std::string_view>)
            return text(name, value);
        else if constexpr (std::convertible_to<const Part&, std::span<const std::string>>)
            return list(name, value);
        else
            return bytes(name, ByteView(value));
    }

private:
    void field(FieldKind kind, std::string_view name, ByteView value);

    std::string m_encoding;
};

namespace detail {

template <class... Parts>
KeyBuilder key_of_parts(std::string_view domain, const Parts&... parts)
{
    KeyBuilder builder(domain);
    int position = 0;
    (builder.part(std::to_string(position++), parts), ...);
    return builder;
}

}  // namespace detail

template <class... Parts>
Key Key::of(std::string_view domain, const Parts&... parts)
{
    return detail::key_of_parts(domain, parts...).key();
}

template <class... Parts>
Request Request::of(std::string_view domain, const Parts&... parts)
{
    return detail::key_of_parts(domain, parts...).build();
}

}  // namespace hearth

template <>
struct std::hash<hearth::Key> {
    std::size_t operator()(const hearth::Key& key) const noexcept { return key.hash(); }
};

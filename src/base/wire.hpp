#pragma once

#include "hearth/bytes.hpp"

#include <bit>
#include <concepts>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace hearth::base {

// Little-endian integers and length-prefixed bytes, appended to a string.
class WireWriter {
public:
    template <std::integral T>
    void number(T value)
    {
        auto bits = static_cast<std::make_unsigned_t<T>>(value);
        char bytes[sizeof(T)];
        for (char& byte : bytes) {
            byte = static_cast<char>(bits & 0xFFU);
            if constexpr (sizeof(T) > 1)
                bits = static_cast<std::make_unsigned_t<T>>(bits >> 8U);
        }
        m_out.append(bytes, sizeof bytes);
    }
    void raw(std::string_view text) { m_out.append(text); }
    void raw(ByteView bytes) { m_out.append(as_text(bytes)); }
    template <std::unsigned_integral Length>
    void prefixed(std::string_view text)
    {
        number(static_cast<Length>(text.size()));
        raw(text);
    }

    std::size_t size() const { return m_out.size(); }
    std::string& out() { return m_out; }
    ByteView view() const { return as_bytes(m_out); }

private:
    std::string m_out;
};

// Reads what WireWriter wrote. Reading past the end gives zeros and sets failed(): check once, at the end, before
// anything read is used.
class WireReader {
public:
    explicit WireReader(ByteView bytes) : m_rest(bytes) {}

    template <std::integral T>
    T number()
    {
        const ByteView bytes = raw(sizeof(T));
        std::make_unsigned_t<T> value = 0;
        for (std::size_t i = bytes.size(); i > 0; --i) {
            if constexpr (sizeof(T) > 1)
                value = static_cast<std::make_unsigned_t<T>>(value << 8U);
            value =
                static_cast<std::make_unsigned_t<T>>(value | std::to_integer<std::make_unsigned_t<T>>(bytes[i - 1]));
        }
        return static_cast<T>(value);
    }
    ByteView raw(std::uint64_t size)
    {
        if (size > m_rest.size()) {
            m_failed = true;
            m_rest = {};
            return {};
        }
        const ByteView taken = m_rest.first(size);
        m_rest = m_rest.subspan(size);
        return taken;
    }
    template <std::unsigned_integral Length>
    std::string_view prefixed()
    {
        return as_text(raw(number<Length>()));
    }

    bool failed() const { return m_failed; }
    bool at_end() const { return m_rest.empty(); }
    std::size_t rest() const { return m_rest.size(); }

private:
    ByteView m_rest;
    bool m_failed = false;
};

}  // namespace hearth::base

#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

// Small functions for text. They know ASCII only: no locale changes what they do.

namespace hearth::base {

constexpr bool is_blank(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

constexpr bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

constexpr bool is_letter_or_digit(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c);
}

// Without blanks at its ends.
std::string_view trimmed(std::string_view text, std::string_view blanks = " \t\n\v\f\r");

// Takes the text before the separator, and the separator, off `text`; all of it if there is no separator.
std::string_view take_until(char separator, std::string_view& text);

// The words between blanks.
std::vector<std::string_view> words_of(std::string_view text);

// The number that the whole text is; none if it is more or less than a number, or the number is too large.
template <class Number>
std::optional<Number> parse_number(std::string_view text)
{
    Number number{};
    const char* const end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, number);
    return error == std::errc{} && stop == end ? std::optional(number) : std::nullopt;
}

// 1, on, yes or true; 0, off, no or false; in letters of either case.
std::optional<bool> parse_bool(std::string_view text);

// parse_size() for settings. From 1 MiB on, a number without a unit is one of bytes, as it always was: nobody means
// another unit by it. A smaller one is no size, since a forgotten unit would empty the cache.
std::optional<std::uint64_t> parse_size_setting(std::string_view text);

// The text cut to a sane length, with '?' for what is not printable: for quoting strangers in our messages.
std::string printable(std::string_view text);

// "a, b and c".
std::string listed(std::span<const std::string_view> words, std::string_view last = "and");

// The known word that was probably meant: at most two letters are wrong, missing, too many or swapped. Empty: none.
std::string_view closest(std::string_view word, std::span<const std::string_view> known);

}  // namespace hearth::base

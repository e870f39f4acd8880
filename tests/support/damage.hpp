#pragma once

#include <cstddef>
#include <gtest/gtest.h>
#include <string>

// Every single damage of a kind that bytes can suffer. What is made of it asserts; the first that fails ends it.

namespace hearth::test {

inline std::string with_flipped_bit(std::string bytes, std::size_t bit)
{
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << (bit % 8)));
    return bytes;
}

template <class Try>
void for_every_flipped_bit(const std::string& whole, Try&& try_damaged)
{
    for (std::size_t bit = 0; bit < whole.size() * 8; ++bit) {
        try_damaged(with_flipped_bit(whole, bit), bit);
        ASSERT_FALSE(testing::Test::HasFatalFailure()) << "bit " << bit;
    }
}

// At every length but the whole one.
template <class Try>
void for_every_cut(const std::string& whole, Try&& try_cut)
{
    for (std::size_t length = 0; length < whole.size(); ++length) {
        try_cut(whole.substr(0, length), length);
        ASSERT_FALSE(testing::Test::HasFatalFailure()) << "cut to " << length;
    }
}

}  // namespace hearth::test

#pragma once

#include "hearth/bytes.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

// A fuzzer is one file that defines this function: it hands the bytes to a decoder and aborts when something that must
// hold does not. driver.cpp runs it over a corpus and mutations of it; libFuzzer can run it too (HEARTH_LIBFUZZER=ON).
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace hearth::fuzz {

inline void require(bool holds, const char* what)
{
    if (holds)
        return;
    std::fprintf(stderr, "This does not hold: %s\n", what);
    std::abort();
}

inline std::string_view text_of(const std::uint8_t* data, std::size_t size)
{
    return {reinterpret_cast<const char*>(data), size};
}

}  // namespace hearth::fuzz

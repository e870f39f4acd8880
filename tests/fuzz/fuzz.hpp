#pragma once

#include "hearth/bytes.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <string_view>
#include <vector>

// Fuzzers add themselves to the program's: the function of one hands bytes to a decoder, and aborts where something
// does not hold that must. driver.cpp runs them over a corpus and mutations of it, libfuzzer.cpp lets libFuzzer do it.

namespace hearth::fuzz {

struct Fuzzer {
    const char* name;
    std::uint64_t mutations;  // so many take a few seconds with an optimised build
    void (*try_input)(std::string_view input);
};

inline std::vector<Fuzzer>& fuzzers()
{
    static std::vector<Fuzzer> s_all;
    return s_all;
}

// Null: there is none.
inline const Fuzzer* fuzzer_named(std::string_view name)
{
    for (const Fuzzer& fuzzer : fuzzers())
        if (fuzzer.name == name)
            return &fuzzer;
    return nullptr;
}

class Added {
public:
    Added(std::initializer_list<Fuzzer> some) { fuzzers().insert(fuzzers().end(), some); }
};

inline void require(bool holds, const char* what)
{
    if (holds)
        return;
    std::fprintf(stderr, "This does not hold: %s\n", what);
    std::abort();
}

inline bool is_printable(std::string_view text)
{
    return std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c <= '~'; });
}

// Of letters, digits and these.
inline bool is_word(std::string_view text, std::string_view also = "")
{
    return std::all_of(text.begin(), text.end(), [also](char c) {
        return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
               also.find(c) != std::string_view::npos;
    });
}

// Of an object, as every store on a server takes it.
inline bool is_name(std::string_view text)
{
    return !text.empty() && text.size() <= 128 && is_word(text, "-_.");
}

}  // namespace hearth::fuzz

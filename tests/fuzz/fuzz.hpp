#pragma once

#include "hearth/bytes.hpp"

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <vector>

// A fuzzer is one file that adds itself to the program's: its function hands bytes to a decoder, and aborts where
// something does not hold that must. driver.cpp runs them over a corpus and mutations of it, libfuzzer.cpp lets
// libFuzzer do it.

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
    explicit Added(Fuzzer fuzzer) { fuzzers().push_back(fuzzer); }
};

inline void require(bool holds, const char* what)
{
    if (holds)
        return;
    std::fprintf(stderr, "This does not hold: %s\n", what);
    std::abort();
}

}  // namespace hearth::fuzz

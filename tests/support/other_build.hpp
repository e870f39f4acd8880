#pragma once

#include "support/scratch_directory.hpp"

#include <filesystem>
#include <string>

namespace hearth::test {

// Where the twenty bytes of a library's build-id are; npos if it has none of that size.
inline std::size_t place_of_build_id(const std::string& library)
{
    const std::size_t note = library.find(std::string("\x14\0\0\0\x03\0\0\0GNU\0", 12));
    return note == std::string::npos ? note : note + 12;
}

// The library as another build of it: the same code with another build-id. Empty if it has none.
inline std::string other_build_of(std::string library)
{
    const std::size_t id = place_of_build_id(library);
    if (id == std::string::npos)
        return {};
    library[id] ^= 1;
    return library;
}

}  // namespace hearth::test

#pragma once

#include "base/error.hpp"

#include <cstdint>
#include <string_view>

namespace hearth::policy {

// By how much a limit would be passed; 0 is no limit.
inline std::uint64_t excess(std::uint64_t wanted, std::uint64_t most)
{
    return most != 0 && wanted > most ? wanted - most : 0;
}

// What a tier says of an entry that Policy::outweighs() refused.
inline Error outweighed(std::string_view tier, std::uint64_t bytes)
{
    return error(Code::no_space,
                 "The policy of tier \"{}\" did not admit an entry of {} bytes: those that would have to go for it are "
                 "worth more. Raise the tier's capacity to keep them all.",
                 tier, bytes);
}

}  // namespace hearth::policy

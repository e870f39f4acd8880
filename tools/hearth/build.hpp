#pragma once

#include "commands.hpp"
#include "hearth/cache.hpp"

#include <cstdint>
#include <string>

namespace hearth::cli {

// What is built into: this machine's cache, or a scratch one that becomes a bundle.
enum class Into : std::uint8_t { cache, bundle };

// A cache to build in. `over`: a bundle whose entries need not be built again; `signed_by`: the public key that must
// have signed it.
Result<Cache> open_to_build(const Globals& globals, Into into, const std::string& over,
                            const std::string& signed_by = {});

}  // namespace hearth::cli

#pragma once

#include "base/fork.hpp"
#include "remote/remote_store.hpp"

#include <cstdint>
#include <string>

namespace hearth::remotes {

// The symbol that a store's library exports. Its number changes with RemoteStore or StoreOptions.
inline constexpr const char* k_open_symbol = "hearth_open_store_5";
// `registry`: base::fork_registry() of the library that loads it.
using OpenSymbol = void(const StoreOptions& options, void* registry, Result<std::unique_ptr<RemoteStore>>& opened);

// Every store has two libraries. What one side allocates the other frees, so both must use the same operator new. In a
// program that is the program's, which may have its own. A drop-in library has the C++ library inside, and so must the
// store that it loads.
enum class Stores : std::uint8_t { of_programs, of_dropins };
// Called before the first store is opened; without it those of programs are used.
void choose_stores(Stores which) noexcept;

// Opens a store of the kind that the address names. Its library is looked for beside our own, then where the system
// looks; an Error says what is missing and how to get it.
Result<std::unique_ptr<RemoteStore>> open_store(const StoreOptions& options);

}  // namespace hearth::remotes

// In the one source file of a store's library that defines what opens it. Weak: a test may be linked with several.
#define HEARTH_STORE_LIBRARY(function)                                                                                 \
    extern "C" __attribute__((visibility("default"), weak)) void hearth_open_store_5(                                  \
        const hearth::remotes::StoreOptions& options, void* registry,                                                  \
        hearth::Result<std::unique_ptr<hearth::remotes::RemoteStore>>& opened)                                         \
    {                                                                                                                  \
        hearth::base::use_fork_registry(registry);                                                                     \
        opened = function(options);                                                                                    \
    }

#pragma once

#include "hearth/api.hpp"
#include "hearth/key.hpp"
#include "hearth/lookup.hpp"

namespace hearth {

class Cache;

// For compilers: what a tier gave is an entry, but no result of the question that it was asked. Counted there as
// corrupt, and logged, once.
HEARTH_API void refuse(Cache& cache, const Lookup& found, const Key& key);

// For compilers: what this machine has found out about its own files, an EntryKind::derived entry. Like Cache::peek(),
// but what a bundle, an archive or a server has brought is Miss::untrusted, whatever its key: nobody else can know it.
HEARTH_API Lookup peek_fact(Cache& cache, const Key& key);

}  // namespace hearth

#pragma once

#include "hearth/cache.hpp"
#include "hearth/compiled.hpp"
#include "run_log/run_log.hpp"

namespace hearth::proxy {

// This process's cache, opened when it is first used. Null if it cannot be opened: then everything goes to the real
// library. With HEARTH_DISABLE it is a cache that holds nothing.
Cache* cache();

// Once something was compiled, and is sent. That has to go out before OpenSSL is taken down, which a store uses: what
// is registered last comes first when the program ends, and by then the stores have been asked.
void flush_at_exit() noexcept;

// Whether this process may compile nothing (HEARTH_FORBID_COMPILE), with a cache or without.
bool making_is_forbidden();

using run_log::Event;
using run_log::event_of;
using run_log::is_noting;
using run_log::note;

}  // namespace hearth::proxy

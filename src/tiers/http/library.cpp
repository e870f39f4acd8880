#include "remote/store_library.hpp"
#include "tiers/http/http_store.hpp"

// Apart, so that a program that is linked with the store itself does not get this function, which other stores have
// too.
HEARTH_STORE_LIBRARY(hearth::tiers::open_http_store)

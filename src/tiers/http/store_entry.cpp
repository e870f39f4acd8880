#include "remote/store_library.hpp"
#include "tiers/http/http_store.hpp"

HEARTH_STORE_LIBRARY(hearth::tiers::open_http_store)

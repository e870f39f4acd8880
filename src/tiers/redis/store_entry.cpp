#include "remote/store_library.hpp"
#include "tiers/redis/redis_store.hpp"

HEARTH_STORE_LIBRARY(hearth::tiers::open_redis_store)

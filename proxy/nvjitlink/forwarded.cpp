#include "nvjitlink/functions.hpp"

#define HEARTH_FORWARDED(X) HEARTH_JITLINK_FORWARDED(X)
#define HEARTH_FORWARDED_FAILURE 6  // NVJITLINK_ERROR_INTERNAL

#include "forward.hpp"

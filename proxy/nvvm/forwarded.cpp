#include "nvvm/functions.hpp"

#define HEARTH_FORWARDED(X) HEARTH_NVVM_FORWARDED(X)
#define HEARTH_FORWARDED_FAILURE 0  // there is no such function; concurrent calls are not possible anyway

#include "forward.hpp"

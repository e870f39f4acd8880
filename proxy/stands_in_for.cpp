// The one source that differs between drop-ins of one kind: their build says which library each stands in for.

#include "real.hpp"

namespace hearth::proxy {

const char* const k_soname = HEARTH_PROXY_SONAME;
const char* const k_real_variable = HEARTH_PROXY_VARIABLE;

}  // namespace hearth::proxy

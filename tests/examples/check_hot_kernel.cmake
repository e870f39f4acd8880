# Two processes, one cache: the first measures, the second starts with what it has found.
include("${CMAKE_CURRENT_LIST_DIR}/expect.cmake")
file(REMOVE_RECURSE "${SCRATCH}")
set(ENV{HEARTH_DIR} "${SCRATCH}/cache")
expect(0 "^[^\n]*not settled yet[^\n]*\n")
expect(0 "^[^\n]*\" runs[^\n]*\n")

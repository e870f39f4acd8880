# The second process has what the first one compiled. On a machine with a GPU both launch it.
include("${CMAKE_CURRENT_LIST_DIR}/expect.cmake")
file(REMOVE_RECURSE "${SCRATCH}")
set(ENV{HEARTH_DIR} "${SCRATCH}")
expect(0 "the cache has compiled it")
expect(0 "the cache had it")

# Runs the incremental build twice, each time in a process of its own: exactly what was edited is compiled, and the second
# finds everything on disk.
include("${CMAKE_CURRENT_LIST_DIR}/expect.cmake")
file(REMOVE_RECURSE "${SCRATCH}")
set(arguments "${SCRATCH}" host)
#           modules compiled vram disk
expect(0 "cold +200 +200 +0 +0 " "a body edited +200 +1 +199 +0 " "an interface edited +200 +3 +197 +0 "
  "200 modules are under lease")
expect(0 "fresh process +200 +0 +0 +200 ")
file(WRITE "${SCRATCH}/sources/part_007.eph" "export salt = y\n")
expect(1 "part_007.eph:1: There is nothing named y here\\.")

# The device keeps to its budget, what does not fit is spilled and comes back when it is used, and nothing is lost.
include("${CMAKE_CURRENT_LIST_DIR}/expect.cmake")
expect(0 "load layer 4\n  layer 0 device -> host\n" "layer 0 host -> device\nuse  layer 0 on the device\n"
  "device: 8 of 8 MiB, 2 buffers\nhost  : 32 of 32 MiB, 8 buffers\n" " 0 evictions\nEvery buffer had what was written")

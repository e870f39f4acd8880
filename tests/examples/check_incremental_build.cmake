# Runs the incremental build twice, each time in a process of its own: exactly what was edited is compiled, and the second
# finds everything on disk.
file(REMOVE_RECURSE "${SCRATCH}")
function(expect wanted)
  execute_process(COMMAND "${DEMO}" "${SCRATCH}" host RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
  foreach(pattern IN LISTS ARGN)
    if(NOT status EQUAL wanted OR NOT output MATCHES "${pattern}")
      message(SEND_ERROR "expected status ${wanted} and \"${pattern}\", got ${status} and\n${output}")
    endif()
  endforeach()
endfunction()
#           modules compiled vram disk
expect(0 "cold +200 +200 +0 +0 " "a body edited +200 +1 +199 +0 " "an interface edited +200 +3 +197 +0 "
  "200 modules are under lease")
expect(0 "fresh process +200 +0 +0 +200 ")
file(WRITE "${SCRATCH}/sources/part_007.eph" "export salt = y\n")
expect(1 "part_007.eph:1: There is nothing named y here\\.")

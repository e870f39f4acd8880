# cmake -D DEMO=... -D SCRATCH=... -P check_incremental_build.cmake
cmake_minimum_required(VERSION 3.25)
file(REMOVE_RECURSE "${SCRATCH}")

# Runs it and checks its exit status, and that what it says, on either stream, matches.
function(expect wanted pattern)
  execute_process(COMMAND "${DEMO}" ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT status EQUAL wanted OR NOT output MATCHES "${pattern}")
    message(SEND_ERROR "${ARGN}: expected status ${wanted} and \"${pattern}\", got ${status} and ${output}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

expect(0 "\"build\":\"fresh process\"" --modules 45 --backend host --json --directory "${SCRATCH}/work")
foreach(row
    "\"build\":\"no cache\",\"modules\":45,\"compiled\":45,"
    "\"build\":\"cold\",\"modules\":45,\"compiled\":45,\"from_vram\":0,\"from_disk\":0,"
    "\"build\":\"a body edited\",\"modules\":45,\"compiled\":1,\"from_vram\":44,\"from_disk\":0,"
    "\"build\":\"a signature edited\",\"modules\":45,\"compiled\":[2-9],"
    "\"build\":\"fresh process\",\"modules\":45,\"compiled\":0,\"from_vram\":0,\"from_disk\":45,")
  if(NOT output MATCHES "${row}")
    message(SEND_ERROR "no row ${row} in ${output}")
  endif()
endforeach()

file(READ "${SCRATCH}/work/sources/part_007.eph" source)
file(WRITE "${SCRATCH}/work/sources/part_007.eph" "// nothing but a comment\n${source}")
expect(0 "fresh process +45 +1 +0 +44 " --again --directory "${SCRATCH}/work" --backend host)
file(WRITE "${SCRATCH}/work/sources/part_007.eph" "${source}")
expect(0 "fresh process +45 +0 +0 +45 " --again --directory "${SCRATCH}/work" --backend host)
file(WRITE "${SCRATCH}/work/sources/part_007.eph" "export fn scale(x: int) -> float { return y; }\n")
expect(1 "part_007.eph:1:43: error: There is no variable \"y\" here\\." --again --directory "${SCRATCH}/work")

expect(2 "is not empty" --directory "${SCRATCH}/work")
expect(2 "--modules takes a number from 2 to 10000, not \"1\"" --modules 1)
expect(2 "\"--fast\" is no option" --fast)
expect(0 "Examples:" --help)

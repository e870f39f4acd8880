# cmake -D DEMO=... -D SCRATCH=... -P check_compile_demo.cmake
cmake_minimum_required(VERSION 3.25)
file(REMOVE_RECURSE "${SCRATCH}")
set(folder "${SCRATCH}/sources")
file(WRITE "${folder}/main.cpp" "#include \"near.hpp\"\n#if __has_include(\"maybe.hpp\")\n#include \"maybe.hpp\"\n#endif\nint f() { return NEAR; }\n")
file(WRITE "${folder}/near.hpp" "#include \"sub/far.hpp\"\n#define NEAR FAR\n")
file(WRITE "${folder}/sub/far.hpp" "#define FAR 41\n")

# Compiles in a fresh process and checks which tier answered, and that the result holds what it has to.
function(expect tier wanted when)
  execute_process(COMMAND "${DEMO}" "${SCRATCH}/cache" "${SCRATCH}/output" "${folder}/main.cpp"
    RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT status EQUAL 0 OR NOT output MATCHES "bytes, ${tier}\n")
    message(SEND_ERROR "${when}: expected an answer from \"${tier}\", got status ${status} and ${output}")
  endif()
  file(GLOB results "${SCRATCH}/output/main.cpp.*")
  file(READ "${results}" text)
  if(NOT text MATCHES "[^0-9]${wanted}[^0-9]")
    message(SEND_ERROR "${when}: ${wanted} is not in the result:\n${text}")
  endif()
endfunction()

expect(made 41 "an empty cache")
expect(disk 41 "nothing changed")

file(WRITE "${folder}/sub/far.hpp" "#define FAR 42\n")
expect(made 42 "a header of a header was edited")
expect(disk 42 "nothing changed since")

file(WRITE "${folder}/sub/far.hpp" "#define FAR 41\n")
expect(disk 41 "the edit was taken back")

file(WRITE "${folder}/unrelated.hpp" "#define FAR 43\n")
expect(disk 41 "a file nobody includes appeared")

file(WRITE "${folder}/sub/sub/far.hpp" "#define FAR 44\n")
expect(disk 41 "a header of that name appeared where it is not looked for")

file(WRITE "${folder}/maybe.hpp" "#undef NEAR\n#define NEAR 45\n")
expect(made 45 "a header that was asked for and not there appeared")

file(WRITE "${folder}/main.cpp" "int f() { return 46; }\n")
expect(made 46 "the source was edited")

file(WRITE "${folder}/main.cpp" "#include \"near.hpp\"\nint f() { return NEAR }\n")
execute_process(COMMAND "${DEMO}" "${SCRATCH}/cache" "${SCRATCH}/output" "${folder}/main.cpp"
  RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
if(status EQUAL 0 OR NOT output MATCHES "error: expected ';'|error: expected .;.")
  message(SEND_ERROR "a source with an error: got status ${status} and ${output}")
endif()

# cmake -D GIT=... -D SOURCE=... -D OUTPUT=... -P HearthCommit.cmake
# Writes the source that holds the commit of SOURCE, or "unknown": outside git, or inside another project's repository.
cmake_minimum_required(VERSION 3.25)
set(commit unknown)
if(GIT)
  execute_process(COMMAND "${GIT}" rev-parse --show-toplevel --short=12 HEAD WORKING_DIRECTORY "${SOURCE}"
    RESULT_VARIABLE status OUTPUT_VARIABLE told ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE)
  file(REAL_PATH "${SOURCE}" top)
  if(status EQUAL 0 AND told MATCHES "^(.*)\n([0-9a-f]+)$" AND CMAKE_MATCH_1 STREQUAL top)
    set(commit "${CMAKE_MATCH_2}")
  endif()
endif()
file(WRITE "${OUTPUT}" "#include \"terminal/commit.hpp\"\n\nnamespace hearth::cli {\n\n"
  "const char* const k_commit = \"${commit}\";\n\n}  // namespace hearth::cli\n")

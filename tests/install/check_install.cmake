# cmake -D STEP=... -D BUILD=... -D SCRATCH=... -D CXX=... -D PKG_CONFIG=... -D LIBDIR=... -P check_install.cmake
cmake_minimum_required(VERSION 3.25)
set(prefix "${SCRATCH}/moved")

function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE errors
    OUTPUT_STRIP_TRAILING_WHITESPACE)
  if(NOT status EQUAL 0)
    list(JOIN ARGN " " command)
    message(FATAL_ERROR "${command}\nended with ${status}\n${output}\n${errors}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

# The first run compiles its entry; a second process finds it on disk.
function(expect_consumer_works program)
  file(REMOVE_RECURSE "${program}-cache")
  foreach(from "a compile" disk)
    run("${program}" "${program}-cache")
    if(NOT output STREQUAL "compiled, from ${from}")
      message(FATAL_ERROR "The consumer said \"${output}\" where it should say \"compiled, from ${from}\"")
    endif()
  endforeach()
endfunction()

if(STEP STREQUAL "install")
  file(REMOVE_RECURSE "${SCRATCH}")
  run(${CMAKE_COMMAND} --install "${BUILD}" --prefix "${SCRATCH}/installed")
  # Consumers meet the copy at another place than it was installed to: a path that stayed behind would not be found.
  file(RENAME "${SCRATCH}/installed" "${prefix}")
elseif(STEP STREQUAL "find_package")
  run(${CMAKE_COMMAND} -S "${CMAKE_CURRENT_LIST_DIR}/consumer" -B "${SCRATCH}/consumer" -G Ninja
    "-DCMAKE_CXX_COMPILER=${CXX}" "-DCMAKE_PREFIX_PATH=${prefix}" -DCMAKE_FIND_USE_PACKAGE_REGISTRY=OFF)
  run(${CMAKE_COMMAND} --build "${SCRATCH}/consumer")
  expect_consumer_works("${SCRATCH}/consumer/consumer")
elseif(STEP STREQUAL "pkg_config")
  run(${CMAKE_COMMAND} -E env "PKG_CONFIG_PATH=${prefix}/${LIBDIR}/pkgconfig" "${PKG_CONFIG}" --cflags --libs hearth)
  separate_arguments(flags UNIX_COMMAND "${output}")
  run("${CXX}" -std=c++20 "${CMAKE_CURRENT_LIST_DIR}/consumer/main.cpp" -o "${SCRATCH}/consumer_pkg_config" ${flags}
    "-Wl,-rpath,${prefix}/${LIBDIR}")
  expect_consumer_works("${SCRATCH}/consumer_pkg_config")
elseif(STEP STREQUAL "command")
  run("${prefix}/${BINDIR}/hearth" --version)
else()
  message(FATAL_ERROR "There is no step \"${STEP}\"")
endif()

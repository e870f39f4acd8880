# hearth_test(disk_tier_test
#   SOURCES disk_tier_test.cpp          relative to the caller's folder
#   NEEDS hearth_tool rapidcheck        libraries are linked, programs are built first; one that is missing leaves the
#                                       test out, and the configuration says so
#   DEFINITIONS NAME="value"            compile definitions
#   LABELS stress                       for ctest -L; "unit" if none is given
#   TOGETHER                            its cases run in one process, one ctest test: they share a slow start
#   FOREIGN_LEAKS                       it loads drivers that leak and print: no search for leaks
#   NOT_UNDER thread                    sanitizers that have nothing to find in it: address, thread
#   SECONDS 30                          what it takes: long ones start first, so that none is left over at the end
#   TIMEOUT 300)                        seconds until it is ended; 120 if none is given
#
# Every case is a ctest test of its own, named FOLDER.Suite.case: tiers/disk.DiskTier.evicting_from_memory_demotes_to_disk.
# With a sanitizer, starting and ending a program costs more than most cases, so there each program is one test.
include(GoogleTest)
find_package(GTest 1.11 QUIET)
find_package(rapidcheck QUIET)

# A timeout is meant to end a hang, not to time a test. With a sanitizer each program has ten minutes.
set(HEARTH_TEST_TIMEOUT_FACTOR 1 CACHE STRING "What test timeouts are multiplied by")
set(sanitized_timeout 600)

# LLVM's linker takes a third of the time. What ships is linked by the system's.
include(CheckLinkerFlag)
check_linker_flag(CXX -fuse-ld=lld HEARTH_HAVE_LLD)
set(HEARTH_TEST_LINKER $<$<BOOL:${HEARTH_HAVE_LLD}>:-fuse-ld=lld>)

# `make test` builds this: every test program, and what they need.
add_custom_target(hearth_tests)

# What the tests share: tests/support/*.cpp, included as "support/NAME.hpp", and one precompiled header, which takes a
# fifth off the time of building them.
function(hearth_test_support)
  file(GLOB sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tests/support/*.cpp")
  add_library(hearth_test_support STATIC ${sources})
  # A check of every pointer that test code follows doubles that code, and the library is what is tested. A compiler
  # takes the last option that says something, and options of libraries come in the order in which those are linked.
  add_library(hearth_test_checks INTERFACE)
  if(HEARTH_SANITIZE MATCHES "undefined")
    target_compile_options(hearth_test_checks INTERFACE -fno-sanitize=null,alignment)
  endif()
  target_link_libraries(hearth_test_support PUBLIC hearth_internal GTest::gtest hearth_test_checks)
  target_include_directories(hearth_test_support PUBLIC "${PROJECT_SOURCE_DIR}/tests")
  target_precompile_headers(hearth_test_support PRIVATE <gtest/gtest.h> <hearth/hearth.hpp>)
  target_compile_options(hearth_test_support PRIVATE ${HEARTH_TEST_OPTIMISATION})
  # Random histories call this millions of times: compiled like the other tests it takes a third of their time.
  set_source_files_properties("${PROJECT_SOURCE_DIR}/tests/support/sample_entries.cpp"
    TARGET_DIRECTORY hearth_test_support
    PROPERTIES COMPILE_OPTIONS -O2 SKIP_UNITY_BUILD_INCLUSION ON SKIP_PRECOMPILE_HEADERS ON)
  # An object of its own, so that programs may bring a main() instead.
  set_source_files_properties("${PROJECT_SOURCE_DIR}/tests/support/test_main.cpp"
    TARGET_DIRECTORY hearth_test_support PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  # A precompiled header works only for sources with the same flags, and -fPIC is not -fPIE.
  set_target_properties(hearth_test_support PROPERTIES POSITION_INDEPENDENT_CODE OFF)
endfunction()

# In processes of this program AddressSanitizer looks for leaks (CMakePresets.json).
function(hearth_search_leaks name)
  file(WRITE "${PROJECT_BINARY_DIR}/leak_search/${name}" "detect_leaks=1\n")
endfunction()

function(hearth_test name)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "FOREIGN_LEAKS;TOGETHER" "NOT_UNDER;SECONDS;TIMEOUT" "SOURCES;NEEDS;DEFINITIONS;LABELS")
  if(ARG_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "hearth_test(${name}) does not know \"${ARG_UNPARSED_ARGUMENTS}\"")
  endif()
  if(ARG_NOT_UNDER AND HEARTH_SANITIZE MATCHES "${ARG_NOT_UNDER}")
    return()
  endif()
  if(NOT ARG_SOURCES)
    set(ARG_SOURCES "${name}.cpp")
  endif()
  if(NOT ARG_LABELS)
    set(ARG_LABELS unit)
  endif()
  if(HEARTH_SANITIZE)
    set(ARG_TIMEOUT ${sanitized_timeout})
  elseif(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 120)
  endif()
  if(NOT ARG_SECONDS)
    set(ARG_SECONDS 0)
  endif()
  math(EXPR timeout "${ARG_TIMEOUT} * ${HEARTH_TEST_TIMEOUT_FACTOR}")
  file(RELATIVE_PATH folder "${PROJECT_SOURCE_DIR}/tests" "${CMAKE_CURRENT_SOURCE_DIR}")

  foreach(need IN LISTS ARG_NEEDS)
    if(NOT TARGET ${need})
      message(STATUS "Test ${folder}/${name} is left out: ${need} not found")
      return()
    endif()
  endforeach()

  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE hearth_test_support)
  target_compile_definitions(${name} PRIVATE ${ARG_DEFINITIONS})
  target_compile_options(${name} PRIVATE ${HEARTH_TEST_OPTIMISATION})
  target_link_options(${name} PRIVATE ${HEARTH_TEST_LINKER})
  target_precompile_headers(${name} REUSE_FROM hearth_test_support)
  set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE OFF
    RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/tests/bin")
  foreach(need IN LISTS ARG_NEEDS)
    get_target_property(type ${need} TYPE)
    if(type MATCHES "LIBRARY$" AND NOT type STREQUAL "MODULE_LIBRARY")
      target_link_libraries(${name} PRIVATE ${need})
    else()
      add_dependencies(${name} ${need})
    endif()
  endforeach()
  add_dependencies(hearth_tests ${name})

  if(HEARTH_SANITIZE OR ARG_TOGETHER)
    add_test(NAME "${folder}.${name}" COMMAND ${name})
    set_tests_properties("${folder}.${name}" PROPERTIES TIMEOUT ${timeout} LABELS "${ARG_LABELS}" COST ${ARG_SECONDS})
    # Forked children start threads in some tests, which ThreadSanitizer takes for a mistake. In a forked child it takes
    # the parent's threads for some that were never joined.
    string(CONCAT tsan "TSAN_OPTIONS=die_after_fork=0:second_deadlock_stack=1:report_thread_leaks=0"
      ":suppressions=${PROJECT_SOURCE_DIR}/tests/tsan-suppressions.txt")
    # Some tests ask for more memory than there is, to see it refused. By default sanitizers end the process then.
    set_tests_properties("${folder}.${name}" PROPERTIES ENVIRONMENT
      "${tsan}:allocator_may_return_null=1;NODEVICE_SELECT=1")
    # The search for leaks takes four seconds at each exit on aarch64. So it is made in the test program, whose name the
    # preset looks up here, and not in the hundreds of processes that test programs start.
    if(ARG_FOREIGN_LEAKS)
      file(REMOVE "${PROJECT_BINARY_DIR}/leak_search/${name}")
    else()
      hearth_search_leaks(${name})
    endif()
    return()
  endif()
  # gtest_discover_tests passes PROPERTIES on as one flat list, so several labels become one word: "stress-gpu". What
  # ctest -L takes is a regular expression.
  string(JOIN "-" labels ${ARG_LABELS})
  # Mesa's Vulkan prints about a display that is not there, unless it is told not to look for one.
  gtest_discover_tests(${name} TEST_PREFIX "${folder}." DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 60
    PROPERTIES TIMEOUT ${timeout} LABELS "${labels}" COST ${ARG_SECONDS} ENVIRONMENT NODEVICE_SELECT=1)
endfunction()

# A test that is a command:
#
#   hearth_plain_test(docs.every_link_leads_somewhere COMMAND python3 check_links.py DIR LABELS project
#     ENVIRONMENT NAME=VALUE SECONDS 5 TIMEOUT 300)      as for hearth_test
#
# It says "skipped: ..." where it cannot run.
function(hearth_plain_test name)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "" "SECONDS;TIMEOUT;RESOURCE_LOCK" "COMMAND;ENVIRONMENT;LABELS")
  if(ARG_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "hearth_plain_test(${name}) does not know \"${ARG_UNPARSED_ARGUMENTS}\"")
  endif()
  if(HEARTH_SANITIZE)
    set(ARG_TIMEOUT ${sanitized_timeout})
  elseif(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 120)
  endif()
  if(NOT ARG_SECONDS)
    set(ARG_SECONDS 0)
  endif()
  math(EXPR timeout "${ARG_TIMEOUT} * ${HEARTH_TEST_TIMEOUT_FACTOR}")
  add_test(NAME "${name}" COMMAND ${ARG_COMMAND})
  set_tests_properties("${name}" PROPERTIES TIMEOUT ${timeout} LABELS "${ARG_LABELS}" COST ${ARG_SECONDS}
    ENVIRONMENT "${ARG_ENVIRONMENT}" RESOURCE_LOCK "${ARG_RESOURCE_LOCK}" SKIP_REGULAR_EXPRESSION "skipped: ")
endfunction()

# A test that is a Python program: tests/support/run_python_test.py gives it a temporary directory of its own.
function(hearth_python_test name script)
  hearth_plain_test(${name} COMMAND ${Python3_EXECUTABLE} -B "${PROJECT_SOURCE_DIR}/tests/support/run_python_test.py"
    "${script}" ${ARGN})
endfunction()

# What nearly every source includes, parsed by the compiler once. It holds the standard library, fmt and base, which
# every layer may use. The preset `debug` does without it, and so finds a missing include.
function(hearth_precompiled target)
  if(NOT HEARTH_UNITY)
    return()
  endif()
  if(NOT TARGET hearth_precompiled)
    file(WRITE "${PROJECT_BINARY_DIR}/layers/precompiled.cpp" "")
    add_library(hearth_precompiled OBJECT "${PROJECT_BINARY_DIR}/layers/precompiled.cpp")
    target_include_directories(hearth_precompiled PRIVATE "${PROJECT_SOURCE_DIR}/include" "${PROJECT_SOURCE_DIR}/src")
    target_link_libraries(hearth_precompiled PRIVATE hearth_options fmt::fmt)
    target_precompile_headers(hearth_precompiled PRIVATE <fmt/format.h> <algorithm> <array> <atomic> <chrono>
      <filesystem> <functional> <map> <memory> <mutex> <optional> <span> <string> <string_view> <unordered_map> <vector>
      <hearth/cache.hpp>)
  endif()
  target_precompile_headers(${target} REUSE_FROM hearth_precompiled)
endfunction()

# One target per folder. A layer's headers are found only through the target of that layer: each gets its own include
# root with only a link to its folder. So an include of a layer that was not linked does not compile.
#
#   hearth_layer(tiers/disk DEPENDS format SYSTEM_DEPENDS PkgConfig::zstd)          APART: not in the library itself
function(hearth_layer folder)
  cmake_parse_arguments(ARG "APART" "" "DEPENDS;SYSTEM_DEPENDS;SOURCES" ${ARGN})
  string(REPLACE "/" "_" name "${folder}")
  set(root "${PROJECT_BINARY_DIR}/layers/${name}")
  get_filename_component(parent "${root}/${folder}" DIRECTORY)
  file(MAKE_DIRECTORY "${parent}")
  file(CREATE_LINK "${PROJECT_SOURCE_DIR}/src/${folder}" "${root}/${folder}" SYMBOLIC)

  if(ARG_SOURCES)
    set(sources ${ARG_SOURCES})
  else()
    file(GLOB sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/${folder}/*.cpp"
      "${PROJECT_SOURCE_DIR}/src/${folder}/*/*.cpp")
    list(FILTER sources EXCLUDE REGEX "/store_entry\\.cpp$")
  endif()
  add_library(hearth_${name} OBJECT ${sources})
  target_include_directories(hearth_${name} PUBLIC "${PROJECT_SOURCE_DIR}/include" "${root}")
  target_link_libraries(hearth_${name} PUBLIC hearth_options Threads::Threads fmt::fmt ${ARG_SYSTEM_DEPENDS})
  foreach(dependency IN LISTS ARG_DEPENDS)
    # Includes only: the objects are put together once, in the library.
    target_include_directories(hearth_${name} PUBLIC
      $<TARGET_PROPERTY:hearth_${dependency},INTERFACE_INCLUDE_DIRECTORIES>)
  endforeach()
  # Each drop-in library keeps only what it uses.
  target_compile_options(hearth_${name} PRIVATE -ffunction-sections -fdata-sections)
  hearth_precompiled(hearth_${name})
  if(NOT ARG_APART)
    set_property(GLOBAL APPEND PROPERTY HEARTH_LAYERS hearth_${name})
  endif()
endfunction()

# A remote store: a library of its own, libhearth_NAME.so, which is loaded only if such a remote is configured. So
# programs without one do not load its libraries. It is left out, with a message, if a library is missing.
#
# Its store_entry.cpp has the function that opens it. Every store has a function of that name, so it goes only into the
# store's own library.
#
#   hearth_store(tiers/redis redis DEPENDS base remote NEEDS OpenSSL::SSL)
#
# KINDS names other kinds of servers that it serves too.
#
# Tests link hearth_NAME_store, which has the same objects.
function(hearth_store folder name)
  cmake_parse_arguments(ARG "" "" "DEPENDS;NEEDS;KINDS" ${ARGN})
  foreach(need IN LISTS ARG_NEEDS)
    if(NOT TARGET ${need})
      message(STATUS "Remotes of kind ${name} are left out: ${need} not found")
      return()
    endif()
  endforeach()
  hearth_layer(${folder} DEPENDS ${ARG_DEPENDS} SYSTEM_DEPENDS ${ARG_NEEDS} APART)
  string(REPLACE "/" "_" layer "hearth_${folder}")
  add_library(hearth_${name}_store STATIC $<TARGET_OBJECTS:${layer}>)
  target_include_directories(hearth_${name}_store PUBLIC $<TARGET_PROPERTY:${layer},INTERFACE_INCLUDE_DIRECTORIES>)
  target_link_libraries(hearth_${name}_store PUBLIC hearth_internal PRIVATE ${ARG_NEEDS})
  add_library(hearth_${name}_entry OBJECT "${PROJECT_SOURCE_DIR}/src/${folder}/store_entry.cpp")
  target_link_libraries(hearth_${name}_entry PRIVATE hearth_${name}_store)
  hearth_precompiled(hearth_${name}_entry)
  add_library(hearth_${name} MODULE $<TARGET_OBJECTS:${layer}> $<TARGET_OBJECTS:hearth_${name}_entry>)
  target_link_libraries(hearth_${name} PRIVATE hearth_internal ${ARG_NEEDS})
  # It has a name of its own, as Debian demands of what lies where programs look for libraries.
  target_link_options(hearth_${name} PRIVATE "LINKER:--version-script=${PROJECT_SOURCE_DIR}/src/store.map"
    "LINKER:-soname,libhearth_${name}.so")
  set_target_properties(hearth_${name} PROPERTIES LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}")
  set_property(GLOBAL APPEND PROPERTY HEARTH_STORES hearth_${name})
  set_property(GLOBAL APPEND PROPERTY HEARTH_SERVER_KINDS ${name} ${ARG_KINDS})
  # Building the library also builds the stores that it loads, so that they can be installed.
  add_dependencies(hearth hearth_${name})
endfunction()

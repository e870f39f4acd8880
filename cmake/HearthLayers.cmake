# One target a folder. A layer's headers are found only through the target of that layer: each gets an include root of
# its own that holds nothing but a link to its folder, so an include of a layer that was not linked does not compile.
#
#   hearth_layer(tiers/disk DEPENDS format SYSTEM_DEPENDS PkgConfig::zstd)
function(hearth_layer folder)
  cmake_parse_arguments(ARG "" "" "DEPENDS;SYSTEM_DEPENDS;SOURCES" ${ARGN})
  string(REPLACE "/" "_" name "${folder}")
  set(root "${PROJECT_BINARY_DIR}/layers/${name}")
  get_filename_component(parent "${root}/${folder}" DIRECTORY)
  file(MAKE_DIRECTORY "${parent}")
  file(CREATE_LINK "${PROJECT_SOURCE_DIR}/src/${folder}" "${root}/${folder}" SYMBOLIC)

  if(ARG_SOURCES)
    set(sources ${ARG_SOURCES})
  else()
    file(GLOB sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/${folder}/*.cpp")
  endif()
  add_library(hearth_${name} OBJECT ${sources})
  target_include_directories(hearth_${name} PUBLIC "${PROJECT_SOURCE_DIR}/include" "${root}")
  target_link_libraries(hearth_${name} PUBLIC hearth_options Threads::Threads ${ARG_SYSTEM_DEPENDS})
  foreach(dependency IN LISTS ARG_DEPENDS)
    # Includes only: the objects are put together once, in the library.
    target_include_directories(hearth_${name} PUBLIC
      $<TARGET_PROPERTY:hearth_${dependency},INTERFACE_INCLUDE_DIRECTORIES>)
  endforeach()
  set_property(GLOBAL APPEND PROPERTY HEARTH_LAYERS hearth_${name})
endfunction()

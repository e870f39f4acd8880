# cmake --install gives headers, library, command, find_package(hearth) and pkg-config. The prefix may be moved
# afterwards: nothing that is installed holds an absolute path.
include(CMakePackageConfigHelpers)
option(HEARTH_INSTALL_SYMBOLS "Install with the symbols that debuggers and profilers show, ten times as large" OFF)
if(NOT HEARTH_INSTALL_SYMBOLS)
  install(CODE "set(CMAKE_INSTALL_DO_STRIP 1)")
endif()
set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/hearth")

install(DIRECTORY include/hearth DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
install(FILES LICENSE README.md CHANGELOG.md DESTINATION "${CMAKE_INSTALL_DOCDIR}")
install(DIRECTORY docs DESTINATION "${CMAKE_INSTALL_DOCDIR}" FILES_MATCHING PATTERN "*.md")
# The component `runtime` is what the Python package takes along (pyproject.toml): what programs run with.
install(TARGETS hearth EXPORT hearth-targets LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}"
  COMPONENT runtime NAMELINK_COMPONENT development)
# Remote stores are beside the library, where it looks for them.
get_property(stores GLOBAL PROPERTY HEARTH_STORES)
if(stores)
  install(TARGETS ${stores} LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT runtime)
endif()
# The drop-in libraries, where `hearth run` looks for them.
get_property(dropins GLOBAL PROPERTY HEARTH_DROPINS)
if(dropins)
  install(TARGETS ${dropins} LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}/hearth" COMPONENT runtime)
endif()
install(EXPORT hearth-targets NAMESPACE hearth:: DESTINATION "${package_dir}")
if(TARGET hearth_tool)
  install(TARGETS hearth_tool RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}" COMPONENT runtime)
endif()

configure_package_config_file(cmake/hearth-config.cmake.in "${PROJECT_BINARY_DIR}/hearth-config.cmake"
  INSTALL_DESTINATION "${package_dir}" NO_SET_AND_CHECK_MACRO NO_CHECK_REQUIRED_COMPONENTS_MACRO)
write_basic_package_version_file("${PROJECT_BINARY_DIR}/hearth-config-version.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/hearth-config.cmake" "${PROJECT_BINARY_DIR}/hearth-config-version.cmake"
  DESTINATION "${package_dir}")

# pkg-config knows where the .pc file is; every other path is relative to it.
set(pc_dir "${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig")
file(RELATIVE_PATH pc_to_prefix "${pc_dir}" "${CMAKE_INSTALL_PREFIX}")
string(REGEX REPLACE "/$" "" pc_to_prefix "${pc_to_prefix}")
file(RELATIVE_PATH pc_libdir "${CMAKE_INSTALL_PREFIX}" "${CMAKE_INSTALL_FULL_LIBDIR}")
file(RELATIVE_PATH pc_includedir "${CMAKE_INSTALL_PREFIX}" "${CMAKE_INSTALL_FULL_INCLUDEDIR}")
configure_file(cmake/hearth.pc.in "${PROJECT_BINARY_DIR}/hearth.pc" @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/hearth.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")

# cmake --install gives headers, library, command, find_package(hearth) and pkg-config. The prefix may be moved
# afterwards: nothing that is installed holds an absolute path.
include(CMakePackageConfigHelpers)
option(HEARTH_INSTALL_SYMBOLS "Install with the symbols that debuggers and profilers show, ten times as large" OFF)
if(NOT HEARTH_INSTALL_SYMBOLS)
  install(CODE "set(CMAKE_INSTALL_DO_STRIP 1)")
endif()
set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/hearth")

# Components: `library` and `command` are what programs run with, and what the Python package takes along
# (pyproject.toml). With them `pages` are for people, and `development` is for compilers. Packages are made of these
# (HearthPackages.cmake).
install(DIRECTORY include/hearth DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" COMPONENT development)
install(FILES LICENSE README.md CHANGELOG.md DESTINATION "${CMAKE_INSTALL_DOCDIR}" COMPONENT pages)
install(DIRECTORY docs DESTINATION "${CMAKE_INSTALL_DOCDIR}" COMPONENT pages FILES_MATCHING PATTERN "*.md" PATTERN "*.png")
install(DIRECTORY examples DESTINATION "${CMAKE_INSTALL_DOCDIR}" COMPONENT development
  PATTERN CMakeLists.txt EXCLUDE)
install(TARGETS hearth EXPORT hearth-targets LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}"
  COMPONENT library NAMELINK_COMPONENT development)
# Remote stores are beside the library, where it looks for them.
get_property(stores GLOBAL PROPERTY HEARTH_STORES)
if(stores)
  install(TARGETS ${stores} LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT library)
endif()
# The drop-in libraries, where `hearth run` looks for them.
get_property(dropins GLOBAL PROPERTY HEARTH_DROPINS)
if(dropins)
  install(TARGETS ${dropins} LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}/hearth" COMPONENT command)
endif()
# The Python package, for `hearth run` to turn frameworks on; in a wheel the drop-ins are inside of it.
option(HEARTH_INSTALL_PYTHON "Install the Python package beside the drop-in libraries" ON)
if(dropins AND HEARTH_INSTALL_PYTHON)
  install(DIRECTORY python/hearth DESTINATION "${CMAKE_INSTALL_LIBDIR}/hearth/python" COMPONENT command
    PATTERN __pycache__ EXCLUDE)
endif()
install(EXPORT hearth-targets NAMESPACE hearth:: DESTINATION "${package_dir}" COMPONENT development)
if(TARGET hearth_tool)
  install(TARGETS hearth_tool RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}" COMPONENT command)
endif()

configure_package_config_file(cmake/hearth-config.cmake.in "${PROJECT_BINARY_DIR}/hearth-config.cmake"
  INSTALL_DESTINATION "${package_dir}" NO_SET_AND_CHECK_MACRO NO_CHECK_REQUIRED_COMPONENTS_MACRO)
write_basic_package_version_file("${PROJECT_BINARY_DIR}/hearth-config-version.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/hearth-config.cmake" "${PROJECT_BINARY_DIR}/hearth-config-version.cmake"
  DESTINATION "${package_dir}" COMPONENT development)

# pkg-config knows where the .pc file is; every other path is relative to it.
set(pc_dir "${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig")
file(RELATIVE_PATH pc_to_prefix "${pc_dir}" "${CMAKE_INSTALL_PREFIX}")
string(REGEX REPLACE "/$" "" pc_to_prefix "${pc_to_prefix}")
file(RELATIVE_PATH pc_libdir "${CMAKE_INSTALL_PREFIX}" "${CMAKE_INSTALL_FULL_LIBDIR}")
file(RELATIVE_PATH pc_includedir "${CMAKE_INSTALL_PREFIX}" "${CMAKE_INSTALL_FULL_INCLUDEDIR}")
configure_file(cmake/hearth.pc.in "${PROJECT_BINARY_DIR}/hearth.pc" @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/hearth.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig" COMPONENT development)

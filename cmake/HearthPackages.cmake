# Debian's packages, by CPack: scripts/build-package runs it. What they depend on is found out by dpkg-shlibdeps.
set(CPACK_VERBATIM_VARIABLES ON)
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_VENDOR Hearth)
set(CPACK_PACKAGE_VERSION "${PROJECT_VERSION}")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS "${PROJECT_BINARY_DIR}")
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_STRIP_FILES ON)  # what debuggers want is in a tarball of its own
set(CPACK_PRE_BUILD_SCRIPTS "${PROJECT_SOURCE_DIR}/cmake/HearthDebian.cmake")
# The folder of one package in what CPack stages, and that package's name.
set(soname "${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}")
set(CPACK_HEARTH_PACKAGES library=libhearth${soname} command=hearth development=libhearth-dev python=python3-hearth)

# For Debian's Python. Elsewhere the wheel is meant.
install(DIRECTORY python/hearth DESTINATION lib/python3/dist-packages COMPONENT python EXCLUDE_FROM_ALL
  PATTERN __pycache__ EXCLUDE)
set(CPACK_COMPONENTS_ALL library command pages development python)
set(CPACK_COMPONENTS_GROUPING ONE_PER_GROUP)
set(CPACK_COMPONENT_PAGES_GROUP command)
foreach(component library command development python)
  string(TOUPPER ${component} upper)
  set(CPACK_COMPONENT_${upper}_GROUP ${component})
  set(CPACK_COMPONENT_GROUP_${upper}_DESCRIPTION "${PROJECT_DESCRIPTION}")
endforeach()

# Those that belong together are of one version.
set(same "(= ${PROJECT_VERSION})")
set(CPACK_DEBIAN_LIBRARY_PACKAGE_NAME libhearth${soname})
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SECTION libs)
# What packages that are built with the library depend on; and the dynamic loader is told of a new one.
set(control "${PROJECT_BINARY_DIR}/debian")
file(WRITE "${control}/shlibs" "libhearth ${soname} libhearth${soname} (>= ${PROJECT_VERSION})\n")
file(WRITE "${control}/triggers" "activate-noawait ldconfig\n")
set(CPACK_DEBIAN_LIBRARY_PACKAGE_CONTROL_EXTRA "${control}/shlibs" "${control}/triggers")
# What Python has written beside its sources goes with them.
foreach(package command=hearth/python python=python3/dist-packages/hearth)
  string(REGEX MATCH "^(.*)=(.*)$" package "${package}")
  file(CONFIGURE OUTPUT "${control}/${CMAKE_MATCH_1}/prerm" CONTENT "#!/bin/sh
set -e
if [ -d /usr/lib/@CMAKE_MATCH_2@ ]; then
    find /usr/lib/@CMAKE_MATCH_2@ -name __pycache__ -prune -exec rm -rf {} +
fi
" @ONLY)
endforeach()
set(CPACK_DEBIAN_COMMAND_PACKAGE_CONTROL_EXTRA "${control}/command/prerm")
set(CPACK_DEBIAN_PYTHON_PACKAGE_CONTROL_EXTRA "${control}/python/prerm")
set(CPACK_DEBIAN_LIBRARY_DESCRIPTION "cache of compiled GPU kernels (library)
What GPU compilers produce is kept, in memory, on disk and on servers, and is
found again by everything that it was compiled from.

This package has the library that programs are linked with.")
set(CPACK_DEBIAN_COMMAND_PACKAGE_NAME hearth)
set(CPACK_DEBIAN_COMMAND_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_COMMAND_PACKAGE_DEPENDS "libhearth${soname} ${same}")
set(CPACK_DEBIAN_COMMAND_PACKAGE_RECOMMENDS python3)
set(CPACK_DEBIAN_COMMAND_DESCRIPTION "cache of compiled GPU kernels (command)
What programs compile that know nothing of it is answered from the cache
(hearth run). Other commands show, fill, carry and tidy the cache.

This package has the command, its manual pages and its documents.")
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME libhearth-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS "libhearth${soname} ${same}")
set(CPACK_DEBIAN_DEVELOPMENT_DESCRIPTION "cache of compiled GPU kernels (development files)
Headers for C++ and C, what find_package() and pkg-config read, and examples.")
set(CPACK_DEBIAN_PYTHON_PACKAGE_NAME python3-hearth)
set(CPACK_DEBIAN_PYTHON_PACKAGE_SECTION python)
set(CPACK_DEBIAN_PYTHON_PACKAGE_ARCHITECTURE all)
set(CPACK_DEBIAN_PYTHON_PACKAGE_DEPENDS "python3, libhearth${soname} (>= ${PROJECT_VERSION})")
set(CPACK_DEBIAN_PYTHON_PACKAGE_RECOMMENDS hearth)
set(CPACK_DEBIAN_PYTHON_DESCRIPTION "cache of compiled GPU kernels (Python module)
The cache and its compilers for Python, and the adapters of frameworks.")

# Whoever builds a package answers for it: DEBFULLNAME and DEBEMAIL, as Debian's tools have it, or the last commit.
set(maintainer "$ENV{DEBFULLNAME} <$ENV{DEBEMAIL}>")
if("$ENV{DEBEMAIL}" STREQUAL "" AND GIT_EXECUTABLE)
  execute_process(COMMAND "${GIT_EXECUTABLE}" log -1 "--format=%an <%ae>" WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}"
    OUTPUT_VARIABLE maintainer ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE)
endif()
set(CPACK_PACKAGE_CONTACT "${maintainer}")
include(CPack)

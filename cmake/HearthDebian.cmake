# CPack runs this on what it has staged, a folder for each package, before packages are made of it.
cmake_minimum_required(VERSION 3.25)

foreach(row IN LISTS CPACK_HEARTH_PACKAGES)
  string(REGEX MATCH "^(.*)=(.*)$" row "${row}")
  set(root "${CPACK_TEMPORARY_DIRECTORY}/${CMAKE_MATCH_1}/usr")
  set(package "${CMAKE_MATCH_2}")
  if(NOT IS_DIRECTORY "${root}")
    message(FATAL_ERROR "Nothing was staged for the package ${package} in ${root}")
  endif()
  # Debian wants both in every package.
  set(documents "${root}/share/doc/${package}")
  file(MAKE_DIRECTORY "${documents}")
  file(WRITE "${documents}/copyright" "Copyright (C) 2026 the authors of Hearth\n\nLicensed under the Apache License, \
Version 2.0. On Debian its text is in\n/usr/share/common-licenses/Apache-2.0.\n")
  file(REMOVE "${root}/share/doc/hearth/LICENSE")
  string(TIMESTAMP now "%a, %d %b %Y %H:%M:%S +0000" UTC)
  file(WRITE "${documents}/changelog" "hearth (${CPACK_PACKAGE_VERSION}) unstable; urgency=medium\n\n\
  * What has changed: /usr/share/doc/hearth/CHANGELOG.md.gz\n\n\
 -- ${CPACK_PACKAGE_CONTACT}  ${now}\n")
  file(GLOB pages "${root}/share/man/man1/*")
  file(GLOB changes "${root}/share/doc/hearth/CHANGELOG.md")
  execute_process(COMMAND gzip -9n "${documents}/changelog" ${pages} ${changes} COMMAND_ERROR_IS_FATAL ANY)
  # zsh of Debian does not look into site-functions below /usr.
  if(EXISTS "${root}/share/zsh/site-functions")
    file(RENAME "${root}/share/zsh/site-functions" "${root}/share/zsh/vendor-completions")
  endif()
endforeach()

# Program, library, headers, files for pkg-config and find_package, man pages, completion, licences. The folders
# are GNUInstallDirs' (CMAKE_INSTALL_LIBDIR and its like). What is installed finds its folders from where it
# lies, so a tree may be moved, and `cmake --install build --prefix DIR` may name another one than the configured.

# What a program with libregimen.a may need of others; --as-needed leaves out what it does not.
set(libraries ${YAML_LIBRARIES} ${JANSSON_LIBRARIES} ${PROTOBUFC_LIBRARIES} ${ZLIB_LIBRARIES} ${XXHASH_LIBRARIES}
    ${SENTENCEPIECE_LIBRARIES} ${SQLITE_LIBRARIES} ${MICROHTTPD_LIBRARIES} ${CURL_LIBRARIES} ${FREETYPE_LIBRARIES}
    unistring dnnl gomp stdc++ m)
list(TRANSFORM libraries PREPEND -l)
list(JOIN libraries " " RGM_LIBS_PRIVATE)
set(RGM_LIBS_CMAKE "${libraries}")

# A folder that was configured as an absolute path stays one.
function(rgm_pc_folder out folder)
  if(IS_ABSOLUTE ${folder})
    set(${out} ${folder} PARENT_SCOPE)
  else()
    set(${out} "\${prefix}/${folder}" PARENT_SCOPE)
  endif()
endfunction()
rgm_pc_folder(RGM_PC_LIBDIR ${CMAKE_INSTALL_LIBDIR})
rgm_pc_folder(RGM_PC_INCLUDEDIR ${CMAKE_INSTALL_INCLUDEDIR})
file(RELATIVE_PATH RGM_PC_PREFIX ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
string(REGEX REPLACE "/$" "" RGM_PC_PREFIX "${RGM_PC_PREFIX}")
configure_file(${PROJECT_SOURCE_DIR}/cmake/regimen.pc.in ${PROJECT_BINARY_DIR}/regimen.pc @ONLY)

include(CMakePackageConfigHelpers)
set(cmake_folder ${CMAKE_INSTALL_LIBDIR}/cmake/regimen)
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/regimenConfig.cmake.in
  ${PROJECT_BINARY_DIR}/regimenConfig.cmake INSTALL_DESTINATION ${cmake_folder}
  PATH_VARS CMAKE_INSTALL_LIBDIR CMAKE_INSTALL_INCLUDEDIR NO_SET_AND_CHECK_MACRO NO_CHECK_REQUIRED_COMPONENTS_MACRO)
# As docs/versions.md says: before 1.0 each 0.MINOR is an interface of its own.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/regimenConfigVersion.cmake COMPATIBILITY SameMinorVersion)

install(TARGETS regimen_cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(TARGETS regimen regimen_static LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
if(TARGET regimen_mpi)
  install(TARGETS regimen_mpi LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
endif()
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/regimen DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(FILES ${PROJECT_BINARY_DIR}/regimen.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
install(FILES ${PROJECT_BINARY_DIR}/regimenConfig.cmake ${PROJECT_BINARY_DIR}/regimenConfigVersion.cmake
        DESTINATION ${cmake_folder})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/docs/man/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man1
        FILES_MATCHING PATTERN "*.1")
install(FILES ${PROJECT_SOURCE_DIR}/src/cli/completion/regimen.bash RENAME regimen
        DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
install(FILES ${PROJECT_SOURCE_DIR}/src/cli/completion/regimen.zsh RENAME _regimen
        DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
install(FILES ${PROJECT_SOURCE_DIR}/src/cli/completion/regimen.fish
        DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE ${PROJECT_SOURCE_DIR}/NOTICE DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/LICENSES DESTINATION ${CMAKE_INSTALL_DOCDIR})

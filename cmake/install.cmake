# Program, library, headers, pkg-config file and man pages. The .pc file finds its folders from where
# it lies, so an installed tree may be moved.
include(GNUInstallDirs)
configure_file(${PROJECT_SOURCE_DIR}/cmake/regimen.pc.in ${PROJECT_BINARY_DIR}/regimen.pc @ONLY)
install(TARGETS regimen_cli RUNTIME DESTINATION bin)
install(TARGETS regimen LIBRARY DESTINATION lib)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/regimen DESTINATION include)
install(FILES ${PROJECT_BINARY_DIR}/regimen.pc DESTINATION lib/pkgconfig)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/docs/man/ DESTINATION share/man/man1
        FILES_MATCHING PATTERN "*.1")

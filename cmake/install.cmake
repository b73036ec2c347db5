# Program, library, headers, pkg-config file and man pages. The .pc file finds its folders from where
# it lies, so an installed tree may be moved.
include(GNUInstallDirs)
# What a program with libregimen.a may need of others; --as-needed leaves out what it does not.
list(TRANSFORM YAML_LIBRARIES PREPEND -l OUTPUT_VARIABLE RGM_LIBS_PRIVATE)
foreach(name IN ITEMS ${JANSSON_LIBRARIES} ${PROTOBUFC_LIBRARIES} ${ZLIB_LIBRARIES} ${XXHASH_LIBRARIES}
        ${SENTENCEPIECE_LIBRARIES} ${SQLITE_LIBRARIES} ${MICROHTTPD_LIBRARIES} ${CURL_LIBRARIES}
        ${FREETYPE_LIBRARIES} unistring dnnl gomp stdc++ m)
  string(APPEND RGM_LIBS_PRIVATE " -l${name}")
endforeach()
configure_file(${PROJECT_SOURCE_DIR}/cmake/regimen.pc.in ${PROJECT_BINARY_DIR}/regimen.pc @ONLY)
install(TARGETS regimen_cli RUNTIME DESTINATION bin)
install(TARGETS regimen regimen_static LIBRARY DESTINATION lib ARCHIVE DESTINATION lib)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/regimen DESTINATION include)
install(FILES ${PROJECT_BINARY_DIR}/regimen.pc DESTINATION lib/pkgconfig)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/docs/man/ DESTINATION share/man/man1
        FILES_MATCHING PATTERN "*.1")

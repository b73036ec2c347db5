# One layer = one folder = one object library. rgm_layer(NAME SOURCES... DEPENDS layers...
# LIBRARIES imported targets...) makes it and a test program for every *_test.c beside it.

set_property(GLOBAL PROPERTY RGM_LAYERS_MADE "")

function(rgm_layer name)
  cmake_parse_arguments(L "" "" "SOURCES;DEPENDS;LIBRARIES" ${ARGN})
  get_property(made GLOBAL PROPERTY RGM_LAYERS_MADE)
  foreach(dep IN LISTS L_DEPENDS)
    if(NOT dep IN_LIST made)
      message(FATAL_ERROR "layer ${name} depends on ${dep}, which is not a layer below it")
    endif()
  endforeach()
  add_library(rgm_${name} OBJECT ${L_SOURCES})
  target_include_directories(rgm_${name} PUBLIC ${PROJECT_SOURCE_DIR}/include)
  target_link_libraries(rgm_${name} PUBLIC Threads::Threads m ${L_LIBRARIES})
  foreach(dep IN LISTS L_DEPENDS)
    target_link_libraries(rgm_${name} PUBLIC rgm_${dep})
  endforeach()
  set_property(GLOBAL APPEND PROPERTY RGM_LAYERS_MADE ${name})

  if(RGM_TESTS)
    file(GLOB tests CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*_test.c)
    foreach(source IN LISTS tests)
      get_filename_component(test ${source} NAME_WE)
      if(TARGET ${test}) # two layers may have a file of one name
        set(test ${name}_${test})
      endif()
      rgm_test(${test} ${source})
    endforeach()
  endif()
endfunction()

# A test program sees the layers made so far, whole: rgm_test(NAME SOURCE [LIBRARIES...]).
function(rgm_test name source)
  get_property(made GLOBAL PROPERTY RGM_LAYERS_MADE)
  add_executable(${name} ${source})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/src/testing)
  foreach(layer IN LISTS made)
    target_link_libraries(${name} PRIVATE rgm_${layer}) # an object library brings its objects
  endforeach()
  target_link_libraries(${name} PRIVATE PkgConfig::CMOCKA ${ARGN})
  add_test(NAME ${name} COMMAND ${name} WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
  set_tests_properties(${name} PROPERTIES TIMEOUT 300)
endfunction()

# libregimen.so from every layer.
function(rgm_library)
  get_property(made GLOBAL PROPERTY RGM_LAYERS_MADE)
  add_library(regimen SHARED)
  foreach(layer IN LISTS made)
    target_link_libraries(regimen PRIVATE rgm_${layer})
  endforeach()
  target_include_directories(regimen INTERFACE ${PROJECT_SOURCE_DIR}/include)
  # rgmi_ symbols are shared inside layers, not with programs.
  target_link_options(regimen PRIVATE
    -Wl,--version-script=${PROJECT_SOURCE_DIR}/cmake/regimen.map)
  set_target_properties(regimen PROPERTIES
    LINK_DEPENDS ${PROJECT_SOURCE_DIR}/cmake/regimen.map
    LINKER_LANGUAGE C VERSION ${PROJECT_VERSION} SOVERSION 0
    LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
endfunction()

# One layer = one folder = one object library = one public header.

# Which layer may use which: all of it, bottom up; nothing else states it, and scripts/check_layers.py
# holds every #include and every symbol against it. A trunk:
set(RGM_ALLOWED_base)
set(RGM_ALLOWED_tensor base)
set(RGM_ALLOWED_device base tensor)
set(RGM_ALLOWED_kernels base tensor device)
set(RGM_ALLOWED_comm base tensor)
set(RGM_ALLOWED_autodiff base tensor device kernels)
set(RGM_ALLOWED_nn base tensor autodiff)
set(RGM_ALLOWED_optim base tensor device kernels autodiff)
set(RGM_ALLOWED_data base tensor)
set(RGM_ALLOWED_service base data)
set(RGM_ALLOWED_export base tensor autodiff)
set(RGM_ALLOWED_store base tensor autodiff)
set(RGM_ALLOWED_metrics base tensor autodiff store)
set(RGM_ALLOWED_train base tensor comm device kernels autodiff nn optim data service export store metrics)
set(RGM_ALLOWED_controller base tensor comm device kernels autodiff nn optim data service export store metrics train)
# branches, each blind to the others but for the one it grows on:
set(RGM_ALLOWED_graph base tensor autodiff data export)
set(RGM_ALLOWED_graph_sampling base tensor data graph)
set(RGM_ALLOWED_parts base tensor comm autodiff graph graph_sampling)
set(RGM_ALLOWED_graph_import base tensor data graph)
set(RGM_ALLOWED_graph_features base tensor autodiff nn graph)
set(RGM_ALLOWED_gnn base autodiff nn graph graph_features)
set(RGM_ALLOWED_graph_tasks base tensor device comm autodiff nn data metrics train controller graph graph_sampling parts
    graph_import graph_features gnn)
set(RGM_ALLOWED_text base tensor data)
set(RGM_ALLOWED_sequence base tensor device kernels autodiff nn)
set(RGM_ALLOWED_translation base tensor autodiff nn data export metrics train controller text sequence)
set(RGM_ALLOWED_language base tensor autodiff nn data export metrics train controller text sequence)
set(RGM_ALLOWED_record base tensor autodiff nn data train)
# a crown, and what it tries next:
set(RGM_ALLOWED_registry base)
set(RGM_ALLOWED_http base)
set(RGM_ALLOWED_async base tensor autodiff data store train http)
set(RGM_ALLOWED_search base)
set(RGM_ALLOWED_experiment base optim service store train controller graph_tasks translation language record registry)
set(RGM_ALLOWED_import base tensor autodiff text sequence train controller translation language experiment)
set(RGM_ALLOWED_distil base data store controller text sequence translation experiment)
set(RGM_ALLOWED_trial base tensor comm device autodiff nn optim data export store metrics train controller http search
    experiment)
set(RGM_ALLOWED_answer base tensor data export train controller registry http experiment trial)
set(RGM_ALLOWED_master base registry http search)
set(RGM_ALLOWED_draw base data store)
set(RGM_ALLOWED_web base store http search master)
set(RGM_ALLOWED_cli base tensor comm device kernels autodiff data service store metrics train controller graph graph_sampling
    parts graph_import graph_tasks text sequence translation language registry http async search experiment import distil answer trial master draw web)

set(RGM_LAYERS base tensor device kernels comm autodiff nn optim data service export store metrics train controller graph
               graph_sampling parts graph_import graph_features gnn graph_tasks text sequence translation language record registry http async search experiment import distil trial answer master
               draw web)

# A layer that is not in the list would be left out without a word.
file(GLOB folders RELATIVE ${PROJECT_SOURCE_DIR}/src CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/*/CMakeLists.txt)
foreach(file IN LISTS folders)
  get_filename_component(name ${file} DIRECTORY)
  file(STRINGS src/${file} calls REGEX "^ *rgm_layer\\(")
  if(calls AND NOT name IN_LIST RGM_LAYERS)
    message(FATAL_ERROR "src/${file} makes a layer that cmake/layers.cmake does not know: add "
                        "set(RGM_ALLOWED_${name} ...) and ${name} to RGM_LAYERS")
  endif()
endforeach()

# rgm_layer(NAME SOURCES... LIBRARIES imported targets... WITH_OBJECTS tests...): the layer's objects, and a
# test program for every *_test.c beside them. Without SOURCES: every file of the folder that is no test.
# WITH_OBJECTS names the tests that have the layer in them and not in a library beside them.
function(rgm_layer name)
  cmake_parse_arguments(L "" "" "SOURCES;LIBRARIES;WITH_OBJECTS" ${ARGN})
  if(NOT name IN_LIST RGM_LAYERS OR L_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "rgm_layer(${name}): cmake/layers.cmake says what a layer uses: RGM_ALLOWED_${name}")
  endif()
  if(NOT L_SOURCES)
    file(GLOB L_SOURCES CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.c ${CMAKE_CURRENT_SOURCE_DIR}/*.cc)
    list(FILTER L_SOURCES EXCLUDE REGEX "_test\\.c$")
  endif()
  add_library(rgm_${name} OBJECT ${L_SOURCES})
  target_include_directories(rgm_${name} PUBLIC ${PROJECT_SOURCE_DIR}/include)
  target_link_libraries(rgm_${name} PUBLIC Threads::Threads m ${L_LIBRARIES})

  if(RGM_TESTS)
    rgm_layer_library(${name} ${L_LIBRARIES})
    file(GLOB tests CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*_test.c)
    foreach(source IN LISTS tests)
      get_filename_component(test ${source} NAME_WE)
      if(TARGET ${test}) # two layers may have a file of one name
        set(test ${name}_${test})
      endif()
      if(test IN_LIST L_WITH_OBJECTS)
        rgm_test(${test} ${source} ${name} OBJECTS)
      else()
        rgm_test(${test} ${source} ${name})
      endif()
    endforeach()
  endif()
endfunction()

# The layer of a public header: the one of the longest name that the header's begins with, so that
# graph_edit.h is a part of graph and graph_import.h another layer.
function(rgm_layer_of out header)
  set(found "")
  string(LENGTH "${found}" longest)
  foreach(layer IN LISTS RGM_LAYERS)
    string(LENGTH ${layer} length)
    if("${header}_" MATCHES "^${layer}_" AND length GREATER longest)
      set(found ${layer})
      set(longest ${length})
    endif()
  endforeach()
  if(NOT found)
    message(FATAL_ERROR "include/regimen/${header}.h is of no layer of cmake/layers.cmake")
  endif()
  set(${out} ${found} PARENT_SCOPE)
endfunction()

# What a source includes from our headers, through the checks that tests share as well.
function(rgm_included out source)
  set(found "")
  file(STRINGS ${source} lines REGEX "^#include [<\"]")
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${source})
  foreach(line IN LISTS lines)
    if(line MATCHES "<regimen/regimen\\.h>")
      list(APPEND found ${RGM_LAYERS})
    elseif(line MATCHES "<regimen/([a-z_]+)\\.h>")
      rgm_layer_of(layer ${CMAKE_MATCH_1})
      list(APPEND found ${layer})
    elseif(line MATCHES "\"(lab\\.h|[a-z0-9_]+_(check|internal|lab)\\.h)\"")
      set(name ${CMAKE_MATCH_1})
      get_filename_component(folder ${source} DIRECTORY)
      foreach(candidate ${folder}/${name} ${PROJECT_SOURCE_DIR}/src/testing/${name})
        if(EXISTS ${candidate})
          rgm_included(more ${candidate})
          list(APPEND found ${more})
          break()
        endif()
      endforeach()
    endif()
  endforeach()
  list(REMOVE_DUPLICATES found)
  set(${out} ${found} PARENT_SCOPE)
endfunction()

# The layer as a library for the programs of tests, linked with those of the layers that it may use and no
# other. (With every layer's objects in each of them, 230 tests were 3.6 GB, and 8.6 GB under sanitizers.)
function(rgm_layer_library name)
  add_library(layer_${name} SHARED)
  target_link_libraries(layer_${name} PRIVATE rgm_${name} PUBLIC Threads::Threads m ${ARGN})
  foreach(used IN LISTS RGM_ALLOWED_${name})
    target_link_libraries(layer_${name} PUBLIC layer_${used})
  endforeach()
  target_include_directories(layer_${name} PUBLIC ${PROJECT_SOURCE_DIR}/include)
  if(NOT RGM_SANITIZE) # clang has their functions in the program
    target_link_options(layer_${name} PRIVATE -Wl,-z,defs)
  endif()
  set_target_properties(layer_${name} PROPERTIES LINKER_LANGUAGE C LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/layers)
endfunction()

# Link a program with the objects of the layers named and of all that those use.
function(rgm_link_objects target)
  set(wanted ${ARGN})
  set(all "")
  while(wanted)
    list(POP_FRONT wanted layer)
    if(NOT layer IN_LIST all)
      list(APPEND all ${layer})
      list(APPEND wanted ${RGM_ALLOWED_${layer}})
    endif()
  endwhile()
  foreach(layer IN LISTS all)
    if(EXISTS ${PROJECT_SOURCE_DIR}/src/${layer})
      target_link_libraries(${target} PRIVATE rgm_${layer}) # an object library brings its objects
    endif()
  endforeach()
endfunction()

# Link a program of tests with the libraries of the layers named.
function(rgm_link_layers target)
  list(TRANSFORM ARGN PREPEND layer_)
  target_link_libraries(${target} PRIVATE ${ARGN})
endfunction()

# rgm_test(NAME SOURCE LAYER [OBJECTS]): a test program with its layer and those that it includes.
function(rgm_test name source layer)
  cmake_parse_arguments(T "OBJECTS" "" "" ${ARGN})
  add_executable(${name} ${source})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/src/testing)
  rgm_included(layers ${source})
  if(T_OBJECTS)
    rgm_link_objects(${name} ${layer} ${layers})
  else()
    rgm_link_layers(${name} ${layer} ${layers})
  endif()
  target_link_libraries(${name} PRIVATE PkgConfig::CMOCKA)
  add_test(NAME ${name} COMMAND ${name} WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
  set_tests_properties(${name} PROPERTIES TIMEOUT ${RGM_TIMEOUT} SKIP_RETURN_CODE 77)
endfunction()

# libregimen.so from every layer; libregimen.a of the same object files, from which a program takes what it
# uses: one that trains graph networks needs neither sentencepiece nor libunistring.
function(rgm_library)
  add_library(regimen_static STATIC)
  rgm_link_objects(regimen_static ${RGM_LAYERS})
  set_target_properties(regimen_static PROPERTIES
    OUTPUT_NAME regimen ARCHIVE_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
  add_library(regimen SHARED)
  rgm_link_objects(regimen ${RGM_LAYERS})
  target_include_directories(regimen INTERFACE ${PROJECT_SOURCE_DIR}/include)
  # rgmi_ symbols are shared inside layers, not with programs.
  target_link_options(regimen PRIVATE
    -Wl,--version-script=${PROJECT_SOURCE_DIR}/cmake/regimen.map)
  set_target_properties(regimen PROPERTIES
    LINK_DEPENDS ${PROJECT_SOURCE_DIR}/cmake/regimen.map
    LINKER_LANGUAGE C VERSION ${PROJECT_VERSION} SOVERSION ${RGM_ABI}
    LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
  if(TARGET regimen_mpi) # which they load, and are not linked with
    add_dependencies(regimen regimen_mpi)
    add_dependencies(regimen_static regimen_mpi)
  endif()
endfunction()

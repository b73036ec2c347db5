# cmake -DOUT=file.c -DFILES=a.dev|b.dev|... -P device_source.cmake: each file as a text, rgmi_gpu_source_NAME.
# With -DPLAIN=ON for src/device: rgmi_device_NAME, the text alone.
cmake_minimum_required(VERSION 3.22)
string(REPLACE "|" ";" FILES "${FILES}")
set(texts "")
foreach(path IN LISTS FILES)
  get_filename_component(name ${path} NAME_WE)
  file(READ ${path} hex HEX)
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${hex}")
  if(PLAIN)
    string(APPEND texts "const char rgmi_device_${name}[] = {${bytes}0};\n")
  else()
    string(APPEND texts "static const char text_${name}[] = {${bytes}0};
const rgmi_gpu_source rgmi_gpu_source_${name} = {\"${name}\", text_${name}};\n\n")
  endif()
endforeach()
if(PLAIN)
  set(header device_internal.h)
else()
  set(header gpu.h)
endif()
file(WRITE ${OUT} "/* Made from the device source by cmake/device_source.cmake. */
#include \"${header}\"

${texts}")

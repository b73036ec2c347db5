# cmake -DOUT=file.c -DWANTED=... -P starter.cmake: files as rows of lists that starters.h declares. WANTED is
# NAME=PATH>ROW|PATH>ROW... and, behind another '+', the next list.
string(REPLACE "+" ";" WANTED "${WANTED}")
set(texts "")
set(arrays "")
set(number 0)
foreach(list IN LISTS WANTED)
  string(REGEX MATCH "^([a-z_]+)=(.*)$" matched "${list}")
  set(array ${CMAKE_MATCH_1})
  string(REPLACE "|" ";" pairs "${CMAKE_MATCH_2}")
  set(rows "")
  foreach(pair IN LISTS pairs)
    string(REGEX MATCH "(.*)>(.*)" matched ${pair})
    set(name ${CMAKE_MATCH_2})
    file(READ ${CMAKE_MATCH_1} hex HEX)
    string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1, " bytes "${hex}")
    string(APPEND texts "static const unsigned char text_${number}[] = {\n    ${bytes}0};\n\n")
    string(APPEND rows "    {\"${name}\", (const char *)text_${number}, sizeof text_${number} - 1},\n")
    math(EXPR number "${number} + 1")
  endforeach()
  string(APPEND arrays "const starter_file ${array}[] = {\n${rows}    {0}};\n")
endforeach()
file(WRITE ${OUT} "/* Made by cmake/starter.cmake. */
#include \"starters.h\"

${texts}${arrays}")

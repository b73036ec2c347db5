# cmake -DOUT=file.c -DFOLDER=examples -P starter.cmake: the files of a starter as rows of
# starter_trial.
set(rows "")
set(texts "")
set(number 0)
foreach(pair "12_trial.c>moons.c" "12_trial.yaml>moons.yaml" "12_trial.mk>Makefile")
  string(REGEX MATCH "(.*)>(.*)" matched ${pair})
  set(name ${CMAKE_MATCH_2})
  file(READ ${FOLDER}/${CMAKE_MATCH_1} hex HEX)
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1, " bytes "${hex}")
  string(APPEND texts "static const unsigned char text_${number}[] = {\n    ${bytes}0};\n\n")
  string(APPEND rows "    {\"${name}\", (const char *)text_${number}, sizeof text_${number} - 1},\n")
  math(EXPR number "${number} + 1")
endforeach()
file(WRITE ${OUT} "/* Made from examples/ by cmake/starter.cmake. */
#include \"starters.h\"

${texts}const starter_file starter_trial[] = {
${rows}    {0}};
")

# cmake -DOUT=file.c -DFOLDER=configs -P embed.cmake: every <name>.yaml below a folder as a row of
# rgmi_named_experiments, sorted by name.
file(GLOB_RECURSE files RELATIVE ${FOLDER} ${FOLDER}/*.yaml)
list(SORT files)
set(texts "")
set(rows "")
set(number 0)
foreach(file IN LISTS files)
  file(READ ${FOLDER}/${file} hex HEX)
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1, " bytes "${hex}")
  string(REGEX REPLACE "((0x[0-9a-f][0-9a-f], )(0x[0-9a-f][0-9a-f], )(0x[0-9a-f][0-9a-f], )(0x[0-9a-f][0-9a-f], )(0x[0-9a-f][0-9a-f], )(0x[0-9a-f][0-9a-f], )(0x[0-9a-f][0-9a-f], )(0x[0-9a-f][0-9a-f], ))" "\\1\n    " bytes "${bytes}")
  string(REGEX REPLACE "\\.yaml$" "" name "${file}")
  string(APPEND texts "static const unsigned char text_${number}[] = {\n    ${bytes}0};\n\n")
  string(APPEND rows "    {\"${name}\", (const char *)text_${number}, sizeof text_${number} - 1},\n")
  math(EXPR number "${number} + 1")
endforeach()
file(WRITE ${OUT} "/* Made from configs/ by cmake/embed.cmake. */
#include \"named.h\"

${texts}const rgm_named_experiment rgmi_named_experiments[] = {
${rows}    {0}};
const int64_t rgmi_named_experiment_count = ${number};
")

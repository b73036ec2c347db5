/*
 * What is compiled, and what a compiler says of it.
 */
#include "device_internal.h"

#include <string.h>

rgm_status rgmi_whole_source(rgm_text *out, const char *name, const char *source)
{
    return rgm_text_printf(out, "%s\n#line 1 \"%s.dev\"\n%s", rgmi_device_prelude, name, source);
}

const char *rgmi_compiler_words(char *text)
{
    char *from = strstr(text, "error");

    if (from == NULL)
        from = text;
    while (from > text && from[-1] != '\n')
        from--;
    for (char *c = from; *c != 0; c++)
        if (*c == '\n')
            *c = c[1] == 0 ? 0 : '|';
    return from;
}

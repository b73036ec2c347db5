/*
 * JSON strings and numbers with the same bytes in every locale.
 */
#include "base_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

rgm_status rgm_json_print_text(rgm_text *out, const char *text)
{
    uint32_t code;

    RGM_TRY(rgm_text_add(out, "\"", 1));
    while (*text != 0) {
        int size = rgm_utf8_next(&code, text);

        if (size == 0)
            RGM_TRY(rgm_text_add(out, "\xef\xbf\xbd", 3));
        else if (code == '"' || code == '\\')
            RGM_TRY(rgm_text_printf(out, "\\%c", (char)code));
        else if (code < 0x20 || code == 0x7f)
            RGM_TRY(rgm_text_printf(out, "\\u%04x", (unsigned)code));
        else
            RGM_TRY(rgm_text_add(out, text, size));
        text += size > 0 ? size : 1;
    }
    return rgm_text_add(out, "\"", 1);
}

rgm_status rgm_json_print_number(rgm_text *out, double number)
{
    rgm_status status = RGM_OK;
    locale_t c = rgmi_c_locale();
    rgm_text text = {0};

    if (isnan(number))
        return rgm_text_printf(out, "\"nan\"");
    if (isinf(number))
        return rgm_text_printf(out, number > 0 ? "\"inf\"" : "\"-inf\"");
    for (int digits = 6; digits <= 17; digits++) {
        text.size = 0;
        RGM_GO(rgm_text_printf(&text, "%.*g", digits, number));
        if (c != (locale_t)0 && strtod_l(text.data, NULL, c) == number)
            break;
    }
    RGM_GO(rgm_text_add(out, text.data, text.size));
    if (strpbrk(text.data, ".e") == NULL)
        RGM_GO(rgm_text_add(out, ".0", 2));
done:
    rgm_text_clear(&text);
    return status;
}

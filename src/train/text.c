/*
 * Text that is safe where it goes: JSON strings and numbers with the same bytes in every locale,
 * and names from files made harmless before a terminal or a log shows them.
 */
#include "train_internal.h"

#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

int rgmi_utf8_next(uint32_t *code, const char *text)
{
    static const uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
    const unsigned char *s = (const unsigned char *)text;
    int size = s[0] < 0x80 ? 1 : s[0] >> 5 == 6 ? 2 : s[0] >> 4 == 14 ? 3 : s[0] >> 3 == 30 ? 4 : 0;
    uint32_t c = size == 1 ? s[0] : s[0] & (0x7fu >> size);

    if (size == 0 || s[0] == 0)
        return 0;
    for (int i = 1; i < size; i++) {
        if (s[i] >> 6 != 2)
            return 0;
        c = c << 6 | (s[i] & 0x3f);
    }
    if (c < smallest[size] || c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff))
        return 0;
    *code = c;
    return size;
}

rgm_status rgmi_json_text(rgm_text *out, const char *text)
{
    uint32_t code;

    RGM_TRY(rgm_text_add(out, "\"", 1));
    while (*text != 0) {
        int size = rgmi_utf8_next(&code, text);

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

/* In the C locale, which is a constant of the C library and costs nothing to ask for. */
static double read_back(const char *text)
{
    locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    double number = c != (locale_t)0 ? strtod_l(text, NULL, c) : NAN;

    if (c != (locale_t)0)
        freelocale(c);
    return number;
}

rgm_status rgmi_json_number(rgm_text *out, double number)
{
    rgm_status status = RGM_OK;
    rgm_text text = {0};

    if (isnan(number))
        return rgm_text_printf(out, "\"nan\"");
    if (isinf(number))
        return rgm_text_printf(out, number > 0 ? "\"inf\"" : "\"-inf\"");
    for (int digits = 6; digits <= 17; digits++) {
        text.size = 0;
        RGM_GO(rgm_text_printf(&text, "%.*g", digits, number));
        if (read_back(text.data) == number)
            break;
    }
    RGM_GO(rgm_text_add(out, text.data, text.size));
    if (strpbrk(text.data, ".e") == NULL)
        RGM_GO(rgm_text_add(out, ".0", 2));
done:
    rgm_text_clear(&text);
    return status;
}

rgm_status rgmi_visible(rgm_text *out, const char *text)
{
    uint32_t code;

    RGM_TRY(rgm_text_add(out, "", 0));
    while (*text != 0) {
        int size = rgmi_utf8_next(&code, text);

        if (size == 0 || code < 0x20 || code == 0x7f)
            RGM_TRY(rgm_text_printf(out, "\\x%02x", (unsigned char)*text));
        else if ((code >= 0x80 && code < 0xa0) || (code >= 0x200e && code <= 0x200f) ||
                 (code >= 0x2028 && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069))
            RGM_TRY(rgm_text_printf(out, "\\u%04x", (unsigned)code));
        else
            RGM_TRY(rgm_text_add(out, text, size));
        text += size > 0 ? size : 1;
    }
    return RGM_OK;
}

/* JSON of what comes from files of anybody. */
#include "tab.h"

#include <math.h>
#include <string.h>

/* How many bytes at `at` stand for themselves in a text. */
static int64_t plain_size(const char *at, int64_t size)
{
    int64_t n = 0;

    while (n < size && at[n] >= 0x20 && at[n] < 0x7f && at[n] != '"' && at[n] != '\\')
        n++;
    return n;
}

/* One character that is not plain; *step is its bytes. */
static rgm_status put_character(rgm_text *out, int *step, const char *at, int64_t left)
{
    char part[5] = {0};
    uint32_t code;

    *step = 1;
    if (*at == '"' || *at == '\\')
        return rgm_text_printf(out, "\\%c", *at);
    if (*at == '\n')
        return rgm_text_add(out, "\\n", 2);
    if ((*at > 0 && *at < 0x20) || *at == 0x7f)
        return rgm_text_printf(out, "\\u%04x", (unsigned)*at);
    memcpy(part, at, left < 4 ? (size_t)left : 4);
    *step = *at != '\0' ? rgm_utf8_next(&code, part) : 0; /* few parsers take \u0000 */
    if (*step > 0)
        return rgm_text_add(out, at, *step);
    *step = 1;
    return rgm_text_add(out, "\xef\xbf\xbd", 3);
}

rgm_status rgmi_put_text(rgm_text *out, const char *data, int64_t size)
{
    RGM_TRY(rgm_text_add(out, "\"", 1));
    while (size > 0) {
        int64_t plain = plain_size(data, size);
        int step = 0;

        RGM_TRY(rgm_text_add(out, data, plain));
        if (plain < size)
            RGM_TRY(put_character(out, &step, data + plain, size - plain));
        data += plain + step;
        size -= plain + step;
    }
    return rgm_text_add(out, "\"", 1);
}

rgm_status rgmi_put_name(rgm_text *out, const char *text)
{
    return text != NULL ? rgmi_put_text(out, text, (int64_t)strlen(text))
                        : rgm_text_add(out, "null", 4);
}

rgm_status rgmi_put_number(rgm_text *out, double number)
{
    return isfinite(number) ? rgm_json_print_number(out, number) : rgm_text_add(out, "null", 4);
}

rgm_status rgmi_note(char **damage, rgm_status status)
{
    rgm_status copied = RGM_OK;

    if (status >= 0 || status == RGM_ERR_NOMEM)
        return status;
    if (status != RGM_ERR_NOT_FOUND && *damage == NULL)
        copied = rgm_strdup(damage, rgm_error_message());
    if (copied == RGM_OK)
        rgm_error_reset();
    return copied;
}

rgm_status rgmi_put_end(rgm_text *out, const char *damage)
{
    RGM_TRY(rgm_text_printf(out, ",\"damage\":"));
    RGM_TRY(rgmi_put_name(out, damage));
    return rgm_text_add(out, "}", 1);
}

rgm_status rgmi_load_object(char **text, int64_t *size, const char *folder, const char *name,
                            int64_t most)
{
    rgm_json *root = NULL;
    rgm_status status = RGM_OK;

    RGM_GO(rgmi_kept_load(text, size, folder, name, most));
    RGM_GO(rgm_json_parse(&root, *text, *size, name));
    if (!rgm_json_is_object(root))
        RGM_GO(RGM_FAIL(RGM_ERR_FORMAT, "%s is no object", name));
done:
    rgm_json_release(root);
    if (status != RGM_OK) {
        rgm_free(*text);
        *text = NULL;
    }
    return status;
}

/*
 * JSON written value by value: the caller gives the values, and this file adds commas, quotes and
 * line breaks.
 */
#include "base_internal.h"

#include <string.h>

static rgm_status line_begin(rgm_json_writer *w, int depth)
{
    RGM_TRY(rgm_text_add(w->out, "\n", 1));
    for (int i = 0; i < depth; i++)
        RGM_TRY(rgm_text_add(w->out, "  ", 2));
    return RGM_OK;
}

/* Write what comes before a value: a comma, its place, its key. */
static rgm_status value_begin(rgm_json_writer *w, const char *key)
{
    rgm_json_open *open = w->depth > 0 ? &w->open[w->depth - 1] : NULL;
    bool compact = open != NULL && open->layout == RGM_JSON_COMPACT;

    if ((key != NULL) != (open != NULL && open->end == '}'))
        return RGM_FAIL(RGM_ERR_ARG, "a value '%.40s' where there is %s object",
                        key != NULL ? key : "", key != NULL ? "no" : "an");
    if (open != NULL) {
        if (open->filled)
            RGM_TRY(rgm_text_add(w->out, ", ", open->layout == RGM_JSON_SPACED ? 2 : 1));
        if (open->layout == RGM_JSON_LINES)
            RGM_TRY(line_begin(w, w->depth));
        open->filled = true;
    }
    if (key == NULL)
        return RGM_OK;
    RGM_TRY(rgm_json_print_text(w->out, key));
    return rgm_text_add(w->out, ": ", compact ? 1 : 2);
}

static rgm_status open_one(rgm_json_writer *w, const char *key, rgm_json_layout layout,
                           const char *brackets)
{
    if (w->depth == RGM_JSON_WRITER_LEVELS)
        return RGM_FAIL(RGM_ERR_ARG, "JSON of more than %d levels", RGM_JSON_WRITER_LEVELS);
    RGM_TRY(value_begin(w, key));
    RGM_TRY(rgm_text_add(w->out, brackets, 1));
    w->open[w->depth++] = (rgm_json_open){.end = brackets[1], .layout = layout};
    return RGM_OK;
}

rgm_status rgm_json_open_object(rgm_json_writer *writer, const char *key, rgm_json_layout layout)
{
    return open_one(writer, key, layout, "{}");
}

rgm_status rgm_json_open_list(rgm_json_writer *writer, const char *key, rgm_json_layout layout)
{
    return open_one(writer, key, layout, "[]");
}

rgm_status rgm_json_close(rgm_json_writer *w)
{
    rgm_json_open *open;

    if (w->depth == 0)
        return RGM_FAIL(RGM_ERR_ARG, "no object or list of JSON is open");
    open = &w->open[--w->depth];
    if (open->filled && open->layout == RGM_JSON_LINES)
        RGM_TRY(line_begin(w, w->depth));
    return rgm_text_add(w->out, &open->end, 1);
}

rgm_status rgm_json_write_text(rgm_json_writer *writer, const char *key, const char *text)
{
    RGM_TRY(value_begin(writer, key));
    return text != NULL ? rgm_json_print_text(writer->out, text)
                        : rgm_text_add(writer->out, "null", 4);
}

rgm_status rgm_json_write_int(rgm_json_writer *writer, const char *key, int64_t number)
{
    RGM_TRY(value_begin(writer, key));
    return rgm_text_printf(writer->out, "%lld", (long long)number);
}

rgm_status rgm_json_write_number(rgm_json_writer *writer, const char *key, double number)
{
    RGM_TRY(value_begin(writer, key));
    return rgm_json_print_number(writer->out, number);
}

rgm_status rgm_json_write_bool(rgm_json_writer *writer, const char *key, bool value)
{
    RGM_TRY(value_begin(writer, key));
    return rgm_text_printf(writer->out, "%s", value ? "true" : "false");
}

rgm_status rgm_json_write_printed(rgm_json_writer *writer, const char *key, const char *json)
{
    RGM_TRY(value_begin(writer, key));
    return rgm_text_add(writer->out, json, (int64_t)strlen(json));
}

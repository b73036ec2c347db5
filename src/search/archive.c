/*
 * The state of a searcher as one line of JSON. One function of a row goes both ways, so that what
 * is written and what is read cannot part. Doubles are printed so that they read back to the same
 * bits.
 */
#include "search_internal.h"

bool rgm_archive_reads(const rgm_archive *archive)
{
    return archive->from != NULL;
}

bool rgmi_archive_has(const rgm_archive *archive, const char *name)
{
    return rgm_archive_reads(archive) && rgm_json_find(archive->from, name) != NULL;
}

/* `"name": ` behind what was written, or the value of that name. */
static rgm_status open_member(const rgm_json **out, rgm_archive *archive, const char *name)
{
    *out = NULL;
    if (rgm_archive_reads(archive)) {
        *out = rgm_json_find(archive->from, name);
        return *out != NULL ? RGM_OK
                            : RGM_FAIL(RGM_ERR_FORMAT, "a searcher's state has no '%s'", name);
    }
    if (archive->more)
        RGM_TRY(rgm_text_add(archive->to, ", ", 2));
    archive->more = true;
    RGM_TRY(rgm_json_print_text(archive->to, name));
    return rgm_text_add(archive->to, ": ", 2);
}

static rgm_status no_such(const char *name, const char *what)
{
    return RGM_FAIL(RGM_ERR_FORMAT, "a searcher's state: '%s' is no %s", name, what);
}

rgm_status rgm_archive_int(rgm_archive *archive, const char *name, int64_t *value)
{
    const rgm_json *json;

    RGM_TRY(open_member(&json, archive, name));
    if (json == NULL)
        return rgm_text_printf(archive->to, "%lld", (long long)*value);
    return rgm_json_int(value, json) ? RGM_OK : no_such(name, "whole number");
}

rgm_status rgm_archive_float(rgm_archive *archive, const char *name, double *value)
{
    const rgm_json *json;

    RGM_TRY(open_member(&json, archive, name));
    if (json == NULL)
        return rgm_json_print_number(archive->to, *value);
    return rgm_json_number(value, json) ? RGM_OK : no_such(name, "number");
}

rgm_status rgm_archive_bool(rgm_archive *archive, const char *name, bool *value)
{
    int64_t number = *value;

    RGM_TRY(rgm_archive_int(archive, name, &number));
    *value = number == 1;
    return number == 0 || number == 1 ? RGM_OK : no_such(name, "0 or 1");
}

/* ---- arrays -------------------------------------------------------------------------------- */

static rgm_status write_array(rgm_archive *archive, const int64_t *ints, const double *floats,
                              int64_t count)
{
    RGM_TRY(rgm_text_add(archive->to, "[", 1));
    for (int64_t i = 0; i < count; i++) {
        if (i > 0)
            RGM_TRY(rgm_text_add(archive->to, ",", 1));
        if (ints != NULL)
            RGM_TRY(rgm_text_printf(archive->to, "%lld", (long long)ints[i]));
        else
            RGM_TRY(rgm_json_print_number(archive->to, floats[i]));
    }
    return rgm_text_add(archive->to, "]", 1);
}

rgm_status rgm_archive_ints(rgm_archive *archive, const char *name, int64_t **items, int64_t *count)
{
    rgm_status status = RGM_OK;
    const rgm_json *json;
    int64_t *read = NULL, size;

    RGM_TRY(open_member(&json, archive, name));
    if (json == NULL)
        return *count > 0 ? write_array(archive, *items, NULL, *count)
                          : rgm_text_add(archive->to, "[]", 2);
    size = rgm_json_count(json);
    if (size < 0)
        return no_such(name, "list");
    RGM_TRY(RGM_NEW(read, size));
    for (int64_t i = 0; i < size; i++)
        if (!rgm_json_int(&read[i], rgm_json_at(json, i)))
            RGM_GO(no_such(name, "list of whole numbers"));
    rgm_free(*items);
    *items = read;
    *count = size;
    read = NULL;
done:
    rgm_free(read);
    return status;
}

rgm_status rgm_archive_floats(rgm_archive *archive, const char *name, double **items,
                              int64_t *count)
{
    rgm_status status = RGM_OK;
    const rgm_json *json;
    double *read = NULL;
    int64_t size;

    RGM_TRY(open_member(&json, archive, name));
    if (json == NULL)
        return *count > 0 ? write_array(archive, NULL, *items, *count)
                          : rgm_text_add(archive->to, "[]", 2);
    size = rgm_json_count(json);
    if (size < 0)
        return no_such(name, "list");
    RGM_TRY(RGM_NEW(read, size));
    for (int64_t i = 0; i < size; i++)
        if (!rgm_json_number(&read[i], rgm_json_at(json, i)))
            RGM_GO(no_such(name, "list of numbers"));
    rgm_free(*items);
    *items = read;
    *count = size;
    read = NULL;
done:
    rgm_free(read);
    return status;
}

/* ---- maps ---------------------------------------------------------------------------------- */

rgm_status rgmi_archive_enter(rgm_archive *inside, rgm_archive *archive, const char *name)
{
    const rgm_json *json;

    RGM_TRY(open_member(&json, archive, name));
    *inside = (rgm_archive){.from = json, .to = archive->to};
    if (json == NULL)
        return rgm_text_add(archive->to, "{", 1);
    return rgm_json_is_object(json) ? RGM_OK : no_such(name, "map");
}

rgm_status rgmi_archive_leave(rgm_archive *inside)
{
    return rgm_archive_reads(inside) ? RGM_OK : rgm_text_add(inside->to, "}", 1);
}

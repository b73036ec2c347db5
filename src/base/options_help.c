/*
 * The keys of a table, printed for people.
 */
#include "base_internal.h"

#include <stdio.h>
#include <string.h>

static const char *kind_name(const rgm_field *field)
{
    static const char *const names[] = {
        [RGM_FIELD_INT] = "integer",
        [RGM_FIELD_FLOAT] = "number",
        [RGM_FIELD_BOOL] = "true or false",
        [RGM_FIELD_TEXT] = "text",
        [RGM_FIELD_CHOICE] = "choice",
        [RGM_FIELD_INTS] = "list of integers",
        [RGM_FIELD_FLOATS] = "list of numbers",
        [RGM_FIELD_TEXTS] = "list of texts",
        [RGM_FIELD_NUMBERS] = "map to numbers",
        [RGM_FIELD_LISTS] = "map to lists",
        [RGM_FIELD_GROUP] = "map",
        [RGM_FIELD_SECTIONS] = "list of maps with a type",
        [RGM_FIELD_NODE] = "any",
    };

    return names[field->kind];
}

/* The rows of a list of sections, with their keys. */
static rgm_status print_rows(rgm_text *out, const char *path, const rgm_field *field)
{
    char below[128];

    snprintf(below, sizeof below, "%s%s%s", path, path[0] != '\0' ? "." : "", field->name);
    for (int i = 0; field->sections[i] != NULL; i++) {
        const rgm_section_type *row = field->sections[i];

        RGM_TRY(rgm_text_printf(out, "%s.type: %s%s%s\n", below, row->name,
                                row->help != NULL ? "; " : "", row->help != NULL ? row->help : ""));
        RGM_TRY(rgm_options_print_help(out, below, row->fields));
    }
    return RGM_OK;
}

rgm_status rgm_options_print_help(rgm_text *out, const char *path, const rgm_field *fields)
{
    const char *dot = path[0] != '\0' ? "." : "";

    for (; fields->name != NULL; fields++) {
        if (fields->kind == RGM_FIELD_GROUP) {
            char below[128];

            snprintf(below, sizeof below, "%s%s%s", path, dot, fields->name);
            RGM_TRY(rgm_options_print_help(out, below, fields->group));
            continue;
        }
        RGM_TRY(rgm_text_printf(out, "%s%s%-*s ", path, dot, (int)(41 - strlen(path) - strlen(dot)),
                                fields->name));
        if (fields->kind == RGM_FIELD_CHOICE)
            for (int i = 0; fields->choices[i] != NULL; i++)
                RGM_TRY(rgm_text_printf(out, "%s%s", i > 0 ? "|" : "", fields->choices[i]));
        else
            RGM_TRY(rgm_text_printf(out, "%s", kind_name(fields)));
        RGM_TRY(rgm_text_printf(out, "; %s\n", fields->help != NULL ? fields->help : ""));
        if (fields->kind == RGM_FIELD_SECTIONS)
            RGM_TRY(print_rows(out, path, fields));
    }
    return RGM_OK;
}

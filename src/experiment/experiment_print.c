/*
 * Prints all values of an experiment as YAML that reads back to the same, each followed by its
 * origin.
 */
#include <stdio.h>
#include <string.h>

#include "experiment_internal.h"

#define SOURCE_COLUMN 40

static rgm_status print_key(rgm_text *out, const char *key)
{
    rgm_yaml_node node = {.kind = RGM_YAML_SCALAR, .text = key};

    return rgm_yaml_print_flow(out, &node, true);
}

/* Print "# text" after the text of the line that starts at `begin`. */
static rgm_status print_origin(rgm_text *out, int64_t begin, const rgm_experiment_value *value)
{
    int64_t width = out->size - begin;

    RGM_TRY(rgm_text_printf(out, "%*s# %s",
                            (int)(width < SOURCE_COLUMN ? SOURCE_COLUMN - width : 2), "",
                            value->origin));
    if (value->unused != NULL)
        RGM_TRY(rgm_text_printf(out, "; %s", value->unused));
    return rgm_text_add(out, "\n", 1);
}

/* Length of the maps that two keys share: "trainer.checkpoint." of a.b.c and a.b.d. */
static size_t shared_maps(const char *a, const char *b)
{
    size_t shared = 0;

    for (size_t i = 0; a[i] != '\0' && a[i] == b[i]; i++)
        if (a[i] == '.')
            shared = i + 1;
    return shared;
}

/* Print the heads of the maps of `key` that `open` is not in yet; *rest is the last name, *indent
 * its depth. */
static rgm_status print_maps(rgm_text *out, const char **rest, int *indent, const char *key,
                             const char *open)
{
    size_t shared = shared_maps(key, open);
    const char *dot;
    char name[256];

    *indent = 0;
    for (*rest = key; (dot = strchr(*rest, '.')) != NULL; *rest = dot + 1, *indent += 2) {
        if ((size_t)(dot - key) < shared)
            continue;
        snprintf(name, sizeof name, "%.*s", (int)(dot - *rest), *rest);
        RGM_TRY(rgm_text_printf(out, "%*s", *indent, ""));
        RGM_TRY(print_key(out, name));
        RGM_TRY(rgm_text_add(out, ":\n", 2));
    }
    return RGM_OK;
}

static bool is_written(const rgm_experiment_value *value)
{
    return value->value != NULL && value->writable && value->unused == NULL;
}

/* Whether a value's section has a printed value, so that comments may be inside the section. */
static bool has_section(const rgm_experiment *e, const rgm_experiment_value *value)
{
    size_t size = strcspn(value->key, ".") + 1;

    for (int64_t i = 0; i < e->value_count; i++)
        if (is_written(&e->values[i]) && strncmp(e->values[i].key, value->key, size) == 0)
            return true;
    return false;
}

static rgm_status print_written(rgm_text *out, const rgm_experiment_value *value, const char *open)
{
    const char *rest;
    int64_t begin;
    int indent;

    RGM_TRY(print_maps(out, &rest, &indent, value->key, open));
    begin = out->size;
    RGM_TRY(rgm_text_printf(out, "%*s", indent, ""));
    RGM_TRY(print_key(out, rest));
    RGM_TRY(rgm_text_add(out, ": ", 2));
    RGM_TRY(rgm_yaml_print_flow(out, value->value, false));
    return print_origin(out, begin, value);
}

/* "  # checkpoint.best.metric: " inside its section. */
static rgm_status print_comment(rgm_text *out, const rgm_experiment_value *value)
{
    const char *dot = strchr(value->key, '.');
    int64_t begin = out->size;

    RGM_TRY(rgm_text_printf(out, "  # %s:", dot != NULL ? dot + 1 : value->key));
    if (value->value != NULL) {
        RGM_TRY(rgm_text_add(out, " ", 1));
        RGM_TRY(rgm_yaml_print_flow(out, value->value, false));
    }
    return print_origin(out, begin, value);
}

rgm_status rgm_experiment_print(rgm_text *out, const rgm_experiment *e)
{
    char open[256] = "";

    for (int64_t i = 0; i < e->value_count; i++) {
        const rgm_experiment_value *value = &e->values[i];
        size_t section = strcspn(value->key, ".");

        if (is_written(value)) {
            RGM_TRY(print_written(out, value, open));
            snprintf(open, sizeof open, "%s", value->key);
            continue;
        }
        if (value->unused != NULL && !value->given)
            continue;
        if (strncmp(open, value->key, section + 1) != 0 && has_section(e, value)) {
            snprintf(open, sizeof open, "%.*s.", (int)section, value->key);
            RGM_TRY(rgm_text_printf(out, "%.*s:\n", (int)section, value->key));
        }
        RGM_TRY(print_comment(out, value));
    }
    return RGM_OK;
}

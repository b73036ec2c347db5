/*
 * Lengths of training, in one of four units.
 */
#include "search_internal.h"

#include <string.h>

const char *const rgm_length_unit_names[] = {"steps", "batches", "records", "epochs", NULL};

rgm_status rgm_length_read(rgm_length *out, const rgm_yaml_node *node, const char *path)
{
    const rgm_yaml_node *number = node;
    int unit = 0;

    *out = (rgm_length){0};
    if (node->kind == RGM_YAML_MAP && node->count == 1) {
        number = node->items[0];
        while (rgm_length_unit_names[unit] != NULL &&
               strcmp(rgm_length_unit_names[unit], number->key) != 0)
            unit++;
        if (rgm_length_unit_names[unit] == NULL)
            return rgm_yaml_fail(
                number, "'%s' counts no '%.100s'%s", path, number->key,
                rgm_did_you_mean(number->key, rgm_length_unit_names, 4, NULL, "there are ").text);
    } else if (node->kind != RGM_YAML_SCALAR) {
        return rgm_yaml_fail(
            node,
            "'%s' is a number of steps, or a map of exactly one of steps, batches, records, "
            "epochs",
            path);
    }
    RGM_TRY(rgm_yaml_int(&out->units, number));
    out->unit = (rgm_length_unit)unit;
    if (out->units >= 1 && out->units <= RGM_MAX_LENGTH)
        return RGM_OK;
    *out = (rgm_length){0};
    return rgm_yaml_fail(number, "'%s' is %s, but must be in 1 .. %g", path, number->text,
                         (double)RGM_MAX_LENGTH);
}

rgm_status rgmi_length_options_read(rgmi_length_options *o, const rgm_yaml_node *section)
{
    const rgm_yaml_node *max_length = o->max_length;

    o->max_length = NULL;
    o->length = (rgm_length){.units = o->max_steps};
    if ((o->max_steps > 0) == (max_length != NULL))
        return rgm_yaml_fail(section, "'searcher' needs %s max_steps %s max_length",
                             o->max_steps > 0 ? "one of" : "one:", o->max_steps > 0 ? "and" : "or");
    return max_length != NULL ? rgm_length_read(&o->length, max_length, "searcher.max_length")
                              : RGM_OK;
}

rgm_length rgmi_length_of(const void *options)
{
    return ((const rgmi_length_options *)options)->length;
}

int64_t rgmi_trials_at_once(int64_t asked, int64_t trials)
{
    int64_t most = asked > 0 ? asked : RGMI_MOST_AT_ONCE;

    return most < trials ? most : trials;
}

rgm_status rgmi_search_need(rgmi_mistakes *mistakes, int64_t value, const char *key,
                            const rgm_yaml_node *section)
{
    if (value > 0)
        return RGM_OK;
    return rgmi_mistake(mistakes, rgm_yaml_fail(section, "'searcher.%s' must be given", key));
}

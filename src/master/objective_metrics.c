/*
 * What a searcher wants of a validation.
 */
#include "master_internal.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

const rgm_objective *rgmi_objective(const rgm_search_file *file)
{
    const rgm_objective *objectives;

    rgm_search_file_objectives(&objectives, file);
    return &objectives[0];
}

bool rgmi_is_better(const rgmi_experiment *e, double metric, double than)
{
    if (!isfinite(metric))
        return false;
    return !isfinite(than) ||
           (rgmi_objective(e->file)->smaller_is_better ? metric < than : metric > than);
}

/* ---- metrics -------------------------------------------------------------------------------- */

static const rgm_json *find_metric(const rgm_json *values, const char *name)
{
    const rgm_json *value = rgm_json_find(values, name);

    return value != NULL || strncmp(name, "valid.", 6) != 0 ? value
                                                            : rgm_json_find(values, name + 6);
}

static rgm_status fail_metric(const rgm_json *values, const char *name)
{
    rgm_json_entry entry = {0};
    char there[256] = "";
    size_t size = 0;

    while (values != NULL && rgm_json_next(&entry, values) && size < sizeof there - 1)
        size += (size_t)snprintf(there + size, sizeof there - size, "%s%s", size > 0 ? ", " : "",
                                 entry.key);
    return RGM_FAIL(RGM_ERR_CONFIG,
                    "the validation gives no '%s', which searcher.metric names; "
                    "there are: %s",
                    name, there);
}

rgm_status rgmi_objectives_read(double *metrics, const rgmi_experiment *e, const rgm_json *values)
{
    return rgmi_objectives_of(metrics, e->file, values);
}

rgm_status rgmi_objectives_of(double *metrics, const rgm_search_file *file, const rgm_json *values)
{
    const rgm_objective *objectives;
    int64_t count = rgm_search_file_objectives(&objectives, file);

    for (int64_t i = 0; i < count; i++)
        if (!rgm_json_number(&metrics[i], find_metric(values, objectives[i].metric)))
            return fail_metric(values, objectives[i].metric);
    return RGM_OK;
}

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

double rgmi_metric_of(const rgmi_experiment *e, const double *metrics)
{
    const rgm_objective *objectives;
    int64_t count = rgm_search_file_objectives(&objectives, e->file);

    return rgm_objectives_broken(objectives, count, metrics) > 0 ? (double)NAN : metrics[0];
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

/* ---- metrics of events --------------------------------------------------------------------- */

rgm_status rgmi_metrics_read(double *metrics, const rgmi_experiment *e, const char *text)
{
    const rgm_objective *objectives;
    int64_t count = rgm_search_file_objectives(&objectives, e->file);
    rgm_json *json;
    rgm_status status = RGM_OK;

    RGM_TRY(rgm_json_parse(&json, text, (int64_t)strlen(text), "event"));
    for (int64_t i = 0; i < count && status == RGM_OK; i++)
        if (!rgm_json_number(&metrics[i], rgm_json_at(json, i)))
            status = RGM_FAIL(RGM_ERR_DATA, "an event's metrics are '%s'", text);
    rgm_json_release(json);
    return status;
}

rgm_status rgmi_metrics_print(rgm_text *out, const double *metrics, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        RGM_TRY(rgm_text_add(out, i == 0 ? "[" : ", ", i == 0 ? 1 : 2));
        RGM_TRY(rgm_json_print_number(out, metrics[i]));
    }
    return rgm_text_add(out, "]", 1);
}

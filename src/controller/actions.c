/*
 * Actions between steps: a list in order, each with its condition. And NewBestMetric: whether a
 * metric is better than ever before, over restarts too if it has a file.
 */
#include "controller_internal.h"

#include <math.h>
#include <string.h>

rgm_status rgmi_run_actions(rgm_controller *c, const rgm_action *actions, int64_t count,
                            const rgm_logs *logs)
{
    for (int64_t i = 0; i < count && rgmi_rank(c) == 0; i++) {
        const rgm_action *a = &actions[i];
        double begin = rgm_trainer_profile_now(c->trainer);
        rgm_status status;

        if (a->condition != NULL && !a->condition(logs, c, a->payload))
            continue;
        status = a->run(logs, c, a->payload);
        rgm_trainer_profile_beside(c->trainer, "action", a->name, begin);
        if (status != RGM_OK && a->name != NULL)
            return rgm_error_prefix(status, "action '%s'", a->name);
        RGM_TRY(status);
    }
    return RGM_OK;
}

rgm_status rgmi_export_step(rgm_controller *c)
{
    int64_t step = rgm_trainer_global_step(c->trainer);

    if (c->export_step == NULL || c->exported_step == step) /* exported for another reason */
        return RGM_OK;
    RGM_TRY(c->export_step(c->export_payload));
    c->exported_step = step;
    return RGM_OK;
}

struct rgm_new_best {
    char *metric, *file;
    bool higher;
    double value; /* NaN before the first */
};

static rgm_status read_value(rgm_new_best *best)
{
    rgm_status status = RGM_OK;
    char *data = NULL;
    int64_t size;
    rgm_json *json = NULL;

    if (!rgm_path_exists(best->file))
        return RGM_OK;
    RGM_GO(rgm_file_load(&data, &size, best->file, 1 << 20));
    if (rgm_json_parse(&json, data, size, best->file) != RGM_OK ||
        !rgm_json_number(&best->value, rgm_json_find(json, best->metric)))
        status = RGM_FAIL(RGM_ERR_FORMAT,
                          "%s is no JSON object with a number '%s'; delete it to begin "
                          "anew",
                          best->file, best->metric);
done:
    rgm_json_release(json);
    rgm_free(data);
    return status;
}

/* The folder is created when there is something to write. */
static rgm_status make_parent(const char *file)
{
    const char *slash = strrchr(file, '/');
    char *folder = NULL;
    rgm_status status;

    if (slash == NULL || slash == file)
        return RGM_OK;
    RGM_TRY(rgm_strndup(&folder, file, (size_t)(slash - file)));
    status = rgm_folder_make(folder);
    rgm_free(folder);
    return status;
}

static rgm_status write_value(const rgm_new_best *best)
{
    rgm_status status = RGM_OK;
    rgm_text text = {0};

    if (best->file == NULL)
        return RGM_OK;
    RGM_GO(make_parent(best->file));
    RGM_GO(rgm_text_printf(&text, "{"));
    RGM_GO(rgm_json_print_text(&text, best->metric));
    RGM_GO(rgm_text_printf(&text, ": "));
    RGM_GO(rgm_json_print_number(&text, best->value));
    RGM_GO(rgm_text_printf(&text, "}\n"));
    RGM_GO(rgm_file_save(best->file, text.data, text.size));
done:
    rgm_text_clear(&text);
    return status;
}

rgm_status rgm_new_best_create(rgm_new_best **out, const char *metric, bool higher_is_better,
                               const char *file)
{
    rgm_status status = RGM_OK;
    rgm_new_best *best = NULL;

    *out = NULL;
    RGM_GO(RGM_NEW(best, 1));
    best->higher = higher_is_better;
    best->value = NAN;
    RGM_GO(rgm_strdup(&best->metric, metric));
    if (file != NULL) {
        RGM_GO(rgm_strdup(&best->file, file));
        RGM_GO(read_value(best));
    }
    *out = best;
    best = NULL;
done:
    rgm_new_best_release(best);
    return status;
}

void rgm_new_best_release(rgm_new_best *best)
{
    if (best == NULL)
        return;
    rgm_free(best->metric);
    rgm_free(best->file);
    rgm_free(best);
}

static rgm_status missing(const rgm_new_best *best, const rgm_logs *logs)
{
    rgm_status status = RGM_OK;
    rgm_text names = {0};

    for (int64_t i = 0; i < logs->count; i++)
        RGM_GO(rgm_text_printf(&names, " %s", logs->items[i].name));
    status = RGM_FAIL(RGM_ERR_NOT_FOUND, "no metric '%s' to choose the best by; there are:%s",
                      best->metric, names.size > 0 ? names.data : " none");
done:
    rgm_text_clear(&names);
    return status;
}

rgm_status rgm_new_best_test(bool *is_best, const rgm_new_best *best, const rgm_logs *logs)
{
    double value = rgm_logs_get(logs, best->metric);

    *is_best = false;
    if (!rgm_logs_has(logs, best->metric))
        return missing(best, logs);
    if (isfinite(value)) /* a JSON file could not keep any other */
        *is_best = isnan(best->value) || (best->higher ? value > best->value : value < best->value);
    return RGM_OK;
}

rgm_status rgm_new_best_commit(bool *is_best, rgm_new_best *best, const rgm_logs *logs)
{
    double before = best->value;
    rgm_status status;

    RGM_TRY(rgm_new_best_test(is_best, best, logs));
    if (!*is_best)
        return RGM_OK;
    best->value = rgm_logs_get(logs, best->metric);
    status = write_value(best);
    if (status != RGM_OK) /* not recorded, so it is new again next time */
        best->value = before;
    return status;
}

double rgm_new_best_value(const rgm_new_best *best)
{
    return best->value;
}

/* Learning curves out of a run folder's metrics.jsonl. */
#include <regimen/store.h>

#include <stdlib.h>
#include <string.h>

static rgm_status find_curve(rgm_curve **out, rgm_run_curves *run, const char *split,
                             const char *metric)
{
    for (int64_t i = 0; i < run->count; i++) {
        *out = &run->curves[i];
        if (strcmp((*out)->split, split) == 0 && strcmp((*out)->metric, metric) == 0)
            return RGM_OK;
    }
    RGM_TRY(RGM_RESERVE(run->curves, run->capacity, run->count + 1));
    *out = &run->curves[run->count++];
    **out = (rgm_curve){0};
    RGM_TRY(rgm_strdup(&(*out)->split, split));
    return rgm_strdup(&(*out)->metric, metric);
}

static rgm_status add_entry(const rgm_metrics_entry *entry, void *payload)
{
    for (int64_t i = 0; i < entry->count; i++) {
        rgm_curve *c = NULL;

        RGM_TRY(find_curve(&c, payload, entry->split, entry->numbers[i].name));
        RGM_TRY(RGM_RESERVE(c->points, c->capacity, c->count + 1));
        c->points[c->count++] = (rgm_curve_point){entry->step, entry->numbers[i].value};
    }
    return RGM_OK;
}

/* The last part of a path; "." and similar are resolved first. */
static rgm_status folder_name(char **out, const char *path)
{
    char *real = realpath(path, NULL);
    const char *slash = real != NULL ? strrchr(real, '/') : NULL;
    rgm_status status = rgm_strdup(out, slash != NULL && slash[1] != '\0' ? slash + 1 : path);

    free(real);
    return status;
}

rgm_status rgm_run_curves_load(rgm_run_curves *run, const char *folder)
{
    rgm_status status = RGM_OK;
    char *path = NULL;

    *run = (rgm_run_curves){0};
    if (!rgm_path_is_folder(folder))
        return RGM_FAIL(RGM_ERR_NOT_FOUND, "there is no run folder '%s'", folder);
    RGM_GO(rgm_path_join(&path, folder, "metrics.jsonl"));
    if (!rgm_path_exists(path))
        RGM_GO(RGM_FAIL(RGM_ERR_NOT_FOUND, "'%s' has no metrics.jsonl: it is not a run folder",
                        folder));
    RGM_GO(folder_name(&run->name, folder));
    RGM_GO(rgm_metrics_log_read(path, add_entry, run));
    if (run->count == 0)
        RGM_GO(RGM_FAIL(RGM_ERR_NOT_FOUND, "%s has no measurement yet: its first epoch is not over",
                        path));
done:
    if (status != RGM_OK)
        rgm_run_curves_clear(run);
    rgm_free(path);
    return status;
}

void rgm_run_curves_clear(rgm_run_curves *run)
{
    for (int64_t i = 0; i < run->count; i++) {
        rgm_free(run->curves[i].split);
        rgm_free(run->curves[i].metric);
        rgm_free(run->curves[i].points);
    }
    rgm_free(run->curves);
    rgm_free(run->name);
    *run = (rgm_run_curves){0};
}

/* summary.json in the folder of several runs: what those that are done came to, with means. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "verb_run.h"

#define SUMMARY        "summary.json"
#define LARGEST_RESULT (INT64_C(64) << 20)

/* ---- summary.json -------------------------------------------------------------------------- */

rgm_status series_summary_load(json_t **out, const char *folder)
{
    rgm_status status = RGM_OK;
    char *path = NULL, *text = NULL;
    int64_t size = 0;

    *out = NULL;
    RGM_GO(rgm_path_join(&path, folder, SUMMARY));
    if (rgm_path_exists(path)) {
        RGM_GO(rgm_file_load(&text, &size, path, LARGEST_RESULT));
        *out = json_loadb(text, (size_t)size, 0, NULL);
        if (!json_is_object(json_object_get(*out, "runs"))) {
            say("damaged", "%s: it is made anew", path);
            json_decref(*out);
            *out = NULL;
        }
    }
    if (*out == NULL)
        *out = json_pack("{s:{}, s:i, s:{}}", "runs", "count", 0, "metrics");
    if (*out == NULL)
        status = RGM_FAIL(RGM_ERR_NOMEM, "out of memory for %s", SUMMARY);
done:
    rgm_free(text);
    rgm_free(path);
    return status;
}

rgm_status series_summary_save(const json_t *summary, const char *folder)
{
    rgm_status status = RGM_OK;
    char *path = NULL, *text = json_dumps(summary, JSON_INDENT(1) | JSON_REAL_PRECISION(17));

    if (text == NULL)
        return RGM_FAIL(RGM_ERR_NOMEM, "out of memory for %s", SUMMARY);
    RGM_GO(rgm_path_join(&path, folder, SUMMARY));
    RGM_GO(rgm_file_save_own(path, text, (int64_t)strlen(text)));
done:
    free(text);
    rgm_free(path);
    return status;
}

rgm_status series_load(json_t **out, const char *folder)
{
    *out = NULL;
    return rgm_folder_has(folder, SUMMARY) && !rgm_run_folder_exists(folder)
               ? series_summary_load(out, folder)
               : RGM_OK;
}

rgm_status series_refuse(const char *folder)
{
    json_t *summary, *runs;
    rgm_status status = series_load(&summary, folder);
    const char *first;

    if (status != RGM_OK || summary == NULL)
        return status;
    runs = json_object_get(summary, "runs");
    first = json_object_iter_key(json_object_iter(runs));
    status = RGM_FAIL(RGM_ERR_CONFIG, "%s is a folder of several runs: name one of them, as %s/%s",
                      folder, folder, first != NULL ? first : "fold-1");
    json_decref(summary);
    return status;
}

/* One number over the runs that have it. */
typedef struct series_sum {
    double sum, squares, least, largest;
    int64_t count;
} series_sum;

static void sum_add(series_sum *s, double value, double mean)
{
    s->least = s->count == 0 || value < s->least ? value : s->least;
    s->largest = s->count == 0 || value > s->largest ? value : s->largest;
    s->sum += value;
    s->squares += (value - mean) * (value - mean);
    s->count++;
}

/* metrics.<part>.<name> of every run that has it; deviations from `mean`. */
static series_sum sum_runs(const json_t *runs, const char *part, const char *name, double mean)
{
    series_sum sum = {0};
    const char *key;
    json_t *run;

    json_object_foreach((json_t *)runs, key, run)
    {
        const json_t *value =
            json_object_get(json_object_get(json_object_get(run, "metrics"), part), name);

        if (json_is_number(value))
            sum_add(&sum, json_number_value(value), mean);
    }
    return sum;
}

/* "test.accuracy": {"mean": .., "deviation": .., ...}; of one run there is no deviation. */
static void set_figure(json_t *figures, const json_t *runs, const char *part, const char *name)
{
    series_sum sum = sum_runs(runs, part, name, 0);
    double mean = sum.sum / (double)sum.count;
    json_t *deviation = json_null();
    char full[256];

    if (sum.count == 0)
        return;
    sum = sum_runs(runs, part, name, mean);
    if (sum.count > 1)
        deviation = json_number(sqrt(sum.squares / (double)(sum.count - 1)));
    snprintf(full, sizeof full, "%s.%s", part, name);
    json_object_set_new(figures, full,
                        json_pack("{s:o, s:o, s:f, s:f, s:I}", "mean", json_number(mean),
                                  "deviation", deviation, "least", sum.least, "largest",
                                  sum.largest, "count", (json_int_t)sum.count));
}

json_t *series_figures(const json_t *runs)
{
    json_t *figures = json_object(), *run, *values, *value;
    const char *key, *part, *name;
    char full[256];

    json_object_foreach((json_t *)runs, key, run)
    {
        json_object_foreach(json_object_get(run, "metrics"), part, values)
        {
            json_object_foreach(values, name, value)
            {
                snprintf(full, sizeof full, "%s.%s", part, name);
                if (json_object_get(figures, full) == NULL)
                    set_figure(figures, runs, part, name);
            }
        }
    }
    return figures;
}

/* ---- which file made them ------------------------------------------------------------------- */

static void hash_of(char out[17], const rgm_experiment *one)
{
    const char *text = rgm_experiment_text(one);

    snprintf(out, 17, "%016" PRIx64, rgm_hash64(text, strlen(text)));
}

/* config.yaml alone does not tell: a start with another file writes it, and may come no further. */
rgm_status series_is_of(bool *is, const json_t *run, const char *run_dir, const rgm_experiment *one)
{
    const char *made_by = json_string_value(json_object_get(run, "config"));
    char *config = NULL, hash[17];
    int64_t size = 0;

    *is = false;
    if (!rgm_run_folder_exists(run_dir))
        return RGM_OK;
    hash_of(hash, one);
    RGM_TRY(rgm_run_folder_config(&config, &size, run_dir));
    *is = strcmp(config, rgm_experiment_text(one)) == 0 &&
          (made_by == NULL || strcmp(made_by, hash) == 0); /* NULL: of an earlier version */
    rgm_free(config);
    return RGM_OK;
}

/* Run i, if it is in the summary by another file, one of another length say. */
static rgm_status drop_if_other(json_t *runs, const series_part *part, int64_t i)
{
    rgm_status status = RGM_OK;
    rgm_experiment *one = NULL;
    char *name = NULL, *run_dir = NULL;
    const json_t *run;
    bool is;

    RGM_GO(rgm_experiment_part(&one, &name, part->all, i));
    run = json_object_get(runs, name);
    if (run == NULL)
        goto done;
    RGM_GO(rgm_path_join(&run_dir, part->folder, name));
    RGM_GO(series_is_of(&is, run, run_dir, one));
    if (!is) {
        say("left out",
            "%s ended with another configuration: what they come to is without it until it ends "
            "with this one",
            run_dir);
        json_object_del(runs, name);
    }
done:
    rgm_experiment_release(one);
    rgm_free(name);
    rgm_free(run_dir);
    return status;
}

rgm_status series_keep(const series_part *part, const rgm_experiment *one, json_t *result)
{
    int64_t count = part->all != NULL ? rgm_experiment_part_count(part->all) : 0;
    rgm_status status = RGM_OK;
    json_t *summary = NULL, *runs;
    char hash[17];

    hash_of(hash, one);
    json_object_set_new(result, "config", json_string(hash));
    RGM_GO(series_summary_load(&summary, part->folder));
    runs = json_object_get(summary, "runs");
    json_object_set(runs, part->name, result);
    for (int64_t i = 0; i < count; i++)
        RGM_GO(drop_if_other(runs, part, i));
    json_object_set_new(summary, "count",
                        json_integer(count > 0 ? count : (json_int_t)json_object_size(runs)));
    json_object_set_new(summary, "metrics", series_figures(runs));
    RGM_GO(series_summary_save(summary, part->folder));
done:
    json_decref(summary);
    return status;
}

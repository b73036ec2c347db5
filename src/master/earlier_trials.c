/*
 * Searches to learn from: `searcher.source_experiment`. The trials of the other experiment are
 * copied when the new one is made, so that what becomes of the other later changes nothing.
 */
#include "master_internal.h"

#include <regimen/search_live.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

/* One of the other experiment's, as a row of the new one. */
typedef struct earlier_trial {
    char *hyperparameters;
    double metrics[RGM_MAX_OBJECTIVES];
    int64_t length;
} earlier_trial;

typedef struct earlier_trials {
    earlier_trial *items;
    int64_t count, capacity, others; /* others: of which nothing can be learned */
    char why[RGM_MESSAGE_ROOM];      /* ... of the first of them                */
} earlier_trials;

static void clear_trials(earlier_trials *t)
{
    for (int64_t i = 0; i < t->count; i++)
        rgm_free(t->items[i].hyperparameters);
    rgm_free(t->items);
}

/* ---- reading them --------------------------------------------------------------------------- */

static rgm_status read_values(rgm_hyper_value *values, const rgm_search_file *file,
                              const char *hyperparameters)
{
    rgm_status status = RGM_OK;
    rgm_yaml *yaml = NULL;

    RGM_GO(rgm_yaml_parse(&yaml, hyperparameters, (int64_t)strlen(hyperparameters), "trial"));
    RGM_GO(rgm_space_read_point(values, rgm_search_file_space(file), rgm_yaml_root(yaml)));
done:
    rgm_yaml_release(yaml);
    return status;
}

static rgm_status read_metrics(double *metrics, const rgm_search_file *file, const char *text)
{
    rgm_status status = RGM_OK;
    rgm_json *json = NULL;

    RGM_GO(rgm_json_parse(&json, text, (int64_t)strlen(text), "metrics"));
    RGM_GO(rgmi_objectives_of(metrics, file, json));
done:
    rgm_json_release(json);
    return status;
}

static rgm_status read_trial(earlier_trial *out, const rgm_search_file *file,
                             rgm_hyper_value *values, rgmi_rows *rows)
{
    const char *text = rgmi_rows_text(rows, 1);
    double units = 0;

    RGM_TRY(read_values(values, file, text));
    RGM_TRY(read_metrics(out->metrics, file, rgmi_rows_text(rows, 2)));
    rgm_search_file_units(&units, file, values, (double)rgmi_rows_int(rows, 3));
    out->length = (int64_t)floor(units);
    if (out->length < 1)
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "it was validated at %lld batches, which is less than one "
                        "unit of this search's lengths",
                        (long long)rgmi_rows_int(rows, 3));
    return rgm_strdup(&out->hyperparameters, text);
}

/* One that does not fit this search is no error: it is counted. */
static rgm_status take_row(earlier_trials *t, const rgm_search_file *file, rgm_hyper_value *values,
                           rgmi_rows *rows)
{
    rgm_status status;

    if (rgmi_rows_text(rows, 2) == NULL)
        return RGM_OK;
    RGM_TRY(RGM_RESERVE(t->items, t->capacity, t->count + 1));
    t->items[t->count] = (earlier_trial){.length = 0};
    status = read_trial(&t->items[t->count], file, values, rows);
    if (status == RGM_OK)
        t->count++;
    if (status != RGM_ERR_CONFIG)
        return status;
    if (t->others++ == 0)
        snprintf(t->why, sizeof t->why, "trial %lld: %s", (long long)rgmi_rows_int(rows, 0),
                 rgm_error_message());
    rgm_error_reset();
    return RGM_OK;
}

static rgm_status read_all(earlier_trials *t, rgm_master *master, const rgm_search_file *file,
                           int64_t source)
{
    rgm_status status = RGM_OK;
    rgm_hyper_value *values = NULL;
    rgmi_rows *rows = NULL;

    RGM_GO(RGM_NEW(values, rgm_space_count(rgm_search_file_space(file)) + 1));
    RGM_GO(rgmi_database_query(
        &rows, master->database,
        "SELECT t.number, t.hyperparameters, v.metrics, v.batches FROM trials t JOIN validations v"
        " ON v.trial_id = t.id AND v.step_id = (SELECT max(step_id) FROM validations WHERE trial_id"
        " = t.id) WHERE t.experiment_id = ? ORDER BY t.number",
        "i", source));
    while ((status = rgmi_rows_next(master->database, rows)) == RGM_OK)
        RGM_GO(take_row(t, file, values, rows));
    if (status == RGM_END)
        status = RGM_OK;
done:
    rgmi_rows_leave(rows);
    rgm_free(values);
    return status;
}

static rgm_status check_sampler(const rgm_search_file *file, const rgm_yaml_node *node)
{
    rgm_searcher *searcher = NULL;
    rgm_status status = RGM_OK;

    RGM_GO(rgm_search_file_searcher(&searcher, file, 0, NULL));
    if (!rgm_searcher_learns(searcher))
        RGM_GO(rgm_yaml_fail(node, "'searcher.source_experiment' is for a sampler that learns of "
                                   "earlier trials: tpe, gp, bohb or nsga2"));
done:
    rgm_searcher_release(searcher);
    return status;
}

static rgm_status gather(earlier_trials *t, rgm_master *master, const rgm_search_file *file)
{
    const rgm_yaml_node *searcher = rgm_search_file_section(file, "searcher");
    const rgm_yaml_node *node = rgm_yaml_find(searcher, "source_experiment");
    int64_t source, is_there;

    if (node == NULL)
        return RGM_OK;
    RGM_TRY(rgm_yaml_int(&source, node));
    RGM_TRY(check_sampler(file, node));
    RGM_TRY(rgmi_database_int(&is_there, master->database, 0,
                              "SELECT count(*) FROM experiments WHERE id = ?", "i", source));
    if (is_there == 0)
        return rgm_yaml_fail(node, "there is no experiment %lld to learn of", (long long)source);
    RGM_TRY(read_all(t, master, file, source));
    if (t->count == 0 && t->others == 0)
        return rgm_yaml_fail(node, "experiment %lld has no trial that was validated",
                             (long long)source);
    if (t->count == 0)
        return rgm_yaml_fail(node,
                             "nothing can be learned of the %lld trials of experiment %lld; %s",
                             (long long)t->others, (long long)source, t->why);
    if (t->others > 0)
        rgm_log_write(RGM_LOG_WARNING,
                      "of experiment %lld %lld trials are learned of, and %lld are not: %s",
                      (long long)source, (long long)t->count, (long long)t->others, t->why);
    return RGM_OK;
}

/* ---- rows ----------------------------------------------------------------------------------- */

rgm_status rgmi_earlier_check(rgm_master *master, const rgm_search_file *file)
{
    earlier_trials t = {0};
    rgm_status status = gather(&t, master, file);

    clear_trials(&t);
    return status;
}

static rgm_status write_row(rgm_master *master, int64_t experiment, int64_t id,
                            const earlier_trial *trial, int64_t objectives)
{
    rgm_status status = RGM_OK;
    rgm_text metrics = {0};

    RGM_GO(rgmi_metrics_print(&metrics, trial->metrics, objectives));
    RGM_GO(rgmi_database_run(master->database,
                             "INSERT INTO earlier_trials(experiment_id, id, hyperparameters,"
                             " metrics, length) VALUES(?, ?, ?, ?, ?)",
                             "iitti", experiment, id, trial->hyperparameters, metrics.data,
                             trial->length));
done:
    rgm_text_clear(&metrics);
    return status;
}

rgm_status rgmi_earlier_copy(rgm_master *master, int64_t experiment, const rgm_search_file *file)
{
    const rgm_objective *objectives;
    int64_t count = rgm_search_file_objectives(&objectives, file);
    earlier_trials t = {0};
    rgm_status status = RGM_OK;

    RGM_GO(gather(&t, master, file));
    for (int64_t i = 0; i < t.count; i++)
        RGM_GO(write_row(master, experiment, i + 1, &t.items[i], count));
done:
    clear_trials(&t);
    return status;
}

rgm_status rgmi_earlier_tell(rgm_master *master, const rgmi_experiment *e, rgm_searcher *searcher)
{
    double metrics[RGM_MAX_OBJECTIVES];
    rgm_hyper_value *values = NULL;
    rgmi_rows *rows = NULL;
    rgm_status status = RGM_OK;
    rgm_yaml *yaml = NULL;

    RGM_GO(RGM_NEW(values, rgm_space_count(rgm_searcher_space(searcher)) + 1));
    RGM_GO(rgmi_database_query(&rows, master->database,
                               "SELECT id, hyperparameters, metrics, length FROM earlier_trials"
                               " WHERE experiment_id = ? ORDER BY id",
                               "i", e->id));
    while ((status = rgmi_rows_next(master->database, rows)) == RGM_OK) {
        const char *text = rgmi_rows_text(rows, 1);

        if (rgmi_rows_text(rows, 2) == NULL)
            RGM_GO(RGM_FAIL(RGM_ERR_FORMAT, "an earlier trial without metrics"));
        RGM_GO(rgm_yaml_parse(&yaml, text, (int64_t)strlen(text), "an earlier trial"));
        RGM_GO(rgm_space_read_trial(values, rgm_searcher_space(searcher), rgm_yaml_root(yaml)));
        RGM_GO(rgmi_metrics_read(metrics, e, rgmi_rows_text(rows, 2)));
        RGM_GO(rgm_searcher_learn(searcher, values, rgmi_rows_int(rows, 3), metrics));
        rgm_yaml_release(yaml);
        yaml = NULL;
    }
    if (status == RGM_END)
        status = RGM_OK;
done:
    rgmi_rows_leave(rows);
    rgm_yaml_release(yaml);
    rgm_free(values);
    return status;
}

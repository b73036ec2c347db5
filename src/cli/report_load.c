/* A search as its master tells it: its file, its trials, their validations, their times on slots.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report.h"

#include <regimen/search_live.h>

/** What is being loaded. */
typedef struct loading {
    rgm_search_report *r;
    const asked_master *whom;
    int64_t experiment;
    rgm_search_file *file;
    const rgm_space *space;
    int64_t *columns;        /* [space] hyperparameter of the report; -1: a const */
    rgm_hyper_value *values; /* [trials, space]                                  */
    int64_t *seeds;          /* [trials]                                         */
    double began, last;      /* seconds since 1970; last: of what is known       */
} loading;

static rgm_status copy_text(char **out, const char *text)
{
    return text[0] != '\0' ? rgm_strdup(out, text) : RGM_OK;
}

static void note_time(loading *l, double time)
{
    if (isfinite(time))
        l->last = fmax(l->last, time);
}

/* ---- experiment ---------------------------------------------------------------------------- */

static rgm_status load_experiment(loading *l)
{
    rgm_status status = RGM_OK;
    json_t *row = NULL;
    const char *description;

    RGM_GO(ask(&row, l->whom, "GET", NULL, "/api/v1/experiments/%lld", (long long)l->experiment));
    description = text_of(row, "description");
    l->r->id = l->experiment;
    RGM_GO(copy_text(&l->r->name, description[0] != '\0' ? description : text_of(row, "name")));
    RGM_GO(copy_text(&l->r->state, text_of(row, "state")));
    RGM_GO(rgm_strdup(&l->r->unit, "batches"));
    l->began = time_of(row, "start_time");
    l->last = l->began;
    note_time(l, time_of(row, "end_time"));
done:
    json_decref(row);
    return status;
}

static rgm_status load_objectives(loading *l)
{
    const rgm_objective *objectives;
    int64_t count = rgm_search_file_objectives(&objectives, l->file);

    for (int64_t i = 0; i < count && i < RGM_REPORT_OBJECTIVES && !objectives[i].is_bound; i++) {
        l->r->objectives[i].smaller_is_better = objectives[i].smaller_is_better;
        l->r->objective_count = i + 1;
        RGM_TRY(rgm_strdup(&l->r->objectives[i].name, objectives[i].metric));
    }
    return RGM_OK;
}

static rgm_status load_hyper(loading *l, int64_t i)
{
    const rgm_hyperparameter *from = rgm_space_at(l->space, i);
    rgm_report_scale scale = from->kind == RGM_HYPER_CATEGORICAL ? RGM_REPORT_CHOICE
                             : from->kind == RGM_HYPER_LOG       ? RGM_REPORT_LOG
                                                                 : RGM_REPORT_LINEAR;
    rgm_report_hyper *hyper;
    int64_t choice;

    l->columns[i] = -1;
    if (from->kind == RGM_HYPER_CONST)
        return RGM_OK;
    l->columns[i] = l->r->hyper_count;
    RGM_TRY(rgm_report_add_hyper(&hyper, l->r, from->name, scale));
    hyper->whole = from->kind == RGM_HYPER_INT;
    for (int64_t k = 0; k < from->values.count && scale == RGM_REPORT_CHOICE; k++)
        RGM_TRY(rgm_report_add_choice(&choice, hyper, from->values.items[k]));
    return RGM_OK;
}

static rgm_status load_file(loading *l)
{
    rgm_status status = RGM_OK;
    const rgm_yaml_node *name;
    json_t *row = NULL;
    const char *text;

    RGM_GO(ask(&row, l->whom, "GET", NULL, "/api/v1/experiments/%lld/config",
               (long long)l->experiment));
    text = text_of(row, "config");
    RGM_GO(rgm_search_file_glance(&l->file, text, (int64_t)strlen(text), text_of(row, "name")));
    l->space = rgm_search_file_space(l->file);
    name = rgm_yaml_find(rgm_search_file_section(l->file, "searcher"), "name");
    RGM_GO(copy_text(&l->r->searcher, name != NULL && name->text != NULL ? name->text : ""));
    RGM_GO(load_objectives(l));
    RGM_GO(RGM_NEW(l->columns, rgm_space_count(l->space) + 1));
    for (int64_t i = 0; i < rgm_space_count(l->space); i++)
        RGM_GO(load_hyper(l, i));
done:
    json_decref(row);
    return status;
}

/* ---- trials -------------------------------------------------------------------------------- */

/* JSON on one line is YAML. */
static rgm_status read_values(rgm_hyper_value *values, const loading *l, const json_t *from)
{
    rgm_status status = RGM_OK;
    rgm_yaml *yaml = NULL;
    char *text = json_dumps(from, JSON_COMPACT);

    if (text == NULL)
        RGM_GO(RGM_FAIL(RGM_ERR_NOMEM, "out of memory for the hyperparameters of a trial"));
    RGM_GO(rgm_yaml_parse(&yaml, text, (int64_t)strlen(text), "hyperparameters"));
    RGM_GO(rgm_space_read_trial(values, l->space, rgm_yaml_root(yaml)));
done:
    rgm_yaml_release(yaml);
    free(text);
    return status;
}

static void set_values(rgm_report_trial *trial, const loading *l, const rgm_hyper_value *values)
{
    for (int64_t i = 0; i < rgm_space_count(l->space); i++) {
        rgm_hyperparameter_kind kind = rgm_space_at(l->space, i)->kind;

        if (l->columns[i] >= 0 && values[i].is_set)
            trial->values[l->columns[i]] = (rgm_report_value){
                true, kind == RGM_HYPER_INT ? (double)values[i].integer : values[i].number,
                values[i].choice};
    }
}

static rgm_status load_trials(loading *l)
{
    int64_t size;
    rgm_status status = RGM_OK;
    json_t *rows = NULL;

    RGM_GO(ask_all(&rows, l->whom, "trials", "/api/v1/experiments/%lld/trials",
                   (long long)l->experiment));
    size = rgm_space_count(l->space);
    RGM_GO(RGM_NEW(l->values, (int64_t)json_array_size(rows) * size + 1));
    RGM_GO(RGM_NEW(l->seeds, (int64_t)json_array_size(rows) + 1));
    for (size_t i = 0; i < json_array_size(rows); i++) {
        const json_t *row = json_array_get(rows, i);
        rgm_hyper_value *values = l->values + (int64_t)i * size;
        rgm_report_trial *trial;

        RGM_GO(rgm_report_add_trial(&trial, l->r, int_of(row, "number")));
        RGM_GO(copy_text(&trial->state, text_of(row, "state")));
        RGM_GO(rgm_error_prefix(read_values(values, l, json_object_get(row, "hyperparameters")),
                                "trial %lld of experiment %lld", (long long)trial->number,
                                (long long)l->experiment));
        set_values(trial, l, values);
        trial->trained = int_of(row, "batches");
        l->seeds[i] = int_of(row, "seed");
        note_time(l, time_of(row, "end_time"));
    }
done:
    json_decref(rows);
    return status;
}

/* By number: they are listed in that order, mostly without gaps. */
static rgm_report_trial *find_trial_by_number(rgm_search_report *r, int64_t number)
{
    int64_t low = 0, high = r->trial_count;

    while (low < high) {
        int64_t middle = low + (high - low) / 2;

        if (r->trials[middle].number < number)
            low = middle + 1;
        else
            high = middle;
    }
    return low < r->trial_count && r->trials[low].number == number ? &r->trials[low] : NULL;
}

/* ---- validations --------------------------------------------------------------------------- */

double report_metric(const json_t *metrics, const char *name)
{
    if (json_object_get(metrics, name) == NULL && strncmp(name, "valid.", 6) == 0)
        name += 6;
    return number_of(metrics, name);
}

static rgm_status add_validation(loading *l, const json_t *row)
{
    rgm_report_trial *trial = find_trial_by_number(l->r, int_of(row, "number"));
    double metric = number_of(row, "metric");
    bool is_better;

    note_time(l, time_of(row, "end_time"));
    if (trial == NULL) /* made since the trials were asked for */
        return RGM_OK;
    RGM_TRY(rgm_report_add_point(trial, number_of(row, "batches"), metric));
    trial->latest[0] = metric;
    for (int64_t k = 1; k < l->r->objective_count; k++)
        trial->latest[k] = report_metric(json_object_get(row, "metrics"), l->r->objectives[k].name);
    is_better =
        l->r->objectives[0].smaller_is_better ? metric < trial->best[0] : metric > trial->best[0];
    if (is_better || (isfinite(metric) && !isfinite(trial->best[0])))
        memcpy(trial->best, trial->latest, sizeof trial->best);
    return RGM_OK;
}

static rgm_status load_validations(loading *l)
{
    rgm_status status = RGM_OK;
    json_t *rows = NULL;

    RGM_GO(ask_all(&rows, l->whom, "validations", "/api/v1/experiments/%lld/validations",
                   (long long)l->experiment));
    for (size_t i = 0; i < json_array_size(rows); i++)
        RGM_GO(add_validation(l, json_array_get(rows, i)));
done:
    json_decref(rows);
    return status;
}

/* ---- slots --------------------------------------------------------------------------------- */

/* slots: "0,3". A run that goes on has no end. */
static rgm_status add_run(loading *l, const json_t *row)
{
    rgm_report_trial *trial = find_trial_by_number(l->r, int_of(row, "number"));
    double start = time_of(row, "start_time") - l->began, end = time_of(row, "end_time") - l->began;
    const char *slots = text_of(row, "slots");

    if (trial == NULL)
        return RGM_OK;
    note_time(l, time_of(row, "start_time"));
    note_time(l, time_of(row, "end_time"));
    while (*slots >= '0' && *slots <= '9') {
        char *behind;
        int64_t slot = strtoll(slots, &behind, 10);

        RGM_TRY(rgm_report_add_interval(trial, slot, start, end));
        slots = behind + (*behind == ',');
    }
    return RGM_OK;
}

/* A trial's time is what its processes were alive, whatever slots each had. */
static void set_seconds(rgm_report_trial *trial, double now)
{
    for (int64_t i = 0; i < trial->interval_count; i++) {
        const rgm_report_interval *at = &trial->intervals[i];

        if (i > 0 && at->start == at[-1].start)
            continue;
        trial->seconds = (isfinite(trial->seconds) ? trial->seconds : 0) +
                         (isfinite(at->end) ? at->end : now) - at->start;
    }
}

static rgm_status load_runs(loading *l)
{
    rgm_status status = RGM_OK;
    json_t *rows = NULL;

    RGM_GO(
        ask_all(&rows, l->whom, "runs", "/api/v1/experiments/%lld/runs", (long long)l->experiment));
    for (size_t i = 0; i < json_array_size(rows); i++)
        RGM_GO(add_run(l, json_array_get(rows, i)));
    l->r->seconds = l->last - l->began;
    for (int64_t i = 0; i < l->r->trial_count; i++)
        set_seconds(&l->r->trials[i], l->r->seconds);
done:
    json_decref(rows);
    return status;
}

/* ---- what follows from them ---------------------------------------------------------------- */

/* Trials of other batch sizes are compared where they have seen as much. */
static rgm_length gather_validated(rgm_validated *out, const loading *l)
{
    const rgm_search_report *r = l->r;
    rgm_length longest = {.unit = RGM_BATCHES};
    int64_t size = rgm_space_count(l->space);

    for (int64_t i = 0; i < r->trial_count; i++)
        for (int64_t k = 0; k < r->trials[i].point_count; k++) {
            const rgm_report_point *point = &r->trials[i].points[k];

            *out = (rgm_validated){.trial = i, .key = point->metric};
            if (!r->objectives[0].smaller_is_better)
                out->key = -out->key;
            longest =
                rgm_search_file_units(&out->length, l->file, l->values + i * size, point->length);
            out++;
        }
    return longest;
}

/* "64 of 64 trials after 1 of 64 epochs" */
static rgm_status tell_over(rgm_search_report *r, const rgm_common_length *common,
                            rgm_length longest)
{
    char of[40] = "";

    if (longest.units > 0)
        snprintf(of, sizeof of, "of %lld ", (long long)longest.units);
    return rgm_strprintf(&r->importance_over, "%lld of %lld trials after %.4g %s%s",
                         (long long)common->trials, (long long)common->of, common->length, of,
                         rgm_length_unit_names[longest.unit]);
}

static rgm_status load_importance(loading *l)
{
    rgm_search_report *r = l->r;
    rgm_status status = RGM_OK;
    const rgm_hyper_value **values = NULL;
    rgm_validated *validated = NULL;
    double *shares = NULL;
    rgm_common_length common;
    rgm_length longest;
    int64_t size = rgm_space_count(l->space), count = 0;

    for (int64_t i = 0; i < r->trial_count; i++)
        count += r->trials[i].point_count;
    RGM_GO(RGM_NEW(values, r->trial_count + 1));
    RGM_GO(RGM_NEW(validated, count + 1));
    RGM_GO(RGM_NEW(shares, size + 1));
    for (int64_t i = 0; i < r->trial_count; i++)
        values[i] = l->values + i * size;
    longest = gather_validated(validated, l);
    status = rgm_space_importance_at_common_length(shares, &common, l->space, values,
                                                   r->trial_count, validated, count, 0);
    if (status == RGM_ERR_DATA) {
        rgm_error_reset();
        RGM_GO(rgm_strprintf(&r->importance_note,
                             "Not known yet: it takes %lld trials of one length that differ.",
                             (long long)r->hyper_count + 2));
        goto done;
    }
    RGM_GO(status);
    for (int64_t i = 0; i < size; i++)
        if (l->columns[i] >= 0)
            r->hypers[l->columns[i]].importance = shares[i];
    RGM_GO(tell_over(r, &common, longest));
done:
    rgm_free((void *)values);
    rgm_free(validated);
    rgm_free(shares);
    return status;
}

/* The place of the best trial; the number of trials: there is none. */
static rgm_status find_best(int64_t *best, const rgm_search_report *r)
{
    rgm_status status = RGM_OK;
    int64_t *rank = NULL;

    *best = 0;
    RGM_GO(RGM_NEW(rank, r->trial_count + 1));
    RGM_GO(rgm_search_report_rank(rank, r));
    while (*best < r->trial_count && rank[*best] != 0)
        ++*best;
done:
    rgm_free(rank);
    return status;
}

/* Its run folder: <folder of the master>/<experiment>/<number>. */
static rgm_status load_best_result(loading *l, int64_t number)
{
    rgm_status status = RGM_OK;
    json_t *master = NULL;
    char *folder = NULL;

    RGM_GO(ask(&master, l->whom, "GET", NULL, "/api/v1/master"));
    RGM_GO(rgm_strprintf(&folder, "%s/%lld/%lld", text_of(master, "folder"),
                         (long long)l->experiment, (long long)number));
    RGM_GO(report_load_result(l->r, folder));
done:
    json_decref(master);
    rgm_free(folder);
    return status;
}

/* Where the length is known to the searcher's own code alone, which is not loaded to look at a
 * search, a file would train for another one: then there is none. */
static rgm_status load_best(loading *l)
{
    rgm_status status = RGM_OK;
    const rgm_hyper_value *values;
    rgm_yaml *document = NULL;
    rgm_text text = {0};
    int64_t best;
    double units;

    RGM_GO(find_best(&best, l->r));
    if (best == l->r->trial_count)
        goto done;
    RGM_GO(load_best_result(l, l->r->trials[best].number));
    values = l->values + best * rgm_space_count(l->space);
    if (rgm_search_file_units(&units, l->file, values, 0).units == 0)
        goto done;
    RGM_GO(rgm_search_file_point(&document, l->file, values, (uint32_t)l->seeds[best]));
    RGM_GO(rgm_yaml_print(&text, rgm_yaml_root(document)));
    RGM_GO(rgm_strdup(&l->r->best_file, text.data));
done:
    rgm_yaml_release(document);
    rgm_text_clear(&text);
    return status;
}

rgm_status report_load(rgm_search_report *out, const asked_master *whom, int64_t experiment)
{
    rgm_status status = RGM_OK;
    loading l = {.r = out, .whom = whom, .experiment = experiment, .began = NAN, .last = NAN};

    *out = (rgm_search_report){.seconds = NAN};
    RGM_GO(load_experiment(&l));
    RGM_GO(load_file(&l));
    RGM_GO(load_trials(&l));
    RGM_GO(load_validations(&l));
    RGM_GO(load_runs(&l));
    RGM_GO(load_importance(&l));
    RGM_GO(load_best(&l));
done:
    rgm_search_file_release(l.file);
    rgm_free(l.columns);
    rgm_free(l.values);
    rgm_free(l.seeds);
    if (status != RGM_OK)
        rgm_search_report_clear(out);
    return status;
}

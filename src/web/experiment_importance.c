/*
 * Which hyperparameters mattered: fANOVA over the trials of an experiment, as `experiment report`
 * has it. The file, the trials and their validations are asked of the master; what takes seconds
 * with many trials is then done here, where it holds up no master, and not again before something
 * changed.
 */
#include "masters.h"
#include "web_internal.h"

#include <regimen/search_live.h>

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PAGE = 1000 };
#define KEPT_SECONDS 10.0 /* of a search that goes on */

typedef struct finding {
    const rgmi_web_call *call;
    rgm_search_file *file;
    const rgm_space *space;
    bool smaller;
    const char *metric;
    rgm_hyper_value *values; /* [count, space] */
    const rgm_hyper_value **rows;
    int64_t *numbers; /* [count] of trials */
    int64_t count;
    rgm_validated *validated; /* [validated_count] */
    int64_t validated_count;
    rgm_length longest; /* in whose unit their lengths are; 0 units: not known */
} finding;

/* ---- asking --------------------------------------------------------------------------------- */

static rgm_status ask(json_t **out, const rgmi_web_call *call, const char *path)
{
    rgm_status status = RGM_OK;
    rgm_response answer = {0};
    rgm_json *error = NULL;
    json_error_t why;

    *out = NULL;
    RGM_GO(rgmi_masters_ask(&answer, call->web->masters, call->id, "GET", path, NULL));
    if (answer.status != 200) {
        const char *message = NULL;

        if (rgm_json_parse(&error, answer.body.data, answer.body.size, "answer") == RGM_OK)
            message = rgm_json_text(rgm_json_find(error, "message"));
        call->out->status = answer.status == 401 ? 502 : answer.status;
        RGM_GO(RGM_FAIL(answer.status == 404 ? RGM_ERR_NOT_FOUND : RGM_ERR_IO, "%s",
                        message != NULL ? message : "the master gives no reason"));
    }
    *out = json_loadb(answer.body.data, (size_t)answer.body.size, 0, &why);
    if (*out == NULL)
        RGM_GO(RGM_FAIL(RGM_ERR_FORMAT, "the master's answer is no JSON: %s", why.text));
done:
    rgm_json_release(error);
    rgm_response_clear(&answer);
    return status;
}

/* All rows of a list, page by page. */
static rgm_status ask_all(json_t **out, const rgmi_web_call *call, const char *key)
{
    rgm_status status = RGM_OK;
    json_t *all = json_array(), *answer = NULL;
    size_t count = PAGE;
    char path[128];

    while (count == PAGE) {
        rgm_text text = {0};

        status =
            rgm_text_printf(&text, "/api/v1/experiments/%lld/%s?limit=%d&offset=%zu",
                            (long long)call->values.ids[1], key, (int)PAGE, json_array_size(all));
        if (status == RGM_OK)
            memcpy(path, text.data, (size_t)text.size + 1);
        rgm_text_clear(&text);
        RGM_GO(status);
        RGM_GO(ask(&answer, call, path));
        count = json_array_size(json_object_get(answer, key));
        if (json_array_extend(all, json_object_get(answer, key)) != 0)
            RGM_GO(RGM_FAIL(RGM_ERR_NOMEM, "out of memory for the trials of an experiment"));
        json_decref(answer);
        answer = NULL;
    }
    *out = all;
    all = NULL;
done:
    json_decref(answer);
    json_decref(all);
    return status;
}

/* ---- what it is found from ------------------------------------------------------------------ */

static rgm_status load_file(finding *f)
{
    rgm_status status = RGM_OK;
    const rgm_objective *objectives;
    json_t *row = NULL;
    const char *text;
    char path[96];

    snprintf(path, sizeof path, "/api/v1/experiments/%lld/config",
             (long long)f->call->values.ids[1]);
    RGM_GO(ask(&row, f->call, path));
    text = json_string_value(json_object_get(row, "config"));
    text = text != NULL ? text : "";
    RGM_GO(rgm_search_file_glance(&f->file, text, (int64_t)strlen(text), "experiment"));
    f->space = rgm_search_file_space(f->file);
    if (rgm_search_file_objectives(&objectives, f->file) < 1)
        RGM_GO(RGM_FAIL(RGM_ERR_DATA, "the experiment has no metric"));
    f->smaller = objectives[0].smaller_is_better;
    f->metric = objectives[0].metric;
done:
    json_decref(row);
    return status;
}

/* JSON on one line is YAML. */
static rgm_status read_values(rgm_hyper_value *values, const finding *f, const json_t *from)
{
    rgm_status status = RGM_OK;
    rgm_yaml *yaml = NULL;
    char *text = json_dumps(from, JSON_COMPACT | JSON_ENCODE_ANY);

    if (text == NULL)
        RGM_GO(RGM_FAIL(RGM_ERR_DATA, "a trial has no hyperparameters"));
    RGM_GO(rgm_yaml_parse(&yaml, text, (int64_t)strlen(text), "hyperparameters"));
    RGM_GO(rgm_space_read_trial(values, f->space, rgm_yaml_root(yaml)));
done:
    rgm_yaml_release(yaml);
    free(text);
    return status;
}

static rgm_status load_trials(finding *f)
{
    int64_t size = rgm_space_count(f->space), count;
    rgm_status status = RGM_OK;
    json_t *rows = NULL;

    RGM_GO(ask_all(&rows, f->call, "trials"));
    count = (int64_t)json_array_size(rows);
    RGM_GO(RGM_NEW(f->values, count * size + 1));
    RGM_GO(RGM_NEW(f->rows, count + 1));
    RGM_GO(RGM_NEW(f->numbers, count + 1));
    for (; f->count < count; f->count++) {
        const json_t *row = json_array_get(rows, (size_t)f->count);

        f->rows[f->count] = f->values + f->count * size;
        f->numbers[f->count] = json_integer_value(json_object_get(row, "number"));
        RGM_GO(
            read_values(f->values + f->count * size, f, json_object_get(row, "hyperparameters")));
    }
done:
    json_decref(rows);
    return status;
}

static int64_t find_number(const finding *f, int64_t number)
{
    int64_t low = 0, high = f->count;

    while (low < high) {
        int64_t middle = low + (high - low) / 2;

        if (f->numbers[middle] < number)
            low = middle + 1;
        else
            high = middle;
    }
    return low < f->count && f->numbers[low] == number ? low : -1;
}

/* Trials of other batch sizes are compared where they have seen as much. */
static void add_validation(finding *f, const json_t *row)
{
    const json_t *metric = json_object_get(row, "metric");
    int64_t at = find_number(f, json_integer_value(json_object_get(row, "number")));
    double value = json_is_number(metric) ? json_number_value(metric) : NAN;
    double batches = (double)json_integer_value(json_object_get(row, "batches"));
    rgm_validated *v = &f->validated[f->validated_count];

    if (at < 0)
        return; /* made since the trials were asked for */
    *v = (rgm_validated){.trial = at, .key = f->smaller ? value : -value};
    f->longest = rgm_search_file_units(&v->length, f->file, f->rows[at], batches);
    f->validated_count++;
}

static rgm_status load_validations(finding *f)
{
    rgm_status status = RGM_OK;
    json_t *rows = NULL;

    RGM_GO(ask_all(&rows, f->call, "validations"));
    RGM_GO(RGM_NEW(f->validated, (int64_t)json_array_size(rows) + 1));
    for (size_t i = 0; i < json_array_size(rows); i++)
        add_validation(f, json_array_get(rows, i));
done:
    json_decref(rows);
    return status;
}

/* ---- the answer ----------------------------------------------------------------------------- */

static rgm_status print(rgm_text *out, const finding *f, const double *shares,
                        const rgm_common_length *common)
{
    const char *comma = "";

    RGM_TRY(rgm_text_printf(out, "{\"metric\": "));
    RGM_TRY(rgm_json_print_text(out, f->metric));
    RGM_TRY(rgm_text_printf(out, ", \"trials\": %lld, \"of\": %lld, \"length\": ",
                            (long long)common->trials, (long long)common->of));
    RGM_TRY(rgm_json_print_number(out, common->length));
    RGM_TRY(rgm_text_printf(out, ", \"longest\": %lld, \"unit\": \"%s\", \"importance\": [",
                            (long long)f->longest.units, rgm_length_unit_names[f->longest.unit]));
    for (int64_t i = 0; i < rgm_space_count(f->space) && shares != NULL; i++) {
        if (rgm_space_at(f->space, i)->kind == RGM_HYPER_CONST)
            continue;
        RGM_TRY(rgm_text_printf(out, "%s{\"name\": ", comma));
        RGM_TRY(rgm_json_print_text(out, rgm_space_at(f->space, i)->name));
        RGM_TRY(rgm_text_printf(out, ", \"value\": "));
        RGM_TRY(rgm_json_print_number(out, shares[i]));
        RGM_TRY(rgm_text_printf(out, "}"));
        comma = ", ";
    }
    return rgm_text_printf(out, "]}");
}

static rgm_status find_importance(rgmi_web_call *call)
{
    finding f = {.call = call};
    rgm_status status = RGM_OK;
    double *shares = NULL;
    rgm_common_length common;

    RGM_GO(load_file(&f));
    RGM_GO(load_trials(&f));
    RGM_GO(load_validations(&f));
    RGM_GO(RGM_NEW(shares, rgm_space_count(f.space) + 1));
    status = rgm_space_importance_at_common_length(shares, &common, f.space, f.rows, f.count,
                                                   f.validated, f.validated_count, 0);
    if (status == RGM_ERR_DATA) { /* not known yet: an empty list */
        rgm_error_reset();
        RGM_GO(print(&call->out->body, &f, NULL, &common));
        goto done;
    }
    RGM_GO(status);
    RGM_GO(print(&call->out->body, &f, shares, &common));
done:
    rgm_free(shares);
    rgm_free(f.values);
    rgm_free((void *)f.rows);
    rgm_free(f.numbers);
    rgm_free(f.validated);
    rgm_search_file_release(f.file);
    return status;
}

/* ---- what is kept --------------------------------------------------------------------------- */

void rgmi_importances_clear(rgm_web *web)
{
    for (int i = 0; i < RGMI_KEPT_IMPORTANCES; i++)
        rgm_text_clear(&web->importances[i].text);
}

/* The place of an experiment, else the oldest; under the lock. */
static rgmi_kept_importance *find_kept(const rgmi_web_call *call)
{
    rgmi_kept_importance *kept = call->web->importances, *oldest = kept;

    for (int i = 0; i < RGMI_KEPT_IMPORTANCES; i++) {
        if (kept[i].master == call->values.ids[0] && kept[i].experiment == call->values.ids[1])
            return &kept[i];
        if (kept[i].time < oldest->time)
            oldest = &kept[i];
    }
    return oldest;
}

static bool is_of(const rgmi_kept_importance *kept, const rgmi_web_call *call)
{
    return kept->text.size > 0 && kept->master == call->values.ids[0] &&
           kept->experiment == call->values.ids[1];
}

static rgm_status hash_row(uint64_t *out, const rgmi_web_call *call)
{
    rgm_response answer = {0};
    char path[96];

    snprintf(path, sizeof path, "/api/v1/experiments/%lld", (long long)call->values.ids[1]);
    RGM_TRY(rgmi_masters_ask(&answer, call->web->masters, call->id, "GET", path, NULL));
    *out = rgm_hash64(answer.body.data, (size_t)answer.body.size);
    rgm_response_clear(&answer);
    return RGM_OK;
}

rgm_status rgmi_show_importance(rgmi_web_call *call)
{
    rgmi_kept_importance *kept;
    rgm_status status = RGM_OK;
    uint64_t hash;
    bool found;

    rgmi_web_find_masters(call->web, call->id);
    RGM_TRY(hash_row(&hash, call));
    pthread_mutex_lock(&call->web->lock);
    kept = find_kept(call);
    found = is_of(kept, call) && (kept->hash == hash || rgm_now() - kept->time < KEPT_SECONDS);
    if (found)
        status = rgm_text_add(&call->out->body, kept->text.data, kept->text.size);
    pthread_mutex_unlock(&call->web->lock);
    if (found)
        return status;
    RGM_TRY(find_importance(call));
    pthread_mutex_lock(&call->web->lock);
    kept = find_kept(call);
    kept->text.size = 0;
    if (rgm_text_add(&kept->text, call->out->body.data, call->out->body.size) == RGM_OK) {
        kept->master = call->values.ids[0];
        kept->experiment = call->values.ids[1];
        kept->hash = hash;
        kept->time = rgm_now();
    }
    pthread_mutex_unlock(&call->web->lock);
    return RGM_OK;
}

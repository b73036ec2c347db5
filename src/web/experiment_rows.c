/* Experiments as rows of the table: what their masters tell of them. */
#include "masters.h"
#include "index.h"
#include "web_internal.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { PAGE = 200, MOST_PAGES = 50, NAMED = 3 };

/* "2026-11-23T00:49:48.221Z"; NaN: it is none. */
static double time_of(const char *text)
{
    struct tm at = {0};
    double seconds = 0;
    int end = 0;

    if (text == NULL || sscanf(text, "%4d-%2d-%2dT%2d:%2d:%n", &at.tm_year, &at.tm_mon, &at.tm_mday,
                               &at.tm_hour, &at.tm_min, &end) != 5)
        return NAN;
    (void)sscanf(text + end, "%6lf", &seconds);
    at.tm_year -= 1900;
    at.tm_mon -= 1;
    return (double)timegm(&at) + seconds;
}

/* In the words of runs, so that one filter finds both. */
static const char *state_of(const char *name)
{
    static const char *const words[] = {[RGM_WORK_ACTIVE] = "running",
                                        [RGM_WORK_PAUSED] = "paused",
                                        [RGM_WORK_STOPPING_COMPLETED] = "stopping",
                                        [RGM_WORK_STOPPING_CANCELED] = "stopping",
                                        [RGM_WORK_STOPPING_KILLED] = "stopping",
                                        [RGM_WORK_STOPPING_ERROR] = "stopping",
                                        [RGM_WORK_COMPLETED] = "finished",
                                        [RGM_WORK_CANCELED] = "canceled",
                                        [RGM_WORK_ERROR] = "failed",
                                        [RGM_WORK_DELETED] = "deleted"};
    rgm_work_state state;

    return rgm_work_state_find(&state, name) ? words[state] : "unknown";
}

/* Labels, a line each. */
static rgm_status read_labels(rgm_text *out, const rgm_json *labels)
{
    for (int64_t i = 0; i < rgm_json_count(labels) && i < RGMI_MOST_TAGS; i++) {
        const char *label = rgm_json_text(rgm_json_at(labels, i));

        if (label != NULL && strchr(label, '\n') == NULL && strlen(label) <= RGMI_LONGEST_TAG)
            RGM_TRY(rgm_text_printf(out, "%s%s", out->size > 0 ? "\n" : "", label));
    }
    return RGM_OK;
}

static rgm_status add_row(rgmi_experiment_rows *rows, int64_t master, const char *where,
                          const rgm_json *e)
{
    rgmi_run_row draft = rgmi_run_row_empty(RGMI_EXPERIMENT, 0);
    const char *name = rgm_json_text(rgm_json_find(e, "name"));
    rgm_text labels = {0};
    double end;
    rgm_status status = RGM_OK;

    if (!rgm_json_int(&draft.experiment, rgm_json_find(e, "id")))
        return RGM_OK;
    draft.read = true;
    draft.master = master;
    draft.id = (uint64_t)master << 32 | (uint64_t)draft.experiment;
    draft.state = state_of(rgm_json_text(rgm_json_find(e, "state")));
    draft.text[RGMI_TEXT_NAME] = name != NULL ? name : "experiment";
    draft.text[RGMI_TEXT_FOLDER] = strrchr(where, '/') != NULL ? strrchr(where, '/') + 1 : where;
    draft.text[RGMI_TEXT_DESCRIPTION] = rgm_json_text(rgm_json_find(e, "description"));
    draft.text[RGMI_TEXT_REASON] = rgm_json_text(rgm_json_find(e, "message"));
    (void)rgm_json_number(&draft.progress, rgm_json_find(e, "progress"));
    (void)rgm_json_int(&draft.trials, rgm_json_find(e, "trials"));
    (void)rgm_json_int(&draft.failed, rgm_json_find(rgm_json_find(e, "trials_by_state"), "ERROR"));
    (void)rgm_json_bool(&draft.archived, rgm_json_find(e, "archived"));
    if (rgm_json_number(&draft.best_value, rgm_json_find(e, "best_metric")))
        draft.text[RGMI_TEXT_BEST_METRIC] = rgm_json_text(rgm_json_find(e, "metric"));
    draft.started = time_of(rgm_json_text(rgm_json_find(e, "start_time")));
    end = time_of(rgm_json_text(rgm_json_find(e, "end_time")));
    draft.modified = !isnan(end)                           ? end
                     : strcmp(draft.state, "running") == 0 ? floor(rgm_wall_time())
                                                           : draft.started;
    RGM_GO(read_labels(&labels, rgm_json_find(e, "labels")));
    draft.text[RGMI_TEXT_TAGS] = labels.data;
    RGM_GO(RGM_RESERVE(rows->rows, rows->capacity, rows->count + 1));
    RGM_GO(rgmi_run_row_make(&rows->rows[rows->count], &draft));
    rows->count++;
done:
    rgm_text_clear(&labels);
    return status;
}

/* A page of a master's experiments; *more: there are others behind it. */
static rgm_status add_page(rgmi_experiment_rows *rows, bool *more, rgm_web *web, int64_t master,
                           const char *where, int64_t page, bool archived)
{
    rgm_response answer = {0};
    rgm_json *json = NULL;
    const rgm_json *list;
    char path[100];
    int64_t total = 0;
    rgm_status status = RGM_OK;

    *more = false;
    snprintf(path, sizeof path, "/api/v1/experiments?limit=%d&offset=%lld%s", PAGE,
             (long long)page * PAGE, archived ? "&archived=all" : "");
    RGM_GO(rgmi_masters_look(&answer, web->masters, master, path));
    if (answer.status != 200)
        RGM_GO(RGM_FAIL(RGM_ERR_IO, "it answers %d%s", answer.status,
                        answer.status == 401 ? ": REGIMEN_TOKEN is no token of it" : ""));
    RGM_GO(rgm_json_parse(&json, answer.body.data, answer.body.size, "experiments"));
    list = rgm_json_find(json, "experiments");
    for (int64_t i = 0; i < rgm_json_count(list); i++)
        RGM_GO(add_row(rows, master, where, rgm_json_at(list, i)));
    *more = rgm_json_int(&total, rgm_json_find(json, "total")) && (page + 1) * PAGE < total;
done:
    rgm_json_release(json);
    rgm_response_clear(&answer);
    return status;
}

/* Why not all of a master's are here; of the first that lack some. */
static rgm_status note_missing(rgmi_experiment_rows *rows, const char *where, rgm_status why)
{
    const char *between = rows->lacking > 0 ? "; " : "";

    if (why == RGM_ERR_NOMEM)
        return why;
    if (++rows->lacking > NAMED)
        return RGM_OK;
    if (why == RGM_OK)
        return rgm_text_printf(&rows->missing, "%sof the searches of %s only the first %d are here",
                               between, where, PAGE * MOST_PAGES);
    RGM_TRY(rgm_text_printf(&rows->missing, "%sthe searches of %s are missing: %s", between, where,
                            rgm_error_message()));
    rgm_error_reset();
    return RGM_OK;
}

/* Of masters whose reason is not told. */
static rgm_status note_others(rgmi_experiment_rows *rows, rgm_web *web)
{
    if (rows->lacking > NAMED)
        RGM_TRY(rgm_text_printf(&rows->missing, "; and those of %lld more masters",
                                (long long)rows->lacking - NAMED));
    if (!rgmi_runs_lack_masters(web->runs))
        return RGM_OK;
    return rgm_text_printf(&rows->missing,
                           "%sthere are more than %d folders of masters, and the searches of the "
                           "others are missing: name fewer folders to one server",
                           rows->lacking++ > 0 ? "; " : "", RGMI_MOST_MASTERS);
}

rgm_status rgmi_experiment_rows_take(rgmi_experiment_rows *rows, rgm_web *web, bool archived)
{
    int64_t master;
    const char *where;
    bool served, more;
    rgm_status status = RGM_OK;

    *rows = (rgmi_experiment_rows){0};
    rgmi_web_find_masters(web, 0);
    for (int64_t i = 0; rgmi_masters_at(&master, &where, &served, web->masters, i); i++) {
        more = true;
        for (int64_t page = 0; more && page < MOST_PAGES && status == RGM_OK; page++)
            status = add_page(rows, &more, web, master, where, page, archived);
        if (status != RGM_OK || more) /* one that does not answer takes nothing from the others */
            status = note_missing(rows, where, status);
        if (status != RGM_OK)
            break;
    }
    if (status == RGM_OK)
        status = note_others(rows, web);
    if (status != RGM_OK)
        rgmi_experiment_rows_clear(rows);
    return rgm_error_trace(status, __FILE__, __LINE__, __func__);
}

void rgmi_experiment_rows_clear(rgmi_experiment_rows *rows)
{
    for (int64_t i = 0; i < rows->count; i++)
        rgmi_run_row_release(rows->rows[i]);
    rgm_free(rows->rows);
    rgm_text_clear(&rows->missing);
    *rows = (rgmi_experiment_rows){0};
}

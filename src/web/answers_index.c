/* Answers about runs: the table, one run, its tags. */
#include "index_choose.h"
#include "web_internal.h"

#include <regimen/store.h>

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST_ROWS = 1000, ROWS = 100 };
#define LARGEST_OBJECT (INT64_C(64) << 10)
#define LAST_SECTION   8192 /* bytes of system.jsonl's end that are looked at */

/* ---- the table ----------------------------------------------------------------------------- */

static rgm_status read_experiment(rgmi_runs_query *query, const char *text)
{
    char *end = NULL;

    if (text == NULL)
        return RGM_OK;
    query->master = strtoll(text, &end, 10);
    if (*end == ':')
        query->experiment = strtoll(end + 1, &end, 10);
    if (*end != 0 || query->master < 1 || query->experiment < 1)
        return RGM_FAIL(RGM_ERR_ARG, "experiment: '%.40s' is not MASTER:EXPERIMENT, as in 1:7",
                        text);
    return RGM_OK;
}

rgm_status rgmi_runs_query_read(rgmi_runs_query *query, const rgm_target *target,
                                const char *conditions[RGM_TARGET_VALUES])
{
    int64_t archived;
    const char *order = rgm_target_value(target, "order", NULL);
    int64_t describe;

    query->text = rgm_target_value(target, "q", NULL);
    query->states = rgm_target_value(target, "state", NULL);
    if (query->states != NULL && *query->states == 0)
        query->states = NULL;
    query->sort = rgm_target_value(target, "sort", NULL);
    query->columns = rgm_target_value(target, "columns", NULL);
    query->conditions = conditions;
    for (const char *one; (one = rgm_target_value_at(target, "where", query->condition_count));)
        conditions[query->condition_count++] = one;
    if (order != NULL && strcmp(order, "asc") != 0 && strcmp(order, "desc") != 0)
        return RGM_FAIL(RGM_ERR_ARG, "order: '%.40s' is neither asc nor desc", order);
    query->ascending = order != NULL && strcmp(order, "asc") == 0;
    RGM_TRY(rgm_target_int(&query->offset, target, "offset", 0, 0, INT64_MAX / 2));
    RGM_TRY(rgm_target_int(&query->limit, target, "limit", ROWS, 0, MOST_ROWS));
    RGM_TRY(rgm_target_int(&describe, target, "describe", 0, 0, 1));
    query->describe = describe == 1;
    RGM_TRY(rgm_target_int(&archived, target, "archived", 0, 0, 1));
    query->archived = archived == 1;
    query->group = rgm_target_value(target, "group", NULL);
    if (query->group != NULL && *query->group == 0)
        query->group = NULL;
    query->within = rgm_target_value(target, "within", NULL);
    RGM_TRY(read_experiment(query, rgm_target_value(target, "experiment", NULL)));
    RGM_TRY(rgmi_runs_query_kinds(query, rgm_target_value(target, "kind", NULL)));
    if (query->experiment > 0 && rgm_target_value(target, "kind", NULL) == NULL)
        query->kinds[RGMI_TRIAL] = true;
    return RGM_OK;
}

rgm_status rgmi_show_runs(rgmi_web_call *call)
{
    const char *conditions[RGM_TARGET_VALUES];
    rgmi_runs_query query = {0};
    rgmi_experiment_rows more = {0};
    rgm_status status;

    RGM_TRY(rgmi_runs_query_read(&query, &call->target, conditions));
    RGM_TRY(rgmi_runs_freshen(call->web->runs));
    if (query.kinds[RGMI_EXPERIMENT] && query.experiment == 0 && query.within == NULL)
        RGM_TRY(rgmi_experiment_rows_take(&more, call->web, query.archived));
    query.missing = more.lacking > 0 ? more.missing.data : NULL;
    status = rgmi_runs_list(&call->out->body, call->web->runs, &query, more.rows, more.count);
    rgmi_experiment_rows_clear(&more);
    return rgm_error_trace(status, __FILE__, __LINE__, __func__);
}

/* ---- one run ------------------------------------------------------------------------------- */

/* What its folder tells beside the row. */
typedef struct details {
    int64_t metrics; /* bytes */
    int64_t logs, exports, explanations, checkpoints;
    bool events, tables, scores, system, model, profile;
    double rate, elapsed;
} details;

static int64_t size_of(const char *folder, const char *name)
{
    struct stat info;
    char *path = NULL;
    int64_t size = -1;

    if (rgm_path_join(&path, folder, name) == RGM_OK && lstat(path, &info) == 0 &&
        S_ISREG(info.st_mode))
        size = info.st_size;
    rgm_free(path);
    return size;
}

/* How many names of a folder begin so, and do not end in a state of being made or unmade. */
static int64_t count_names(const char *folder, const char *name, const char *prefix)
{
    char *path = NULL;
    DIR *directory;
    int64_t count = 0;

    if (rgm_path_join(&path, folder, name) != RGM_OK)
        return 0;
    directory = opendir(path);
    rgm_free(path);
    if (directory == NULL)
        return 0;
    for (const struct dirent *d; (d = readdir(directory)) != NULL;)
        count += d->d_name[0] != '.' && strncmp(d->d_name, prefix, strlen(prefix)) == 0 &&
                 strchr(d->d_name + strlen(prefix), '.') == NULL;
    closedir(directory);
    return count;
}

static int64_t count_all(const char *folder, const char *name)
{
    char **names = NULL, *path = NULL;
    int64_t count = 0;

    if (rgm_path_join(&path, folder, name) != RGM_OK ||
        rgm_folder_list(&names, &count, path) != RGM_OK)
        rgm_error_reset();
    rgm_names_release(names, count);
    rgm_free(path);
    return count;
}

/* "events.out.tfevents.<seconds>.<host>...": in the run folder or below. */
static bool has_events(const char *folder)
{
    static const char *const places[] = {"train", "validation", "."};
    bool found = false;

    for (int i = 0; i < 3 && !found; i++) {
        char *path = NULL;
        DIR *directory = rgm_path_join(&path, folder, places[i]) == RGM_OK ? opendir(path) : NULL;

        rgm_free(path);
        for (const struct dirent *d; directory != NULL && (d = readdir(directory)) != NULL;)
            found = found || strncmp(d->d_name, "events.out.tfevents.", 20) == 0;
        if (directory != NULL)
            closedir(directory);
    }
    return found;
}

/* The last whole line of system.jsonl that is one. */
static rgm_status read_system(details *d, const char *folder)
{
    char *path = NULL, data[LAST_SECTION + 1], *line, *end;
    struct stat info;
    ssize_t size;
    int fd = -1;
    rgm_status status = RGM_OK;

    d->rate = d->elapsed = NAN;
    RGM_GO(rgm_path_join(&path, folder, "system.jsonl"));
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0 || fstat(fd, &info) < 0 || !S_ISREG(info.st_mode))
        goto done;
    size = pread(fd, data, LAST_SECTION,
                 info.st_size > LAST_SECTION ? info.st_size - LAST_SECTION : 0);
    data[size > 0 ? size : 0] = 0;
    while ((end = strrchr(data, '\n')) != NULL) {
        rgm_json *json = NULL;

        *end = 0;
        line = strrchr(data, '\n');
        line = line != NULL ? line + 1 : data;
        status = rgm_json_parse(&json, line, end - line, "system.jsonl");
        if (status == RGM_OK) {
            (void)rgm_json_number(&d->rate, rgm_json_find(json, "steps_per_second"));
            (void)rgm_json_number(&d->elapsed, rgm_json_find(json, "seconds"));
            rgm_json_release(json);
            break;
        }
        status = status == RGM_ERR_NOMEM ? status : RGM_OK;
        RGM_GO(status);
    }
done:
    if (fd >= 0)
        close(fd);
    rgm_free(path);
    return status;
}

static rgm_status look(details *d, const char *folder)
{
    *d = (details){.metrics = size_of(folder, "metrics.jsonl"),
                   .logs = (size_of(folder, "log.txt") >= 0) + (size_of(folder, "trial.log") >= 0),
                   .explanations = count_all(folder, "explanations"),
                   .checkpoints = count_names(folder, "ckpt", "step-"),
                   .events = has_events(folder),
                   .tables = size_of(folder, "tables.jsonl") > 0,
                   .scores = size_of(folder, "score_curves.jsonl") > 0,
                   .system = size_of(folder, "system.jsonl") > 0,
                   .model = size_of(folder, "model.json") > 0,
                   .profile = size_of(folder, "profile.json") > 0};
    RGM_TRY(rgmi_count_exports(&d->exports, folder));
    return read_system(d, folder);
}

/* A file of the folder as it is, where it is an object; else null. */
static rgm_status print_object(rgm_text *out, const char *folder, const char *key, const char *name)
{
    char *path = NULL, *data = NULL;
    rgm_json *json = NULL;
    int64_t size = 0;
    rgm_status status = RGM_OK;

    RGM_GO(rgm_text_printf(out, ",\"%s\":", key));
    RGM_GO(rgm_path_join(&path, folder, name));
    if (size_of(folder, name) >= 0) {
        status = rgm_file_load(&data, &size, path, LARGEST_OBJECT);
        if (status == RGM_OK)
            status = rgm_json_parse(&json, data, size, name);
        if (status == RGM_ERR_NOMEM)
            goto done;
    }
    status =
        rgm_json_is_object(json) ? rgm_text_add(out, data, size) : rgm_text_add(out, "null", 4);
done:
    rgm_json_release(json);
    rgm_free(data);
    rgm_free(path);
    return status;
}

static bool is_in(const rgmi_run_row *row, rgm_run_state state)
{
    return row->state != NULL && strcmp(row->state, rgm_run_state_names[state]) == 0;
}

/* By the steps that are left and the rate; of a length in epochs by the time that the part behind
 * took. */
static double seconds_left(const rgmi_run_row *row, const details *d)
{
    if (!is_in(row, RGM_RUN_RUNNING))
        return NAN;
    if (row->steps > 0 && d->rate > 0)
        return (double)(row->steps > row->step ? row->steps - row->step : 0) / d->rate;
    if (row->progress > 0 && d->elapsed > 0)
        return d->elapsed * (1 - row->progress) / row->progress;
    return NAN;
}

static rgm_status print_details(rgm_text *out, const rgmi_run_row *row, const details *d)
{
    bool translates =
        row->text[RGMI_TEXT_TASK] != NULL && strcmp(row->text[RGMI_TEXT_TASK], "translation") == 0;

    RGM_TRY(rgm_text_printf(out, ",\"damage\":"));
    RGM_TRY(rgmi_print_text(
        out, is_in(row, RGM_RUN_FAILED) ? NULL : row->text[RGMI_TEXT_REASON])); /* result has it */
    RGM_TRY(rgm_text_printf(
        out, ",\"reading\":{\"metrics\":%" PRId64 "},\"rate\":", d->metrics > 0 ? d->metrics : 0));
    RGM_TRY(rgmi_print_number(out, d->rate));
    RGM_TRY(rgm_text_printf(out, ",\"seconds_left\":"));
    RGM_TRY(rgmi_print_number(out, seconds_left(row, d)));
    RGM_TRY(rgm_text_printf(out, ",\"elapsed\":"));
    RGM_TRY(rgmi_print_number(out, d->elapsed));
    return rgm_text_printf(out,
                           ",\"has\":{\"logs\":%" PRId64 ",\"histograms\":%s,\"samples\":%s,"
                           "\"confusion\":%s,\"scores\":%s,\"explanations\":%" PRId64
                           ",\"system\":%s,\"model\":%s,\"profile\":%"
                           "s,\"exports\":%" PRId64 ",\"checkpoints\":%" PRId64 "}",
                           d->logs, d->events ? "true" : "false",
                           translates && (d->events || d->tables) ? "true" : "false",
                           !translates && d->tables ? "true" : "false",
                           d->scores ? "true" : "false", d->explanations,
                           d->system ? "true" : "false", d->model ? "true" : "false",
                           d->profile ? "true" : "false", d->exports, d->checkpoints);
}

rgm_status rgmi_run_tell(rgm_text *out, const rgmi_run_row *row)
{
    const char *folder = row->text[RGMI_TEXT_PATH];
    details d;

    RGM_TRY(look(&d, folder));
    RGM_TRY(rgm_text_add(out, "{", 1));
    RGM_TRY(rgmi_run_row_print(out, row));
    RGM_TRY(print_object(out, folder, "env", "env.json"));
    RGM_TRY(print_object(out, folder, "result", RGM_RESULT_FILE));
    RGM_TRY(print_details(out, row, &d));
    return rgm_text_add(out, "}", 1);
}

rgm_status rgmi_show_run(rgmi_web_call *call)
{
    rgmi_run_row *row = NULL;
    rgm_status status = RGM_OK;

    RGM_TRY(rgmi_runs_freshen(call->web->runs));
    RGM_TRY(rgmi_runs_row(&row, call->web->runs, call->hex));
    status = rgmi_run_tell(&call->out->body, row);
    rgmi_run_row_release(row);
    return rgm_error_trace(status, __FILE__, __LINE__, __func__);
}

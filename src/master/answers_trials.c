/*
 * Trials and their checkpoints: what there is to know of them, and what can be done to one.
 */
#include "requests.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LOG_BYTES = 256 << 10, LOG_MOST = 4 << 20, TAIL_MOST = 100000, SEARCHED = 4 << 20 };
#define SEARCH_S 0.1 /* of a log, for one request */

#define TRIAL_COLUMNS                                                                              \
    "SELECT id, experiment_id, number, state, hyperparameters AS 'hyperparameters:json',"          \
    " request_id, seed, restarts, steps, batches, metric, best_metric, start_time AS"              \
    " 'start_time:time', end_time AS 'end_time:time', message, note, run_pid AS pid, "             \
    "nullif(run_job, "                                                                             \
    "0) AS job, source_checkpoint,"                                                                \
    " (SELECT uuid FROM checkpoints c WHERE c.id = source_checkpoint_id) AS"                       \
    " source_checkpoint_uuid FROM trials "

/* ---- lists ---------------------------------------------------------------------------------- */

rgm_status rgmi_answer_trials(rgmi_call *call)
{
    static const char by_id[] = TRIAL_COLUMNS
        "WHERE experiment_id = ? AND (? IS NULL OR state = ?) ORDER BY number LIMIT ? OFFSET ?";
    static const char smallest[] = TRIAL_COLUMNS
        "WHERE experiment_id = ? AND (? IS NULL OR state = ?) ORDER BY best_metric IS NULL,"
        " best_metric, number LIMIT ? OFFSET ?";
    static const char largest[] = TRIAL_COLUMNS
        "WHERE experiment_id = ? AND (? IS NULL OR state = ?) ORDER BY best_metric IS NULL,"
        " best_metric DESC, number LIMIT ? OFFSET ?";
    const char *state = rgmi_call_query(call, "state"), *sort = rgmi_call_query(call, "sort");
    int64_t limit, offset, total, smaller;
    rgmi_rows *rows;

    if (sort != NULL && strcmp(sort, "id") != 0 && strcmp(sort, "metric") != 0)
        return RGM_FAIL(RGM_ERR_ARG, "sort=%s is neither id nor metric", sort);
    RGM_TRY(rgmi_call_page(&limit, &offset, call));
    RGM_TRY(rgmi_experiment_exists(&smaller, call));
    RGM_TRY(rgmi_database_int(&total, call->master->database, 0,
                              "SELECT count(*) FROM trials WHERE experiment_id = ? AND (? IS NULL"
                              " OR state = ?)",
                              "itt", call->id, state, state));
    RGM_TRY(rgmi_database_query(&rows, call->master->database,
                                sort == NULL || strcmp(sort, "id") == 0 ? by_id
                                : smaller != 0                          ? smallest
                                                                        : largest,
                                "ittii", call->id, state, state, limit, offset));
    return rgmi_print_page(call, "trials", rows, total);
}

rgm_status rgmi_answer_trial(rgmi_call *call)
{
    rgmi_rows *rows;

    RGM_TRY(rgmi_database_query(&rows, call->master->database, TRIAL_COLUMNS "WHERE id = ?", "i",
                                call->id));
    return rgmi_print_one(call, rows, "trial");
}

static rgm_status trial_exists(rgmi_call *call)
{
    int64_t count;

    RGM_TRY(rgmi_database_int(&count, call->master->database, 0,
                              "SELECT count(*) FROM trials WHERE id = ?", "i", call->id));
    return count > 0 ? RGM_OK
                     : RGM_FAIL(RGM_ERR_NOT_FOUND, "there is no trial %lld", (long long)call->id);
}

/* Rows of the trial, or the experiment: one statement that counts, one that lists. */
static rgm_status list_rows(rgmi_call *call, const char *key, const char *count, const char *list)
{
    return rgmi_answer_list(
        call, &(rgmi_paged_list){.key = key, .of_id = true, .count = count, .rows = list});
}

rgm_status rgmi_answer_steps(rgmi_call *call)
{
    RGM_TRY(trial_exists(call));
    return list_rows(call, "steps", "SELECT count(*) FROM steps WHERE trial_id = ?",
                     "SELECT id, state, batches, num_inputs, start_time AS 'start_time:time',"
                     " end_time AS 'end_time:time', metrics AS 'metrics:json' FROM steps WHERE"
                     " trial_id = ? ORDER BY id LIMIT ? OFFSET ?");
}

rgm_status rgmi_answer_validations(rgmi_call *call)
{
    RGM_TRY(trial_exists(call));
    return list_rows(call, "validations", "SELECT count(*) FROM validations WHERE trial_id = ?",
                     "SELECT step_id, state, batches, num_inputs, start_time AS"
                     " 'start_time:time', end_time AS 'end_time:time', metric, metrics AS"
                     " 'metrics:json' FROM validations WHERE trial_id = ? ORDER BY step_id LIMIT ?"
                     " OFFSET ?");
}

rgm_status rgmi_answer_trial_checkpoints(rgmi_call *call)
{
    RGM_TRY(trial_exists(call));
    return list_rows(call, "checkpoints", "SELECT count(*) FROM checkpoints WHERE trial_id = ?",
                     RGMI_CHECKPOINT_COLUMNS
                     "WHERE c.trial_id = ? ORDER BY c.step_id LIMIT ? OFFSET ?");
}

rgm_status rgmi_answer_experiment_validations(rgmi_call *call)
{
    int64_t smaller;

    RGM_TRY(rgmi_experiment_exists(&smaller, call));
    return list_rows(call, "validations",
                     "SELECT count(*) FROM validations v JOIN trials t ON t.id = v.trial_id WHERE"
                     " t.experiment_id = ?",
                     "SELECT v.trial_id, t.number, v.step_id, v.batches, v.metric, v.end_time AS"
                     " 'end_time:time', v.metrics AS 'metrics:json' FROM trials t JOIN validations "
                     "v ON v.trial_id = t.id WHERE"
                     " t.experiment_id = ? ORDER BY t.number, v.step_id LIMIT ? OFFSET ?");
}

rgm_status rgmi_answer_runs(rgmi_call *call)
{
    int64_t smaller;

    RGM_TRY(rgmi_experiment_exists(&smaller, call));
    return list_rows(call, "runs",
                     "SELECT count(*) FROM runs r JOIN trials t ON t.id = r.trial_id WHERE"
                     " t.experiment_id = ?",
                     "SELECT r.trial_id, t.number, r.slots, r.start_time AS 'start_time:time',"
                     " r.end_time AS 'end_time:time' FROM trials t JOIN runs r ON r.trial_id = t.id"
                     " WHERE t.experiment_id = ? ORDER BY t.number, r.start_time LIMIT ? OFFSET"
                     " ?");
}

rgm_status rgmi_answer_experiment_checkpoints(rgmi_call *call)
{
    static const char all[] =
        "SELECT count(*) FROM checkpoints c JOIN trials t ON t.id = c.trial_id WHERE"
        " t.experiment_id = ?";
    static const char smallest[] =
        RGMI_CHECKPOINT_COLUMNS "WHERE t.experiment_id = ? AND c.state = " RGMI_SQL(
            COMPLETED) " AND abs(v.metric) < 9e999 ORDER BY"
                       " v.metric, c.id LIMIT ? OFFSET ?";
    static const char largest[] =
        RGMI_CHECKPOINT_COLUMNS "WHERE t.experiment_id = ? AND c.state = " RGMI_SQL(
            COMPLETED) " AND abs(v.metric) < 9e999 ORDER BY"
                       " v.metric DESC, c.id LIMIT ? OFFSET ?";
    int64_t smaller, best;
    rgmi_rows *rows;

    RGM_TRY(rgmi_experiment_exists(&smaller, call));
    RGM_TRY(rgmi_call_query_int(&best, call, "best", 0, 0, 1000000));
    if (best == 0)
        return list_rows(call, "checkpoints", all,
                         RGMI_CHECKPOINT_COLUMNS
                         "WHERE t.experiment_id = ? ORDER BY t.number, c.step_id"
                         " LIMIT ? OFFSET ?");
    RGM_TRY(rgmi_database_query(&rows, call->master->database, smaller != 0 ? smallest : largest,
                                "iii", call->id, best, (int64_t)0));
    RGM_TRY(rgm_text_printf(call->out, "{\"checkpoints\": "));
    RGM_TRY(rgmi_print_rows(call->out, call->master, rows, NULL));
    return rgm_text_printf(call->out, "}");
}

rgm_status rgmi_answer_checkpoint(rgmi_call *call)
{
    rgmi_rows *rows;

    RGM_TRY(rgmi_database_query(&rows, call->master->database,
                                RGMI_CHECKPOINT_COLUMNS "WHERE uuid = ?", "t", call->name));
    return rgmi_print_one(call, rows, "checkpoint");
}

/* ---- logs ----------------------------------------------------------------------------------- */

/* Where the last `lines` lines begin; before `begin` there is nothing. */
static int64_t find_tail(int fd, int64_t begin, int64_t size, int64_t lines)
{
    char block[8192];
    int64_t at = size;

    while (at > begin) {
        int64_t from = at - begin > (int64_t)sizeof block ? at - (int64_t)sizeof block : begin;
        ssize_t got = pread(fd, block, (size_t)(at - from), from);

        for (ssize_t i = got - 1; i >= 0; i--)
            if (block[i] == '\n' && from + i + 1 < size && lines-- == 1)
                return from + i + 1;
        if (got <= 0)
            return from;
        at = from;
    }
    return begin;
}

/* A part that ends with a line where it can: what is told is whole characters. */
static int64_t whole_lines(const char *data, int64_t size, bool is_end)
{
    for (int64_t i = size; i > 0 && !is_end; i--)
        if (data[i - 1] == '\n')
            return i;
    return size;
}

static rgm_status print_log(rgmi_call *call, const char *data, int64_t offset, int64_t size,
                            int64_t total, bool over)
{
    RGM_TRY(rgm_text_printf(call->out, "{\"text\": "));
    RGM_TRY(rgm_json_print_text(call->out, data));
    return rgm_text_printf(
        call->out, ", \"offset\": %lld, \"next\": %lld, \"size\": %lld, \"over\": %s}",
        (long long)offset, (long long)(offset + size), (long long)total, over ? "true" : "false");
}

/* Of a log whose front went: the first whole line, behind one that says so. */
static rgm_status print_cut_log(rgmi_call *call, const char *data, int64_t begin, int64_t size,
                                int64_t total, bool over)
{
    const char *end = memchr(data, '\n', (size_t)size);
    rgm_status status = RGM_OK;
    rgm_text text = {0};

    RGM_GO(rgm_text_printf(&text,
                           "[%lld bytes of older lines are gone: the log is bounded by regimen "
                           "master --log-mb]\n%s",
                           (long long)begin, end != NULL ? end + 1 : data));
    RGM_GO(print_log(call, text.data, begin, size, total, over));
done:
    rgm_text_clear(&text);
    return status;
}

/* The lines that fit a pattern, of a part of the log; `next` is behind the last line that was
 * looked at. A line may take a fifth of a second, so the clock is looked at. */
static rgm_status search_part(rgm_text *found, int64_t *used, const rgm_line_pattern *pattern,
                              const char *data, int64_t size, int64_t limit)
{
    double until = rgm_now() + SEARCH_S;

    *used = 0;
    while (*used < size && found->size < limit && (*used == 0 || rgm_now() < until)) {
        const char *line = data + *used, *end = memchr(line, '\n', (size_t)(size - *used));
        int64_t length = end != NULL ? end - line : size - *used;

        if (rgm_line_pattern_fits(pattern, line, length)) {
            RGM_TRY(rgm_text_add(found, line, length));
            RGM_TRY(rgm_text_add(found, "\n", 1));
        }
        *used += length + (end != NULL);
    }
    for (int64_t i = 0; i < found->size; i++)
        if (found->data[i] == '\0')
            found->data[i] = ' ';
    return RGM_OK;
}

/* So much of the log a request that whoever asks with `next` finds all of it, and nobody waits. */
static rgm_status search_log(rgmi_call *call, int fd, bool over, const char *grep)
{
    int64_t offset, limit, used = 0, begin = rgmi_log_front(fd);
    rgm_status status = RGM_OK;
    rgm_line_pattern *pattern = NULL;
    rgm_text found = {0};
    struct stat info;
    char *data = NULL;

    RGM_TRY(rgmi_call_query_int(&offset, call, "offset", 0, 0, INT64_MAX));
    RGM_TRY(rgmi_call_query_int(&limit, call, "limit", LOG_BYTES, 1, LOG_MOST));
    if (rgm_line_pattern_create(&pattern, grep, false) != RGM_OK)
        return RGM_FAIL(RGM_ERR_ARG, "grep: %s", rgm_error_message());
    if (fstat(fd, &info) != 0)
        RGM_GO(RGM_FAIL_SYSTEM("examine", "trial.log"));
    offset = offset < begin ? begin : offset;
    RGM_GO(RGM_NEW(data, SEARCHED));
    RGM_GO(rgm_text_add(&found, "", 0));
    ssize_t size = offset < info.st_size ? pread(fd, data, SEARCHED, offset) : 0;
    if (size < 0)
        RGM_GO(RGM_FAIL_SYSTEM("read", "trial.log"));
    RGM_GO(search_part(&found, &used, pattern, data,
                       whole_lines(data, size, over && offset + size == info.st_size), limit));
    RGM_GO(print_log(call, found.data, offset, used, info.st_size, over));
done:
    rgm_line_pattern_release(pattern);
    rgm_text_clear(&found);
    rgm_free(data);
    return status;
}

static rgm_status read_log(rgmi_call *call, int fd, bool over)
{
    const char *grep = rgmi_call_query(call, "grep");
    int64_t offset, limit, tail, begin = rgmi_log_front(fd);
    rgm_status status = RGM_OK;
    struct stat info;
    char *data = NULL;

    if (grep != NULL && rgmi_call_query(call, "tail") != NULL)
        return RGM_FAIL(RGM_ERR_ARG, "'grep' and 'tail' exclude each other");
    if (grep != NULL)
        return search_log(call, fd, over, grep);

    RGM_TRY(rgmi_call_query_int(&offset, call, "offset", 0, 0, INT64_MAX));
    RGM_TRY(rgmi_call_query_int(&limit, call, "limit", LOG_BYTES, 1, LOG_MOST));
    RGM_TRY(rgmi_call_query_int(&tail, call, "tail", 0, 0, TAIL_MOST));
    if (fstat(fd, &info) != 0)
        return RGM_FAIL_SYSTEM("examine", "trial.log");
    if (tail > 0)
        offset = find_tail(fd, begin, info.st_size, tail);
    bool is_cut = begin > 0 && offset <= begin;
    if (is_cut)
        offset = begin;
    RGM_GO(RGM_NEW(data, limit + 1));
    ssize_t size = offset < info.st_size ? pread(fd, data, (size_t)limit, offset) : 0;
    if (size < 0)
        RGM_GO(RGM_FAIL_SYSTEM("read", "trial.log"));
    int64_t whole = whole_lines(data, size, over && offset + size == info.st_size);
    for (int64_t i = 0; i < whole; i++)
        if (data[i] == 0)
            data[i] = ' '; /* a text ends with it */
    data[whole] = 0;
    RGM_GO(is_cut ? print_cut_log(call, data, begin, whole, info.st_size, over)
                  : print_log(call, data, offset, whole, info.st_size, over));
done:
    rgm_free(data);
    return status;
}

/* There is no file: it has not begun, or it is over for long. */
static rgm_status no_log(rgmi_call *call, int64_t experiment, bool over)
{
    int64_t removed;

    RGM_TRY(rgmi_database_int(&removed, call->master->database, 0,
                              "SELECT logs_removed FROM experiments WHERE id = ?", "i",
                              experiment));
    return print_log(call,
                     removed != 0 ? "[the log is gone: its experiment was over for longer than "
                                    "regimen master --log-days]\n"
                                  : "",
                     0, 0, 0, over);
}

rgm_status rgmi_answer_logs(rgmi_call *call)
{
    rgm_status status = RGM_OK;
    char *path = NULL;
    rgmi_rows *rows;
    int fd;

    RGM_TRY(rgmi_database_query(&rows, call->master->database,
                                "SELECT experiment_id, number, state <> " RGMI_SQL(
                                    ACTIVE) " AND run_token IS"
                                            " NULL AS is_over FROM trials WHERE id = ?",
                                "i", call->id));
    status = rgmi_rows_next(call->master->database, rows);
    if (status == RGM_END)
        return trial_exists(call);
    RGM_TRY(status);
    int64_t experiment = rgmi_rows_int(rows, 0);
    bool over = rgmi_rows_int(rows, 2) != 0;
    status = rgmi_master_path(&path, call->master, experiment, rgmi_rows_int(rows, 1), "trial.log");
    rgmi_rows_leave(rows);
    RGM_TRY(status);
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd >= 0) {
        status = read_log(call, fd, over);
        close(fd);
    } else {
        status = errno == ENOENT ? no_log(call, experiment, over) : RGM_FAIL_SYSTEM("open", path);
    }
    rgm_free(path);
    return status;
}

/* ---- what can be done ----------------------------------------------------------------------- */

rgm_status rgmi_answer_patch_trial(rgmi_call *call)
{
    static const char *const known[] = {"note", NULL};
    const char *note = NULL;
    rgm_status status;

    RGM_TRY(rgmi_call_keys(call, known));
    RGM_TRY(rgmi_call_text(&note, call, "note"));
    if (note == NULL || strlen(note) > RGMI_NOTE_BYTES)
        return RGM_FAIL(RGM_ERR_ARG, "'note' is missing, or has more than %d bytes",
                        (int)RGMI_NOTE_BYTES);
    RGM_TRY(rgmi_answer_trial(call)); /* there is none */
    call->out->size = 0;
    RGM_TRY(rgmi_change_begin(call->master));
    status = rgmi_database_run(call->master->database, "UPDATE trials SET note = ? WHERE id = ?",
                               "ti", note, call->id);
    if (status == RGM_OK)
        status = rgmi_answer_trial(call);
    return rgmi_change_end(call->master, status);
}

static rgm_status kill_trial(rgmi_call *call)
{
    rgmi_experiment *e;
    rgmi_trial *trial;
    rgmi_process *process;

    RGM_TRY(rgmi_trial_find(&trial, &e, call->master, call->id));
    if (trial->state != RGM_WORK_ACTIVE)
        return RGM_FAIL(RGM_ERR_BUSY, "trial %lld is %s", (long long)call->id,
                        rgm_work_state_names[trial->state]);
    RGM_TRY(rgmi_trial_end(call->master, e, trial, RGM_WORK_CANCELED, "killed on request"));
    process = rgmi_process_of(call->master, call->id);
    if (process != NULL)
        rgmi_process_kill(call->master, process);
    RGM_TRY(rgmi_experiment_flush(call->master, e));
    return rgmi_answer_trial(call);
}

rgm_status rgmi_answer_kill_trial(rgmi_call *call)
{
    RGM_TRY(rgmi_change_begin(call->master));
    return rgmi_change_end(call->master, kill_trial(call));
}

static rgm_status delete_checkpoint(rgmi_call *call)
{
    int64_t id, needed;

    RGM_TRY(rgmi_database_int(&id, call->master->database, 0,
                              "SELECT id FROM checkpoints WHERE uuid = ?", "t", call->name));
    if (id == 0)
        return RGM_FAIL(RGM_ERR_NOT_FOUND, "there is no checkpoint %s", call->name);
    RGM_TRY(rgmi_database_int(
        &needed, call->master->database, 0,
        "SELECT count(*) FROM checkpoints c JOIN trials t ON t.id = c.trial_id WHERE c.id = ? AND"
        " (t.state = " RGMI_SQL(
            ACTIVE) " OR EXISTS(SELECT 1 FROM trials o WHERE o.source_checkpoint_id = c.id"
                    " AND o.state = " RGMI_SQL(
                        ACTIVE) ") OR EXISTS(SELECT 1 FROM experiments o WHERE"
                                " o.source_checkpoint_id = c.id AND o.state NOT IN " RGMI_SQL_OVER
                                "))",
        "i", id));
    if (needed > 0)
        return RGM_FAIL(RGM_ERR_BUSY,
                        "a trial that is not over may go back to checkpoint %s, or begin with it",
                        call->name);
    RGM_TRY(rgmi_checkpoint_remove(call->master, id));
    return rgmi_answer_checkpoint(call);
}

rgm_status rgmi_answer_delete_checkpoint(rgmi_call *call)
{
    RGM_TRY(rgmi_change_begin(call->master));
    return rgmi_change_end(call->master, delete_checkpoint(call));
}

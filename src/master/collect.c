/*
 * Checkpoints that go as soon as no rule can want them, when an experiment's policy changes, when
 * it is asked for. A folder is removed before its row says so: what was interrupted is done again.
 */
#include "garbage.h"
#include "requests.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

typedef struct list {
    rgmi_kept_checkpoint *items;
    unsigned *why;
    int64_t count, capacity;
} list;

static rgm_status read_checkpoints(list *l, rgm_master *master, int64_t experiment)
{
    rgmi_rows *rows;
    rgm_status status;

    RGM_TRY(rgmi_database_query(
        &rows, master->database,
        /* Back to the newest, or to the one before where that is damaged; another trial may begin
           with the newest as long as the search goes on. */
        "SELECT c.id, c.trial_id, c.step_id, v.metric, EXISTS(SELECT 1 FROM trials o WHERE"
        " o.source_checkpoint_id = c.id) OR EXISTS(SELECT 1 FROM experiments o WHERE"
        " o.source_checkpoint_id = c.id) AS is_needed, CASE WHEN t.state = " RGMI_SQL(
            ACTIVE) " THEN 2 WHEN e.state IN " RGMI_SQL_OVER
                    " THEN 0 ELSE 1 END AS newest FROM checkpoints c JOIN trials t ON t.id ="
                    " c.trial_id JOIN experiments e ON e.id = t.experiment_id LEFT JOIN validations"
                    " v ON v.trial_id = c.trial_id AND v.step_id = c.step_id WHERE"
                    " t.experiment_id = ? AND c.state = " RGMI_SQL(COMPLETED) " ORDER BY c.id",
        "i", experiment));
    while ((status = rgmi_rows_next(master->database, rows)) == RGM_OK) {
        RGM_GO(RGM_RESERVE(l->items, l->capacity, l->count + 1));
        l->items[l->count++] = (rgmi_kept_checkpoint){.id = rgmi_rows_int(rows, 0),
                                                      .trial = rgmi_rows_int(rows, 1),
                                                      .step = rgmi_rows_int(rows, 2),
                                                      .metric = rgmi_rows_number(rows, 3),
                                                      .is_needed = rgmi_rows_int(rows, 4) != 0,
                                                      .newest = rgmi_rows_int(rows, 5)};
    }
    if (status == RGM_END)
        status = RGM_OK;
done:
    rgmi_rows_leave(rows);
    return status;
}

static rgm_status read_policy(rgmi_keeping *out, rgm_master *master, int64_t experiment)
{
    rgmi_rows *rows;
    rgm_status status;

    RGM_TRY(rgmi_database_query(
        &rows, master->database,
        "SELECT save_experiment_best, save_trial_best, save_trial_latest, smaller_is_better FROM"
        " experiments WHERE id = ?",
        "i", experiment));
    status = rgmi_rows_next(master->database, rows);
    if (status == RGM_END)
        return RGM_FAIL(RGM_ERR_NOT_FOUND, "there is no experiment %lld", (long long)experiment);
    RGM_TRY(status);
    *out = (rgmi_keeping){.experiment_best = rgmi_rows_int(rows, 0),
                          .trial_best = rgmi_rows_int(rows, 1),
                          .trial_latest = rgmi_rows_int(rows, 2),
                          .smaller_is_better = rgmi_rows_int(rows, 3) != 0};
    rgmi_rows_leave(rows);
    return RGM_OK;
}

/* Links on the way may lead anywhere: what is removed lies in the master's folder in truth. */
static rgm_status check_inside(const rgm_master *master, const char *path)
{
    size_t size = strlen(master->options.folder);
    rgm_status status = RGM_OK;
    char *parent = NULL, *found;

    RGM_TRY(rgm_strndup(&parent, path, (size_t)(strrchr(path, '/') - path)));
    found = realpath(parent, NULL);
    if (found == NULL)
        status = RGM_FAIL_SYSTEM("find", parent);
    else if (strncmp(found, master->options.folder, size) != 0 || found[size] != '/')
        status = RGM_FAIL(RGM_ERR_FORMAT,
                          "'%s' is not removed: a link leads out of the master's folder, to '%s'",
                          path, found);
    free(found);
    rgm_free(parent);
    return status;
}

/* Its folder; what is not there any more is gone. */
rgm_status rgmi_checkpoint_remove(rgm_master *master, int64_t id)
{
    rgmi_rows *rows;
    char *folder = NULL;
    rgm_status status;

    RGM_TRY(rgmi_database_query(
        &rows, master->database,
        "SELECT c.id, experiment_id, number, folder FROM checkpoints c JOIN trials"
        " t ON t.id = c.trial_id WHERE c.id = ?",
        "i", id));
    RGM_GO(rgmi_rows_next(master->database, rows));
    RGM_GO(rgmi_master_path(&folder, master, rgmi_rows_int(rows, 1), rgmi_rows_int(rows, 2),
                            rgmi_rows_text(rows, 3)));
    status = check_inside(master, folder);
    if (status == RGM_OK)
        status = rgm_folder_remove(folder);
    if (status == RGM_ERR_NOT_FOUND)
        status = RGM_OK;
    RGM_GO(status);
done:
    rgmi_rows_leave(rows);
    rgm_free(folder);
    RGM_TRY(status);
    return rgmi_database_run(master->database,
                             "UPDATE checkpoints SET state = " RGMI_SQL(DELETED) " WHERE id = ?",
                             "i", id);
}

static rgm_status remove_unkept(rgm_master *master, const list *l, int64_t experiment)
{
    for (int64_t i = 0; i < l->count; i++)
        if (l->why[i] == 0)
            RGM_TRY(rgmi_checkpoint_remove(master, l->items[i].id));
    return rgmi_database_run(
        master->database,
        "UPDATE experiments SET collected = 1 WHERE id = ? AND state IN " RGMI_SQL_OVER, "i",
        experiment);
}

static rgm_status print_one(rgm_text *out, rgm_master *master, int64_t id)
{
    rgmi_rows *rows;

    RGM_TRY(rgmi_database_query(&rows, master->database, RGMI_CHECKPOINT_COLUMNS "WHERE c.id = ?",
                                "i", id));
    RGM_TRY(rgmi_rows_next(master->database, rows));
    rgm_status status = rgmi_print_row(out, rows);
    rgmi_rows_leave(rows);
    return status;
}

static rgm_status print_unkept(rgm_text *out, rgm_master *master, const list *l)
{
    int64_t removed = 0;

    RGM_TRY(rgm_text_printf(out, "{\"checkpoints\": ["));
    for (int64_t i = 0; i < l->count; i++)
        if (l->why[i] == 0) {
            RGM_TRY(rgm_text_printf(out, "%s", removed++ > 0 ? ", " : ""));
            RGM_TRY(print_one(out, master, l->items[i].id));
        }
    return rgm_text_printf(out, "], \"removed\": %lld, \"kept\": %lld}", (long long)removed,
                           (long long)(l->count - removed));
}

/* What a policy would be with those that are not below 0. */
static void take_counters(rgmi_keeping *policy, const int64_t counters[3])
{
    int64_t *of[] = {&policy->experiment_best, &policy->trial_best, &policy->trial_latest};

    for (int i = 0; i < 3 && counters != NULL; i++)
        if (counters[i] >= 0)
            *of[i] = counters[i];
}

rgm_status rgmi_collect(rgm_text *out, rgm_master *master, int64_t experiment, bool preview,
                        const int64_t counters[3])
{
    rgm_status status = RGM_OK;
    rgmi_keeping policy;
    list l = {0};

    RGM_GO(read_policy(&policy, master, experiment));
    take_counters(&policy, counters);
    RGM_GO(read_checkpoints(&l, master, experiment));
    RGM_GO(RGM_NEW(l.why, l.count + 1));
    RGM_GO(rgmi_garbage(l.why, &policy, l.items, l.count));
    if (out != NULL)
        RGM_GO(print_unkept(out, master, &l));
    if (!preview) {
        RGM_GO(rgmi_change_begin(master));
        RGM_GO(rgmi_change_end(master, remove_unkept(master, &l, experiment)));
    }
done:
    rgm_free(l.items);
    rgm_free(l.why);
    return status;
}

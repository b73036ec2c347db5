/*
 * A search that is changed while it goes on, or after its end: its file is edited, a searcher of
 * the new file takes over from the one before, and file, snapshot and what follows are put down in
 * one change. So the snapshot is always of the file that is kept, and a master that is killed goes
 * on before the change or behind it.
 */
#include "experiment_files.h"
#include "master_internal.h"

#include <regimen/search_live.h>

#include <stdio.h>
#include <string.h>

/* ---- one that is over goes on --------------------------------------------------------------- */

/* Whether it was done; *event is then what is told of it. */
static rgm_status find_done(bool *is_done, rgm_search_event *event, double *metrics,
                            rgm_master *master, const rgmi_experiment *e, const rgmi_trial *trial,
                            const rgmi_asked_length *asked)
{
    int64_t count = 0;

    *is_done = false;
    *event = (rgm_search_event){.trial = trial->number, .length = asked->length};
    if (asked->kind == RGM_ASK_VALIDATE) {
        event->kind = RGM_VALIDATED;
        event->metrics = metrics;
        return rgmi_validation_read(metrics, is_done, master, e, trial, asked->batches);
    }
    if (asked->kind == RGM_ASK_CHECKPOINT)
        RGM_TRY(rgmi_database_int(
            &count, master->database, 0,
            "SELECT count(*) FROM checkpoints WHERE trial_id = ? AND batches = ? AND state"
            " = " RGMI_SQL(COMPLETED),
            "ii", trial->id, asked->batches));
    event->kind = RGM_CHECKPOINTED;
    *is_done = count > 0;
    return RGM_OK;
}

/* What it was asked for and had done when nobody was told any more. */
static rgm_status tell_done(rgm_master *master, rgmi_experiment *e, rgmi_trial *trial)
{
    double metrics[RGM_MAX_OBJECTIVES];
    int64_t kept = 0;

    for (int64_t i = 0; i < trial->asked_count; i++) {
        const rgmi_asked_length asked = trial->asked[i];
        rgm_search_event event;
        bool is_done;

        RGM_TRY(find_done(&is_done, &event, metrics, master, e, trial, &asked));
        if (is_done) {
            RGM_TRY(rgmi_experiment_note(master, e, &event));
        } else {
            trial->asked[kept++] = asked;
        }
    }
    trial->asked_count = kept;
    return RGM_OK;
}

/* Trials that were cancelled with it go on where they were; of others that ended then it is told.
 */
static rgm_status revive(rgm_master *master, rgmi_experiment *e)
{
    double metrics[RGM_MAX_OBJECTIVES];
    rgm_search_event event;
    rgmi_trial *trial;
    rgm_status status;

    for (int64_t i = 1; i <= rgm_searcher_trial_count(e->searcher); i++) {
        if (rgm_searcher_trial(e->searcher, i)->closed)
            continue;
        status = rgmi_trial_get(&trial, master, e, i);
        if (status == RGM_ERR_NOT_FOUND) { /* asked for, and not created yet */
            rgm_error_reset();
            continue;
        }
        RGM_TRY(status);
        if (trial->state != RGM_WORK_CANCELED) {
            RGM_TRY(rgmi_trial_reached(&event, metrics, master, e, i));
            RGM_TRY(rgmi_experiment_note(master, e, &event));
            continue;
        }
        trial->state = RGM_WORK_ACTIVE;
        trial->dirty = true;
        RGM_TRY(rgmi_database_run(master->database,
                                  "UPDATE trials SET end_time = NULL, message = NULL WHERE id = ?",
                                  "i", trial->id));
        RGM_TRY(tell_done(master, e, trial));
    }
    return RGM_OK;
}

/* Further trials would begin with nothing, and be compared with those that began with it. */
static rgm_status check_source(rgm_master *master, int64_t id)
{
    rgm_status status = RGM_OK;
    const char *path;
    rgmi_rows *rows;

    RGM_TRY(rgmi_database_query(
        &rows, master->database,
        "SELECT source_checkpoint, source_checkpoint_id IS NOT NULL AND NOT EXISTS(SELECT 1 FROM"
        " checkpoints c WHERE c.id = source_checkpoint_id AND c.state = " RGMI_SQL(
            COMPLETED) ") AS is_gone FROM experiments WHERE id = ?",
        "i", id));
    status = rgmi_rows_next(master->database, rows);
    if (status != RGM_OK)
        return status == RGM_END ? RGM_OK : status; /* who reads it will say so */
    path = rgmi_rows_text(rows, 0);
    if (rgmi_rows_int(rows, 1) != 0 || (path != NULL && !rgm_path_is_folder(path)))
        status = RGM_FAIL(RGM_ERR_BUSY,
                          "the checkpoint that the trials of experiment %lld begin with is gone "
                          "(%s): a fork is a new search, with another source or none",
                          (long long)id, path != NULL ? path : "it was deleted");
    rgmi_rows_leave(rows);
    return status;
}

static rgm_status reopen(rgmi_experiment **out, rgm_master *master, int64_t id)
{
    rgm_status status;

    RGM_TRY(check_source(master, id));
    RGM_TRY(
        rgmi_database_run(master->database,
                          "UPDATE experiments SET state = " RGMI_SQL(
                              ACTIVE) ", end_time = NULL, message = NULL,"
                                      " archived = 0, collected = 0, logs_removed = 0 WHERE id ="
                                      " ?",
                          "i", id));
    status = rgmi_experiment_get(out, master, id);
    if (status == RGM_OK)
        status = revive(master, *out);
    if (!rgmi_is_unreadable(status))
        return status;
    return rgm_error_prefix(RGM_FAIL(RGM_ERR_BUSY, "%s", rgm_error_message()),
                            "the experiment is over, and its search cannot be taken up again");
}

static rgm_status open_experiment(rgmi_experiment **out, bool *was_over, rgm_master *master,
                                  int64_t id)
{
    rgm_status status = rgmi_experiment_get(out, master, id);

    *was_over = status == RGM_ERR_BUSY;
    if (*was_over) {
        rgm_error_reset();
        return reopen(out, master, id);
    }
    RGM_TRY(status);
    if ((*out)->state >= RGM_WORK_STOPPING_COMPLETED)
        return RGM_FAIL(RGM_ERR_BUSY, "experiment %lld is %s: ask again when it is over",
                        (long long)id, rgm_work_state_names[(*out)->state]);
    return RGM_OK;
}

/* ---- its file ------------------------------------------------------------------------------- */

/* A document that is edited; values that were put into it are kept until it is printed. */
typedef struct edit {
    rgm_yaml *yaml;
    rgm_yaml **values;
    int64_t count, capacity;
} edit;

static void clear_edit(edit *x)
{
    for (int64_t i = 0; i < x->count; i++)
        rgm_yaml_release(x->values[i]);
    rgm_free(x->values);
    rgm_yaml_release(x->yaml);
}

static rgm_status begin_edit(edit *x, const rgm_search_file *file)
{
    const char *text = rgm_search_file_text(file);

    return rgm_yaml_parse(&x->yaml, text, (int64_t)strlen(text), rgm_search_file_path(file));
}

/* The node of a key whose parts may stand as one key, "optimizer.learning_rate", or below each
 * other. */
static rgm_yaml_node *find_key(rgm_yaml_node *map, const char *key)
{
    rgm_yaml_node *found = map->kind == RGM_YAML_MAP ? rgm_yaml_find(map, key) : NULL;

    for (int64_t i = 0; found == NULL && map->kind == RGM_YAML_MAP && i < map->count; i++) {
        size_t size = strlen(map->items[i]->key);

        if (strncmp(map->items[i]->key, key, size) == 0 && key[size] == '.')
            found = find_key(map->items[i], key + size + 1);
    }
    return found;
}

static rgm_status set_key(edit *x, const char *key, const char *value)
{
    rgm_yaml_node *place = find_key(rgm_yaml_root(x->yaml), key), *node;
    rgm_yaml *parsed = NULL;

    if (place == NULL)
        return rgm_yaml_set(x->yaml, key, value, "the change");
    RGM_TRY(RGM_RESERVE(x->values, x->capacity, x->count + 1));
    RGM_TRY(rgm_yaml_parse(&parsed, "", 0, "the change"));
    x->values[x->count++] = parsed;
    RGM_TRY(rgm_yaml_set(parsed, "value", value, "the change"));
    node = rgm_yaml_find(rgm_yaml_root(parsed), "value");
    node->key = place->key;
    *place = *node;
    return RGM_OK;
}

/* A number, a truth or a text, as YAML that means it. */
static rgm_status print_value(rgm_text *out, const char *key, const rgm_json *value)
{
    const char *text = rgm_json_text(value);
    int64_t integer;
    double number;
    bool is_set;

    if (text != NULL)
        return rgm_text_printf(out, "%s", text);
    if (rgm_json_int(&integer, value))
        return rgm_text_printf(out, "%lld", (long long)integer);
    if (rgm_json_number(&number, value))
        return rgm_json_print_number(out, number);
    if (rgm_json_bool(&is_set, value))
        return rgm_text_printf(out, "%s", is_set ? "true" : "false");
    return RGM_FAIL(RGM_ERR_ARG, "'%s' is neither a number nor a text of YAML", key);
}

static rgm_status set_json(rgm_status (*set)(void *payload, const char *key, const char *value),
                           void *payload, const rgm_json *values)
{
    rgm_json_entry entry = {0};
    rgm_status status = RGM_OK;
    rgm_text value = {0};

    if (!rgm_json_is_object(values))
        return RGM_FAIL(RGM_ERR_ARG, "an object of keys to values is missing");
    while (rgm_json_next(&entry, values)) {
        rgm_text_clear(&value);
        RGM_GO(print_value(&value, entry.key, entry.value));
        RGM_GO(set(payload, entry.key, value.data != NULL ? value.data : ""));
    }
done:
    rgm_text_clear(&value);
    return status;
}

static rgm_status set_in_file(void *payload, const char *key, const char *value)
{
    return set_key(payload, key, value);
}

/* More trials are planned as the others were. */
static rgm_status keep_plan(edit *x, const rgm_searcher *searcher)
{
    rgm_status status = RGM_OK;
    rgm_text plan = {0};
    char key[100];

    RGM_GO(rgm_searcher_print_plan(&plan, searcher));
    if (plan.size == 0)
        goto done;
    snprintf(key, sizeof key, "searcher.%.*s", (int)strcspn(plan.data, ":"), plan.data);
    if (find_key(rgm_yaml_root(x->yaml), key) == NULL)
        RGM_GO(set_key(x, key, strchr(plan.data, ':') + 2));
done:
    rgm_text_clear(&plan);
    return status;
}

/* ---- the change ----------------------------------------------------------------------------- */

static rgm_status make_searcher(rgm_searcher **out, rgm_master *master, const rgmi_experiment *e,
                                const rgm_search_file *file)
{
    int64_t seed;

    RGM_TRY(rgmi_database_int(&seed, master->database, 0,
                              "SELECT seed FROM experiments WHERE id = ?", "i", e->id));
    RGM_TRY(rgm_search_file_searcher(out, file, (uint32_t)seed, NULL));
    return rgmi_earlier_tell(master, e, *out);
}

static rgm_status put_down(rgm_master *master, const rgmi_experiment *e,
                           const rgm_search_file *file, const rgm_json *what)
{
    rgm_status status = RGM_OK;
    rgm_json_entry entry = {0};
    rgm_text text = {0}, value = {0};

    while (rgm_json_next(&entry, what)) {
        RGM_GO(rgm_text_add(&text, text.size > 0 ? ", " : "{", text.size > 0 ? 2 : 1));
        RGM_GO(rgm_json_print_text(&text, entry.key));
        RGM_GO(rgm_text_add(&text, ": ", 2));
        rgm_text_clear(&value);
        RGM_GO(print_value(&value, entry.key, entry.value));
        RGM_GO(rgm_json_print_text(&text, value.data != NULL ? value.data : ""));
    }
    RGM_GO(rgm_text_add(&text, text.size > 0 ? "}" : "{}", text.size > 0 ? 1 : 2));
    RGM_GO(rgmi_database_run(master->database,
                             "INSERT INTO search_changes(experiment_id, id, event_id, what, time,"
                             " config) SELECT ?, coalesce(max(id), 0) + 1, ?, ?, ?, ? FROM"
                             " search_changes WHERE experiment_id = ?",
                             "iitdti", e->id, e->events, text.data, rgm_wall_time(),
                             rgm_search_file_text(e->file), e->id));
    RGM_GO(rgmi_database_run(master->database, "UPDATE experiments SET config = ? WHERE id = ?",
                             "ti", rgm_search_file_text(file), e->id));
done:
    rgm_text_clear(&text);
    rgm_text_clear(&value);
    return status;
}

/* Points that no trial is left for. */
static int64_t count_over(const rgm_searcher *searcher)
{
    return rgm_searcher_points_left(searcher) - rgm_searcher_trials_left(searcher);
}

/* Points that were given to try are tried: no more are left over than were before. */
static rgm_status check_points(const rgmi_experiment *e, const rgm_searcher *changed)
{
    int64_t points = rgm_searcher_points_left(changed), over = count_over(changed);

    if (over <= 0 || over <= count_over(e->searcher))
        return RGM_OK;
    return RGM_FAIL(RGM_ERR_CONFIG,
                    "%lld point%s of experiment %lld %s to be tried: searcher.max_trials is to be "
                    "%lld higher",
                    (long long)points, points == 1 ? "" : "s", (long long)e->id,
                    points == 1 ? "waits" : "wait", (long long)over);
}

static rgm_status tell_over(const rgmi_experiment *e)
{
    return RGM_FAIL(RGM_ERR_BUSY, "experiment %lld has tried all that it was to try: %s",
                    (long long)e->id,
                    rgm_searcher_trials_left(e->searcher) < 0
                        ? "a fork is a new search with other values"
                        : "raise searcher.max_trials, or give it a point to try");
}

static bool names_searcher(const rgm_json *what)
{
    rgm_json_entry entry = {0};
    bool found = false;

    while (rgm_json_next(&entry, what))
        found = found || strncmp(entry.key, "searcher.", 9) == 0;
    return found;
}

/* A searcher that is left as it is was checked when the search began. */
static rgm_status read_changed(rgm_search_file **out, rgm_text *details, const rgm_master *master,
                               const rgmi_experiment *e, const rgm_text *text, bool has_searcher)
{
    const char *path = rgm_search_file_path(e->file);
    const rgm_search_subject *subject = master->options.subject;

    return has_searcher
               ? rgm_search_file_parse_changed(out, details, text->data, text->size, path, subject,
                                               e->searcher)
               : rgm_search_file_parse_kept(out, details, text->data, text->size, path, subject);
}

/* The edited file in place of the experiment's, and where it is of another search a searcher that
 * took over. */
static rgm_status apply(rgm_text *details, rgm_master *master, rgmi_experiment *e, const edit *x,
                        const rgm_json *what, bool was_over)
{
    rgm_status status = RGM_OK;
    rgm_search_file *file = NULL;
    rgm_searcher *searcher = NULL;
    rgm_text text = {0};

    RGM_GO(rgm_yaml_print(&text, rgm_yaml_root(x->yaml)));
    RGM_GO(read_changed(&file, details, master, e, &text, names_searcher(what)));
    RGM_GO(rgm_search_file_check_change(file, e->file));
    RGM_GO(make_searcher(&searcher, master, e, file));
    if (!rgm_searcher_is_same(searcher, e->searcher)) {
        RGM_GO(rgm_searcher_take_over(searcher, e->searcher));
        RGM_GO(check_points(e, searcher));
        rgm_searcher_release(e->searcher);
        e->searcher = searcher;
        searcher = NULL;
        was_over = true; /* as far as there may be nothing left */
    }
    if (was_over && rgm_searcher_is_over(e->searcher))
        RGM_GO(tell_over(e));
    RGM_GO(put_down(master, e, file, what));
    rgm_search_file_release(e->file);
    e->file = file;
    file = NULL;
    RGM_GO(rgmi_experiment_go_on(master, e));
done:
    rgm_text_clear(&text);
    rgm_searcher_release(searcher);
    rgm_search_file_release(file);
    return status;
}

rgm_status rgmi_search_change(rgm_text *details, rgm_master *master, int64_t id,
                              const rgm_json *set)
{
    rgm_status status = RGM_OK;
    rgmi_experiment *e;
    bool was_over;
    edit x = {0};

    RGM_GO(open_experiment(&e, &was_over, master, id));
    RGM_GO(begin_edit(&x, e->file));
    RGM_GO(set_json(set_in_file, &x, set));
    if (rgm_json_find(set, "searcher.max_trials") != NULL)
        RGM_GO(keep_plan(&x, e->searcher));
    RGM_GO(apply(details, master, e, &x, set, was_over));
    RGM_GO(rgmi_experiment_flush(master, e));
    RGM_GO(rgmi_experiment_file_renew(master, e));
done:
    clear_edit(&x);
    return status;
}

/* ---- a point -------------------------------------------------------------------------------- */

/* The values of a trial that the point begins with; *found is false where there is none. */
static rgm_status read_base(rgm_hyper_value *values, bool *found, rgm_master *master,
                            const rgmi_experiment *e, int64_t like)
{
    static const char smallest[] =
        "SELECT hyperparameters FROM trials WHERE experiment_id = ? AND (? = 0 OR number = ?) AND"
        " (? > 0 OR best_metric IS NOT NULL) ORDER BY best_metric, number LIMIT 1";
    static const char largest[] =
        "SELECT hyperparameters FROM trials WHERE experiment_id = ? AND (? = 0 OR number = ?) AND"
        " (? > 0 OR best_metric IS NOT NULL) ORDER BY best_metric DESC, number LIMIT 1";
    rgm_status status;
    rgm_yaml *yaml = NULL;
    const char *text;
    rgmi_rows *rows;

    *found = false;
    RGM_TRY(rgmi_database_query(&rows, master->database,
                                rgmi_objective(e->file)->smaller_is_better ? smallest : largest,
                                "iiii", e->id, like, like, like));
    status = rgmi_rows_next(master->database, rows);
    if (status == RGM_END)
        return like == 0 ? RGM_OK
                         : RGM_FAIL(RGM_ERR_NOT_FOUND, "experiment %lld has no trial %lld",
                                    (long long)e->id, (long long)like);
    RGM_TRY(status);
    text = rgmi_rows_text(rows, 0);
    RGM_GO(rgm_yaml_parse(&yaml, text, (int64_t)strlen(text), "a trial"));
    RGM_GO(rgm_space_read_trial(values, rgm_search_file_space(e->file), rgm_yaml_root(yaml)));
    *found = true;
done:
    rgmi_rows_leave(rows);
    rgm_yaml_release(yaml);
    return status;
}

static rgm_status set_in_point(void *payload, const char *key, const char *value)
{
    return rgm_yaml_set(payload, key, value, "the point");
}

/* Its values as one line of JSON. */
static rgm_status complete_point(rgm_text *out, rgm_master *master, const rgmi_experiment *e,
                                 const rgm_json *given, int64_t like)
{
    const rgm_space *space = rgm_search_file_space(e->file);
    rgm_hyper_value *base = NULL, *values = NULL;
    rgm_status status = RGM_OK;
    rgm_yaml *point = NULL;
    bool found;

    RGM_GO(RGM_NEW(base, rgm_space_count(space) + 1));
    RGM_GO(RGM_NEW(values, rgm_space_count(space) + 1));
    RGM_GO(read_base(base, &found, master, e, like));
    RGM_GO(rgm_yaml_parse(&point, "", 0, "the point"));
    RGM_GO(set_json(set_in_point, point, given));
    RGM_GO(rgm_space_vary_point(values, space, found ? base : NULL, rgm_yaml_root(point)));
    RGM_GO(rgm_space_print_json(out, space, values));
done:
    rgm_yaml_release(point);
    rgm_free(base);
    rgm_free(values);
    return status;
}

/* Behind the points that there are; and so many trials that it will be tried. */
static rgm_status add_point(edit *x, const rgmi_experiment *e, const char *point)
{
    rgm_yaml_node *root = rgm_yaml_root(x->yaml), *list = find_key(root, "searcher.points");
    rgm_yaml_node *most = find_key(root, "searcher.max_trials");
    int64_t left = rgm_searcher_trials_left(e->searcher), trials = 0;
    int64_t points = rgm_searcher_points_left(e->searcher) + 1;
    rgm_text text = {0}, before = {0};
    rgm_status status = RGM_OK;
    char number[32];

    if (left < 0 || most == NULL)
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "a search by '%s' takes no further point; random, median, adaptive_asha "
                        "and bohb do, and a fork is a new search with its own points",
                        rgm_searcher_name(e->searcher));
    if (list != NULL && list->count > 0)
        RGM_GO(rgm_yaml_print_flow(&before, list, false));
    if (before.size > 0)
        RGM_GO(rgm_text_printf(&text, "%.*s, %s]", (int)before.size - 1, before.data, point));
    else
        RGM_GO(rgm_text_printf(&text, "[%s]", point));
    RGM_GO(rgm_yaml_int(&trials, most));
    snprintf(number, sizeof number, "%lld", (long long)(trials + points - left));
    RGM_GO(set_key(x, "searcher.points", text.data));
    if (points > left) {
        RGM_GO(set_key(x, "searcher.max_trials", number));
        RGM_GO(keep_plan(x, e->searcher));
    }
done:
    rgm_text_clear(&text);
    rgm_text_clear(&before);
    return status;
}

/* What was created now starts before those that wait. */
static rgm_status put_ahead(int64_t *number, rgm_master *master, const rgmi_experiment *e,
                            int64_t before)
{
    RGM_TRY(rgmi_database_run(master->database,
                              "UPDATE trials SET ahead = 1 WHERE experiment_id = ? AND number > ?",
                              "ii", e->id, before));
    return rgmi_database_int(number, master->database, 0,
                             "SELECT number FROM trials WHERE experiment_id = ? AND number > ?"
                             " ORDER BY number LIMIT 1",
                             "ii", e->id, before);
}

rgm_status rgmi_search_try(int64_t *number, rgm_text *details, rgm_master *master, int64_t id,
                           const rgm_json *values, int64_t like)
{
    rgm_status status = RGM_OK;
    rgmi_experiment *e;
    rgm_text point = {0};
    int64_t before;
    bool was_over;
    edit x = {0};

    *number = 0;
    RGM_GO(open_experiment(&e, &was_over, master, id));
    before = rgm_searcher_trial_count(e->searcher);
    RGM_GO(complete_point(&point, master, e, values, like));
    RGM_GO(begin_edit(&x, e->file));
    RGM_GO(add_point(&x, e, point.data));
    RGM_GO(apply(details, master, e, &x, values, was_over));
    RGM_GO(put_ahead(number, master, e, before));
    RGM_GO(rgmi_experiment_flush(master, e));
    RGM_GO(rgmi_experiment_file_renew(master, e));
done:
    clear_edit(&x);
    rgm_text_clear(&point);
    return status;
}

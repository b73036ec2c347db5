/*
 * How an experiment begins: from a file, as a copy of another, as the continuation of a trial.
 */
#include "experiment_files.h"
#include "launch.h"
#include "requests.h"

#include <regimen/search_live.h>

#include <inttypes.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What an experiment is made of. Texts are borrowed. */
typedef struct plan {
    const char *config, *name, *working_folder, *description;
    int64_t parent;  /* 0: none */
    bool keeps_code; /* the parent's, where the entrypoint is the same */
    bool paused, validate_only;
} plan;

/* ---- where its trials begin ----------------------------------------------------------------- */

typedef struct source {
    int64_t checkpoint; /* of the database; 0: none */
    char *folder;       /* outside of it; NULL: none */
} source;

static rgm_status source_of_trial(source *out, rgm_master *master, const rgm_yaml_node *node)
{
    int64_t trial, is_there;

    RGM_TRY(rgm_yaml_int(&trial, node));
    RGM_TRY(rgmi_database_int(&is_there, master->database, 0,
                              "SELECT count(*) FROM trials WHERE id = ?", "i", trial));
    if (is_there == 0)
        return rgm_yaml_fail(node, "there is no trial %lld", (long long)trial);
    RGM_TRY(rgmi_database_int(&out->checkpoint, master->database, 0,
                              "SELECT id FROM checkpoints WHERE trial_id = ? AND state ="
                              " " RGMI_SQL(COMPLETED) " ORDER BY step_id DESC LIMIT 1",
                              "i", trial));
    return out->checkpoint != 0 ? RGM_OK
                                : rgm_yaml_fail(node, "trial %lld has no checkpoint to begin with",
                                                (long long)trial);
}

static rgm_status source_of_checkpoint(source *out, rgm_master *master, const rgm_yaml_node *node)
{
    if (node->text == NULL)
        return rgm_yaml_fail(node, "'searcher.source_checkpoint_uuid' is no text");
    if (node->text[0] == '/') {
        if (!rgm_path_is_folder(node->text))
            return rgm_yaml_fail(node, "there is no checkpoint folder '%s'", node->text);
        return rgm_strdup(&out->folder, node->text);
    }
    RGM_TRY(rgmi_database_int(
        &out->checkpoint, master->database, 0,
        "SELECT id FROM checkpoints WHERE uuid = ? AND state = " RGMI_SQL(COMPLETED), "t",
        node->text));
    return out->checkpoint != 0 ? RGM_OK
                                : rgm_yaml_fail(node, "there is no checkpoint '%s'", node->text);
}

static rgm_status find_source(source *out, rgm_master *master, const rgm_search_file *file)
{
    const rgm_yaml_node *searcher = rgm_search_file_section(file, "searcher");
    const rgm_yaml_node *trial = rgm_yaml_find(searcher, "source_trial_id");
    const rgm_yaml_node *uuid = rgm_yaml_find(searcher, "source_checkpoint_uuid");

    if (trial != NULL)
        RGM_TRY(source_of_trial(out, master, trial));
    if (uuid != NULL)
        RGM_TRY(source_of_checkpoint(out, master, uuid));
    return RGM_OK;
}

/* ---- its number -------------------------------------------------------------------------- */

/* Of a folder's name: a number without zeros before it. */
static bool is_number(int64_t *out, const char *name)
{
    size_t size = strlen(name);

    if (name[0] == '0' || size > 15 || strspn(name, "0123456789") != size)
        return false;
    *out = strtoll(name, NULL, 10);
    return *out > 0;
}

/* Whether there is one of a trial in an experiment's folder. */
static bool has_trials(const char *folder)
{
    char **names = NULL;
    int64_t count = 0, number;
    bool has = false;

    if (rgm_folder_list(&names, &count, folder) != RGM_OK)
        rgm_error_reset(); /* no folder */
    for (int64_t i = 0; i < count && !has; i++)
        has = is_number(&number, names[i]);
    rgm_names_release(names, count);
    return has;
}

/* ---- its row -------------------------------------------------------------------------------- */

static const char *owner_name(char *buffer, size_t size)
{
    struct passwd entry, *found = NULL;
    char room[4096];

    if (getpwuid_r(geteuid(), &entry, room, sizeof room, &found) == 0 && found != NULL)
        snprintf(buffer, size, "%s", found->pw_name);
    else
        snprintf(buffer, size, "%ld", (long)geteuid());
    return buffer;
}

/* The number behind which a new experiment's is: the database's last, or the last of a folder with
 * trials, of a database that is lost. Theirs are never taken for the new one's. */
static rgm_status find_last(int64_t *out, const rgm_master *master)
{
    rgm_status status = RGM_OK;
    char **names = NULL, *path = NULL;
    int64_t count = 0, known, id;

    RGM_TRY(rgmi_database_int(&known, master->database, 0,
                              "SELECT seq AS last_id FROM sqlite_sequence WHERE name ="
                              " 'experiments'",
                              ""));
    *out = known;
    RGM_GO(rgm_folder_list(&names, &count, master->options.folder));
    for (int64_t i = 0; i < count; i++) {
        if (!is_number(&id, names[i]) || id <= *out)
            continue;
        rgm_free(path);
        RGM_GO(rgmi_master_path(&path, master, id, 0, NULL));
        if (has_trials(path))
            *out = id;
    }
    if (*out > known)
        rgm_log_write(RGM_LOG_WARNING,
                      "'%s' has trials of experiments up to %lld that its database does not know: "
                      "the new one is number %lld",
                      master->options.folder, (long long)*out, (long long)*out + 1);
done:
    rgm_names_release(names, count);
    rgm_free(path);
    return status;
}

static rgm_status insert_row(rgm_master *master, const plan *p, const rgm_search_file *file,
                             const source *from, const rgm_code *code)
{
    const rgm_search_settings *o = rgm_search_file_settings(file);
    const rgm_objective *objective = rgmi_objective(file);
    int64_t seed = o->reproducibility.experiment_seed;
    char owner[256];
    int64_t last = 0;

    RGM_TRY(find_last(&last, master));
    if (seed < 0)
        seed = (int64_t)rgm_wall_time() & INT32_MAX;
    return rgmi_database_run(
        master->database,
        "INSERT INTO experiments(id, state, name, description, config, working_folder, owner, seed,"
        " parent_id, weight, priority, max_slots, slots_per_trial, save_experiment_best,"
        " save_trial_best, save_trial_latest, metric, smaller_is_better, start_time,"
        " source_checkpoint, source_checkpoint_id, engine, code, pool, project, slot_type) VALUES("
        "?, ?, ?, ?, ?, ?, ?, ?, nullif(?, 0), ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, nullif(?, 0), ?, "
        "?, "
        "?, ?, ?)",
        "ittttttiidiiiiiitidtittttt", last + 1,
        rgm_work_state_names[p->paused ? RGM_WORK_PAUSED : RGM_WORK_ACTIVE], p->name,
        p->description != NULL   ? p->description
        : o->description != NULL ? o->description
                                 : p->name,
        rgm_search_file_text(file), p->working_folder, owner_name(owner, sizeof owner), seed,
        p->parent, o->resources.weight, o->resources.priority, o->resources.max_slots,
        o->resources.slots_per_trial, o->checkpoint_storage.save_experiment_best,
        o->checkpoint_storage.save_trial_best, o->checkpoint_storage.save_trial_latest,
        objective->metric, (int64_t)objective->smaller_is_better, rgm_wall_time(), from->folder,
        from->checkpoint, o->scheduler.name, code->count > 0 ? code->hash : NULL,
        o->resources.pool != NULL ? o->resources.pool : "", o->project != NULL ? o->project : "",
        rgm_slot_type_names[o->resources.slot_type]);
}

static rgm_status insert(rgmi_call *call, const plan *p, const rgm_search_file *file,
                         const source *from, const rgm_code *code, const rgmi_code_origin *origin)
{
    rgm_master *master = call->master;
    const rgm_search_settings *o = rgm_search_file_settings(file);

    RGM_TRY(insert_row(master, p, file, from, code));
    call->id = rgmi_database_last_id(master->database);
    for (int64_t i = 0; i < o->labels.count; i++)
        RGM_TRY(rgmi_database_run(master->database, "INSERT OR IGNORE INTO labels VALUES(?, ?)",
                                  "it", call->id, o->labels.items[i]));
    RGM_TRY(rgmi_earlier_copy(master, call->id, file));
    RGM_TRY(rgmi_experiment_files_write(master, call->id, file, code));
    RGM_TRY(rgmi_code_origin_insert(master, call->id, origin));
    if (code->count > 0 && origin->folder == NULL)
        RGM_TRY(rgmi_code_origin_inherit(master, call->id, p->parent));
    RGM_TRY(rgmi_experiment_begin(master, call->id));
    return rgmi_answer_experiment(call);
}

/* Of an experiment that names no pool, where others have slots of the machine. */
static rgm_status check_no_pool(const rgm_master *master, const rgm_search_settings *o)
{
    const rgmi_machines *m = master->machines;
    int64_t needed = o->resources.slots_per_trial, fits = 1;

    if (o->scheduler.type != RGM_SCHEDULER_LOCAL || o->resources.slot_type != RGM_SLOT_CPU ||
        m->pool_count == 1 || needed <= m->pools[0].slot_count)
        return RGM_OK;
    while (fits < m->pool_count && m->pools[fits].slot_count < needed)
        fits++;
    return RGM_FAIL(RGM_ERR_CONFIG,
                    "a trial takes %lld slots (resources.slots_per_trial), and %lld of this "
                    "master's are in no pool; %s%s",
                    (long long)needed, (long long)m->pools[0].slot_count,
                    fits < m->pool_count ? "so many has resources.pool: " : "no pool has so many",
                    fits < m->pool_count ? m->pools[fits].name : "");
}

/* A project as the database keeps it, and slots that it can wait for. */
static rgm_status check_place(const rgm_master *master, const rgm_search_settings *o)
{
    int64_t pool = rgmi_machines_pool(master->machines, o->resources.pool);

    if (o->project != NULL && strlen(o->project) > 255)
        return RGM_FAIL(RGM_ERR_CONFIG, "'project' has more than 255 bytes");
    if (pool < 0)
        return rgmi_machines_no_pool(master->machines, o->resources.pool);
    if (o->resources.pool == NULL)
        return check_no_pool(master, o);
    if (o->resources.slots_per_trial > master->machines->pools[pool].slot_count)
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "a trial takes %lld slots (resources.slots_per_trial), and pool '%s' has "
                        "%lld",
                        (long long)o->resources.slots_per_trial, o->resources.pool,
                        (long long)master->machines->pools[pool].slot_count);
    return RGM_OK;
}

static rgm_status create(rgmi_call *call, const plan *p)
{
    rgm_status status = RGM_OK;
    rgm_search_file *file = NULL;
    source from = {0};
    rgm_code code = {0};
    rgmi_code_origin origin = {0};

    RGM_GO(rgm_search_file_parse(&file, &call->details, p->config, (int64_t)strlen(p->config),
                                 p->name, call->master->options.subject));
    RGM_GO(rgm_search_file_check_points(file));
    if (rgm_search_file_settings(file)->scheduler.type != RGM_SCHEDULER_LOCAL)
        RGM_GO(rgmi_jobs_check(call->master, file));
    RGM_GO(check_place(call->master, rgm_search_file_settings(file)));
    RGM_GO(rgmi_launch_check(file));
    RGM_GO(rgmi_devices_check(call->master, file));
    RGM_GO(find_source(&from, call->master, file));
    RGM_GO(rgmi_earlier_check(call->master, file));
    RGM_GO(rgmi_trial_code_read(&code, &origin, call->master, file, p->working_folder,
                                p->keeps_code ? p->parent : 0));
    if (p->validate_only) {
        RGM_GO(rgm_text_printf(call->out, "{\"valid\": true}"));
        goto done;
    }
    RGM_GO(rgmi_change_begin(call->master));
    RGM_GO(rgmi_change_end(call->master, insert(call, p, file, &from, &code, &origin)));
    call->status = 201;
done:
    rgm_search_file_release(file);
    rgm_free(from.folder);
    rgm_code_clear(&code);
    rgmi_code_origin_clear(&origin);
    return status;
}

/* ---- from a file ---------------------------------------------------------------------------- */

static rgm_status check_plan(const plan *p)
{
    if (p->config == NULL)
        return RGM_FAIL(RGM_ERR_ARG, "'config' is missing: the experiment file's text");
    if (p->working_folder[0] != '/' || !rgm_path_is_folder(p->working_folder))
        return RGM_FAIL(RGM_ERR_ARG, "'working_folder' is no absolute folder");
    if (p->name[0] == 0 || strlen(p->name) > 255)
        return RGM_FAIL(RGM_ERR_ARG, "'name' has 1 to 255 bytes");
    return RGM_OK;
}

rgm_status rgmi_answer_create(rgmi_call *call)
{
    static const char *const known[] = {"config", "name",          "working_folder", "description",
                                        "paused", "validate_only", "parent_id",      NULL};
    char here[4096];
    plan p = {.name = "experiment", .working_folder = getcwd(here, sizeof here)};

    if (p.working_folder == NULL)
        p.working_folder = "/";
    RGM_TRY(rgmi_call_keys(call, known));
    RGM_TRY(rgmi_call_text(&p.config, call, "config"));
    RGM_TRY(rgmi_call_text(&p.name, call, "name"));
    RGM_TRY(rgmi_call_text(&p.working_folder, call, "working_folder"));
    RGM_TRY(rgmi_call_text(&p.description, call, "description"));
    RGM_TRY(rgmi_call_bool(&p.paused, call, "paused"));
    RGM_TRY(rgmi_call_bool(&p.validate_only, call, "validate_only"));
    RGM_TRY(rgmi_call_int(&p.parent, call, "parent_id", 1, INT64_MAX));
    RGM_TRY(check_plan(&p));
    return create(call, &p);
}

/* ---- from another ---------------------------------------------------------------------------- */

/* Of the experiment that is copied; released together. */
typedef struct original {
    char *config, *name, *working_folder, *hyperparameters;
    int64_t experiment;
} original;

static void clear_original(original *o)
{
    rgm_free(o->config);
    rgm_free(o->name);
    rgm_free(o->working_folder);
    rgm_free(o->hyperparameters);
}

static rgm_status read_original(original *out, rgmi_call *call, const char *sql, const char *what)
{
    rgmi_rows *rows;
    rgm_status status;

    RGM_TRY(rgmi_database_query(&rows, call->master->database, sql, "i", call->id));
    status = rgmi_rows_next(call->master->database, rows);
    if (status == RGM_END)
        return RGM_FAIL(RGM_ERR_NOT_FOUND, "there is no %s %lld", what, (long long)call->id);
    RGM_TRY(status);
    out->experiment = rgmi_rows_int(rows, 0);
    RGM_GO(rgm_strdup(&out->config, rgmi_rows_text(rows, 1)));
    RGM_GO(rgm_strdup(&out->name, rgmi_rows_text(rows, 2)));
    RGM_GO(rgm_strdup(&out->working_folder, rgmi_rows_text(rows, 3)));
    RGM_GO(rgm_strdup(&out->hyperparameters, rgmi_rows_text(rows, 4)));
done:
    rgmi_rows_leave(rows);
    return status;
}

rgm_status rgmi_answer_fork(rgmi_call *call)
{
    static const char *const known[] = {"config", "description", "paused", NULL};
    rgm_status status = RGM_OK;
    original o = {0};

    RGM_GO(rgmi_call_keys(call, known));
    RGM_GO(read_original(
        &o, call,
        "SELECT id, config, name, working_folder, '' AS no_text FROM experiments WHERE id ="
        " ?",
        "experiment"));
    plan p = {.config = o.config,
              .name = o.name,
              .working_folder = o.working_folder,
              .parent = o.experiment,
              .keeps_code = true};
    RGM_GO(rgmi_call_text(&p.config, call, "config"));
    RGM_GO(rgmi_call_text(&p.description, call, "description"));
    RGM_GO(rgmi_call_bool(&p.paused, call, "paused"));
    RGM_GO(create(call, &p));
done:
    clear_original(&o);
    return status;
}

/* {steps: 40}, or 40: of what the searcher's section says then. */
static rgm_status read_length(rgm_length *out, const rgmi_call *call)
{
    const rgm_json *length = rgm_json_find(call->body, "max_length");

    *out = (rgm_length){0};
    if (rgm_json_int(&out->units, length) && out->units > 0)
        return RGM_OK;
    for (int i = 0; rgm_length_unit_names[i] != NULL; i++)
        if (rgm_json_int(&out->units, rgm_json_find(length, rgm_length_unit_names[i])) &&
            out->units > 0) {
            out->unit = (rgm_length_unit)i;
            return RGM_OK;
        }
    return RGM_FAIL(RGM_ERR_ARG, "'max_length' is missing: {\"steps\": N}, or another unit");
}

/* The section `hyperparameters` with the values of a trial alone. */
static rgm_status print_values(rgm_text *out, const rgm_search_file *file,
                               const char *hyperparameters)
{
    const rgm_space *space = rgm_search_file_space(file);
    rgm_hyper_value *values = NULL;
    rgm_status status = RGM_OK;
    rgm_yaml *yaml = NULL;

    RGM_GO(RGM_NEW(values, rgm_space_count(space) + 1));
    RGM_GO(rgm_yaml_parse(&yaml, hyperparameters, (int64_t)strlen(hyperparameters), "a trial"));
    RGM_GO(rgm_space_read_trial(values, space, rgm_yaml_root(yaml)));
    RGM_GO(rgm_space_print_section(out, space, values));
done:
    rgm_yaml_release(yaml);
    rgm_free(values);
    return status;
}

/* The file with the trial's values for its hyperparameters, and it as the source. Constraints were
 * kept when the values were drawn, and may be about hyperparameters that the trial lacks; of the
 * searcher nothing stays but its metric. */
static rgm_status edit_config(rgm_text *out, const rgmi_call *call, const original *o,
                              rgm_length length)
{
    rgm_status status = RGM_OK;
    rgm_search_file *file = NULL;
    rgm_text searcher = {0}, values = {0};
    rgm_yaml *yaml = NULL;

    RGM_GO(rgm_search_file_glance(&file, o->config, (int64_t)strlen(o->config), o->name));
    RGM_GO(rgm_text_printf(&searcher, "{name: single, metric: "));
    RGM_GO(rgm_json_print_text(&searcher, rgmi_objective(file)->metric));
    RGM_GO(rgm_text_printf(&searcher,
                           ", smaller_is_better: %s, max_length: {%s: %" PRId64
                           "}, source_trial_id: %" PRId64 "}",
                           rgmi_objective(file)->smaller_is_better ? "true" : "false",
                           rgm_length_unit_names[length.unit], length.units, call->id));
    RGM_GO(rgm_yaml_parse(&yaml, o->config, (int64_t)strlen(o->config), o->name));
    RGM_GO(rgm_yaml_set(yaml, "searcher", searcher.data, "continue"));
    RGM_GO(print_values(&values, file, o->hyperparameters));
    RGM_GO(rgm_yaml_set(yaml, "hyperparameters", values.data, "continue"));
    if (rgm_yaml_find(rgm_yaml_root(yaml), "constraints") != NULL)
        RGM_GO(rgm_yaml_set(yaml, "constraints", "[]", "continue"));
    RGM_GO(rgm_yaml_print(out, rgm_yaml_root(yaml)));
done:
    rgm_yaml_release(yaml);
    rgm_text_clear(&searcher);
    rgm_text_clear(&values);
    rgm_search_file_release(file);
    return status;
}

rgm_status rgmi_answer_continue(rgmi_call *call)
{
    static const char *const known[] = {"max_length", "description", "paused", NULL};
    rgm_status status = RGM_OK;
    char description[64];
    rgm_text config = {0};
    original o = {0};
    rgm_length length;

    RGM_GO(rgmi_call_keys(call, known));
    RGM_GO(read_length(&length, call));
    RGM_GO(read_original(&o, call,
                         "SELECT e.id, e.config, e.name, e.working_folder, t.hyperparameters FROM"
                         " trials t JOIN experiments e ON e.id = t.experiment_id WHERE t.id = ?",
                         "trial"));
    RGM_GO(edit_config(&config, call, &o, length));
    snprintf(description, sizeof description, "Continuation of trial %lld", (long long)call->id);
    plan p = {.config = config.data,
              .name = o.name,
              .working_folder = o.working_folder,
              .description = description,
              .parent = o.experiment,
              .keeps_code = true};
    RGM_GO(rgmi_call_text(&p.description, call, "description"));
    RGM_GO(rgmi_call_bool(&p.paused, call, "paused"));
    RGM_GO(create(call, &p));
done:
    rgm_text_clear(&config);
    clear_original(&o);
    return status;
}

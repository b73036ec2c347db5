/* regimen model: trained models under a name. */
#include "verb_experiment.h"

#include <regimen/registry.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REGISTRY_ARGUMENT(where)                                                                   \
    {                                                                                              \
        "registry", ARG_TEXT, &(where), "DIR",                                                     \
            "the registry's folder; default $REGIMEN_REGISTRY, else DIR/registry of the master"    \
    }

/* ---- what is registered -------------------------------------------------------------------- */

/* The files of a version to be. */
typedef struct gathered {
    char **paths, **names;   /* [count] */
    rgm_model_source *files; /* [count] the same, for the draft */
    int64_t count, path_capacity, name_capacity;
    char checkpoint[64]; /* "ckpt/step-00000108"; "": it is no run */
    bool is_program;     /* "checkpoints/step-...", as a program wrote it */
    bool is_earlier;     /* the run has a newer one                       */
} gathered;

static void clear_gathered(gathered *g)
{
    for (int64_t i = 0; i < g->count; i++) {
        rgm_free(g->paths[i]);
        rgm_free(g->names[i]);
    }
    rgm_free(g->paths);
    rgm_free(g->names);
    rgm_free(g->files);
    *g = (gathered){.count = 0};
}

/* folder/inner, as above/inner. */
static rgm_status add_file(gathered *g, const char *folder, const char *above, const char *inner)
{
    rgm_status status = RGM_OK;
    char *path = NULL, *name = NULL;

    RGM_GO(rgm_path_join(&path, folder, inner));
    RGM_GO(rgm_strprintf(&name, "%s%s", above, inner));
    RGM_GO(RGM_RESERVE(g->paths, g->path_capacity, g->count + 1));
    RGM_GO(RGM_RESERVE(g->names, g->name_capacity, g->count + 1));
    g->paths[g->count] = path;
    g->names[g->count++] = name;
    return RGM_OK;
done:
    rgm_free(path);
    rgm_free(name);
    return status;
}

static rgm_status add_folder(gathered *g, const char *folder, const char *above)
{
    rgm_status status = RGM_OK;
    char **names = NULL;
    int64_t count = 0;

    RGM_GO(rgm_model_list_files(&names, &count, folder));
    for (int64_t i = 0; i < count; i++)
        RGM_GO(add_file(g, folder, above, names[i]));
done:
    rgm_names_release(names, count);
    return status;
}

/* <run>/<inner> with all that is in it, if it is there. */
static rgm_status add_inner(gathered *g, const char *run, const char *inner, const char *above)
{
    rgm_status status = RGM_OK;
    char *folder = NULL;

    RGM_GO(rgm_path_join(&folder, run, inner));
    if (rgm_path_is_folder(folder))
        RGM_GO(add_folder(g, folder, above));
done:
    rgm_free(folder);
    return status;
}

/* What a run writes for those who watch it, a lock, and the token of an asynchronous run's server
 * are no part of its model. */
static bool is_for_watchers(const char *name)
{
    static const char *const names[] = {"log.txt", "trial.log", "system.jsonl", "server",
                                        "program.sock"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return name[0] == '.' || strncmp(name, "events.out.", 11) == 0 || strstr(name, ".tmp-") != NULL;
}

/* result.json is of the run's end. */
static rgm_status add_top(gathered *g, const char *run)
{
    rgm_status status = RGM_OK;
    char **names = NULL;
    int64_t count = 0;

    RGM_GO(rgm_folder_list(&names, &count, run));
    for (int64_t i = 0; i < count; i++) {
        char *path;

        if (is_for_watchers(names[i]) || (g->is_earlier && strcmp(names[i], "result.json") == 0))
            continue;
        RGM_GO(rgm_path_join(&path, run, names[i]));
        bool is_file = !rgm_path_is_folder(path);
        rgm_free(path);
        if (is_file)
            RGM_GO(add_file(g, run, "", names[i]));
    }
done:
    rgm_names_release(names, count);
    return status;
}

/* As find_step(), of the run of a program: a folder that the program filled, described beside. */
static rgm_status find_program_step(int64_t *out, const char *run, int64_t wanted)
{
    rgm_status status = RGM_OK;
    char **names = NULL, *folder = NULL;
    int64_t count = 0;

    *out = 0;
    RGM_GO(rgm_path_join(&folder, run, "checkpoints"));
    if (rgm_path_is_folder(folder))
        RGM_GO(rgm_folder_list(&names, &count, folder));
    for (int64_t i = 0; i < count; i++) {
        char *end = NULL, *described;
        long long step = strncmp(names[i], "step-", 5) == 0 ? strtoll(names[i] + 5, &end, 10) : 0;

        if (step <= *out || *end != 0 || (wanted > 0 && step != wanted))
            continue;
        RGM_GO(rgm_strprintf(&described, "%s/%s/regimen.json", folder, names[i]));
        *out = rgm_path_exists(described) ? step : *out;
        rgm_free(described);
    }
done:
    rgm_names_release(names, count);
    rgm_free(folder);
    return status;
}

/* The newest checkpoint of a run, or that of a step; 0: it has none, or is no run. */
static rgm_status find_step(int64_t *out, const char *run, int64_t wanted)
{
    rgm_checkpoint_store_options options = RGM_CHECKPOINT_STORE_OPTIONS_INIT;
    rgm_checkpoint_store *store = NULL;
    rgm_status status = RGM_OK;
    int64_t *steps = NULL, count = 0;
    char *folder = NULL;

    *out = 0;
    options.read_only = true;
    RGM_GO(rgm_path_join(&folder, run, "ckpt"));
    if (!rgm_path_is_folder(folder))
        goto done;
    RGM_GO(rgm_checkpoint_store_open(&store, folder, &options));
    RGM_GO(rgm_checkpoint_steps(&steps, &count, store));
    for (int64_t i = 0; i < count; i++)
        if (wanted == 0 || steps[i] == wanted)
            *out = steps[i];
done:
    rgm_checkpoint_store_close(store);
    rgm_free(steps);
    rgm_free(folder);
    return status;
}

/* The code of a trial, a program's or the shared object of an own model, lies with its experiment.
 */
static rgm_status add_code(gathered *g, const char *run)
{
    rgm_status status = RGM_OK;
    char *inner = NULL;

    RGM_GO(rgm_path_join(&inner, run, "../code"));
    if (rgm_path_is_folder(inner))
        RGM_GO(add_folder(g, inner, "code/"));
done:
    rgm_free(inner);
    return status;
}

/* A master's folder has its database and its token, a registry's all versions: neither is a model,
 * nor is what one of them lies in. */
static const char *const no_models[] = {"master.db", "registry.lock"};
enum { NO_MODELS = (int)(sizeof no_models / sizeof *no_models) };

static rgm_status refuse_folder(const char *folder, const char *sign)
{
    return RGM_FAIL(RGM_ERR_CONFIG,
                    "%s has a %s in it, %s: what is registered is a trial (1/44), a run folder or "
                    "an export's folder",
                    folder, strstr(sign, no_models[0]) != NULL ? "master's folder" : "registry",
                    sign);
}

static rgm_status check_folder(const char *folder)
{
    for (int i = 0; i < NO_MODELS; i++) {
        rgm_status status = RGM_OK;
        char *path;

        RGM_TRY(rgm_path_join(&path, folder, no_models[i]));
        if (rgm_path_exists(path))
            status = refuse_folder(folder, path);
        rgm_free(path);
        RGM_TRY(status);
    }
    return RGM_OK;
}

static rgm_status check_inside(const char *folder, const gathered *g)
{
    for (int64_t i = 0; i < g->count; i++)
        for (int k = 0; k < NO_MODELS; k++) {
            const char *slash = strrchr(g->names[i], '/');

            if (strcmp(slash != NULL ? slash + 1 : g->names[i], no_models[k]) == 0)
                return refuse_folder(folder, g->paths[i]);
        }
    return RGM_OK;
}

static rgm_status gather_run(gathered *g, const char *run, int64_t step, bool is_trial)
{
    char above[80];

    snprintf(g->checkpoint, sizeof g->checkpoint, "%s/step-%08lld",
             g->is_program ? "checkpoints" : "ckpt", (long long)step);
    snprintf(above, sizeof above, "%s/", g->checkpoint);
    RGM_TRY(add_top(g, run));
    RGM_TRY(add_inner(g, run, g->checkpoint, above));
    if (!g->is_earlier) /* exports have the weights of the end */
        RGM_TRY(add_inner(g, run, "export", "export/"));
    return is_trial ? add_code(g, run) : RGM_OK;
}

/* Of a run its newest checkpoint and what describes it; of any other folder all of it. */
static rgm_status gather(gathered *g, const char *folder, int64_t wanted, bool is_trial)
{
    int64_t step, newest = 0;

    RGM_TRY(find_step(&step, folder, wanted));
    if (step == 0) {
        RGM_TRY(find_program_step(&step, folder, wanted));
        g->is_program = step > 0;
    }
    if (wanted > 0)
        RGM_TRY(g->is_program ? find_program_step(&newest, folder, 0)
                              : find_step(&newest, folder, 0));
    g->is_earlier = step < newest;
    if (step == 0 && wanted > 0)
        return RGM_FAIL(RGM_ERR_NOT_FOUND, "%s has no checkpoint of step %lld", folder,
                        (long long)wanted);
    if (step == 0 && is_trial)
        return RGM_FAIL(RGM_ERR_NOT_FOUND, "%s has no checkpoint yet", folder);
    RGM_TRY(check_folder(folder));
    RGM_TRY(step > 0 ? gather_run(g, folder, step, is_trial) : add_folder(g, folder, ""));
    RGM_TRY(check_inside(folder, g));
    if (g->count == 0)
        return RGM_FAIL(RGM_ERR_NOT_FOUND, "%s has no files", folder);
    RGM_TRY(RGM_NEW(g->files, g->count));
    for (int64_t i = 0; i < g->count; i++)
        g->files[i] = (rgm_model_source){g->paths[i], g->names[i]};
    return RGM_OK;
}

/* What was copied while the run went on is whole all the same. */
static rgm_status check_copy(const char *folder, void *payload)
{
    const gathered *g = payload;
    rgm_checkpoint *checkpoint = NULL;
    rgm_status status = RGM_OK;
    char *path = NULL;

    if (g->checkpoint[0] == 0 || g->is_program) /* whose checkpoints are published whole */
        return RGM_OK;
    RGM_GO(rgm_path_join(&path, folder, g->checkpoint));
    RGM_GO(rgm_checkpoint_load(&checkpoint, path));
done:
    rgm_checkpoint_release(checkpoint);
    rgm_free(path);
    return status;
}

/* ---- register ------------------------------------------------------------------------------ */

/* The best validation that an earlier checkpoint knows of: whatever else a run tells is of its end.
 */
static rgm_status read_own_best(rgm_run_look *look, const char *folder, const gathered *g)
{
    rgm_status status = RGM_OK;
    rgm_checkpoint *checkpoint = NULL;
    const char *metric;
    int64_t step;
    const rgm_key_place places[] = {{RGM_KEY_BEST_STEP, &step},
                                    {RGM_KEY_BEST_VALUE, &look->best_value},
                                    {RGM_KEY_BEST_METRIC, &metric}};
    char *path = NULL;

    RGM_GO(rgm_path_join(&path, folder, g->checkpoint));
    RGM_GO(rgm_checkpoint_load(&checkpoint, path));
    RGM_GO(rgm_checkpoint_get_keys(checkpoint, places, sizeof places / sizeof *places));
    if (step >= 0)
        RGM_GO(rgm_strdup(&look->best_metric, metric));
done:
    rgm_checkpoint_release(checkpoint);
    rgm_free(path);
    return status;
}

/* What is known of the model: of an earlier checkpoint of a program nothing. */
static rgm_status look_at(rgm_run_look *look, const char *folder, const gathered *g)
{
    if (g->checkpoint[0] == 0 || (g->is_earlier && g->is_program))
        return RGM_OK;
    return g->is_earlier ? read_own_best(look, folder, g) : rgm_run_look_load(look, folder, 0);
}

typedef struct registration {
    const char *registry, *where, *note;
    int64_t step;
} registration;

static rgm_status register_files(int64_t *number, const char *registry, const char *name,
                                 const char *folder, const char *source, const registration *r,
                                 bool is_trial)
{
    rgm_status status = RGM_OK;
    gathered g = {.count = 0};
    rgm_run_look look = {.state = RGM_RUN_RUNNING};
    rgm_named_number *metrics = NULL;
    char best[200];

    RGM_GO(gather(&g, folder, r->step, is_trial));
    RGM_GO(look_at(&look, folder, &g));
    RGM_GO(RGM_NEW(metrics, look.last_count + 1));
    if (look.last_count > 0)
        memcpy(metrics, look.last, (size_t)look.last_count * sizeof *metrics);
    rgm_model_draft draft = {.name = name,
                             .source = source,
                             .note = r->note,
                             .metrics = metrics,
                             .metric_count = look.last_count,
                             .files = g.files,
                             .file_count = g.count,
                             .check = check_copy,
                             .payload = &g};
    if (look.best_metric != NULL) {
        snprintf(best, sizeof best, "best %.180s", look.best_metric);
        metrics[draft.metric_count++] = (rgm_named_number){best, look.best_value};
    }
    RGM_GO(rgm_model_register(number, registry, &draft));
done:
    rgm_free(metrics);
    rgm_run_look_clear(&look);
    clear_gathered(&g);
    return status;
}

/* A folder, or a trial of a master: its run folder. */
static rgm_status find_folder(char **folder, char **source, bool *is_trial, const char *text,
                              const char *where)
{
    asked_master whom = {0};
    rgm_status status = RGM_OK;
    json_t *trial = NULL, *master = NULL;
    int64_t id;

    *folder = NULL;
    *source = NULL;
    *is_trial = false;
    if (rgm_path_is_folder(text)) {
        RGM_TRY(rgm_strdup(folder, text));
        return rgm_strprintf(source, "folder %s", text);
    }
    RGM_GO(master_open(&whom, where));
    RGM_GO(find_trial(&id, &whom, text));
    RGM_GO(ask(&trial, &whom, "GET", NULL, "/api/v1/trials/%lld", (long long)id));
    RGM_GO(ask(&master, &whom, "GET", NULL, "/api/v1/master"));
    RGM_GO(rgm_strprintf(folder, "%s/%lld/%lld", text_of(master, "folder"),
                         (long long)int_of(trial, "experiment_id"),
                         (long long)int_of(trial, "number")));
    RGM_GO(rgm_strprintf(source, "trial %lld/%lld", (long long)int_of(trial, "experiment_id"),
                         (long long)int_of(trial, "number")));
    *is_trial = true;
    if (!rgm_path_is_folder(*folder))
        RGM_GO(RGM_FAIL(RGM_ERR_NOT_FOUND, "trial %s has no folder '%s' here", text, *folder));
done:
    json_decref(trial);
    json_decref(master);
    master_close(&whom);
    return status;
}

static rgm_status register_model(const char *name, const char *what, const registration *r)
{
    enum { TRIES = 3 };
    rgm_status status = RGM_OK;
    char *registry = NULL, *folder = NULL, *source = NULL;
    int64_t number = 0;
    bool is_trial;

    RGM_GO(rgm_registry_place(&registry, r->registry));
    RGM_GO(find_folder(&folder, &source, &is_trial, what, r->where));
    /* A run that goes on may have removed a checkpoint for a newer one meanwhile. */
    for (int i = 0; i < TRIES; i++) {
        status = register_files(&number, registry, name, folder, source, r, is_trial);
        if (status != RGM_ERR_NOT_FOUND || r->step > 0)
            break;
    }
    RGM_GO(status);
    say("model", "%s:%lld, from %s", name, (long long)number, source);
done:
    rgm_free(registry);
    rgm_free(folder);
    rgm_free(source);
    return status;
}

static int model_register(int argc, char **argv)
{
    registration r = {.note = NULL};
    const argument arguments[] = {
        {"note", ARG_TEXT, &r.note, "TEXT", "kept with the version"},
        {"step", ARG_COUNT, &r.step, "N", "the checkpoint of that step, not the newest"},
        REGISTRY_ARGUMENT(r.registry),
        MASTER_ARGUMENT(r.where),
        {0}};
    const usage how = {
        "model register NAME TRIAL|RUN_DIR|FOLDER [--note TEXT] [--step N]",
        "Copy a trained model into the registry as the next version of a name: of a trial (12, or "
        "3/5)\n"
        "or a run folder its files, its export and its newest checkpoint, which has the best "
        "weights;\n"
        "of any other folder, such as an export, all of it. A trial's code is kept too. "
        "Each file\nis kept with its SHA-256.",
        arguments, 2, 2};
    text_list rest;

    READ_ARGUMENTS(&rest, &how, argc, argv);
    return report(register_model(rest.items[0], rest.items[1], &r));
}

/* ---- look ---------------------------------------------------------------------------------- */

static json_t *version_json(const char *name, const rgm_model_version *v, bool files)
{
    json_t *out = json_pack("{s:s, s:I, s:s, s:f, s:s, s:s}", "name", name, "version",
                            (json_int_t)v->number, "stage", rgm_model_stage_names[v->stage],
                            "created", v->created, "source", v->source, "note", v->note);
    json_t *metrics = json_object(), *list = json_object();

    for (int64_t i = 0; i < v->metric_count; i++)
        json_object_set_new(metrics, v->metrics[i].name, json_number(v->metrics[i].value));
    json_object_set_new(out, "metrics", metrics);
    for (int64_t i = 0; i < v->file_count && files; i++)
        json_object_set_new(list, v->files[i].name,
                            json_pack("{s:I, s:s}", "size", (json_int_t)v->files[i].size, "sha256",
                                      v->files[i].sha256));
    if (files)
        json_object_set(out, "files", list);
    json_decref(list);
    return out;
}

static int64_t bytes_in(const rgm_model_version *v)
{
    int64_t bytes = 0;

    for (int64_t i = 0; i < v->file_count; i++)
        bytes += v->files[i].size;
    return bytes;
}

static rgm_status set_size(table *t, int64_t column, int64_t bytes)
{
    char text[32];

    if (bytes < 1000000)
        snprintf(text, sizeof text, "%.1f kB", (double)bytes / 1e3);
    else if (bytes < 10000000000)
        snprintf(text, sizeof text, "%.1f MB", (double)bytes / 1e6);
    else
        snprintf(text, sizeof text, "%.1f GB", (double)bytes / 1e9);
    return table_set(t, column, text);
}

static rgm_status list_versions(table *t, json_t *rows, const rgm_model *model)
{
    for (int64_t i = model->count - 1; i >= 0; i--) {
        const rgm_model_version *v = &model->versions[i];
        char best[120] = "";

        json_array_append_new(rows, version_json(model->name, v, false));
        for (int64_t m = 0; m < v->metric_count; m++)
            if (strncmp(v->metrics[m].name, "best ", 5) == 0)
                snprintf(best, sizeof best, "%.80s %.6g", v->metrics[m].name + 5,
                         v->metrics[m].value);
        RGM_TRY(table_add_row(t));
        RGM_TRY(table_set(t, 0, model->name));
        table_set_count(t, 1, v->number);
        RGM_TRY(table_set(t, 2, rgm_model_stage_names[v->stage]));
        RGM_TRY(table_set_time(t, 3, (int64_t)v->created));
        RGM_TRY(table_set(t, 4, best));
        RGM_TRY(set_size(t, 5, bytes_in(v)));
        RGM_TRY(table_set(t, 6, v->source));
        RGM_TRY(table_set(t, 7, v->note));
    }
    return RGM_OK;
}

static rgm_status list_models(int *code, const char *given, const char *only, const list_form *form)
{
    static const char *const head[] = {"NAME", "VERSION", "STAGE", "REGISTERED",
                                       "BEST", "SIZE",    "FROM",  "NOTE"};
    rgm_status status = RGM_OK;
    char *registry = NULL, **names = NULL;
    json_t *rows = json_array();
    int64_t count = 0;
    table t = {0};

    RGM_GO(rgm_registry_place(&registry, given));
    RGM_GO(rgm_registry_names(&names, &count, registry));
    if (only != NULL) { /* a name that is not there is a mistake, and no empty list */
        rgm_model model;

        RGM_GO(rgm_model_load(&model, registry, only));
        rgm_model_clear(&model);
    }
    for (size_t i = 0; i < sizeof head / sizeof *head; i++)
        RGM_GO(table_add_column(&t, head[i]));
    for (int64_t i = 0; i < count; i++) {
        rgm_model model;

        if (only != NULL && strcmp(only, names[i]) != 0)
            continue;
        RGM_GO(rgm_model_load(&model, registry, names[i]));
        status = list_versions(&t, rows, &model);
        rgm_model_clear(&model);
        RGM_GO(status);
    }
    if (form->json)
        *code = print_json(json_incref(rows));
    else
        *code = print_table(&t, form, "no models");
done:
    rgm_names_release(names, count);
    rgm_free(registry);
    json_decref(rows);
    table_clear(&t);
    return status;
}

static int model_list(int argc, char **argv)
{
    const char *registry = NULL;
    list_form form = {0};
    const argument arguments[] = {LIST_ARGUMENTS(form), REGISTRY_ARGUMENT(registry), {0}};
    const usage how = {"model list [NAME] [--json | --csv]",
                       "The models of a registry, the newest "
                       "version of each name first.",
                       arguments, 0, 1};
    int code = EXIT_DONE;
    text_list rest;

    READ_ARGUMENTS(&rest, &how, argc, argv);
    rgm_status status = list_models(&code, registry, rest.count > 0 ? rest.items[0] : NULL, &form);
    return status != RGM_OK ? report(status) : code;
}

static rgm_status print_version(int *code, const char *given, const char *reference)
{
    const rgm_model_version *version;
    rgm_status status = RGM_OK;
    rgm_model model = {.next = 0};
    char *registry = NULL;

    RGM_GO(rgm_registry_place(&registry, given));
    RGM_GO(rgm_model_find(&model, &version, registry, reference));
    *code = print_json(version_json(model.name, version, true));
done:
    rgm_model_clear(&model);
    rgm_free(registry);
    return status;
}

static rgm_status print_path(int *code, const char *given, const char *reference)
{
    char *registry = NULL, *path = NULL;
    rgm_status status = RGM_OK;
    rgm_text line = {0};

    RGM_GO(rgm_registry_place(&registry, given));
    RGM_GO(rgm_model_path(&path, registry, reference));
    RGM_GO(rgm_text_printf(&line, "%s\n", path));
    *code = print_exact(line.data);
done:
    rgm_text_clear(&line);
    rgm_free(registry);
    rgm_free(path);
    return status;
}

/* show and path: argv[0] says which. */
static int model_look(int argc, char **argv)
{
    bool is_path = strcmp(argv[0], "path") == 0;
    const char *registry = NULL;
    const argument arguments[] = {REGISTRY_ARGUMENT(registry), {0}};
    const usage how = {is_path ? "model path NAME[:VERSION|@STAGE]"
                               : "model show NAME[:VERSION|@STAGE]",
                       is_path ? "The folder of a version, after each of its files was compared "
                                 "with its SHA-256."
                               : "A version as JSON: where it came from, metrics, files with their "
                                 "SHA-256. Without VERSION the newest that is not archived.",
                       arguments, 1, 1};
    int code = EXIT_DONE;
    text_list rest;

    READ_ARGUMENTS(&rest, &how, argc, argv);
    rgm_status status = is_path ? print_path(&code, registry, rest.items[0])
                                : print_version(&code, registry, rest.items[0]);
    return status != RGM_OK ? report(status) : code;
}

/* ---- change -------------------------------------------------------------------------------- */

/* The name and the number that a reference means, which is one that changes: it names a version. */
static rgm_status find_version(rgm_model *model, int64_t *number, char **registry,
                               const char *given, const char *reference)
{
    const rgm_model_version *version;

    *model = (rgm_model){.next = 0};
    *registry = NULL;
    if (strpbrk(reference, ":@") == NULL)
        return RGM_FAIL(RGM_ERR_CONFIG, "'%s': which version? NAME:VERSION", reference);
    RGM_TRY(rgm_registry_place(registry, given));
    RGM_TRY(rgm_model_find(model, &version, *registry, reference));
    *number = version->number;
    return RGM_OK;
}

static rgm_status set_stage(const char *given, const char *reference, const char *name)
{
    rgm_status status = RGM_OK;
    rgm_model model = {.next = 0};
    rgm_model_stage stage;
    int64_t number, replaced;
    char *registry = NULL;

    if (!rgm_model_stage_find(&stage, name))
        return RGM_FAIL(RGM_ERR_CONFIG, "'%s' is no stage%s", name,
                        rgm_did_you_mean(name, rgm_model_stage_names, 4, NULL, "there are ").text);
    RGM_GO(find_version(&model, &number, &registry, given, reference));
    RGM_GO(rgm_model_set_stage(&replaced, registry, model.name, number, stage));
    say(name, "%s:%lld", model.name, (long long)number);
    if (replaced > 0)
        say("archived", "%s:%lld", model.name, (long long)replaced);
done:
    rgm_model_clear(&model);
    rgm_free(registry);
    return status;
}

static int model_stage(int argc, char **argv)
{
    const char *registry = NULL;
    const argument arguments[] = {REGISTRY_ARGUMENT(registry), {0}};
    const usage how = {"model stage NAME:VERSION staging|production|archived|new",
                       "Say how far a version is. The one that was in staging or in production is "
                       "archived by the same change.",
                       arguments, 2, 2};
    text_list rest;

    READ_ARGUMENTS(&rest, &how, argc, argv);
    return report(set_stage(registry, rest.items[0], rest.items[1]));
}

static rgm_status remove_version(const char *given, const char *reference, bool yes)
{
    rgm_status status = RGM_OK;
    rgm_model model = {.next = 0};
    char *registry = NULL, question[160];
    int64_t number;
    bool agreed;

    RGM_GO(find_version(&model, &number, &registry, given, reference));
    snprintf(question, sizeof question, "remove %s:%lld and all its files?", model.name,
             (long long)number);
    RGM_GO(confirm(&agreed, yes, question));
    if (!agreed)
        goto done;
    RGM_GO(rgm_model_remove(registry, model.name, number));
    say("removed", "%s:%lld", model.name, (long long)number);
done:
    rgm_model_clear(&model);
    rgm_free(registry);
    return status;
}

static int model_remove(int argc, char **argv)
{
    const char *registry = NULL;
    bool yes = false;
    const argument arguments[] = {
        {"y", ARG_FLAG, &yes, NULL, "do not ask"}, REGISTRY_ARGUMENT(registry), {0}};
    const usage how = {"model remove NAME:VERSION [-y]",
                       "Remove a version that is not in production. Its number is not given again.",
                       arguments, 1, 1};
    text_list rest;

    READ_ARGUMENTS(&rest, &how, argc, argv);
    return report(remove_version(registry, rest.items[0], yes));
}

static const verb verbs[] = {
    {"register", model_register, "a trial, a run or a folder as the next version of a name"},
    {"list", model_list, "the models there are"},
    {"show", model_look, "a version with its files, as JSON"},
    {"path", model_look, "the folder of a version, checked"},
    {"stage", model_stage, "staging, production, archived"},
    {"remove", model_remove, "a version that is not in production"},
};

int verb_model(int argc, char **argv)
{
    return verb_family("model", verbs, sizeof verbs / sizeof *verbs, argc, argv);
}

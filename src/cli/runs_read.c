/*
 * One run folder at a glance. A listing of many must be quick, so the log is read from its end and
 * of the newest checkpoint the manifest alone.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "runs.h"

/* How much of a log is read at first and at most, when a part has not been measured for long. */
#define FIRST_LOOK    (INT64_C(4) << 10)
#define FARTHEST_LOOK (INT64_C(1) << 20)

typedef struct run_look {
    const char *path;
    json_t *json, *last;
    int64_t epochs; /* that it is to have */
    int64_t step, epoch;
    bool finished;
    const char *best_part; /* of the metric that chose a best, "valid"; NULL: none did */
    bool saw_best_part, damaged;
} run_look;

static bool has(const char *folder, const char *name)
{
    char *path = NULL;
    bool found = rgm_path_join(&path, folder, name) == RGM_OK && rgm_path_exists(path);

    rgm_free(path);
    return found;
}

bool is_run_folder(const char *path)
{
    return has(path, ".lock") || has(path, "metrics.jsonl");
}

/* JSON has no NaN. */
static json_t *number(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

static json_t *text_of(const rgm_yaml_node *map, const char *key)
{
    const rgm_yaml_node *node = map != NULL ? rgm_yaml_find(map, key) : NULL;

    return node != NULL && node->kind == RGM_YAML_SCALAR ? json_string(node->text) : json_null();
}

/* ---- config.yaml --------------------------------------------------------------------------- */

static rgm_status read_config(run_look *look)
{
    rgm_status status = RGM_OK;
    rgm_yaml *yaml = NULL;
    rgm_trainer_options options;
    const rgm_yaml_node *root, *trainer, *epochs;
    char *path = NULL;

    RGM_GO(rgm_path_join(&path, look->path, "config.yaml"));
    if (!rgm_path_exists(path)) /* of a program that has none */
        goto done;
    RGM_GO(rgm_yaml_load(&yaml, path));
    root = rgm_yaml_root(yaml);
    rgm_trainer_defaults(&options);
    look->epochs = options.epochs;
    trainer = rgm_yaml_find(root, "trainer");
    epochs = trainer != NULL ? rgm_yaml_find(trainer, "epochs") : NULL;
    if (epochs != NULL)
        RGM_GO(rgm_yaml_int(&look->epochs, epochs));
    json_object_set_new(look->json, "description", text_of(root, "description"));
    json_object_set_new(look->json, "model", text_of(rgm_yaml_find(root, "model"), "type"));
    json_object_set_new(look->json, "epochs", json_integer(look->epochs));
done:
    rgm_yaml_release(yaml);
    rgm_free(path);
    return status;
}

/* ---- newest checkpoint --------------------------------------------------------------------- */

static rgm_status read_best(run_look *look, const rgm_checkpoint *checkpoint)
{
    const char *metric;
    int64_t step;
    double value;

    RGM_TRY(rgm_checkpoint_int(&step, checkpoint, "best_step"));
    RGM_TRY(rgm_checkpoint_number(&value, checkpoint, "best_value"));
    RGM_TRY(rgm_checkpoint_text(&metric, checkpoint, "best_metric"));
    if (step < 0)
        return RGM_OK;
    json_object_set_new(look->json, "best",
                        json_pack("{s:s, s:o, s:I}", "metric", metric, "value", number(value),
                                  "step", (json_int_t)step));
    look->best_part =
        json_string_value(json_object_get(json_object_get(look->json, "best"), "metric"));
    return RGM_OK;
}

static rgm_status read_values(run_look *look, const rgm_checkpoint *checkpoint)
{
    int64_t finished;

    look->step = rgm_checkpoint_step(checkpoint);
    RGM_TRY(rgm_checkpoint_int(&look->epoch, checkpoint, "epoch"));
    RGM_TRY(rgm_checkpoint_int(&finished, checkpoint, "finished"));
    look->finished = finished != 0 || (look->epochs > 0 && look->epoch >= look->epochs);
    return read_best(look, checkpoint);
}

static rgm_status read_checkpoint(run_look *look)
{
    const rgm_checkpoint_store_options options = {
        .keep = 1, .read_only = true, .values_only = true};
    rgm_checkpoint_store *store = NULL;
    rgm_checkpoint *checkpoint = NULL;
    char *path = NULL;
    rgm_status status = RGM_OK;

    RGM_GO(rgm_path_join(&path, look->path, "ckpt"));
    if (!rgm_path_is_folder(path))
        goto done;
    RGM_GO(rgm_checkpoint_store_open(&store, path, &options));
    status = rgm_checkpoint_load_newest(&checkpoint, store);
    if (status == RGM_OK)
        status = read_values(look, checkpoint);
    else if (status == RGM_ERR_NOT_FOUND)
        status = RGM_OK;
done:
    rgm_checkpoint_release(checkpoint);
    rgm_checkpoint_store_close(store);
    rgm_free(path);
    return status;
}

/* ---- log ----------------------------------------------------------------------------------- */

static rgm_status note_entry(const rgm_metrics_entry *entry, void *payload)
{
    run_look *look = payload;
    size_t part = strlen(entry->split);
    char *name = NULL;

    look->step = entry->step > look->step ? entry->step : look->step;
    look->epoch = entry->epoch > look->epoch ? entry->epoch : look->epoch;
    if (look->best_part != NULL && strncmp(look->best_part, entry->split, part) == 0 &&
        look->best_part[part] == '.')
        look->saw_best_part = true;
    for (int64_t i = 0; i < entry->count; i++) {
        RGM_TRY(rgm_strprintf(&name, "%s.%s", entry->split, entry->numbers[i].name));
        json_object_set_new(look->last, name, number(entry->numbers[i].value));
        rgm_free(name);
    }
    return RGM_OK;
}

static rgm_status read_log(run_look *look)
{
    char *path = NULL;
    rgm_status status = RGM_OK;

    RGM_GO(rgm_path_join(&path, look->path, "metrics.jsonl"));
    if (!rgm_path_exists(path))
        goto done;
    for (int64_t bytes = FIRST_LOOK; bytes <= FARTHEST_LOOK; bytes *= 16) {
        RGM_GO(rgm_metrics_log_read_end(path, bytes, note_entry, look));
        if (json_object_size(look->last) > 0 && (look->best_part == NULL || look->saw_best_part))
            break;
    }
done:
    rgm_free(path);
    return status;
}

/* ---- all ----------------------------------------------------------------------------------- */

/* When something was last measured, or else when the run began. */
static void note_time(run_look *look)
{
    static const char *const files[] = {"metrics.jsonl", ".lock"};
    struct stat info;
    struct tm when;
    char text[32] = "";

    for (int i = 0; i < 2 && text[0] == '\0'; i++) {
        char *path = NULL;

        if (rgm_path_join(&path, look->path, files[i]) == RGM_OK && stat(path, &info) == 0 &&
            gmtime_r(&info.st_mtime, &when) != NULL)
            strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &when);
        rgm_free(path);
    }
    json_object_set_new(look->json, "modified", text[0] != '\0' ? json_string(text) : json_null());
}

static void note_damage(run_look *look, rgm_status status)
{
    json_t *reason;

    if (status == RGM_OK || look->damaged)
        return;
    look->damaged = true;
    reason = json_string(rgm_error_message());
    json_object_set_new(look->json, "reason", reason != NULL ? reason : json_string("unreadable"));
}

static const char *state_of(const run_look *look, bool running)
{
    if (look->damaged)
        return "damaged";
    return running ? "running" : look->finished ? "finished" : "stopped";
}

json_t *run_read(const char *path)
{
    char *name = NULL;
    bool running = false;
    run_look look = {.path = path};
    rgm_status status = printable(&name, path);

    if (status == RGM_OK)
        look.json = json_pack("{s:s, s:n, s:n, s:n, s:n, s:n, s:n, s:n, s:{}, s:n}", "run_dir",
                              name, "state", "description", "model", "epoch", "epochs", "step",
                              "best", "last", "modified");
    rgm_free(name);
    if (look.json == NULL)
        return NULL;
    look.last = json_object_get(look.json, "last");
    note_time(&look);
    note_damage(&look, rgm_run_folder_in_use(&running, path));
    note_damage(&look, read_config(&look));
    note_damage(&look, read_checkpoint(&look));
    note_damage(&look, read_log(&look));
    json_object_set_new(look.json, "state", json_string(state_of(&look, running)));
    json_object_set_new(look.json, "epoch", json_integer(look.epoch));
    json_object_set_new(look.json, "step", json_integer(look.step));
    return look.json;
}

/*
 * A summary of one run folder. A listing of many folders must be quick, so only the end of the log
 * is read, and only the manifest of the newest checkpoint.
 */
#include <regimen/store.h>

#include <math.h>
#include <string.h>
#include <sys/stat.h>

/* How much of a log is read first, and at most, when a part was not measured for a long time. */
#define FIRST_LOOK    (INT64_C(4) << 10)
#define FARTHEST_LOOK (INT64_C(1) << 20)

#define LARGEST_RESULT (INT64_C(1) << 20)

const char *const rgm_run_state_names[] = {"running", "finished", "stopped",
                                           "damaged", "failed",   NULL};

typedef struct looking {
    rgm_run_look *look;
    const char *path;
    rgm_yaml **config; /* where to store it; NULL: nowhere */
    bool finished, failed;
    bool has_state;      /* a checkpoint or result.json told how far the run is */
    bool saw_best_split; /* the split of the best metric ("valid") was seen */
} looking;

/* ---- config.yaml --------------------------------------------------------------------------- */

static rgm_status copy_text(char **out, const rgm_yaml_node *map, const char *key)
{
    const rgm_yaml_node *node = map != NULL ? rgm_yaml_find(map, key) : NULL;

    return node != NULL && node->kind == RGM_YAML_SCALAR ? rgm_strdup(out, node->text) : RGM_OK;
}

/* The length of a trial that is a program, or of functions: config.yaml is a search of its point.
 */
static rgm_status read_own_length(int64_t *steps, const rgm_yaml_node *root)
{
    const rgm_yaml_node *searcher = rgm_yaml_find(root, "searcher");
    const rgm_yaml_node *length = searcher != NULL && searcher->kind == RGM_YAML_MAP
                                      ? rgm_yaml_find(searcher, "max_length")
                                      : NULL;
    const rgm_yaml_node *batches =
        length != NULL && length->kind == RGM_YAML_MAP ? rgm_yaml_find(length, "batches") : NULL;

    return batches != NULL ? rgm_yaml_int(steps, batches) : RGM_OK;
}

static rgm_status read_config(looking *l, int64_t default_epochs)
{
    rgm_status status = RGM_OK;
    rgm_yaml *yaml = NULL;
    const rgm_yaml_node *root, *trainer, *epochs, *steps;
    int64_t train_steps = 0;
    char *path = NULL;

    RGM_GO(rgm_path_join(&path, l->path, "config.yaml"));
    if (!rgm_path_exists(path)) /* a program's own run may have none */
        goto done;
    RGM_GO(rgm_yaml_load(&yaml, path));
    root = rgm_yaml_root(yaml);
    trainer = rgm_yaml_find(root, "trainer");
    epochs = trainer != NULL ? rgm_yaml_find(trainer, "epochs") : NULL;
    if (epochs != NULL)
        RGM_GO(rgm_yaml_int(&default_epochs, epochs));
    steps = trainer != NULL ? rgm_yaml_find(trainer, "train_steps") : NULL;
    if (steps != NULL)
        RGM_GO(rgm_yaml_int(&train_steps, steps));
    if (root->kind == RGM_YAML_MAP && rgm_yaml_find(root, "entrypoint") != NULL) {
        RGM_GO(read_own_length(&train_steps, root));
        default_epochs = -1;
    }
    if (train_steps > 0)
        l->look->steps = train_steps;
    else
        l->look->epochs = default_epochs;
    RGM_GO(copy_text(&l->look->description, root, "description"));
    RGM_GO(copy_text(&l->look->model, rgm_yaml_find(root, "model"), "type"));
done:
    if (l->config != NULL)
        *l->config = yaml;
    else
        rgm_yaml_release(yaml);
    rgm_free(path);
    return status;
}

/* ---- newest checkpoint --------------------------------------------------------------------- */

static rgm_status read_values(looking *l, const rgm_checkpoint *checkpoint)
{
    rgm_run_look *look = l->look;
    const char *metric;
    int64_t step;
    double value;
    const rgm_key_place places[] = {{RGM_KEY_EPOCH, &look->epoch},
                                    {RGM_KEY_FINISHED, &l->finished},
                                    {RGM_KEY_BEST_STEP, &step},
                                    {RGM_KEY_BEST_VALUE, &value},
                                    {RGM_KEY_BEST_METRIC, &metric}};

    look->step = rgm_checkpoint_step(checkpoint);
    l->has_state = true;
    RGM_TRY(rgm_checkpoint_get_keys(checkpoint, places, sizeof places / sizeof *places));
    if (step < 0)
        return RGM_OK;
    look->best_step = step;
    look->best_value = value;
    return rgm_strdup(&look->best_metric, metric);
}

static rgm_status read_checkpoint(looking *l)
{
    const rgm_checkpoint_store_options options = {
        .keep = 1, .read_only = true, .values_only = true};
    rgm_checkpoint_store *store = NULL;
    rgm_checkpoint *checkpoint = NULL;
    char *path = NULL;
    rgm_status status = RGM_OK;

    RGM_GO(rgm_path_join(&path, l->path, "ckpt"));
    if (!rgm_path_is_folder(path))
        goto done;
    RGM_GO(rgm_checkpoint_store_open(&store, path, &options));
    status = rgm_checkpoint_load_newest(&checkpoint, store);
    if (status == RGM_OK)
        status = read_values(l, checkpoint);
    else if (status == RGM_ERR_NOT_FOUND)
        status = RGM_OK;
done:
    rgm_checkpoint_release(checkpoint);
    rgm_checkpoint_store_close(store);
    rgm_free(path);
    return status;
}

/* ---- result.json --------------------------------------------------------------------------- */

/* The best so far, in the place of a checkpoint's. */
static rgm_status take_best(rgm_run_look *look, const rgm_json *best)
{
    const char *metric = rgm_json_text(rgm_json_find(best, "metric"));
    double value = NAN;
    int64_t step = -1;

    if (metric == NULL || !rgm_json_int(&step, rgm_json_find(best, "step")) || step < 0 ||
        !rgm_json_number(&value, rgm_json_find(best, "value")))
        return RGM_OK;
    look->best_step = step;
    look->best_value = value;
    rgm_free(look->best_metric);
    look->best_metric = NULL;
    return rgm_strdup(&look->best_metric, metric);
}

/* A checkpoint of the same step or a later one knows more; a run that ended by itself ended at its
 * last step. */
static rgm_status take_result(looking *l, const rgm_json *root)
{
    rgm_run_look *look = l->look;
    const rgm_json *count = rgm_json_find(rgm_json_find(root, "warnings"), "count");
    const char *state = rgm_json_text(rgm_json_find(root, "state"));
    const char *reason = rgm_json_text(rgm_json_find(root, "reason"));
    int64_t step = -1, epoch = 0;

    (void)rgm_json_number(&look->seconds, rgm_json_find(root, "seconds"));
    (void)rgm_json_int(&look->warnings, count);
    if (!rgm_json_int(&step, rgm_json_find(root, "step")) || step < look->step)
        return RGM_OK;
    (void)rgm_json_int(&epoch, rgm_json_find(root, "epoch"));
    l->finished = l->finished || (state != NULL && strcmp(state, "finished") == 0);
    l->failed = state != NULL && strcmp(state, "failed") == 0;
    if (l->failed && reason != NULL)
        RGM_TRY(rgm_strdup(&look->failure, reason));
    if (step > look->step || !l->has_state) {
        RGM_TRY(take_best(look, rgm_json_find(root, "best")));
        look->epoch = epoch > look->epoch ? epoch : look->epoch;
    }
    look->step = step;
    l->has_state = true;
    return RGM_OK;
}

/* It is written for those who look: one that cannot be read is passed over. */
static rgm_status read_result(looking *l)
{
    char *path = NULL, *data = NULL;
    rgm_json *root = NULL;
    int64_t size = 0;
    rgm_status status = RGM_OK;

    RGM_GO(rgm_path_join(&path, l->path, RGM_RESULT_FILE));
    status = rgm_file_load(&data, &size, path, LARGEST_RESULT);
    if (status == RGM_OK)
        status = rgm_json_parse(&root, data, size, RGM_RESULT_FILE);
    if (status == RGM_OK)
        status = take_result(l, root);
    else if (status != RGM_ERR_NOMEM)
        status = RGM_OK;
done:
    rgm_json_release(root);
    rgm_free(data);
    rgm_free(path);
    return status;
}

/* ---- log ----------------------------------------------------------------------------------- */

double rgm_run_look_last(const rgm_run_look *look, const char *name)
{
    for (int64_t i = 0; i < look->last_count; i++)
        if (strcmp(look->last[i].name, name) == 0)
            return look->last[i].value;
    return NAN;
}

static rgm_status set_last(rgm_run_look *look, const char *split, const rgm_named_number *number)
{
    size_t size = strlen(split);
    rgm_named_number *at;
    char *name = NULL;

    for (int64_t i = 0; i < look->last_count; i++) {
        at = &look->last[i];
        if (strncmp(at->name, split, size) == 0 && at->name[size] == '.' &&
            strcmp(at->name + size + 1, number->name) == 0) {
            at->value = number->value;
            return RGM_OK;
        }
    }
    RGM_TRY(RGM_RESERVE(look->last, look->last_capacity, look->last_count + 1));
    RGM_TRY(rgm_strprintf(&name, "%s.%s", split, number->name));
    look->last[look->last_count++] = (rgm_named_number){name, number->value};
    return RGM_OK;
}

static rgm_status note_entry(const rgm_metrics_entry *entry, void *payload)
{
    looking *l = payload;
    rgm_run_look *look = l->look;
    const char *best = look->best_metric;
    size_t split = strlen(entry->split);

    look->step = entry->step > look->step ? entry->step : look->step;
    look->epoch = entry->epoch > look->epoch ? entry->epoch : look->epoch;
    if (best != NULL && strncmp(best, entry->split, split) == 0 && best[split] == '.')
        l->saw_best_split = true;
    for (int64_t i = 0; i < entry->count; i++)
        RGM_TRY(set_last(look, entry->split, &entry->numbers[i]));
    return RGM_OK;
}

static rgm_status read_log(looking *l)
{
    char *path = NULL;
    rgm_status status = RGM_OK;

    RGM_GO(rgm_path_join(&path, l->path, "metrics.jsonl"));
    if (!rgm_path_exists(path))
        goto done;
    for (int64_t bytes = FIRST_LOOK; bytes <= FARTHEST_LOOK; bytes *= 16) {
        RGM_GO(rgm_metrics_log_read_end(path, bytes, note_entry, l));
        if (l->look->last_count > 0 && (l->look->best_metric == NULL || l->saw_best_split))
            break;
    }
done:
    rgm_free(path);
    return status;
}

/* ---- all ----------------------------------------------------------------------------------- */

/* Record when something was last measured, or else when the run began. */
static rgm_status note_time(rgm_run_look *look, const char *folder)
{
    static const char *const files[] = {"metrics.jsonl", ".lock"};

    for (int i = 0; i < 2 && look->modified < 0; i++) {
        struct stat info;
        char *path = NULL;

        RGM_TRY(rgm_path_join(&path, folder, files[i]));
        if (stat(path, &info) == 0)
            look->modified = info.st_mtime;
        rgm_free(path);
    }
    return RGM_OK;
}

/* Keep the first reason. */
static rgm_status note_damage(rgm_run_look *look, rgm_status status)
{
    if (status == RGM_OK || status == RGM_ERR_NOMEM || look->reason != NULL)
        return status == RGM_ERR_NOMEM ? status : RGM_OK;
    return rgm_strdup(&look->reason, rgm_error_message());
}

/* A run that has reached its length, in steps or in whole epochs, is finished. */
static void note_length(looking *l, int64_t epochs)
{
    const rgm_run_look *look = l->look;

    l->finished = l->finished || (look->epochs > 0 && epochs >= look->epochs) ||
                  (look->steps > 0 && look->step >= look->steps);
}

rgm_status rgm_run_look_load_config(rgm_run_look *look, rgm_yaml **config, const char *path,
                                    int64_t default_epochs)
{
    looking l = {.look = look, .path = path, .config = config};
    bool running = false;
    rgm_status status = RGM_OK;

    if (config != NULL)
        *config = NULL;
    *look = (rgm_run_look){.epochs = -1,
                           .steps = -1,
                           .best_step = -1,
                           .best_value = NAN,
                           .modified = -1,
                           .seconds = NAN,
                           .warnings = -1};
    RGM_GO(note_time(look, path));
    RGM_GO(note_damage(look, rgm_run_folder_in_use(&running, path)));
    RGM_GO(note_damage(look, read_config(&l, default_epochs)));
    RGM_GO(note_damage(look, read_checkpoint(&l)));
    note_length(&l, look->epoch);
    RGM_GO(read_result(&l));
    note_length(&l, 0); /* its epoch may be under way */
    RGM_GO(note_damage(look, read_log(&l)));
    if (!l.has_state) /* nothing but its log tells */
        note_length(&l, look->epoch);
    look->state = look->reason != NULL ? RGM_RUN_DAMAGED
                  : running            ? RGM_RUN_RUNNING
                  : l.finished         ? RGM_RUN_FINISHED
                  : l.failed           ? RGM_RUN_FAILED
                                       : RGM_RUN_STOPPED;
done:
    if (status != RGM_OK) {
        rgm_run_look_clear(look);
        if (config != NULL) {
            rgm_yaml_release(*config);
            *config = NULL;
        }
    }
    return status;
}

rgm_status rgm_run_look_load(rgm_run_look *look, const char *path, int64_t default_epochs)
{
    return rgm_run_look_load_config(look, NULL, path, default_epochs);
}

rgm_status rgm_run_look_check(rgm_run_look *look, rgm_metrics_place *place, const char *path,
                              int64_t most)
{
    char *log = NULL;
    rgm_status status = RGM_OK;

    RGM_GO(rgm_path_join(&log, path, "metrics.jsonl"));
    if (!rgm_path_exists(log))
        goto done;
    status = rgm_metrics_log_check(place, log, most);
    if (status != RGM_END)
        RGM_GO(note_damage(look, status));
    if (look->reason != NULL)
        look->state = RGM_RUN_DAMAGED;
done:
    rgm_free(log);
    return status;
}

void rgm_run_look_clear(rgm_run_look *look)
{
    for (int64_t i = 0; i < look->last_count; i++)
        rgm_free((char *)look->last[i].name);
    rgm_free(look->last);
    rgm_free(look->reason);
    rgm_free(look->failure);
    rgm_free(look->description);
    rgm_free(look->model);
    rgm_free(look->best_metric);
    *look = (rgm_run_look){0};
}

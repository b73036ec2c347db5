/*
 * A trial: an open run that does as it is told, a workload at a time. Steps are the loops of the
 * training core; nothing here trains.
 */
#include <stdio.h>
#include <string.h>

#include "folder_pack.h"
#include "hooks.h"

enum { KEEP_ALL = 1000000 }; /* checkpoints; the master decides which go */

struct rgm_trial {
    rgm_search_file *file;
    rgm_experiment *experiment; /* of a task of the file, or premade; else NULL, and these: */
    rgmi_hooks_task *hooks;
    rgm_task task;
    rgm_exporter receivers;
    rgm_arena *arena; /* of the run's options */

    rgm_open_run *run;
    rgm_comm *comm;
    char *run_dir; /* NULL: nothing is written */
    int64_t validation_steps, opened_at;
    bool fresh;  /* no checkpoint was taken up */
    bool broken; /* in the middle of a step */

    bool (*should_stop)(void *payload);
    void (*progress)(int64_t batches, void *payload);
    void *payload;
    double told; /* when progress was told last */

    /* the result of the last workload */
    rgm_logs metrics;
    double objectives[RGM_MAX_OBJECTIVES];
    char checkpoint[64];
    rgmi_file_list files;
};

/* ---- the run's hooks ------------------------------------------------------------------------- */

static int64_t whole_steps(int64_t global_step, void *payload)
{
    (void)global_step, (void)payload;
    return INT64_MAX / 2; /* a loop ends where rgm_run_train() does */
}

/* Asked between steps: what else a trial does there. */
static bool between_steps(void *payload)
{
    rgm_trial *t = payload;
    double now = rgm_now();

    if (t->progress != NULL && t->run != NULL && now - t->told >= 0.5) {
        t->told = now;
        t->progress(rgm_run_steps(t->run), t->payload);
    }
    return t->should_stop != NULL && t->should_stop(t->payload);
}

static void see_event(const rgm_event *event, void *payload)
{
    rgm_trial *t = payload;

    if (event->kind == RGM_EVENT_INITIALIZE)
        t->fresh = true;
}

/* Behind each loop: its numbers, without rates, which no two runs have in common. */
static rgm_status take_step(const rgm_logs *output, rgm_controller *controller, void *payload)
{
    rgm_trial *t = payload;

    (void)controller;
    rgm_logs_clear(&t->metrics); /* after a rollback only the last loop is the step */
    return rgm_logs_merge(&t->metrics, output);
}

/* ---- opening ------------------------------------------------------------------------------- */

static rgm_status checkpoint_path(char **out, const rgm_trial *t, int64_t batches)
{
    return rgm_strprintf(out, "%s/ckpt/step-%08lld", t->run_dir, (long long)batches);
}

/* The first of those that train together writes the folder. */
static bool is_first(const rgm_trial *t)
{
    return rgm_comm_rank(t->comm) == 0;
}

/* From the beginning again: what there is stands aside, as behind a rollback. */
static rgm_status set_all_aside(const char *run_dir)
{
    rgm_status status = RGM_OK;
    rgm_run_folder_options options = RGM_RUN_FOLDER_OPTIONS_INIT;
    rgm_run_folder *folder = NULL;
    rgm_checkpoint_store *store = NULL;
    char *path = NULL;
    int64_t moved;

    RGM_GO(rgm_path_join(&path, run_dir, "ckpt"));
    if (!rgm_path_exists(path))
        goto done;
    options.resume = RGM_RESUME_ANY;
    RGM_GO(rgm_run_folder_open(&folder, run_dir, &options)); /* for its lock */
    RGM_GO(rgm_checkpoint_store_open(&store, path, NULL));
    RGM_GO(rgm_checkpoint_store_set_aside(&moved, store, -1));
done:
    rgm_checkpoint_store_close(store);
    rgm_run_folder_close(folder);
    rgm_free(path);
    return status;
}

static void set_options(rgm_run_options *o, rgm_trial *t, const rgm_trial_setup *setup)
{
    const rgm_search_settings *search = rgm_search_file_settings(t->file);
    rgm_trainer_checkpoints *checkpoints = &o->trainer.checkpoint;

    checkpoints->every_steps = checkpoints->every_epochs = 0;
    checkpoints->every_seconds = checkpoints->keep_every_hours = 0;
    checkpoints->keep = KEEP_ALL;
    o->saves_on_request = true;
    o->comm = setup->comm;
    if (setup->is_test) {
        o->trainer.train_steps = 1;
        o->trainer.validation_steps = 1;
    }
    t->validation_steps = o->trainer.validation_steps;
    if (setup->threads > 0)
        o->runtime.threads = setup->threads;
    else if (o->runtime.threads == 0)
        o->runtime.threads = search->resources.slots_per_trial;
    if (setup->device != NULL)
        o->runtime.device = setup->device;
    o->hooks = (rgm_controller_hooks){.should_stop = between_steps,
                                      .steps_per_loop = whole_steps,
                                      .event = see_event,
                                      .payload = t};
}

/* With the experiment's actions one of the trial's own, which is the last. */
static rgm_status open_run(rgm_trial *t, rgm_run_options *o)
{
    rgm_status status = RGM_OK;
    rgm_action *actions = NULL;
    int64_t count = o->train_action_count;

    RGM_GO(RGM_NEW(actions, count + 1));
    for (int64_t i = 0; i < count; i++)
        actions[i] = o->train_actions[i];
    actions[count] = (rgm_action){.name = "trial", .run = take_step, .payload = t};
    o->train_actions = actions;
    o->train_action_count = count + 1;
    RGM_GO(t->hooks != NULL ? rgm_run_open(&t->run, &t->task, o)
                            : rgm_experiment_open(&t->run, t->experiment, o));
    if (t->hooks != NULL)
        RGM_GO(rgmi_callbacks_opened(t->hooks, t->run));
done:
    rgm_free(actions);
    return status;
}

static rgm_status warm_start(rgm_trial *t, const char *from)
{
    rgm_trainer *trainer = rgm_run_trainer(t->run);
    const rgm_optimizer *optimizer = rgm_trainer_optimizer(trainer);
    rgm_checkpoint *checkpoint = NULL;
    rgm_status status = RGM_OK;

    RGM_GO(rgm_checkpoint_load(&checkpoint, from));
    RGM_GO(rgm_trainer_warm_start(trainer, checkpoint));
    if (optimizer != NULL && rgm_optimizer_rate(optimizer, rgm_trainer_updates(trainer)) == 0)
        rgm_log_write(RGM_LOG_WARNING,
                      "the schedule goes on where %s left it, behind update %lld, and its learning "
                      "rate is 0 there",
                      from, (long long)rgm_trainer_updates(trainer));
done:
    rgm_checkpoint_release(checkpoint);
    return status < 0 ? rgm_error_prefix(status, "warm start from %s", from) : status;
}

#define LOST_CHECKPOINT "cannot go on from the checkpoint at "

/* Memory that is short, and a disk that fails, say nothing of the checkpoint. */
rgm_status rgmi_lost_checkpoint(rgm_status status, int64_t batches)
{
    if (status >= 0 || status == RGM_ERR_NOMEM || rgm_error_is_of_the_machine())
        return status;
    return rgm_error_prefix(status, LOST_CHECKPOINT "%lld batches", (long long)batches);
}

bool rgm_trial_has_lost_checkpoint(rgm_status status)
{
    return status < 0 && strstr(rgm_error_message(), LOST_CHECKPOINT) != NULL;
}

/* Back to a checkpoint by its name. The first process saves it again, so the others read it before.
 */
static rgm_status go_to_checkpoint(rgm_trial *t, const rgm_trial_setup *setup)
{
    rgm_status status = RGM_OK;
    char *path = NULL;

    RGM_GO(checkpoint_path(&path, t, setup->at_batches));
    for (int turn = 0; turn < 2; turn++) {
        if (is_first(t) == (turn == 1))
            RGM_GO(rgmi_lost_checkpoint(rgm_controller_restore(rgm_run_controller(t->run), path),
                                        setup->at_batches));
        RGM_GO(rgm_comm_barrier(t->comm));
    }
    t->fresh = false;
done:
    rgm_free(path);
    return status;
}

static rgm_status go_to_start(rgm_trial *t, const rgm_trial_setup *setup)
{
    if (setup->start == RGM_START_AT && setup->at_batches > 0 &&
        rgm_run_steps(t->run) != setup->at_batches)
        RGM_TRY(go_to_checkpoint(t, setup));
    if (t->fresh && setup->from != NULL)
        RGM_TRY(warm_start(t, setup->from));
    t->opened_at = rgm_run_steps(t->run);
    return RGM_OK;
}

static rgm_status check_setup(const rgm_trial_setup *setup)
{
    if (setup->file == NULL ||
        (setup->values == NULL && rgm_space_count(rgm_search_file_space(setup->file)) > 0))
        return RGM_FAIL(RGM_ERR_ARG, "a trial needs a search file and a point of its space");
    if (rgm_search_file_settings(setup->file)->command.count > 0)
        return RGM_FAIL(RGM_ERR_UNSUPPORTED,
                        "%s is trained by a program: `regimen trial test` tries it, and `regimen "
                        "experiment run` runs it, with one value for each hyperparameter too",
                        rgm_search_file_path(setup->file));
    if (setup->start == RGM_START_AT && (setup->at_batches < 0 || setup->run_dir == NULL))
        return RGM_FAIL(RGM_ERR_ARG, "a trial to go on at %lld batches%s",
                        (long long)setup->at_batches,
                        setup->run_dir == NULL ? " without a run folder" : "");
    return RGM_OK;
}

/* The task with the options of its run, of the file or of hooks. */
static rgm_status prepare(rgm_run_options *options, rgm_trial *t, const rgm_trial_setup *setup)
{
    if (setup->hooks == NULL && rgm_search_file_settings(t->file)->entrypoint == NULL) {
        RGM_TRY(rgmi_invalid(
            rgm_trial_experiment(&t->experiment, t->file, setup->values, setup->seed)));
        return rgm_experiment_prepare(options, t->experiment, setup->run_dir);
    }
    RGM_TRY(rgmi_premade_experiment(&t->experiment, NULL, setup));
    if (t->experiment != NULL)
        return rgm_experiment_prepare(options, t->experiment, setup->run_dir);
    RGM_TRY(rgm_arena_create(&t->arena));
    RGM_TRY(rgmi_hooks_task_create(&t->hooks, &t->task, options, t->arena, setup));
    options->run_dir = setup->run_dir;
    t->receivers = rgmi_hooks_exporter(t->hooks);
    options->checkpoint_exporters = &t->receivers;
    options->checkpoint_exporter_count = t->hooks->receiver_count > 0;
    return rgmi_callbacks_attach(options, t->hooks, setup->run_dir, setup->comm, true);
}

/* The first process makes what all read: samples in the run folder. */
static rgm_status prepare_in_turn(rgm_run_options *options, rgm_trial *t,
                                  const rgm_trial_setup *setup)
{
    for (int turn = 0; turn < 2; turn++) {
        if (is_first(t) == (turn == 0)) {
            if (turn == 0 && setup->start == RGM_START_AT && setup->at_batches == 0)
                RGM_TRY(set_all_aside(setup->run_dir));
            RGM_TRY(prepare(options, t, setup));
        }
        RGM_TRY(rgm_comm_barrier(t->comm));
    }
    return RGM_OK;
}

static rgm_status open_trial(rgm_trial *t, const rgm_trial_setup *setup)
{
    rgm_run_options options;

    t->file = rgm_search_file_retain(setup->file);
    t->should_stop = setup->should_stop;
    t->progress = setup->progress;
    t->payload = setup->payload;
    if (setup->run_dir != NULL)
        RGM_TRY(rgm_strdup(&t->run_dir, setup->run_dir));
    RGM_TRY(prepare_in_turn(&options, t, setup));
    set_options(&options, t, setup);
    RGM_TRY(rgmi_of_searcher(open_run(t, &options), t->file));
    RGM_TRY(rgmi_check_objectives(t->file, t->run));
    return go_to_start(t, setup);
}

rgm_status rgm_trial_open(rgm_trial **out, const rgm_trial_setup *setup)
{
    rgm_status status = RGM_OK;
    rgm_trial *t = NULL;

    *out = NULL;
    RGM_GO(check_setup(setup));
    RGM_GO(RGM_NEW(t, 1));
    t->comm = setup->comm != NULL ? setup->comm : rgm_comm_self();
    RGM_GO(open_trial(t, setup));
    *out = t;
    t = NULL;
done:
    if (setup->comm != NULL)
        status = rgm_comm_fail(setup->comm, status);
    rgm_trial_close(t);
    return status;
}

void rgm_trial_close(rgm_trial *t)
{
    if (t == NULL)
        return;
    if (t->hooks != NULL)
        rgmi_callbacks_end(&t->hooks->callbacks);
    rgm_run_close(t->run);
    rgm_experiment_release(t->experiment);
    rgmi_hooks_task_release(t->hooks);
    rgm_arena_release(t->arena);
    rgm_search_file_release(t->file);
    rgm_logs_clear(&t->metrics);
    rgmi_files_clear(&t->files);
    rgm_free(t->files.items);
    rgm_free(t->run_dir);
    rgm_free(t);
}

/* ---- workloads ------------------------------------------------------------------------------- */

/* Hooks' losses are means over batches: their records are counted as they are fed, by each process
 * its own. */
static rgm_status count_inputs(int64_t *out, const rgm_trial *t, rgm_mode mode)
{
    double records = t->hooks != NULL ? (double)t->hooks->records
                                      : rgm_trainer_items(rgm_run_trainer(t->run), mode);

    if (t->hooks != NULL)
        RGM_TRY(rgm_comm_sum(t->comm, &records, 1, RGM_F64));
    *out = (int64_t)records;
    return RGM_OK;
}

/* Whether training was stopped by what the run has lost, a process or a device: an error, since a
 * trial goes on in another process. */
static rgm_status when_lost(const rgm_trial *t, rgm_status status)
{
    rgm_device *device = rgm_trainer_device(rgm_run_trainer(t->run));

    if (status != RGM_STOPPED)
        return status;
    RGM_TRY(rgm_comm_barrier(t->comm)); /* says again why it is broken */
    if (rgm_device_is_lost(device))
        RGM_TRY(rgm_device_wait(device));
    return status;
}

static rgm_status train(rgm_trial *t, rgm_workload_result *result)
{
    int64_t before = rgm_run_steps(t->run), target = result->workload.batches;
    rgm_status status;

    if (target <= before)
        return RGM_FAIL(RGM_ERR_ARG, "to train to %lld batches, when the trial has done %lld",
                        (long long)target, (long long)before);
    t->told = rgm_now();
    status = when_lost(t, rgm_run_train(t->run, target));
    if (status == RGM_END)
        return RGM_FAIL(RGM_ERR_DATA, "training ended at %lld batches, before %lld",
                        (long long)rgm_run_steps(t->run), (long long)target);
    RGM_TRY(status);
    result->num_batches = target - before;
    return count_inputs(&result->num_inputs, t, RGM_TRAIN);
}

/* Those of further sets by the set's name: "valid_news.loss". */
static rgm_status add_sets(rgm_trial *t)
{
    const rgm_trainer *trainer = rgm_run_trainer(t->run);
    const rgm_eval_set *sets;
    int64_t count = rgm_trainer_eval_sets(&sets, trainer);
    char name[256];

    for (int64_t i = 0; i < count; i++) {
        const rgm_logs *logs = rgm_trainer_eval_set_logs(trainer, i);

        for (int64_t k = 0; sets[i].mode == RGM_VALID && k < logs->count; k++) {
            snprintf(name, sizeof name, "%s.%s", rgm_trainer_eval_set_name(trainer, i),
                     logs->items[k].name);
            RGM_TRY(rgm_logs_set(&t->metrics, name, logs->items[k].value));
        }
    }
    return RGM_OK;
}

static rgm_status find_objectives(rgm_trial *t)
{
    const rgm_objective *objectives;
    int64_t count = rgm_search_file_objectives(&objectives, t->file);

    for (int64_t i = 0; i < count; i++) {
        const char *name = objectives[i].metric;
        rgm_text names = {0};

        if (strncmp(name, "valid.", 6) == 0)
            name += 6;
        t->objectives[i] = rgm_logs_get(&t->metrics, name);
        if (rgm_logs_has(&t->metrics, name))
            continue;
        for (int64_t k = 0; k < t->metrics.count; k++)
            RGM_TRY(rgm_text_printf(&names, " %s", t->metrics.items[k].name));
        rgm_error_set(RGM_ERR_CONFIG, __FILE__, __LINE__, __func__,
                      "searcher.metric: the validation gave no '%s'; it gave%s",
                      objectives[i].metric, names.size > 0 ? names.data : " nothing");
        rgm_text_clear(&names);
        return RGM_ERR_CONFIG;
    }
    return RGM_OK;
}

static rgm_status check_place(const rgm_trial *t, const rgm_workload *workload)
{
    if (workload->batches != rgm_run_steps(t->run))
        return RGM_FAIL(RGM_ERR_ARG, "%s at %lld batches, when the trial has done %lld",
                        rgm_workload_names[workload->kind], (long long)workload->batches,
                        (long long)rgm_run_steps(t->run));
    return RGM_OK;
}

static rgm_status validate(rgm_trial *t, rgm_workload_result *result)
{
    const rgm_logs *logs;

    RGM_TRY(check_place(t, &result->workload));
    RGM_TRY(rgm_run_evaluate(t->run, RGM_VALID, t->validation_steps, &logs));
    RGM_TRY(rgm_logs_merge(&t->metrics, logs));
    RGM_TRY(add_sets(t));
    RGM_TRY(find_objectives(t));
    result->objectives = t->objectives;
    return count_inputs(&result->num_inputs, t, RGM_VALID);
}

static rgm_status save(rgm_trial *t, rgm_workload_result *result)
{
    rgm_status status = RGM_OK;
    char *path = NULL;

    RGM_GO(check_place(t, &result->workload));
    if (t->run_dir == NULL)
        RGM_GO(RGM_FAIL(RGM_ERR_ARG, "a trial without a run folder has no checkpoints"));
    RGM_GO(rgm_run_save(t->run));
    if (!is_first(t)) /* the folder is another's */
        goto done;
    RGM_GO(checkpoint_path(&path, t, result->workload.batches));
    RGM_GO(rgmi_files_list(&t->files, path, ""));
    snprintf(t->checkpoint, sizeof t->checkpoint, "ckpt/step-%08lld",
             (long long)result->workload.batches);
    result->checkpoint = t->checkpoint;
    result->files = t->files.items;
    result->file_count = t->files.count;
    result->bytes = t->files.bytes;
done:
    rgm_free(path);
    return status;
}

rgm_status rgm_trial_do(rgm_trial *t, const rgm_workload *workload, rgm_workload_result *result)
{
    double begin = rgm_now();
    rgm_status status = RGM_OK;

    *result = (rgm_workload_result){.workload = *workload, .metrics = &t->metrics};
    if (t->broken)
        return RGM_FAIL(RGM_ERR_ARG, "the trial failed or was stopped in the middle of its work; "
                                     "it goes on when it is opened again");
    rgm_logs_clear(&t->metrics);
    rgmi_files_clear(&t->files);
    if (t->hooks != NULL)
        t->hooks->records = 0;
    switch (workload->kind) {
    case RGM_RUN_STEP:
        status = train(t, result);
        break;
    case RGM_COMPUTE_VALIDATION_METRICS:
        status = validate(t, result);
        break;
    case RGM_CHECKPOINT_MODEL:
        status = save(t, result);
        break;
    case RGM_TERMINATE:
        break;
    default:
        return RGM_FAIL(RGM_ERR_ARG, "workload %d", (int)workload->kind);
    }
    status = rgm_comm_fail(t->comm, status);
    t->broken = status != RGM_OK && status != RGM_ERR_ARG;
    result->seconds = rgm_now() - begin;
    return status;
}

/* ---- points that cannot be --------------------------------------------------------------------
 */

#define INVALID "invalid hyperparameters"

rgm_status rgmi_invalid(rgm_status status)
{
    return status == RGM_ERR_CONFIG ? rgm_error_prefix(status, INVALID) : status;
}

rgm_status rgm_invalid_hyperparameters(const char *format, ...)
{
    char text[600];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return RGM_FAIL(RGM_ERR_CONFIG, INVALID ": %s", text);
}

bool rgm_trial_is_invalid(rgm_status status)
{
    return status == RGM_ERR_CONFIG && strstr(rgm_error_message(), INVALID ": ") != NULL;
}

/* ---- what can be asked --------------------------------------------------------------------- */

int64_t rgmi_trial_opened_at(const rgm_trial *t)
{
    return t->opened_at;
}

rgm_status rgm_trial_check_data(rgm_search_file *file)
{
    const rgm_space *space = rgm_search_file_space(file);
    rgm_status status = RGM_OK;
    rgm_hyper_value *values = NULL;
    rgm_trial *trial = NULL;
    rgm_mt19937 random;

    RGM_GO(RGM_NEW(values, rgm_space_count(space)));
    rgm_mt19937_seed(&random, 0);
    RGM_GO(rgm_space_draw(values, space, &random));
    RGM_GO(rgm_trial_open(&trial, &(rgm_trial_setup){.file = file, .values = values}));
done:
    rgm_trial_close(trial);
    rgm_free(values);
    return status;
}

rgm_open_run *rgm_trial_run(const rgm_trial *t)
{
    return t->run;
}

/* A run of what an experiment says, in one of the modes, in this process. */
#include <stdio.h>
#include <string.h>

#include "verb_run.h"

#define PROFILE_STEPS 20 /* of --profile, where the file has no trainer.profile.steps */

/* ---- while it runs ------------------------------------------------------------------------- */

/* ", " and what the task says of its training data; nothing when it says nothing. */
static rgm_status describe_data(rgm_text *out, const rgm_task *task)
{
    int64_t size;

    RGM_TRY(rgm_text_printf(out, ", "));
    size = out->size;
    if (task->describe != NULL)
        RGM_TRY(task->describe(out, task->state));
    if (out->size == size)
        rgm_text_clear(out);
    return RGM_OK;
}

/* Of what a plan says, that in which the runs of a series differ. */
static bool differs_in_series(const char *word)
{
    return strcmp(word, "items") == 0 || strcmp(word, "folds") == 0;
}

/* What the run does with its data, a line under each word. */
static rgm_status print_data_plan(const rgm_open_run *run, bool later)
{
    rgm_text text = {0};
    rgm_status status = rgm_run_plan(&text, run);
    char *word, *said, *rest = text.data;

    while (status == RGM_OK && plan_line(&word, &said, &rest))
        if (!later || differs_in_series(word))
            say(word, "%s", said);
    rgm_text_clear(&text);
    return status;
}

/* What is trained and on what it is computed. */
static rgm_status print_model_plan(const rgm_open_run *run, const run_view *view)
{
    rgm_status status = RGM_OK;
    const rgm_runtime_options *runtime = &view->options->runtime;
    rgm_text text = {0}, data = {0};

    RGM_GO(view->own != NULL ? rgm_text_printf(&text, "%s of %s", rgm_trial_task_name(view->own),
                                               rgm_trial_task_entrypoint(view->own))
                             : rgm_experiment_describe(&text, view->experiment));
    say(trains(view->mode) ? "train" : "eval", "%s", text.data);
    RGM_GO(describe_data(&data, rgm_run_task(run)));
    say("plan", "%s parameters, seed %llu, %d threads, kernels %s%s",
        grouped(rgm_parameters_total(rgm_trainer_parameters(rgm_run_trainer(run)))),
        (unsigned long long)runtime->seed, rgm_threads(),
        rgm_kernels_for(rgm_trainer_device(rgm_run_trainer(run)),
                        runtime->mixed_precision == RGM_MIXED_BF16 ? RGM_BF16 : RGM_F32)
            ->isa,
        data.size > 0 ? data.data : "");
done:
    rgm_text_clear(&text);
    rgm_text_clear(&data);
    return status;
}

/* Of a step that has parts: how many, who has them, and what of them travels. */
static void print_shards_plan(const rgm_runtime_options *runtime, const rgm_comm *comm)
{
    int ranks = comm != NULL ? rgm_comm_size(comm) : 1;

    if (runtime->shards > 1)
        say("shards", "%lld in a step, on %d rank%s; gradients are added up%s as %s%s",
            (long long)runtime->shards, ranks, ranks > 1 ? "s" : "", ranks > 1 ? " and travel" : "",
            runtime->gradient_exchange == RGM_EXCHANGE_BF16 ? "bf16" : "f32",
            ranks > 1 && runtime->shard_optimizer ? "; each rank keeps a part of the slots" : "");
}

/* Of the later runs of a series, what is other than of the first. */
static rgm_status print_plan(const rgm_open_run *run, const run_view *view)
{
    rgm_status status = RGM_OK;
    rgm_text privacy = {0};
    rgm_trainer *trainer = rgm_run_trainer(run);
    bool later = view->of != NULL && view->of->number > 1;

    if (!later)
        RGM_GO(print_model_plan(run, view));
    RGM_GO(print_data_plan(run, later));
    if (!later && trains(view->mode))
        print_shards_plan(&view->options->runtime, view->options->comm);
    if (!later && trains(view->mode) && view->experiment != NULL)
        say_without_effect(view->experiment);
    RGM_GO(rgm_trainer_describe_privacy(&privacy, trainer));
    if (privacy.size > 0)
        say("privacy", "%s", privacy.data);
    if (rgm_run_saved_step(run) >= 0)
        say(trains(view->mode) ? "resume" : "weights", "from step %s of %s",
            grouped(rgm_trainer_global_step(trainer)), view->run_dir);
    else if (view->mode == RUN_EVAL)
        say("weights", "as initialized: %s has no checkpoint yet", view->run_dir);
done:
    rgm_text_clear(&privacy);
    return status;
}

/* continuous_eval: a line for each evaluation as it is made. */
static void on_event(const rgm_event *event, void *payload)
{
    run_view *view = payload;

    if (event->kind != RGM_EVENT_EVAL_END || view->mode != RUN_CONTINUOUS_EVAL)
        return;
    if (view->evaluations != NULL) {
        json_array_append_new(view->evaluations,
                              json_pack("{s:I, s:s*, s:o}", "step", (json_int_t)event->step, "set",
                                        event->set, "metrics", metrics_json(event->logs)));
        return;
    }
    printf("step %s", grouped(event->step));
    if (event->set != NULL)
        putchar(' ');
    print_metrics(event->set != NULL ? event->set : "", 0, event->logs);
    printf("\n");
    fflush(stdout); /* a failure is told when the last line is printed */
}

/* One graph (or batch) an epoch is told in epochs, anything else in steps. */
static bool counts_epochs(const rgm_open_run *run, const rgm_run_options *options)
{
    return options->trainer.train_steps == 0 && options->trainer.steps_per_epoch == 0 &&
           rgm_trainer_pass_steps(rgm_run_trainer(run)) == 1;
}

/* ---- its work ------------------------------------------------------------------------------ */

/* What --mode export does with an open run. */
static int run_export(rgm_open_run *run, const run_view *view, bool json)
{
    rgm_status status = RGM_OK;

    if (rgm_run_saved_step(run) < 0)
        status = RGM_FAIL(RGM_ERR_NOT_FOUND, "%s has no checkpoint yet", view->run_dir);
    if (status == RGM_OK)
        status = rgm_run_export(run, NULL);
    if (status != RGM_OK)
        return report(status);
    if (json)
        return print_json(json_pack("{s:s, s:I, s:[s]}", "run_dir", view->run_dir, "steps",
                                    (json_int_t)rgm_run_steps(run), "exports",
                                    rgm_run_export_dir(run, 0)));
    printf("%-8s %s\n", "export", rgm_run_export_dir(run, 0));
    return print_text("");
}

/* A run that is looked at is there; one that is followed may yet come. */
static rgm_status check_folder(const run_request *request)
{
    if ((request->mode == RUN_EVAL || request->mode == RUN_EXPORT) &&
        !rgm_path_is_folder(request->run_dir))
        return RGM_FAIL(RGM_ERR_NOT_FOUND, "there is no run folder '%s'", request->run_dir);
    return RGM_OK;
}

/* continuous_eval learns from the training data how long the run is. */
static void leave_data_alone(rgm_run_options *options, run_mode mode)
{
    options->no_data[RGM_TRAIN] = mode == RUN_EVAL || mode == RUN_EXPORT;
    options->no_data[RGM_VALID] = mode == RUN_EXPORT;
    options->no_data[RGM_TEST] = !trains(mode);
}

static rgm_status prepare(rgm_run_options *options, const run_view *view)
{
    if (view->own != NULL)
        return rgm_trial_task_prepare(options, view->own, view->run_dir);
    return trains(view->mode)
               ? rgm_experiment_prepare(options, view->experiment, view->run_dir)
               : rgm_experiment_prepare_trained(options, view->experiment, view->run_dir);
}

/* The first one may write what all read: samples in the run folder. */
static rgm_status prepare_in_turn(rgm_run_options *options, const run_view *view, rgm_comm *comm)
{
    bool first = rgm_comm_rank(comm) == 0;

    if (first)
        RGM_TRY(prepare(options, view));
    RGM_TRY(rgm_comm_barrier(comm));
    return first ? RGM_OK : prepare(options, view);
}

static rgm_status open_run(rgm_open_run **run, async_run **async, rgm_run_options *options,
                           run_view *view, const run_request *request)
{
    RGM_TRY(check_folder(request));
    RGM_TRY(request->comm != NULL ? prepare_in_turn(options, view, request->comm)
                                  : prepare(options, view));
    leave_data_alone(options, request->mode);
    if (request->profile && options->trainer.profile.steps == 0)
        options->trainer.profile.steps = PROFILE_STEPS;
    options->hooks.payload = view;
    options->hooks.should_stop = console_is_stopped;
    options->hooks.event = on_event;
    options->read_only = request->mode == RUN_EXPORT;
    options->comm = request->comm;
    if (!options->read_only)
        options->mode = (rgm_run_mode)request->mode;
    if (options->read_only && request->last)
        options->trainer.restore_best_weights = RGM_RESTORE_FALSE;
    if (view->own == NULL)
        RGM_TRY(async_open(async, options, request));
    RGM_TRY(view->own != NULL ? rgm_trial_task_open(run, view->own, options)
                              : rgm_experiment_open(run, view->experiment, options));
    RGM_TRY(print_plan(*run, view));
    return async_begin(*async, *run, options, view->experiment, request);
}

static rgm_status work(rgm_open_run *run, const run_view *view)
{
    bool in_epochs = counts_epochs(run, view->options);
    rgm_progress *progress = trains(view->mode) ? console_progress(in_epochs) : NULL;
    rgm_status status;

    rgm_controller_show_progress(rgm_run_controller(run), progress, in_epochs);
    status = rgm_run_complete(run);
    rgm_controller_show_progress(rgm_run_controller(run), NULL, false);
    rgm_progress_release(progress);
    return status;
}

/* Another process tells how the run ended. */
static bool says_nothing(const run_request *request)
{
    return request->comm != NULL && rgm_comm_rank(request->comm) > 0;
}

static int run_view_of(run_view view, const run_request *request)
{
    rgm_run_options options;
    rgm_open_run *run = NULL;
    async_run *async = NULL;
    double started = rgm_now();
    rgm_status status;
    int code;

    view.run_dir = request->run_dir;
    view.options = &options;
    view.mode = request->mode;
    view.of = request->of;
    console_catch_signals();
    status = open_run(&run, &async, &options, &view, request);
    if (status < 0 && request->comm != NULL) /* others would wait for this process */
        (void)rgm_comm_fail(request->comm, status);
    if (status == RGM_OK && request->mode == RUN_EXPORT) {
        code = run_export(run, &view, request->json);
    } else {
        if (request->json && request->mode == RUN_CONTINUOUS_EVAL)
            view.evaluations = json_array();
        if (status == RGM_OK)
            status = work(run, &view);
        async_close(async, status);
        code = says_nothing(request)
                   ? EXIT_DONE
                   : run_finish(status, run, &view, rgm_now() - started, request->json);
    }
    json_decref(view.evaluations);
    rgm_run_close(run);
    return code;
}

int run_experiment(rgm_experiment *experiment, const run_request *request)
{
    return run_view_of((run_view){.experiment = experiment}, request);
}

int run_own(rgm_trial_task *own, const run_request *request)
{
    return run_view_of((run_view){.own = own}, request);
}

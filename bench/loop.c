/*
 * What the training core itself costs a step: a task whose step does nothing, on a row in memory,
 * through the controller with the progress line and the question after signals, as the command has
 * them. No run folder: saving has a workload of its own.
 */
#include "bench.h"

#include <fcntl.h>
#include <regimen/controller_run.h>
#include <unistd.h>

#define LOOP_STEPS 1000 /* of the controller in one step of the bench: one loop */

typedef struct loop {
    rgm_trainer *trainer;
    rgm_controller *controller;
    rgm_progress *progress;
    int sink;
    volatile int stop; /* what a signal would set */
} loop;

static rgm_status empty_inputs(rgm_dataset **out, void *state, rgm_mode mode, bool endless)
{
    rgm_tensor *rows = NULL;
    rgm_status status = RGM_OK;

    (void)state;
    *out = NULL;
    if (mode != RGM_TRAIN)
        return RGM_OK;
    RGM_GO(rgm_tensor_create(&rows, RGM_F32, 2, (int64_t[]){64, 1}));
    RGM_GO(rgm_dataset_from_tensors(out, &rows, 1));
    if (endless)
        RGM_GO(rgm_dataset_repeat(out, -1));
done:
    rgm_tensor_release(rows);
    return status;
}

static rgm_status empty_step(rgm_step *step, void *state)
{
    (void)state;
    step->loss = 0.5;
    return RGM_OK;
}

static bool should_stop(void *payload)
{
    return ((loop *)payload)->stop != 0;
}

static void show(const char *text, int64_t size, void *payload)
{
    if (write(((loop *)payload)->sink, text, (size_t)size) < 0)
        ((loop *)payload)->stop = 1;
}

static void loop_close(void *state)
{
    loop *l = state;

    if (l == NULL)
        return;
    rgm_controller_release(l->controller);
    rgm_trainer_release(l->trainer);
    rgm_progress_release(l->progress);
    if (l->sink > 0)
        close(l->sink);
    rgm_free(l);
}

static rgm_status loop_fill(loop *l)
{
    rgm_task task = {.name = "empty", .build_inputs = empty_inputs, .train_step = empty_step};
    rgm_trainer_options options;
    rgm_progress_options progress = {.write = show, .payload = l, .live = true, .interval = -1};
    rgm_controller_hooks hooks = {.should_stop = should_stop, .payload = l};
    rgm_trainer_setup setup = {.task = &task,
                               .options = &options,
                               .no_data = {[RGM_VALID] = true, [RGM_TEST] = true},
                               .endless = true};
    rgm_controller_setup control = {.options = &options, .hooks = &hooks};

    rgm_trainer_defaults(&options);
    options.train_steps = 1000000000;
    options.steps_per_loop = LOOP_STEPS;
    l->sink = open("/dev/null", O_WRONLY | O_CLOEXEC);
    RGM_TRY(rgm_progress_create(&l->progress, &progress));
    RGM_TRY(rgm_trainer_create(&l->trainer, &setup));
    control.trainer = l->trainer;
    RGM_TRY(rgm_controller_create(&l->controller, &control));
    rgm_controller_show_progress(l->controller, l->progress, false);
    return RGM_OK;
}

static rgm_status loop_open(void **out, const bench_options *options)
{
    rgm_status status = RGM_OK;
    loop *l = NULL;

    (void)options;
    RGM_GO(RGM_NEW(l, 1));
    RGM_GO(loop_fill(l));
    *out = l;
    l = NULL;
done:
    loop_close(l);
    return status;
}

static rgm_status loop_step(void *state, int64_t step)
{
    loop *l = state;

    return rgm_controller_train(l->controller, (step + 1) * LOOP_STEPS);
}

static rgm_status loop_facts(rgm_text *out, void *state)
{
    (void)state;
    return rgm_text_printf(out, ", \"loop_steps\": %d", LOOP_STEPS);
}

const bench_workload bench_loop = {
    "loop", "1,000 steps of a task that does nothing", loop_open, loop_step, loop_facts, loop_close,
    NULL};

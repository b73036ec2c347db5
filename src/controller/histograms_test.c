/*
 * Histograms of gradients show what the optimizer was given in the last step, whatever it does with
 * it, and change no bit of training.
 */
#include "controller_check.h"

/* The histograms of one tag. */
typedef struct told {
    const char *tag;
    int64_t step; /* of the last */
    double min, max, sum, count;
    int found, others; /* others: gradients with any other tag */
} told;

static rgm_status note(const rgm_summary *summary, void *payload)
{
    told *t = payload;

    if (summary->kind != RGM_SUMMARY_HISTOGRAM)
        return RGM_OK;
    t->others += strncmp(summary->tag, "gradients/", 10) == 0;
    if (strcmp(summary->tag, t->tag) != 0)
        return RGM_OK;
    t->found++;
    t->step = summary->step;
    t->min = summary->min;
    t->max = summary->max;
    t->sum = summary->sum;
    t->count = summary->count;
    return RGM_OK;
}

static told look(const char *run, const char *tag)
{
    told t = {.tag = tag};
    char folder[200], path[500];
    char **names = NULL;
    int64_t count = 0;

    snprintf(folder, sizeof folder, "%s/train", run);
    CHECK_OK(rgm_folder_list(&names, &count, folder));
    CHECK_INT(1, count);
    snprintf(path, sizeof path, "%s/%s", folder, names[0]);
    CHECK_OK(rgm_event_file_read(path, note, &t));
    rgm_names_release(names, count);
    return t;
}

typedef struct form {
    const char *name;
    double clip_value, clip_global_norm;
    int64_t batches;
    const char *loss_scale;
    bool quiet; /* no histograms */
    rgm_trainer_hooks *hooks;
    rgm_status (*train_step)(rgm_step *step, void *state);
} form;

static double sum_of(const rgm_tensor *t)
{
    double sum = 0;

    for (int64_t i = 0; i < rgm_tensor_count(t); i++)
        sum += rgm_tensor_at(t, i);
    return sum;
}

/* Train `steps` steps in a folder; returns the sum of the kernel before the first. */
static double run_form(const char *run_dir, const form *f, int64_t steps)
{
    plane p = make_plane(false);
    rgm_task task = plane_task(&p);
    rgm_run_options options = rgm_run_options_default();
    rgm_open_run *run;
    double before;

    p.dropout = 0;
    task.train_step = f->train_step;
    options.optimizer = rgm_sgd(0.5, 0);
    options.optimizer.clip_value = f->clip_value;
    options.optimizer.clip_global_norm = f->clip_global_norm;
    options.trainer.train_steps = steps;
    options.trainer.steps_per_loop = 1;
    options.trainer.histograms = !f->quiet;
    options.trainer.accumulation_steps = f->batches > 0 ? f->batches : 1;
    options.trainer.restore_best_weights = RGM_RESTORE_FALSE;
    options.runtime.loss_scale = f->loss_scale;
    options.runtime.threads = 1;
    options.trainer_hooks = f->hooks;
    options.run_dir = run_dir;
    CHECK_OK(rgm_run_open(&run, &task, &options));
    before =
        sum_of(rgm_parameters_find(rgm_trainer_parameters(rgm_run_trainer(run)), "logits/kernel"));
    CHECK_OK(rgm_run_train(run, steps));
    rgm_run_close(run);
    clear_plane(&p);
    return before;
}

static rgm_status halve(rgm_tensor *const *gradients, rgm_trainer *trainer, void *payload)
{
    (void)payload;
    for (int64_t i = 0; i < rgm_parameters_count(rgm_trainer_parameters(trainer)); i++)
        for (int64_t k = 0; gradients[i] != NULL && k < rgm_tensor_count(gradients[i]); k++)
            rgm_tensor_f32(gradients[i])[k] *= 0.5f;
    return RGM_OK;
}

static rgm_trainer_hooks halving = {.gradients = halve};

/* SGD without momentum moves each weight by its gradient times the rate. */
static void a_histogram_is_of_what_moved_the_weights(void **state)
{
    static const form forms[] = {{.name = "one batch"},
                                 {.name = "three batches", .batches = 3},
                                 {.name = "a loss scale", .loss_scale = "1024"},
                                 {.name = "three scaled", .batches = 3, .loss_scale = "1024"},
                                 {.name = "a hook", .hooks = &halving}};

    (void)state;
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        const char *folder = check_fast_folder();
        double before = run_form(folder, &forms[i], 1);
        told gradient = look(folder, "gradients/logits/kernel");
        told weight = look(folder, "logits/kernel");

        CHECK_INT(1, gradient.found);
        CHECK_INT(1, gradient.step);
        CHECK(gradient.count == 2 * WIDTH && gradient.min < gradient.max);
        CHECK_INT(2, gradient.others); /* those of the kernel and of the bias; states have none */
        if (fabs(before - 0.5 * gradient.sum - weight.sum) > 1e-6)
            fail_msg("%s: %g moved by %g is not %g", forms[i].name, before, gradient.sum,
                     weight.sum);
        CHECK_OK(rgm_folder_remove(folder));
    }
}

static void clipping_comes_behind_it(void **state)
{
    static const form forms[] = {{.name = "not"},
                                 {.name = "value", .clip_value = 1e-3},
                                 {.name = "norm", .clip_global_norm = 1e-3}};
    told whole = {0};

    (void)state;
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        const char *folder = check_fast_folder();
        told t;

        run_form(folder, &forms[i], 1);
        t = look(folder, "gradients/logits/kernel");
        CHECK_INT(1, t.found);
        if (i == 0)
            whole = t;
        CHECK(t.min == whole.min && t.max == whole.max && t.sum == whole.sum);
        CHECK(t.max > 1e-2);
        CHECK_OK(rgm_folder_remove(folder));
    }
}

static void training_keeps_its_bits(void **state)
{
    static const char *const files[] = {"metrics.jsonl", "ckpt/step-00000007/weights.safetensors",
                                        "ckpt/step-00000007/sums.bin"};
    char root[128], with[160], without[160];

    (void)state;
    snprintf(root, sizeof root, "%s", check_fast_folder());
    for (int64_t batches = 1; batches <= 2; batches++) {
        form f = {.batches = batches};

        snprintf(with, sizeof with, "%s/with-%d", root, (int)batches);
        snprintf(without, sizeof without, "%s/without-%d", root, (int)batches);
        run_form(with, &f, 7);
        f.quiet = true;
        run_form(without, &f, 7);
        CHECK_INT(7, look(with, "gradients/logits/kernel").found);
        CHECK_INT(0, look(without, "gradients/logits/kernel").others);
        for (size_t i = 0; i < sizeof files / sizeof *files; i++)
            check_same_file(with, without, files[i]);
    }
    CHECK_OK(rgm_folder_remove(root));
}

/* Gradients that a task has made itself may be gone, and a run after the update overwrites them. */
static rgm_status own_step(rgm_step *step, void *state)
{
    rgm_tensor *const *gradients;
    rgm_tensor *copies[8] = {NULL};
    rgm_status status = RGM_OK;
    int64_t count = rgm_parameters_count(step->parameters);

    (void)state;
    CHECK(count <= 8);
    RGM_TRY(rgm_trainer_compute_gradients(step, step->inputs, &gradients));
    for (int64_t i = 0; i < count; i++)
        if (gradients[i] != NULL)
            CHECK_OK(rgm_tensor_copy(&copies[i], gradients[i]));
    if (step->global_step == 0)
        status = rgm_trainer_apply_gradients(step, copies);
    else
        status = rgm_trainer_apply_gradients(step, gradients);
    if (status == RGM_OK && step->global_step == 1)
        status = rgm_trainer_compute_gradients(step, step->inputs, &gradients);
    for (int64_t i = 0; i < count; i++)
        rgm_tensor_release(copies[i]);
    return status;
}

static void gradients_that_are_gone_are_not_told(void **state)
{
    const form f = {.train_step = own_step};
    const char *folder = check_fast_folder();
    told t;

    (void)state;
    run_form(folder, &f, 3);
    t = look(folder, "gradients/logits/kernel");
    CHECK_INT(1, t.found);
    CHECK_INT(3, t.step);
    CHECK_INT(3, look(folder, "logits/kernel").found);
    CHECK_OK(rgm_folder_remove(folder));
}

TESTS(cmocka_unit_test(a_histogram_is_of_what_moved_the_weights),
      cmocka_unit_test(clipping_comes_behind_it), cmocka_unit_test(training_keeps_its_bits),
      cmocka_unit_test(gradients_that_are_gone_are_not_told))

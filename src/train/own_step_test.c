/*
 * A program's hook between backward and update, a train_step made of the trainer's parts, and both
 * of them in a run opened with its options.
 */
#include "controller_check.h"

/* ---- gradients ------------------------------------------------------------------------------- */

typedef struct changed {
    double factor;
    bool
        center; /* gradient centralization (Yong et al. 2020): each column of a matrix has mean 0 */
    bool noise; /* keyed by the update                                                            */
    int64_t calls;
} changed;

static void center(rgm_tensor *g)
{
    int64_t rows = rgm_tensor_dim(g, 0), columns = rgm_tensor_dim(g, 1);

    for (int64_t c = 0; c < columns; c++) {
        float mean = 0;

        for (int64_t r = 0; r < rows; r++)
            mean += rgm_tensor_f32(g)[r * columns + c] / (float)rows;
        for (int64_t r = 0; r < rows; r++)
            rgm_tensor_f32(g)[r * columns + c] -= mean;
    }
}

static rgm_status change(rgm_tensor *const *gradients, rgm_trainer *trainer, void *payload)
{
    changed *o = payload;

    o->calls++;
    for (int64_t i = 0; i < rgm_parameters_count(rgm_trainer_parameters(trainer)); i++) {
        rgm_tensor *g = gradients[i];
        rgm_rng noise = rgm_rng_stream(9, rgm_parameters_name(rgm_trainer_parameters(trainer), i),
                                       (uint64_t)rgm_trainer_updates(trainer));

        for (int64_t k = 0; g != NULL && k < rgm_tensor_count(g); k++) {
            rgm_tensor_f32(g)[k] *= (float)o->factor;
            if (o->noise)
                rgm_tensor_f32(g)[k] += (float)rgm_rng_normal(&noise, (uint64_t)k);
        }
        if (g != NULL && o->center && rgm_tensor_rank(g) == 2)
            center(g);
    }
    return RGM_OK;
}

static void open_changed(rgm_trainer **out, plane_setup *s, plane *own, changed *o)
{
    rgm_trainer_hooks hooks = {.gradients = change, .payload = o};
    rgm_task task = plane_task(own);
    rgm_trainer_setup made = {.task = &task,
                              .options = &s->options,
                              .runtime = &s->runtime,
                              .optimizer = &s->optimizer,
                              .endless = true,
                              .hooks = o != NULL ? &hooks : NULL};

    *own = s->data;
    CHECK_OK(rgm_trainer_create(out, &made));
}

/* Twice the gradient at half the rate is the same step, unless a norm is clipped after the hook. */
static void a_hook_changes_gradients_before_they_are_clipped(void **state)
{
    (void)state;
    for (int form = 0; form < 8; form++) {
        plane_setup s = make_plane_setup();
        changed twice = {.factor = 2};
        rgm_trainer *plain, *hooked;
        plane own[2];

        s.optimizer = rgm_sgd(0.5, 0);
        s.optimizer.clip_global_norm = form & 1 ? 1e-3 : 0;
        s.options.accumulation_steps = form & 2 ? 3 : 1;
        s.runtime.loss_scale = form & 4 ? "1024" : NULL;
        open_changed(&plain, &s, &own[0], NULL);
        if (!(form & 1))
            s.optimizer = rgm_sgd(0.25, 0);
        open_changed(&hooked, &s, &own[1], &twice);
        train_steps(plain, 6);
        train_steps(hooked, 6);
        CHECK_INT(6, twice.calls);
        check_same_weights("twice the gradient", plain, hooked);
        rgm_trainer_release(plain);
        rgm_trainer_release(hooked);
        clear_plane(&s.data);
    }
}

static void centered_gradients_leave_the_mean_of_each_column(void **state)
{
    plane_setup s = make_plane_setup();
    changed o = {.factor = 1, .center = true};
    const rgm_tensor *w;
    rgm_trainer *trainer;
    double before[2] = {0}, after[2] = {0};
    plane own;

    (void)state;
    open_changed(&trainer, &s, &own, &o);
    w = rgm_parameters_find(rgm_trainer_parameters(trainer), "logits/kernel");
    for (int64_t k = 0; k < rgm_tensor_count(w); k++)
        before[k % 2] += rgm_tensor_at(w, k);
    train_steps(trainer, 20);
    for (int64_t k = 0; k < rgm_tensor_count(w); k++)
        after[k % 2] += rgm_tensor_at(w, k);
    for (int c = 0; c < 2; c++)
        CHECK_CLOSE(before[c], after[c], 0, 1e-5);
    rgm_trainer_release(trainer);
    clear_plane(&s.data);
}

static void noise_keyed_by_the_update_resumes_to_the_same_bits(void **state)
{
    plane_setup s = make_plane_setup();
    changed o = {.factor = 1, .noise = true};
    rgm_trainer *whole, *parts;
    rgm_checkpoint_store *store;
    rgm_checkpoint *saved, *loaded;
    const char *folder = check_fast_folder();
    plane own[2];

    (void)state;
    s.optimizer = rgm_adam(0.01);
    open_changed(&whole, &s, &own[0], &o);
    train_steps(whole, 9);
    open_changed(&parts, &s, &own[1], &o);
    train_steps(parts, 4);
    CHECK_OK(rgm_checkpoint_store_open(&store, folder, NULL));
    CHECK_OK(rgm_checkpoint_create(&saved, 4));
    CHECK_OK(rgm_trainer_save_state(saved, parts));
    CHECK_OK(rgm_checkpoint_save(store, saved));
    rgm_checkpoint_release(saved);
    rgm_trainer_release(parts);
    open_changed(&parts, &s, &own[1], &o);
    CHECK_OK(rgm_checkpoint_load_newest(&loaded, store));
    CHECK_OK(rgm_trainer_restore_state(parts, loaded));
    train_steps(parts, 5);
    check_same_trainer("noise", whole, parts);
    rgm_checkpoint_release(loaded);
    rgm_checkpoint_store_close(store);
    rgm_trainer_release(whole);
    rgm_trainer_release(parts);
    clear_plane(&s.data);
    CHECK_OK(rgm_folder_remove(folder));
}

/* ---- steps in pieces ------------------------------------------------------------------------- */

/* The mean of two batches' gradients by hand: with equal batches the same as accumulation_steps
 * 2. */
static rgm_status step_of_two(rgm_step *step, void *state)
{
    rgm_status status = RGM_OK;
    rgm_trainer *trainer = step->trainer;
    int64_t count = rgm_parameters_count(rgm_trainer_parameters(trainer));
    rgm_tensor *sums[8] = {0};
    rgm_tensor *const *gradients;
    rgm_element *second = NULL;
    double loss;

    (void)state;
    RGM_GO(rgm_trainer_compute_gradients(step, step->inputs, &gradients));
    for (int64_t i = 0; i < count; i++)
        if (gradients[i] != NULL)
            RGM_GO(rgm_tensor_copy(&sums[i], gradients[i]));
    loss = step->loss;
    RGM_GO(rgm_trainer_next_inputs(&second, trainer));
    RGM_GO(rgm_trainer_compute_gradients(step, second, &gradients));
    for (int64_t i = 0; i < count; i++)
        for (int64_t k = 0; sums[i] != NULL && k < rgm_tensor_count(sums[i]); k++)
            rgm_tensor_f32(sums[i])[k] =
                (rgm_tensor_f32(sums[i])[k] + rgm_tensor_f32(gradients[i])[k]) / 2;
    RGM_GO(rgm_trainer_apply_gradients(step, sums));
    step->loss = (loss + step->loss) / 2;
done:
    for (int64_t i = 0; i < count; i++)
        rgm_tensor_release(sums[i]);
    rgm_element_release(second);
    return status;
}

static void a_step_of_pieces_does_what_the_default_does(void **state)
{
    plane_setup s = make_plane_setup();
    plane own = s.data;
    rgm_task task = plane_task(&own);
    rgm_trainer_setup made = {.task = &task,
                              .options = &s.options,
                              .runtime = &s.runtime,
                              .optimizer = &s.optimizer,
                              .endless = true};
    rgm_trainer *pieces, *whole;
    const rgm_logs *a, *b;

    (void)state;
    s.data.dropout = own.dropout = 0;
    task.train_step = step_of_two;
    CHECK_OK(rgm_trainer_create(&pieces, &made));
    s.options.accumulation_steps = 2;
    CHECK_OK(open_plane(&whole, &s));
    CHECK_OK(rgm_trainer_train(pieces, 6, &a));
    CHECK_OK(rgm_trainer_train(whole, 6, &b));
    CHECK_CLOSE(rgm_logs_get(b, "loss"), rgm_logs_get(a, "loss"), 1e-5, 0);
    CHECK_INT(6, rgm_trainer_updates(pieces));
    for (int64_t i = 0; i < rgm_parameters_count(rgm_trainer_parameters(pieces)); i++) {
        const rgm_tensor *x = rgm_parameters_tensor(rgm_trainer_parameters(pieces), i);
        const rgm_tensor *y = rgm_parameters_tensor(rgm_trainer_parameters(whole), i);

        if (!rgm_parameters_trainable(rgm_trainer_parameters(pieces), i))
            continue; /* states are updated with the update here, with each batch there */
        for (int64_t k = 0; k < rgm_tensor_count(x); k++)
            CHECK_CLOSE(rgm_tensor_at(y, k), rgm_tensor_at(x, k), 1e-5, 1e-6);
    }
    rgm_trainer_release(pieces);
    rgm_trainer_release(whole);
    clear_plane(&s.data);
}

/* Two draws of dropout for one batch differ; computing gradients alone changes nothing. */
static rgm_status look_twice(rgm_step *step, void *state)
{
    rgm_tensor *const *gradients;
    double first;

    (void)state;
    RGM_TRY(rgm_trainer_compute_gradients(step, step->inputs, &gradients));
    first = step->loss;
    RGM_TRY(rgm_trainer_compute_gradients(step, step->inputs, &gradients));
    CHECK(step->loss != first);
    return RGM_OK;
}

static void gradients_alone_move_nothing(void **state)
{
    plane_setup s = make_plane_setup();
    plane own = s.data;
    rgm_task task = plane_task(&own);
    rgm_trainer_setup made = {.task = &task,
                              .options = &s.options,
                              .runtime = &s.runtime,
                              .optimizer = &s.optimizer,
                              .endless = true};
    rgm_trainer *trainer, *fresh;

    (void)state;
    task.train_step = look_twice;
    CHECK_OK(rgm_trainer_create(&trainer, &made));
    CHECK_OK(open_plane(&fresh, &s));
    train_steps(trainer, 3);
    CHECK_INT(0, rgm_trainer_updates(trainer));
    check_same_weights("without an update", fresh, trainer);
    rgm_trainer_release(trainer);
    rgm_trainer_release(fresh);
    clear_plane(&s.data);
}

/* ---- through a run --------------------------------------------------------------------------- */

static rgm_status count_call(const rgm_logs *output, rgm_controller *controller, void *payload)
{
    (void)controller;
    CHECK(rgm_logs_has(output, "loss"));
    ++*(int64_t *)payload;
    return RGM_OK;
}

static void a_run_takes_actions_and_hooks(void **state)
{
    plane p = make_plane(false);
    rgm_task task = plane_task(&p);
    rgm_run_options options = RGM_RUN_OPTIONS_INIT;
    int64_t trained = 0, evaluated = 0;
    rgm_action train = {.name = "t", .run = count_call, .payload = &trained};
    rgm_action eval = {.name = "e", .run = count_call, .payload = &evaluated};
    changed o = {.factor = 1};
    rgm_trainer_hooks hooks = {.gradients = change, .payload = &o};
    rgm_open_run *run;

    (void)state;
    options.trainer.epochs = 4;
    options.trainer.validation_freq = 2;
    options.trainer_hooks = &hooks;
    options.train_actions = &train;
    options.eval_actions = &eval;
    options.train_action_count = options.eval_action_count = 1;
    CHECK_OK(rgm_run_open(&run, &task, &options));
    CHECK_OK(rgm_run_complete(run));
    CHECK_INT(4, trained);
    CHECK_INT(2, evaluated);
    CHECK_INT(12, o.calls);
    rgm_run_close(run);
    clear_plane(&p);
}

TESTS(cmocka_unit_test(a_hook_changes_gradients_before_they_are_clipped),
      cmocka_unit_test(centered_gradients_leave_the_mean_of_each_column),
      cmocka_unit_test(noise_keyed_by_the_update_resumes_to_the_same_bits),
      cmocka_unit_test(a_step_of_pieces_does_what_the_default_does),
      cmocka_unit_test(gradients_alone_move_nothing),
      cmocka_unit_test(a_run_takes_actions_and_hooks))

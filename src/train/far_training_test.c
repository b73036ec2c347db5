/*
 * Training on a device whose memory is not the host's: every trainer ends with the bits that it has
 * on the CPU.
 */
#include "far_device_check.h"
#include <train_check.h>

/* Two trainers of one setup, on the CPU and on the device. */
typedef struct pair {
    plane_setup setup[2];
    plane own[2];
    rgm_trainer *trainer[2];
    const rgm_trainer_hooks *hooks;
    rgm_status (*train_step)(rgm_step *step, void *state);
} pair;

static void open_pair(pair *p, const plane_setup *setup)
{
    for (int i = 0; i < 2; i++) {
        rgm_task task;
        rgm_trainer_setup made = {.task = &task,
                                  .options = &p->setup[i].options,
                                  .runtime = &p->setup[i].runtime,
                                  .optimizer = &p->setup[i].optimizer,
                                  .hooks = p->hooks,
                                  .endless = true};

        p->setup[i] = *setup;
        p->own[i] = setup->data;
        task = plane_task(&p->own[i]);
        task.train_step = p->train_step;
        p->setup[i].options.device = i == 0 ? NULL : far.device;
        CHECK_OK(rgm_trainer_create(&p->trainer[i], &made));
        CHECK(rgm_trainer_device(p->trainer[i]) == (i == 0 ? rgm_device_cpu() : far.device));
    }
}

static void shut_pair(pair *p)
{
    for (int i = 0; i < 2; i++)
        rgm_trainer_release(p->trainer[i]);
}

/* As many steps of both, a validation with averages in between; then all of both is the same. */
static void train_pair(pair *p, const char *what, int64_t steps)
{
    for (int64_t done = 0; done < steps; done += 3) {
        const rgm_logs *logs[2];
        double loss[2];

        for (int i = 0; i < 2; i++) {
            CHECK_OK(rgm_trainer_train(p->trainer[i], 3, &logs[i]));
            loss[i] = rgm_logs_get(logs[i], "loss");
            CHECK_OK(rgm_trainer_evaluate(p->trainer[i], RGM_VALID, RGM_TO_END, &logs[i]));
        }
        CHECK(loss[0] == loss[1]);
        for (int64_t k = 0; k < logs[0]->count; k++)
            CHECK(logs[0]->items[k].value == logs[1]->items[k].value);
    }
    check_same_trainer(what, p->trainer[0], p->trainer[1]);
}

static void train_both(const char *what, const plane_setup *setup)
{
    pair p = {0};

    open_pair(&p, setup);
    train_pair(&p, what, 9);
    shut_pair(&p);
}

static void every_kind_of_step_has_the_bits_of_the_cpu(void **state)
{
    plane_setup setup = make_plane_setup(), s = setup;

    (void)state;
    s.optimizer = rgm_adam(0.01);
    s.optimizer.average = (rgm_average){.decay = 0.9, .dynamic = true};
    s.optimizer.clip_global_norm = 0.1;
    train_both("adam, with averages", &s);
    CHECK(atomic_load(&far.calls) > 100);
    s.options.accumulation_steps = 2;
    s.options.norms = true;
    train_both("two batches", &s);
    s.runtime.loss_scale = "dynamic";
    s.runtime.mixed_precision = RGM_MIXED_BF16;
    train_both("bf16 with a loss scale", &s);
    s = setup;
    s.runtime.shards = 2;
    train_both("two shards", &s);
    s = setup;
    s.options.run_eagerly = true;
    train_both("op by op", &s);
    s = setup;
    s.data.weight = NULL;
    s.data.curves = true;
    train_both("metrics that keep scores", &s);
    clear_plane(&setup.data);
}

/* ---- what is copied -------------------------------------------------------------------------- */

/* Bytes that a step copies, and the waits for them. */
static void count_step(rgm_trainer *trainer, int64_t *bytes, int64_t *waits)
{
    int64_t copied = far.copied, waited = far.waits;

    CHECK_OK(rgm_trainer_train_step(trainer));
    *bytes = far.copied - copied;
    *waits = far.waits - waited;
}

/* `all` bytes of `steps` steps of which each copies `feeds` and `rest`: its own feeds or,
 * meanwhile, the next ones, if they were made in time. */
static void check_bytes(int64_t all, int64_t steps, int64_t feeds, int64_t rest)
{
    int64_t copied = all - steps * rest;

    CHECK_INT(0, copied % feeds);
    CHECK(copied / feeds >= steps - 1 && copied / feeds <= steps + 1);
}

/*
 * A batch of 4: x [4, 3] and its labels there, flag, loss and, for accuracy, predictions [4, 2]
 * back; then the norms of two gradients and of two weights.
 */
static void a_step_copies_feeds_and_numbers_alone(void **state)
{
    const int64_t feeds = 4 * 3 * 4 + 4 * 8, flag = (int64_t)sizeof(rgm_index_flag), loss = 4;
    const int64_t predictions = 4 * 2 * 4, norms = 2 * 2 * 8;
    plane_setup setup = make_plane_setup();
    int64_t bytes, waits;

    (void)state;
    for (int counted = 0; counted < 2; counted++) {
        rgm_trainer *trainer;
        int64_t all = 0;

        setup.options.device = far.device;
        setup.optimizer = rgm_adam(0.01);
        setup.optimizer.average.decay = 0.9;
        setup.data.no_metrics = !counted;
        CHECK_OK(open_plane(&trainer, &setup));
        CHECK_OK(rgm_trainer_train_loop_begin(trainer));
        count_step(trainer, &bytes, &waits);
        for (int i = 0; i < 4; i++) {
            count_step(trainer, &bytes, &waits);
            all += bytes;
            check_bytes(all, i + 1, feeds, flag + loss + (counted ? predictions : 0) + norms);
            CHECK_INT(counted ? 5 : 4, waits);
        }
        rgm_trainer_release(trainer);
    }
    clear_plane(&setup.data);
}

/* Of several batches each copies its own feeds; sums, and states before the step, stay there. */
static void so_does_each_batch_of_an_update(void **state)
{
    const int64_t feeds = 4 * 3 * 4 + 4 * 8, rest = (int64_t)sizeof(rgm_index_flag) + 4;
    plane_setup setup = make_plane_setup();
    rgm_trainer *trainer;
    int64_t bytes, waits, all = 0;

    (void)state;
    setup.options.device = far.device;
    setup.options.accumulation_steps = 3;
    setup.data.no_metrics = true;
    CHECK_OK(open_plane(&trainer, &setup));
    CHECK_OK(rgm_trainer_train_loop_begin(trainer));
    count_step(trainer, &bytes, &waits);
    for (int i = 0; i < 4; i++) {
        count_step(trainer, &bytes, &waits);
        all += bytes - 2 * 2 * 8;
        check_bytes(all, 3 * (i + 1), feeds, rest);
        CHECK_INT(3 * 2 + 2, waits);
    }
    rgm_trainer_release(trainer);
    clear_plane(&setup.data);
}

/* ---- what a trainer does beside steps -----------------------------------------------------------
 */

static rgm_checkpoint *save_trainer(rgm_checkpoint_store *store, const rgm_trainer *trainer)
{
    rgm_checkpoint *made, *loaded;
    int64_t step = rgm_trainer_global_step(trainer);

    CHECK_OK(rgm_checkpoint_create(&made, step));
    CHECK_OK(rgm_trainer_save_state(made, trainer));
    CHECK_OK(rgm_checkpoint_save(store, made));
    rgm_checkpoint_release(made);
    CHECK_OK(rgm_checkpoint_load_step(&loaded, store, step));
    return loaded;
}

/* A checkpoint of one goes on on the other, in both directions, and a rollback undoes steps. */
static void checkpoints_go_on_on_either(void **state)
{
    const rgm_checkpoint_store_options keep = {.keep = 9};
    const char *folder = check_folder();
    plane_setup setup = make_plane_setup();
    rgm_checkpoint_store *store;
    rgm_checkpoint *saved;
    pair p = {0};

    (void)state;
    setup.optimizer = rgm_adam(0.01);
    setup.optimizer.average.decay = 0.9;
    CHECK_OK(rgm_checkpoint_store_open(&store, folder, &keep));
    open_pair(&p, &setup);
    for (int turn = 0; turn < 4; turn++) {
        int from = turn % 2;

        train_steps(p.trainer[from], 4);
        saved = save_trainer(store, p.trainer[from]);
        CHECK_OK(rgm_trainer_restore_state(p.trainer[1 - from], saved));
        check_same_trainer("restored", p.trainer[0], p.trainer[1]);
        for (int i = 0; i < 2; i++)
            train_steps(p.trainer[i], 3);
        check_same_trainer("gone on", p.trainer[0], p.trainer[1]);
        for (int i = 0; i < 2; i++) {
            CHECK_OK(rgm_trainer_roll_back(p.trainer[i], saved));
            train_steps(p.trainer[i], 2);
        }
        check_same_trainer("rolled back", p.trainer[0], p.trainer[1]);
        rgm_checkpoint_release(saved);
    }
    for (int i = 0; i < 2; i++) {
        CHECK_OK(rgm_trainer_reset(p.trainer[i]));
        train_steps(p.trainer[i], 2);
        CHECK_OK(rgm_trainer_place_averages(p.trainer[i]));
    }
    check_same_trainer("reset", p.trainer[0], p.trainer[1]);
    rgm_checkpoint_store_close(store);
    shut_pair(&p);
    clear_plane(&setup.data);
    CHECK_OK(rgm_folder_remove(folder));
}

static rgm_status double_gradients(rgm_tensor *const *gradients, rgm_trainer *trainer,
                                   void *payload)
{
    (void)payload;
    for (int64_t i = 0; i < rgm_parameters_count(rgm_trainer_parameters(trainer)); i++)
        for (int64_t k = 0; gradients[i] != NULL && k < rgm_tensor_count(gradients[i]); k++)
            rgm_tensor_f32(gradients[i])[k] *= 2;
    return RGM_OK;
}

/* Half the gradient; a task's own step reads and writes gradients on the host. */
static rgm_status halved_step(rgm_step *step, void *state)
{
    rgm_tensor *const *gradients;

    (void)state;
    RGM_TRY(rgm_trainer_compute_gradients(step, step->inputs, &gradients));
    CHECK(step->predictions[0] != NULL && rgm_tensor_device(step->predictions[0]) == NULL);
    for (int64_t i = 0; i < rgm_parameters_count(rgm_trainer_parameters(step->trainer)); i++)
        for (int64_t k = 0; gradients[i] != NULL && k < rgm_tensor_count(gradients[i]); k++)
            rgm_tensor_f32(gradients[i])[k] /= 2;
    return rgm_trainer_apply_gradients(step, gradients);
}

static void hooks_and_own_steps_see_gradients_on_the_host(void **state)
{
    const rgm_trainer_hooks hooks = {.gradients = double_gradients};
    plane_setup setup = make_plane_setup();
    pair hooked = {.hooks = &hooks}, own = {.train_step = halved_step};

    (void)state;
    open_pair(&hooked, &setup);
    train_pair(&hooked, "a hook", 6);
    shut_pair(&hooked);
    open_pair(&own, &setup);
    train_pair(&own, "a step of its own", 6);
    shut_pair(&own);
    setup.data.no_metrics = true;
    open_pair(&own, &setup);
    train_pair(&own, "the same without metrics", 6);
    shut_pair(&own);
    clear_plane(&setup.data);
}

static void the_last_gradients_come_to_the_host(void **state)
{
    plane_setup setup = make_plane_setup();
    pair p = {0};

    (void)state;
    setup.options.accumulation_steps = 2;
    for (int batches = 2; batches > 0; batches--) {
        setup.options.accumulation_steps = batches;
        open_pair(&p, &setup);
        for (int i = 0; i < 2; i++)
            train_steps(p.trainer[i], 3);
        for (int64_t k = 0; k < rgm_parameters_count(rgm_trainer_parameters(p.trainer[0])); k++) {
            rgm_tensor *gradients[2];

            for (int i = 0; i < 2; i++)
                CHECK_OK(rgm_trainer_last_gradient(&gradients[i], p.trainer[i], k));
            CHECK((gradients[0] == NULL) == (gradients[1] == NULL));
            CHECK(gradients[0] == NULL || rgm_tensor_equal(gradients[0], gradients[1]));
            rgm_tensor_release(gradients[0]);
            rgm_tensor_release(gradients[1]);
        }
        shut_pair(&p);
    }
    clear_plane(&setup.data);
}

/* ---- what goes wrong ------------------------------------------------------------------------- */

/* An input that is infinite: the same words, and nothing has moved. */
static void a_bad_step_is_explained_as_on_the_cpu(void **state)
{
    plane_setup setup = make_plane_setup();
    char message[2][512];

    (void)state;
    clear_plane(&setup.data);
    setup.data = make_plane(true);
    for (int batches = 1; batches < 3; batches++) {
        pair p = {0};

        setup.options.accumulation_steps = batches;
        open_pair(&p, &setup);
        for (int i = 0; i < 2; i++) {
            rgm_status status = RGM_OK;

            CHECK_OK(rgm_trainer_train_loop_begin(p.trainer[i]));
            for (int step = 0; step < 9 && status == RGM_OK; step++)
                status = rgm_trainer_train_step(p.trainer[i]);
            CHECK_INT(RGM_ERR_NUMERIC, status);
            snprintf(message[i], sizeof message[i], "%s", rgm_error_message());
            rgm_trainer_skip_step(p.trainer[i]);
        }
        CHECK_TEXT(message[0], message[1]);
        check_same_trainer("bad step", p.trainer[0], p.trainer[1]);
        shut_pair(&p);
    }
    clear_plane(&setup.data);
}

/* Saving reports the loss; what was saved before is untouched, and nothing is NaN without a word.
 */
static void a_lost_device_is_an_error_of_whatever_comes_next(void **state)
{
    plane_setup setup = make_plane_setup();
    rgm_checkpoint *checkpoint;
    pair p = {0};

    (void)state;
    setup.optimizer = rgm_adam(0.01);
    setup.optimizer.average.decay = 0.9;
    setup.options.accumulation_steps = 2;
    open_pair(&p, &setup);
    train_steps(p.trainer[1], 3);
    CHECK_OK(rgm_trainer_train_loop_begin(p.trainer[1]));
    far.lost = true;
    CHECK_STATUS(RGM_ERR_IO, rgm_trainer_train_step(p.trainer[1]));
    CHECK_MESSAGE("the device far is lost");
    CHECK_OK(rgm_checkpoint_create(&checkpoint, 3));
    CHECK_STATUS(RGM_ERR_IO, rgm_trainer_save_state(checkpoint, p.trainer[1]));
    CHECK_STATUS(RGM_ERR_IO, rgm_trainer_check_weights(p.trainer[1], "saved"));
    CHECK(rgm_device_is_lost(far.device));
    far.lost = false;
    rgm_checkpoint_release(checkpoint);
    shut_pair(&p);
    clear_plane(&setup.data);
}

static rgm_status make_and_train(plane_setup *setup)
{
    rgm_status status = RGM_OK;
    rgm_trainer *trainer = NULL;
    const rgm_logs *logs;

    setup->next = 0;
    RGM_GO(open_plane(&trainer, setup));
    RGM_GO(rgm_trainer_train(trainer, 1, &logs));
    RGM_GO(rgm_trainer_evaluate(trainer, RGM_VALID, 1, &logs));
done:
    rgm_trainer_release(trainer);
    return status;
}

static void every_allocation_may_fail(void **state)
{
    plane_setup setup = make_plane_setup();

    (void)state;
    setup.options.device = far.device;
    setup.options.accumulation_steps = 2;
    setup.optimizer.momentum = 0.9;
    setup.optimizer.average.decay = 0.9;
    setup.data.no_threads = setup.data.in_order = true;
    CHECK_EVERY_OOM(make_and_train(&setup), (void)0);
    clear_plane(&setup.data);
}

TESTS(FAR(every_kind_of_step_has_the_bits_of_the_cpu), FAR(a_step_copies_feeds_and_numbers_alone),
      FAR(so_does_each_batch_of_an_update), FAR(checkpoints_go_on_on_either),
      FAR(hooks_and_own_steps_see_gradients_on_the_host), FAR(the_last_gradients_come_to_the_host),
      FAR(a_bad_step_is_explained_as_on_the_cpu),
      FAR(a_lost_device_is_an_error_of_whatever_comes_next), FAR(every_allocation_may_fail))

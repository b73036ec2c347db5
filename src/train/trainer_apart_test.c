/*
 * A step in two halves, by two trainers of one process: together they are worth one trainer, bit
 * for bit. And what cannot be cut in two is refused.
 */
#include "train_check.h"

#include <regimen/train_apart.h>

/* ---- two trainers that are worth one ----------------------------------------------------------
 */

typedef struct halves {
    rgm_trainer *worker;
    rgm_tensor *const *gradients;
    rgm_data_place place;
    const rgm_parameters *weights; /* the server's */
} halves;

static rgm_status take_weights(rgm_trainer *trainer, const rgm_feed *feeds, int64_t count,
                               void *payload)
{
    (void)feeds;
    CHECK(count > 0);
    return rgm_parameters_take(rgm_trainer_parameters(trainer), ((halves *)payload)->weights);
}

static rgm_status keep_gradients(rgm_tensor *const *gradients, rgm_trainer *trainer, void *payload)
{
    CHECK(rgm_trainer_updates(trainer) == 0);
    ((halves *)payload)->gradients = gradients;
    return RGM_OK;
}

static rgm_status make_step(rgm_step *step, void *payload)
{
    halves *h = payload;
    rgm_half_step half;
    rgm_text sums = {0};
    rgm_status status;

    h->weights = rgm_trainer_parameters(step->trainer);
    h->place.step = rgm_trainer_global_step(step->trainer);
    status = rgm_trainer_go_to(h->worker, &h->place);
    if (status == RGM_OK)
        status = rgm_trainer_train_step(h->worker);
    if (status == RGM_END) {
        CHECK_INT(ITEMS / 4, rgm_trainer_reached(h->worker));
        h->place = (rgm_data_place){.pass = h->place.pass + 1};
    }
    if (status != RGM_OK)
        return status;
    h->place.batch += rgm_trainer_turn_batches(h->worker);
    CHECK_OK(rgm_trainer_take_sums(&sums, h->worker));
    half = (rgm_half_step){h->gradients, {sums.data, sums.size}, rgm_trainer_last_loss(h->worker)};
    status = rgm_trainer_apply_apart(step, &half);
    rgm_text_clear(&sums);
    return status;
}

static void open_one(rgm_trainer **out, plane_setup *s, plane *own, const rgm_trainer_hooks *hooks)
{
    rgm_task task = plane_task(own);
    rgm_trainer_setup setup = {.task = &task,
                               .options = &s->options,
                               .runtime = &s->runtime,
                               .optimizer = &s->optimizer,
                               .hooks = hooks,
                               .endless = !s->finite};

    *own = s->data;
    CHECK_OK(rgm_trainer_create(out, &setup));
}

static void two_halves_are_worth_a_whole_step(void **state)
{
    (void)state;
    for (int each = 1; each <= 2; each++) {
        plane_setup s = make_plane_setup();
        plane own[3];
        halves h = {.worker = NULL};
        const rgm_trainer_hooks takes = {
            .before_run = take_weights, .update = keep_gradients, .payload = &h};
        const rgm_trainer_hooks makes = {.train_step = make_step, .payload = &h};
        rgm_trainer *alone, *server;
        const rgm_logs *a, *b;

        s.finite = true;
        s.options.accumulation_steps = each;
        s.optimizer = rgm_adam(0.01);
        open_one(&alone, &s, &own[0], NULL);
        open_one(&h.worker, &s, &own[1], &takes);
        open_one(&server, &s, &own[2], &makes);
        CHECK_OK(rgm_trainer_check_apart(server));
        for (int pass = 0; pass < 4; pass++) {
            CHECK_OK(rgm_trainer_train(alone, RGM_TO_END, &a));
            CHECK_OK(rgm_trainer_train(server, RGM_TO_END, &b));
            CHECK_CLOSE(rgm_logs_get(a, "loss"), rgm_logs_get(b, "loss"), 1e-12, 0);
            CHECK_CLOSE(rgm_logs_get(a, "accuracy"), rgm_logs_get(b, "accuracy"), 1e-12, 0);
            CHECK_INT(pass + 1, rgm_trainer_passes(server));
        }
        CHECK_INT(rgm_trainer_global_step(alone), rgm_trainer_global_step(server));
        CHECK_INT(rgm_trainer_updates(alone), rgm_trainer_updates(server));
        for (int64_t i = 0; i < rgm_parameters_count(rgm_trainer_parameters(alone)); i++) {
            const rgm_parameters *p = rgm_trainer_parameters(alone);

            if (rgm_parameters_trainable(p, i))
                check_same_tensor("halves", rgm_parameters_name(p, i), rgm_parameters_read(p, i),
                                  rgm_parameters_read(rgm_trainer_parameters(server), i));
        }
        rgm_trainer_release(alone);
        rgm_trainer_release(h.worker);
        rgm_trainer_release(server);
        clear_plane(&s.data);
    }
}

/* ---- going back and forth in the data -------------------------------------------------------- */

static rgm_status drop_gradients(rgm_tensor *const *gradients, rgm_trainer *trainer, void *payload)
{
    (void)gradients, (void)trainer, (void)payload;
    return RGM_OK;
}

static double loss_at(rgm_trainer *trainer, int64_t batch, const rgm_text *position)
{
    rgm_data_place place = {.batch = batch, .step = batch};

    if (position != NULL) {
        place.position = position->data;
        place.position_size = position->size;
    }
    CHECK_OK(rgm_trainer_go_to(trainer, &place));
    CHECK_OK(rgm_trainer_train_step(trainer));
    CHECK_INT(batch + 1, rgm_trainer_reached(trainer));
    return rgm_trainer_last_loss(trainer);
}

/* The weights stay, so each batch has one loss, however one gets there. */
static void a_place_in_the_data_is_found_from_anywhere(void **state)
{
    enum { BATCHES = 20 };
    plane_setup s = make_plane_setup();
    const rgm_trainer_hooks hooks = {.update = drop_gradients};
    rgm_trainer *one, *other;
    rgm_text position = {0};
    double losses[BATCHES];
    plane own[2];

    (void)state;
    open_one(&one, &s, &own[0], &hooks);
    open_one(&other, &s, &own[1], &hooks);
    for (int64_t i = 0; i < BATCHES; i++) {
        losses[i] = loss_at(one, i, NULL);
        if (i == 11)
            CHECK_OK(rgm_trainer_position(&position, one));
    }
    CHECK(losses[17] == loss_at(other, 17, &position)); /* from the position */
    CHECK(losses[19] == loss_at(other, 19, NULL));      /* reading on        */
    CHECK(losses[3] == loss_at(other, 3, NULL));        /* from the beginning */
    CHECK_STATUS(RGM_ERR_DATA, /* a position is taken, though reading on would get there */
                 rgm_trainer_go_to(other, &(rgm_data_place){.batch = 5,
                                                            .position = position.data,
                                                            .position_size = position.size}));
    CHECK(losses[3] == loss_at(other, 3, NULL));
    CHECK(losses[12] == loss_at(other, 12, &position));
    CHECK(losses[12] != losses[13] && losses[3] != losses[4]);
    CHECK_STATUS(RGM_ERR_DATA,
                 rgm_trainer_go_to(other, &(rgm_data_place){.batch = 5,
                                                            .position = position.data,
                                                            .position_size = position.size}));
    rgm_text_clear(&position);
    rgm_trainer_release(one);
    rgm_trainer_release(other);
    clear_plane(&s.data);
}

/* ---- what is refused ------------------------------------------------------------------------- */

static void what_cannot_be_cut_is_refused(void **state)
{
    static const char *const words[] = {"runtime.shards is 2", "dynamic", "trainer.flops",
                                        "a profile"};

    (void)state;
    for (int i = 0; i < 4; i++) {
        plane_setup s = make_plane_setup();
        rgm_trainer *trainer;
        plane own;

        s.runtime.shards = i == 0 ? 2 : 1;
        s.runtime.loss_scale = i == 1 ? "dynamic" : NULL;
        s.options.flops = i == 2;
        s.options.profile.steps = i == 3 ? 5 : 0;
        open_one(&trainer, &s, &own, NULL);
        CHECK_STATUS(RGM_ERR_CONFIG, rgm_trainer_check_apart(trainer));
        CHECK_MESSAGE(words[i]);
        CHECK_MESSAGE("runtime.distribution is asynchronous");
        rgm_trainer_release(trainer);
        clear_plane(&s.data);
    }
}

TESTS(cmocka_unit_test(two_halves_are_worth_a_whole_step),
      cmocka_unit_test(a_place_in_the_data_is_found_from_anywhere),
      cmocka_unit_test(what_cannot_be_cut_is_refused))

/*
 * Processes that train together act alike. Two threads stand for two processes: one hook lets them
 * decide, another exchanges their gradients, and each has a shard of the data. They communicate in
 * no other way, so if one of them made a choice alone, the other would wait and the test would
 * hang.
 */
#include "controller_check.h"

#include <pthread.h>

enum { RANKS = 2, STEPS = 12 };

/* What the ranks share. */
typedef struct meeting {
    pthread_barrier_t barrier;
    unsigned seen[RANKS];
    rgm_tensor *const *gradients[RANKS];
} meeting;

typedef struct rank {
    meeting *with;
    int number;
    plane_setup setup;
    const char *run_dir;
    int64_t stop_at; /* asked to stop at this step; -1: never */
    int64_t bad_at;  /* its own loss is infinite there */
    int64_t steps, updates;
    rgm_trainer *trainer;
    rgm_status status;
} rank;

static unsigned decide(unsigned seen, void *payload)
{
    rank *r = payload;
    unsigned all = 0;

    r->with->seen[r->number] = seen;
    pthread_barrier_wait(&r->with->barrier);
    for (int k = 0; k < RANKS; k++)
        all |= r->with->seen[k];
    pthread_barrier_wait(&r->with->barrier); /* nobody writes before all have read */
    return all;
}

/* The mean over the ranks, computed in the same way on each. */
static rgm_status exchange(rgm_tensor *const *gradients, rgm_trainer *trainer, void *payload)
{
    rank *r = payload;
    int64_t count = rgm_parameters_count(rgm_trainer_parameters(trainer));

    r->with->gradients[r->number] = gradients;
    pthread_barrier_wait(&r->with->barrier);
    if (r->number == 0)
        for (int64_t i = 0; i < count; i++) {
            float *a, *b;

            if (gradients[i] == NULL)
                continue;
            a = rgm_tensor_f32(r->with->gradients[0][i]);
            b = rgm_tensor_f32(r->with->gradients[1][i]);
            for (int64_t k = 0; k < rgm_tensor_count(gradients[i]); k++)
                a[k] = b[k] = (a[k] + b[k]) / 2;
        }
    pthread_barrier_wait(&r->with->barrier);
    return RGM_OK;
}

/* ---- one rank ------------------------------------------------------------------------------- */

static bool should_stop(void *payload)
{
    const rank *r = payload;

    return r->stop_at >= 0 && rgm_trainer_global_step(r->trainer) >= r->stop_at;
}

/* At bad_at an input of this rank is infinite. */
static rgm_status next_inputs(rgm_element **out, rgm_iterator *iterator, void *payload)
{
    rank *r = payload;

    RGM_TRY(rgm_iterator_next(out, iterator));
    if (rgm_trainer_global_step(r->trainer) == r->bad_at)
        rgm_tensor_f32(rgm_element_tensor(*out, 0))[0] = INFINITY;
    return RGM_OK;
}

static void open_rank(rank *r, plane *made)
{
    rgm_task task;
    rgm_trainer_hooks hooks = {
        .decide = decide, .gradients = exchange, .next_train_inputs = next_inputs, .payload = r};

    *made = r->setup.data;
    task = plane_task(made);
    CHECK_OK(rgm_trainer_create(&r->trainer, &(rgm_trainer_setup){.task = &task,
                                                                  .options = &r->setup.options,
                                                                  .runtime = &r->setup.runtime,
                                                                  .optimizer = &r->setup.optimizer,
                                                                  .endless = true,
                                                                  .hooks = &hooks,
                                                                  .shard = r->number}));
}

static void *run_rank(void *payload)
{
    rank *r = payload;
    plane made;
    rgm_controller *controller;
    rgm_controller_hooks hooks = {.should_stop = should_stop, .payload = r};

    open_rank(r, &made);
    CHECK_OK(
        rgm_controller_create(&controller, &(rgm_controller_setup){.trainer = r->trainer,
                                                                   .options = &r->setup.options,
                                                                   .run_dir = r->run_dir,
                                                                   .hooks = &hooks}));
    r->status = rgm_controller_train(controller, STEPS);
    r->steps = rgm_trainer_global_step(r->trainer);
    r->updates = rgm_trainer_updates(r->trainer);
    rgm_controller_release(controller);
    return NULL;
}

static void make_ranks(rank ranks[RANKS], meeting *with)
{
    pthread_barrier_init(&with->barrier, NULL, RANKS);
    for (int k = 0; k < RANKS; k++) {
        ranks[k] = (rank){
            .with = with, .number = k, .setup = make_plane_setup(), .stop_at = -1, .bad_at = -1};
        ranks[k].setup.data.no_threads = true;
        if (k == 1) /* its shard: other numbers of the same task */
            for (int i = 0; i < ITEMS * WIDTH; i++)
                rgm_tensor_f32(ranks[k].setup.data.x)[i] += 0.125f;
    }
}

static void run_ranks(rank ranks[RANKS])
{
    pthread_t threads[RANKS];

    for (int k = 0; k < RANKS; k++)
        CHECK_INT(0, pthread_create(&threads[k], NULL, run_rank, &ranks[k]));
    for (int k = 0; k < RANKS; k++)
        pthread_join(threads[k], NULL);
}

static void release_ranks(rank ranks[RANKS], meeting *with)
{
    for (int k = 0; k < RANKS; k++) {
        rgm_trainer_release(ranks[k].trainer);
        clear_plane(&ranks[k].setup.data);
    }
    pthread_barrier_destroy(&with->barrier);
}

/* ---- what they decide ----------------------------------------------------------------------- */

static void a_signal_to_one_stops_all_at_the_same_step(void **state)
{
    meeting with;
    rank ranks[RANKS];

    (void)state;
    make_ranks(ranks, &with);
    ranks[1].stop_at = 5;
    run_ranks(ranks);
    for (int k = 0; k < RANKS; k++) {
        CHECK_INT(RGM_STOPPED, ranks[k].status);
        CHECK_INT(5, ranks[k].steps);
    }
    check_same_weights("stopped ranks", ranks[0].trainer, ranks[1].trainer);
    release_ranks(ranks, &with);
}

static void time_that_is_over_for_one_is_over_for_all(void **state)
{
    meeting with;
    rank ranks[RANKS];

    (void)state;
    make_ranks(ranks, &with);
    ranks[0].setup.options.max_seconds = 1e-9;
    run_ranks(ranks);
    for (int k = 0; k < RANKS; k++) {
        CHECK_OK(ranks[k].status);
        CHECK_INT(0, ranks[k].steps);
    }
    release_ranks(ranks, &with);
}

static void a_checkpoint_that_is_due_for_one_is_saved_by_all(void **state)
{
    const char *folder = check_fast_folder();
    char run[RANKS][100], kept[300];
    meeting with;
    rank ranks[RANKS];

    (void)state;
    make_ranks(ranks, &with);
    for (int k = 0; k < RANKS; k++) {
        snprintf(run[k], sizeof run[k], "%s/%d", folder, k);
        ranks[k].run_dir = run[k];
        ranks[k].setup.options.checkpoint.keep = 100;
    }
    ranks[1].setup.options.checkpoint.every_seconds = 1e-9; /* at each check; never for rank 0 */
    run_ranks(ranks);
    for (int k = 0; k < RANKS; k++)
        for (int step = 1; step <= STEPS; step++) {
            snprintf(kept, sizeof kept, "%s/ckpt/step-%08d", run[k], step);
            if (!rgm_path_exists(kept))
                fail_msg("rank %d has not saved step %d", k, step);
        }
    release_ranks(ranks, &with);
    CHECK_OK(rgm_folder_remove(folder));
}

static void a_bad_loss_of_one_is_skipped_by_all(void **state)
{
    meeting with;
    rank ranks[RANKS];

    (void)state;
    make_ranks(ranks, &with);
    for (int k = 0; k < RANKS; k++)
        ranks[k].setup.options.recovery.policy = RGM_RECOVER_SKIP;
    ranks[0].bad_at = 4;
    run_ranks(ranks);
    for (int k = 0; k < RANKS; k++) {
        CHECK_OK(ranks[k].status);
        CHECK_INT(STEPS, ranks[k].steps);
        CHECK_INT(STEPS - 1, ranks[k].updates);
    }
    check_same_weights("ranks behind a bad step", ranks[0].trainer, ranks[1].trainer);
    release_ranks(ranks, &with);
}

static void a_bad_loss_of_one_ends_all_where_nothing_recovers(void **state)
{
    meeting with;
    rank ranks[RANKS];

    (void)state;
    make_ranks(ranks, &with);
    ranks[1].bad_at = 4;
    run_ranks(ranks);
    for (int k = 0; k < RANKS; k++) {
        CHECK_INT(RGM_ERR_NUMERIC, ranks[k].status);
        CHECK_INT(4, ranks[k].steps);
    }
    release_ranks(ranks, &with);
}

/* ---- what they keep and count --------------------------------------------------------------- */

static void positions_are_kept_by_shard(void **state)
{
    plane_setup s = make_plane_setup();
    rgm_trainer *ranks[RANKS], *again[RANKS];
    plane made[2 * RANKS];
    const char *folder = check_fast_folder();
    rgm_checkpoint_store *store;
    rgm_checkpoint *checkpoint;

    (void)state;
    CHECK_OK(rgm_checkpoint_create(&checkpoint, 5));
    for (int k = 0; k < 2 * RANKS; k++) {
        rgm_task task;
        rgm_trainer_setup setup = {.task = &task,
                                   .options = &s.options,
                                   .runtime = &s.runtime,
                                   .optimizer = &s.optimizer,
                                   .endless = true,
                                   .shard = k % RANKS};

        made[k] = s.data;
        task = plane_task(&made[k]);
        CHECK_OK(rgm_trainer_create(k < RANKS ? &ranks[k] : &again[k - RANKS], &setup));
    }
    train_steps(ranks[0], 5);
    train_steps(ranks[1], 2);
    CHECK_OK(rgm_trainer_save_state(checkpoint, ranks[0]));
    CHECK_OK(rgm_trainer_save_position(checkpoint, ranks[1]));
    CHECK_OK(rgm_checkpoint_store_open(&store, folder, NULL));
    CHECK_OK(rgm_checkpoint_save(store, checkpoint));
    rgm_checkpoint_release(checkpoint);
    CHECK_OK(rgm_checkpoint_load_newest(&checkpoint, store));
    rgm_checkpoint_store_close(store);
    for (int k = 0; k < RANKS; k++) {
        rgm_element *due, *restored;

        CHECK_OK(rgm_trainer_restore_state(again[k], checkpoint));
        CHECK_OK(rgm_trainer_next_inputs(&due, ranks[k]));
        CHECK_OK(rgm_trainer_next_inputs(&restored, again[k]));
        check_same_tensor("next batch", "x", rgm_element_tensor(due, 0),
                          rgm_element_tensor(restored, 0));
        rgm_element_release(due);
        rgm_element_release(restored);
        rgm_trainer_release(ranks[k]);
        rgm_trainer_release(again[k]);
    }
    rgm_checkpoint_release(checkpoint);
    CHECK_OK(rgm_folder_remove(folder));
    clear_plane(&s.data);
}

/* Each rank evaluates every RANKS-th batch. */
typedef struct share {
    int64_t number, at;
} share;

static rgm_status next_of_share(rgm_element **out, rgm_element **extra, rgm_iterator *iterator,
                                void *payload)
{
    share *s = payload;

    *extra = NULL;
    for (;;) {
        RGM_TRY(rgm_iterator_next(out, iterator));
        if (s->at++ % RANKS == s->number)
            return RGM_OK;
        rgm_element_release(*out);
        *out = NULL;
    }
}

/* Start the pass of one trainer over all validation data (s NULL) or over its share; not ended. */
static rgm_trainer *evaluate_share(plane *made, plane_setup *setup, share *s)
{
    rgm_task task;
    rgm_trainer *trainer;
    rgm_trainer_hooks hooks = {.next_eval_inputs = next_of_share, .payload = s};

    *made = setup->data;
    task = plane_task(made);
    CHECK_OK(
        rgm_trainer_create(&trainer, &(rgm_trainer_setup){.task = &task,
                                                          .options = &setup->options,
                                                          .runtime = &setup->runtime,
                                                          .optimizer = &setup->optimizer,
                                                          .endless = true,
                                                          .hooks = s != NULL ? &hooks : NULL}));
    CHECK_OK(rgm_trainer_eval_begin(trainer, RGM_VALID));
    while (rgm_trainer_eval_step(trainer) == RGM_OK)
        ;
    return trainer;
}

static void check_merged(bool curves)
{
    plane_setup s = make_plane_setup();
    share shares[RANKS] = {{0, 0}, {1, 0}};
    rgm_trainer *ranks[RANKS], *whole;
    plane made[RANKS + 1];
    const rgm_logs *merged, *all;

    s.data.curves = curves;
    s.data.in_order = true;
    s.data.batch = 2;
    for (int k = 0; k < RANKS; k++)
        ranks[k] = evaluate_share(&made[k], &s, &shares[k]);
    whole = evaluate_share(&made[RANKS], &s, NULL);
    CHECK_OK(rgm_trainer_merge_pass(ranks[0], ranks[1]));
    CHECK_OK(rgm_trainer_eval_end(ranks[0], &merged));
    CHECK_OK(rgm_trainer_eval_end(whole, &all));
    CHECK_INT(ITEMS, rgm_trainer_items(ranks[0], RGM_VALID));
    CHECK_CLOSE(rgm_logs_get(merged, "loss"), rgm_logs_get(all, "loss"), 1e-12, 0);
    CHECK_CLOSE(rgm_logs_get(merged, "accuracy"), rgm_logs_get(all, "accuracy"), 1e-12, 0);
    for (int k = 0; k < 2 && curves; k++) {
        const char *name = k == 0 ? "auc_roc" : "auc_pr";

        CHECK(k == 0 || rgm_logs_get(all, name) > 0.2); /* untrained: all pairs are reversed */
        CHECK_CLOSE(rgm_logs_get(merged, name), rgm_logs_get(all, name), 0, 0);
    }
    CHECK_STATUS(RGM_ERR_ARG, rgm_trainer_merge_pass(ranks[0], ranks[1])); /* it has ended */
    for (int k = 0; k < RANKS; k++)
        rgm_trainer_release(ranks[k]);
    rgm_trainer_release(whole);
    clear_plane(&s.data);
}

/* Sums add up, and what metrics keep is one list of both. */
static void passes_over_shares_merge_into_the_whole(void **state)
{
    (void)state;
    check_merged(false);
    check_merged(true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_signal_to_one_stops_all_at_the_same_step),
        cmocka_unit_test(time_that_is_over_for_one_is_over_for_all),
        cmocka_unit_test(a_checkpoint_that_is_due_for_one_is_saved_by_all),
        cmocka_unit_test(a_bad_loss_of_one_is_skipped_by_all),
        cmocka_unit_test(a_bad_loss_of_one_ends_all_where_nothing_recovers),
        cmocka_unit_test(positions_are_kept_by_shard),
        cmocka_unit_test(passes_over_shares_merge_into_the_whole),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

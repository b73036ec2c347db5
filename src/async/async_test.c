/*
 * Server and workers in one process, each with a trainer of its own: one worker at a time gives the
 * bytes of one process; many give as many updates as were asked for, none staler than the bound,
 * whoever leaves or comes again; and of tables only rows travel. async_lost_test.c has what goes
 * wrong.
 */
#include "party_check.h"

/* ---- one worker at a time -------------------------------------------------------------------- */

/* With averages and batches that are accumulated; then of words, with Adam, which moves all rows.
 */
static void one_worker_gives_the_bytes_of_one_process(void **state)
{
    (void)state;
    for (int form = 0; form < 3; form++) {
        party p = make_party(0);
        hand h = {.stop = false};
        double loss, accuracy;
        rgm_trainer *alone;
        plane own_plane;
        words own_words;
        const rgm_logs *logs;

        p.of_words = form == 2;
        p.training.accumulation_steps = 1 + form;
        open_trainer(&alone, &p, &own_plane, &own_words, NULL);
        CHECK_OK(rgm_trainer_train(alone, 50, &logs));
        loss = rgm_logs_get(logs, "loss");
        accuracy = rgm_logs_get(logs, "accuracy");
        open_party(&p);
        send_in(&h, &p);
        train_to(&p, 50);
        check_same_weights("one worker", alone, p.trainer);
        CHECK_OK(rgm_trainer_train_loop_end(p.trainer, &logs));
        CHECK_CLOSE(rgm_logs_get(logs, "loss"), loss, 1e-12, 0);
        CHECK_CLOSE(rgm_logs_get(logs, "accuracy"), accuracy, 1e-12, 0);
        CHECK_INT(50 * (form + 1) * (form == 2 ? BATCH : 4),
                  rgm_trainer_items(p.trainer, RGM_TRAIN));
        finish(&p, &h, 1);
        CHECK_INT(50, h.updates);
        rgm_trainer_release(alone);
        clear_party(&p);
    }
}

static void passes_end_where_they_do_for_one_process(void **state)
{
    party p = make_party(0);
    hand h = {.stop = false};
    rgm_trainer *alone;
    plane own_plane;
    words own_words;
    const rgm_logs *logs;

    (void)state;
    p.finite = true;
    p.training.accumulation_steps = 2; /* 3 batches are 2 updates, the last of one batch */
    p.training.epochs = 3;
    open_trainer(&alone, &p, &own_plane, &own_words, NULL);
    open_party(&p);
    send_in(&h, &p);
    for (int pass = 0; pass < 3; pass++) {
        rgm_status status;

        CHECK_OK(rgm_trainer_train(alone, RGM_TO_END, &logs));
        CHECK_OK(rgm_trainer_train_loop_begin(p.trainer));
        while ((status = rgm_trainer_train_step(p.trainer)) != RGM_END)
            CHECK(status == RGM_OK || status == RGM_STOPPED);
        CHECK(rgm_trainer_at_end(p.trainer));
        CHECK_INT(rgm_trainer_global_step(alone), rgm_trainer_global_step(p.trainer));
        CHECK_INT(rgm_trainer_passes(alone), rgm_trainer_passes(p.trainer));
        CHECK_OK(rgm_trainer_train_loop_end(p.trainer, &logs));
        check_same_weights("a pass", alone, p.trainer);
    }
    finish(&p, &h, 1);
    rgm_trainer_release(alone);
    clear_party(&p);
}

/* ---- many workers ---------------------------------------------------------------------------- */

/* Each moves a state by one, and whatever meets there, all of them count. */
static void many_workers_make_each_update_once_within_the_bound(void **state)
{
    (void)state;
    for (int64_t staleness = 0; staleness < 6; staleness += 2) {
        enum { MANY = 5, STEPS = 300 };
        party p = make_party(staleness);
        hand hands[MANY] = {{.stop = false}};
        rgm_async_report did;
        const rgm_logs *logs;
        int64_t handed_in = 0;

        open_party(&p);
        for (int i = 0; i < MANY; i++)
            send_in(&hands[i], &p);
        train_to(&p, 1);
        meet(&p, MANY);
        train_to(&p, STEPS);
        CHECK_OK(rgm_trainer_train_loop_end(p.trainer, &logs));
        finish(&p, hands, MANY);
        rgm_async_server_report(&did, p.server);
        for (int i = 0; i < MANY; i++)
            handed_in += hands[i].updates;
        CHECK_INT(STEPS, did.updates);
        CHECK_INT(STEPS, rgm_trainer_updates(p.trainer));
        CHECK_INT(STEPS, (int64_t)steps_counted(&p));
        CHECK_INT(4 * STEPS, rgm_trainer_items(p.trainer, RGM_TRAIN));
        CHECK(did.most_stale <= staleness);
        CHECK(handed_in >= STEPS);
        CHECK_INT(MANY, did.workers);
        clear_party(&p);
    }
}

static void workers_leave_and_come_back(void **state)
{
    party p = make_party(4);
    hand hands[2] = {{.stop = false}};
    rgm_async_report did;
    int64_t steps = 0;

    (void)state;
    open_party(&p);
    for (int64_t round = 0; round < 4; round++) {
        send_in(&hands[0], &p);
        send_in(&hands[1], &p);
        for (did.workers = 0; did.workers < 2 * (round + 1);
             rgm_async_server_report(&did, p.server))
            train_to(&p, ++steps); /* at its first round nobody is let in before the first step */
        call_back(&hands[round % 2]);
        CHECK_STATUS(RGM_STOPPED, hands[round % 2].status);
        train_to(&p, steps += 10);
        call_back(&hands[1 - round % 2]);
    }
    rgm_async_server_report(&did, p.server);
    CHECK_INT(steps, did.updates);
    CHECK_INT(steps, (int64_t)steps_counted(&p));
    CHECK_INT(8, did.workers);
    CHECK(did.most_stale <= 4);
    clear_party(&p);
}

/* ---- tables ---------------------------------------------------------------------------------- */

static void of_a_table_only_rows_travel(void **state)
{
    enum { STEPS = 120 };
    const int64_t table = WORDS * VECTOR * (int64_t)sizeof(float);
    party p = make_party(3);
    hand hands[2] = {{.stop = false}};
    rgm_async_report did;

    (void)state;
    p.of_words = true;
    open_party(&p);
    send_in(&hands[0], &p);
    send_in(&hands[1], &p);
    train_to(&p, STEPS);
    finish(&p, hands, 2);
    rgm_async_server_report(&did, p.server);
    CHECK_INT(STEPS, did.updates);
    CHECK_INT(1, did.tables);
    CHECK_INT(WORDS, did.table_rows);
    CHECK_INT(BATCH * STEPS, did.gradient_rows); /* no batch has a word twice */
    CHECK(did.weight_rows >= BATCH * STEPS);
    CHECK(did.weight_rows <= BATCH * (STEPS + 8)); /* of turns that were begun when it ended */
    CHECK(did.gradient_bytes < STEPS * table / 20);
    CHECK(did.weight_bytes < STEPS * table / 20);
    clear_party(&p);
}

/* ---- what is refused ------------------------------------------------------------------------- */

static void others_are_refused(void **state)
{
    party p = make_party(2), q;
    hand h = {.about = "task: plane\ndata.batch_size: 8\n"}, good = {.stop = false};
    raw r = {.id = 0};
    rgm_text body = {0};

    (void)state;
    p.about = "task: plane\ndata.batch_size: 4\n";
    open_party(&p);
    send_in(&h, &p);
    CHECK_OK(rgm_trainer_train_loop_begin(p.trainer));
    CHECK_STATUS(RGM_STOPPED, rgm_trainer_train_step(p.trainer));
    CHECK_INT(0, pthread_join(h.thread, NULL));
    CHECK_STATUS(RGM_ERR_CONFIG, h.status);
    if (strstr(h.message, "'data.batch_size: 8', the server 'data.batch_size: 4'") == NULL)
        fail_msg("said: %s", h.message);
    q = p;
    q.of_words = true; /* other parameters */
    send_in(&good, &q);
    CHECK_INT(0, pthread_join(good.thread, NULL));
    CHECK_STATUS(RGM_ERR_CONFIG, good.status);
    q = p;
    q.plane.in_order = true; /* as many batches, of other items */
    send_in(&good, &q);
    CHECK_INT(0, pthread_join(good.thread, NULL));
    CHECK_STATUS(RGM_ERR_CONFIG, good.status);
    if (strstr(good.message, "it has 'how they are made: ") == NULL)
        fail_msg("said: %s", good.message);
    open_raw(&r, &p); /* bytes of any content, and a wrong token */
    for (int size = 0; size < 400; size++) {
        static const char *const paths[] = {"/come", "/turn", "/weights", "/alive", "/go"};
        char byte = (char)(size * 37);

        CHECK_OK(rgm_text_add(&body, &byte, 1));
        CHECK(ask_raw(&r, paths[size % 5], &body, NULL) != RGMI_WORK);
    }
    CHECK_INT(-404, ask_raw(&r, "/nothing", &body, NULL));
    rgm_http_client_close(r.client);
    CHECK_OK(rgm_http_client_open_url(&r.client, r.url, "0123456789abcdef0123456789abcdef"));
    CHECK_INT(-401, ask_raw(&r, "/hello", &body, NULL));
    rgm_http_client_close(r.client);
    rgm_text_clear(&body);
    clear_party(&p);
}

static void the_end_is_told(void **state)
{
    static const rgm_status ends[] = {RGM_STOPPED, RGM_ERR_NUMERIC};

    (void)state;
    for (int i = 0; i < 2; i++) {
        party p = make_party(2);
        hand h = {.stop = false};

        open_party(&p);
        send_in(&h, &p);
        train_to(&p, 5);
        if (ends[i] < 0)
            (void)RGM_FAIL(ends[i], "the loss is nan");
        rgm_async_server_stop(p.server, ends[i]);
        CHECK_INT(0, pthread_join(h.thread, NULL));
        CHECK_STATUS(ends[i] < 0 ? RGM_ERR_IO : RGM_STOPPED, h.status);
        if (ends[i] < 0 && strstr(h.message, "the loss is nan") == NULL)
            fail_msg("said: %s", h.message);
        clear_party(&p);
    }
}

static void without_a_server_a_worker_says_so(void **state)
{
    const rgm_async_place place = {check_fast_folder(), 0.3, NULL, NULL};
    rgm_async_worker *worker;

    (void)state;
    CHECK_STATUS(RGM_ERR_NOT_FOUND, rgm_async_worker_find(&worker, &place));
    CHECK(worker == NULL);
    CHECK_MESSAGE("there is no server at");
}

/* A bad batch is the server's affair, which may skip it: all else goes on. */
static void a_bad_batch_is_told_to_the_run(void **state)
{
    party p = make_party(2);
    hand h = {.stop = false};
    rgm_status status = RGM_STOPPED;
    int64_t bad = 0;

    (void)state;
    clear_plane(&p.plane);
    p.plane = make_plane(true);
    p.plane.dropout = 0; /* which could take it away */
    open_party(&p);
    send_in(&h, &p);
    CHECK_OK(rgm_trainer_train_loop_begin(p.trainer));
    while (rgm_trainer_global_step(p.trainer) < 30) {
        status = rgm_trainer_train_step(p.trainer);
        if (status == RGM_ERR_NUMERIC) {
            bad++;
            CHECK_MESSAGE("step ");
            rgm_trainer_skip_step(p.trainer);
        } else if (status != RGM_STOPPED) {
            CHECK_OK(status);
        }
    }
    CHECK_INT(10, bad); /* one of three batches has it */
    CHECK_INT(20, rgm_trainer_updates(p.trainer));
    finish(&p, &h, 1);
    clear_party(&p);
}

/* ---- allocations fail ------------------------------------------------------------------------ */

static rgm_status look_for_tables(rgmi_tables *tables, const rgm_trainer *trainer)
{
    rgm_status status = rgmi_tables_open(tables, trainer);

    if (status != RGM_OK)
        rgmi_tables_close(tables);
    return status;
}

static rgm_status ask_for_rows(rgmi_row_set *rows, rgmi_tables *tables, const rgm_trainer *trainer,
                               const party *p)
{
    const rgm_parameters *parameters = rgm_trainer_parameters(trainer);
    const rgm_feed feeds[] = {
        {.input = p->own_words.ids_value, .tensor = p->words.ids},
        {.input = p->own_words.label_value, .tensor = p->words.labels},
        {.input = p->own_words.places_value, .tensor = p->words.places},
    };
    rgm_status status = rgmi_rows_open(rows, WORDS);

    if (status == RGM_OK)
        status = rgmi_tables_ask(rows, tables, parameters, feeds, 3);
    if (status != RGM_OK)
        rgmi_rows_close(rows);
    return status;
}

static void memory_that_runs_out_is_an_error(void **state)
{
    party p = make_party(0);
    rgmi_tables tables = {.count = 0};
    rgmi_row_set rows = {.count = 0};

    (void)state;
    p.of_words = true;
    open_trainer(&p.trainer, &p, &p.own_plane, &p.own_words, NULL);
    CHECK_EVERY_OOM(look_for_tables(&tables, p.trainer), rgmi_tables_close(&tables));
    CHECK_OK(rgmi_tables_open(&tables, p.trainer));
    CHECK_OK(ask_for_rows(&rows, &tables, p.trainer, &p)); /* what it keeps for the next is there */
    CHECK_INT(TEXTS, rows.count);
    rgmi_rows_close(&rows);
    CHECK_EVERY_OOM(ask_for_rows(&rows, &tables, p.trainer, &p), rgmi_rows_close(&rows));
    rgmi_tables_close(&tables);
    clear_party(&p);
}

TESTS(cmocka_unit_test(one_worker_gives_the_bytes_of_one_process),
      cmocka_unit_test(passes_end_where_they_do_for_one_process),
      cmocka_unit_test(many_workers_make_each_update_once_within_the_bound),
      cmocka_unit_test(workers_leave_and_come_back), cmocka_unit_test(of_a_table_only_rows_travel),
      cmocka_unit_test(others_are_refused), cmocka_unit_test(the_end_is_told),
      cmocka_unit_test(without_a_server_a_worker_says_so),
      cmocka_unit_test(a_bad_batch_is_told_to_the_run),
      cmocka_unit_test(memory_that_runs_out_is_an_error))

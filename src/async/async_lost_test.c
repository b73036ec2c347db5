/*
 * Workers that fail, and what has no room: whose turn is free, what the run waits for and what not,
 * who asks again, and what is refused.
 */
#include "party_check.h"
#include "async_server_internal.h"

#include <regimen/http.h>
#include <signal.h>
#include <sys/wait.h>

/* ---- a worker that dies ---------------------------------------------------------------------- */

/* Another process takes a turn; and then it is no more. */
static void take_a_turn_and_die(raw *r, const party *p)
{
    pid_t pid = fork();

    if (pid == 0)
        for (;;)
            pause();
    take_a_turn(r, p, pid);
    CHECK_INT(0, kill(pid, SIGKILL));
    CHECK_INT(pid, waitpid(pid, NULL, 0));
}

static void *die(void *payload)
{
    raw *r = ((void **)payload)[0];

    take_a_turn_and_die(r, ((void **)payload)[1]);
    return NULL;
}

static void a_dead_workers_turn_is_anothers(void **state)
{
    party p = make_party(2);
    hand h = {.stop = false};
    raw r = {.id = 0};
    void *payload[] = {&r, &p};
    rgm_async_report did;
    rgm_text body = {0};
    pthread_t thread;

    (void)state;
    open_party(&p);
    open_raw(&r, &p);
    CHECK_OK(rgm_trainer_train_loop_begin(p.trainer));
    CHECK_STATUS(RGM_STOPPED, rgm_trainer_train_step(p.trainer)); /* workers are let in */
    CHECK_INT(0, pthread_create(&thread, NULL, die, payload));
    for (rgm_async_report now = {0}; now.weight_bytes == 0; rgm_async_server_report(&now, p.server))
        CHECK_STATUS(RGM_STOPPED, rgm_trainer_train_step(p.trainer));
    CHECK_INT(0, pthread_join(thread, NULL));
    send_in(&h, &p);
    train_to(&p, 100);
    rgm_async_server_report(&did, p.server);
    CHECK_INT(100, did.updates);
    CHECK_INT(100, (int64_t)steps_counted(&p));
    CHECK_INT(1, did.given_again);
    for (int i = 0; i < 9; i++) /* it hands in after all: nobody knows it any more */
        CHECK_OK(rgm_state_put_int(&body, i == 0 ? r.id : i == 3 ? 1 : i == 4 ? r.lease : 0));
    CHECK_INT(RGMI_UNKNOWN, ask_raw(&r, "/turn", &body, NULL));
    finish(&p, &h, 1);
    rgm_http_client_close(r.client);
    rgm_text_clear(&body);
    clear_party(&p);
}

/* ---- a worker that hangs --------------------------------------------------------------------- */

static void *hang(void *payload)
{
    take_a_turn(((void **)payload)[0], ((void **)payload)[1], getpid());
    return NULL;
}

/* A party one of whose workers has taken a turn and says nothing more. */
static const rgm_trainer_hooks *open_with_one_that_hangs(party *p, raw *r)
{
    void *payload[] = {r, p};
    rgm_async_report did = {0};
    pthread_t thread;

    p->options.turn_timeout = 0.1;
    open_party(p);
    open_raw(r, p);
    CHECK_OK(rgm_trainer_train_loop_begin(p->trainer));
    CHECK_STATUS(RGM_STOPPED, rgm_trainer_train_step(p->trainer)); /* workers are let in */
    CHECK_INT(0, pthread_create(&thread, NULL, hang, payload));
    for (; did.weight_bytes == 0; rgm_async_server_report(&did, p->server))
        CHECK_STATUS(RGM_STOPPED, rgm_trainer_train_step(p->trainer));
    CHECK_INT(0, pthread_join(thread, NULL));
    return rgm_async_server_hooks(p->server);
}

/* It says that it lives, hands in what nobody wants any more, and leaves. */
static void *go_on(void *payload)
{
    raw *r = ((void **)payload)[0];
    rgm_text body = {0};
    int64_t kind;

    CHECK_OK(rgm_state_put_int(&body, r->id));
    CHECK_INT(RGMI_WORK, ask_raw(r, "/alive", &body, NULL));
    for (int i = 1; i < 9; i++)
        CHECK_OK(rgm_state_put_int(&body, i == 3 ? 1 : i == 4 ? r->lease : 0));
    kind = ask_raw(r, "/turn", &body, NULL);
    CHECK(kind == RGMI_WORK || kind == RGMI_LATER);
    leave_raw(r);
    rgm_text_clear(&body);
    return NULL;
}

/* With a bound of 0 nobody else begins before its turn is free. */
static void a_worker_that_hangs_loses_its_turn(void **state)
{
    party p = make_party(0);
    hand h = {.stop = false};
    raw r = {.id = 0};
    void *payload[] = {&r, &p};
    const rgm_trainer_hooks *hooks;
    rgm_async_report did = {0};
    pthread_t thread;

    (void)state;
    hooks = open_with_one_that_hangs(&p, &r);
    send_in(&h, &p);
    train_to(&p, 20);
    CHECK_INT(0, pthread_create(&thread, NULL, go_on, payload));
    for (; did.refused == 0; rgm_async_server_report(&did, p.server))
        train_to(&p, rgm_trainer_global_step(p.trainer) + 1);
    CHECK_INT(0, pthread_join(thread, NULL));
    CHECK(did.given_again >= 1);
    CHECK_INT(rgm_trainer_global_step(p.trainer), did.updates);
    CHECK_INT(did.updates, (int64_t)steps_counted(&p));
    CHECK_INT(0, hooks->decide(0, hooks->payload)); /* the run goes on */
    finish(&p, &h, 1);
    rgm_http_client_close(r.client);
    clear_party(&p);
}

/* Where nobody else comes, a run does not wait for one that hangs. */
static void a_run_whose_only_worker_hangs_stops(void **state)
{
    party p = make_party(0);
    raw r = {.id = 0};
    const rgm_trainer_hooks *hooks;

    (void)state;
    hooks = open_with_one_that_hangs(&p, &r);
    rgm_async_server_give_up(p.server, "nobody else comes");
    while ((hooks->decide(0, hooks->payload) & RGM_DECIDE_STOP) == 0)
        CHECK_STATUS(RGM_STOPPED, rgm_trainer_train_step(p.trainer));
    CHECK_INT(0, rgm_trainer_global_step(p.trainer));
    rgm_http_client_close(r.client);
    clear_party(&p);
}

/* ---- what has no room ------------------------------------------------------------------------ */

/* In the place of a server: it has no room for who comes until he has asked three times, or never
 * has. */
typedef struct full {
    rgm_http *http;
    atomic_int asked;
    bool for_ever;
} full;

static void be_full(rgm_response *out, const rgm_request *request, void *payload)
{
    full *f = payload;
    bool comes = strcmp(request->path, "/come") == 0;

    if (comes && (f->for_ever || atomic_fetch_add(&f->asked, 1) < 2)) {
        rgm_response_fail(out, f->for_ever ? 413 : 503, RGM_FAIL(RGM_ERR_ARG, "no room"), NULL);
        return;
    }
    out->status = 200;
    CHECK_OK(rgm_state_put_int(&out->body, comes ? RGMI_IS_OVER : RGMI_WORK));
    CHECK_OK(rgm_state_put_bytes(&out->body, "", 0));
}

static void who_finds_no_room_asks_again(void **state)
{
    (void)state;
    for (int for_ever = 0; for_ever < 2; for_ever++) {
        party p = make_party(0);
        full f = {.for_ever = for_ever};
        const rgm_http_service service = {.answer = be_full, .payload = &f};
        rgm_async_worker *worker;
        rgm_async_place place = {.patience = 60};
        char address[64], url[80];
        int fd, port;

        CHECK_OK(rgm_http_listen(&fd, "127.0.0.1:0"));
        CHECK_OK(rgm_http_address(address, &port, fd));
        snprintf(url, sizeof url, "http://%s", address);
        CHECK_OK(rgm_http_start(&f.http, fd, NULL, &service));
        place.where = url;
        CHECK_OK(rgm_async_worker_find(&worker, &place));
        open_trainer(&p.trainer, &p, &p.own_plane, &p.own_words, rgm_async_worker_hooks(worker));
        CHECK_STATUS(for_ever ? RGM_ERR_CONFIG : RGM_OK,
                     rgm_async_worker_run(worker, p.trainer, p.about));
        if (for_ever)
            CHECK_MESSAGE("more than the server takes in one message");
        else
            CHECK_INT(3, atomic_load(&f.asked));
        rgm_async_worker_close(worker);
        rgm_http_stop(f.http);
        clear_party(&p);
    }
}

static void what_cannot_travel_is_refused_before_the_first_step(void **state)
{
    party p = make_party(0);

    (void)state;
    p.of_words = true;
    p.options.message_bytes = 16; /* the table's rows do not count, the second layer's do */
    CHECK_OK(rgm_async_server_open(&p.server, &p.options));
    open_trainer(&p.trainer, &p, &p.own_plane, &p.own_words, rgm_async_server_hooks(p.server));
    CHECK_STATUS(RGM_ERR_CONFIG, rgm_async_server_admit(p.server, p.trainer, p.about));
    CHECK_MESSAGE("a model that size is for ranks");
    clear_party(&p);
}

/* Their numbers fit into a message, and they themselves do not. */
static void *ask_for_many_rows(void *payload)
{
    raw *r = ((void **)payload)[0];
    rgmi_row_set rows = {0};

    come_for_a_turn(r, ((void **)payload)[1], getpid());
    CHECK_OK(rgmi_rows_open(&rows, WORDS));
    for (rows.count = 0; rows.count < WORDS / 2; rows.count++) {
        CHECK_OK(RGM_RESERVE(rows.items, rows.capacity, rows.count + 1));
        rows.items[rows.count] = (int32_t)rows.count;
    }
    CHECK_INT(-400, ask_for_weights(r, &rows));
    rows.count = WORDS / 10;
    CHECK_INT(RGMI_WORK, ask_for_weights(r, &rows));
    rgmi_rows_close(&rows);
    return NULL;
}

static void more_rows_than_a_message_has_room_for_are_refused(void **state)
{
    party p = make_party(0);
    raw r = {.id = 0};
    void *payload[] = {&r, &p};
    rgm_async_report did = {0};
    pthread_t thread;

    (void)state;
    p.of_words = true;
    p.options.message_bytes = 4096;
    open_party(&p);
    open_raw(&r, &p);
    CHECK_OK(rgm_trainer_train_loop_begin(p.trainer));
    CHECK_STATUS(RGM_STOPPED, rgm_trainer_train_step(p.trainer));
    CHECK_INT(0, pthread_create(&thread, NULL, ask_for_many_rows, payload));
    for (; did.weight_bytes == 0; rgm_async_server_report(&did, p.server))
        CHECK_STATUS(RGM_STOPPED, rgm_trainer_train_step(p.trainer));
    CHECK_INT(0, pthread_join(thread, NULL));
    CHECK_INT(WORDS / 10, did.weight_rows);
    rgm_http_client_close(r.client);
    clear_party(&p);
}

/* ---- a worker whose data are shorter --------------------------------------------------------- */

/* Say that the data have no batch at all, and leave. */
static void *end_too_soon(void *payload)
{
    raw *r = ((void **)payload)[0];
    const party *p = ((void **)payload)[1];
    rgm_text body = {0};

    take_a_turn(r, p, getpid());
    for (int i = 0; i < 8; i++) /* who, pass, batch; of its lease, behind batch 0: none */
        CHECK_OK(rgm_state_put_int(&body, i == 0   ? r->id
                                          : i == 3 ? 1
                                          : i == 4 ? r->lease
                                          : i == 7 ? RGMI_NO_BATCH
                                                   : 0));
    CHECK(ask_raw(r, "/turn", &body, NULL) <= -400);
    leave_raw(r);
    rgm_text_clear(&body);
    atomic_store((atomic_bool *)((void **)payload)[2], true);
    return NULL;
}

/* One whose data are shorter than what others have read ends no pass. */
static void a_pass_does_not_end_before_what_is_done(void **state)
{
    party p = make_party(2);
    hand h = {.stop = false};
    raw r = {.id = 0};
    atomic_bool has_left = false;
    void *payload[] = {&r, &p, &has_left};
    pthread_t thread;

    (void)state;
    open_party(&p);
    open_raw(&r, &p);
    send_in(&h, &p);
    train_to(&p, 5);
    CHECK_INT(0, pthread_create(&thread, NULL, end_too_soon, payload));
    while (!atomic_load(&has_left))
        train_to(&p, rgm_trainer_global_step(p.trainer) + 1);
    CHECK_INT(rgm_trainer_global_step(p.trainer), (int64_t)steps_counted(&p));
    CHECK_INT(0, rgm_trainer_passes(p.trainer));
    CHECK_INT(0, pthread_join(thread, NULL));
    finish(&p, &h, 1);
    rgm_http_client_close(r.client);
    clear_party(&p);
}

typedef struct newcomer {
    rgm_async_worker *worker;
    rgm_trainer *trainer;
    const char *about;
    rgm_status status;
} newcomer;

static void *come_and_work(void *payload)
{
    newcomer *n = payload;

    n->status = rgm_async_worker_run(n->worker, n->trainer, n->about);
    return NULL;
}

static bool has_visitors(rgm_async_server *server)
{
    bool has;

    pthread_mutex_lock(&server->lock);
    has = server->visitor_count > 0;
    pthread_mutex_unlock(&server->lock);
    return has;
}

/* The server is slow to let it in, and meanwhile it is asked to go. It waits for the answer all the
 * same: else nobody would tell the server that it is gone. */
static void who_is_asked_to_go_while_it_comes_leaves(void **state)
{
    party p = make_party(8);
    hand first = {.stop = false}, h = {.stop = false};
    const rgm_async_place place = {p.options.folder, 60, is_stopped, &h};
    newcomer n = {.about = p.about};
    plane own_plane;
    words own_words;

    (void)state;
    open_party(&p);
    send_in(&first, &p);
    train_to(&p, 3); /* nobody is let in before */
    call_back(&first);
    CHECK(!has_visitors(p.server));
    CHECK_OK(rgm_async_worker_find(&n.worker, &place));
    open_trainer(&n.trainer, &p, &own_plane, &own_words, rgm_async_worker_hooks(n.worker));
    pthread_mutex_lock(&p.server->lock);
    CHECK_INT(0, pthread_create(&h.thread, NULL, come_and_work, &n));
    (void)usleep(200000); /* it asks */
    atomic_store(&h.stop, true);
    (void)usleep(1500000); /* once a second it looks whether it is to stop */
    pthread_mutex_unlock(&p.server->lock);
    CHECK_INT(0, pthread_join(h.thread, NULL));
    CHECK_INT(RGM_STOPPED, n.status);
    for (int i = 0; i < 200 && !has_visitors(p.server); i++) /* who is let in behind its end */
        (void)usleep(1000);
    CHECK(!has_visitors(p.server));
    rgm_async_worker_close(n.worker);
    rgm_trainer_release(n.trainer);
    finish(&p, NULL, 0);
    clear_party(&p);
}

TESTS(cmocka_unit_test(a_dead_workers_turn_is_anothers),
      cmocka_unit_test(who_is_asked_to_go_while_it_comes_leaves),
      cmocka_unit_test(a_worker_that_hangs_loses_its_turn),
      cmocka_unit_test(a_run_whose_only_worker_hangs_stops),
      cmocka_unit_test(who_finds_no_room_asks_again),
      cmocka_unit_test(what_cannot_travel_is_refused_before_the_first_step),
      cmocka_unit_test(more_rows_than_a_message_has_room_for_are_refused),
      cmocka_unit_test(a_pass_does_not_end_before_what_is_done))

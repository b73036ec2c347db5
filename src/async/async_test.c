/*
 * Server and workers in one process, each with a trainer of its own: one worker at a time gives the
 * bytes of one process; many give as many updates as were asked for, none staler than the bound,
 * whoever leaves, dies or comes again; and of tables only rows travel.
 */
#include "train_check.h"

#include <pthread.h>
#include <regimen/async.h>
#include <regimen/http_client.h>
#include <regimen/nn.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "async_internal.h"

/* ---- two tasks: a plane, and words with a table of vectors ----------------------------------- */

enum { WORDS = 1000, VECTOR = 4, TEXTS = 40, BATCH = 5 };

typedef struct words {
    rgm_tensor *ids, *labels, *places;
    rgm_value *ids_value, *label_value, *places_value;
} words;

static rgm_status words_model(rgm_task_model *out, rgm_scope *scope, void *state)
{
    words *w = state;
    rgm_cgraph *graph = rgm_scope_graph(scope);
    rgm_dim n = rgm_cgraph_symbol(graph, "batch");
    rgm_head *head = &out->heads[0];
    rgm_value *x, *all, *same;
    rgm_tensor *every = NULL;

    *out = (rgm_task_model){.head_count = 1, .heads = {{.name = "logits"}}};
    w->ids_value = rgm_input(graph, "ids", RGM_I64, 1, &n);
    w->label_value = rgm_input(graph, "label", RGM_I64, 1, &n);
    w->places_value = rgm_input(graph, "places", RGM_I64, 1, &n);
    /* read by what is fed, by what follows from it, and by picking from what was picked */
    RGM_TRY(rgm_tensor_create(&every, RGM_I64, 1, (int64_t[]){WORDS}));
    for (int64_t i = 0; i < WORDS; i++)
        rgm_tensor_i64(every)[i] = WORDS - 1 - i;
    x = rgm_embedding(scope, "words", w->ids_value, WORDS, VECTOR);
    same = rgm_reshape(w->ids_value, 1, &n);
    x = rgm_add(x, rgm_embedding(scope, "words", same, WORDS, VECTOR));
    all = rgm_embedding(scope, "words", rgm_constant(graph, every), WORDS, VECTOR);
    rgm_tensor_release(every);
    x = rgm_add(x, rgm_gather(all, w->places_value));
    head->labels = w->label_value;
    head->predictions = rgm_dense(scope, "logits", x, 2);
    head->loss =
        rgm_weighted_mean(rgm_softmax_cross_entropy(head->predictions, head->labels), NULL);
    head->loss_weight = 1;
    head->metrics[0] = (rgm_metric){.type = &rgm_metric_accuracy, .name = "accuracy"};
    head->metric_count = 1;
    return RGM_OK;
}

static rgm_status words_inputs(rgm_dataset **out, void *state, rgm_mode mode, bool endless)
{
    words *w = state;
    rgm_tensor *tensors[] = {w->ids, w->labels, w->places};

    *out = NULL;
    if (mode != RGM_TRAIN)
        return RGM_OK;
    RGM_TRY(rgm_dataset_from_tensors(out, tensors, 3));
    RGM_TRY(rgm_dataset_shuffle(out, 16));
    RGM_TRY(rgm_dataset_batch(out, BATCH, false));
    RGM_TRY(rgm_dataset_map(out, rgm_element_stack, NULL, NULL, 1));
    return endless ? rgm_dataset_repeat(out, -1) : RGM_OK;
}

static rgm_status words_feeds(rgm_feed *feeds, int64_t capacity, int64_t *count, void *state,
                              rgm_element *batch)
{
    words *w = state;

    (void)capacity;
    feeds[0] = (rgm_feed){.input = w->ids_value, .tensor = rgm_element_tensor(batch, 0)};
    feeds[1] = (rgm_feed){.input = w->label_value, .tensor = rgm_element_tensor(batch, 1)};
    feeds[2] = (rgm_feed){.input = w->places_value, .tensor = rgm_element_tensor(batch, 2)};
    *count = 3;
    return RGM_OK;
}

/* ---- a party of a server and workers --------------------------------------------------------- */

typedef struct party {
    plane plane;
    words words;
    bool of_words, finite;
    rgm_async_options options;
    rgm_trainer_options training;
    const char *about;
    /* the server's */
    plane own_plane;
    words own_words;
    rgm_async_server *server;
    rgm_trainer *trainer;
} party;

static party make_party(int64_t staleness)
{
    party p = {.plane = make_plane(false), .about = "task: plane\n"};

    p.options =
        (rgm_async_options){.staleness = staleness, .timeout = 60, .folder = check_fast_folder()};
    rgm_trainer_defaults(&p.training);
    CHECK_OK(rgm_tensor_create(&p.words.ids, RGM_I64, 1, (int64_t[]){TEXTS}));
    CHECK_OK(rgm_tensor_create(&p.words.labels, RGM_I64, 1, (int64_t[]){TEXTS}));
    CHECK_OK(rgm_tensor_create(&p.words.places, RGM_I64, 1, (int64_t[]){TEXTS}));
    for (int i = 0; i < TEXTS; i++) {
        rgm_tensor_i64(p.words.ids)[i] = (i * 37) % WORDS;
        rgm_tensor_i64(p.words.places)[i] = WORDS - 1 - (i * 37) % WORDS; /* the same word */
        rgm_tensor_i64(p.words.labels)[i] = i % 2;
    }
    return p;
}

static void open_trainer(rgm_trainer **out, const party *p, plane *own_plane, words *own_words,
                         const rgm_trainer_hooks *hooks)
{
    rgm_task task = plane_task(own_plane);
    rgm_optimizer_options optimizer = rgm_adam(0.01);
    rgm_trainer_setup setup = {.task = &task,
                               .options = &p->training,
                               .optimizer = &optimizer,
                               .hooks = hooks,
                               .endless = !p->finite};

    *own_plane = p->plane;
    *own_words = p->words;
    if (p->of_words)
        task = (rgm_task){.name = "words",
                          .state = own_words,
                          .build_model = words_model,
                          .build_inputs = words_inputs,
                          .feeds = words_feeds};
    CHECK_OK(rgm_trainer_create(out, &setup));
}

static void open_party(party *p)
{
    CHECK_OK(rgm_async_server_open(&p->server, &p->options));
    open_trainer(&p->trainer, p, &p->own_plane, &p->own_words, rgm_async_server_hooks(p->server));
    CHECK_OK(rgm_async_server_admit(p->server, p->trainer, p->about));
}

static void clear_party(party *p)
{
    rgm_async_server_close(p->server);
    rgm_trainer_release(p->trainer);
    clear_plane(&p->plane);
    rgm_tensor_release(p->words.ids);
    rgm_tensor_release(p->words.labels);
    rgm_tensor_release(p->words.places);
}

typedef struct hand {
    const party *party;
    const char *about;
    pthread_t thread;
    atomic_bool stop;
    /* what became of it */
    rgm_status status;
    int64_t updates;
    char message[400];
} hand;

static bool is_stopped(void *payload)
{
    return atomic_load(&((hand *)payload)->stop);
}

static void *be_a_worker(void *payload)
{
    hand *h = payload;
    const rgm_async_place place = {h->party->options.folder, 60, is_stopped, h};
    rgm_async_worker *worker = NULL;
    rgm_trainer *trainer = NULL;
    plane own_plane;
    words own_words;

    h->status = rgm_async_worker_find(&worker, &place);
    if (h->status == RGM_OK) {
        open_trainer(&trainer, h->party, &own_plane, &own_words, rgm_async_worker_hooks(worker));
        h->status = rgm_async_worker_run(worker, trainer, h->about);
        h->updates = rgm_async_worker_updates(worker);
    }
    snprintf(h->message, sizeof h->message, "%s", h->status < 0 ? rgm_error_message() : "");
    rgm_async_worker_close(worker);
    rgm_trainer_release(trainer);
    return NULL;
}

static void send_in(hand *h, const party *p)
{
    h->party = p;
    h->about = h->about != NULL ? h->about : p->about;
    atomic_store(&h->stop, false);
    CHECK_INT(0, pthread_create(&h->thread, NULL, be_a_worker, h));
}

static void call_back(hand *h)
{
    atomic_store(&h->stop, true);
    CHECK_INT(0, pthread_join(h->thread, NULL));
}

/* Steps of the current loop, up to so many of the run. */
static void train_to(party *p, int64_t steps)
{
    if (rgm_trainer_loop_step(p->trainer) < 0)
        CHECK_OK(rgm_trainer_train_loop_begin(p->trainer));
    while (rgm_trainer_global_step(p->trainer) < steps) {
        rgm_status status = rgm_trainer_train_step(p->trainer);

        if (status != RGM_STOPPED) /* nobody has handed in anything yet */
            CHECK_OK(status);
    }
}

static void finish(party *p, hand *hands, int count)
{
    rgm_async_server_stop(p->server, RGM_OK);
    for (int i = 0; i < count; i++) {
        CHECK_INT(0, pthread_join(hands[i].thread, NULL));
        CHECK_STATUS(RGM_OK, hands[i].status);
    }
}

static double steps_counted(const party *p)
{
    return rgm_tensor_at(rgm_parameters_find(rgm_trainer_parameters(p->trainer), "steps"), 0);
}

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

/* ---- a worker that dies ---------------------------------------------------------------------- */

typedef struct raw {
    rgm_http_client *client;
    char url[64], token[64];
    int64_t id, lease;
} raw;

static void open_raw(raw *r, const party *p)
{
    char path[200], *text;
    struct stat info;
    int64_t size;

    snprintf(path, sizeof path, "%s/" RGMI_ADDRESS_FILE, p->options.folder);
    CHECK_INT(0, stat(path, &info));
    CHECK_INT(0600, info.st_mode & 0777); /* it has the token */
    CHECK_OK(rgm_file_load(&text, &size, path, 4096));
    CHECK_INT(2, sscanf(text, "%63s %63s", r->url, r->token));
    rgm_free(text);
    CHECK_OK(rgm_http_client_open_url(&r->client, r->url, r->token));
}

static int64_t ask_raw(raw *r, const char *path, const rgm_text *body, rgm_text *answer)
{
    rgm_response response;
    rgm_state_reader reader;
    bool served;
    int64_t kind = -1;

    CHECK_OK(
        rgm_http_client_send(&response, &served, r->client, "POST", path, body->data, body->size));
    reader = (rgm_state_reader){(const uint8_t *)response.body.data, response.body.size, 0};
    if (response.status == 200)
        CHECK_OK(rgm_state_get_int(&kind, &reader));
    else
        kind = -response.status;
    if (answer != NULL && response.status == 200)
        CHECK_OK(rgm_text_add(answer, response.body.data + reader.at, reader.size - reader.at));
    rgm_response_clear(&response);
    return kind;
}

/* Come as a process of this host, and take a turn with its weights. */
static void take_a_turn(raw *r, const party *p, pid_t pid)
{
    rgm_text body = {0}, answer = {0};
    rgm_state_reader reader;
    rgmi_whereabouts me;

    rgmi_where_am_i(&me);
    CHECK_OK(rgmi_introduce(&answer, p->trainer, p->about));
    CHECK_OK(rgm_state_put_bytes(&body, answer.data, answer.size));
    CHECK_OK(rgm_state_put_bytes(&body, me.host, (int64_t)strlen(me.host)));
    CHECK_OK(rgm_state_put_int(&body, pid));
    CHECK_OK(rgm_state_put_int(&body, me.space));
    answer.size = 0;
    CHECK_INT(RGMI_WORK, ask_raw(r, "/come", &body, &answer));
    reader = (rgm_state_reader){(const uint8_t *)answer.data, answer.size, 0};
    CHECK_OK(rgm_state_get_int(&r->id, &reader));
    body.size = 0;
    for (int i = 0; i < 4; i++) /* who, pass, batch, nothing handed in */
        CHECK_OK(rgm_state_put_int(&body, i == 0 ? r->id : 0));
    answer.size = 0;
    CHECK_INT(RGMI_WORK, ask_raw(r, "/turn", &body, &answer));
    reader = (rgm_state_reader){(const uint8_t *)answer.data, answer.size, 0};
    CHECK_OK(rgm_state_get_int(&r->lease, &reader));
    body.size = 0;
    CHECK_OK(rgm_state_put_int(&body, r->id));
    CHECK_OK(rgm_state_put_int(&body, r->lease));
    CHECK_OK(rgm_state_put_int(&body, 1));
    CHECK_INT(RGMI_WORK, ask_raw(r, "/weights", &body, NULL));
    rgm_text_clear(&body);
    rgm_text_clear(&answer);
}

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
    body.size = 0;
    CHECK_OK(rgm_state_put_int(&body, r->id));
    CHECK_OK(rgm_state_put_bytes(&body, "", 0));
    CHECK_INT(RGMI_WORK, ask_raw(r, "/go", &body, NULL));
    rgm_text_clear(&body);
    atomic_store((atomic_bool *)((void **)payload)[2], true);
    return NULL;
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
      cmocka_unit_test(workers_leave_and_come_back),
      cmocka_unit_test(a_dead_workers_turn_is_anothers),
      cmocka_unit_test(a_pass_does_not_end_before_what_is_done),
      cmocka_unit_test(of_a_table_only_rows_travel), cmocka_unit_test(others_are_refused),
      cmocka_unit_test(the_end_is_told), cmocka_unit_test(without_a_server_a_worker_says_so),
      cmocka_unit_test(a_bad_batch_is_told_to_the_run),
      cmocka_unit_test(memory_that_runs_out_is_an_error))

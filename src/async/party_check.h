/*
 * What the tests of async share: a party of a server and workers in one process, each
 * with a trainer of its own, and a worker made by hand, which asks what it likes.
 */
#ifndef RGM_PARTY_CHECK_H
#define RGM_PARTY_CHECK_H

#include "train_check.h"
#include "words_check.h"

#include <pthread.h>
#include <regimen/async.h>
#include <regimen/http_client.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <unistd.h>

#include "async_internal.h"

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

static inline party make_party(int64_t staleness)
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

static inline void open_trainer(rgm_trainer **out, const party *p, plane *own_plane,
                                words *own_words, const rgm_trainer_hooks *hooks)
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

static inline void open_party(party *p)
{
    CHECK_OK(rgm_async_server_open(&p->server, &p->options));
    open_trainer(&p->trainer, p, &p->own_plane, &p->own_words, rgm_async_server_hooks(p->server));
    CHECK_OK(rgm_async_server_admit(p->server, p->trainer, p->about));
}

static inline void clear_party(party *p)
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

static inline bool is_stopped(void *payload)
{
    return atomic_load(&((hand *)payload)->stop);
}

static inline void *be_a_worker(void *payload)
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

static inline void send_in(hand *h, const party *p)
{
    h->party = p;
    h->about = h->about != NULL ? h->about : p->about;
    atomic_store(&h->stop, false);
    CHECK_INT(0, pthread_create(&h->thread, NULL, be_a_worker, h));
}

static inline void call_back(hand *h)
{
    atomic_store(&h->stop, true);
    CHECK_INT(0, pthread_join(h->thread, NULL));
}

/* Steps of the current loop, up to so many of the run. */
static inline void train_to(party *p, int64_t steps)
{
    if (rgm_trainer_loop_step(p->trainer) < 0)
        CHECK_OK(rgm_trainer_train_loop_begin(p->trainer));
    while (rgm_trainer_global_step(p->trainer) < steps) {
        rgm_status status = rgm_trainer_train_step(p->trainer);

        if (status != RGM_STOPPED) /* nobody has handed in anything yet */
            CHECK_OK(status);
    }
}

/* Until so many have come: on a busy machine all steps may be made before the last of them. */
static inline void meet(const party *p, int64_t workers)
{
    rgm_async_report did = {0};

    for (int i = 0; i < 60000 && did.workers < workers; i++) {
        (void)usleep(1000);
        rgm_async_server_report(&did, p->server);
    }
    CHECK_INT(workers, did.workers);
}

static inline void finish(party *p, hand *hands, int count)
{
    rgm_async_server_stop(p->server, RGM_OK);
    for (int i = 0; i < count; i++) {
        CHECK_INT(0, pthread_join(hands[i].thread, NULL));
        CHECK_STATUS(RGM_OK, hands[i].status);
    }
}

static inline double steps_counted(const party *p)
{
    return rgm_tensor_at(rgm_parameters_find(rgm_trainer_parameters(p->trainer), "steps"), 0);
}

/* ---- a worker by hand ------------------------------------------------------------------------ */

typedef struct raw {
    rgm_http_client *client;
    char url[64], token[64];
    int64_t id, lease;
} raw;

static inline void open_raw(raw *r, const party *p)
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

static inline int64_t ask_raw(raw *r, const char *path, const rgm_text *body, rgm_text *answer)
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

/* Come as a process of this host, and take a turn. */
static inline void come_for_a_turn(raw *r, const party *p, pid_t pid)
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
    rgm_text_clear(&body);
    rgm_text_clear(&answer);
}

/* The kind of the answer to a request for weights, of tables those rows; NULL: there is none. */
static inline int64_t ask_for_weights(raw *r, const rgmi_row_set *rows)
{
    rgm_text body = {0};
    int64_t kind;

    CHECK_OK(rgm_state_put_int(&body, r->id));
    CHECK_OK(rgm_state_put_int(&body, r->lease));
    CHECK_OK(rgm_state_put_int(&body, 1));
    if (rows != NULL)
        CHECK_OK(rgmi_put_rows(&body, rows, 0));
    kind = ask_raw(r, "/weights", &body, NULL);
    rgm_text_clear(&body);
    return kind;
}

static inline void take_a_turn(raw *r, const party *p, pid_t pid)
{
    come_for_a_turn(r, p, pid);
    CHECK_INT(RGMI_WORK, ask_for_weights(r, NULL));
}

static inline void leave_raw(raw *r)
{
    rgm_text body = {0};

    CHECK_OK(rgm_state_put_int(&body, r->id));
    CHECK_OK(rgm_state_put_bytes(&body, "", 0));
    CHECK_INT(RGMI_WORK, ask_raw(r, "/go", &body, NULL));
    rgm_text_clear(&body);
}

#endif

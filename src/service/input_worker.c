/*
 * A worker: says hello to the trainer, gives the numbers that it is told to its threads, sends what
 * they made, and says once a second that it lives. ZeroMQ connects again by itself; a trainer that
 * does not know this worker asks who it is.
 */
#include "worker_internal.h"

#include <stdio.h>
#include <unistd.h>

#define ALIVE_EVERY 1.0
#define HELLO_EVERY 0.2 /* to a trainer that has not answered */
enum { RETRY_FIRST_MS = 100, RETRY_MOST_MS = 5000 };

typedef struct serving {
    const rgm_input_worker *worker;
    const rgmi_zmq *zmq;
    rgmi_key key;
    void *context, *socket;
    rgmi_makers *makers;
    rgmi_session *session;  /* NULL: the trainer has not told one */
    rgmi_batch_job *unsent; /* that ZeroMQ's queue had no room for */
    char *endpoint;
    char name[RGMI_WORKER_NAME];
    rgm_text recipe;
    bool connected; /* a trainer has answered                     */
    bool over;      /* it wants no more                           */
    double heard;   /* when it last did, or the waiting began     */
    double next_alive, told;
    int64_t made;
} serving;

/* ---- opening ----------------------------------------------------------------------------------
 */

static rgm_status set_options(serving *s)
{
    const rgmi_zmq *zmq = s->zmq;

    RGM_TRY(rgmi_zmq_set_int(zmq, s->socket, RGMI_ZMQ_IPV6, strchr(s->endpoint, '[') != NULL));
    RGM_TRY(rgmi_zmq_set_int(zmq, s->socket, RGMI_ZMQ_LINGER, 200));
    RGM_TRY(rgmi_zmq_set_int(zmq, s->socket, RGMI_ZMQ_IMMEDIATE, 1));
    RGM_TRY(rgmi_zmq_set_int(zmq, s->socket, RGMI_ZMQ_RECONNECT_IVL, RETRY_FIRST_MS));
    RGM_TRY(rgmi_zmq_set_int(zmq, s->socket, RGMI_ZMQ_RECONNECT_IVL_MAX, RETRY_MOST_MS));
    if (zmq->setsockopt(s->socket, RGMI_ZMQ_CURVE_SERVERKEY, s->key.open, 41) != 0 ||
        zmq->setsockopt(s->socket, RGMI_ZMQ_CURVE_PUBLICKEY, s->key.open, 41) != 0 ||
        zmq->setsockopt(s->socket, RGMI_ZMQ_CURVE_SECRETKEY, s->key.secret, 41) != 0)
        return rgmi_zmq_failed(zmq, "set the key of", "a socket");
    return RGM_OK;
}

/* ZeroMQ's threads begin here. */
static rgm_status open_socket(void *payload)
{
    serving *s = payload;

    s->context = s->zmq->ctx_new();
    s->socket = s->context != NULL ? s->zmq->socket(s->context, RGMI_ZMQ_DEALER) : NULL;
    return s->socket != NULL ? RGM_OK : rgmi_zmq_failed(s->zmq, "open", "a socket");
}

static rgm_status connect_to_trainer(serving *s)
{
    rgm_status status = RGM_OK;

    RGM_GO(rgm_without_signals(open_socket, s));
    RGM_GO(set_options(s));
    if (s->zmq->connect(s->socket, s->endpoint) != 0)
        status = rgmi_zmq_failed(s->zmq, "connect to", s->endpoint);
done:
    return status;
}

static rgm_status open_all(serving *s)
{
    const rgm_input_worker *w = s->worker;
    char host[64] = "";

    if (w->options->address == NULL)
        return RGM_FAIL(RGM_ERR_CONFIG, "runtime.input_workers.address is not set");
    if (w->threads < 1)
        return RGM_FAIL(RGM_ERR_ARG, "a worker of %d threads", w->threads);
    RGM_TRY(rgm_service_check(w->options));
    RGM_TRY(rgmi_zmq_load(&s->zmq));
    RGM_TRY(rgm_error_prefix(rgmi_key_load(&s->key, w->options->key, s->zmq),
                             "runtime.input_workers.key"));
    RGM_TRY(rgmi_address_endpoint(&s->endpoint, w->options->address, false));
    if (gethostname(host, sizeof host - 1) != 0)
        snprintf(host, sizeof host, "host");
    snprintf(s->name, sizeof s->name, "%s:%ld", host, (long)getpid());
    RGM_TRY(rgm_dataset_print(&s->recipe, w->dataset));
    RGM_TRY(rgmi_makers_create(&s->makers, w->dataset, w->threads));
    s->heard = rgm_now();
    s->told = 10;
    return connect_to_trainer(s);
}

static void close_all(serving *s)
{
    rgmi_makers_release(s->makers);
    rgmi_session_release(s->session);
    rgmi_job_release(s->unsent);
    rgm_text_clear(&s->recipe);
    rgm_free(s->endpoint);
    if (s->socket != NULL)
        s->zmq->close(s->socket);
    if (s->context != NULL)
        s->zmq->ctx_term(s->context);
}

/* ---- sending ----------------------------------------------------------------------------------
 */

static bool send_bytes(const serving *s, const rgm_text *text)
{
    return s->zmq->send(s->socket, text->data, (size_t)text->size, RGMI_ZMQ_DONTWAIT) >= 0;
}

/** What cannot be sent now is said again later. */
static void say(const serving *s, const rgmi_saying *message)
{
    rgm_text text = {0};

    if (rgmi_saying_put(&text, message) == RGM_OK)
        (void)send_bytes(s, &text);
    rgm_text_clear(&text);
}

static rgm_str str_of(const char *text)
{
    return (rgm_str){text, text != NULL ? (int64_t)strlen(text) : 0};
}

static void say_hello(const serving *s)
{
    say(s, &(rgmi_saying){.kind = RGMI_SAY_HELLO,
                          .protocol = RGMI_SERVICE_PROTOCOL,
                          .threads = s->worker->threads,
                          .name = str_of(s->name),
                          .version = str_of(RGM_VERSION),
                          .identity = str_of(s->worker->identity),
                          .recipe = {s->recipe.data, s->recipe.size}});
}

/** Whether the trainer still wants it. Session 0, of a first batch, may be another trainer's. */
static bool is_wanted(const serving *s, const rgmi_batch_job *job)
{
    return s->session != NULL && (job->session == s->session ||
                                  (job->session->id != 0 && job->session->id == s->session->id));
}

/** Send what was made, unless the trainer has moved on. */
static rgm_status send_made(serving *s)
{
    for (;;) {
        rgmi_batch_job *job = s->unsent != NULL ? s->unsent : rgmi_makers_take(s->makers);

        s->unsent = NULL;
        if (job == NULL)
            return RGM_OK;
        if (is_wanted(s, job)) {
            if (job->failed) { /* who leaves gives its numbers to others; else they wait for ever */
                rgmi_job_release(job);
                return RGM_FAIL(RGM_ERR_NOMEM, "out of memory for a batch");
            }
            if (!send_bytes(s, &job->message)) {
                s->unsent = job;
                return RGM_OK;
            }
            s->made += s->session->id != 0;
        }
        rgmi_job_release(job);
    }
}

/* ---- what the trainer says --------------------------------------------------------------------
 */

static rgm_status take_open(serving *s, const rgmi_saying *m)
{
    rgmi_session *session;

    RGM_TRY(rgmi_session_create(&session, m));
    rgmi_makers_drop(s->makers);
    rgmi_session_release(s->session);
    s->session = session;
    return RGM_OK;
}

static rgm_status take_number(serving *s, const rgmi_saying *m)
{
    rgmi_batch_job *job;

    if (s->session == NULL || s->session->id != m->session)
        return RGM_OK;
    RGM_TRY(RGM_NEW(job, 1));
    job->session = rgmi_session_retain(s->session);
    job->number = m->number;
    rgmi_makers_add(s->makers, job);
    return RGM_OK;
}

/** Nothing of before is of use to the next trainer. */
static void forget_trainer(serving *s)
{
    rgmi_makers_drop(s->makers);
    rgmi_session_release(s->session);
    s->session = NULL;
    s->connected = false;
    s->told = 10;
}

static void take_close(serving *s)
{
    rgm_log_write(RGM_LOG_INFO, "the trainer at %s wants no more batches", s->endpoint);
    say(s, &(rgmi_saying){.kind = RGMI_SAY_LEAVE});
    forget_trainer(s);
    s->over = !s->worker->stays;
}

static rgm_status take_message(serving *s, const rgmi_saying *m)
{
    s->heard = rgm_now();
    if (!s->connected && m->kind != RGMI_SAY_CLOSE) {
        s->connected = true;
        rgm_log_write(RGM_LOG_INFO, "the trainer at %s has answered", s->endpoint);
    }
    switch (m->kind) {
    case RGMI_SAY_WHO:
        say_hello(s);
        return RGM_OK;
    case RGMI_SAY_REFUSE:
        return RGM_FAIL(RGM_ERR_DATA, "the trainer at %s refuses this worker: %.*s", s->endpoint,
                        (int)m->text.size, m->text.data);
    case RGMI_SAY_OPEN:
        return take_open(s, m);
    case RGMI_SAY_MAKE:
        return take_number(s, m);
    case RGMI_SAY_CLOSE:
        take_close(s);
        return RGM_OK;
    default:
        return RGM_OK;
    }
}

static rgm_status receive(serving *s, bool *more)
{
    rgmi_frame frame;
    rgmi_saying m;
    rgm_status status = RGM_OK;

    s->zmq->msg_init(&frame);
    *more = s->zmq->msg_recv(&frame, s->socket, RGMI_ZMQ_DONTWAIT) >= 0;
    if (*more) {
        status = rgmi_saying_get(&m, s->zmq->msg_data(&frame), (int64_t)s->zmq->msg_size(&frame));
        if (status == RGM_OK)
            status = take_message(s, &m);
    }
    s->zmq->msg_close(&frame);
    return status;
}

/* ---- the loop ---------------------------------------------------------------------------------
 */

static rgm_status look_at_clock(serving *s)
{
    double now = rgm_now(), silent = now - s->heard;
    const rgm_service_options *o = s->worker->options;

    if (now >= s->next_alive) {
        if (s->connected)
            say(s, &(rgmi_saying){.kind = RGMI_SAY_ALIVE});
        else
            say_hello(s);
        s->next_alive = now + (s->connected ? ALIVE_EVERY : HELLO_EVERY);
    }
    if (s->connected && silent > o->silence) {
        rgm_log_write(RGM_LOG_WARNING, "the trainer at %s has been silent for %.0f s", s->endpoint,
                      silent);
        forget_trainer(s);
    }
    if (!s->connected && silent > o->patience)
        return RGM_FAIL(RGM_ERR_IO,
                        "no trainer has answered at %s for %.0f s: is it there, and has it the "
                        "same key?",
                        s->endpoint, silent);
    if (!s->connected && silent > s->told) {
        rgm_log_write(RGM_LOG_WARNING,
                      "no trainer has answered at %s for %.0f s: is it there, and has it the same "
                      "key?",
                      s->endpoint, silent);
        s->told *= 2;
    }
    return RGM_OK;
}

static rgm_status serve(serving *s)
{
    while (!s->over) {
        rgmi_poll_item items[2] = {{s->socket, 0, RGMI_ZMQ_POLLIN, 0},
                                   {NULL, rgmi_makers_fd(s->makers), RGMI_ZMQ_POLLIN, 0}};
        bool more = true;

        (void)s->zmq->poll(items, s->unsent != NULL ? 1 : 2, s->unsent != NULL ? 10 : 100);
        if (s->worker->should_stop != NULL && s->worker->should_stop(s->worker->payload))
            return RGM_STOPPED;
        while (more)
            RGM_TRY(receive(s, &more));
        RGM_TRY(send_made(s));
        RGM_TRY(look_at_clock(s));
    }
    return RGM_OK;
}

rgm_status rgm_input_worker_serve(int64_t *made, const rgm_input_worker *worker)
{
    serving s = {.worker = worker};
    rgm_status status = open_all(&s);

    if (status == RGM_OK)
        status = serve(&s);
    if (s.socket != NULL && s.connected)
        say(&s, &(rgmi_saying){.kind = RGMI_SAY_LEAVE});
    if (made != NULL)
        *made = s.made;
    close_all(&s);
    return status;
}

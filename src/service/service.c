/*
 * The trainer's side: opening, closing, and what an iterator asks. The thread that talks with the
 * workers is in service_thread.c.
 */
#include "service_internal.h"

#include <errno.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

/* ---- opening --------------------------------------------------------------------------------- */

static rgm_status open_gate(rgm_service *s)
{
    s->zap = s->zmq->socket(s->context, RGMI_ZMQ_REP);
    if (s->zap == NULL || s->zmq->bind(s->zap, "inproc://zeromq.zap.01") != 0)
        return rgmi_zmq_failed(s->zmq, "open", "the gate for workers");
    return RGM_OK;
}

static rgm_status set_options(const rgm_service *s)
{
    const rgmi_zmq *zmq = s->zmq;
    int64_t most = RGMI_MOST_MESSAGE;

    RGM_TRY(rgmi_zmq_set_int(zmq, s->router, RGMI_ZMQ_CURVE_SERVER, 1));
    RGM_TRY(rgmi_zmq_set_int(zmq, s->router, RGMI_ZMQ_ROUTER_MANDATORY, 1));
    RGM_TRY(rgmi_zmq_set_int(zmq, s->router, RGMI_ZMQ_LINGER, 1000));
    if (zmq->setsockopt(s->router, RGMI_ZMQ_CURVE_SECRETKEY, s->key.secret, 41) != 0 ||
        zmq->setsockopt(s->router, RGMI_ZMQ_ZAP_DOMAIN, "regimen", 7) != 0 ||
        zmq->setsockopt(s->router, RGMI_ZMQ_MAXMSGSIZE, &most, sizeof most) != 0)
        return rgmi_zmq_failed(zmq, "set an option of", "the socket for workers");
    return RGM_OK;
}

static rgm_status listen_for_workers(rgm_service *s)
{
    char *endpoint = NULL, bound[512];
    size_t size = sizeof bound;
    rgm_status status = RGM_OK;

    RGM_GO(rgmi_address_endpoint(&endpoint, s->options.address, true));
    s->router = s->zmq->socket(s->context, RGMI_ZMQ_ROUTER);
    if (s->router == NULL)
        RGM_GO(rgmi_zmq_failed(s->zmq, "open", "a socket"));
    RGM_GO(set_options(s));
    if (strchr(endpoint, '[') != NULL || strstr(endpoint, "//*") != NULL)
        RGM_GO(rgmi_zmq_set_int(s->zmq, s->router, RGMI_ZMQ_IPV6, 1));
    if (s->zmq->bind(s->router, endpoint) != 0)
        RGM_GO(rgmi_zmq_failed(s->zmq, "listen for workers at", s->options.address));
    if (s->zmq->getsockopt(s->router, RGMI_ZMQ_LAST_ENDPOINT, bound, &size) != 0)
        RGM_GO(rgmi_zmq_failed(s->zmq, "look at", endpoint));
    RGM_GO(rgm_strdup(&s->address, bound));
done:
    rgm_free(endpoint);
    return status;
}

static rgm_status open_sockets(void *payload)
{
    rgm_service *s = payload;

    s->context = s->zmq->ctx_new();
    if (s->context == NULL)
        return rgmi_zmq_failed(s->zmq, "open", "ZeroMQ");
    RGM_TRY(open_gate(s));
    return listen_for_workers(s);
}

static rgm_status start_thread(rgm_service *s)
{
    int error = rgm_thread_start(&s->thread, rgmi_service_run, s);

    if (error != 0)
        return RGM_FAIL(RGM_ERR_IO, "input workers: cannot start a thread: %s", strerror(error));
    s->has_thread = true;
    return RGM_OK;
}

/** Sockets and threads, ZeroMQ's own among them, which no signal is to reach. */
static rgm_status open_all(rgm_service *s)
{
    RGM_TRY(rgm_without_signals(open_sockets, s));
    return start_thread(s);
}

static rgm_status maker_begin(void *state, const rgm_dataset *dataset, const rgm_text *position,
                              int64_t first, const int64_t *given, int64_t count);
static rgm_status maker_next(rgm_made *out, void *state);
static void maker_end(void *state);

static rgm_status fill(rgm_service *s, const rgm_service_setup *setup)
{
    s->options = *setup->options;
    s->identity = setup->identity != NULL ? setup->identity : "";
    s->types = setup->types;
    s->should_stop = setup->should_stop;
    s->payload = setup->payload;
    s->maker = (rgm_maker){s, maker_begin, maker_next, maker_end};
    s->opened = rgm_now();
    s->session = (int64_t)(rgm_wall_time() * 1e6); /* no two trainers have the same */
    s->wake = -1;
    atomic_init(&s->closing, false);
    if (s->options.address == NULL)
        return RGM_FAIL(RGM_ERR_CONFIG, "runtime.input_workers.address is not set");
    RGM_TRY(rgm_service_check(&s->options));
    RGM_TRY(rgmi_zmq_load(&s->zmq));
    RGM_TRY(rgm_error_prefix(rgmi_key_load(&s->key, s->options.key, s->zmq),
                             "runtime.input_workers.key"));
    RGM_TRY(rgmi_places_create(&s->places, s->options.ahead));
    if (pthread_mutex_init(&s->lock, NULL) != 0 || pthread_cond_init(&s->changed, NULL) != 0)
        return RGM_FAIL(RGM_ERR_NOMEM, "out of memory for a lock");
    s->has_lock = true;
    if (setup->report != NULL)
        RGM_TRY(rgm_strdup(&s->report, setup->report));
    s->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    return s->wake >= 0 ? RGM_OK : RGM_FAIL_SYSTEM("open", "an eventfd");
}

rgm_status rgm_service_open(rgm_service **out, const rgm_service_setup *setup)
{
    rgm_service *s;
    rgm_status status = RGM_OK;

    *out = NULL;
    RGM_TRY(RGM_NEW(s, 1));
    RGM_GO(fill(s, setup));
    RGM_GO(open_all(s));
    *out = s;
    return RGM_OK;
done:
    rgm_service_close(s);
    return status;
}

static void wake_thread(const rgm_service *s)
{
    uint64_t one = 1;

    (void)!write(s->wake, &one, sizeof one); /* full: it is awake */
}

static void close_sockets(rgm_service *s)
{
    if (s->router != NULL)
        s->zmq->close(s->router);
    if (s->zap != NULL)
        s->zmq->close(s->zap);
    if (s->context != NULL)
        s->zmq->ctx_term(s->context);
}

void rgm_service_close(rgm_service *s)
{
    if (s == NULL)
        return;
    if (s->has_thread) {
        atomic_store(&s->closing, true);
        wake_thread(s);
        pthread_join(s->thread, NULL);
    }
    close_sockets(s);
    if (s->wake >= 0)
        close(s->wake);
    if (s->has_lock) {
        pthread_cond_destroy(&s->changed);
        pthread_mutex_destroy(&s->lock);
    }
    rgm_logger_release(s->log);
    rgmi_places_clear(&s->places);
    rgm_text_clear(&s->recipe);
    rgm_text_clear(&s->probe);
    rgm_element_release(s->like);
    rgm_free(s->workers);
    rgm_free(s->address);
    rgm_free(s->report);
    rgm_free(s);
}

rgm_status rgm_service_report_to(rgm_service *s, const char *path)
{
    char *copy, *before;

    RGM_TRY(rgm_strdup(&copy, path));
    pthread_mutex_lock(&s->lock);
    before = s->report;
    s->report = copy;
    pthread_mutex_unlock(&s->lock);
    rgm_free(before);
    return RGM_OK;
}

const char *rgm_service_address(const rgm_service *s)
{
    return s->address;
}

const rgm_maker *rgm_service_maker(rgm_service *s)
{
    return &s->maker;
}

void rgm_service_count(rgm_service_counts *out, rgm_service *s)
{
    pthread_mutex_lock(&s->lock);
    *out = s->counts;
    pthread_mutex_unlock(&s->lock);
}

/* ---- the first batch ------------------------------------------------------------------------- */

/** *out: the batch; NULL: an error, or the end. */
static rgm_status hash_next(uint64_t *hash, rgm_element **out, rgm_iterator *iterator)
{
    rgm_text bytes = {0};
    rgm_status status = rgm_iterator_next(out, iterator), encoded = RGM_OK;

    if (status == RGM_STOPPED)
        return status;
    if (status == RGM_OK)
        encoded = rgm_element_encode(&bytes, *out);
    *hash = rgmi_made_hash(status, (rgm_str){bytes.data, bytes.size});
    rgm_text_clear(&bytes);
    return encoded;
}

/** Make the first batch that is wanted, to compare those of workers with. */
static rgm_status make_probe(rgm_service *s, const rgm_dataset *dataset, const rgm_text *position,
                             int64_t first, const int64_t *given, int64_t count)
{
    rgm_iterator_options options = RGM_ITERATOR_OPTIONS_INIT;
    rgm_iterator *iterator = NULL;
    rgm_element *element = NULL;
    rgm_text copy = {0};
    int64_t number = first;
    uint64_t hash = 0;
    rgm_status status = RGM_OK;

    options.in_step = true;
    RGM_GO(rgm_iterator_create(&iterator, dataset, &options));
    RGM_GO(rgm_iterator_restore(iterator, position->data, position->size));
    for (; number - first < count && given[number - first] == number; number++)
        RGM_GO(rgm_iterator_skip(iterator));
    RGM_GO(hash_next(&hash, &element, iterator));
    RGM_GO(rgm_text_add(&copy, position->data, position->size));
    pthread_mutex_lock(&s->lock);
    s->probe = copy;
    s->probe_number = number;
    s->probe_hash = hash;
    s->like = element;
    s->has_probe = true;
    pthread_mutex_unlock(&s->lock);
    copy = (rgm_text){0};
    element = NULL;
done:
    rgm_element_release(element);
    rgm_iterator_release(iterator);
    rgm_text_clear(&copy);
    return status;
}

/* ---- what an iterator asks ------------------------------------------------------------------- */

static rgm_status keep_recipe(rgm_service *s, const rgm_dataset *dataset)
{
    rgm_text recipe = {0};
    rgm_status status = rgm_dataset_print(&recipe, dataset);
    bool same = status == RGM_OK && s->recipe.data != NULL && recipe.size == s->recipe.size &&
                memcmp(recipe.data, s->recipe.data, (size_t)recipe.size) == 0;

    if (status == RGM_OK && s->recipe.data == NULL) {
        s->recipe = recipe;
        return RGM_OK;
    }
    if (status == RGM_OK && !same)
        status = RGM_FAIL(RGM_ERR_ARG, "input workers make batches of '%s', not of '%s'",
                          s->recipe.data, recipe.data);
    rgm_text_clear(&recipe);
    return status;
}

static rgm_status maker_begin(void *state, const rgm_dataset *dataset, const rgm_text *position,
                              int64_t first, const int64_t *given, int64_t count)
{
    rgm_service *s = state;
    rgm_status status;

    pthread_mutex_lock(&s->lock);
    if (s->log == NULL) /* a run has its log by now */
        s->log = rgm_logger_retain(rgm_logger_current());
    status = keep_recipe(s, dataset);
    pthread_mutex_unlock(&s->lock);
    RGM_TRY(status);
    if (!s->has_probe)
        RGM_TRY(make_probe(s, dataset, position, first, given, count));
    pthread_mutex_lock(&s->lock);
    s->session++;
    status = rgmi_places_begin(&s->places, position, first, given, count);
    s->wanted = status == RGM_OK;
    pthread_mutex_unlock(&s->lock);
    wake_thread(s);
    return status;
}

static void maker_end(void *state)
{
    rgm_service *s = state;

    pthread_mutex_lock(&s->lock);
    s->wanted = false;
    s->session++;
    pthread_mutex_unlock(&s->lock);
    wake_thread(s);
}

/** The error that a worker met, as this thread's. */
static rgm_status retell(rgm_made *made, char *error, bool counted)
{
    if (made->status < 0)
        made->status = RGM_FAIL(made->status, "%s", error != NULL ? error : "a worker failed");
    rgm_free(error);
    if (counted || made->status == RGM_OK)
        return RGM_OK;
    rgm_text_clear(&made->after);
    return made->status;
}

static void wait_a_moment(rgm_service *s)
{
    struct timespec until;

    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += 100 * 1000 * 1000;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    pthread_cond_timedwait(&s->changed, &s->lock, &until);
}

/** A wait of the trainer: when it began, and what was told of it. */
typedef struct waiting {
    double since, alone_since, told;
} waiting;

/** A host's own name is often 127.0.1.1 to itself, where nobody else reaches it. */
static const char *who_can_come(const rgm_service *s)
{
    bool is_loopback =
        strncmp(s->address, "tcp://127.", 10) == 0 || strncmp(s->address, "tcp://[::1]", 11) == 0;

    return is_loopback ? " (which only workers of this machine reach: '*' as HOST is for others)"
                       : "";
}

static void tell_wait(rgm_service *s, waiting *w, double now)
{
    if (now - w->since < w->told)
        return;
    rgm_log_write(
        RGM_LOG_WARNING,
        "the trainer has waited %.0f s for a batch; %lld input workers are at work at %s%s",
        now - w->since, (long long)s->counts.workers, s->address,
        s->counts.workers == 0 ? who_can_come(s) : "");
    w->told *= 2;
}

static rgm_status keep_waiting(rgm_service *s, waiting *w)
{
    double now = rgm_now();

    if (s->failed != RGM_OK)
        return rgm_error_restore(&s->failure);
    if (s->should_stop != NULL && s->should_stop(s->payload))
        return RGM_STOPPED;
    if (s->counts.workers > 0)
        w->alone_since = now;
    if (now - w->alone_since > s->options.patience)
        return RGM_FAIL(RGM_ERR_IO,
                        "no input worker came to %s%s for %.0f s (runtime.input_workers.patience); "
                        "regimen data serve starts one",
                        s->address, who_can_come(s), now - w->alone_since);
    tell_wait(s, w, now);
    s->waits_since = w->since;
    wait_a_moment(s);
    return RGM_OK;
}

/** With the lock: wait for a number that may be given. */
static rgm_status wait_for_batch(int64_t *number, rgm_service *s)
{
    waiting w = {rgm_now(), rgm_now(), 10};
    rgm_status status = RGM_OK;

    for (;;) {
        *number = rgmi_places_ready(&s->places, s->options.order);
        if (*number >= 0)
            break;
        if (rgmi_service_has_ended(s)) {
            status = RGM_END;
            break;
        }
        status = keep_waiting(s, &w);
        if (status != RGM_OK)
            break;
    }
    s->counts.waited += rgm_now() - w.since;
    s->waits_since = 0;
    return status;
}

static rgm_status maker_next(rgm_made *out, void *state)
{
    rgm_service *s = state;
    int64_t number;
    char *error = NULL;
    bool counted = false;
    rgm_status status;

    pthread_mutex_lock(&s->lock);
    status = wait_for_batch(&number, s);
    if (status == RGM_OK) {
        rgmi_places_give(out, &error, &counted, &s->places, number);
        s->counts.given++;
    }
    pthread_mutex_unlock(&s->lock);
    if (status != RGM_OK)
        return status;
    wake_thread(s);
    return retell(out, error, counted);
}

/*
 * Who listens to what. A topic has a version that grows; a listener has the version that it was
 * told of each of its topics, and no queue: however slowly it reads, it takes the same memory, and
 * is told the newest. A ticker looks once a second while there are listeners; what a master has to
 * be asked is done in a thread for each master, so that one that does not answer delays nobody
 * else's.
 */
#include "events.h"
#include "masters.h"
#include "index.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <regimen/base_condition.h>

enum { TOPICS = 128, WATCHES = RGMI_MOST_MASTERS + 1 }; /* that of --master, too */
#define COMMENT_SECONDS 15.0

typedef enum topic_kind { TOPIC_RUNS, TOPIC_RUN, TOPIC_EXPERIMENT, TOPIC_QUEUE } topic_kind;

typedef struct topic {
    struct topic *next;
    char name[48];
    topic_kind kind;
    char hex[17];
    int64_t master, id;
    int64_t version; /* 0: not looked at yet; -1: it is gone */
    uint64_t hash;   /* of the answer of a master            */
    int64_t listeners;
} topic;

typedef struct listener {
    struct listener *next, *last;
    rgmi_notices *events;
    topic *topics[TOPICS];
    int64_t seen[TOPICS];
    int64_t count;
    double comment; /* when it is to be told that all is well */
    bool began;
} listener;

/** Asks one master about all topics that are its. */
typedef struct watch {
    rgmi_notices *events;
    int64_t master;
    rgm_thread_pool *thread;
    bool pending;
} watch;

struct rgmi_notices {
    rgm_web *web;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    pthread_t ticker;
    bool has_ticker, stops;
    rgm_http *http;
    topic *topics;
    listener *listeners;
    int64_t listener_count;
    watch watches[WATCHES];
    int64_t watch_count;
};

/* ---- topics --------------------------------------------------------------------------------- */

static bool read_topic(topic *out, const char *name, size_t size)
{
    char path[48];
    rgm_path_values values;

    memset(out, 0, sizeof *out);
    if (size >= sizeof out->name)
        return false;
    memcpy(out->name, name, size);
    memcpy(path, out->name, sizeof path);
    for (char *c = path; *c != 0; c++)
        if (*c == '/')
            return false;
        else if (*c == ':')
            *c = '/';
    if (strcmp(path, "runs") == 0) {
        out->kind = TOPIC_RUNS;
    } else if (rgm_path_fits(&values, "run/{hex}", path)) {
        out->kind = TOPIC_RUN;
        memcpy(out->hex, values.hex, sizeof out->hex);
    } else if (rgm_path_fits(&values, "experiment/{id}/{id}", path)) {
        out->kind = TOPIC_EXPERIMENT;
        out->master = values.ids[0];
        out->id = values.ids[1];
    } else if (rgm_path_fits(&values, "queue/{id}", path)) {
        out->kind = TOPIC_QUEUE;
        out->master = values.ids[0];
    } else {
        return false;
    }
    return true;
}

/* One more listens to it; under the lock. */
static rgm_status join_topic(topic **out, rgmi_notices *events, const topic *wanted)
{
    topic *t = events->topics;

    while (t != NULL && strcmp(t->name, wanted->name) != 0)
        t = t->next;
    if (t == NULL) {
        RGM_TRY(RGM_NEW(t, 1));
        *t = *wanted;
        t->next = events->topics;
        events->topics = t;
    }
    t->listeners++;
    *out = t;
    return RGM_OK;
}

static void leave_topic(rgmi_notices *events, topic *left)
{
    topic **at = &events->topics;

    if (--left->listeners > 0)
        return;
    while (*at != left)
        at = &(*at)->next;
    *at = left->next;
    rgm_free(left);
}

/* ---- listeners ------------------------------------------------------------------------------ */

static bool is_ready(void *payload)
{
    listener *l = payload;
    bool ready;

    pthread_mutex_lock(&l->events->lock);
    ready = !l->began || rgm_now() >= l->comment;
    for (int64_t i = 0; i < l->count && !ready; i++)
        ready = l->topics[i]->version != l->seen[i];
    pthread_mutex_unlock(&l->events->lock);
    return ready;
}

static int64_t read_events(char *data, int64_t room, void *payload)
{
    static const char hello[] = "retry: 2000\n\n", all_well[] = ":\n\n";
    listener *l = payload;
    int64_t size = 0;

    pthread_mutex_lock(&l->events->lock);
    if (!l->began && room >= (int64_t)sizeof hello) {
        memcpy(data, hello, sizeof hello - 1);
        size = sizeof hello - 1;
        l->began = true;
    }
    for (int64_t i = 0; i < l->count && l->began; i++) {
        const topic *t = l->topics[i];
        char notice[160];
        int count;

        if (t->version == l->seen[i])
            continue;
        count = snprintf(notice, sizeof notice,
                         "event: changed\ndata: {\"topic\": \"%s\", \"version\": %lld}\n\n",
                         t->name, (long long)t->version);
        if (size + count > room)
            break;
        memcpy(data + size, notice, (size_t)count);
        size += count;
        l->seen[i] = t->version;
    }
    if (size == 0 && rgm_now() >= l->comment && room >= (int64_t)sizeof all_well) {
        memcpy(data, all_well, sizeof all_well - 1);
        size = sizeof all_well - 1;
    }
    if (size > 0)
        l->comment = rgm_now() + COMMENT_SECONDS;
    pthread_mutex_unlock(&l->events->lock);
    return size;
}

static void leave(void *payload)
{
    listener *l = payload;
    rgmi_notices *events = l->events;

    pthread_mutex_lock(&events->lock);
    for (int64_t i = 0; i < l->count; i++)
        leave_topic(events, l->topics[i]);
    if (l->last != NULL || events->listeners == l) {
        *(l->last != NULL ? &l->last->next : &events->listeners) = l->next;
        if (l->next != NULL)
            l->next->last = l->last;
        events->listener_count--;
    }
    pthread_mutex_unlock(&events->lock);
    rgm_free(l);
}

/* ---- asking --------------------------------------------------------------------------------- */

static uint64_t hash_of_answer(rgmi_notices *events, int64_t master, const char *path)
{
    rgm_response answer = {0};
    uint64_t hash;

    if (rgmi_masters_ask(&answer, events->web->masters, master, "GET", path, NULL) != RGM_OK) {
        hash = 1; /* nobody answers: that is told once, and so is that somebody does again */
        rgm_error_reset();
    } else {
        hash = rgm_hash64(answer.body.data, (size_t)answer.body.size) | 2;
    }
    rgm_response_clear(&answer);
    return hash;
}

static uint64_t hash_of_topic(rgmi_notices *events, const topic *t)
{
    char path[96];

    if (t->kind == TOPIC_EXPERIMENT) {
        snprintf(path, sizeof path, "/api/v1/experiments/%lld", (long long)t->id);
        return hash_of_answer(events, t->master, path);
    }
    return hash_of_answer(events, t->master, "/api/v1/queue") ^
           3 * hash_of_answer(events, t->master, "/api/v1/master");
}

/* A copy of the first topic of a master behind one by name; false: there are no more. */
static bool next_topic(topic *at, rgmi_notices *events, int64_t master)
{
    const topic *best = NULL;

    pthread_mutex_lock(&events->lock);
    for (const topic *t = events->topics; t != NULL && !events->stops; t = t->next)
        if (t->kind >= TOPIC_EXPERIMENT && t->master == master && strcmp(t->name, at->name) > 0 &&
            (best == NULL || strcmp(t->name, best->name) < 0))
            best = t;
    if (best != NULL)
        *at = *best;
    pthread_mutex_unlock(&events->lock);
    return best != NULL;
}

static void wake_server(rgmi_notices *events)
{
    pthread_mutex_lock(&events->lock);
    if (events->http != NULL)
        rgm_http_wake(events->http);
    pthread_mutex_unlock(&events->lock);
}

static void ask_master(void *payload)
{
    watch *w = payload;
    rgmi_notices *events = w->events;
    topic at = {0};

    while (next_topic(&at, events, w->master)) {
        uint64_t hash = hash_of_topic(events, &at);

        pthread_mutex_lock(&events->lock);
        for (topic *t = events->topics; t != NULL; t = t->next)
            if (strcmp(t->name, at.name) == 0 && t->hash != hash) {
                t->hash = hash;
                t->version++;
            }
        pthread_mutex_unlock(&events->lock);
    }
    pthread_mutex_lock(&events->lock);
    w->pending = false;
    pthread_mutex_unlock(&events->lock);
    wake_server(events);
}

/* Its thread is told to look, unless it still does; under the lock. */
static void look_at_master(rgmi_notices *events, int64_t master)
{
    watch *w = NULL;

    for (int64_t i = 0; i < events->watch_count; i++)
        if (events->watches[i].master == master)
            w = &events->watches[i];
    if (w == NULL && events->watch_count < WATCHES &&
        rgmi_masters_has(events->web->masters, master)) {
        w = &events->watches[events->watch_count];
        *w = (watch){.events = events, .master = master};
        if (rgm_thread_pool_create(&w->thread, 1) != RGM_OK)
            return; /* it is tried again in a second */
        events->watch_count++;
    }
    if (w == NULL || w->pending)
        return;
    w->pending = rgm_thread_pool_submit(w->thread, ask_master, w) == RGM_OK;
}

/* ---- the ticker ----------------------------------------------------------------------------- */

/* Under the lock; what is known of runs was brought up to date before. */
static void look(rgmi_notices *events)
{
    for (topic *t = events->topics; t != NULL; t = t->next)
        if (t->kind >= TOPIC_EXPERIMENT)
            look_at_master(events, t->master);
        else
            t->version = rgmi_web_version(events->web, t->kind == TOPIC_RUN ? t->hex : NULL);
}

static void *tick(void *payload)
{
    rgmi_notices *events = payload;
    struct timespec until;

    pthread_mutex_lock(&events->lock);
    while (!events->stops) {
        if (events->listener_count == 0) {
            pthread_cond_wait(&events->wake, &events->lock);
            continue;
        }
        pthread_mutex_unlock(&events->lock);
        rgmi_web_refresh(events->web);
        pthread_mutex_lock(&events->lock);
        look(events);
        if (events->http != NULL)
            rgm_http_wake(events->http);
        rgm_deadline(&until, 1);
        while (!events->stops &&
               pthread_cond_timedwait(&events->wake, &events->lock, &until) != ETIMEDOUT)
            continue;
    }
    pthread_mutex_unlock(&events->lock);
    return NULL;
}

/* ---- open and close ------------------------------------------------------------------------- */

rgm_status rgmi_notices_open(rgmi_notices **out, rgm_web *web)
{
    RGM_TRY(RGM_NEW(*out, 1));
    (*out)->web = web;
    pthread_mutex_init(&(*out)->lock, NULL);
    rgm_condition_init(&(*out)->wake);
    return RGM_OK;
}

void rgmi_notices_set_server(rgmi_notices *events, rgm_http *http)
{
    pthread_mutex_lock(&events->lock);
    events->http = http;
    pthread_mutex_unlock(&events->lock);
}

void rgmi_notices_stop(rgmi_notices *events)
{
    bool has_ticker;

    if (events == NULL)
        return;
    pthread_mutex_lock(&events->lock);
    events->stops = true;
    events->http = NULL;
    has_ticker = events->has_ticker;
    events->has_ticker = false;
    pthread_cond_broadcast(&events->wake);
    pthread_mutex_unlock(&events->lock);
    if (has_ticker)
        pthread_join(events->ticker, NULL);
    for (int64_t i = 0; i < events->watch_count; i++)
        rgm_thread_pool_release(events->watches[i].thread);
    events->watch_count = 0;
}

void rgmi_notices_close(rgmi_notices *events)
{
    if (events == NULL)
        return;
    rgmi_notices_stop(events);
    pthread_cond_destroy(&events->wake);
    pthread_mutex_destroy(&events->lock);
    rgm_free(events);
}

int64_t rgmi_notices_count(rgmi_notices *events)
{
    int64_t count;

    pthread_mutex_lock(&events->lock);
    count = events->listener_count;
    pthread_mutex_unlock(&events->lock);
    return count;
}

/* ---- the request ---------------------------------------------------------------------------- */

static rgm_status join_topics(listener *l, const char *names)
{
    while (*names != 0) {
        size_t size = strcspn(names, ",");
        topic wanted;
        bool known = false;

        if (!read_topic(&wanted, names, size))
            return RGM_FAIL(RGM_ERR_ARG,
                            "'%.*s' is no topic; there are runs, run:ID, "
                            "experiment:MASTER:ID and queue:MASTER",
                            (int)(size < 64 ? size : 64), names);
        for (int64_t i = 0; i < l->count && !known; i++)
            known = strcmp(l->topics[i]->name, wanted.name) == 0;
        if (!known && l->count == TOPICS)
            return RGM_FAIL(RGM_ERR_ARG, "more than %d topics", (int)TOPICS);
        if (!known) {
            RGM_TRY(join_topic(&l->topics[l->count], l->events, &wanted));
            l->count++;
        }
        names += size + (names[size] == ',');
    }
    return l->count > 0 ? RGM_OK : RGM_FAIL(RGM_ERR_ARG, "topics= is missing or empty");
}

/* Under the lock. */
static rgm_status begin(rgmi_notices *events, listener *l)
{
    if (events->stops)
        return RGM_FAIL(RGM_ERR_BUSY, "the server ends");
    if (!events->has_ticker) {
        if (rgm_thread_start(&events->ticker, tick, events) != 0)
            return RGM_FAIL(RGM_ERR_NOMEM, "no thread for events");
        events->has_ticker = true;
    }
    l->next = events->listeners;
    if (events->listeners != NULL)
        events->listeners->last = l;
    events->listeners = l;
    events->listener_count++;
    pthread_cond_broadcast(&events->wake);
    return RGM_OK;
}

rgm_status rgmi_show_events(rgmi_web_call *call)
{
    rgmi_notices *events = call->web->events;
    listener *l;
    rgm_status status;

    RGM_TRY(RGM_NEW(l, 1));
    l->events = events;
    l->comment = rgm_now() + COMMENT_SECONDS;
    pthread_mutex_lock(&events->lock);
    status = join_topics(l, rgm_target_value(&call->target, "topics", ""));
    if (status == RGM_OK)
        status = begin(events, l);
    pthread_mutex_unlock(&events->lock);
    if (status != RGM_OK) {
        leave(l);
        return status;
    }
    call->out->stream =
        (rgm_http_stream){.read = read_events, .is_ready = is_ready, .close = leave, .payload = l};
    return RGM_OK;
}

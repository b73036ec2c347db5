/*
 * Masters are asked through rgm_client, one call at a time each. Pages ask much and mostly the
 * same: an answer is kept for half a second, and longer where nobody is at work in the folder and
 * its database has not changed, so that a page that is left open does not open it each second.
 */
#include "masters.h"
#include "index.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

enum {
    ANSWERS = 64,
    MOST_MASTERS = RGMI_MOST_MASTERS + 1, /* and that of --master */
    CALL_SECONDS = 60,
    STAMPED = 3
};
#define ANSWERS_BYTES  ((int64_t)8 << 20) /* of one master          */
#define FRESH_SECONDS  0.5
#define REST_SECONDS   5.0 /* after which one that did not answer is tried again */
#define SERVED_SECONDS 2.0
#define LOOK_SECONDS   1.0        /* that one may take to say that it is there */
#define LIST_SECONDS   2.0        /* and to say something beside other things  */
#define LONG_PATIENCE  500000000L /* nanoseconds for others that ask it ... */
#define SHORT_PATIENCE 50000000L  /* ... of one that has not answered yet   */

/** What says that neither a folder's database has changed, nor the file that its masters read. */
typedef struct stamp {
    struct timespec times[STAMPED];
    int64_t sizes[STAMPED];
} stamp;

typedef struct kept_answer {
    char *path;
    rgm_text body;
    int status;
    double time;
    stamp at;
} kept_answer;

typedef struct master {
    rgmi_masters *all;
    int64_t id;
    char *where;
    bool is_folder;
    pthread_mutex_t lock; /* held while it is asked */
    rgm_client *client;   /* made with the first call */
    kept_answer answers[ANSWERS];
    int64_t bytes;
    double failed; /* when it did not answer; 0: it did */
    char reason[RGM_MESSAGE_ROOM];
    atomic_bool served;
    double served_time;
} master;

struct rgmi_masters {
    pthread_mutex_t lock; /* of the list, which only grows */
    master *items[MOST_MASTERS];
    int64_t count;
    atomic_bool stops;
    const rgm_search_subject *subject;
};

/* ---- the list ------------------------------------------------------------------------------- */

rgm_status rgmi_masters_open(rgmi_masters **out, const rgm_search_subject *subject)
{
    RGM_TRY(RGM_NEW(*out, 1));
    (*out)->subject = subject;
    pthread_mutex_init(&(*out)->lock, NULL);
    return RGM_OK;
}

static void clear_answer(master *m, kept_answer *answer)
{
    m->bytes -= answer->body.size;
    rgm_free(answer->path);
    rgm_text_clear(&answer->body);
    *answer = (kept_answer){0};
}

static void release(master *m)
{
    for (int i = 0; i < ANSWERS; i++)
        clear_answer(m, &m->answers[i]);
    rgm_client_close(m->client);
    pthread_mutex_destroy(&m->lock);
    rgm_free(m->where);
    rgm_free(m);
}

void rgmi_masters_close(rgmi_masters *masters)
{
    if (masters == NULL)
        return;
    for (int64_t i = 0; i < masters->count; i++)
        release(masters->items[i]);
    pthread_mutex_destroy(&masters->lock);
    rgm_free(masters);
}

void rgmi_masters_stop(rgmi_masters *masters)
{
    atomic_store(&masters->stops, true);
}

static bool is_stopped(void *payload)
{
    rgmi_masters *masters = payload;

    return atomic_load(&masters->stops);
}

static master *find(rgmi_masters *masters, int64_t id)
{
    master *found = NULL;

    pthread_mutex_lock(&masters->lock);
    for (int64_t i = 0; i < masters->count && found == NULL; i++)
        if (masters->items[i]->id == id)
            found = masters->items[i];
    pthread_mutex_unlock(&masters->lock);
    return found;
}

bool rgmi_masters_has(rgmi_masters *masters, int64_t id)
{
    return find(masters, id) != NULL;
}

rgm_status rgmi_masters_set(rgmi_masters *masters, int64_t id, const char *where)
{
    rgm_status status = RGM_OK;
    master *m = NULL;

    if (find(masters, id) != NULL)
        return RGM_OK;
    RGM_GO(RGM_NEW(m, 1));
    m->all = masters;
    m->id = id;
    m->is_folder = id != RGMI_MASTER_OF_URL;
    pthread_mutex_init(&m->lock, NULL);
    RGM_GO(rgm_strdup(&m->where, where));
    pthread_mutex_lock(&masters->lock);
    if (masters->count == MOST_MASTERS) {
        pthread_mutex_unlock(&masters->lock);
        RGM_GO(RGM_FAIL(RGM_ERR_ARG, "more than %d masters", (int)MOST_MASTERS));
    }
    masters->items[masters->count++] = m;
    m = NULL;
    pthread_mutex_unlock(&masters->lock);
done:
    if (m != NULL)
        release(m);
    return status;
}

/* ---- what is kept --------------------------------------------------------------------------- */

static void take_stamp(stamp *out, const master *m)
{
    static const char *const names[STAMPED] = {"master.db", "master.db-wal", "master.yaml"};

    memset(out, 0, sizeof *out);
    for (int i = 0; i < STAMPED && m->is_folder; i++) {
        struct stat found;
        char *path = NULL;

        if (rgm_path_join(&path, m->where, names[i]) == RGM_OK && stat(path, &found) == 0) {
            out->times[i] = found.st_mtim;
            out->sizes[i] = found.st_size;
        }
        rgm_free(path);
    }
}

static bool is_same_stamp(const stamp *a, const stamp *b)
{
    for (int i = 0; i < STAMPED; i++)
        if (a->sizes[i] != b->sizes[i] || a->times[i].tv_sec != b->times[i].tv_sec ||
            a->times[i].tv_nsec != b->times[i].tv_nsec)
            return false;
    return true;
}

static rgm_status open_client(master *m)
{
    if (m->client != NULL)
        return RGM_OK;
    RGM_TRY(
        rgm_client_open(&m->client, m->where, &(rgm_master_options){.subject = m->all->subject}));
    rgm_client_limit(m->client, CALL_SECONDS, is_stopped, m->all);
    return RGM_OK;
}

static bool is_served(master *m)
{
    bool served = false;

    if (!is_stopped(m->all) && open_client(m) == RGM_OK) {
        rgm_client_limit(m->client, LOOK_SECONDS, is_stopped, m->all);
        served = rgm_client_is_served(m->client);
        rgm_client_limit(m->client, CALL_SECONDS, is_stopped, m->all);
    }
    rgm_error_reset();
    atomic_store(&m->served, served);
    m->served_time = rgm_now();
    return served;
}

/* Models and logs are files beside the database, which does not say whether they have changed. */
static bool is_of_files(const char *path)
{
    static const char *const ends[] = {"/models", "/logs"};
    size_t size = strcspn(path, "?");

    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        size_t n = strlen(ends[i]);

        if (size >= n && strncmp(path + size - n, ends[i], n) == 0)
            return true;
    }
    return false;
}

static kept_answer *find_answer(master *m, const char *path)
{
    stamp now;

    for (int i = 0; i < ANSWERS; i++) {
        kept_answer *answer = &m->answers[i];

        if (answer->path == NULL || strcmp(answer->path, path) != 0)
            continue;
        if (rgm_now() - answer->time < FRESH_SECONDS)
            return answer;
        take_stamp(&now, m);
        if (m->is_folder && !is_of_files(path) && is_same_stamp(&now, &answer->at) && !is_served(m))
            return answer;
    }
    return NULL;
}

/* An empty place, or the oldest answer; `filled`: that in any case, NULL: there is none. */
static kept_answer *find_place(master *m, bool filled)
{
    kept_answer *oldest = NULL;

    for (int i = 0; i < ANSWERS; i++) {
        kept_answer *answer = &m->answers[i];

        if (answer->path == NULL) {
            if (!filled)
                return answer;
        } else if (oldest == NULL || answer->time < oldest->time) {
            oldest = answer;
        }
    }
    return oldest;
}

static void keep_answer(master *m, const char *path, const rgm_response *response, const stamp *at)
{
    kept_answer answer = {.status = response->status, .time = rgm_now(), .at = *at}, *place;

    if (response->body.size > ANSWERS_BYTES)
        return;
    for (int i = 0; i < ANSWERS; i++)
        if (m->answers[i].path != NULL && strcmp(m->answers[i].path, path) == 0)
            clear_answer(m, &m->answers[i]);
    while (m->bytes + response->body.size > ANSWERS_BYTES && (place = find_place(m, true)) != NULL)
        clear_answer(m, place);
    if (rgm_strdup(&answer.path, path) != RGM_OK ||
        rgm_text_add(&answer.body, response->body.data, response->body.size) != RGM_OK) {
        rgm_free(answer.path);
        rgm_text_clear(&answer.body);
        rgm_error_reset(); /* it is asked again */
        return;
    }
    place = find_place(m, false);
    clear_answer(m, place);
    m->bytes += answer.body.size;
    *place = answer;
}

/* ---- asking --------------------------------------------------------------------------------- */

static rgm_status forward(rgm_response *out, master *m, const char *method, const char *path,
                          const char *body)
{
    stamp before;
    rgm_status status;

    if (is_stopped(m->all))
        return RGM_FAIL(RGM_ERR_IO, "the server ends");
    if (m->failed > 0 && rgm_now() - m->failed < REST_SECONDS)
        return RGM_FAIL(RGM_ERR_IO, "%s", m->reason);
    RGM_TRY(open_client(m));
    take_stamp(&before, m);
    status = rgm_client_forward(out, m->client, method, path, body);
    m->failed = status == RGM_ERR_IO ? rgm_now() : 0;
    if (!m->is_folder)
        atomic_store(&m->served, status == RGM_OK);
    if (status == RGM_ERR_IO)
        snprintf(m->reason, sizeof m->reason, "%s", rgm_error_message());
    RGM_TRY(status);
    if (strcmp(method, "GET") != 0) {
        for (int i = 0; i < ANSWERS; i++)
            clear_answer(m, &m->answers[i]);
        return RGM_OK;
    }
    if (out->status == 200)
        keep_answer(m, path, out, &before);
    return RGM_OK;
}

/* What is kept of it, or what it says. The lock is held. */
static rgm_status ask(rgm_response *out, master *m, const char *method, const char *path,
                      const char *body)
{
    const kept_answer *answer = strcmp(method, "GET") == 0 ? find_answer(m, path) : NULL;

    if (answer == NULL)
        return forward(out, m, method, path, body);
    out->status = answer->status;
    return rgm_text_add(&out->body, answer->body.data, answer->body.size);
}

rgm_status rgmi_masters_ask(rgm_response *out, rgmi_masters *masters, int64_t id,
                            const char *method, const char *path, const char *body)
{
    master *m = find(masters, id);
    rgm_status status;

    memset(out, 0, sizeof *out);
    if (m == NULL)
        return RGM_FAIL(RGM_ERR_NOT_FOUND, "there is no master %lld", (long long)id);
    pthread_mutex_lock(&m->lock);
    status = ask(out, m, method, path, body);
    pthread_mutex_unlock(&m->lock);
    return status;
}

rgm_status rgmi_masters_look(rgm_response *out, rgmi_masters *masters, int64_t id, const char *path)
{
    master *m = find(masters, id);
    struct timespec until;
    rgm_status status;

    memset(out, 0, sizeof *out);
    if (m == NULL)
        return RGM_FAIL(RGM_ERR_NOT_FOUND, "there is no master %lld", (long long)id);
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += atomic_load(&m->served) || m->is_folder ? LONG_PATIENCE : SHORT_PATIENCE;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    if (pthread_mutex_timedlock(&m->lock, &until) != 0)
        return RGM_FAIL(RGM_ERR_BUSY, "master %lld is being asked", (long long)id);
    status = open_client(m);
    if (status == RGM_OK) {
        rgm_client_limit(m->client, LIST_SECONDS, is_stopped, m->all);
        status = ask(out, m, "GET", path, NULL);
        rgm_client_limit(m->client, CALL_SECONDS, is_stopped, m->all);
    }
    pthread_mutex_unlock(&m->lock);
    return status;
}

bool rgmi_masters_at(int64_t *id, const char **where, bool *served, rgmi_masters *masters,
                     int64_t i)
{
    master *m;

    pthread_mutex_lock(&masters->lock);
    m = i < masters->count ? masters->items[i] : NULL;
    pthread_mutex_unlock(&masters->lock);
    if (m == NULL)
        return false;
    *id = m->id;
    *where = m->where;
    /* Whoever is asking it just now knows better. */
    if (pthread_mutex_trylock(&m->lock) == 0) {
        if (rgm_now() - m->served_time > (m->is_folder ? SERVED_SECONDS : REST_SECONDS))
            is_served(m);
        pthread_mutex_unlock(&m->lock);
    }
    *served = atomic_load(&m->served);
    return true;
}

/*
 * The stream of a text: server-sent events from the thread that writes the text to the connection
 * that reads them. Neither waits for the other: what is not read yet is kept, and a text is no
 * longer than its model allows.
 */
#include <string.h>

#include "answer_internal.h"

struct rgmi_telling {
    rgmi_served *model;
    pthread_mutex_t lock; /* of all below */
    rgm_text events;
    int64_t begin;  /* events before it were read */
    bool over;      /* no more are written */
    bool gone;      /* nobody reads them */
    int references; /* of the two sides */
};

rgm_status rgmi_telling_create(rgmi_telling **out, rgmi_served *model)
{
    RGM_TRY(RGM_NEW(*out, 1));
    **out = (rgmi_telling){.model = model, .references = 1};
    pthread_mutex_init(&(*out)->lock, NULL);
    return RGM_OK;
}

/* The lock is held, and given back. */
static void let_go(rgmi_telling *t)
{
    bool last = --t->references == 0;

    pthread_mutex_unlock(&t->lock);
    if (!last)
        return;
    pthread_mutex_destroy(&t->lock);
    rgm_text_clear(&t->events);
    rgm_free(t);
}

void rgmi_telling_end(rgmi_telling *telling)
{
    if (telling == NULL)
        return;
    pthread_mutex_lock(&telling->lock);
    telling->over = true;
    let_go(telling);
}

bool rgmi_telling_is_gone(rgmi_telling *telling)
{
    bool gone;

    pthread_mutex_lock(&telling->lock);
    gone = telling->gone;
    pthread_mutex_unlock(&telling->lock);
    return gone;
}

static rgm_status add(rgm_text *events, const char *event, const rgm_text *data)
{
    if (event != NULL)
        RGM_TRY(rgm_text_printf(events, "event: %s\n", event));
    RGM_TRY(rgm_text_printf(events, "data: "));
    RGM_TRY(rgm_text_add(events, data->data, data->size));
    return rgm_text_add(events, "\n\n", 2);
}

void rgmi_telling_add(rgmi_telling *telling, const char *event, const rgm_text *data)
{
    int64_t before;

    pthread_mutex_lock(&telling->lock);
    before = telling->events.size;
    if (!telling->over && !telling->gone && add(&telling->events, event, data) != RGM_OK) {
        telling->events.size = before; /* whoever reads it sees that it has no end */
        telling->over = true;
    }
    pthread_mutex_unlock(&telling->lock);
}

/* ---- who reads ------------------------------------------------------------------------------- */

static int64_t read_events(char *data, int64_t room, void *payload)
{
    rgmi_telling *t = payload;
    int64_t count;

    pthread_mutex_lock(&t->lock);
    count = t->events.size - t->begin < room ? t->events.size - t->begin : room;
    if (count > 0)
        memcpy(data, t->events.data + t->begin, (size_t)count);
    t->begin += count;
    if (t->begin == t->events.size)
        t->begin = t->events.size = 0;
    if (count == 0 && t->over)
        count = -1;
    pthread_mutex_unlock(&t->lock);
    return count;
}

static bool is_ready(void *payload)
{
    rgmi_telling *t = payload;
    bool ready;

    pthread_mutex_lock(&t->lock);
    ready = t->over || t->begin < t->events.size;
    pthread_mutex_unlock(&t->lock);
    return ready;
}

static void close_reader(void *payload)
{
    rgmi_telling *t = payload;
    rgmi_served *model = t->model;
    bool whole;

    pthread_mutex_lock(&t->lock);
    whole = t->over && t->begin == t->events.size;
    t->gone = true;
    let_go(t);
    pthread_mutex_lock(&model->lock);
    model->streams--;
    model->busy--;
    model->figures.gone += !whole;
    pthread_mutex_unlock(&model->lock);
}

rgm_http_stream rgmi_telling_reader(rgmi_telling *telling)
{
    pthread_mutex_lock(&telling->lock);
    telling->references++;
    pthread_mutex_unlock(&telling->lock);
    pthread_mutex_lock(&telling->model->lock);
    telling->model->streams++;
    pthread_mutex_unlock(&telling->model->lock);
    return (rgm_http_stream){
        .read = read_events, .is_ready = is_ready, .close = close_reader, .payload = telling};
}

void rgmi_answer_wake(rgm_answer_server *server)
{
    pthread_mutex_lock(&server->lock);
    if (server->http != NULL)
        rgm_http_wake(server->http);
    pthread_mutex_unlock(&server->lock);
}

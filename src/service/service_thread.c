/*
 * The thread that talks with workers: lets them in, hands out numbers, takes batches, notices who
 * is gone.
 */
#include "service_internal.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <unistd.h>

#define GOODBYE    2.0 /* seconds without a word of workers when the trainer closes */
#define PING_EVERY 0.5 /* seconds; a message to a process that has ended fails at once */
enum { CREDIT = 2, MOST_GONE = 32 }; /* numbers under way for each thread of a worker */

bool rgmi_service_is_at_work(const rgmi_worker *worker)
{
    return worker->state == RGMI_WORKER_TRIED || worker->state == RGMI_WORKER_AT_WORK;
}

/* ---- workers --------------------------------------------------------------------------------- */

/** Who has this connection: of those that are at work, or of those that were refused. */
static rgmi_worker *find_worker(const rgm_service *s, const uint8_t *route, int64_t size,
                                bool refused)
{
    for (int64_t i = 0; i < s->worker_count; i++) {
        rgmi_worker *w = &s->workers[i];
        bool fits = refused ? w->state == RGMI_WORKER_REFUSED : rgmi_service_is_at_work(w);

        if (fits && w->route_size == size && memcmp(w->route, route, (size_t)size) == 0)
            return w;
    }
    return NULL;
}

/** Those that are gone are kept for the report, but not for ever. */
static void forget_oldest(rgm_service *s)
{
    int64_t gone = 0, first = -1;

    for (int64_t i = 0; i < s->worker_count; i++)
        if (!rgmi_service_is_at_work(&s->workers[i])) {
            first = first < 0 ? i : first;
            gone++;
        }
    if (gone < MOST_GONE)
        return;
    s->worker_count--;
    memmove(&s->workers[first], &s->workers[first + 1],
            (size_t)(s->worker_count - first) * sizeof *s->workers);
}

static void count_at_work(rgm_service *s)
{
    s->counts.workers = 0;
    for (int64_t i = 0; i < s->worker_count; i++)
        s->counts.workers += s->workers[i].state == RGMI_WORKER_AT_WORK;
}

static void lose_worker(rgm_service *s, rgmi_worker *w, const char *why)
{
    int64_t free = rgmi_places_drop(&s->places, w->id);

    snprintf(w->why, sizeof w->why, "%s", why);
    w->state = RGMI_WORKER_GONE;
    w->under_way = 0;
    s->counts.again += free;
    s->counts.gone++;
    count_at_work(s);
    if (atomic_load(&s->closing))
        return;
    rgm_log_write(RGM_LOG_WARNING, "input worker %s %s; %lld batches that it had go to others",
                  w->name, why, (long long)free);
}

/* ---- sending --------------------------------------------------------------------------------- */

typedef enum sent { SENT, FULL, NOBODY } sent;

static sent send_to(const rgm_service *s, const uint8_t *route, int64_t size,
                    const rgmi_saying *message)
{
    rgm_text text = {0};
    sent result = NOBODY;

    if (rgmi_saying_put(&text, message) != RGM_OK)
        result = FULL; /* no memory: later */
    else if (s->zmq->send(s->router, route, (size_t)size, RGMI_ZMQ_SNDMORE | RGMI_ZMQ_DONTWAIT) >=
             0)
        result = s->zmq->send(s->router, text.data, (size_t)text.size, RGMI_ZMQ_DONTWAIT) >= 0
                     ? SENT
                     : FULL;
    else if (s->zmq->error() == EAGAIN)
        result = FULL;
    rgm_text_clear(&text);
    return result;
}

static bool tell(rgm_service *s, rgmi_worker *w, const rgmi_saying *message)
{
    sent result = send_to(s, w->route, w->route_size, message);

    if (result == NOBODY)
        lose_worker(s, w, "has ended without a word");
    return result == SENT;
}

/* ---- letting in ------------------------------------------------------------------------------ */

static bool is_same(const rgm_str *a, const char *b)
{
    return a->size == (int64_t)strlen(b) && memcmp(a->data, b, (size_t)a->size) == 0;
}

static int64_t line_size(const char *text, int64_t left)
{
    const char *end = left > 0 ? memchr(text, '\n', (size_t)left) : NULL;

    return end != NULL ? end - text : left;
}

/** The first line that differs, for a person. */
static void tell_difference(char *out, size_t room, const rgm_str *theirs, const char *ours)
{
    int64_t a = 0, b = 0, size = (int64_t)strlen(ours);

    while (a < theirs->size || b < size) {
        int64_t x = line_size(theirs->data + a, theirs->size - a),
                y = line_size(ours + b, size - b);

        if (x != y || memcmp(theirs->data + a, ours + b, (size_t)x) != 0) {
            snprintf(out, room, "it has '%.*s', the trainer '%.*s'", (int)(x < 100 ? x : 100),
                     theirs->data + a, (int)(y < 100 ? y : 100), ours + b);
            return;
        }
        a += x + 1;
        b += y + 1;
    }
    snprintf(out, room, "its data are others");
}

/** Why a worker cannot make this trainer's batches; false: it can try. */
static bool is_another(char *why, size_t room, const rgm_service *s, const rgmi_saying *hello)
{
    char difference[240];

    if (hello->protocol != RGMI_SERVICE_PROTOCOL || !is_same(&hello->version, RGM_VERSION)) {
        snprintf(why, room, "it is Regimen %.*s, the trainer %s: use the same version",
                 (int)(hello->version.size < 40 ? hello->version.size : 40), hello->version.data,
                 RGM_VERSION);
        return true;
    }
    if (!is_same(&hello->identity, s->identity)) {
        tell_difference(difference, sizeof difference, &hello->identity, s->identity);
        snprintf(why, room, "its experiment is another: %.220s", difference);
        return true;
    }
    if (!is_same(&hello->recipe, s->recipe.data)) {
        tell_difference(difference, sizeof difference, &hello->recipe, s->recipe.data);
        snprintf(why, room, "its data have another recipe: %.220s", difference);
        return true;
    }
    return false;
}

static rgmi_saying refusal(const char *why)
{
    return (rgmi_saying){.kind = RGMI_SAY_REFUSE, .text = {why, (int64_t)strlen(why)}};
}

static void refuse(rgm_service *s, rgmi_worker *w, const char *why)
{
    rgmi_saying message = refusal(why);

    rgm_log_write(RGM_LOG_WARNING, "input worker %s is refused: %s", w->name, why);
    (void)tell(s, w, &message);
    s->counts.again += rgmi_places_drop(&s->places, w->id);
    snprintf(w->why, sizeof w->why, "%s", why);
    w->state = RGMI_WORKER_REFUSED;
    w->under_way = 0;
    s->counts.refused++;
    count_at_work(s);
}

static void take_hello(rgm_service *s, const uint8_t *route, int64_t route_size,
                       const rgmi_saying *m)
{
    char why[sizeof((rgmi_worker *)0)->why];
    rgmi_worker *w = find_worker(s, route, route_size, true);

    if (w != NULL) { /* it asks until it has an answer: this one is under way, or was lost */
        rgmi_saying again = refusal(w->why);

        (void)send_to(s, route, route_size, &again);
        return;
    }
    if (!s->has_probe || atomic_load(&s->closing) ||
        find_worker(s, route, route_size, false) != NULL)
        return; /* before there is something to compare it asks again; at the end somebody else */
    forget_oldest(s);
    if (s->worker_count >= RGMI_MOST_WORKERS ||
        RGM_RESERVE(s->workers, s->worker_capacity, s->worker_count + 1) != RGM_OK)
        return;
    w = &s->workers[s->worker_count++];
    *w = (rgmi_worker){.id = ++s->next_id, .route_size = route_size, .heard = rgm_now()};
    memcpy(w->route, route, (size_t)route_size);
    snprintf(w->name, sizeof w->name, "%.*s", (int)(m->name.size < 100 ? m->name.size : 100),
             m->name.data);
    w->threads = m->threads > 0 && m->threads < 1024 ? m->threads : 1;
    if (is_another(why, sizeof why, s, m)) {
        refuse(s, w, why);
        return;
    }
    (void)(tell(s, w,
                &(rgmi_saying){.kind = RGMI_SAY_OPEN,
                               .number = s->probe_number,
                               .position = {s->probe.data, s->probe.size}}) &&
           tell(s, w, &(rgmi_saying){.kind = RGMI_SAY_MAKE, .number = s->probe_number}));
}

static void take_trial(rgm_service *s, rgmi_worker *w, const rgmi_saying *m)
{
    if (rgmi_made_hash(m->status, m->element) != s->probe_hash) {
        refuse(s, w,
               "its first batch is not the trainer's: it has other files, or another version of "
               "a library");
        return;
    }
    w->state = RGMI_WORKER_AT_WORK;
    s->counts.joined++;
    count_at_work(s);
    rgm_log_write(RGM_LOG_INFO, "input worker %s has joined, with %lld thread%s", w->name,
                  (long long)w->threads, w->threads == 1 ? "" : "s");
}

/* ---- batches --------------------------------------------------------------------------------- */

static rgm_status keep_made(rgm_service *s, rgmi_service_place *place, const rgmi_saying *m,
                            rgm_element **element)
{
    rgm_text after = {0};
    char *error = NULL;
    rgm_status status = RGM_OK;

    RGM_GO(rgm_text_add(&after, m->position.data, m->position.size));
    if (m->status < 0)
        RGM_GO(rgm_strndup(&error, m->text.data, (size_t)m->text.size));
    *place = (rgmi_service_place){.state = RGMI_PLACE_MADE,
                                  .arrival = s->places.arrivals++,
                                  .status = (rgm_status)m->status,
                                  .counted = m->counted != 0,
                                  .element = *element,
                                  .error = error,
                                  .after = after};
    *element = NULL;
    pthread_cond_broadcast(&s->changed);
    return RGM_OK;
done:
    rgm_text_clear(&after);
    rgm_free(error);
    return status;
}

/** Who was making it is free for another, also when somebody else made it. */
static void release_maker(rgm_service *s, const rgmi_service_place *place)
{
    for (int64_t i = 0; i < s->worker_count; i++)
        if (s->workers[i].id == place->worker && s->workers[i].under_way > 0)
            s->workers[i].under_way--;
}

/* ---- the end of the data ----------------------------------------------------------------------
 */

static bool has_said_end(const rgm_service *s, const rgmi_worker *w)
{
    return w->state == RGMI_WORKER_AT_WORK && w->session == s->session && w->end < INT64_MAX;
}

static void refuse_as_short(rgm_service *s, rgmi_worker *w)
{
    char why[sizeof w->why];

    snprintf(why, sizeof why,
             "its data end after %lld batches, but others have more: it has other files",
             (long long)w->end);
    refuse(s, w, why);
}

/** Somebody has `count` batches: whoever has said that there are fewer has other data. What is left
 * says where the end is. */
static void refuse_shorter(rgm_service *s, int64_t count)
{
    int64_t end = INT64_MAX;

    if (s->places.end >= count)
        return;
    for (int64_t i = 0; i < s->worker_count; i++) {
        rgmi_worker *w = &s->workers[i];

        if (has_said_end(s, w) && w->end < count)
            refuse_as_short(s, w);
        if (has_said_end(s, w) && w->end < end)
            end = w->end;
    }
    s->places.end = end;
}

/** Its data have m->number batches, whatever it was asked for. */
static void take_end(rgm_service *s, rgmi_worker *w, const rgmi_saying *m)
{
    int64_t most = 0;

    w->end = m->number;
    w->under_way = w->under_way > 0 ? w->under_way - 1 : 0;
    if (!rgmi_places_may_end(&s->places, m->number)) {
        refuse_as_short(s, w);
        return;
    }
    if (m->number < s->places.end)
        s->places.end = m->number;
    for (int64_t i = 0; i < s->worker_count; i++)
        if (has_said_end(s, &s->workers[i]) && s->workers[i].end > most)
            most = s->workers[i].end;
    refuse_shorter(s, most);
    pthread_cond_broadcast(&s->changed);
}

bool rgmi_service_has_ended(const rgm_service *s)
{
    if (s->places.low < s->places.end)
        return false;
    for (int64_t i = 0; i < s->worker_count; i++)
        if (s->workers[i].state == RGMI_WORKER_AT_WORK && !has_said_end(s, &s->workers[i]))
            return false;
    return true;
}

/* ---- batches that come ------------------------------------------------------------------------
 */

static void take_batch(rgm_service *s, rgmi_worker *w, const rgmi_saying *m, rgm_element **element)
{
    rgmi_service_place *place;

    w->busy += (double)m->busy_us * 1e-6;
    w->idle += (double)m->idle_us * 1e-6;
    if (!s->wanted || m->session != s->session)
        return;
    if (m->status == RGM_END) {
        take_end(s, w, m);
        return;
    }
    place = rgmi_places_at(&s->places, m->number);
    if (place == NULL || place->state == RGMI_PLACE_MADE || place->state == RGMI_PLACE_GIVEN) {
        s->counts.doubles++;
        return;
    }
    if (place->state == RGMI_PLACE_UNDER_WAY)
        release_maker(s, place);
    if (keep_made(s, place, m, element) != RGM_OK) { /* no memory: somebody makes it again */
        place->state = RGMI_PLACE_FREE;
        return;
    }
    w->made++;
    w->bytes += m->element.size;
    if (m->status == RGM_OK || m->counted != 0)
        refuse_shorter(s, m->number + 1);
}

/** Decoding takes time, and the trainer need not wait for the lock meanwhile. */
static void take_made(rgm_service *s, rgmi_worker *w, const rgmi_saying *m)
{
    rgm_element *element = NULL;
    rgm_status status = RGM_OK;
    char why[sizeof w->why];

    if (w->state == RGMI_WORKER_TRIED) {
        if (m->session == 0)
            take_trial(s, w, m);
        return;
    }
    if (m->status == RGM_OK) {
        pthread_mutex_unlock(&s->lock);
        status = rgm_element_decode(&element, m->element.data, m->element.size, s->types);
        if (status == RGM_OK && s->like != NULL)
            status = rgm_element_check_like(element, s->like);
        pthread_mutex_lock(&s->lock);
    }
    if (status != RGM_OK) {
        snprintf(why, sizeof why, "it sent what is no batch: %.200s", rgm_error_message());
        refuse(s, w, why);
    } else {
        take_batch(s, w, m, &element);
    }
    rgm_element_release(element);
}

/* ---- receiving ------------------------------------------------------------------------------- */

static void handle(rgm_service *s, const uint8_t *route, int64_t route_size, const void *data,
                   int64_t size)
{
    rgmi_worker *w = find_worker(s, route, route_size, false);
    rgmi_saying m;

    if (rgmi_saying_get(&m, data, size) != RGM_OK) {
        rgm_log_write(RGM_LOG_WARNING, "input worker %s: %s", w != NULL ? w->name : "(unknown)",
                      rgm_error_message());
        return;
    }
    if (w != NULL)
        w->heard = rgm_now();
    if (m.kind == RGMI_SAY_HELLO)
        take_hello(s, route, route_size, &m);
    else if (w == NULL)
        (void)send_to(s, route, route_size, &(rgmi_saying){.kind = RGMI_SAY_WHO});
    else if (m.kind == RGMI_SAY_MADE)
        take_made(s, w, &m);
    else if (m.kind == RGMI_SAY_LEAVE)
        lose_worker(s, w, "has left");
}

/** A message of two frames; false: there is none. Others are dropped. */
static bool receive(rgm_service *s)
{
    const rgmi_zmq *zmq = s->zmq;
    rgmi_frame frames[2], extra;
    int count = 0, more = 1;
    size_t size = sizeof more;

    for (; more; count++) {
        rgmi_frame *frame = count < 2 ? &frames[count] : &extra;

        zmq->msg_init(frame);
        if (zmq->msg_recv(frame, s->router, RGMI_ZMQ_DONTWAIT) < 0) {
            zmq->msg_close(frame);
            break;
        }
        if (zmq->getsockopt(s->router, RGMI_ZMQ_RCVMORE, &more, &size) != 0)
            more = 0;
        if (count >= 2)
            zmq->msg_close(frame);
    }
    if (count == 2 && zmq->msg_size(&frames[0]) <= RGMI_ROUTE)
        handle(s, zmq->msg_data(&frames[0]), (int64_t)zmq->msg_size(&frames[0]),
               zmq->msg_data(&frames[1]), (int64_t)zmq->msg_size(&frames[1]));
    for (int i = 0; i < count && i < 2; i++)
        zmq->msg_close(&frames[i]);
    return count > 0;
}

/**
 * ZeroMQ asks whether a connection may come in (ZAP, RFC 27): request of seven frames or more, the
 * seventh the 32 bytes of its key; answer of six.
 */
static bool answer_gate(rgm_service *s)
{
    const rgmi_zmq *zmq = s->zmq;
    char request[256];
    size_t request_size = 0, size = sizeof(int);
    bool known = false;
    int more = 1, count = 0;

    for (; more; count++) {
        rgmi_frame frame;

        zmq->msg_init(&frame);
        if (zmq->msg_recv(&frame, s->zap, RGMI_ZMQ_DONTWAIT) < 0) {
            zmq->msg_close(&frame);
            return false;
        }
        if (count == 1 && zmq->msg_size(&frame) <= sizeof request) {
            request_size = zmq->msg_size(&frame);
            memcpy(request, zmq->msg_data(&frame), request_size);
        }
        if (count == 6)
            known = zmq->msg_size(&frame) == sizeof s->key.open_bytes &&
                    memcmp(zmq->msg_data(&frame), s->key.open_bytes, sizeof s->key.open_bytes) == 0;
        zmq->msg_close(&frame);
        if (zmq->getsockopt(s->zap, RGMI_ZMQ_RCVMORE, &more, &size) != 0)
            more = 0;
    }
    zmq->send(s->zap, "1.0", 3, RGMI_ZMQ_SNDMORE);
    zmq->send(s->zap, request, request_size, RGMI_ZMQ_SNDMORE);
    zmq->send(s->zap, known ? "200" : "400", 3, RGMI_ZMQ_SNDMORE);
    zmq->send(s->zap, "", 0, RGMI_ZMQ_SNDMORE);
    zmq->send(s->zap, "", 0, RGMI_ZMQ_SNDMORE);
    zmq->send(s->zap, "", 0, 0);
    if (!known)
        rgm_log_write(RGM_LOG_WARNING, "somebody with another key wanted to join at %s",
                      s->address);
    return true;
}

/* ---- handing out ----------------------------------------------------------------------------- */

/** Who has the least to do for its threads; NULL: all have enough. */
static rgmi_worker *least_busy(const rgm_service *s)
{
    rgmi_worker *found = NULL;

    for (int64_t i = 0; i < s->worker_count; i++) {
        rgmi_worker *w = &s->workers[i];

        if (w->state != RGMI_WORKER_AT_WORK || w->under_way >= CREDIT * w->threads)
            continue;
        if (found == NULL || w->under_way * found->threads < found->under_way * w->threads)
            found = w;
    }
    return found;
}

static bool tell_session(rgm_service *s, rgmi_worker *w)
{
    if (w->session == s->session)
        return true;
    if (!tell(s, w,
              &(rgmi_saying){.kind = RGMI_SAY_OPEN,
                             .session = s->session,
                             .number = s->places.base_number,
                             .position = {s->places.base.data, s->places.base.size}}))
        return false;
    w->session = s->session;
    w->end = INT64_MAX;
    w->asked_end = -1;
    return true;
}

/** Where one worker's data end, all others are asked for the number: one that has more would else
 * never say so, as an end is told sooner than a batch is made. */
static void ask_for_end(rgm_service *s)
{
    int64_t end = s->places.end;

    for (int64_t i = 0; end < INT64_MAX && i < s->worker_count; i++) {
        rgmi_worker *w = &s->workers[i];

        if (w->state == RGMI_WORKER_AT_WORK && !has_said_end(s, w) &&
            (w->session != s->session || w->asked_end != end) && tell_session(s, w) &&
            tell(s, w, &(rgmi_saying){.kind = RGMI_SAY_MAKE, .session = s->session, .number = end}))
            w->asked_end = end;
    }
}

static void hand_out(rgm_service *s)
{
    for (int64_t i = 0; i < s->worker_count; i++)
        if (s->workers[i].session != s->session)
            s->workers[i].under_way = 0;
    while (s->wanted) {
        int64_t number = rgmi_places_free(&s->places);
        rgmi_worker *w = number >= 0 ? least_busy(s) : NULL;
        rgmi_service_place *place;

        if (number < 0)
            ask_for_end(s);
        if (w == NULL)
            return;
        if (!tell_session(s, w) ||
            !tell(s, w,
                  &(rgmi_saying){.kind = RGMI_SAY_MAKE, .session = s->session, .number = number})) {
            if (rgmi_service_is_at_work(w))
                return; /* its queue is full: later */
            continue;
        }
        place = rgmi_places_at(&s->places, number);
        place->state = RGMI_PLACE_UNDER_WAY;
        place->worker = w->id;
        w->under_way++;
    }
}

/* ---- the loop -------------------------------------------------------------------------------- */

static void look_after(rgm_service *s, double now)
{
    char why[128];

    for (int64_t i = 0; i < s->worker_count; i++) {
        rgmi_worker *w = &s->workers[i];

        if (!rgmi_service_is_at_work(w))
            continue;
        if (now - w->heard > s->options.silence) {
            snprintf(why, sizeof why, "has been silent for %.0f s", now - w->heard);
            lose_worker(s, w, why);
        } else {
            (void)tell(s, w, &(rgmi_saying){.kind = RGMI_SAY_PING});
        }
    }
    rgmi_service_report(s, now);
}

static bool is_anybody_there(const rgm_service *s)
{
    for (int64_t i = 0; i < s->worker_count; i++)
        if (rgmi_service_is_at_work(&s->workers[i]))
            return true;
    return false;
}

static void say_goodbye(rgm_service *s)
{
    double until = rgm_now() + GOODBYE, last = rgm_now() + s->options.silence;

    for (int64_t i = 0; i < s->worker_count; i++)
        if (rgmi_service_is_at_work(&s->workers[i]))
            (void)send_to(s, s->workers[i].route, s->workers[i].route_size,
                          &(rgmi_saying){.kind = RGMI_SAY_CLOSE});
    /* A connection that is closed while the other side sends would lose what was said. */
    while (is_anybody_there(s) && rgm_now() < until) {
        rgmi_poll_item item = {s->router, 0, RGMI_ZMQ_POLLIN, 0};

        (void)s->zmq->poll(&item, 1, 50);
        while (receive(s)) /* who still sends has yet to read that it is over */
            until = fmin(rgm_now() + GOODBYE, last);
    }
    rgmi_service_report(s, rgm_now());
}

static void step(rgm_service *s, double *next_look)
{
    double now = rgm_now();
    uint64_t count;

    while (answer_gate(s)) {
    }
    while (receive(s)) {
    }
    if (read(s->wake, &count, sizeof count) < 0 && errno != EAGAIN && errno != EINTR)
        rgm_log_write(RGM_LOG_WARNING, "input workers: cannot read an eventfd: %s",
                      strerror(errno));
    if (now >= *next_look) {
        look_after(s, now);
        *next_look = now + PING_EVERY;
    }
    hand_out(s);
}

void *rgmi_service_run(void *service)
{
    rgm_service *s = service;
    double next_look = 0;

    while (!atomic_load(&s->closing)) {
        rgmi_poll_item items[3] = {{s->router, 0, RGMI_ZMQ_POLLIN, 0},
                                   {s->zap, 0, RGMI_ZMQ_POLLIN, 0},
                                   {NULL, s->wake, RGMI_ZMQ_POLLIN, 0}};

        if (s->zmq->poll(items, 3, 100) < 0 && s->zmq->error() != EINTR) {
            pthread_mutex_lock(&s->lock);
            s->failed = rgmi_zmq_failed(s->zmq, "wait for workers at", s->address);
            rgm_error_save(&s->failure, s->failed);
            pthread_cond_broadcast(&s->changed);
            pthread_mutex_unlock(&s->lock);
            return NULL;
        }
        pthread_mutex_lock(&s->lock);
        rgm_logger_enter(s->log);
        step(s, &next_look);
        rgm_logger_enter(NULL);
        pthread_mutex_unlock(&s->lock);
    }
    pthread_mutex_lock(&s->lock);
    say_goodbye(s);
    pthread_mutex_unlock(&s->lock);
    return NULL;
}

/*
 * The threads of a worker: each runs the recipe for itself, passes over the numbers that others
 * make, and makes those that it is given. When a number comes back to it that it has passed (its
 * maker has died), it goes back to the nearest position that it knows.
 */
#include "worker_internal.h"

#include <errno.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum { MARKS = 64 };

/** A position before element `number`. */
typedef struct mark {
    int64_t number;
    rgm_text position;
} mark;

/** A thread's own iterator. */
typedef struct maker_thread {
    rgmi_makers *all;
    pthread_t thread;
    rgm_iterator *iterator;
    rgmi_session *session; /* of the iterator */
    int64_t cursor;        /* the iterator's next element */
    mark marks[MARKS];     /* a ring */
    int64_t mark_count;
    double idle_since;
} maker_thread;

struct rgmi_makers {
    const rgm_dataset *dataset;
    int fd;
    bool has_lock, closing;
    pthread_mutex_t lock;
    pthread_cond_t work;
    rgmi_batch_job *waiting, **last; /* first come, first served */
    rgmi_batch_job *done, **last_done;
    maker_thread *threads;
    int count;
    rgm_logger *log;
};

/* ---- sessions and jobs ------------------------------------------------------------------------
 */

rgm_status rgmi_session_create(rgmi_session **out, const rgmi_saying *open)
{
    rgmi_session *s;

    *out = NULL;
    RGM_TRY(RGM_NEW(s, 1));
    atomic_init(&s->references, 1);
    s->id = open->session;
    s->first = open->number;
    if (rgm_text_add(&s->position, open->position.data, open->position.size) != RGM_OK) {
        rgmi_session_release(s);
        return RGM_FAIL(RGM_ERR_NOMEM, "out of memory for a position");
    }
    *out = s;
    return RGM_OK;
}

rgmi_session *rgmi_session_retain(rgmi_session *session)
{
    atomic_fetch_add_explicit(&session->references, 1, memory_order_relaxed);
    return session;
}

void rgmi_session_release(rgmi_session *session)
{
    if (session == NULL ||
        atomic_fetch_sub_explicit(&session->references, 1, memory_order_acq_rel) > 1)
        return;
    rgm_text_clear(&session->position);
    rgm_free(session);
}

void rgmi_job_release(rgmi_batch_job *job)
{
    if (job == NULL)
        return;
    rgmi_session_release(job->session);
    rgm_text_clear(&job->message);
    rgm_free(job);
}

/* ---- going to a number ------------------------------------------------------------------------
 */

static void forget_marks(maker_thread *t)
{
    for (int64_t i = 0; i < MARKS; i++)
        rgm_text_clear(&t->marks[i].position);
    t->mark_count = 0;
}

/** Without memory the number is reached from an older one. */
static void keep_mark(maker_thread *t, const rgm_text *position)
{
    mark *m = &t->marks[t->mark_count % MARKS];

    m->position.size = 0;
    m->number = -1;
    if (rgm_text_add(&m->position, position->data, position->size) != RGM_OK)
        return;
    m->number = t->cursor;
    t->mark_count++;
}

static void leave_session(maker_thread *t)
{
    rgm_iterator_release(t->iterator);
    rgmi_session_release(t->session);
    forget_marks(t);
    t->iterator = NULL;
    t->session = NULL;
}

/** Open the iterator at the latest known position that is not behind `number`. */
static rgm_status begin_before(maker_thread *t, int64_t number)
{
    rgm_iterator_options options = RGM_ITERATOR_OPTIONS_INIT;
    const rgm_text *position = &t->session->position;
    int64_t at = t->session->first;
    rgm_status status;

    for (int64_t i = 0; i < MARKS && i < t->mark_count; i++)
        if (t->marks[i].number <= number && t->marks[i].number > at) {
            at = t->marks[i].number;
            position = &t->marks[i].position;
        }
    rgm_iterator_release(t->iterator);
    t->iterator = NULL;
    options.in_step = true;
    RGM_TRY(rgm_iterator_create(&t->iterator, t->all->dataset, &options));
    status = rgm_iterator_restore(t->iterator, position->data, position->size);
    if (status != RGM_OK) {
        rgm_iterator_release(t->iterator);
        t->iterator = NULL;
    }
    t->cursor = at;
    return status;
}

/** Errors on the way are those of whoever makes these numbers. All trainers have the number 0 for
 * the session of their first batch, so it is not the number that tells sessions apart. */
static rgm_status go_to(maker_thread *t, const rgmi_batch_job *job)
{
    if (t->session != job->session) {
        leave_session(t);
        t->session = rgmi_session_retain(job->session);
    }
    if (t->iterator == NULL || t->cursor > job->number)
        RGM_TRY(begin_before(t, job->number));
    while (t->cursor < job->number) {
        int64_t before = rgm_iterator_position(t->iterator);
        rgm_status status = rgm_iterator_skip(t->iterator);

        if (status > 0 || rgm_iterator_position(t->iterator) == before)
            return status;
        t->cursor++;
    }
    return RGM_OK;
}

/* ---- making -----------------------------------------------------------------------------------
 */

static rgm_status encode_made(rgm_text *bytes, rgm_status status, const rgm_element *element)
{
    if (status == RGM_OK)
        status = rgm_element_encode(bytes, element);
    if (status == RGM_OK && bytes->size > RGMI_MOST_MESSAGE / 2)
        status = RGM_FAIL(RGM_ERR_UNSUPPORTED,
                          "a batch of %lld bytes is too large to be sent; make smaller ones",
                          (long long)bytes->size);
    return status;
}

/** Make the number, or the error in its place, as a message. */
static rgm_status make(rgm_text *out, maker_thread *t, const rgmi_batch_job *job, int64_t idle_us)
{
    rgm_element *element = NULL;
    rgm_text bytes = {0}, after = {0};
    double begin = rgm_now();
    bool counted = false;
    rgm_status status = go_to(t, job), told;
    rgmi_saying m = {.kind = RGMI_SAY_MADE, .session = job->session->id, .idle_us = idle_us};

    if (status == RGM_OK) {
        int64_t before = rgm_iterator_position(t->iterator);

        status = rgm_iterator_next(&element, t->iterator);
        counted = rgm_iterator_position(t->iterator) > before;
        t->cursor += counted;
    }
    m.number = status == RGM_END ? t->cursor : job->number;
    status = encode_made(&bytes, status, element);
    if (counted && rgm_iterator_save(&after, t->iterator) == RGM_OK)
        keep_mark(t, &after);
    m.status = status;
    m.counted = counted;
    m.busy_us = (int64_t)((rgm_now() - begin) * 1e6);
    if (status < 0) {
        m.text = (rgm_str){rgm_error_message(), (int64_t)strlen(rgm_error_message())};
        bytes.size = 0;
    }
    m.position = (rgm_str){after.data, after.size};
    m.element = (rgm_str){bytes.data, bytes.size};
    told = rgmi_saying_put(out, &m);
    rgm_element_release(element);
    rgm_text_clear(&bytes);
    rgm_text_clear(&after);
    return told;
}

static rgmi_batch_job *next_job(rgmi_makers *all)
{
    rgmi_batch_job *job;

    pthread_mutex_lock(&all->lock);
    while (all->waiting == NULL && !all->closing)
        pthread_cond_wait(&all->work, &all->lock);
    job = all->closing ? NULL : all->waiting;
    if (job != NULL) {
        all->waiting = job->next;
        if (all->waiting == NULL)
            all->last = &all->waiting;
        job->next = NULL;
    }
    pthread_mutex_unlock(&all->lock);
    return job;
}

static void job_done(rgmi_makers *all, rgmi_batch_job *job)
{
    uint64_t one = 1;

    pthread_mutex_lock(&all->lock);
    *all->last_done = job;
    all->last_done = &job->next;
    pthread_mutex_unlock(&all->lock);
    (void)!write(all->fd, &one, sizeof one);
}

static void *run_maker(void *payload)
{
    maker_thread *t = payload;
    rgmi_batch_job *job;

    rgm_logger_enter(t->all->log);
    t->idle_since = rgm_now();
    while ((job = next_job(t->all)) != NULL) {
        job->failed =
            make(&job->message, t, job, (int64_t)((rgm_now() - t->idle_since) * 1e6)) != RGM_OK;
        t->idle_since = rgm_now();
        job_done(t->all, job);
    }
    leave_session(t);
    return NULL;
}

/* ---- all of them ------------------------------------------------------------------------------
 */

static rgm_status start_threads(rgmi_makers *all, int threads)
{
    RGM_TRY(RGM_NEW(all->threads, threads));
    for (; all->count < threads; all->count++) {
        maker_thread *t = &all->threads[all->count];
        int error;

        t->all = all;
        error = rgm_thread_start(&t->thread, run_maker, t);
        if (error != 0)
            return RGM_FAIL(RGM_ERR_IO, "cannot start a thread: %s", strerror(error));
    }
    return RGM_OK;
}

static rgm_status fill(rgmi_makers *all, const rgm_dataset *dataset, int threads)
{
    all->dataset = dataset;
    all->last = &all->waiting;
    all->last_done = &all->done;
    all->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (all->fd < 0)
        return RGM_FAIL_SYSTEM("open", "an eventfd");
    if (pthread_mutex_init(&all->lock, NULL) != 0 || pthread_cond_init(&all->work, NULL) != 0)
        return RGM_FAIL(RGM_ERR_NOMEM, "out of memory for a lock");
    all->has_lock = true;
    all->log = rgm_logger_retain(rgm_logger_current());
    return start_threads(all, threads);
}

rgm_status rgmi_makers_create(rgmi_makers **out, const rgm_dataset *dataset, int threads)
{
    rgmi_makers *all;
    rgm_status status;

    *out = NULL;
    RGM_TRY(RGM_NEW(all, 1));
    status = fill(all, dataset, threads);
    if (status == RGM_OK)
        *out = all;
    else
        rgmi_makers_release(all);
    return status;
}

void rgmi_makers_release(rgmi_makers *all)
{
    rgmi_batch_job *job;

    if (all == NULL)
        return;
    if (all->has_lock) {
        pthread_mutex_lock(&all->lock);
        all->closing = true;
        pthread_cond_broadcast(&all->work);
        pthread_mutex_unlock(&all->lock);
        for (int i = 0; i < all->count; i++)
            pthread_join(all->threads[i].thread, NULL);
        rgmi_makers_drop(all);
        while ((job = rgmi_makers_take(all)) != NULL)
            rgmi_job_release(job);
        pthread_cond_destroy(&all->work);
        pthread_mutex_destroy(&all->lock);
    }
    if (all->fd >= 0)
        close(all->fd);
    rgm_logger_release(all->log);
    rgm_free(all->threads);
    rgm_free(all);
}

int rgmi_makers_fd(const rgmi_makers *all)
{
    return all->fd;
}

void rgmi_makers_add(rgmi_makers *all, rgmi_batch_job *job)
{
    pthread_mutex_lock(&all->lock);
    *all->last = job;
    all->last = &job->next;
    pthread_cond_signal(&all->work);
    pthread_mutex_unlock(&all->lock);
}

rgmi_batch_job *rgmi_makers_take(rgmi_makers *all)
{
    rgmi_batch_job *job;
    uint64_t count;

    pthread_mutex_lock(&all->lock);
    job = all->done;
    if (job != NULL) {
        all->done = job->next;
        if (all->done == NULL)
            all->last_done = &all->done;
        job->next = NULL;
    } else {
        (void)!read(all->fd, &count, sizeof count);
    }
    pthread_mutex_unlock(&all->lock);
    return job;
}

void rgmi_makers_drop(rgmi_makers *all)
{
    rgmi_batch_job *job, *next;

    pthread_mutex_lock(&all->lock);
    for (job = all->waiting; job != NULL; job = next) {
        next = job->next;
        rgmi_job_release(job);
    }
    all->waiting = NULL;
    all->last = &all->waiting;
    pthread_mutex_unlock(&all->lock);
}

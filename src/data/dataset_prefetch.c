/*
 * prefetch: a thread runs the ops before it, ahead of the consumer by a bounded queue. The saved
 * place is that of the consumer, see rgmi_lookahead.
 */
#include "data_internal.h"

typedef struct prefetch_options {
    int64_t size;
} prefetch_options;

/** A place of the input on its way through the queue: an element, or a status that is none. */
typedef struct place {
    rgm_element *element;
    rgm_status status;
    rgm_error *error; /* when status < 0 and there was memory for it */
    rgm_text snapshot;
} place;

typedef struct prefetch_state {
    rgm_stage *input; /* the thread's alone once it runs */
    rgm_queue *queue;
    pthread_t thread;
    rgm_logger *log; /* of whoever started it */
    bool running;
    atomic_bool closing;
    void *held;      /* a place that was taken out to be looked at, or NULL */
    rgm_status last; /* the signal that ended the input, 0 before */
    int64_t read;    /* places, the thread's                      */
    rgmi_lookahead ahead;
} prefetch_state;

static void place_release(place *p)
{
    if (p == NULL)
        return;
    rgm_element_release(p->element);
    rgm_free(p->error);
    rgm_text_clear(&p->snapshot);
    rgm_free(p);
}

static rgm_status prefetch_open(rgm_stage *stage)
{
    prefetch_state *s = stage->state;

    atomic_init(&s->closing, false);
    rgmi_lookahead_init(&s->ahead, stage->dataset->inputs[0]);
    return rgm_stage_open(&s->input, stage, stage->dataset->inputs[0], 0, stage->epoch);
}

/** Read one place; NULL when there is no memory even for saying so. */
static place *read_place(prefetch_state *s)
{
    place *p = rgm_calloc(1, sizeof *p);

    if (p == NULL)
        return NULL;
    p->status = rgm_stage_next(&p->element, s->input);
    s->read += p->status <= 0;
    if (p->status < 0) {
        p->error = rgm_malloc(sizeof *p->error);
        if (p->error != NULL)
            rgm_error_save(p->error, p->status);
    }
    /* Without memory for a snapshot a restore replays from the one before. */
    if (p->status <= 0 && rgmi_lookahead_due(&s->ahead, s->read) &&
        rgm_stage_save(&p->snapshot, s->input) != RGM_OK)
        rgm_text_clear(&p->snapshot);
    return p;
}

static void *run_ahead(void *payload)
{
    prefetch_state *s = payload;
    bool more = true;

    rgm_logger_enter(s->log);
    while (more && !atomic_load(&s->closing)) {
        place *p = read_place(s);

        more = p != NULL && p->status <= 0;
        if (p != NULL && rgm_queue_push(s->queue, p) != RGM_OK) {
            place_release(p);
            more = false;
        }
    }
    rgm_queue_close(s->queue);
    return NULL;
}

static void end_queue(prefetch_state *s)
{
    rgm_queue_release(s->queue);
    rgm_logger_release(s->log);
    s->queue = NULL;
    s->log = NULL;
}

static rgm_status start(rgm_stage *stage)
{
    prefetch_state *s = stage->state;
    const prefetch_options *o = rgm_stage_options(stage);
    int error;

    RGM_TRY(rgm_queue_create(&s->queue, rgmi_stage_ahead(stage, o->size)));
    s->read = s->ahead.consumed;
    s->log = rgm_logger_retain(rgm_logger_current());
    error = rgm_thread_start(&s->thread, run_ahead, s);
    if (error != 0) {
        end_queue(s);
        return RGM_FAIL(RGM_ERR_IO, "prefetch: cannot start a thread: %s", strerror(error));
    }
    s->running = true;
    return RGM_OK;
}

/** End the thread, whatever it waits for; then the input is at place s->read. */
static void stop(prefetch_state *s)
{
    void *item;

    if (!s->running)
        return;
    atomic_store(&s->closing, true);
    rgm_queue_close(s->queue);
    pthread_join(s->thread, NULL);
    place_release(s->held);
    s->held = NULL;
    while (rgm_queue_try_pop(s->queue, &item) == RGM_OK)
        place_release(item);
    end_queue(s);
    s->running = false;
}

/** Make what the thread met this thread's status. */
static rgm_status deliver(rgm_element **out, prefetch_state *s, place *p)
{
    rgm_status status = p->status;

    if (status > 0) {
        s->last = status;
    } else {
        rgmi_lookahead_consume(&s->ahead, &p->snapshot);
        *out = p->element;
        p->element = NULL;
    }
    if (status < 0 && p->error != NULL)
        rgm_error_restore(p->error);
    else if (status < 0)
        status = RGM_FAIL(status, "out of memory in the prefetch thread");
    place_release(p);
    return status;
}

/** Without the thread. */
static rgm_status next_in_step(rgm_element **out, prefetch_state *s)
{
    place *p;

    s->read = s->ahead.consumed;
    p = read_place(s);
    if (p == NULL)
        return RGM_FAIL(RGM_ERR_NOMEM, "out of memory for an element");
    return deliver(out, s, p);
}

static rgm_status prefetch_next(rgm_element **out, rgm_stage *stage)
{
    prefetch_state *s = stage->state;
    void *item;

    if (s->last > 0)
        return s->last;
    if (stage->tree->in_step)
        return next_in_step(out, s);
    if (!s->running)
        RGM_TRY(start(stage));
    item = s->held;
    s->held = NULL;
    if (item != NULL || rgm_queue_pop(s->queue, &item) == RGM_OK)
        return deliver(out, s, item);
    /* The thread ended without a word: it had no memory left. The next call starts another one. */
    stop(s);
    if (rgm_stage_stopped(stage))
        return RGM_STOPPED;
    atomic_store(&s->closing, false);
    return RGM_FAIL(RGM_ERR_NOMEM, "out of memory in the prefetch thread");
}

static void prefetch_peek(rgm_element **out, rgm_stage *stage)
{
    prefetch_state *s = stage->state;
    const place *p;

    if (s->held == NULL && (!s->running || rgm_queue_try_pop(s->queue, &s->held) != RGM_OK))
        return;
    p = s->held;
    if (p->status == RGM_OK && p->element != NULL)
        *out = rgm_element_retain(p->element);
}

static rgm_status prefetch_skip(rgm_stage *stage)
{
    prefetch_state *s = stage->state;
    rgm_element *element;
    rgm_status status;

    if (s->last > 0)
        return s->last;
    if (!stage->tree->in_step) {
        status = prefetch_next(&element, stage);
        if (status == RGM_OK)
            rgm_element_release(element);
        return status;
    }
    status = rgmi_lookahead_skip(&s->ahead, s->input);
    if (status > 0)
        s->last = status;
    return status;
}

static rgm_status prefetch_save(rgm_text *out, const rgm_stage *stage)
{
    return rgmi_lookahead_save(out, &((const prefetch_state *)stage->state)->ahead);
}

static rgm_status prefetch_restore(rgm_stage *stage, rgm_state_reader *state)
{
    prefetch_state *s = stage->state;
    return rgmi_lookahead_restore(&s->ahead, s->input, state);
}

static void prefetch_close(rgm_stage *stage)
{
    prefetch_state *s = stage->state;

    stop(s);
    rgmi_lookahead_clear(&s->ahead);
    rgm_stage_close(s->input);
}

static int64_t prefetch_count(const rgm_dataset *dataset)
{
    return rgm_dataset_count(dataset->inputs[0]);
}

static rgm_status prefetch_print(rgm_text *out, const void *options)
{
    (void)out;
    (void)options; /* how far ahead changes nothing but time */
    return RGM_OK;
}

static bool prefetch_keeps_places(const rgm_dataset *dataset)
{
    (void)dataset;
    return true;
}

const rgm_dataset_type rgmi_prefetch_type = {
    .name = "prefetch",
    .options_size = sizeof(prefetch_options),
    .state_size = sizeof(prefetch_state),
    .open = prefetch_open,
    .next = prefetch_next,
    .peek = prefetch_peek,
    .skip = prefetch_skip,
    .save = prefetch_save,
    .restore = prefetch_restore,
    .close = prefetch_close,
    .count = prefetch_count,
    .print = prefetch_print,
    .keeps_places = prefetch_keeps_places,
};

rgm_status rgm_dataset_prefetch(rgm_dataset **dataset, int64_t size)
{
    prefetch_options o = {size};

    if (size < 1)
        return RGM_FAIL(RGM_ERR_ARG, "prefetch of %lld elements", (long long)size);
    return rgmi_dataset_extend(dataset, &rgmi_prefetch_type, &o);
}

/*
 * map: a user's function on each element. Parallel calls run on the iterator's workers. The
 * consuming thread reads the input, hands out up to 2 * parallel elements ahead, and takes the
 * results in order. So the output has the order of the input, and every error has the place of its
 * element. A position has one form for every number of calls, so that a run can go on with another
 * number of threads.
 */
#include "data_internal.h"

typedef struct map_options {
    rgmi_payload payload;
    rgm_map_function *function;
    int parallel;
    bool each; /* it drops none, and may be left out for those of others */
} map_options;

struct map_state;

/** A place of the input between being read and being consumed. */
typedef struct job {
    struct map_state *map;
    rgm_element *input; /* NULL when reading it failed    */
    rgm_element *output;
    rgm_map_call call;
    rgm_status status;
    rgm_error error;
    rgm_text snapshot; /* of the input behind this place, if due */
    bool done;
} job;

typedef struct map_state {
    rgm_stage *input;
    const map_options *options;
    rgm_thread_pool *pool; /* NULL: calls run in the asking thread         */
    bool ahead_saved;      /* positions as of an op that runs ahead        */
    /* A ring of jobs: places [ahead.consumed, read) of the input. */
    job *jobs;
    int64_t job_count;
    int64_t read;
    bool ended; /* the input has no more */
    rgmi_lookahead ahead;
    pthread_mutex_t lock; /* of job.done */
    pthread_cond_t finished;
    bool has_lock;
} map_state;

static rgm_status map_open(rgm_stage *stage)
{
    map_state *s = stage->state;

    s->options = rgm_stage_options(stage);
    s->ahead_saved = s->options->parallel > 0;
    RGM_TRY(rgm_stage_open(&s->input, stage, stage->dataset->inputs[0], 0, stage->epoch));
    rgmi_lookahead_init(&s->ahead, stage->dataset->inputs[0]);
    if (s->options->parallel > 1)
        RGM_TRY(rgmi_tree_pool(&s->pool, stage->tree));
    if (pthread_mutex_init(&s->lock, NULL) != 0)
        return RGM_FAIL(RGM_ERR_NOMEM, "out of memory for a lock");
    if (pthread_cond_init(&s->finished, NULL) != 0) {
        pthread_mutex_destroy(&s->lock);
        return RGM_FAIL(RGM_ERR_NOMEM, "out of memory for a condition");
    }
    s->has_lock = true;
    return RGM_OK;
}

static void call_function(job *j)
{
    const map_options *o = j->map->options;

    j->status = o->function(&j->output, j->input, &j->call, o->payload.payload);
    if (j->status != RGM_OK) {
        rgm_element_release(j->output);
        j->output = NULL;
    } else if (j->output == NULL) {
        j->status = RGM_FAIL(RGM_ERR_ARG, "a map function returned RGM_OK without an element");
    }
    if (j->status == RGM_END && o->each)
        j->status = RGM_FAIL(RGM_ERR_ARG, "a map function that is to give an element for each has "
                                          "dropped one");
    if (j->status > 0 && j->status != RGM_END)
        j->status = RGM_FAIL(RGM_ERR_ARG, "a map function returned the signal %d", j->status);
    if (j->status < 0) {
        rgmi_blame(j->status, j->input);
        rgm_error_save(&j->error, j->status);
    }
    rgm_element_release(j->input);
    j->input = NULL;
}

static void run_job(void *payload)
{
    job *j = payload;
    map_state *s = j->map;

    call_function(j);
    pthread_mutex_lock(&s->lock);
    j->done = true;
    pthread_cond_broadcast(&s->finished);
    pthread_mutex_unlock(&s->lock);
}

/** Read a place of the input and start its call. RGM_END, RGM_STOPPED. */
static rgm_status start_job(rgm_stage *stage)
{
    map_state *s = stage->state;
    job *j = &s->jobs[s->read % s->job_count];
    rgm_element *input;
    rgm_status status = rgm_stage_next(&input, s->input);

    if (status > 0)
        return status;
    j->map = s;
    j->input = input;
    j->output = NULL;
    j->status = status;
    j->done = true;
    j->call = (rgm_map_call){s->read, rgm_stage_rng(stage, (uint64_t)s->read)};
    s->read++;
    if (status < 0) {
        rgm_error_save(&j->error, status);
    } else if (s->options->each && !rgmi_stage_wants(stage, j->call.index)) {
        rgm_element_release(input);
        j->input = NULL;
    } else if (s->pool != NULL) {
        j->done = false;
        if (rgm_thread_pool_submit(s->pool, run_job, j) != RGM_OK)
            run_job(j);
    } else {
        call_function(j);
    }
    if (!s->ahead_saved || !rgmi_lookahead_due(&s->ahead, s->read))
        return RGM_OK;
    status = rgm_stage_save(&j->snapshot, s->input);
    if (status != RGM_OK)
        rgm_text_clear(&j->snapshot); /* a restore then replays from the snapshot before */
    return status;
}

static void wait_for(map_state *s, job *j)
{
    pthread_mutex_lock(&s->lock);
    while (!j->done)
        pthread_cond_wait(&s->finished, &s->lock);
    pthread_mutex_unlock(&s->lock);
}

/* Not when it is opened: by then nobody has a share. */
static rgm_status jobs_create(rgm_stage *stage)
{
    map_state *s = stage->state;

    s->job_count = s->pool != NULL ? 2 * (int64_t)s->options->parallel : 1;
    if (s->pool != NULL && s->options->each)
        s->job_count = rgmi_stage_ahead(stage, s->job_count);
    return RGM_NEW(s->jobs, s->job_count);
}

static rgm_status map_next(rgm_element **out, rgm_stage *stage)
{
    map_state *s = stage->state;

    if (s->jobs == NULL)
        RGM_TRY(jobs_create(stage));
    for (;;) {
        job *j;
        rgm_status status;

        while (!s->ended && s->read - s->ahead.consumed < s->job_count) {
            status = start_job(stage);
            if (status == RGM_END)
                s->ended = true;
            else
                RGM_TRY(status);
        }
        if (s->read == s->ahead.consumed)
            return RGM_END;
        j = &s->jobs[s->ahead.consumed % s->job_count];
        wait_for(s, j);
        rgmi_lookahead_consume(&s->ahead, &j->snapshot);
        *out = j->output;
        j->output = NULL;
        if (j->status < 0)
            return rgm_error_restore(&j->error);
        if (j->status == RGM_OK)
            return RGM_OK;
        if (rgm_stage_stopped(stage))
            return RGM_STOPPED;
    }
}

/** The function is not called where that cannot change what follows. */
static rgm_status map_skip(rgm_stage *stage)
{
    map_state *s = stage->state;
    rgm_element *element;
    rgm_status status;

    if (!s->options->each || s->read > s->ahead.consumed || s->ended) {
        status = map_next(&element, stage);
        if (status == RGM_OK)
            rgm_element_release(element);
        return status;
    }
    if (s->ahead_saved) {
        status = rgmi_lookahead_skip(&s->ahead, s->input);
    } else {
        status = rgm_stage_skip(s->input);
        s->ahead.consumed += status <= 0;
    }
    s->read = s->ahead.consumed;
    s->ended = status == RGM_END;
    return status;
}

static rgm_status map_save(rgm_text *out, const rgm_stage *stage)
{
    const map_state *s = stage->state;

    if (s->ahead_saved)
        return rgmi_lookahead_save(out, &s->ahead);
    RGM_TRY(rgm_state_put_int(out, s->ahead.consumed));
    return rgm_stage_save(out, s->input);
}

static rgm_status map_restore(rgm_stage *stage, rgm_state_reader *state)
{
    map_state *s = stage->state;

    if (s->ahead_saved) {
        RGM_TRY(rgmi_lookahead_restore(&s->ahead, s->input, state));
    } else {
        RGM_TRY(rgm_state_get_count(&s->ahead.consumed, state, RGM_STATE_MOST, "map"));
        s->input->restored_at = stage->restored_at;
        RGM_TRY(rgm_stage_restore(s->input, state));
    }
    s->read = s->ahead.consumed;
    return RGM_OK;
}

static void map_close(rgm_stage *stage)
{
    map_state *s = stage->state;

    for (int64_t place = s->ahead.consumed; place < s->read; place++) {
        job *j = &s->jobs[place % s->job_count];
        wait_for(s, j);
        rgm_element_release(j->output);
        rgm_text_clear(&j->snapshot);
    }
    if (s->has_lock) {
        pthread_cond_destroy(&s->finished);
        pthread_mutex_destroy(&s->lock);
    }
    rgm_free(s->jobs);
    rgmi_lookahead_clear(&s->ahead);
    rgm_stage_close(s->input);
}

static int64_t map_count(const rgm_dataset *dataset)
{
    return rgm_dataset_count(dataset->inputs[0]);
}

static void map_clear(void *options)
{
    rgmi_payload_clear(&((map_options *)options)->payload);
}

static rgm_status map_print(rgm_text *out, const void *options)
{
    const map_options *o = options;
    return o->parallel > 0 ? rgm_text_printf(out, "parallel") : RGM_OK;
}

/* rgm_dataset_map() may drop elements. */
static bool map_keeps_places(const rgm_dataset *dataset)
{
    return ((const map_options *)dataset->options)->each;
}

const rgm_dataset_type rgmi_map_type = {
    .name = "map",
    .options_size = sizeof(map_options),
    .state_size = sizeof(map_state),
    .open = map_open,
    .next = map_next,
    .skip = map_skip,
    .save = map_save,
    .restore = map_restore,
    .close = map_close,
    .count = map_count,
    .clear = map_clear,
    .print = map_print,
    .keeps_places = map_keeps_places,
};

static rgm_status extend(rgm_dataset **dataset, const map_options *o)
{
    if (o->parallel < 0 || o->parallel > 4096)
        return RGM_FAIL(RGM_ERR_ARG, "map: %d calls at once", o->parallel);
    return rgmi_dataset_extend(dataset, &rgmi_map_type, o);
}

rgm_status rgm_dataset_map(rgm_dataset **dataset, rgm_map_function *function, void *payload,
                           void (*release)(void *payload), int parallel)
{
    return extend(dataset, &(map_options){{payload, release}, function, parallel, false});
}

rgm_status rgm_dataset_map_each(rgm_dataset **dataset, rgm_map_function *function, void *payload,
                                void (*release)(void *payload), int parallel)
{
    return extend(dataset, &(map_options){{payload, release}, function, parallel, true});
}

/*
 * What all searchers share: trials, what is asked of them, the queue of operations, and what an
 * event may be. Rows decide; this file keeps the books, so that no row can ask a closed trial for
 * something or count one twice.
 */
#include "search_internal.h"

#include <math.h>
#include <string.h>

const char *const rgm_operation_names[] = {"create", "train",    "validate", "checkpoint",
                                           "close",  "shutdown", NULL};
const char *const rgm_search_event_names[] = {"trained", "validated", "checkpointed", "exited",
                                              "invalid", "closed",    "ended",        NULL};

/* ---- trials -------------------------------------------------------------------------------- */

rgmi_searched_trial *rgmi_trial_at(const rgm_searcher *searcher, int64_t trial)
{
    return trial >= 1 && trial <= searcher->trial_count ? searcher->trials[trial - 1] : NULL;
}

rgm_status rgmi_trial_new(rgmi_searched_trial **out, const rgm_searcher *searcher)
{
    rgm_status status = RGM_OK;
    rgmi_searched_trial *t = NULL;

    *out = NULL;
    RGM_GO(RGM_NEW(t, 1));
    RGM_GO(RGM_NEW(t->values, searcher->space->count));
    t->seen.values = t->values;
    t->seen.best_key = INFINITY;
    for (int i = 0; i < RGM_MAX_OBJECTIVES; i++)
        t->seen.keys[i] = INFINITY;
    *out = t;
    t = NULL;
done:
    rgmi_trial_release(t);
    return status;
}

void rgmi_trial_release(rgmi_searched_trial *trial)
{
    if (trial == NULL)
        return;
    rgm_free(trial->values);
    rgm_free(trial->asked);
    rgm_free(trial);
}

static rgm_status ask(rgmi_searched_trial *t, rgm_operation_kind kind, int64_t length)
{
    RGM_TRY(RGM_RESERVE(t->asked, t->asked_capacity, t->asked_count + 1));
    t->asked[t->asked_count++] = (rgmi_asked){kind, length};
    return RGM_OK;
}

/* Place in t->asked, -1: it was not asked for. */
static int64_t find_asked(const rgmi_searched_trial *t, rgm_operation_kind kind, int64_t length)
{
    for (int64_t i = 0; i < t->asked_count; i++)
        if (t->asked[i].kind == kind && (kind == RGM_ASK_CLOSE || t->asked[i].length == length))
            return i;
    return -1;
}

static void answer(rgmi_searched_trial *t, rgm_operation_kind kind, int64_t length)
{
    int64_t i = find_asked(t, kind, length);

    memmove(&t->asked[i], &t->asked[i + 1], (size_t)(t->asked_count - i - 1) * sizeof *t->asked);
    t->asked_count--;
}

static bool waits_for_checkpoint(const rgmi_searched_trial *t)
{
    for (int64_t i = 0; i < t->asked_count; i++)
        if (t->asked[i].kind == RGM_ASK_CHECKPOINT)
            return true;
    return false;
}

/* ---- operations ---------------------------------------------------------------------------- */

rgm_status rgmi_operations_add(rgmi_operations *operations, rgm_operation_kind kind, int64_t trial,
                               int64_t length)
{
    rgmi_operations *o = operations;

    if (o->head > 64 && o->head > o->count / 2) { /* what was given makes room */
        memmove(o->items, o->items + o->head, (size_t)(o->count - o->head) * sizeof *o->items);
        o->count -= o->head;
        o->head = 0;
    }
    RGM_TRY(RGM_RESERVE(o->items, o->capacity, o->count + 1));
    o->items[o->count++] = (rgmi_operation){kind, trial, length};
    return RGM_OK;
}

static rgm_status give(rgm_searcher *s, rgm_operation_kind kind, int64_t trial, int64_t length)
{
    const rgmi_searched_trial *t = rgmi_trial_at(s, trial);
    bool held = t != NULL && t->waits_for > 0;

    return rgmi_operations_add(held ? &s->held : &s->queue, kind, trial, length);
}

static void drop_operations(rgmi_operations *o, int64_t trial)
{
    int64_t kept = o->head;

    for (int64_t i = o->head; i < o->count; i++)
        if (o->items[i].trial != trial)
            o->items[kept++] = o->items[i];
    o->count = kept;
}

/* The checkpoint of `from` is made, or never will be: who waited for it goes on. */
static rgm_status let_go(rgm_searcher *s, int64_t from)
{
    rgmi_operations *o = &s->held;
    const rgmi_searched_trial *parent = rgmi_trial_at(s, from);
    int64_t kept = 0;

    if (o->count == 0)
        return RGM_OK;
    for (int64_t i = 0; i < o->count; i++) {
        rgmi_operation operation = o->items[i];
        rgmi_searched_trial *t = rgmi_trial_at(s, operation.trial);

        if (t->waits_for != from) {
            o->items[kept++] = operation;
            continue;
        }
        if (parent->checkpoints == 0)
            t->from = 0; /* there is nothing to begin with */
        RGM_TRY(rgmi_operations_add(&s->queue, operation.kind, operation.trial, operation.length));
    }
    o->count = kept;
    for (int64_t i = 0; i < s->trial_count; i++)
        if (s->trials[i]->waits_for == from)
            s->trials[i]->waits_for = 0;
    return RGM_OK;
}

bool rgm_searcher_next(rgm_operation *out, rgm_searcher *searcher)
{
    const rgmi_operation *o;
    const rgmi_searched_trial *t;

    *out = (rgm_operation){0};
    if (searcher->failed || searcher->queue.head == searcher->queue.count)
        return false;
    o = &searcher->queue.items[searcher->queue.head++];
    t = rgmi_trial_at(searcher, o->trial);
    *out = (rgm_operation){.kind = o->kind, .trial = o->trial, .length = o->length};
    if (o->kind == RGM_ASK_CREATE) {
        out->values = t->values;
        memcpy(out->request_id, t->request_id, sizeof out->request_id);
        out->seed = t->seed;
        out->from = t->from;
    }
    return true;
}

/* ---- for rows ------------------------------------------------------------------------------ */

/* Its values are set; the rest is drawn, and it is asked for. */
static rgm_status add_trial(int64_t *trial, rgm_searcher *s, rgmi_searched_trial *t, int64_t from)
{
    const rgmi_searched_trial *parent = rgmi_trial_at(s, from);
    uint8_t *id = t->request_id;

    rgm_mt19937_bytes(&s->random, id, 16);
    id[6] = (uint8_t)((id[6] & 0x0f) | 0x40);
    id[8] = (uint8_t)((id[8] & 0x3f) | 0x80);
    t->seed = (uint32_t)rgm_mt19937_bounded(&s->random, INT32_MAX);
    t->known = s->told;
    t->from = parent != NULL ? from : 0;
    t->waits_for = parent != NULL && waits_for_checkpoint(parent) ? from : 0;
    s->trials[s->trial_count++] = t;
    s->open++;
    *trial = s->trial_count;
    return RGM_OK;
}

static rgm_status check_room(rgm_searcher *s)
{
    if (s->invalid > RGMI_MOST_INVALID)
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "%lld trials had hyperparameters that cannot be; say by constraints or "
                        "conditions which can",
                        (long long)s->invalid);
    if (s->trial_count >= RGMI_MOST_TRIALS)
        return RGM_FAIL(RGM_ERR_CONFIG, "more than %d trials", RGMI_MOST_TRIALS);
    return RGM_RESERVE(s->trials, s->trial_capacity, s->trial_count + 1);
}

static rgm_status create(int64_t *trial, rgm_searcher *s, const rgm_hyper_value *values,
                         int64_t from)
{
    rgm_status status = RGM_OK;
    size_t size = (size_t)s->space->count * sizeof *values;
    rgmi_searched_trial *t = NULL;

    *trial = 0;
    RGM_GO(check_room(s));
    RGM_GO(rgmi_trial_new(&t, s));
    if (values != NULL)
        memcpy(t->values, values, size);
    else if (s->points_used < s->point_count)
        memcpy(t->values, s->points[s->points_used++], size);
    else
        RGM_GO(s->sampler->draw(t->values, s, s->sampler_options, &s->random));
    RGM_GO(add_trial(trial, s, t, from));
    t = NULL;
    RGM_GO(give(s, RGM_ASK_CREATE, *trial, 0));
done:
    rgmi_trial_release(t);
    return status;
}

rgm_status rgm_search_create(int64_t *trial, rgm_searcher *searcher)
{
    return create(trial, searcher, NULL, 0);
}

rgm_status rgm_search_create_from(int64_t *trial, rgm_searcher *searcher,
                                  const rgm_hyper_value *values, int64_t from)
{
    return create(trial, searcher, values, from);
}

bool rgm_search_is_open(const rgm_searcher *searcher, int64_t trial)
{
    const rgmi_searched_trial *t = rgmi_trial_at(searcher, trial);

    return t != NULL && !t->closing && !t->seen.closed;
}

static rgm_status need_open(const rgm_searcher *s, int64_t trial)
{
    if (rgm_search_is_open(s, trial))
        return RGM_OK;
    return RGM_FAIL(RGM_ERR_ARG, "trial %lld is not there or closed", (long long)trial);
}

rgm_status rgm_search_train_and_validate(rgm_searcher *searcher, int64_t trial, int64_t length)
{
    rgmi_searched_trial *t = rgmi_trial_at(searcher, trial);

    RGM_TRY(need_open(searcher, trial));
    if (length < t->target || length < 1 || find_asked(t, RGM_ASK_VALIDATE, length) >= 0)
        return RGM_FAIL(RGM_ERR_ARG, "trial %lld cannot train to %lld, behind %lld",
                        (long long)trial, (long long)length, (long long)t->target);
    if (length > t->target)
        RGM_TRY(give(searcher, RGM_ASK_TRAIN, trial, length));
    t->target = length;
    RGM_TRY(ask(t, RGM_ASK_VALIDATE, length));
    return give(searcher, RGM_ASK_VALIDATE, trial, length);
}

rgm_status rgm_search_checkpoint(rgm_searcher *searcher, int64_t trial, int64_t length)
{
    RGM_TRY(need_open(searcher, trial));
    RGM_TRY(ask(rgmi_trial_at(searcher, trial), RGM_ASK_CHECKPOINT, length));
    return give(searcher, RGM_ASK_CHECKPOINT, trial, length);
}

rgm_status rgm_search_close(rgm_searcher *searcher, int64_t trial)
{
    RGM_TRY(need_open(searcher, trial));
    RGM_TRY(ask(rgmi_trial_at(searcher, trial), RGM_ASK_CLOSE, 0));
    rgmi_trial_at(searcher, trial)->closing = true;
    return give(searcher, RGM_ASK_CLOSE, trial, 0);
}

rgm_mt19937 *rgm_search_random(rgm_searcher *searcher)
{
    return &searcher->random;
}

/* The first objective; of what breaks a bound above all that keep them, by how much. */
static double searcher_key(const rgm_searcher *s, const rgmi_searched_trial *t)
{
    double broken = 0;

    for (int64_t i = s->aim_count; i < s->objective_count; i++)
        broken += t->seen.keys[i];
    if (broken > 0 && isfinite(broken) && isfinite(t->seen.keys[0]))
        return 1e300 * (1 + broken / (1 + broken));
    return broken > 0 ? INFINITY : t->seen.keys[0];
}

bool rgm_searcher_is_told_once(const rgm_searcher *searcher)
{
    return searcher->type->is_told_once;
}

double rgm_search_key(const rgm_searcher *searcher, int64_t trial)
{
    const rgmi_searched_trial *t = rgmi_trial_at(searcher, trial);

    return t != NULL ? searcher_key(searcher, t) : INFINITY;
}

int64_t rgm_search_work(const rgm_searcher *searcher)
{
    return searcher->work;
}

/* ---- events -------------------------------------------------------------------------------- */

static const rgm_operation_kind asked_by[] = {[RGM_VALIDATED] = RGM_ASK_VALIDATE,
                                              [RGM_CHECKPOINTED] = RGM_ASK_CHECKPOINT,
                                              [RGM_CLOSED] = RGM_ASK_CLOSE};

static rgm_status check_event(const rgm_searcher *s, const rgm_search_event *e)
{
    const rgmi_searched_trial *t = rgmi_trial_at(s, e->trial);

    if (!s->begun || s->failed)
        return RGM_FAIL(RGM_ERR_ARG, "the searcher %s",
                        s->failed ? "failed before" : "has not begun");
    if ((unsigned)e->kind > RGM_ENDED)
        return RGM_FAIL(RGM_ERR_ARG, "there is no event of kind %d", (int)e->kind);
    if (t == NULL || t->seen.closed)
        return RGM_FAIL(RGM_ERR_ARG, "'%s' of trial %lld, which %s",
                        rgm_search_event_names[e->kind], (long long)e->trial,
                        t == NULL ? "is not there" : "was closed");
    if (e->kind == RGM_ENDED && (e->length < 0 || e->length > RGM_MAX_LENGTH))
        return RGM_FAIL(RGM_ERR_ARG, "trial %lld ended at %lld", (long long)e->trial,
                        (long long)e->length);
    if (e->kind == RGM_EXITED || e->kind == RGM_INVALID || e->kind == RGM_ENDED)
        return RGM_OK;
    if (e->kind == RGM_TRAINED ? e->length < 0 || e->length > t->target
                               : find_asked(t, asked_by[e->kind], e->length) < 0)
        return RGM_FAIL(RGM_ERR_ARG, "'%s' at %lld was not asked of trial %lld",
                        rgm_search_event_names[e->kind], (long long)e->length, (long long)e->trial);
    if (e->kind == RGM_VALIDATED && e->metrics == NULL)
        return RGM_FAIL(RGM_ERR_ARG, "a validation of trial %lld without metrics",
                        (long long)e->trial);
    return RGM_OK;
}

static void advance(rgm_searcher *s, rgmi_searched_trial *t, int64_t length)
{
    if (length <= t->trained)
        return;
    s->work += length - t->trained;
    t->trained = length;
}

void rgmi_keys_of(double *keys, const rgm_searcher *s, const double *metrics)
{
    for (int64_t i = 0; i < s->objective_count; i++) {
        const rgm_objective *o = &s->objectives[i];
        double key = o->smaller_is_better ? metrics[i] : -metrics[i];

        if (o->is_bound)
            key = rgm_objectives_broken(o, 1, &metrics[i]);
        keys[i] = isfinite(key) ? key : INFINITY; /* -inf is no success either */
    }
}

/* Its first result has come, if it had none. */
static void note_result(rgm_searcher *s, rgmi_searched_trial *t)
{
    if (t->told == 0)
        t->told = ++s->told;
}

static void note_metrics(rgm_searcher *s, rgmi_searched_trial *t, const rgm_search_event *e)
{
    note_result(s, t);
    advance(s, t, e->length);
    s->work++;
    t->seen.length = e->length;
    rgmi_keys_of(t->seen.keys, s, e->metrics);
    t->seen.best_key = fmin(t->seen.best_key, searcher_key(s, t));
}

static rgm_status validated(rgm_searcher *s, rgmi_searched_trial *t, const rgm_search_event *e)
{
    answer(t, RGM_ASK_VALIDATE, e->length);
    note_metrics(s, t, e);
    s->metrics = e->metrics;
    return s->type->validated(s, s->state, s->options, e->trial, e->length);
}

static rgm_status checkpointed(rgm_searcher *s, rgmi_searched_trial *t, const rgm_search_event *e)
{
    answer(t, RGM_ASK_CHECKPOINT, e->length);
    advance(s, t, e->length);
    s->work++;
    t->checkpoints++;
    if (!waits_for_checkpoint(t))
        RGM_TRY(let_go(s, e->trial));
    return s->type->checkpointed != NULL
               ? s->type->checkpointed(s, s->state, s->options, e->trial, e->length)
               : RGM_OK;
}

static rgm_status closed(rgm_searcher *s, rgmi_searched_trial *t, const rgm_search_event *e)
{
    answer(t, RGM_ASK_CLOSE, 0);
    t->seen.closed = true;
    s->open--;
    return s->type->closed != NULL ? s->type->closed(s, s->state, s->options, e->trial) : RGM_OK;
}

/* Whether another trial takes the place of one that failed for good. Where nearly all fail the
 * fault is not theirs. */
static bool is_replaced(const rgm_searcher *s, const rgm_search_event *e)
{
    int64_t failed = 0, others = 0;

    if (!s->replaces_failed || e->kind != RGM_EXITED)
        return false;
    for (int64_t i = 0; i < s->trial_count; i++) {
        const rgm_search_trial *t = &s->trials[i]->seen;

        failed += t->exited;
        others += t->length > 0 && !t->exited && !t->invalid;
    }
    return failed <= RGMI_MOST_REPLACED + others;
}

static rgm_status exited(rgm_searcher *s, rgmi_searched_trial *t, const rgm_search_event *e)
{
    bool invalid = e->kind == RGM_INVALID, was_closing = t->closing;

    drop_operations(&s->queue, e->trial);
    drop_operations(&s->held, e->trial);
    note_result(s, t);
    t->was_awaited = false;
    for (int64_t i = 0; i < t->asked_count; i++)
        t->was_awaited = t->was_awaited || t->asked[i].kind == RGM_ASK_VALIDATE;
    t->asked_count = 0;
    t->waits_for = 0;
    t->seen.closed = true;
    t->seen.exited = e->kind == RGM_EXITED;
    t->seen.invalid = invalid;
    s->open--;
    if (invalid) {
        s->invalid++;
        s->work -= t->trained;
    }
    RGM_TRY(let_go(s, e->trial));
    if (was_closing) /* the row was done with it */
        return s->type->closed != NULL ? s->type->closed(s, s->state, s->options, e->trial)
                                       : RGM_OK;
    return s->type->exited != NULL
               ? s->type->exited(s, s->state, s->options, e->trial, invalid || is_replaced(s, e))
               : RGM_OK;
}

/* What it reached is known; for its row it is gone as one that exited. */
static rgm_status ended(rgm_searcher *s, rgmi_searched_trial *t, const rgm_search_event *e)
{
    s->metrics = e->metrics;
    if (e->metrics != NULL)
        note_metrics(s, t, e);
    return exited(s, t, e);
}

static double progress_now(const rgm_searcher *s)
{
    int64_t count = s->trial_count - s->invalid;
    double progress = s->type->progress != NULL
                          ? s->type->progress(s, s->state, s->options)
                          : (count > 0 ? 1 - (double)s->open / (double)count : 0);

    return s->over ? 1 : progress > 0 ? fmin(progress, 1) : 0;
}

/* Behind every step: shut down once nothing is open. */
rgm_status rgmi_searcher_settle(rgm_searcher *s)
{
    if (s->open == 0 && !s->over) {
        s->over = true;
        RGM_TRY(rgmi_operations_add(&s->queue, RGM_ASK_SHUTDOWN, 0, 0));
    }
    s->progress = fmax(s->progress, progress_now(s));
    return RGM_OK;
}

static rgm_status apply(rgm_searcher *s, const rgm_search_event *e)
{
    rgmi_searched_trial *t = rgmi_trial_at(s, e->trial);

    switch (e->kind) {
    case RGM_TRAINED:
        advance(s, t, e->length);
        return RGM_OK;
    case RGM_VALIDATED:
        return validated(s, t, e);
    case RGM_CHECKPOINTED:
        return checkpointed(s, t, e);
    case RGM_CLOSED:
        return closed(s, t, e);
    case RGM_ENDED:
        return ended(s, t, e);
    default:
        return exited(s, t, e);
    }
}

rgm_status rgm_searcher_tell(rgm_searcher *searcher, const rgm_search_event *event)
{
    rgm_status status;

    RGM_TRY(check_event(searcher, event));
    status = apply(searcher, event);
    if (status == RGM_OK)
        status = rgmi_searcher_settle(searcher);
    searcher->failed = status != RGM_OK;
    return status;
}

rgm_status rgm_searcher_begin(rgm_searcher *searcher)
{
    rgm_status status;

    if (searcher->begun)
        return RGM_FAIL(RGM_ERR_ARG, "the searcher has begun");
    searcher->begun = true;
    searcher->first_points = searcher->point_count;
    status = searcher->type->begin(searcher, searcher->state, searcher->options);
    if (status == RGM_OK)
        status = rgmi_searcher_settle(searcher);
    searcher->failed = status != RGM_OK;
    return status;
}

/* ---- what it is ---------------------------------------------------------------------------- */

const char *rgm_searcher_name(const rgm_searcher *searcher)
{
    return searcher->type->section.name;
}

const rgm_space *rgm_searcher_space(const rgm_searcher *searcher)
{
    return searcher->space;
}

int64_t rgm_searcher_objectives(const rgm_objective **objectives, const rgm_searcher *searcher)
{
    *objectives = searcher->objectives;
    return searcher->objective_count;
}

int64_t rgm_searcher_aims(const rgm_searcher *searcher)
{
    return searcher->aim_count;
}

double rgm_objectives_broken(const rgm_objective *objectives, int64_t count, const double *metrics)
{
    double broken = 0;

    for (int64_t i = 0; i < count; i++) {
        double by = objectives[i].smaller_is_better ? metrics[i] - objectives[i].bound
                                                    : objectives[i].bound - metrics[i];

        if (!objectives[i].is_bound)
            continue;
        if (!isfinite(metrics[i]))
            return INFINITY;
        broken += by > 0 ? by : 0;
    }
    return broken;
}

rgm_length rgm_searcher_max_length(const rgm_searcher *searcher)
{
    return searcher->type->max_length(searcher->options);
}

void rgm_searcher_saved(int64_t *saved, int64_t *of, const rgm_searcher *searcher)
{
    int64_t most = rgm_searcher_max_length(searcher).units;

    *saved = *of = 0;
    for (int64_t i = 1; i <= searcher->trial_count && searcher->type->stops_early; i++) {
        const rgm_search_trial *trial = rgm_searcher_trial(searcher, i);

        if (!trial->closed || trial->exited || trial->invalid)
            continue;
        *of += most;
        *saved += trial->length < most ? most - trial->length : 0;
    }
}

double rgm_searcher_progress(const rgm_searcher *searcher)
{
    return searcher->progress;
}

bool rgm_searcher_is_over(const rgm_searcher *searcher)
{
    return searcher->over;
}

int64_t rgm_searcher_trial_count(const rgm_searcher *searcher)
{
    return searcher->trial_count;
}

const rgm_search_trial *rgm_searcher_trial(const rgm_searcher *searcher, int64_t trial)
{
    const rgmi_searched_trial *t = rgmi_trial_at(searcher, trial);

    return t != NULL ? &t->seen : NULL;
}

rgm_status rgm_searcher_describe(rgm_text *out, const rgm_searcher *searcher)
{
    RGM_TRY(rgm_text_add(out, "", 0));
    return searcher->type->describe != NULL
               ? searcher->type->describe(out, searcher, searcher->state, searcher->options)
               : RGM_OK;
}

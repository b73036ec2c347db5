/*
 * A search without training: every operation is done at once, in one of three orders, with metrics
 * that a function makes up. For previews, and to test every searcher by.
 */
#include "search_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct simulated_trial {
    rgmi_operations operations; /* in RGM_IN_ORDER those that wait for its creation */
    rgm_text course, breakdown;
    int64_t length, steps; /* steps: since the last word of its course */
    bool created;
} simulated_trial;

typedef struct simulator {
    rgm_searcher *searcher;
    const rgm_simulation *how;
    rgm_mt19937 random;
    simulated_trial *trials;
    int64_t trial_count, capacity;
    rgmi_operations queue; /* RGM_IN_ORDER */
    int64_t *ready;        /* the others: trials that have operations, ascending */
    int64_t ready_count, ready_capacity;
    bool over;
} simulator;

/* ---- courses ------------------------------------------------------------------------------- */

static rgm_status add_word(simulated_trial *t, const char *unit, int64_t count, const char *sign,
                           const char *name)
{
    const char *space = t->course.size > 0 ? " " : "", *comma = t->breakdown.size > 0 ? ", " : "";

    if (sign == NULL)
        RGM_TRY(rgm_text_printf(&t->course, "%s%lldS", space, (long long)count));
    else
        RGM_TRY(rgm_text_printf(&t->course, "%s%s", space, sign));
    return rgm_text_printf(&t->breakdown, "%s%lld x %s", comma, (long long)count,
                           sign == NULL ? unit : name);
}

/* What was trained since the last word becomes one. */
static rgm_status add_steps(const simulator *s, simulated_trial *t)
{
    static const char *const units[] = {"step", "batch", "record", "epoch"};
    int64_t steps = t->steps;

    t->steps = 0;
    return steps > 0
               ? add_word(t, units[rgm_searcher_max_length(s->searcher).unit], steps, NULL, NULL)
               : RGM_OK;
}

/* ---- operations ---------------------------------------------------------------------------- */

static int64_t place_of(const simulator *s, int64_t trial)
{
    int64_t low = 0, high = s->ready_count;

    while (low < high) {
        int64_t middle = low + (high - low) / 2;

        if (s->ready[middle] < trial)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static rgm_status set_ready(simulator *s, int64_t trial)
{
    int64_t at = place_of(s, trial);

    if (at < s->ready_count && s->ready[at] == trial)
        return RGM_OK;
    RGM_TRY(RGM_RESERVE(s->ready, s->ready_capacity, s->ready_count + 1));
    memmove(&s->ready[at + 1], &s->ready[at], (size_t)(s->ready_count - at) * sizeof *s->ready);
    s->ready[at] = trial;
    s->ready_count++;
    return RGM_OK;
}

static rgm_status take_in(simulator *s, const rgm_operation *o)
{
    bool in_order = s->how->order == RGM_IN_ORDER;
    simulated_trial *t;

    if (o->kind == RGM_ASK_SHUTDOWN) {
        s->over = true;
        return RGM_OK;
    }
    if (o->trial > s->trial_count) {
        RGM_TRY(RGM_RESERVE(s->trials, s->capacity, o->trial));
        for (; s->trial_count < o->trial; s->trial_count++)
            s->trials[s->trial_count] = (simulated_trial){0};
    }
    t = &s->trials[o->trial - 1];
    if (in_order && (t->created || o->kind == RGM_ASK_CREATE))
        return rgmi_operations_add(&s->queue, o->kind, o->trial, o->length);
    RGM_TRY(rgmi_operations_add(&t->operations, o->kind, o->trial, o->length));
    return in_order ? RGM_OK : set_ready(s, o->trial);
}

static rgm_status take_in_all(simulator *s)
{
    rgm_operation o;

    while (rgm_searcher_next(&o, s->searcher))
        RGM_TRY(take_in(s, &o));
    return RGM_OK;
}

/* The operation that is done now; false: there is none. */
static bool pick(rgmi_operation *out, simulator *s)
{
    rgmi_operations *o = &s->queue;
    int64_t at = 0;

    if (s->how->order != RGM_IN_ORDER) {
        if (s->ready_count == 0)
            return false;
        if (s->how->order == RGM_RANDOM_ORDER)
            at = (int64_t)rgm_mt19937_bounded(&s->random, (uint64_t)s->ready_count - 1);
        o = &s->trials[s->ready[at] - 1].operations;
    }
    if (o->head == o->count)
        return false;
    *out = o->items[o->head++];
    if (s->how->order != RGM_IN_ORDER && o->head == o->count) {
        memmove(&s->ready[at], &s->ready[at + 1],
                (size_t)(s->ready_count - at - 1) * sizeof *s->ready);
        s->ready_count--;
    }
    return true;
}

/* ---- what they do -------------------------------------------------------------------------- */

static rgm_status create(simulator *s, simulated_trial *t)
{
    rgmi_operations *o = &t->operations;

    t->created = true;
    if (s->how->order != RGM_IN_ORDER)
        return RGM_OK;
    for (; o->head < o->count; o->head++)
        RGM_TRY(rgmi_operations_add(&s->queue, o->items[o->head].kind, o->items[o->head].trial,
                                    o->items[o->head].length));
    return RGM_OK;
}

/* It is gone, and so is what it was to do. */
static void forget(simulator *s, int64_t trial)
{
    rgmi_operations *o = &s->queue, *own = &s->trials[trial - 1].operations;
    int64_t kept = o->head, at = place_of(s, trial);

    for (int64_t i = o->head; i < o->count; i++)
        if (o->items[i].trial != trial)
            o->items[kept++] = o->items[i];
    o->count = kept;
    own->head = own->count;
    if (at < s->ready_count && s->ready[at] == trial) {
        memmove(&s->ready[at], &s->ready[at + 1],
                (size_t)(s->ready_count - at - 1) * sizeof *s->ready);
        s->ready_count--;
    }
}

static rgm_status validate(simulator *s, simulated_trial *t, const rgmi_operation *o)
{
    const rgm_simulation *how = s->how;
    double metrics[RGM_MAX_OBJECTIVES] = {0};
    rgm_search_event event = {
        .kind = RGM_VALIDATED, .trial = o->trial, .length = o->length, .metrics = metrics};

    if (how->fate != NULL)
        event.kind = how->fate(o->trial, o->length, how->payload);
    if (event.kind != RGM_VALIDATED) {
        forget(s, o->trial);
        return rgm_searcher_tell(s->searcher, &event);
    }
    if (how->metrics != NULL)
        how->metrics(metrics, o->trial, o->length, how->payload);
    RGM_TRY(add_word(t, NULL, 1, "V", "validation"));
    return rgm_searcher_tell(s->searcher, &event);
}

static rgm_status perform(simulator *s, const rgmi_operation *o)
{
    simulated_trial *t = &s->trials[o->trial - 1];
    rgm_search_event event = {.trial = o->trial, .length = o->length};

    if (o->kind != RGM_ASK_TRAIN)
        RGM_TRY(add_steps(s, t));
    switch (o->kind) {
    case RGM_ASK_CREATE:
        return create(s, t);
    case RGM_ASK_TRAIN:
        t->steps += o->length - t->length;
        t->length = o->length;
        event.kind = RGM_TRAINED;
        return rgm_searcher_tell(s->searcher, &event);
    case RGM_ASK_VALIDATE:
        return validate(s, t, o);
    case RGM_ASK_CHECKPOINT:
        event.kind = RGM_CHECKPOINTED;
        RGM_TRY(add_word(t, NULL, 1, "C", "checkpoint"));
        return rgm_searcher_tell(s->searcher, &event);
    default:
        event.kind = RGM_CLOSED;
        return rgm_searcher_tell(s->searcher, &event);
    }
}

/* ---- what came of it ----------------------------------------------------------------------- */

static int compare_courses(const void *a, const void *b)
{
    const rgm_simulated_course *x = a, *y = b;

    if (x->length != y->length)
        return x->length > y->length ? -1 : 1;
    return strcmp(x->course, y->course);
}

static const char *text_of(const rgm_text *text)
{
    return text->data != NULL ? text->data : "";
}

/* Trials of one course together: courses are found by their text. */
static rgm_status gather_courses(rgm_simulated *out, const simulator *s, rgm_map *places)
{
    for (int64_t i = 0; i < s->trial_count; i++) {
        const simulated_trial *t = &s->trials[i];
        const char *text = text_of(&t->course);
        rgm_simulated_course *course = rgm_map_get(places, text);

        if (course == NULL) {
            course = &out->courses[out->course_count++];
            course->length = t->length;
            RGM_TRY(rgm_strdup(&course->course, text));
            RGM_TRY(rgm_strdup(&course->breakdown, text_of(&t->breakdown)));
            RGM_TRY(rgm_map_set(places, text, course));
        }
        course->trials++;
        out->length += t->length;
        RGM_TRY(rgm_strdup(&out->by_trial[i], text));
    }
    return RGM_OK;
}

static rgm_status report(rgm_simulated *out, simulator *s)
{
    rgm_status status = RGM_OK;
    rgm_map *places = NULL;

    for (int64_t i = 0; i < s->trial_count; i++)
        RGM_GO(add_steps(s, &s->trials[i]));
    RGM_GO(rgm_map_create(&places));
    RGM_GO(RGM_NEW(out->courses, s->trial_count));
    RGM_GO(RGM_NEW(out->by_trial, s->trial_count));
    out->trial_count = s->trial_count;
    RGM_GO(gather_courses(out, s, places));
    if (out->course_count > 0)
        qsort(out->courses, (size_t)out->course_count, sizeof *out->courses, compare_courses);
done:
    rgm_map_release(places);
    return status;
}

static void clear(simulator *s)
{
    for (int64_t i = 0; i < s->trial_count; i++) {
        rgm_free(s->trials[i].operations.items);
        rgm_text_clear(&s->trials[i].course);
        rgm_text_clear(&s->trials[i].breakdown);
    }
    rgm_free(s->trials);
    rgm_free(s->queue.items);
    rgm_free(s->ready);
}

rgm_status rgm_search_simulate(rgm_simulated *out, rgm_searcher *searcher,
                               const rgm_simulation *how)
{
    rgm_status status = RGM_OK;
    simulator s = {.searcher = searcher, .how = how};
    rgmi_operation o;

    *out = (rgm_simulated){0};
    rgm_mt19937_seed(&s.random, how->order_seed);
    RGM_GO(rgm_searcher_begin(searcher));
    RGM_GO(take_in_all(&s));
    while (pick(&o, &s)) {
        RGM_GO(perform(&s, &o));
        RGM_GO(take_in_all(&s));
    }
    if (!s.over)
        RGM_GO(RGM_FAIL(RGM_ERR_DATA, "the searcher '%s' asks for nothing and is not over",
                        rgm_searcher_name(searcher)));
    RGM_GO(report(out, &s));
done:
    clear(&s);
    if (status != RGM_OK)
        rgm_simulated_clear(out);
    return status;
}

void rgm_simulated_clear(rgm_simulated *simulated)
{
    for (int64_t i = 0; i < simulated->course_count; i++) {
        rgm_free(simulated->courses[i].course);
        rgm_free(simulated->courses[i].breakdown);
    }
    for (int64_t i = 0; i < simulated->trial_count; i++)
        rgm_free(simulated->by_trial[i]);
    rgm_free(simulated->courses);
    rgm_free(simulated->by_trial);
    *simulated = (rgm_simulated){0};
}

/*
 * Two ways to shuffle. shuffle(n) draws each output from a buffer of the next n inputs. shuffle_all
 * draws a permutation of an indexed input.
 *
 * The elements of a buffer are opaque and cannot be saved. So a position has their places in the
 * input, and the state of the input before the oldest of them. Restoring goes there, reads up to
 * the saved place, and keeps the elements that were in the buffer. For that, the state of the input
 * is taken at every `every`-th place and kept as long as the buffer has an element after it. Only
 * the recipe decides which places these are, so a position has one form, however it was reached.
 */
#include "data_internal.h"

#include <stdlib.h>

typedef struct shuffle_options {
    int64_t buffer_size;
} shuffle_options;

/** An element and its place in the input. */
typedef struct slot {
    rgm_element *element;
    int64_t place;
} slot;

/** The input's state before `place`. */
typedef struct mark {
    int64_t place;
    rgm_text state;
} mark;

typedef struct shuffle_state {
    rgm_stage *input;
    slot *slots;
    int64_t count, capacity;
    int64_t read;  /* places of the input read  */
    int64_t drawn; /* elements given out        */
    bool ended;
    int64_t every;
    mark *marks; /* ascending; the first is at or before the oldest slot */
    int64_t mark_count, mark_capacity;
} shuffle_state;

static rgm_status shuffle_open(rgm_stage *stage)
{
    shuffle_state *s = stage->state;
    const shuffle_options *o = rgm_stage_options(stage);

    s->every = 1 + o->buffer_size / 4;
    return rgm_stage_open(&s->input, stage, stage->dataset->inputs[0], 0, stage->epoch);
}

static int64_t oldest_place(const shuffle_state *s)
{
    int64_t oldest = s->read;

    for (int64_t i = 0; i < s->count; i++)
        if (s->slots[i].place < oldest)
            oldest = s->slots[i].place;
    return oldest;
}

/** The last mark at or before `place`; -1: the input's start. */
static int64_t mark_before(const shuffle_state *s, int64_t place)
{
    int64_t m = s->mark_count - 1;

    while (m >= 0 && s->marks[m].place > place)
        m--;
    return m;
}

static void drop_old_marks(shuffle_state *s)
{
    int64_t keep = mark_before(s, oldest_place(s));

    if (keep <= 0)
        return;
    for (int64_t m = 0; m < keep; m++)
        rgm_text_clear(&s->marks[m].state);
    s->mark_count -= keep;
    memmove(s->marks, s->marks + keep, (size_t)s->mark_count * sizeof *s->marks);
}

/** Called before each read: remember where the input is, when that is due. */
static rgm_status take_mark(shuffle_state *s)
{
    mark m = {.place = s->read};
    rgm_status status = RGM_OK;

    if (s->read == 0 || s->read % s->every != 0 ||
        (s->mark_count > 0 && s->marks[s->mark_count - 1].place == s->read))
        return RGM_OK;
    RGM_GO(RGM_RESERVE(s->marks, s->mark_capacity, s->mark_count + 1));
    RGM_GO(rgm_stage_save(&m.state, s->input));
    drop_old_marks(s);
    s->marks[s->mark_count++] = m;
    return RGM_OK;
done:
    rgm_text_clear(&m.state);
    return status;
}

/** Read the input until the buffer is full; an error on the way takes a place and is given out. */
static rgm_status fill(shuffle_state *s, int64_t buffer_size)
{
    while (s->count < buffer_size && !s->ended) {
        rgm_element *element;
        rgm_status status;

        RGM_TRY(take_mark(s));
        RGM_TRY(RGM_RESERVE(s->slots, s->capacity, s->count + 1));
        status = rgm_stage_next(&element, s->input);
        if (status == RGM_END)
            s->ended = true;
        else if (status > 0)
            return status;
        else
            s->read++;
        if (status < 0)
            return rgm_error_trace(status, __FILE__, __LINE__, __func__);
        if (status == RGM_OK)
            s->slots[s->count++] = (slot){element, s->read - 1};
    }
    return RGM_OK;
}

static rgm_status shuffle_next(rgm_element **out, rgm_stage *stage)
{
    shuffle_state *s = stage->state;
    const shuffle_options *o = rgm_stage_options(stage);
    rgm_rng rng = rgm_stage_rng(stage, 0);
    int64_t i;

    RGM_TRY(fill(s, o->buffer_size));
    if (s->count == 0)
        return RGM_END;
    i = (int64_t)rgm_rng_below(&rng, (uint64_t)s->drawn, (uint64_t)s->count);
    *out = s->slots[i].element;
    s->slots[i] = s->slots[--s->count];
    s->drawn++;
    return RGM_OK;
}

static rgm_status shuffle_save(rgm_text *out, const rgm_stage *stage)
{
    const shuffle_state *s = stage->state;
    int64_t m = mark_before(s, oldest_place(s));

    RGM_TRY(rgm_state_put_int(out, s->drawn));
    RGM_TRY(rgm_state_put_int(out, s->read));
    RGM_TRY(rgm_state_put_int(out, s->ended));
    RGM_TRY(rgm_state_put_int(out, m >= 0 ? s->marks[m].place : 0));
    RGM_TRY(rgm_state_put_bytes(out, m >= 0 ? s->marks[m].state.data : NULL,
                                m >= 0 ? s->marks[m].state.size : 0));
    RGM_TRY(rgm_state_put_int(out, s->count));
    RGM_TRY(RGM_RESERVE(out->data, out->capacity, out->size + 10 * s->count + 1));
    for (int64_t i = 0; i < s->count; i++)
        out->size +=
            rgmi_state_encode((uint8_t *)out->data + out->size, s->read - s->slots[i].place);
    out->data[out->size] = '\0';
    return RGM_OK;
}

static int by_place(const void *a, const void *b)
{
    const slot *x = *(slot *const *)a, *y = *(slot *const *)b;
    return (x->place > y->place) - (x->place < y->place);
}

/**
 * The most elements between a mark and what was read: a full buffer keeps an element for n draws
 * with probability 1/e, so one that waited for SPAN times n is a lie, told to make a restore read
 * for ever.
 */
static int64_t longest_span(const shuffle_state *s, int64_t buffer_size)
{
    enum { SPAN = 64 };
    return s->every + (buffer_size < RGM_STATE_MOST / SPAN ? SPAN * buffer_size : RGM_STATE_MOST);
}

/** Read the input from its present place up to `read`, filling the slots that wait for it. */
static rgm_status read_again(shuffle_state *s, slot **waiting, int64_t read, int64_t most)
{
    int64_t next = 0, elements = 0;

    while (s->read < read) {
        rgm_element *element;
        rgm_status status;

        RGM_TRY(take_mark(s));
        status = rgm_stage_next(&element, s->input);
        if (status > 0 && status != RGM_END)
            return status;
        elements += status == RGM_OK;
        if (elements > most) {
            rgm_element_release(element);
            return RGM_FAIL(RGM_ERR_FORMAT, "the saved position of shuffle reads %lld elements",
                            (long long)(read - s->read + elements - 1));
        }
        if (status == RGM_ERR_NOMEM)
            return rgm_error_trace(status, __FILE__, __LINE__, __func__);
        if (next < s->count && waiting[next]->place == s->read && status == RGM_OK) {
            waiting[next++]->element = element;
            element = NULL;
        }
        rgm_element_release(element);
        if (status == RGM_END)
            break;
        s->read++;
    }
    if (s->read < read || next < s->count)
        return RGM_FAIL(RGM_ERR_DATA,
                        "the data have changed since the position was saved: element "
                        "%lld is not there again",
                        (long long)(next < s->count ? waiting[next]->place : s->read));
    return RGM_OK;
}

/** A saved position; the slots follow it. */
typedef struct shuffle_position {
    int64_t drawn, read, ended;
    int64_t mark; /* place of the state that the input is restored from */
    rgm_state_reader input;
    int64_t count; /* of slots */
} shuffle_position;

static rgm_status get_position(shuffle_position *p, const shuffle_state *s, rgm_state_reader *state,
                               int64_t buffer_size)
{
    RGM_TRY(rgm_state_get_count(&p->read, state, RGM_STATE_MOST, "shuffle's input"));
    RGM_TRY(rgm_state_get_count(&p->ended, state, 1, "the end of shuffle's input"));
    RGM_TRY(rgm_state_get_count(&p->mark, state, p->read, "shuffle's oldest element"));
    RGM_TRY(rgm_state_get_bytes(&p->input.data, &p->input.size, state));
    RGM_TRY(rgm_state_get_count(&p->count, state, buffer_size, "shuffle's buffer"));
    if (p->mark % s->every != 0 || (p->mark > 0) != (p->input.size > 0) ||
        p->count > state->size - state->at || p->drawn > p->read - p->count)
        return RGM_FAIL(RGM_ERR_FORMAT,
                        "the saved position of shuffle contradicts itself: %lld read, %lld of them "
                        "drawn, %lld in the buffer, the oldest behind %lld",
                        (long long)p->read, (long long)p->drawn, (long long)p->count,
                        (long long)p->mark);
    return RGM_OK;
}

static rgm_status get_slots(shuffle_state *s, const shuffle_position *p, rgm_state_reader *state)
{
    RGM_TRY(RGM_RESERVE(s->slots, s->capacity, p->count));
    for (; s->count < p->count; s->count++) {
        int64_t back;
        RGM_TRY(rgm_state_get_count(&back, state, p->read - p->mark, "an element of shuffle"));
        s->slots[s->count] = (slot){NULL, p->read - back};
    }
    return RGM_OK;
}

static rgm_status shuffle_restore(rgm_stage *stage, rgm_state_reader *state)
{
    rgm_status status = RGM_OK;
    shuffle_state *s = stage->state;
    const shuffle_options *o = rgm_stage_options(stage);
    shuffle_position p = {0};
    slot **waiting = NULL;

    RGM_GO(rgm_state_get_count(&p.drawn, state, RGM_STATE_MOST, "shuffle"));
    RGM_GO(get_position(&p, s, state, o->buffer_size));
    RGM_GO(get_slots(s, &p, state));
    if (p.input.size > 0)
        RGM_GO(rgmi_stage_restore_part(s->input, p.input));
    s->drawn = p.drawn;
    s->read = p.mark;
    RGM_GO(RGM_NEW(waiting, s->count));
    for (int64_t i = 0; i < s->count; i++)
        waiting[i] = &s->slots[i];
    qsort(waiting, (size_t)s->count, sizeof *waiting, by_place);
    RGM_GO(read_again(s, waiting, p.read, longest_span(s, o->buffer_size)));
    s->ended = p.ended != 0;
    if (s->ended)
        RGM_GO(take_mark(s)); /* as fill() did before it met the end */
done:
    rgm_free(waiting);
    return status;
}

static void shuffle_close(rgm_stage *stage)
{
    shuffle_state *s = stage->state;

    for (int64_t i = 0; i < s->count; i++)
        rgm_element_release(s->slots[i].element);
    for (int64_t m = 0; m < s->mark_count; m++)
        rgm_text_clear(&s->marks[m].state);
    rgm_free(s->slots);
    rgm_free(s->marks);
    rgm_stage_close(s->input);
}

static int64_t input_count(const rgm_dataset *dataset)
{
    return rgm_dataset_count(dataset->inputs[0]);
}

static int64_t shuffle_state_bytes(const rgm_dataset *dataset)
{
    return 2 * ((const shuffle_options *)dataset->options)->buffer_size;
}

static rgm_status shuffle_print(rgm_text *out, const void *options)
{
    return rgm_text_printf(out, "%lld", (long long)((const shuffle_options *)options)->buffer_size);
}

static const rgm_dataset_type shuffle_type = {
    .name = "shuffle",
    .options_size = sizeof(shuffle_options),
    .state_size = sizeof(shuffle_state),
    .open = shuffle_open,
    .next = shuffle_next,
    .save = shuffle_save,
    .restore = shuffle_restore,
    .close = shuffle_close,
    .count = input_count,
    .state_bytes = shuffle_state_bytes,
    .print = shuffle_print,
};

rgm_status rgm_dataset_shuffle(rgm_dataset **dataset, int64_t buffer_size)
{
    shuffle_options o = {buffer_size};

    if (buffer_size < 1)
        return RGM_FAIL(RGM_ERR_ARG, "shuffle: a buffer of %lld elements", (long long)buffer_size);
    return rgmi_dataset_extend(dataset, &shuffle_type, &o);
}

/* ---- shuffle_all ----------------------------------------------------------------------------- */

typedef struct permute_state {
    rgm_stage *input;
    int64_t *order; /* [count] made by the first next */
    int64_t count;
    int64_t next;
} permute_state;

static rgm_status permute_open(rgm_stage *stage)
{
    permute_state *s = stage->state;

    s->count = input_count(stage->dataset);
    return rgm_stage_open(&s->input, stage, stage->dataset->inputs[0], 0, stage->epoch);
}

static rgm_status permute_next(rgm_element **out, rgm_stage *stage)
{
    permute_state *s = stage->state;

    if (s->next >= s->count)
        return RGM_END;
    if (s->order == NULL) {
        rgm_rng rng = rgm_stage_rng(stage, 0);
        RGM_TRY(RGM_NEW(s->order, s->count));
        rgm_rng_permutation(&rng, s->order, s->count);
    }
    return rgm_stage_at(out, s->input, s->order[s->next++]);
}

static rgm_status permute_save(rgm_text *out, const rgm_stage *stage)
{
    return rgm_state_put_int(out, ((const permute_state *)stage->state)->next);
}

static rgm_status permute_restore(rgm_stage *stage, rgm_state_reader *state)
{
    permute_state *s = stage->state;

    return rgm_state_get_count(&s->next, state, s->count, "shuffle_all");
}

static void permute_close(rgm_stage *stage)
{
    permute_state *s = stage->state;

    rgm_free(s->order);
    rgm_stage_close(s->input);
}

static const rgm_dataset_type permute_type = {
    .name = "shuffle_all",
    .state_size = sizeof(permute_state),
    .open = permute_open,
    .next = permute_next,
    .save = permute_save,
    .restore = permute_restore,
    .close = permute_close,
    .count = input_count,
};

rgm_status rgm_dataset_shuffle_all(rgm_dataset **dataset)
{
    if (!rgmi_dataset_indexed(*dataset))
        return RGM_FAIL(RGM_ERR_UNSUPPORTED,
                        "shuffle_all needs elements that can be had by number; those of %s cannot: "
                        "use shuffle with a buffer",
                        (*dataset)->type->name);
    return rgmi_dataset_extend(dataset, &permute_type, NULL);
}

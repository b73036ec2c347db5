/*
 * interleave: each element of the input makes a dataset; some of them are open at once and give
 * their elements in turn. mix: elements of several inputs by chance.
 *
 * A slot is saved as the input's state from before its element, and its own dataset's state;
 * restoring reads that element again and makes the dataset anew.
 */
#include "data_internal.h"

typedef struct interleave_options {
    rgmi_payload payload;
    rgm_open_function *function;
    int64_t cycle_length, block_length;
} interleave_options;

typedef struct slot {
    rgm_stage *stage; /* NULL: empty                            */
    int64_t place;    /* of its element in the input            */
    rgm_text before;  /* the input's state before that element  */
} slot;

typedef struct interleave_state {
    rgm_stage *input;
    slot *slots; /* [cycle_length] */
    int64_t turn;
    int64_t given; /* in this turn */
    int64_t read;  /* places of the input */
    bool ended;
} interleave_state;

static rgm_status interleave_open(rgm_stage *stage)
{
    interleave_state *s = stage->state;
    const interleave_options *o = rgm_stage_options(stage);

    RGM_TRY(RGM_NEW(s->slots, o->cycle_length));
    return rgm_stage_open(&s->input, stage, stage->dataset->inputs[0], 0, stage->epoch);
}

/** The stage of the dataset that the element of place `place` makes. */
static rgm_status open_element(rgm_stage **out, rgm_stage *stage, const rgm_element *element,
                               int64_t place)
{
    const interleave_options *o = rgm_stage_options(stage);
    rgm_dataset *dataset = NULL;
    rgm_status status;

    *out = NULL;
    status = o->function(&dataset, element, o->payload.payload);
    if (status > 0)
        status = RGM_FAIL(RGM_ERR_ARG, "an open function returned the signal %d", status);
    if (status < 0)
        return rgmi_blame(rgm_error_trace(status, __FILE__, __LINE__, __func__), element);
    status = rgm_stage_open(out, stage, dataset, place + 1, stage->epoch);
    rgm_dataset_release(dataset);
    return status;
}

/** Open the input's next element in an empty slot. RGM_END when there is none. */
static rgm_status fill_slot(rgm_stage *stage, slot *into)
{
    rgm_status status = RGM_OK;
    interleave_state *s = stage->state;
    rgm_element *element = NULL;

    if (s->ended)
        return RGM_END;
    into->before.size = 0;
    RGM_GO(rgm_stage_save(&into->before, s->input));
    into->place = s->read;
    status = rgm_stage_next(&element, s->input);
    s->ended = status == RGM_END;
    s->read += status <= 0;
    if (status != RGM_OK)
        goto done;
    RGM_GO(open_element(&into->stage, stage, element, into->place));
done:
    rgm_element_release(element);
    return status;
}

static void next_turn(interleave_state *s, int64_t cycle_length)
{
    s->turn = (s->turn + 1) % cycle_length;
    s->given = 0;
}

static rgm_status interleave_next(rgm_element **out, rgm_stage *stage)
{
    interleave_state *s = stage->state;
    const interleave_options *o = rgm_stage_options(stage);
    int64_t empty = 0; /* slots seen empty one after the other */

    while (empty < o->cycle_length) {
        slot *at = &s->slots[s->turn];
        rgm_status status = at->stage != NULL ? RGM_OK : fill_slot(stage, at);

        if (status == RGM_END) {
            empty++;
            next_turn(s, o->cycle_length);
            continue;
        }
        RGM_TRY(status);
        empty = 0;
        status = rgm_stage_next(out, at->stage);
        if (status == RGM_END) {
            rgm_stage_close(at->stage);
            at->stage = NULL;
            continue;
        }
        if (status <= 0 && ++s->given >= o->block_length)
            next_turn(s, o->cycle_length);
        return status;
    }
    return RGM_END;
}

static rgm_status interleave_save(rgm_text *out, const rgm_stage *stage)
{
    rgm_status status = RGM_OK;
    const interleave_state *s = stage->state;
    const interleave_options *o = rgm_stage_options(stage);
    rgm_text inner = {0};

    RGM_GO(rgm_state_put_int(out, s->turn));
    RGM_GO(rgm_state_put_int(out, s->given));
    RGM_GO(rgm_state_put_int(out, s->read));
    RGM_GO(rgm_state_put_int(out, s->ended));
    for (int64_t i = 0; i < o->cycle_length; i++) {
        const slot *at = &s->slots[i];
        RGM_GO(rgm_state_put_int(out, at->stage != NULL ? at->place : -1));
        if (at->stage == NULL)
            continue;
        inner.size = 0;
        RGM_GO(rgm_stage_save(&inner, at->stage));
        RGM_GO(rgm_state_put_bytes(out, at->before.data, at->before.size));
        RGM_GO(rgm_state_put_bytes(out, inner.data, inner.size));
    }
    RGM_GO(rgm_stage_save(out, s->input));
done:
    rgm_text_clear(&inner);
    return status;
}

/** Read a slot's element again by a stage of the input that is only there for it. */
static rgm_status restore_slot(rgm_stage *stage, slot *at, rgm_state_reader *state)
{
    rgm_status status = RGM_OK;
    rgm_state_reader before = {0}, inner = {0};
    rgm_stage *input = NULL;
    rgm_element *element = NULL;

    RGM_GO(rgm_state_get_bytes(&before.data, &before.size, state));
    RGM_GO(rgm_state_get_bytes(&inner.data, &inner.size, state));
    RGM_GO(rgm_text_add(&at->before, before.data, before.size));
    RGM_GO(rgm_stage_open(&input, stage, stage->dataset->inputs[0], 0, stage->epoch));
    RGM_GO(rgmi_stage_restore_part(input, before));
    status = rgm_stage_next(&element, input);
    if (status == RGM_END)
        RGM_GO(RGM_FAIL(RGM_ERR_DATA, "the data have become shorter since the position was saved"));
    RGM_GO(status);
    RGM_GO(open_element(&at->stage, stage, element, at->place));
    RGM_GO(rgmi_stage_restore_part(at->stage, inner));
done:
    rgm_element_release(element);
    rgm_stage_close(input);
    return status;
}

static rgm_status interleave_restore(rgm_stage *stage, rgm_state_reader *state)
{
    interleave_state *s = stage->state;
    const interleave_options *o = rgm_stage_options(stage);
    int64_t ended;

    RGM_TRY(rgm_state_get_count(&s->turn, state, o->cycle_length - 1, "interleave"));
    RGM_TRY(rgm_state_get_count(&s->given, state, o->block_length, "a turn of interleave"));
    RGM_TRY(rgm_state_get_count(&s->read, state, RGM_STATE_MOST, "interleave's input"));
    RGM_TRY(rgm_state_get_count(&ended, state, 1, "the end of interleave's input"));
    s->ended = ended != 0;
    for (int64_t i = 0; i < o->cycle_length; i++) {
        int64_t place;

        RGM_TRY(rgm_state_get_int(&place, state));
        if (place < -1 || place >= s->read)
            return RGM_FAIL(RGM_ERR_FORMAT,
                            "the saved position of interleave names element %lld of %lld",
                            (long long)place, (long long)s->read);
        s->slots[i].place = place;
        if (place >= 0)
            RGM_TRY(restore_slot(stage, &s->slots[i], state));
    }
    return rgm_stage_restore(s->input, state);
}

static void interleave_close(rgm_stage *stage)
{
    interleave_state *s = stage->state;
    const interleave_options *o = rgm_stage_options(stage);

    for (int64_t i = 0; s->slots != NULL && i < o->cycle_length; i++) {
        rgm_stage_close(s->slots[i].stage);
        rgm_text_clear(&s->slots[i].before);
    }
    rgm_free(s->slots);
    rgm_stage_close(s->input);
}

static int64_t interleave_state_bytes(const rgm_dataset *dataset)
{
    const interleave_options *o = dataset->options;
    return o->cycle_length * (64 + rgmi_dataset_state_bytes(dataset->inputs[0]));
}

static void interleave_clear(void *options)
{
    rgmi_payload_clear(&((interleave_options *)options)->payload);
}

static rgm_status interleave_print(rgm_text *out, const void *options)
{
    const interleave_options *o = options;
    return rgm_text_printf(out, "%lld x %lld", (long long)o->cycle_length,
                           (long long)o->block_length);
}

#define INTERLEAVE                                                                                 \
    .options_size = sizeof(interleave_options), .state_size = sizeof(interleave_state),            \
    .open = interleave_open, .next = interleave_next, .save = interleave_save,                     \
    .restore = interleave_restore, .close = interleave_close,                                      \
    .state_bytes = interleave_state_bytes, .clear = interleave_clear, .print = interleave_print

static const rgm_dataset_type interleave_type = {.name = "interleave", INTERLEAVE};
static const rgm_dataset_type read_type = {.name = "read_tfrecords", INTERLEAVE};

static rgm_status extend(rgm_dataset **dataset, const rgm_dataset_type *type,
                         const interleave_options *o)
{
    if (o->cycle_length < 1 || o->block_length < 1)
        return RGM_FAIL(RGM_ERR_ARG, "%s: cycle_length is %lld, block_length %lld", type->name,
                        (long long)o->cycle_length, (long long)o->block_length);
    return rgmi_dataset_extend(dataset, type, o);
}

rgm_status rgm_dataset_interleave(rgm_dataset **dataset, rgm_open_function *function, void *payload,
                                  void (*release)(void *payload), int64_t cycle_length,
                                  int64_t block_length)
{
    interleave_options o = {{payload, release}, function, cycle_length, block_length};
    return extend(dataset, &interleave_type, &o);
}

static rgm_status open_path(rgm_dataset **out, const rgm_element *element, void *payload)
{
    int64_t size;
    const char *path = rgm_element_bytes(element, &size); /* terminated, see create_bytes */

    if (path == NULL)
        return RGM_FAIL(RGM_ERR_DATA, "read_tfrecords takes paths");
    return rgm_dataset_tfrecord(out, path, payload);
}

rgm_status rgm_dataset_read_tfrecords(rgm_dataset **dataset,
                                      const rgm_read_tfrecords_options *options)
{
    rgm_status status = RGM_OK;
    rgm_read_tfrecords_options o = RGM_READ_TFRECORDS_OPTIONS_INIT;
    rgm_tfrecord_options *copy = NULL;

    if (options != NULL)
        o = *options;
    RGM_GO(RGM_NEW(copy, 1));
    *copy = o.tfrecord;
    RGM_GO(
        extend(dataset, &read_type,
               &(interleave_options){{copy, rgm_free}, open_path, o.cycle_length, o.block_length}));
    copy = NULL;
done:
    rgm_free(copy);
    return status;
}

/*
 * Recipes and the stages that run them: what is common to all ops. An op is a row of functions
 * (rgm_dataset_type); the rows are in dataset_sources.c, dataset_take.c, dataset_map.c and so on.
 */
#include "data_internal.h"

/* ---- recipes --------------------------------------------------------------------------------- */

rgm_status rgm_dataset_create(rgm_dataset **out, const rgm_dataset_type *type, const void *options,
                              rgm_dataset *const *inputs, int64_t input_count)
{
    rgm_status status = RGM_OK;
    rgm_dataset *dataset = NULL;

    *out = NULL;
    RGM_GO(RGM_NEW(dataset, 1));
    RGM_GO(RGM_NEW(dataset->inputs, input_count));
    dataset->options = rgm_malloc(type->options_size);
    if (dataset->options == NULL)
        RGM_GO(RGM_FAIL(RGM_ERR_NOMEM, "out of memory for the options of %s", type->name));
    if (type->options_size > 0)
        memcpy(dataset->options, options, type->options_size);
    atomic_init(&dataset->references, 1);
    dataset->type = type;
    dataset->input_count = input_count;
    dataset->depth = 1;
    for (int64_t i = 0; i < input_count; i++) {
        dataset->inputs[i] = rgm_dataset_retain(inputs[i]);
        if (inputs[i]->depth >= dataset->depth)
            dataset->depth = inputs[i]->depth + 1;
    }
    *out = dataset;
    dataset = NULL;
done:
    if (dataset != NULL) {
        rgm_free(dataset->inputs);
        rgm_free(dataset);
    }
    return status;
}

rgm_dataset *rgm_dataset_retain(const rgm_dataset *dataset)
{
    rgm_dataset *own = (rgm_dataset *)dataset;

    if (own != NULL)
        atomic_fetch_add_explicit(&own->references, 1, memory_order_relaxed);
    return own;
}

void rgm_dataset_release(rgm_dataset *dataset)
{
    if (dataset == NULL ||
        atomic_fetch_sub_explicit(&dataset->references, 1, memory_order_acq_rel) > 1)
        return;
    if (dataset->type->clear != NULL)
        dataset->type->clear(dataset->options);
    for (int64_t i = 0; i < dataset->input_count; i++)
        rgm_dataset_release(dataset->inputs[i]);
    rgm_free(dataset->inputs);
    rgm_free(dataset->options);
    rgm_free(dataset);
}

rgm_status rgmi_dataset_extend(rgm_dataset **dataset, const rgm_dataset_type *type,
                               const void *options)
{
    rgm_dataset *longer;

    RGM_TRY(rgm_dataset_create(&longer, type, options, dataset, 1));
    rgm_dataset_release(*dataset);
    *dataset = longer;
    return RGM_OK;
}

const rgm_dataset_type *rgm_dataset_get_type(const rgm_dataset *dataset)
{
    return dataset->type;
}

const void *rgm_dataset_options(const rgm_dataset *dataset)
{
    return dataset->options;
}

rgm_dataset *rgm_dataset_input(const rgm_dataset *dataset, int64_t i)
{
    return i >= 0 && i < dataset->input_count ? dataset->inputs[i] : NULL;
}

int64_t rgm_dataset_count(const rgm_dataset *dataset)
{
    return dataset->type->count != NULL ? dataset->type->count(dataset) : -1;
}

int64_t rgm_dataset_pass(const rgm_dataset *dataset)
{
    static const char *const through[] = {"prefetch", "map", "cache", "repeat"};
    int64_t count = rgm_dataset_count(dataset);

    if (count != INT64_MAX)
        return count;
    for (int i = 0; i < (int)(sizeof through / sizeof *through); i++)
        if (strcmp(dataset->type->name, through[i]) == 0)
            return rgm_dataset_pass(dataset->inputs[0]);
    return count;
}

bool rgmi_dataset_indexed(const rgm_dataset *dataset)
{
    int64_t count = rgm_dataset_count(dataset);

    if (dataset->type->at == NULL || count < 0 || count == INT64_MAX)
        return false;
    for (int64_t i = 0; i < dataset->input_count; i++)
        if (!rgmi_dataset_indexed(dataset->inputs[i]))
            return false;
    return true;
}

int64_t rgmi_dataset_state_bytes(const rgm_dataset *dataset)
{
    int64_t bytes = 16;

    if (dataset->type->state_bytes != NULL)
        bytes += dataset->type->state_bytes(dataset);
    for (int64_t i = 0; i < dataset->input_count; i++)
        bytes += rgmi_dataset_state_bytes(dataset->inputs[i]);
    return bytes;
}

rgm_status rgm_dataset_print(rgm_text *out, const rgm_dataset *dataset)
{
    const char *between = dataset->input_count > 1 ? " + " : "";

    if (dataset->input_count > 1)
        RGM_TRY(rgm_text_add(out, "[", 1));
    for (int64_t i = 0; i < dataset->input_count; i++) {
        if (i > 0)
            RGM_TRY(rgm_text_printf(out, "%s", between));
        RGM_TRY(rgm_dataset_print(out, dataset->inputs[i]));
    }
    RGM_TRY(rgm_text_printf(out, "%s%s(",
                            dataset->input_count > 1   ? "] | "
                            : dataset->input_count > 0 ? " | "
                                                       : "",
                            dataset->type->name));
    if (dataset->type->print != NULL)
        RGM_TRY(dataset->type->print(out, dataset->options));
    return rgm_text_add(out, ")", 1);
}

/* ---- stages ---------------------------------------------------------------------------------- */

/** Numbers that name a stage, in this order, hashed: equal on every machine. */
static uint64_t mix(uint64_t a, uint64_t b, uint64_t c)
{
    uint64_t numbers[3] = {a, b, c};
    return rgm_hash64(numbers, sizeof numbers);
}

static bool is_input(const rgm_dataset *parent, const rgm_dataset *dataset)
{
    for (int64_t i = 0; i < parent->input_count; i++)
        if (parent->inputs[i] == dataset)
            return true;
    return false;
}

/* Whether its elements have the places that those of its input have. */
static bool keeps_places(const rgm_dataset *dataset)
{
    return dataset->type->keeps_places != NULL && dataset->type->keeps_places(dataset);
}

rgm_status rgmi_stage_create(rgm_stage **out, rgmi_tree *tree, rgm_stage *parent,
                             const rgm_dataset *dataset, int64_t place, uint64_t epoch)
{
    rgm_status status = RGM_OK;
    rgm_stage *stage = NULL;

    *out = NULL;
    RGM_GO(RGM_NEW(stage, 1));
    stage->state = rgm_calloc(1, dataset->type->state_size);
    if (stage->state == NULL) {
        rgm_free(stage);
        stage = NULL;
        RGM_GO(RGM_FAIL(RGM_ERR_NOMEM, "out of memory for the state of %s", dataset->type->name));
    }
    stage->tree = tree;
    stage->dataset = rgm_dataset_retain(dataset);
    stage->branch = parent != NULL ? parent->branch : 0;
    if (place != 0)
        stage->branch = mix(stage->branch, (uint64_t)place,
                            parent != NULL ? (uint64_t)parent->dataset->depth : 0);
    stage->dynamic = parent != NULL && (parent->dynamic || !is_input(parent->dataset, dataset));
    stage->aligned = parent == NULL || (parent->aligned && keeps_places(parent->dataset));
    stage->base = stage->opens = parent != NULL ? parent->opens : 0;
    stage->epoch = epoch;
    stage->rng =
        rgm_rng_stream(mix(tree->seed, epoch, mix(stage->branch, (uint64_t)dataset->depth, 0)),
                       dataset->type->name, 0);
    RGM_GO(dataset->type->open(stage));
    *out = stage;
    stage = NULL;
done:
    rgm_stage_close(stage);
    return status;
}

rgm_status rgm_stage_open(rgm_stage **out, rgm_stage *parent, const rgm_dataset *dataset,
                          int64_t place, uint64_t epoch)
{
    return rgmi_stage_create(out, parent->tree, parent, dataset, place, epoch);
}

void rgm_stage_close(rgm_stage *stage)
{
    if (stage == NULL)
        return;
    if (stage->dataset->type->close != NULL)
        stage->dataset->type->close(stage);
    rgm_dataset_release(stage->dataset);
    rgm_free(stage->state);
    rgm_free(stage);
}

rgm_status rgm_stage_next(rgm_element **out, rgm_stage *stage)
{
    *out = NULL;
    if (rgm_stage_stopped(stage))
        return RGM_STOPPED;
    return stage->dataset->type->next(out, stage);
}

rgm_status rgm_stage_skip(rgm_stage *stage)
{
    rgm_element *element;
    rgm_status status;

    if (rgm_stage_stopped(stage))
        return RGM_STOPPED;
    if (stage->dataset->type->skip != NULL)
        return stage->dataset->type->skip(stage);
    status = stage->dataset->type->next(&element, stage);
    if (status == RGM_OK)
        rgm_element_release(element);
    return status;
}

rgm_status rgm_stage_at(rgm_element **out, rgm_stage *stage, int64_t i)
{
    *out = NULL;
    if (stage->dataset->type->at == NULL)
        return RGM_FAIL(RGM_ERR_UNSUPPORTED, "%s has no order of its own to pick from",
                        stage->dataset->type->name);
    return stage->dataset->type->at(out, stage, i);
}

rgm_status rgm_stage_save(rgm_text *out, const rgm_stage *stage)
{
    return stage->dataset->type->save(out, stage);
}

rgm_status rgm_stage_restore(rgm_stage *stage, rgm_state_reader *state)
{
    return stage->dataset->type->restore(stage, state);
}

rgm_status rgmi_stage_restore_part(rgm_stage *stage, rgm_state_reader part)
{
    RGM_TRY(rgm_stage_restore(stage, &part));
    if (part.at != part.size)
        return RGM_FAIL(RGM_ERR_FORMAT, "the saved position of %s has %lld bytes too many",
                        stage->dataset->type->name, (long long)(part.size - part.at));
    return RGM_OK;
}

const void *rgm_stage_options(const rgm_stage *stage)
{
    return stage->dataset->options;
}

void *rgm_stage_state(const rgm_stage *stage)
{
    return stage->state;
}

rgm_dataset *rgm_stage_dataset(const rgm_stage *stage)
{
    return stage->dataset;
}

rgm_rng rgm_stage_rng(const rgm_stage *stage, uint64_t step)
{
    rgm_rng rng = stage->rng;
    rng.step = step;
    return rng;
}

bool rgm_stage_stopped(const rgm_stage *stage)
{
    return atomic_load_explicit(&stage->tree->stop, memory_order_relaxed) ||
           atomic_load_explicit(stage->tree->user_stop, memory_order_relaxed);
}

/* ---- saved states ---------------------------------------------------------------------------- */

int rgmi_state_encode(uint8_t bytes[10], int64_t number)
{
    uint64_t v = ((uint64_t)number << 1) ^ (uint64_t)(number < 0 ? -1 : 0);
    int size = 0;

    for (; v >= 0x80; v >>= 7)
        bytes[size++] = (uint8_t)(v | 0x80);
    bytes[size++] = (uint8_t)v;
    return size;
}

rgm_status rgm_state_put_int(rgm_text *out, int64_t number)
{
    uint8_t bytes[10];
    int size = rgmi_state_encode(bytes, number);

    return rgm_text_add(out, bytes, size);
}

rgm_status rgm_state_put_bytes(rgm_text *out, const void *data, int64_t size)
{
    RGM_TRY(rgm_state_put_int(out, size));
    return rgm_text_add(out, data, size);
}

rgm_status rgm_state_get_int(int64_t *out, rgm_state_reader *reader)
{
    uint64_t v = 0;

    *out = 0;
    for (int shift = 0; shift < 64; shift += 7) {
        uint8_t byte;
        if (reader->at >= reader->size)
            return RGM_FAIL(RGM_ERR_FORMAT, "the saved position is cut short at byte %lld",
                            (long long)reader->at);
        byte = reader->data[reader->at++];
        v |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            *out = (int64_t)(v >> 1 ^ (0 - (v & 1)));
            return RGM_OK;
        }
    }
    return RGM_FAIL(RGM_ERR_FORMAT, "the saved position has a number of more than 10 bytes");
}

rgm_status rgm_state_get_count(int64_t *out, rgm_state_reader *reader, int64_t most,
                               const char *what)
{
    int64_t number;

    *out = 0;
    RGM_TRY(rgm_state_get_int(&number, reader));
    if (number < 0 || number > most)
        return RGM_FAIL(RGM_ERR_FORMAT, "the saved position of %s is %lld of at most %lld", what,
                        (long long)number, (long long)most);
    *out = number;
    return RGM_OK;
}

rgm_status rgm_state_get_bytes(const uint8_t **data, int64_t *size, rgm_state_reader *reader)
{
    *data = NULL;
    RGM_TRY(rgm_state_get_int(size, reader));
    if (*size < 0 || *size > reader->size - reader->at)
        return RGM_FAIL(RGM_ERR_FORMAT,
                        "the saved position holds a part of %lld bytes, %lld are left",
                        (long long)*size, (long long)(reader->size - reader->at));
    *data = reader->data + reader->at;
    reader->at += *size;
    return RGM_OK;
}

/* ---- running ahead --------------------------------------------------------------------------- */

/** Taking a state costs some copying; spread out so that it is at most this for one element. */
enum { BYTES_PER_PLACE = 256 };

void rgmi_lookahead_init(rgmi_lookahead *ahead, const rgm_dataset *input)
{
    *ahead = (rgmi_lookahead){.every = 1 + rgmi_dataset_state_bytes(input) / BYTES_PER_PLACE};
}

void rgmi_lookahead_clear(rgmi_lookahead *ahead)
{
    rgm_text_clear(&ahead->snapshot);
}

void rgmi_lookahead_consume(rgmi_lookahead *ahead, rgm_text *snapshot)
{
    ahead->consumed++;
    if (snapshot->data == NULL)
        return;
    rgm_text_clear(&ahead->snapshot);
    ahead->snapshot = *snapshot;
    ahead->snapshot_place = ahead->consumed;
    *snapshot = (rgm_text){0};
}

rgm_status rgmi_lookahead_skip(rgmi_lookahead *ahead, rgm_stage *input)
{
    rgm_text snapshot = {0};
    rgm_status status = rgm_stage_skip(input);

    if (status > 0)
        return status;
    /* Without memory for it a restore replays from the one before. */
    if (rgmi_lookahead_due(ahead, ahead->consumed + 1) &&
        rgm_stage_save(&snapshot, input) != RGM_OK)
        rgm_text_clear(&snapshot);
    rgmi_lookahead_consume(ahead, &snapshot);
    return status;
}

rgm_status rgmi_lookahead_save(rgm_text *out, const rgmi_lookahead *ahead)
{
    if (ahead->consumed - ahead->snapshot_place >= ahead->every)
        return RGM_FAIL(RGM_ERR_NOMEM,
                        "there was no memory for keeping the position of element "
                        "%lld: save again a little later",
                        (long long)(ahead->consumed - ahead->consumed % ahead->every));
    RGM_TRY(rgm_state_put_int(out, ahead->consumed));
    RGM_TRY(rgm_state_put_int(out, ahead->snapshot_place));
    return rgm_state_put_bytes(out, ahead->snapshot.data, ahead->snapshot.size);
}

rgm_status rgmi_stage_replay(rgm_stage *input, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        rgm_status status = rgm_stage_skip(input);

        if (status == RGM_END)
            return RGM_FAIL(RGM_ERR_DATA,
                            "the data have become shorter since the position was saved: "
                            "%lld more elements were expected",
                            (long long)(count - i));
        if (status == RGM_STOPPED || status == RGM_ERR_NOMEM)
            return rgm_error_trace(status, __FILE__, __LINE__, __func__);
    }
    return RGM_OK;
}

rgm_status rgmi_lookahead_restore(rgmi_lookahead *ahead, rgm_stage *input, rgm_state_reader *state)
{
    rgm_state_reader inner = {0};
    int64_t consumed, place;

    RGM_TRY(rgm_state_get_count(&consumed, state, RGM_STATE_MOST, "what runs ahead"));
    RGM_TRY(rgm_state_get_int(&place, state));
    RGM_TRY(rgm_state_get_bytes(&inner.data, &inner.size, state));
    /* Only this snapshot: another one would mean to read again for as long as somebody likes. */
    if (place != consumed - consumed % ahead->every || (place > 0) != (inner.size > 0))
        return RGM_FAIL(RGM_ERR_FORMAT, "the saved position contradicts itself: %lld of %lld",
                        (long long)place, (long long)consumed);
    rgm_text_clear(&ahead->snapshot);
    if (inner.size > 0) {
        RGM_TRY(rgm_text_add(&ahead->snapshot, inner.data, inner.size));
        input->restored_at = input->base + place;
        RGM_TRY(rgmi_stage_restore_part(input, inner));
    }
    RGM_TRY(rgmi_stage_replay(input, consumed - place));
    ahead->consumed = consumed;
    ahead->snapshot_place = place;
    return RGM_OK;
}

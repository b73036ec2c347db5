/*
 * Ops that pass elements on as they are: take, skip, shard, repeat, filter; and batch, which puts
 * them into lists.
 */
#include "data_internal.h"

/** State of an op with one input and a count. */
typedef struct counting {
    rgm_stage *input;
    int64_t count;
} counting;

typedef struct number_options {
    int64_t number;
} number_options;

static rgm_status counting_open(rgm_stage *stage)
{
    counting *s = stage->state;
    return rgm_stage_open(&s->input, stage, rgm_dataset_input(stage->dataset, 0), 0, stage->epoch);
}

static void counting_close(rgm_stage *stage)
{
    rgm_stage_close(((counting *)stage->state)->input);
}

static rgm_status counting_save(rgm_text *out, const rgm_stage *stage)
{
    const counting *s = stage->state;

    RGM_TRY(rgm_state_put_int(out, s->count));
    return rgm_stage_save(out, s->input);
}

static rgm_status counting_restore(rgm_stage *stage, rgm_state_reader *state)
{
    counting *s = stage->state;

    RGM_TRY(rgm_state_get_count(&s->count, state, RGM_STATE_MOST, stage->dataset->type->name));
    return rgm_stage_restore(s->input, state);
}

static rgm_status number_print(rgm_text *out, const void *options)
{
    return rgm_text_printf(out, "%lld", (long long)((const number_options *)options)->number);
}

static int64_t number_of(const rgm_dataset *dataset)
{
    return ((const number_options *)dataset->options)->number;
}

static int64_t input_count(const rgm_dataset *dataset)
{
    return rgm_dataset_count(dataset->inputs[0]);
}

#define COUNTING                                                                                   \
    .state_size = sizeof(counting), .open = counting_open, .save = counting_save,                  \
    .restore = counting_restore, .close = counting_close
#define NUMBER .options_size = sizeof(number_options), .print = number_print

static rgm_status extend_by_number(rgm_dataset **dataset, const rgm_dataset_type *type,
                                   int64_t number, int64_t lowest)
{
    number_options o = {number};

    if (number < lowest)
        return RGM_FAIL(RGM_ERR_ARG, "%s(%lld); %lld is the least", type->name, (long long)number,
                        (long long)lowest);
    return rgmi_dataset_extend(dataset, type, &o);
}

/* ---- take ------------------------------------------------------------------------------------ */

static rgm_status take_next(rgm_element **out, rgm_stage *stage)
{
    counting *s = stage->state;
    rgm_status status;

    if (s->count >= number_of(stage->dataset))
        return RGM_END;
    status = rgm_stage_next(out, s->input);
    s->count += status <= 0;
    return status;
}

static int64_t take_count(const rgm_dataset *dataset)
{
    int64_t count = input_count(dataset), number = number_of(dataset);
    return count < 0 ? -1 : count < number ? count : number;
}

static rgm_status take_at(rgm_element **out, rgm_stage *stage, int64_t i)
{
    if (i >= number_of(stage->dataset))
        return RGM_FAIL(RGM_ERR_ARG, "element %lld of %lld", (long long)i,
                        (long long)number_of(stage->dataset));
    return rgm_stage_at(out, ((counting *)stage->state)->input, i);
}

static const rgm_dataset_type take_type = {
    .name = "take", NUMBER, COUNTING, .next = take_next, .count = take_count, .at = take_at};

rgm_status rgm_dataset_take(rgm_dataset **dataset, int64_t count)
{
    return extend_by_number(dataset, &take_type, count, 0);
}

/* ---- skip ------------------------------------------------------------------------------------ */

/** An error among the skipped elements is passed on, and skipping continues after it. */
static rgm_status skip_next(rgm_element **out, rgm_stage *stage)
{
    counting *s = stage->state;

    while (s->count < number_of(stage->dataset)) {
        rgm_element *element;
        rgm_status status = rgm_stage_next(&element, s->input);

        s->count += status <= 0;
        if (status != RGM_OK)
            return status;
        rgm_element_release(element);
    }
    return rgm_stage_next(out, s->input);
}

static int64_t skip_count(const rgm_dataset *dataset)
{
    int64_t count = input_count(dataset), number = number_of(dataset);
    return count < 0 || count == INT64_MAX ? count : count < number ? 0 : count - number;
}

static rgm_status skip_at(rgm_element **out, rgm_stage *stage, int64_t i)
{
    return rgm_stage_at(out, ((counting *)stage->state)->input, i + number_of(stage->dataset));
}

static const rgm_dataset_type skip_type = {
    .name = "skip", NUMBER, COUNTING, .next = skip_next, .count = skip_count, .at = skip_at};

rgm_status rgm_dataset_skip(rgm_dataset **dataset, int64_t count)
{
    return extend_by_number(dataset, &skip_type, count, 0);
}

/* ---- shard ----------------------------------------------------------------------------------- */

typedef struct shard_options {
    int64_t count, index;
} shard_options;

/** Errors in the places of other shards are theirs to report. */
static rgm_status shard_next(rgm_element **out, rgm_stage *stage)
{
    counting *s = stage->state;
    const shard_options *o = rgm_stage_options(stage);

    for (;;) {
        rgm_status status = rgm_stage_next(out, s->input);

        if (status > 0)
            return status;
        if (s->count++ % o->count == o->index)
            return status;
        rgm_element_release(*out);
        *out = NULL;
    }
}

static int64_t shard_count(const rgm_dataset *dataset)
{
    const shard_options *o = dataset->options;
    int64_t count = input_count(dataset);

    if (count < 0 || count == INT64_MAX)
        return count;
    return count / o->count + (o->index < count % o->count);
}

static rgm_status shard_at(rgm_element **out, rgm_stage *stage, int64_t i)
{
    const shard_options *o = rgm_stage_options(stage);
    return rgm_stage_at(out, ((counting *)stage->state)->input, o->index + i * o->count);
}

static rgm_status shard_print(rgm_text *out, const void *options)
{
    const shard_options *o = options;
    return rgm_text_printf(out, "%lld of %lld", (long long)o->index, (long long)o->count);
}

static const rgm_dataset_type shard_type = {.name = "shard",
                                            .options_size = sizeof(shard_options),
                                            COUNTING,
                                            .next = shard_next,
                                            .count = shard_count,
                                            .at = shard_at,
                                            .print = shard_print};

rgm_status rgm_dataset_shard(rgm_dataset **dataset, int64_t count, int64_t index)
{
    shard_options o = {count, index};

    if (count < 1 || index < 0 || index >= count)
        return RGM_FAIL(RGM_ERR_ARG, "shard %lld of %lld", (long long)index, (long long)count);
    return rgmi_dataset_extend(dataset, &shard_type, &o);
}

/* ---- filter ---------------------------------------------------------------------------------- */

typedef struct filter_options {
    rgmi_payload payload;
    rgm_filter_function *function;
} filter_options;

static rgm_status filter_next(rgm_element **out, rgm_stage *stage)
{
    counting *s = stage->state;
    const filter_options *o = rgm_stage_options(stage);

    for (;;) {
        rgm_element *element;
        bool keep = false;
        rgm_status status;

        RGM_TRY(rgm_stage_next(&element, s->input));
        s->count++;
        status = o->function(&keep, element, o->payload.payload);
        if (status == RGM_OK && keep) {
            *out = element;
            return RGM_OK;
        }
        if (status > 0)
            status = RGM_FAIL(RGM_ERR_ARG, "a filter function returned the signal %d", status);
        rgmi_blame(status, element);
        rgm_element_release(element);
        RGM_TRY(status);
    }
}

static void filter_clear(void *options)
{
    rgmi_payload_clear(&((filter_options *)options)->payload);
}

static const rgm_dataset_type filter_type = {.name = "filter",
                                             .options_size = sizeof(filter_options),
                                             COUNTING,
                                             .next = filter_next,
                                             .clear = filter_clear};

rgm_status rgm_dataset_filter(rgm_dataset **dataset, rgm_filter_function *function, void *payload,
                              void (*release)(void *payload))
{
    filter_options o = {{payload, release}, function};
    return rgmi_dataset_extend(dataset, &filter_type, &o);
}

/* ---- batch ----------------------------------------------------------------------------------- */

typedef struct batch_options {
    int64_t size;
    bool drop_remainder;
} batch_options;

/**
 * The next elements, up to o->size; an error costs those that were collected before it. Room is
 * made as they come: a size says nothing of how many there are.
 */
static rgm_status collect(rgm_element ***items, int64_t *count, rgm_stage *input, int64_t size)
{
    int64_t capacity = 0;

    for (*count = 0; *count < size; ++*count) {
        rgm_status status;

        RGM_TRY(RGM_RESERVE(*items, capacity, *count + 1));
        status = rgm_stage_next(&(*items)[*count], input);
        if (status == RGM_END && *count > 0)
            return RGM_OK;
        RGM_TRY(status);
    }
    return RGM_OK;
}

static rgm_status batch_next(rgm_element **out, rgm_stage *stage)
{
    rgm_status status = RGM_OK;
    counting *s = stage->state;
    const batch_options *o = rgm_stage_options(stage);
    rgm_element **items = NULL;
    int64_t count = 0;

    RGM_GO(collect(&items, &count, s->input, o->size));
    if (count < o->size && o->drop_remainder)
        status = RGM_END;
    else
        RGM_GO(rgm_element_create_list(out, items, count));
    s->count++;
done:
    for (int64_t i = 0; items != NULL && i < count; i++)
        rgm_element_release(items[i]);
    rgm_free(items);
    return status;
}

static int64_t batch_count(const rgm_dataset *dataset)
{
    const batch_options *o = dataset->options;
    int64_t count = input_count(dataset);

    if (count < 0 || count == INT64_MAX)
        return count;
    return count / o->size + (!o->drop_remainder && count % o->size > 0);
}

static rgm_status batch_print(rgm_text *out, const void *options)
{
    const batch_options *o = options;
    return rgm_text_printf(out, "%lld%s", (long long)o->size,
                           o->drop_remainder ? ", whole ones" : "");
}

static const rgm_dataset_type batch_type = {.name = "batch",
                                            .options_size = sizeof(batch_options),
                                            COUNTING,
                                            .next = batch_next,
                                            .count = batch_count,
                                            .print = batch_print};

rgm_status rgm_dataset_batch(rgm_dataset **dataset, int64_t size, bool drop_remainder)
{
    batch_options o = {size, drop_remainder};

    if (size < 1)
        return RGM_FAIL(RGM_ERR_ARG, "batches of %lld elements", (long long)size);
    return rgmi_dataset_extend(dataset, &batch_type, &o);
}

/* ---- repeat ---------------------------------------------------------------------------------- */

typedef struct repeat_state {
    rgm_stage *input; /* of the epoch `count`; NULL between two epochs */
    int64_t count;    /* epochs completed                              */
    int64_t total;    /* elements given, in all epochs                 */
    bool given;       /* this epoch has given something                */
} repeat_state;

static rgm_status repeat_open(rgm_stage *stage)
{
    (void)stage;
    return RGM_OK;
}

/** The epoch that ops below see: counted from 0 in a repeat that is in epoch 0 itself. */
static uint64_t inner_epoch(const rgm_stage *stage, int64_t count)
{
    uint64_t both[2] = {stage->epoch, (uint64_t)count};
    return stage->epoch == 0 ? (uint64_t)count : rgm_hash64(both, sizeof both);
}

/* The epoch's first element is number `first` of all. */
static rgm_status open_epoch(rgm_stage *stage, int64_t first)
{
    repeat_state *s = stage->state;

    stage->opens = stage->base + first;
    return rgm_stage_open(&s->input, stage, stage->dataset->inputs[0], 0,
                          inner_epoch(stage, s->count));
}

/* How many of its elements the state of such an op is behind; -1: it does not say. */
static int64_t elements_behind(const rgm_dataset *dataset, rgm_state_reader state)
{
    int64_t count;

    if (dataset->type != &rgmi_map_type && dataset->type != &rgmi_prefetch_type)
        return -1;
    return rgm_state_get_int(&count, &state) == RGM_OK ? count : -1;
}

/** The next element; out NULL: it is passed over. */
static rgm_status repeat_step(rgm_element **out, rgm_stage *stage)
{
    repeat_state *s = stage->state;
    int64_t number = number_of(stage->dataset);

    for (;;) {
        rgm_status status;

        if (number >= 0 && s->count >= number)
            return RGM_END;
        if (s->input == NULL)
            RGM_TRY(open_epoch(stage, s->total));
        status = out != NULL ? rgm_stage_next(out, s->input) : rgm_stage_skip(s->input);
        if (status != RGM_END) {
            s->given = s->given || status <= 0;
            s->total += status <= 0;
            return status;
        }
        if (!s->given && number < 0)
            return RGM_FAIL(RGM_ERR_DATA,
                            "repeat: there is nothing to repeat for ever, epoch %lld "
                            "of the data is empty",
                            (long long)s->count);
        rgm_stage_close(s->input);
        s->input = NULL;
        s->given = false;
        s->count++;
    }
}

static rgm_status repeat_next(rgm_element **out, rgm_stage *stage)
{
    return repeat_step(out, stage);
}

static rgm_status repeat_skip(rgm_stage *stage)
{
    return repeat_step(NULL, stage);
}

static rgm_status repeat_save(rgm_text *out, const rgm_stage *stage)
{
    const repeat_state *s = stage->state;

    RGM_TRY(rgm_state_put_int(out, s->count));
    RGM_TRY(rgm_state_put_int(out, s->given));
    return s->given ? rgm_stage_save(out, s->input) : RGM_OK;
}

static rgm_status repeat_restore(rgm_stage *stage, rgm_state_reader *state)
{
    repeat_state *s = stage->state;
    int64_t number = number_of(stage->dataset), given, behind;
    bool aligned = stage->aligned;

    RGM_TRY(rgm_state_get_count(&s->count, state, rgmi_last_place(number), "repeat"));
    RGM_TRY(rgm_state_get_count(&given, state, 1, "an epoch of repeat"));
    s->total = stage->restored_at - stage->base;
    if (given == 0)
        return RGM_OK;
    s->given = true;
    behind = elements_behind(stage->dataset->inputs[0], *state);
    stage->aligned = aligned && behind >= 0; /* what does not say it gives all of this epoch */
    RGM_TRY(open_epoch(stage, s->total - behind));
    stage->aligned = aligned;
    s->input->restored_at = stage->restored_at;
    return rgm_stage_restore(s->input, state);
}

static void repeat_close(rgm_stage *stage)
{
    rgm_stage_close(((repeat_state *)stage->state)->input);
}

static int64_t repeat_count(const rgm_dataset *dataset)
{
    int64_t number = number_of(dataset), count = input_count(dataset);
    return number < 0 ? INT64_MAX : rgmi_count_times(count, number);
}

static rgm_status repeat_print(rgm_text *out, const void *options)
{
    const number_options *o = options;
    return o->number < 0 ? RGM_OK : number_print(out, options);
}

/* Those of an epoch. */
static bool repeat_keeps_places(const rgm_dataset *dataset)
{
    (void)dataset;
    return true;
}

static const rgm_dataset_type repeat_type = {.name = "repeat",
                                             .options_size = sizeof(number_options),
                                             .state_size = sizeof(repeat_state),
                                             .open = repeat_open,
                                             .next = repeat_next,
                                             .skip = repeat_skip,
                                             .save = repeat_save,
                                             .restore = repeat_restore,
                                             .close = repeat_close,
                                             .count = repeat_count,
                                             .print = repeat_print,
                                             .keeps_places = repeat_keeps_places};

rgm_status rgm_dataset_repeat(rgm_dataset **dataset, int64_t count)
{
    return extend_by_number(dataset, &repeat_type, count < 0 ? -1 : count, -1);
}

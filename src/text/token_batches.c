/*
 * Batches of token sequences within a budget of tokens. All that does not depend on the epoch is
 * decided once, with the recipe: which pairs are in, their classes, how many rows each batch has.
 * An epoch draws an order of the pairs inside each class and an order of the batches; so a position
 * is one number.
 */
#include "token_batches.h"

#include <stdlib.h>

/** What a recipe holds; shared by its copies. */
typedef struct batching {
    rgm_token_pairs *pairs;
    rgm_token_batch_options options;
    rgmi_token_class *classes;
    int64_t class_count;
    int64_t *first_pair;  /* [class_count + 1] into `order`     */
    int64_t *first_batch; /* [class_count + 1]                  */
    int64_t *order;       /* pairs by class, each class by size */
    rgm_token_batch_figures figures;
} batching;

typedef struct token_batches_options {
    batching *plan;
} token_batches_options;

typedef struct token_batches_state {
    int64_t *order;       /* as drawn for this epoch; NULL: the plan's */
    int64_t *batch_order; /* NULL: as they stand                       */
    int64_t given;
} token_batches_state;

static void batching_release(batching *plan)
{
    if (plan == NULL)
        return;
    rgm_token_pairs_release(plan->pairs);
    rgm_free(plan->classes);
    rgm_free(plan->first_pair);
    rgm_free(plan->first_batch);
    rgm_free(plan->order);
    rgm_free(plan);
}

/* ---- the plan -------------------------------------------------------------------------------- */

/** A length as it will stand in a batch; 0 for one that is too long to be trained on. */
static int64_t allowed(int64_t length, const rgm_token_batch_options *o)
{
    return length <= o->max_length ? length : o->training ? 0 : o->max_length;
}

static void measure(int32_t *source, int32_t *target, batching *plan)
{
    const rgm_token_batch_options *o = &plan->options;

    for (int64_t i = 0; i < rgm_token_pairs_count(plan->pairs); i++) {
        int64_t s, t;

        (void)rgm_token_pairs_source(plan->pairs, i, &s);
        (void)rgm_token_pairs_target(plan->pairs, i, &t);
        source[i] = (int32_t)allowed(s, o);
        target[i] = (int32_t)allowed(t, o);
        if (source[i] == 0 || (target[i] == 0 && t > 0)) {
            source[i] = target[i] = 0;
            plan->figures.dropped++;
            continue;
        }
        plan->figures.pairs++;
        plan->figures.cut += s > o->max_length || t > o->max_length;
        plan->figures.real_tokens += source[i] + target[i];
    }
}

typedef struct place {
    int32_t class, source, target;
    int64_t pair;
} place;

static int by_class_and_length(const void *x, const void *y)
{
    const place *a = x, *b = y;

    if (a->class != b->class)
        return a->class < b->class ? -1 : 1;
    if (a->source != b->source)
        return a->source < b->source ? -1 : 1;
    if (a->target != b->target)
        return a->target < b->target ? -1 : 1;
    return a->pair < b->pair ? -1 : a->pair > b->pair;
}

static rgm_status put_in_order(batching *plan, const rgmi_lengths *lengths, const int32_t *class_of)
{
    place *places;
    int64_t n = 0;

    RGM_TRY(RGM_NEW(places, plan->figures.pairs));
    for (int64_t i = 0; i < lengths->count; i++)
        if (class_of[i] >= 0)
            places[n++] = (place){class_of[i], lengths->source[i], lengths->target[i], i};
    qsort(places, (size_t)n, sizeof *places, by_class_and_length);
    for (int64_t i = 0; i < n; i++)
        plan->order[i] = places[i].pair;
    rgm_free(places);
    return RGM_OK;
}

/** Rows [*begin, *end) of class k's pairs make its batch j: as even as whole rows can be. */
static void rows_of(int64_t *begin, int64_t *end, const rgmi_token_class *c, int64_t j)
{
    int64_t least = c->count / c->batches, more = c->count % c->batches;

    *begin = j * least + (j < more ? j : more);
    *end = *begin + least + (j < more);
}

static void sum_up(batching *plan)
{
    rgm_token_batch_figures *f = &plan->figures;

    for (int64_t k = 0; k < plan->class_count; k++) {
        const rgmi_token_class *c = &plan->classes[k];

        plan->first_pair[k + 1] = plan->first_pair[k] + c->count;
        plan->first_batch[k + 1] = plan->first_batch[k] + c->batches;
        f->shapes += 1 + (c->count % c->batches != 0);
        f->padded_tokens += c->count * (c->source + c->target);
    }
    f->batches = plan->first_batch[plan->class_count];
}

static rgm_status make_plan(batching *plan)
{
    rgm_status status = RGM_OK;
    int64_t count = rgm_token_pairs_count(plan->pairs);
    int32_t *source = NULL, *target = NULL, *class_of = NULL;

    RGM_GO(RGM_NEW(source, count));
    RGM_GO(RGM_NEW(target, count));
    RGM_GO(RGM_NEW(class_of, count));
    measure(source, target, plan);
    if (plan->figures.pairs == 0)
        RGM_GO(RGM_FAIL(RGM_ERR_DATA,
                        "token batches: of %lld pairs none has at most %lld ids a side",
                        (long long)count, (long long)plan->options.max_length));
    const rgmi_lengths lengths = {source, target, count};
    RGM_GO(
        rgmi_token_classes(&plan->classes, &plan->class_count, class_of, &lengths, &plan->options));
    RGM_GO(RGM_NEW(plan->first_pair, plan->class_count + 1));
    RGM_GO(RGM_NEW(plan->first_batch, plan->class_count + 1));
    RGM_GO(RGM_NEW(plan->order, plan->figures.pairs));
    RGM_GO(put_in_order(plan, &lengths, class_of));
    sum_up(plan);
done:
    rgm_free(source);
    rgm_free(target);
    rgm_free(class_of);
    return status;
}

/* ---- a batch --------------------------------------------------------------------------------- */

static void put_id(rgm_tensor *tensor, int64_t at, int32_t id)
{
    if (rgm_tensor_dtype(tensor) == RGM_I64)
        rgm_tensor_i64(tensor)[at] = id;
    else
        rgm_tensor_i32(tensor)[at] = id;
}

/** Row `row` of [b, width]: the ids, the last of them kept where they are cut, then padding. */
static void fill_row(rgm_tensor *tensor, int64_t row, const int32_t *ids, int64_t count,
                     const rgm_token_batch_options *o)
{
    int64_t width = rgm_tensor_dim(tensor, 1), kept = allowed(count, o);

    for (int64_t k = 0; k < kept; k++)
        put_id(tensor, row * width + k, k == kept - 1 ? ids[count - 1] : ids[k]);
    for (int64_t k = kept; k < width; k++)
        put_id(tensor, row * width + k, o->pad_id);
}

static rgm_status make_batch(rgm_element **out, const batching *plan, const rgmi_token_class *c,
                             const int64_t *numbers, int64_t rows)
{
    rgm_status status = RGM_OK;
    const rgm_token_batch_options *o = &plan->options;
    rgm_tensor *tensors[3] = {NULL, NULL, NULL};

    RGM_GO(rgm_tensor_create(&tensors[0], o->dtype, 2, (int64_t[]){rows, c->source}));
    RGM_GO(rgm_tensor_create(&tensors[1], o->dtype, 2, (int64_t[]){rows, c->target}));
    RGM_GO(rgm_tensor_create_from(&tensors[2], RGM_I64, 1, &rows, numbers));
    for (int64_t row = 0; row < rows; row++) {
        int64_t count;
        const int32_t *ids = rgm_token_pairs_source(plan->pairs, numbers[row], &count);

        fill_row(tensors[0], row, ids, count, o);
        ids = rgm_token_pairs_target(plan->pairs, numbers[row], &count);
        fill_row(tensors[1], row, ids, count, o);
    }
    RGM_GO(rgm_element_create_tensors(out, tensors, 3));
done:
    for (int i = 0; i < 3; i++)
        rgm_tensor_release(tensors[i]);
    return status;
}

/* ---- the op ---------------------------------------------------------------------------------- */

static const batching *plan_of(const rgm_dataset *dataset)
{
    return ((const token_batches_options *)rgm_dataset_options(dataset))->plan;
}

/** Draw the epoch: draw 0 for the batches, draw 1 + k for class k. */
static rgm_status token_batches_open(rgm_stage *stage)
{
    const batching *plan = plan_of(rgm_stage_dataset(stage));
    token_batches_state *s = rgm_stage_state(stage);
    rgm_rng rng;

    if (!plan->options.training)
        return RGM_OK;
    RGM_TRY(RGM_NEW(s->order, plan->figures.pairs));
    RGM_TRY(RGM_NEW(s->batch_order, plan->figures.batches));
    rng = rgm_stage_rng(stage, 0);
    rgm_rng_permutation(&rng, s->batch_order, plan->figures.batches);
    for (int64_t k = 0; k < plan->class_count; k++) {
        int64_t begin = plan->first_pair[k], count = plan->classes[k].count;

        rng = rgm_stage_rng(stage, (uint64_t)k + 1);
        rgm_rng_permutation(&rng, s->order + begin, count);
        for (int64_t i = begin; i < begin + count; i++)
            s->order[i] = plan->order[begin + s->order[i]];
    }
    return RGM_OK;
}

static rgm_status token_batches_at(rgm_element **out, rgm_stage *stage, int64_t i)
{
    const batching *plan = plan_of(rgm_stage_dataset(stage));
    const token_batches_state *s = rgm_stage_state(stage);
    const int64_t *order = s->order != NULL ? s->order : plan->order;
    int64_t k = 0, begin, end;

    if (i < 0 || i >= plan->figures.batches)
        return RGM_FAIL(RGM_ERR_ARG, "batch %lld of %lld", (long long)i,
                        (long long)plan->figures.batches);
    i = s->batch_order != NULL ? s->batch_order[i] : i;
    while (i >= plan->first_batch[k + 1])
        k++;
    rows_of(&begin, &end, &plan->classes[k], i - plan->first_batch[k]);
    return make_batch(out, plan, &plan->classes[k], order + plan->first_pair[k] + begin,
                      end - begin);
}

static rgm_status token_batches_next(rgm_element **out, rgm_stage *stage)
{
    token_batches_state *s = rgm_stage_state(stage);

    if (s->given >= plan_of(rgm_stage_dataset(stage))->figures.batches)
        return RGM_END;
    return token_batches_at(out, stage, s->given++);
}

static rgm_status token_batches_save(rgm_text *out, const rgm_stage *stage)
{
    return rgm_state_put_int(out, ((const token_batches_state *)rgm_stage_state(stage))->given);
}

static rgm_status token_batches_restore(rgm_stage *stage, rgm_state_reader *state)
{
    token_batches_state *s = rgm_stage_state(stage);
    int64_t most = plan_of(rgm_stage_dataset(stage))->figures.batches;

    return rgm_state_get_count(&s->given, state, most, "token batches");
}

static void token_batches_close(rgm_stage *stage)
{
    token_batches_state *s = rgm_stage_state(stage);

    rgm_free(s->order);
    rgm_free(s->batch_order);
}

static int64_t token_batches_count(const rgm_dataset *dataset)
{
    return plan_of(dataset)->figures.batches;
}

static void token_batches_clear(void *options)
{
    batching_release(((token_batches_options *)options)->plan);
}

/** With the data's size, since a position in other batches would be worth nothing. */
static rgm_status token_batches_print(rgm_text *out, const void *options)
{
    const batching *plan = ((const token_batches_options *)options)->plan;
    const rgm_token_batch_options *o = &plan->options;

    return rgm_text_printf(
        out, "%s, %lld tokens, length %lld, rows %lld, shapes %lld, pad %d, %lld pairs of %lld ids",
        o->training ? "training" : "evaluation", (long long)o->tokens, (long long)o->max_length,
        (long long)o->max_rows, (long long)o->max_shapes, o->pad_id, (long long)plan->figures.pairs,
        (long long)plan->figures.real_tokens);
}

static const rgm_dataset_type token_batches_type = {
    .name = "token_batches",
    .options_size = sizeof(token_batches_options),
    .state_size = sizeof(token_batches_state),
    .open = token_batches_open,
    .next = token_batches_next,
    .save = token_batches_save,
    .restore = token_batches_restore,
    .close = token_batches_close,
    .count = token_batches_count,
    .at = token_batches_at,
    .clear = token_batches_clear,
    .print = token_batches_print,
};

static rgm_status check_options(const rgm_token_batch_options *o)
{
    if (o->max_length < 1 || o->max_length > 1 << 16)
        return RGM_FAIL(RGM_ERR_ARG, "token batches: max_length is %lld; it is 1 to %d",
                        (long long)o->max_length, 1 << 16);
    if (o->tokens < o->max_length)
        return RGM_FAIL(RGM_ERR_ARG,
                        "token batches: a budget of %lld tokens cannot hold one pair of %lld",
                        (long long)o->tokens, (long long)o->max_length);
    if (o->max_rows < 0 || o->max_shapes < 2)
        return RGM_FAIL(RGM_ERR_ARG,
                        "token batches: max_rows is %lld (0 at least), max_shapes %lld "
                        "(2 at least)",
                        (long long)o->max_rows, (long long)o->max_shapes);
    if (o->dtype != RGM_I32 && o->dtype != RGM_I64)
        return RGM_FAIL(RGM_ERR_ARG, "token batches: ids are of dtype i32 or i64");
    return RGM_OK;
}

rgm_status rgm_token_batches(rgm_dataset **out, const rgm_token_pairs *pairs,
                             const rgm_token_batch_options *options)
{
    static const rgm_token_batch_options usual = RGM_TOKEN_BATCH_OPTIONS_INIT;
    rgm_status status = RGM_OK;
    token_batches_options o = {NULL};

    *out = NULL;
    options = options != NULL ? options : &usual;
    RGM_TRY(check_options(options));
    RGM_GO(RGM_NEW(o.plan, 1));
    o.plan->options = *options;
    o.plan->pairs = rgm_token_pairs_retain(pairs);
    RGM_GO(make_plan(o.plan));
    RGM_GO(rgm_dataset_create(out, &token_batches_type, &o, NULL, 0));
    o.plan = NULL;
done:
    batching_release(o.plan);
    return status;
}

rgm_status rgm_token_batches_figures(rgm_token_batch_figures *out, const rgm_dataset *batches)
{
    *out = (rgm_token_batch_figures){0};
    if (rgm_dataset_get_type(batches) != &token_batches_type)
        return RGM_FAIL(RGM_ERR_ARG, "%s is not made by rgm_token_batches()",
                        rgm_dataset_get_type(batches)->name);
    *out = plan_of(batches)->figures;
    return RGM_OK;
}

/*
 * Batches of token sequences within a budget of tokens. All that does not depend on the epoch is
 * decided once, with the recipe (token_plan.c). An epoch draws an order of the pairs inside each
 * class and an order of the batches; so a position is one number.
 */
#include "token_batches.h"

#include <string.h>

/** Beyond the draws of classes and sets. */
#define SAMPLING_DRAW (UINT64_C(1) << 62)

typedef struct token_batches_options {
    rgmi_token_plan *plan;
} token_batches_options;

typedef struct token_batches_state {
    int64_t *rows;        /* pairs as drawn for this epoch; NULL: the plan's order */
    int64_t *batch_order; /* NULL: as they stand                                   */
    int64_t given;
} token_batches_state;

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
    int64_t width = rgm_tensor_dim(tensor, 1), kept = rgmi_token_length(count, o);

    for (int64_t k = 0; k < kept; k++)
        put_id(tensor, row * width + k, k == kept - 1 ? ids[count - 1] : ids[k]);
    for (int64_t k = kept; k < width; k++)
        put_id(tensor, row * width + k, o->pad_id);
}

static const rgmi_token_plan *plan_of(const rgm_dataset *dataset)
{
    return ((const token_batches_options *)rgm_dataset_options(dataset))->plan;
}

/** Rows of a batch: of which class, and of which place in the epoch. */
typedef struct batch_rows {
    const rgmi_token_class *class;
    const int64_t *pairs; /* [count] */
    int64_t count, first; /* first: place of the first in the epoch's rows */
    int64_t made;         /* rows of the tensors, count at least           */
} batch_rows;

/** The ids of one side of row `row`: as drawn for it, or the usual ones. */
static rgm_status ids_of(const int32_t **ids, int64_t *count, rgm_ids *drawn, rgm_stage *stage,
                         const batch_rows *rows, int64_t row, int side)
{
    const rgmi_token_plan *plan = plan_of(rgm_stage_dataset(stage));
    int64_t pair = rows->pairs[row], room = side == 0 ? rows->class->source : rows->class->target;
    rgm_rng rng = rgm_stage_rng(stage, SAMPLING_DRAW);

    *ids = side == 0 ? rgm_token_pairs_source(plan->pairs, pair, count)
                     : rgm_token_pairs_target(plan->pairs, pair, count);
    if (!(plan->corpus != NULL) || *count == 0)
        return RGM_OK;
    RGM_TRY(rgmi_sampling_draw(drawn, &plan->options.sampling, pair, side, room, &rng,
                               rows->first + row));
    if (drawn->count > 0) {
        *ids = drawn->items;
        *count = drawn->count;
    }
    return RGM_OK;
}

/** A row that no pair fills: a source that ends at once, and no target. */
static void fill_empty(rgm_tensor *const tensors[3], int64_t row, const rgmi_token_plan *plan)
{
    int64_t count;
    const int32_t *ids = rgm_token_pairs_source(plan->pairs, 0, &count);

    fill_row(tensors[0], row, ids + count - 1, 1, &plan->options);
    fill_row(tensors[1], row, ids, 0, &plan->options);
    rgm_tensor_i64(tensors[2])[row] = -1;
}

static rgm_status make_batch(rgm_element **out, rgm_stage *stage, const batch_rows *rows)
{
    rgm_status status = RGM_OK;
    const rgmi_token_plan *plan = plan_of(rgm_stage_dataset(stage));
    const rgm_token_batch_options *o = &plan->options;
    const rgmi_token_class *c = rows->class;
    rgm_tensor *tensors[3] = {NULL, NULL, NULL};
    rgm_ids drawn = {0};

    RGM_GO(rgm_tensor_create(&tensors[0], o->dtype, 2, (int64_t[]){rows->made, c->source}));
    RGM_GO(rgm_tensor_create(&tensors[1], o->dtype, 2, (int64_t[]){rows->made, c->target}));
    RGM_GO(rgm_tensor_create(&tensors[2], RGM_I64, 1, &rows->made));
    for (int64_t row = 0; row < rows->count; row++) {
        rgm_tensor_i64(tensors[2])[row] = rows->pairs[row];
        for (int side = 0; side < 2; side++) {
            const int32_t *ids = NULL;
            int64_t count = 0;

            RGM_GO(ids_of(&ids, &count, &drawn, stage, rows, row, side));
            fill_row(tensors[side], row, ids, count, o);
        }
    }
    for (int64_t row = rows->count; row < rows->made; row++)
        fill_empty(tensors, row, plan);
    RGM_GO(rgm_element_create_tensors(out, tensors, 3));
done:
    for (int i = 0; i < 3; i++)
        rgm_tensor_release(tensors[i]);
    rgm_ids_clear(&drawn);
    return status;
}

/* ---- the op ---------------------------------------------------------------------------------- */

/** The rows of class k in this epoch, not mixed yet: each set's pairs as often as they stand. */
static rgm_status list_rows(int64_t *rows, rgm_stage *stage, const rgmi_token_plan *plan, int64_t k)
{
    for (int64_t j = 0; j < plan->set_count; j++) {
        const rgmi_token_share *s = &plan->shares[k * plan->set_count + j];
        const int64_t *pairs = plan->order + s->begin;
        uint64_t draw = (uint64_t)(1 + plan->class_count + k * plan->set_count + j);
        rgm_rng rng = rgm_stage_rng(stage, draw);
        int64_t *chosen;

        for (int64_t i = 0; i < s->whole; i++, rows += s->pairs)
            memcpy(rows, pairs, (size_t)s->pairs * sizeof *rows);
        if (s->extra == 0)
            continue;
        RGM_TRY(RGM_NEW(chosen, s->pairs));
        rgm_rng_permutation(&rng, chosen, s->pairs);
        for (int64_t i = 0; i < s->extra; i++)
            *rows++ = pairs[chosen[i]];
        rgm_free(chosen);
    }
    return RGM_OK;
}

/**
 * Draw the epoch: draw 0 for the batches, draw 1 + k for class k, behind them those of the sets'
 * extra rows, and SAMPLING_DRAW for segmentations.
 */
static rgm_status token_batches_open(rgm_stage *stage)
{
    rgm_status status = RGM_OK;
    const rgmi_token_plan *plan = plan_of(rgm_stage_dataset(stage));
    token_batches_state *s = rgm_stage_state(stage);
    int64_t *listed = NULL;
    rgm_rng rng;

    if (!plan->options.training)
        return RGM_OK;
    RGM_GO(RGM_NEW(s->rows, plan->figures.pairs));
    RGM_GO(RGM_NEW(s->batch_order, plan->figures.batches));
    RGM_GO(RGM_NEW(listed, plan->figures.pairs));
    rng = rgm_stage_rng(stage, 0);
    rgm_rng_permutation(&rng, s->batch_order, plan->figures.batches);
    for (int64_t k = 0; k < plan->class_count; k++) {
        int64_t begin = plan->first_row[k], count = plan->classes[k].count;

        RGM_GO(list_rows(listed + begin, stage, plan, k));
        rng = rgm_stage_rng(stage, (uint64_t)k + 1);
        rgm_rng_permutation(&rng, s->rows + begin, count);
        for (int64_t i = begin; i < begin + count; i++)
            s->rows[i] = listed[begin + s->rows[i]];
    }
done:
    rgm_free(listed);
    return status;
}

static rgm_status token_batches_at(rgm_element **out, rgm_stage *stage, int64_t i)
{
    const rgmi_token_plan *plan = plan_of(rgm_stage_dataset(stage));
    const token_batches_state *s = rgm_stage_state(stage);
    batch_rows rows;
    int64_t k = 0, end;

    if (i < 0 || i >= plan->figures.batches)
        return RGM_FAIL(RGM_ERR_ARG, "batch %lld of %lld", (long long)i,
                        (long long)plan->figures.batches);
    i = s->batch_order != NULL ? s->batch_order[i] : i;
    while (i >= plan->first_batch[k + 1])
        k++;
    rows.class = &plan->classes[k];
    rgmi_token_plan_rows(&rows.first, &end, plan, rows.class, i - plan->first_batch[k]);
    rows.count = rows.made = end - rows.first;
    if (plan->options.one_shape)
        rows.made = plan->options.tokens / plan->options.max_length;
    rows.first += plan->first_row[k];
    rows.pairs = (s->rows != NULL ? s->rows : plan->order) + rows.first;
    return make_batch(out, stage, &rows);
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

    rgm_free(s->rows);
    rgm_free(s->batch_order);
}

static int64_t token_batches_count(const rgm_dataset *dataset)
{
    return plan_of(dataset)->figures.batches;
}

static void token_batches_clear(void *options)
{
    rgmi_token_plan_release(((token_batches_options *)options)->plan);
}

/** With the data's size, since a position in other batches would be worth nothing. */
static rgm_status token_batches_print(rgm_text *out, const void *options)
{
    const rgmi_token_plan *plan = ((const token_batches_options *)options)->plan;
    const rgm_token_batch_options *o = &plan->options;

    RGM_TRY(rgm_text_printf(
        out, "%s, %lld tokens, length %lld, rows %lld, shapes %lld, pad %d, %lld pairs of %lld ids",
        o->training ? "training" : "evaluation", (long long)o->tokens, (long long)o->max_length,
        (long long)o->max_rows, (long long)o->max_shapes, o->pad_id, (long long)plan->figures.pairs,
        (long long)plan->figures.real_tokens));
    if (o->one_shape)
        RGM_TRY(rgm_text_printf(out, ", one shape"));
    if ((plan->corpus != NULL))
        RGM_TRY(rgm_text_printf(out, ", segmentations drawn by %.17g", o->sampling.alpha));
    for (int64_t j = 0; j < o->set_count; j++)
        RGM_TRY(rgm_text_printf(out, ", %lld x %.17g", (long long)plan->sets[j].pairs,
                                plan->sets[j].times));
    return RGM_OK;
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

rgm_status rgm_token_batches(rgm_dataset **out, const rgm_token_pairs *pairs,
                             const rgm_token_batch_options *options)
{
    static const rgm_token_batch_options usual = RGM_TOKEN_BATCH_OPTIONS_INIT;
    rgm_status status = RGM_OK;
    token_batches_options o = {NULL};

    *out = NULL;
    options = options != NULL ? options : &usual;
    RGM_TRY(rgmi_token_plan_create(&o.plan, pairs, options));
    RGM_GO(rgm_dataset_create(out, &token_batches_type, &o, NULL, 0));
    o.plan = NULL;
done:
    rgmi_token_plan_release(o.plan);
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

/*
 * poisson: batches for which every element of an indexed recipe is drawn independently. The proofs
 * of privacy for subsampled mechanisms assume this sampling. So the size of a batch is random too,
 * and may be 0.
 */
#include "data_internal.h"

#include <math.h>

typedef struct poisson_options {
    double rate;
} poisson_options;

typedef struct poisson_state {
    rgm_stage *input;
    int64_t elements; /* of the input              */
    int64_t steps;    /* of an epoch               */
    int64_t given;    /* steps, errors among them  */
} poisson_state;

/** So many steps draw each element once on average. */
static int64_t steps_of(const poisson_options *o)
{
    double steps = round(1 / o->rate);

    return steps < 0x1p62 ? (int64_t)steps : INT64_MAX - 1; /* INT64_MAX would mean for ever */
}

static rgm_status poisson_open(rgm_stage *stage)
{
    poisson_state *s = stage->state;

    s->elements = rgm_dataset_count(stage->dataset->inputs[0]);
    s->steps = steps_of(rgm_stage_options(stage));
    return rgm_stage_open(&s->input, stage, stage->dataset->inputs[0], 0, stage->epoch);
}

/**
 * How many elements lie before the next one drawn: a geometric number, P(gap >= k) = (1 - rate)^k,
 * by inversion. So a step costs what it draws and not a coin for every element.
 */
static int64_t draw_gap(const rgm_rng *rng, uint64_t draw, double rate)
{
    double u = 1 - rgm_rng_f64(rng, draw); /* (0, 1] */
    double gap = floor(log(u) / log1p(-rate));

    return gap < 0x1p62 ? (int64_t)gap : INT64_MAX;
}

/** The elements of step `step`, in their order; the caller releases what is there, also on error.
 */
static rgm_status draw_step(rgm_element ***items, int64_t *count, rgm_stage *stage, int64_t step)
{
    poisson_state *s = stage->state;
    const poisson_options *o = rgm_stage_options(stage);
    rgm_rng rng = rgm_stage_rng(stage, (uint64_t)step);
    int64_t capacity = 0, at = 0;

    for (uint64_t draw = 0;; draw++) {
        int64_t gap = draw_gap(&rng, draw, o->rate);

        if (gap >= s->elements - at)
            return RGM_OK;
        at += gap;
        RGM_TRY(RGM_RESERVE(*items, capacity, *count + 1));
        RGM_TRY(rgm_stage_at(&(*items)[*count], s->input, at++));
        ++*count;
        if (rgm_stage_stopped(stage))
            return RGM_STOPPED;
    }
}

/** An empty list still tells what an item would look like, so that it can be collated. */
static rgm_status make_empty(rgm_element **out, poisson_state *s)
{
    rgm_element *like = NULL;
    rgm_status status = RGM_OK;

    if (s->elements > 0)
        RGM_GO(rgm_stage_at(&like, s->input, 0));
    RGM_GO(rgm_element_create_empty_list(out, like));
done:
    rgm_element_release(like);
    return status;
}

static rgm_status poisson_next(rgm_element **out, rgm_stage *stage)
{
    rgm_status status = RGM_OK;
    poisson_state *s = stage->state;
    rgm_element **items = NULL;
    int64_t count = 0;

    if (s->given >= s->steps)
        return RGM_END;
    RGM_GO(draw_step(&items, &count, stage, s->given));
    RGM_GO(count > 0 ? rgm_element_create_list(out, items, count) : make_empty(out, s));
done:
    s->given += status <= 0; /* an error takes the step's place; being stopped takes none */
    for (int64_t i = 0; i < count; i++)
        rgm_element_release(items[i]);
    rgm_free(items);
    return status;
}

static rgm_status poisson_save(rgm_text *out, const rgm_stage *stage)
{
    return rgm_state_put_int(out, ((const poisson_state *)stage->state)->given);
}

static rgm_status poisson_restore(rgm_stage *stage, rgm_state_reader *state)
{
    poisson_state *s = stage->state;

    return rgm_state_get_count(&s->given, state, s->steps, "poisson");
}

static void poisson_close(rgm_stage *stage)
{
    rgm_stage_close(((poisson_state *)stage->state)->input);
}

static int64_t poisson_count(const rgm_dataset *dataset)
{
    return steps_of(dataset->options);
}

static rgm_status poisson_print(rgm_text *out, const void *options)
{
    return rgm_text_printf(out, "%.17g", ((const poisson_options *)options)->rate);
}

static const rgm_dataset_type poisson_type = {
    .name = "poisson",
    .options_size = sizeof(poisson_options),
    .state_size = sizeof(poisson_state),
    .open = poisson_open,
    .next = poisson_next,
    .save = poisson_save,
    .restore = poisson_restore,
    .close = poisson_close,
    .count = poisson_count,
    .print = poisson_print,
};

rgm_status rgm_dataset_poisson(rgm_dataset **dataset, double rate)
{
    poisson_options o = {rate};

    if (!(rate > 0 && rate <= 1))
        return RGM_FAIL(RGM_ERR_ARG, "poisson: each element with probability %g; it is in (0, 1]",
                        rate);
    if (!rgmi_dataset_indexed(*dataset))
        return RGM_FAIL(RGM_ERR_UNSUPPORTED,
                        "poisson needs elements that can be had by number; those of %s cannot",
                        (*dataset)->type->name);
    return rgmi_dataset_extend(dataset, &poisson_type, &o);
}

/*
 * draw: elements of an indexed recipe with replacement, with probabilities by weight. The i-th draw
 * of an epoch depends only on seed, epoch and i, so a position is one number.
 */
#include "data_internal.h"

#include <math.h>

typedef struct draw_options {
    double *up_to; /* [count] sums of the weights: element i is where up_to[i] is the first above */
    int64_t count;
} draw_options;

typedef struct draw_state {
    rgm_stage *input;
    int64_t next;
} draw_state;

static rgm_status draw_open(rgm_stage *stage)
{
    draw_state *s = stage->state;

    return rgm_stage_open(&s->input, stage, stage->dataset->inputs[0], 0, stage->epoch);
}

/* The first whose sum is above the point; it weighs something, for the sum before it is not. */
static int64_t element_at(const draw_options *o, double share)
{
    double point = share * o->up_to[o->count - 1];
    int64_t low = 0, high = o->count - 1;

    while (low < high) {
        int64_t middle = low + (high - low) / 2;

        if (o->up_to[middle] > point)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

static rgm_status draw_next(rgm_element **out, rgm_stage *stage)
{
    draw_state *s = stage->state;
    const draw_options *o = rgm_stage_options(stage);
    rgm_rng rng = rgm_stage_rng(stage, 0);

    if (s->next >= o->count)
        return RGM_END;
    return rgm_stage_at(out, s->input, element_at(o, rgm_rng_f64(&rng, (uint64_t)s->next++)));
}

static rgm_status draw_save(rgm_text *out, const rgm_stage *stage)
{
    return rgm_state_put_int(out, ((const draw_state *)stage->state)->next);
}

static rgm_status draw_restore(rgm_stage *stage, rgm_state_reader *state)
{
    draw_state *s = stage->state;

    return rgm_state_get_count(&s->next, state,
                               ((const draw_options *)rgm_stage_options(stage))->count, "draw");
}

static void draw_close(rgm_stage *stage)
{
    rgm_stage_close(((draw_state *)stage->state)->input);
}

static int64_t draw_count(const rgm_dataset *dataset)
{
    return ((const draw_options *)dataset->options)->count;
}

static void draw_clear(void *options)
{
    rgm_free(((draw_options *)options)->up_to);
}

static const rgm_dataset_type draw_type = {
    .name = "draw",
    .options_size = sizeof(draw_options),
    .state_size = sizeof(draw_state),
    .open = draw_open,
    .next = draw_next,
    .save = draw_save,
    .restore = draw_restore,
    .close = draw_close,
    .count = draw_count,
    .clear = draw_clear,
};

static rgm_status add_up(double *up_to, const double *weights, int64_t count)
{
    double sum = 0;

    for (int64_t i = 0; i < count; i++) {
        if (!(weights[i] >= 0 && weights[i] < INFINITY))
            return RGM_FAIL(RGM_ERR_ARG, "draw: weight %lld is %g", (long long)i, weights[i]);
        up_to[i] = sum += weights[i];
    }
    return sum > 0 && sum < INFINITY ? RGM_OK
                                     : RGM_FAIL(RGM_ERR_ARG, "draw: the sum of %lld weights is %g",
                                                (long long)count, sum);
}

rgm_status rgm_dataset_draw(rgm_dataset **dataset, const double *weights, int64_t count)
{
    draw_options o = {.count = count};
    rgm_status status = RGM_OK;

    if (!rgmi_dataset_indexed(*dataset))
        return RGM_FAIL(RGM_ERR_UNSUPPORTED,
                        "draw needs elements that can be had by number; those of %s cannot",
                        (*dataset)->type->name);
    if (count != rgm_dataset_count(*dataset))
        return RGM_FAIL(RGM_ERR_ARG, "draw: %lld weights of %lld elements", (long long)count,
                        (long long)rgm_dataset_count(*dataset));
    RGM_GO(RGM_NEW(o.up_to, count > 0 ? count : 1));
    RGM_GO(add_up(o.up_to, weights, count));
    RGM_GO(rgmi_dataset_extend(dataset, &draw_type, &o));
    o.up_to = NULL;
done:
    rgm_free(o.up_to);
    return status;
}

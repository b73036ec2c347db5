/*
 * mix: each element comes from one of several inputs, drawn by weight.
 */
#include "data_internal.h"

#include <math.h>

typedef struct mix_options {
    double *weights; /* [count] */
    int64_t count;
    rgm_mix_end end;
} mix_options;

typedef struct mix_state {
    rgm_stage **inputs; /* [count] */
    bool *ended;        /* [count] */
    int64_t drawn;
    bool over;
} mix_state;

static rgm_status mix_open(rgm_stage *stage)
{
    mix_state *s = stage->state;
    const mix_options *o = rgm_stage_options(stage);

    RGM_TRY(RGM_NEW(s->inputs, o->count));
    RGM_TRY(RGM_NEW(s->ended, o->count));
    for (int64_t i = 0; i < o->count; i++)
        RGM_TRY(
            rgm_stage_open(&s->inputs[i], stage, stage->dataset->inputs[i], i + 1, stage->epoch));
    return RGM_OK;
}

/** The input of the next draw among those that have not ended; -1 when all have. */
static int64_t draw(const rgm_stage *stage)
{
    mix_state *s = stage->state;
    const mix_options *o = rgm_stage_options(stage);
    rgm_rng rng = rgm_stage_rng(stage, 0);
    double sum = 0, at;
    int64_t last = -1;

    for (int64_t i = 0; i < o->count; i++)
        sum += s->ended[i] ? 0 : o->weights[i];
    at = rgm_rng_f64(&rng, (uint64_t)s->drawn++) * sum;
    for (int64_t i = 0; i < o->count; i++) {
        if (s->ended[i] || o->weights[i] == 0)
            continue;
        last = i;
        if (at < o->weights[i])
            break;
        at -= o->weights[i];
    }
    return last;
}

static rgm_status mix_next(rgm_element **out, rgm_stage *stage)
{
    mix_state *s = stage->state;
    const mix_options *o = rgm_stage_options(stage);

    while (!s->over) {
        int64_t i = draw(stage);
        rgm_status status = i < 0 ? RGM_END : rgm_stage_next(out, s->inputs[i]);

        if (status > 0 && status != RGM_END)
            s->drawn--; /* stopped: nothing was drawn */
        if (status != RGM_END)
            return status;
        if (i < 0 || o->end == RGM_MIX_END_FIRST)
            s->over = true;
        else
            s->ended[i] = true;
    }
    return RGM_END;
}

static rgm_status mix_save(rgm_text *out, const rgm_stage *stage)
{
    const mix_state *s = stage->state;
    const mix_options *o = rgm_stage_options(stage);

    RGM_TRY(rgm_state_put_int(out, s->drawn));
    RGM_TRY(rgm_state_put_int(out, s->over));
    for (int64_t i = 0; i < o->count; i++) {
        RGM_TRY(rgm_state_put_int(out, s->ended[i]));
        RGM_TRY(rgm_stage_save(out, s->inputs[i]));
    }
    return RGM_OK;
}

static rgm_status mix_restore(rgm_stage *stage, rgm_state_reader *state)
{
    mix_state *s = stage->state;
    const mix_options *o = rgm_stage_options(stage);
    int64_t number;

    RGM_TRY(rgm_state_get_count(&s->drawn, state, RGM_STATE_MOST, "mix"));
    RGM_TRY(rgm_state_get_count(&number, state, 1, "mix's end"));
    s->over = number != 0;
    for (int64_t i = 0; i < o->count; i++) {
        RGM_TRY(rgm_state_get_count(&number, state, 1, "the end of a mix's input"));
        s->ended[i] = number != 0;
        RGM_TRY(rgm_stage_restore(s->inputs[i], state));
    }
    return RGM_OK;
}

static void mix_close(rgm_stage *stage)
{
    mix_state *s = stage->state;
    const mix_options *o = rgm_stage_options(stage);

    for (int64_t i = 0; s->inputs != NULL && i < o->count; i++)
        rgm_stage_close(s->inputs[i]);
    rgm_free(s->inputs);
    rgm_free(s->ended);
}

/** Known where every input is read to its end. */
static int64_t mix_count(const rgm_dataset *dataset)
{
    const mix_options *o = dataset->options;
    int64_t sum = 0;

    for (int64_t i = 0; i < o->count; i++) {
        int64_t count = o->weights[i] > 0 ? rgm_dataset_count(dataset->inputs[i]) : 0;
        if (count < 0 || o->end == RGM_MIX_END_FIRST)
            return -1;
        sum = count > INT64_MAX - sum ? INT64_MAX : sum + count;
    }
    return sum;
}

static void mix_clear(void *options)
{
    rgm_free(((mix_options *)options)->weights);
}

static rgm_status mix_print(rgm_text *out, const void *options)
{
    const mix_options *o = options;

    for (int64_t i = 0; i < o->count; i++)
        RGM_TRY(rgm_text_printf(out, "%s%.17g", i > 0 ? " : " : "", o->weights[i]));
    return rgm_text_printf(out, "%s", o->end == RGM_MIX_END_FIRST ? ", to the first end" : "");
}

static const rgm_dataset_type mix_type = {
    .name = "mix",
    .options_size = sizeof(mix_options),
    .state_size = sizeof(mix_state),
    .open = mix_open,
    .next = mix_next,
    .save = mix_save,
    .restore = mix_restore,
    .close = mix_close,
    .count = mix_count,
    .clear = mix_clear,
    .print = mix_print,
};

rgm_status rgm_dataset_mix(rgm_dataset **out, rgm_dataset *const *inputs, const double *weights,
                           int64_t count, rgm_mix_end end)
{
    rgm_status status = RGM_OK;
    mix_options o = {.count = count, .end = end};
    double sum = 0;

    *out = NULL;
    if (count < 1)
        return RGM_FAIL(RGM_ERR_ARG, "a mix of %lld inputs", (long long)count);
    RGM_GO(RGM_NEW(o.weights, count));
    for (int64_t i = 0; i < count; i++) {
        o.weights[i] = weights != NULL ? weights[i] : 1;
        if (!(o.weights[i] >= 0) || isinf(o.weights[i]))
            RGM_GO(
                RGM_FAIL(RGM_ERR_ARG, "weight %lld of the mix is %g", (long long)i, o.weights[i]));
        sum += o.weights[i];
    }
    if (!(sum > 0) || isinf(sum))
        RGM_GO(RGM_FAIL(RGM_ERR_ARG, "the weights of the mix sum to %g", sum));
    RGM_GO(rgm_dataset_create(out, &mix_type, &o, inputs, count));
done:
    if (status != RGM_OK)
        rgm_free(o.weights);
    return status;
}

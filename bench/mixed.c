/*
 * A perceptron in training, once with products in f32 and once in bf16, in turns in one process: a
 * step is one of each. Needs no data file: rows and labels are random.
 */
#include "bench.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LAYERS = 3, TENSORS = 2 * LAYERS, STEPS_KEPT = 4096 };

/* One of the two trainings: the same graph, parameters and optimizer of its own. */
typedef struct side {
    rgm_parameters *parameters;
    rgm_optimizer *optimizer;
    rgm_executor *executor;
    double seconds[STEPS_KEPT]; /* of the last steps */
} side;

typedef struct mixed {
    int64_t width; /* of each layer, and rows of the batch */
    rgm_cgraph *graph;
    rgm_value *fetches[1 + TENSORS]; /* loss, gradients */
    rgm_feed feeds[2];
    side f32, bf16;
    int64_t steps;
    bool profile;
} mixed;

static void side_close(side *s, bool profile)
{
    rgm_text text = {0};

    if (profile && s->executor != NULL && rgm_executor_print(&text, s->executor) == RGM_OK)
        fprintf(stderr, "%s\n", text.data);
    rgm_text_clear(&text);
    rgm_executor_release(s->executor);
    rgm_optimizer_release(s->optimizer);
    rgm_parameters_release(s->parameters);
}

static void mixed_close(void *state)
{
    mixed *m = state;

    if (m == NULL)
        return;
    side_close(&m->f32, m->profile);
    side_close(&m->bf16, m->profile);
    rgm_cgraph_release(m->graph);
    for (int i = 0; i < 2; i++)
        rgm_tensor_release(m->feeds[i].tensor);
    rgm_free(m);
}

static rgm_value *dense(rgm_cgraph *graph, rgm_value *x, int layer, int64_t width)
{
    char weight[24], bias[24];

    snprintf(weight, sizeof weight, "kernel_%d", layer);
    snprintf(bias, sizeof bias, "bias_%d", layer);
    x = rgm_matmul(x, rgm_parameter(graph, weight, RGM_F32, 2, (int64_t[]){width, width},
                                    (rgm_init){RGM_INIT_GLOROT_UNIFORM, 0}));
    return rgm_add(x,
                   rgm_parameter(graph, bias, RGM_F32, 1, &width, (rgm_init){RGM_INIT_ZEROS, 0}));
}

static rgm_status build(mixed *m)
{
    const rgm_dim shape[] = {m->width, m->width};
    rgm_value *h, *labels, *wrt[TENSORS];

    RGM_TRY(rgm_cgraph_create(&m->graph));
    m->feeds[0].input = h = rgm_input(m->graph, "x", RGM_F32, 2, shape);
    m->feeds[1].input = labels = rgm_input(m->graph, "label", RGM_I32, 1, shape);
    for (int layer = 0; layer < LAYERS; layer++) {
        h = dense(m->graph, h, layer, m->width);
        h = layer + 1 < LAYERS ? rgm_relu(h) : h;
    }
    m->fetches[0] = rgm_mean(rgm_softmax_cross_entropy(h, labels));
    RGM_TRY(rgm_cgraph_status(m->graph));
    for (int i = 0; i < TENSORS; i++)
        wrt[i] = rgm_cgraph_parameter(m->graph, i);
    return rgm_cgraph_gradients(m->fetches + 1, m->fetches[0], wrt, TENSORS);
}

static rgm_status feed(mixed *m)
{
    rgm_rng rng = rgm_rng_stream(1, "mixed", 0);

    RGM_TRY(rgm_tensor_create(&m->feeds[0].tensor, RGM_F32, 2, (int64_t[]){m->width, m->width}));
    RGM_TRY(rgm_tensor_create(&m->feeds[1].tensor, RGM_I32, 1, &m->width));
    for (int64_t i = 0; i < m->width * m->width; i++)
        rgm_tensor_f32(m->feeds[0].tensor)[i] = rgm_rng_f32(&rng, (uint64_t)i) - 0.5F;
    for (int64_t i = 0; i < m->width; i++)
        rgm_tensor_i32(m->feeds[1].tensor)[i] = (int32_t)(i * 7 % m->width);
    return RGM_OK;
}

static rgm_status side_open(side *s, const mixed *m, bool bf16)
{
    const rgm_optimizer_options adam = rgm_adam(1e-3);
    static const bool stays[1 + TENSORS] = {false, true, true, true, true, true, true};
    const rgm_executor_options options = {.training = true,
                                          .bf16 = bf16,
                                          .device = bench_device,
                                          .stays = stays,
                                          .fixed_feeds = true};

    RGM_TRY(rgm_parameters_create(&s->parameters, m->graph, 1));
    RGM_TRY(rgm_optimizer_create(&s->optimizer, &adam, s->parameters));
    RGM_TRY(rgm_executor_create(&s->executor, m->graph, m->fetches, 1 + TENSORS, &options));
    rgm_executor_profile(s->executor, m->profile);
    return RGM_OK;
}

static rgm_status mixed_open(void **out, const bench_options *options)
{
    rgm_status status = RGM_OK;
    mixed *m = NULL;

    RGM_GO(RGM_NEW(m, 1));
    m->width = options->size > 0 ? options->size : 1024;
    m->profile = options->profile;
    RGM_GO(build(m));
    RGM_GO(feed(m));
    RGM_GO(side_open(&m->f32, m, false));
    RGM_GO(side_open(&m->bf16, m, true));
    *out = m;
    m = NULL;
done:
    mixed_close(m);
    return status;
}

static rgm_status side_step(side *s, mixed *m)
{
    rgm_tensor *fetched[1 + TENSORS];
    double begin = rgm_now(), loss;

    RGM_TRY(
        rgm_executor_run(s->executor, fetched, s->parameters, m->feeds, 2, 1, (uint64_t)m->steps));
    loss = rgm_tensor_at(fetched[0], 0);
    if (!isfinite(loss))
        return RGM_FAIL(RGM_ERR_NUMERIC, "the loss of step %lld is %g", (long long)m->steps, loss);
    RGM_TRY(rgm_optimizer_step(s->optimizer, s->parameters, fetched + 1, m->steps));
    s->seconds[m->steps % STEPS_KEPT] = rgm_now() - begin;
    return RGM_OK;
}

static rgm_status mixed_step(void *state, int64_t step)
{
    mixed *m = state;

    (void)step;
    RGM_TRY(side_step(&m->f32, m));
    RGM_TRY(side_step(&m->bf16, m));
    m->steps++;
    return RGM_OK;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return x < y ? -1 : x > y;
}

static double median(const double *numbers, int64_t count)
{
    double sorted[STEPS_KEPT];

    if (count == 0)
        return 0;
    memcpy(sorted, numbers, (size_t)count * sizeof *sorted);
    qsort(sorted, (size_t)count, sizeof *sorted, by_size);
    return sorted[count / 2];
}

static rgm_status mixed_facts(rgm_text *out, void *state)
{
    mixed *m = state;
    int64_t count = m->steps < STEPS_KEPT ? m->steps : STEPS_KEPT;
    double ratio[STEPS_KEPT];

    for (int64_t i = 0; i < count; i++)
        ratio[i] = m->f32.seconds[i] / m->bf16.seconds[i];
    return rgm_text_printf(out,
                           ", \"width\": %lld, \"isa_f32\": \"%s\", \"isa_bf16\": \"%s\", "
                           "\"f32\": %.6g, \"bf16\": %.6g, \"times_f32\": %.4g",
                           (long long)m->width, rgm_kernels_for(rgm_device_cpu(), RGM_F32)->isa,
                           rgm_kernels_for(rgm_device_cpu(), RGM_BF16)->isa,
                           median(m->f32.seconds, count), median(m->bf16.seconds, count),
                           median(ratio, count));
}

const bench_workload bench_bf16 = {"bf16",
                                   "a step of a 3-layer perceptron of `size` channels and rows in "
                                   "f32, then in bf16",
                                   mixed_open,
                                   mixed_step,
                                   mixed_facts,
                                   mixed_close,
                                   NULL};

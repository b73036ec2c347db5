/*
 * Sampled work on a large graph: mini-batches of GraphSAGE on blocks, the same on the whole sampled
 * subgraph as the runner's sampling provider gives it, sampling without training, and one subgraph
 * for each seed.
 */
#include "bench.h"

#include <regimen/device_tensor.h>

#include <string.h>

typedef enum sampled_form { BLOCKS, SAMPLING, WHOLE } sampled_form;

typedef struct sampled {
    bench_data data;
    sampled_form form;
    rgm_sampler *samplers[BENCH_ROUNDS]; /* one hop each; form whole: all hops in the first */
    bench_graph_training *training;      /* form whole  */
    bench_blocks *blocks;                /* form blocks */
    int64_t batch, *seeds, *order;
    int64_t batches, nodes, edges; /* seen so far */
    double sampling;               /* seconds     */
} sampled;

static const int64_t fan_out[BENCH_ROUNDS] = {5, 10, 15}; /* from the seeds outwards */
static const char *const hops[BENCH_ROUNDS] = {"<edges", "<edges", "<edges"}; /* to the senders */

static void sampled_close(void *state)
{
    sampled *s = state;

    if (s == NULL)
        return;
    bench_graphs_close(s->training);
    bench_blocks_close(s->blocks);
    for (int k = 0; k < BENCH_ROUNDS; k++)
        rgm_sampler_release(s->samplers[k]);
    if (s->data.feat != NULL)
        rgm_tensor_take_back(s->data.feat);
    bench_data_clear(&s->data);
    rgm_free(s->seeds);
    rgm_free(s->order);
    rgm_free(s);
}

static rgm_status make_sampler(rgm_sampler **out, rgm_graph *graph, int first, int count)
{
    rgm_status status = RGM_OK;
    rgm_sampling_spec *spec = NULL;

    RGM_GO(rgm_sampling_spec_create(&spec, rgm_graph_schema(graph), "nodes", hops, fan_out + first,
                                    count, RGM_SAMPLE_UNIFORM));
    RGM_GO(rgm_sampler_create(out, graph, spec, 1));
done:
    rgm_sampling_spec_release(spec);
    return status;
}

static rgm_status make_samplers(sampled *s)
{
    rgm_status status = RGM_OK;
    rgm_graph *bare = NULL, *full = NULL;

    RGM_GO(bench_data_graph(&bare, &s->data, false));
    RGM_GO(bench_data_graph(&full, &s->data, true));
    if (s->form == WHOLE)
        RGM_GO(make_sampler(&s->samplers[0], full, 0, BENCH_ROUNDS));
    else
        for (int k = 0; k < BENCH_ROUNDS; k++) /* features are needed of the last nodes alone */
            RGM_GO(make_sampler(&s->samplers[k],
                                s->form == BLOCKS && k == BENCH_ROUNDS - 1 ? full : bare, k, 1));
done:
    rgm_graph_release(bare);
    rgm_graph_release(full);
    return status;
}

/* On a device the features stay, as those of a run do. */
static rgm_status lend_features(sampled *s)
{
    bool stays;

    if (bench_device == NULL || s->data.feat == NULL || s->form == SAMPLING)
        return RGM_OK;
    return rgm_device_lend(&stays, bench_device, s->data.feat, SIZE_MAX);
}

static rgm_status sampled_build(sampled *s, const bench_options *options)
{
    s->batch = options->size > 0 ? options->size : 1024;
    RGM_TRY(bench_data_load(&s->data, options->data));
    if (s->batch > s->data.nodes)
        return RGM_FAIL(RGM_ERR_ARG, "%lld seeds of %lld nodes", (long long)s->batch,
                        (long long)s->data.nodes);
    RGM_TRY(make_samplers(s));
    RGM_TRY(lend_features(s));
    RGM_TRY(RGM_NEW(s->seeds, s->batch));
    return RGM_NEW(s->order, s->data.nodes);
}

/* `batch` different nodes, others in each step of a pass. */
static void draw_seeds(sampled *s, int64_t step)
{
    int64_t per_pass = s->data.nodes / s->batch, at = step % per_pass;
    rgm_rng rng = rgm_rng_stream(1, "seeds", (uint64_t)(step / per_pass));

    if (at == 0 || s->batches == 0)
        rgm_rng_permutation(&rng, s->order, s->data.nodes);
    memcpy(s->seeds, s->order + at * s->batch, (size_t)s->batch * sizeof *s->seeds);
}

static void release_graphs(rgm_graph **graphs)
{
    for (int k = 0; k < BENCH_ROUNDS; k++)
        rgm_graph_release(graphs[k]);
}

/* One graph for each sampler; the nodes of one are the seeds of the next. */
static rgm_status sample(rgm_graph **graphs, sampled *s, int64_t step)
{
    const int64_t *seeds = s->seeds;
    int64_t count = s->batch;
    double begin = rgm_now();

    draw_seeds(s, step);
    s->batches++;
    for (int k = 0; k < BENCH_ROUNDS && s->samplers[k] != NULL; k++) {
        rgm_sampler_set_threads(s->samplers[k], rgm_threads());
        RGM_TRY(rgm_sampler_batch(&graphs[k], s->samplers[k], seeds, count, (uint64_t)step,
                                  k == 0 ? "label" : NULL));
        seeds = rgm_tensor_i64(rgm_graph_feature(graphs[k], RGM_NODE_SET, "nodes", "#id")->values);
        count = rgm_graph_total(graphs[k], RGM_NODE_SET, "nodes");
        s->edges += rgm_graph_total(graphs[k], RGM_EDGE_SET, "edges");
    }
    s->nodes += count;
    s->sampling += rgm_now() - begin;
    return RGM_OK;
}

static rgm_status open_whole(sampled *s, bool profile, rgm_model_fn *model)
{
    rgm_status status = RGM_OK;
    rgm_optimizer_options adam = rgm_adam(0.01);
    rgm_graph *first[BENCH_ROUNDS] = {NULL};

    RGM_GO(sample(first, s, 0));
    RGM_GO(bench_graphs_open(&s->training, (rgm_schema *)rgm_graph_schema(first[0]), model,
                             &s->data, s->data.classes, &adam, profile));
    s->batches = s->nodes = s->edges = 0;
    s->sampling = 0;
done:
    release_graphs(first);
    return status;
}

static rgm_status minibatch_open(void **out, const bench_options *options)
{
    rgm_status status = RGM_OK;
    rgm_optimizer_options adam = rgm_adam(0.01);
    sampled *s = NULL;

    RGM_GO(RGM_NEW(s, 1));
    s->form = strcmp(options->form, "whole") == 0      ? WHOLE
              : strcmp(options->form, "sampling") == 0 ? SAMPLING
                                                       : BLOCKS;
    RGM_GO(sampled_build(s, options));
    if (s->form == WHOLE)
        RGM_GO(open_whole(s, options->profile, bench_sage_model));
    else if (s->form == BLOCKS)
        RGM_GO(bench_blocks_open(&s->blocks, rgm_tensor_dim(s->data.feat, 1), s->data.classes,
                                 &adam, options->profile));
    *out = s;
    s = NULL;
done:
    sampled_close(s);
    return status;
}

static rgm_status minibatch_step(void *state, int64_t step)
{
    rgm_status status = RGM_OK;
    sampled *s = state;
    rgm_graph *graphs[BENCH_ROUNDS] = {NULL};

    RGM_GO(sample(graphs, s, step));
    if (s->form == WHOLE)
        RGM_GO(bench_graphs_step(s->training, graphs[0], step));
    else if (s->form == BLOCKS)
        RGM_GO(bench_blocks_step(s->blocks, graphs, step));
done:
    release_graphs(graphs);
    return status;
}

static rgm_status sampled_facts(rgm_text *out, void *state)
{
    sampled *s = state;
    int64_t n = s->batches > 0 ? s->batches : 1;

    return rgm_text_printf(
        out,
        ", \"seeds\": %lld, \"nodes\": %lld, \"edges\": %lld, \"sampling\": %.6f, \"classes\": "
        "%lld, \"width\": %lld",
        (long long)s->batch, (long long)(s->nodes / n), (long long)(s->edges / n),
        s->sampling / (double)n, (long long)s->data.classes,
        (long long)(s->data.feat != NULL ? rgm_tensor_dim(s->data.feat, 1) : 0));
}

static const char *const forms[] = {"blocks", "sampling", "whole", NULL};
const bench_workload bench_minibatch = {
    "minibatch",
    "step of a sampled GraphSAGE, `size` seeds; form whole: all rows in all rounds; sampling: no "
    "training",
    minibatch_open,
    minibatch_step,
    sampled_facts,
    sampled_close,
    forms};

/* ---- one subgraph for each seed ------------------------------------------------------------- */

static rgm_status count_subgraph(void *payload, int64_t i, rgm_graph *graph, const rgm_text *record)
{
    sampled *s = payload;

    (void)i;
    (void)record;
    s->nodes += rgm_graph_total(graph, RGM_NODE_SET, "nodes");
    s->edges += rgm_graph_total(graph, RGM_EDGE_SET, "edges");
    return RGM_OK;
}

static rgm_status sample_open(void **out, const bench_options *options)
{
    rgm_status status = RGM_OK;
    sampled *s = NULL;

    RGM_GO(RGM_NEW(s, 1));
    s->form = WHOLE;
    RGM_GO(sampled_build(s, options));
    *out = s;
    s = NULL;
done:
    sampled_close(s);
    return status;
}

static rgm_status sample_step(void *state, int64_t step)
{
    sampled *s = state;
    rgm_sampler_run_options run = RGM_SAMPLER_RUN_OPTIONS_INIT;

    run.threads = rgm_threads();
    run.epoch = (uint64_t)step;
    run.label = "label";
    draw_seeds(s, step);
    s->batches++;
    return rgm_sampler_run(s->samplers[0], s->seeds, s->batch, &run, count_subgraph, s);
}

const bench_workload bench_sample = {
    "sample",      "subgraphs of `size` seeds with their features, one for each seed",
    sample_open,   sample_step,
    sampled_facts, sampled_close,
    NULL};

/*
 * Training steps on whole graphs (GCN, GAT v2, GraphSAGE) and one aggregation, each written with
 * the public API as a user would.
 */
#include "bench.h"

#include <stdio.h>
#include <string.h>

/* ---- whole graphs: one step is one epoch ---------------------------------------------------- */

typedef struct whole {
    bench_data data;
    rgm_graph *graph;
    bench_graph_training *training;
    bool input_dropout; /* of GAT */
    int64_t entries;    /* sparse feature entries */
} whole;

static void whole_close(void *state)
{
    whole *w = state;

    if (w == NULL)
        return;
    bench_graphs_close(w->training);
    rgm_graph_release(w->graph);
    bench_data_clear(&w->data);
    rgm_free(w);
}

static rgm_status whole_open(void **out, const bench_options *options, rgm_model_fn *model,
                             const rgm_optimizer_options *optimizer)
{
    rgm_status status = RGM_OK;
    whole *w = NULL;
    rgm_graph *bare = NULL;

    RGM_GO(RGM_NEW(w, 1));
    w->input_dropout = strcmp(options->form, "nodropout") != 0;
    RGM_GO(bench_data_load(&w->data, options->data));
    RGM_GO(bench_data_graph(&bare, &w->data, true));
    RGM_GO(rgm_graph_with_readout(&w->graph, bare, "_readout", "seed", "nodes", w->data.train,
                                  "label"));
    if (w->data.words != NULL)
        w->entries = rgm_tensor_count(w->data.words);
    RGM_GO(bench_graphs_open(&w->training, (rgm_schema *)rgm_graph_schema(w->graph), model, w,
                             w->data.classes, optimizer, options->profile));
    /* The graph holds all that is needed from here on. */
    rgm_tensor_release(w->data.words);
    rgm_tensor_release(w->data.words_start);
    w->data.words = w->data.words_start = NULL;
    *out = w;
    w = NULL;
done:
    rgm_graph_release(bare);
    whole_close(w);
    return status;
}

static rgm_status whole_step(void *state, int64_t step)
{
    whole *w = state;

    return bench_graphs_step(w->training, w->graph, step);
}

static rgm_status whole_facts(rgm_text *out, void *state)
{
    whole *w = state;

    return rgm_text_printf(
        out,
        ", \"nodes\": %lld, \"edges\": %lld, \"entries\": %lld, \"classes\": "
        "%lld, \"train\": %lld, \"width\": %lld",
        (long long)w->data.nodes, (long long)w->data.edges, (long long)w->entries,
        (long long)w->data.classes, (long long)rgm_tensor_count(w->data.train),
        (long long)(w->data.feat != NULL ? rgm_tensor_dim(w->data.feat, 1) : w->data.vocabulary));
}

static rgm_value *node_inputs(rgm_scope *scope, const rgm_graph_value *graph)
{
    const rgm_input_options input = {.normalize = true};
    rgm_value *x[4] = {NULL};
    int64_t count = 0;

    if (rgm_node_inputs(x, 4, &count, scope, graph, "nodes", &input) != RGM_OK || count != 1)
        return NULL;
    return x[0];
}

/* Kipf & Welling: 16 hidden channels, dropout 0.5 before both convolutions. */
static rgm_graph_value *gcn_model(rgm_scope *scope, const rgm_graph_value *graph, void *payload)
{
    const whole *w = payload;
    rgm_value *h = rgm_dropout(scope, node_inputs(scope, graph), 0.5);

    h = rgm_relu(rgm_gcn_conv(scope, "conv_0", graph, "edges", h, 16));
    h = rgm_dropout(scope, h, 0.5);
    h = rgm_gcn_conv(scope, "conv_1", graph, "edges", h, w->data.classes);
    return rgm_with_state(graph, "nodes", h);
}

static rgm_status gcn_open(void **out, const bench_options *options)
{
    rgm_optimizer_options adam = rgm_adam(0.01);

    adam.weight_decay = 5e-4;
    return whole_open(out, options, gcn_model, &adam);
}

const bench_workload bench_gcn = {
    "gcn", "epoch of a GCN: 16 hidden, dropout 0.5", gcn_open, whole_step, whole_facts, whole_close,
    NULL};

/* 8 heads of 8, then one of `classes`; dropout 0.6 of inputs and coefficients. */
static rgm_graph_value *gat_model(rgm_scope *scope, const rgm_graph_value *graph, void *payload)
{
    const whole *w = payload;
    rgm_gatv2_options conv = RGM_GATV2_OPTIONS_INIT;
    rgm_value *h = node_inputs(scope, graph);

    conv.heads = conv.units = 8;
    conv.self_loops = true;
    conv.share_weights = true;
    conv.attention_dropout = 0.6;
    conv.activation = RGM_ACT_ELU;
    if (w->input_dropout)
        h = rgm_dropout(scope, h, 0.6);
    h = rgm_gatv2_conv(scope, "conv_0", graph, "edges", h, &conv);
    conv.heads = 1;
    conv.units = w->data.classes;
    conv.activation = RGM_ACT_NONE;
    h = rgm_gatv2_conv(scope, "conv_1", graph, "edges", rgm_dropout(scope, h, 0.6), &conv);
    return rgm_with_state(graph, "nodes", h);
}

static rgm_status gat_open(void **out, const bench_options *options)
{
    rgm_optimizer_options adam = rgm_adam(0.005);

    adam.weight_decay = 5e-4;
    return whole_open(out, options, gat_model, &adam);
}

static const char *const gat_forms[] = {"dropout", "nodropout", NULL};
const bench_workload bench_gat = {"gat",
                                  "epoch of a GAT v2: 8 heads of 8; form nodropout: "
                                  "inputs are not dropped",
                                  gat_open,
                                  whole_step,
                                  whole_facts,
                                  whole_close,
                                  gat_forms};

/* One round: act(W h + U mean(h of neighbours) + b), then dropout. */
static rgm_graph_value *sage_round(rgm_scope *scope, const char *name, const rgm_graph_value *graph,
                                   int64_t units, bool last)
{
    rgm_sage_update_options round = RGM_SAGE_UPDATE_OPTIONS_INIT;
    rgm_graph_value *next;
    rgm_value *h;

    round.units = units;
    round.l2_normalize = false;
    round.activation = last ? RGM_ACT_NONE : RGM_ACT_RELU;
    next = rgm_sage_update(scope, name, graph, &round);
    if (last || next == NULL)
        return next;
    h = rgm_node_feature(next, "nodes", RGM_HIDDEN_STATE);
    return rgm_with_state(next, "nodes", rgm_dropout(rgm_scope_enter(scope, name), h, 0.5));
}

rgm_graph_value *bench_sage_model(rgm_scope *scope, const rgm_graph_value *graph, void *payload)
{
    const bench_data *data = payload;
    rgm_value *x = rgm_node_feature(graph, "nodes", "feat");
    rgm_graph_value *next = rgm_with_state(graph, "nodes", x);

    next = sage_round(scope, "layer_0", next, 256, false);
    next = sage_round(scope, "layer_1", next, 256, false);
    return sage_round(scope, "layer_2", next, data->classes, true);
}

static rgm_graph_value *whole_sage_model(rgm_scope *scope, const rgm_graph_value *graph,
                                         void *payload)
{
    return bench_sage_model(scope, graph, &((whole *)payload)->data);
}

static rgm_status sage_open(void **out, const bench_options *options)
{
    rgm_optimizer_options adam = rgm_adam(0.01);

    return whole_open(out, options, whole_sage_model, &adam);
}

const bench_workload bench_sage = {"sage",      "epoch of a three-layer GraphSAGE-mean, 256 hidden",
                                   sage_open,   whole_step,
                                   whole_facts, whole_close,
                                   NULL};

/* ---- one aggregation ------------------------------------------------------------------------ */

typedef struct aggregate {
    bench_data data;
    rgm_graph *graph;
    rgm_cgraph *cgraph;
    rgm_value *pattern, *y;
    rgm_parameters *x; /* a parameter: nothing that depends on it is kept between runs */
    rgm_executor *executor;
    int64_t channels;
    bool profile;
} aggregate;

static void aggregate_close(void *state)
{
    aggregate *a = state;
    rgm_text text = {0};

    if (a == NULL)
        return;
    if (a->profile && a->executor != NULL && rgm_executor_print(&text, a->executor) == RGM_OK)
        fprintf(stderr, "%s\n", text.data);
    rgm_text_clear(&text);
    rgm_executor_release(a->executor);
    rgm_parameters_release(a->x);
    rgm_cgraph_release(a->cgraph);
    rgm_graph_release(a->graph);
    bench_data_clear(&a->data);
    rgm_free(a);
}

static rgm_status aggregate_build(aggregate *a, const bench_options *options)
{
    int64_t shape[2];
    rgm_spmm_options mean = {.mean = true};
    static const bool stays[] = {true};
    const rgm_executor_options there = {.device = bench_device, .stays = stays};
    rgm_dim entries;

    a->channels = options->size > 0 ? options->size : 256;
    a->profile = options->profile;
    RGM_TRY(bench_data_load(&a->data, options->data));
    RGM_TRY(bench_data_graph(&a->graph, &a->data, false));
    RGM_TRY(rgm_cgraph_create(&a->cgraph));
    shape[0] = a->data.nodes;
    shape[1] = a->channels;
    entries = rgm_cgraph_symbol(a->cgraph, "edges");
    a->pattern = rgm_input_pattern(a->cgraph, "adjacency", shape[0], shape[0], entries);
    a->y = rgm_spmm(
        a->pattern,
        rgm_parameter(a->cgraph, "x", RGM_F32, 2, shape, (rgm_init){RGM_INIT_UNIFORM, 1}), &mean);
    RGM_TRY(rgm_cgraph_status(a->cgraph));
    RGM_TRY(rgm_parameters_create(&a->x, a->cgraph, 1));
    RGM_TRY(rgm_executor_create(&a->executor, a->cgraph, &a->y, 1, &there));
    rgm_executor_profile(a->executor, a->profile);
    return RGM_OK;
}

static rgm_status aggregate_open(void **out, const bench_options *options)
{
    rgm_status status = RGM_OK;
    aggregate *a = NULL;

    RGM_GO(RGM_NEW(a, 1));
    RGM_GO(aggregate_build(a, options));
    *out = a;
    a = NULL;
done:
    aggregate_close(a);
    return status;
}

static rgm_status aggregate_step(void *state, int64_t step)
{
    aggregate *a = state;
    rgm_tensor *y;
    rgm_feed feed = {.input = a->pattern};

    RGM_TRY(rgm_graph_adjacency(&feed.pattern, a->graph, "edges", RGM_TARGET));
    return rgm_executor_run(a->executor, &y, a->x, &feed, 1, 1, (uint64_t)step);
}

static rgm_status aggregate_facts(rgm_text *out, void *state)
{
    aggregate *a = state;

    return rgm_text_printf(out, ", \"nodes\": %lld, \"edges\": %lld, \"width\": %lld",
                           (long long)a->data.nodes, (long long)a->data.edges,
                           (long long)a->channels);
}

const bench_workload bench_aggregate = {"aggregate",
                                        "mean of the neighbours' rows of `size` channels",
                                        aggregate_open,
                                        aggregate_step,
                                        aggregate_facts,
                                        aggregate_close,
                                        NULL};

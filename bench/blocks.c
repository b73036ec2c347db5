/*
 * A step of GraphSAGE on blocks: a round's rows are the first nodes of its block, its neighbours
 * all of them, and the nodes of one block are the rows of the block below, so that rounds shrink
 * towards the seeds. A block is one hop of rgm_sampler_batch(), whose seeds stand first.
 */
#include "bench.h"

#include <stdio.h>

#define ROUNDS BENCH_ROUNDS

struct bench_blocks {
    bench_training training;
    rgm_value *x, *labels, *pattern[ROUNDS], *prefix[ROUNDS];
};

/* act(W h[rows] + U mean(h of neighbours) + b), then dropout: the model graph_sage's round. */
static rgm_value *round_of(rgm_scope *scope, int k, rgm_value *pattern, rgm_value *prefix,
                           rgm_value *h, int64_t units)
{
    static const char *const names[] = {"layer_0", "layer_1", "layer_2"}, *const edges = "edges";
    bool last = k == ROUNDS - 1;
    rgm_sage_options message = RGM_SAGE_OPTIONS_INIT;
    rgm_sage_state_options state = RGM_SAGE_STATE_OPTIONS_INIT;
    rgm_conv_input in = {.name = edges, .pattern = pattern, .sender = h};
    rgm_value *heard;
    rgm_state_inputs inputs = {.set = "nodes", .count = 1, .names = &edges, .inputs = &heard};
    rgm_scope *round = rgm_scope_enter(scope, names[k]);

    message.units = state.units = units;
    state.l2_normalize = false;
    state.activation = last ? RGM_ACT_NONE : RGM_ACT_RELU;
    heard = rgm_sage_convolve(rgm_scope_enter(round, edges), &in, &message);
    inputs.state = rgm_gather(h, prefix);
    h = rgm_sage_state(rgm_scope_enter(round, "next_state"), &inputs, &state);
    return last ? h : rgm_dropout(round, h, 0.5);
}

static rgm_value *build_loss(bench_blocks *b, int64_t width, int64_t classes)
{
    rgm_cgraph *graph = b->training.graph;
    static const char *const symbols[] = {"nodes", "rows_1", "rows_2", "seeds"};
    rgm_dim shape[] = {rgm_cgraph_symbol(graph, "nodes"), width};
    rgm_value *h;

    h = b->x = rgm_input(graph, "feat", RGM_F32, 2, shape);
    for (int k = 0; k < ROUNDS; k++) {
        rgm_dim rows = rgm_cgraph_symbol(graph, symbols[k + 1]);
        char name[32];

        snprintf(name, sizeof name, "edges_%d", k);
        b->pattern[k] = rgm_input_pattern(graph, name, rows, rgm_cgraph_symbol(graph, symbols[k]),
                                          rgm_cgraph_symbol(graph, name));
        snprintf(name, sizeof name, "prefix_%d", k);
        b->prefix[k] = rgm_input(graph, name, RGM_I64, 1, &rows);
        h = round_of(b->training.scope, k, b->pattern[k], b->prefix[k], h,
                     k == ROUNDS - 1 ? classes : 256);
    }
    shape[0] = rgm_cgraph_symbol(graph, "seeds");
    b->labels = rgm_input(graph, "labels", RGM_I64, 1, shape);
    return rgm_mean(rgm_softmax_cross_entropy(h, b->labels));
}

rgm_status bench_blocks_open(bench_blocks **out, int64_t width, int64_t classes,
                             const rgm_optimizer_options *optimizer, bool profile)
{
    rgm_status status = RGM_OK;
    bench_blocks *b = NULL;
    rgm_value *loss;

    *out = NULL;
    RGM_GO(RGM_NEW(b, 1));
    RGM_GO(bench_training_begin(&b->training));
    loss = build_loss(b, width, classes);
    RGM_GO(bench_training_compile(&b->training, loss, optimizer, false, profile));
    *out = b;
    b = NULL;
done:
    bench_blocks_close(b);
    return status;
}

/* A block's edges as a pattern [rows, nodes]. */
static rgm_status edges_of(rgm_pattern **pattern, const rgm_graph *block, int64_t rows)
{
    return rgm_pattern_create(pattern, rows, rgm_graph_total(block, RGM_NODE_SET, "nodes"),
                              rgm_graph_total(block, RGM_EDGE_SET, "edges"),
                              rgm_tensor_i64(rgm_graph_target(block, "edges")),
                              rgm_tensor_i64(rgm_graph_source(block, "edges")));
}

rgm_status bench_blocks_step(bench_blocks *b, rgm_graph *const *blocks, int64_t step)
{
    rgm_status status = RGM_OK;
    const rgm_feature *x = rgm_graph_feature(blocks[ROUNDS - 1], RGM_NODE_SET, "nodes", "feat");
    const rgm_feature *label = rgm_graph_feature(blocks[0], RGM_NODE_SET, "_readout", "label");
    rgm_pattern *pattern[ROUNDS] = {NULL};
    rgm_tensor *prefix[ROUNDS] = {NULL};
    rgm_feed feeds[2 + 2 * ROUNDS];
    int64_t rows = rgm_tensor_count(label->values), count = 0;

    feeds[count++] = (rgm_feed){.input = b->labels, .tensor = label->values};
    feeds[count++] = (rgm_feed){.input = b->x, .tensor = x->values};
    for (int k = 0; k < ROUNDS; k++) { /* block 0 belongs to the last round */
        int round = ROUNDS - 1 - k;
        RGM_GO(edges_of(&pattern[k], blocks[k], rows));
        RGM_GO(rgm_tensor_arange(&prefix[k], rows));
        feeds[count++] = (rgm_feed){.input = b->pattern[round], .pattern = pattern[k]};
        feeds[count++] = (rgm_feed){.input = b->prefix[round], .tensor = prefix[k]};
        rows = rgm_graph_total(blocks[k], RGM_NODE_SET, "nodes");
    }
    RGM_GO(bench_training_step(&b->training, feeds, count, step));
done:
    for (int k = 0; k < ROUNDS; k++) {
        rgm_pattern_release(pattern[k]);
        rgm_tensor_release(prefix[k]);
    }
    return status;
}

void bench_blocks_close(bench_blocks *b)
{
    if (b == NULL)
        return;
    bench_training_end(&b->training);
    rgm_free(b);
}

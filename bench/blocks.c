/*
 * A step of GraphSAGE on blocks: a round's rows are the first nodes of its block, its neighbours
 * all of them, and the nodes of one block are the rows of the block below, so that rounds shrink
 * towards the seeds. A block is one hop of rgm_sampler_batch(), whose seeds stand first.
 */
#include "bench.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define ROUNDS BENCH_ROUNDS

struct bench_blocks {
    rgm_cgraph *graph;
    rgm_scope *scope;
    rgm_parameters *parameters;
    rgm_optimizer *optimizer;
    rgm_executor *executor;
    rgm_value *x, *labels, *pattern[ROUNDS], *prefix[ROUNDS];
    rgm_value **fetches;
    rgm_tensor **fetched;
    bool profile;
};

/* act(W h[rows] + U mean(h of neighbours) + b), then dropout: the model graph_sage's round. */
static rgm_value *round_of(rgm_scope *scope, int k, rgm_value *pattern, rgm_value *prefix,
                           rgm_value *h, int64_t units)
{
    static const char *const names[] = {"layer_0", "layer_1", "layer_2"}, *const edges = "edges";
    bool last = k == ROUNDS - 1;
    rgm_sage_options message = RGM_SAGE_OPTIONS_INIT;
    rgm_sage_state_options state = RGM_SAGE_STATE_OPTIONS_INIT;
    rgm_link link = {.name = edges, .pattern = pattern, .sender = h};
    rgm_value *heard;
    rgm_state_inputs inputs = {.set = "nodes", .count = 1, .names = &edges, .inputs = &heard};
    rgm_scope *round = rgm_scope_enter(scope, names[k]);

    message.units = state.units = units;
    state.no_l2_normalize = true;
    state.activation = last ? RGM_ACT_NONE : RGM_ACT_RELU;
    heard = rgm_sage_convolve(rgm_scope_enter(round, edges), &link, &message);
    inputs.state = rgm_gather(h, prefix);
    h = rgm_sage_state(rgm_scope_enter(round, "next_state"), &inputs, &state);
    return last ? h : rgm_dropout(round, h, 0.5);
}

static rgm_value *build_loss(bench_blocks *b, int64_t width, int64_t classes)
{
    static const char *const symbols[] = {"nodes", "rows_1", "rows_2", "seeds"};
    rgm_dim shape[] = {rgm_cgraph_symbol(b->graph, "nodes"), width};
    rgm_value *h;

    h = b->x = rgm_input(b->graph, "feat", RGM_F32, 2, shape);
    for (int k = 0; k < ROUNDS; k++) {
        rgm_dim rows = rgm_cgraph_symbol(b->graph, symbols[k + 1]);
        char name[32];

        snprintf(name, sizeof name, "edges_%d", k);
        b->pattern[k] =
            rgm_input_pattern(b->graph, name, rows, rgm_cgraph_symbol(b->graph, symbols[k]),
                              rgm_cgraph_symbol(b->graph, name));
        snprintf(name, sizeof name, "prefix_%d", k);
        b->prefix[k] = rgm_input(b->graph, name, RGM_I64, 1, &rows);
        h = round_of(b->scope, k, b->pattern[k], b->prefix[k], h, k == ROUNDS - 1 ? classes : 256);
    }
    shape[0] = rgm_cgraph_symbol(b->graph, "seeds");
    b->labels = rgm_input(b->graph, "labels", RGM_I64, 1, shape);
    return rgm_mean(rgm_softmax_cross_entropy(h, b->labels));
}

static rgm_status compile(bench_blocks *b, rgm_value *loss)
{
    rgm_status status = RGM_OK;
    rgm_executor_options options = {.training = true};
    int64_t count = rgm_cgraph_parameter_count(b->graph);
    rgm_value **wrt = NULL;

    RGM_GO(rgm_cgraph_status(b->graph));
    RGM_GO(RGM_NEW(wrt, count));
    RGM_GO(RGM_NEW(b->fetches, count + 1));
    RGM_GO(RGM_NEW(b->fetched, count + 1));
    for (int64_t i = 0; i < count; i++)
        wrt[i] = rgm_cgraph_parameter(b->graph, i);
    b->fetches[0] = loss;
    RGM_GO(rgm_cgraph_gradients(b->fetches + 1, loss, wrt, count));
    RGM_GO(rgm_executor_create(&b->executor, b->graph, b->fetches, count + 1, &options));
    rgm_executor_profile(b->executor, b->profile);
done:
    rgm_free(wrt);
    return status;
}

rgm_status bench_blocks_open(bench_blocks **out, int64_t width, int64_t classes,
                             const rgm_optimizer_options *optimizer, bool profile)
{
    rgm_status status = RGM_OK;
    bench_blocks *b = NULL;
    rgm_value *loss;

    *out = NULL;
    RGM_GO(RGM_NEW(b, 1));
    b->profile = profile;
    RGM_GO(rgm_cgraph_create(&b->graph));
    RGM_GO(rgm_scope_create(&b->scope, b->graph, RGM_F32));
    loss = build_loss(b, width, classes);
    RGM_GO(rgm_cgraph_status(b->graph));
    RGM_GO(rgm_parameters_create(&b->parameters, b->graph, 1));
    RGM_GO(rgm_optimizer_create(&b->optimizer, optimizer, b->parameters));
    RGM_GO(compile(b, loss));
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

static rgm_status numbers_to(rgm_tensor **out, int64_t count)
{
    RGM_TRY(rgm_tensor_create(out, RGM_I64, 1, &count));
    for (int64_t i = 0; i < count; i++)
        rgm_tensor_i64(*out)[i] = i;
    return RGM_OK;
}

static rgm_status run(bench_blocks *b, const rgm_feed *feeds, int64_t count, int64_t step)
{
    double loss;

    RGM_TRY(
        rgm_executor_run(b->executor, b->fetched, b->parameters, feeds, count, 1, (uint64_t)step));
    loss = rgm_tensor_at(b->fetched[0], 0);
    if (!isfinite(loss))
        return RGM_FAIL(RGM_ERR_NUMERIC, "the loss of step %lld is %g", (long long)step, loss);
    return rgm_optimizer_step(b->optimizer, b->parameters, b->fetched + 1, step);
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
        RGM_GO(numbers_to(&prefix[k], rows));
        feeds[count++] = (rgm_feed){.input = b->pattern[round], .pattern = pattern[k]};
        feeds[count++] = (rgm_feed){.input = b->prefix[round], .tensor = prefix[k]};
        rows = rgm_graph_total(blocks[k], RGM_NODE_SET, "nodes");
    }
    RGM_GO(run(b, feeds, count, step));
done:
    for (int k = 0; k < ROUNDS; k++) {
        rgm_pattern_release(pattern[k]);
        rgm_tensor_release(prefix[k]);
    }
    return status;
}

void bench_blocks_close(bench_blocks *b)
{
    rgm_text text = {0};

    if (b == NULL)
        return;
    if (b->profile && b->executor != NULL && rgm_executor_print(&text, b->executor) == RGM_OK)
        fprintf(stderr, "%s\n", text.data);
    rgm_text_clear(&text);
    rgm_executor_release(b->executor);
    rgm_optimizer_release(b->optimizer);
    rgm_parameters_release(b->parameters);
    rgm_scope_release(b->scope);
    rgm_cgraph_release(b->graph);
    rgm_free(b->fetches);
    rgm_free(b->fetched);
    rgm_free(b);
}

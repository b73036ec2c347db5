/*
 * HGT on a graph of four node sets: the nodes of the data file in four ranges, its edges as far as
 * they lie in one of seven relations. "nodes" are what is classified, as papers are in MAG.
 */
#include "bench.h"

enum { SETS = 4, RELATIONS = 7 };
static const char *const sets[SETS] = {"nodes", "authors", "fields", "institutions"};
static const double shares[SETS + 1] = {0, 0.5, 0.8, 0.95, 1}; /* where a set's range begins */
static const struct {
    const char *name;
    int source, target;
} relations[RELATIONS] = {
    {"cites", 0, 0}, {"writes", 1, 0},   {"written_by", 0, 1}, {"has", 0, 2},
    {"is_of", 2, 0}, {"works_at", 1, 3}, {"employs", 3, 1},
};

typedef struct hetero {
    bench_data data;
    rgm_graph *graph;
    bench_graph_training *training;
    int64_t begin[SETS + 1], edges, train;
    int64_t units;
} hetero;

static void hetero_close(void *state)
{
    hetero *h = state;

    if (h == NULL)
        return;
    bench_graphs_close(h->training);
    rgm_graph_release(h->graph);
    bench_data_clear(&h->data);
    rgm_free(h);
}

static rgm_status make_schema(rgm_schema **out, int64_t width)
{
    RGM_TRY(rgm_schema_create(out));
    for (int i = 0; i < SETS; i++) {
        RGM_TRY(rgm_schema_add_node_set(*out, sets[i]));
        RGM_TRY(rgm_schema_add_feature(*out, RGM_NODE_SET, sets[i], "feat", RGM_F32, 1, &width));
    }
    for (int i = 0; i < RELATIONS; i++)
        RGM_TRY(rgm_schema_add_edge_set(*out, relations[i].name, sets[relations[i].source],
                                        sets[relations[i].target]));
    return rgm_schema_add_feature(*out, RGM_NODE_SET, "nodes", "label", RGM_I64, 0, NULL);
}

/* The file's edges from one range to another, numbered within the ranges. */
static rgm_status add_relation(rgm_graph_builder *builder, hetero *h, int r, rgm_tensor **ends)
{
    const int64_t *source = rgm_tensor_i64(h->data.source),
                  *target = rgm_tensor_i64(h->data.target);
    int64_t from = h->begin[relations[r].source], until = h->begin[relations[r].source + 1];
    int64_t to = h->begin[relations[r].target], limit = h->begin[relations[r].target + 1];
    int64_t count = 0, *made[2];

    for (int pass = 0; pass < 2; pass++) {
        if (pass == 1) {
            for (int k = 0; k < 2; k++) {
                RGM_TRY(rgm_tensor_create(&ends[k], RGM_I64, 1, &count));
                made[k] = rgm_tensor_i64(ends[k]);
            }
            h->edges += count;
            count = 0;
        }
        for (int64_t e = 0; e < h->data.edges; e++) {
            if (source[e] < from || source[e] >= until || target[e] < to || target[e] >= limit)
                continue;
            if (pass == 1) {
                made[0][count] = source[e] - from;
                made[1][count] = target[e] - to;
            }
            count++;
        }
    }
    return rgm_graph_builder_edges(builder, relations[r].name, ends[0], ends[1]);
}

static rgm_status add_relations(rgm_graph_builder *builder, hetero *h)
{
    for (int r = 0; r < RELATIONS; r++) {
        rgm_tensor *ends[2] = {NULL, NULL};
        rgm_status status = add_relation(builder, h, r, ends);

        rgm_tensor_release(ends[0]);
        rgm_tensor_release(ends[1]);
        RGM_TRY(status);
    }
    return RGM_OK;
}

static rgm_status add_rows(rgm_graph_builder *builder, const hetero *h, int i)
{
    int64_t width = rgm_tensor_dim(h->data.feat, 1);
    int64_t shape[2] = {h->begin[i + 1] - h->begin[i], width};
    rgm_status status = RGM_OK;
    rgm_feature x = {0};

    RGM_GO(rgm_graph_builder_sizes(builder, RGM_NODE_SET, sets[i], &shape[0]));
    RGM_GO(rgm_tensor_create_from(&x.values, RGM_F32, 2, shape,
                                  rgm_tensor_f32(h->data.feat) + h->begin[i] * width));
    RGM_GO(rgm_graph_builder_feature(builder, RGM_NODE_SET, sets[i], "feat", &x));
    if (i == 0) {
        rgm_tensor_release(x.values);
        x.values = NULL;
        RGM_GO(rgm_tensor_create_from(&x.values, RGM_I64, 1, shape, rgm_tensor_i64(h->data.label)));
        RGM_GO(rgm_graph_builder_feature(builder, RGM_NODE_SET, sets[i], "label", &x));
    }
done:
    rgm_tensor_release(x.values);
    return status;
}

/* Of the file's training nodes those that are classified. */
static rgm_status with_readout(hetero *h, rgm_graph *bare)
{
    const int64_t *all = rgm_tensor_i64(h->data.train);
    int64_t count = 0, *own = NULL;
    rgm_tensor *train = NULL;
    rgm_status status = RGM_OK;

    RGM_GO(RGM_NEW(own, rgm_tensor_count(h->data.train)));
    for (int64_t i = 0; i < rgm_tensor_count(h->data.train); i++)
        if (all[i] < h->begin[1])
            own[count++] = all[i];
    h->train = count;
    RGM_GO(rgm_tensor_create_from(&train, RGM_I64, 1, &count, own));
    RGM_GO(rgm_graph_with_readout(&h->graph, bare, "_readout", "seed", "nodes", train, "label"));
done:
    rgm_free(own);
    rgm_tensor_release(train);
    return status;
}

static rgm_status make_graph(hetero *h)
{
    rgm_status status = RGM_OK;
    rgm_schema *schema = NULL;
    rgm_graph_builder *builder = NULL;
    rgm_graph *bare = NULL;

    RGM_GO(make_schema(&schema, rgm_tensor_dim(h->data.feat, 1)));
    RGM_GO(rgm_graph_builder_create(&builder, schema, 1));
    for (int i = 0; i < SETS; i++)
        RGM_GO(add_rows(builder, h, i));
    RGM_GO(add_relations(builder, h));
    RGM_GO(rgm_graph_builder_finish(&bare, builder));
    RGM_GO(with_readout(h, bare));
done:
    rgm_graph_release(bare);
    rgm_graph_builder_release(builder);
    rgm_schema_release(schema);
    return status;
}

/* Two rounds of `units` channels in 4 heads behind a dense layer for each set. */
static rgm_graph_value *hetero_model(rgm_scope *scope, const rgm_graph_value *graph, void *payload)
{
    const hetero *h = payload;
    rgm_hgt_model_options options = {.units = h->units,
                                     .heads = 4,
                                     .layers = 2,
                                     .input_activation = RGM_ACT_GELU,
                                     .dropout = 0.2,
                                     .weighted_skip = true,
                                     .layer_norm = true,
                                     .bias = true,
                                     .activation = RGM_ACT_GELU,
                                     .receiver = RGM_AT_TARGET};
    rgm_graph_value *next = rgm_hgt_model.build(scope, graph, &options);

    if (next == NULL)
        return NULL;
    return rgm_with_state(next, "nodes",
                          rgm_dense(scope, "logits",
                                    rgm_node_feature(next, "nodes", RGM_HIDDEN_STATE),
                                    h->data.classes));
}

static rgm_status hetero_open(void **out, const bench_options *options)
{
    rgm_optimizer_options adam = rgm_adam(0.001);
    rgm_status status = RGM_OK;
    hetero *h = NULL;

    RGM_GO(RGM_NEW(h, 1));
    h->units = options->size > 0 ? options->size : 64;
    RGM_GO(bench_data_load(&h->data, options->data));
    if (h->data.feat == NULL)
        RGM_GO(RGM_FAIL(RGM_ERR_ARG, "%s: made without feat=", options->data));
    for (int i = 0; i <= SETS; i++)
        h->begin[i] = (int64_t)(shares[i] * (double)h->data.nodes);
    RGM_GO(make_graph(h));
    RGM_GO(bench_graphs_open(&h->training, (rgm_schema *)rgm_graph_schema(h->graph), hetero_model,
                             h, h->data.classes, &adam, options->profile));
    *out = h;
    h = NULL;
done:
    hetero_close(h);
    return status;
}

static rgm_status hetero_step(void *state, int64_t step)
{
    hetero *h = state;

    return bench_graphs_step(h->training, h->graph, step);
}

static rgm_status hetero_facts(rgm_text *out, void *state)
{
    hetero *h = state;

    return rgm_text_printf(out,
                           ", \"nodes\": %lld, \"edges\": %lld, \"classes\": %lld, \"train\": "
                           "%lld, \"width\": %lld, \"units\": %lld",
                           (long long)h->data.nodes, (long long)h->edges,
                           (long long)h->data.classes, (long long)h->train,
                           (long long)rgm_tensor_dim(h->data.feat, 1), (long long)h->units);
}

const bench_workload bench_hgt = {
    "hgt",        "step of HGT on four node sets: 2 rounds of `size` channels",
    hetero_open,  hetero_step,
    hetero_facts, hetero_close,
    NULL};

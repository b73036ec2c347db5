/*
 * Convolutions and graph updates against TF-GNN 1.0.3, whose outputs for the same random graph and
 * weights tests/oracle/tfgnn_oracle.py wrote; what graph and weights are is said there and here.
 */
#include "gnn_check.h"

#define GOLDEN      "tests/oracle/tfgnn_golden.txt"
#define WIDTH_SHAPE "shape { dim { size: 4 } }"
#define NODES(name, shape)                                                                         \
    "node_sets { key: '" name "' value { features { key: 'hidden_state' value { dtype: DT_DOUBLE"  \
    " " shape " } } } }"
#define EDGES(name, from, to)                                                                      \
    "edge_sets { key: '" name "' value { source: '" from "' target: '" to "'"                      \
    "  features { key: 'e' value { dtype: DT_DOUBLE shape { dim { size: 2 } } } }"                 \
    "  features { key: 'w' value { dtype: DT_DOUBLE } } } }"
#define ALL_EDGES                                                                                  \
    EDGES("ab", "a", "b") EDGES("ba", "b", "a") EDGES("bb", "b", "b") EDGES("cb", "c", "b")
#define FULL NODES("a", WIDTH_SHAPE) NODES("b", WIDTH_SHAPE) NODES("c", WIDTH_SHAPE) ALL_EDGES

enum { WIDTH = 4, EDGE_WIDTH = 2, SETS = 3, EDGE_SETS = 4 };
static const char *const nodes[SETS] = {"a", "b", "c"};
static const int64_t node_count[SETS] = {6, 5, 4};
static const struct {
    const char *name;
    int source;
    int64_t count, hear; /* ends are below `hear` */
} edges[EDGE_SETS] = {{"ab", 0, 12, 4}, {"ba", 1, 7, 6}, {"bb", 1, 9, 4}, {"cb", 2, 5, 4}};

static int64_t draw(int64_t *state, int64_t below)
{
    *state = (*state * 1103515245 + 12345) % 2147483648;
    return (*state >> 8) % below;
}

static void add_numbers(rgm_graph_builder *builder, rgm_piece piece, const char *set,
                        const char *feature, int64_t items, int64_t width, int64_t begin,
                        double term)
{
    double data[64];

    for (int64_t i = 0; i < items * (width > 0 ? width : 1); i++)
        data[i] = number(begin + i) + term;
    add_doubles(builder, piece, set, feature, items, width, data);
}

static void make_tfgnn_graph(world *w)
{
    rgm_graph_builder *builder = NULL;
    int64_t state = 7;

    CHECK_OK(rgm_graph_builder_create(&builder, w->schema, 1));
    for (int i = 0; i < SETS; i++) {
        CHECK_OK(rgm_graph_builder_sizes(builder, RGM_NODE_SET, nodes[i], &node_count[i]));
        if (rgm_schema_find(w->schema, RGM_NODE_SET, nodes[i])->feature_count > 0)
            add_numbers(builder, RGM_NODE_SET, nodes[i], "hidden_state", node_count[i], WIDTH,
                        1000 * i, 0);
    }
    for (int i = 0; i < EDGE_SETS; i++) {
        int64_t source[16], target[16], count = edges[i].count;

        for (int64_t k = 0; k < count; k++) {
            source[k] = draw(&state, node_count[edges[i].source]);
            target[k] = draw(&state, edges[i].hear);
        }
        CHECK_OK(rgm_graph_builder_sizes(builder, RGM_EDGE_SET, edges[i].name, &count));
        add_edges(builder, edges[i].name, count, source, target);
        add_numbers(builder, RGM_EDGE_SET, edges[i].name, "e", count, EDGE_WIDTH, 5000 + 1000 * i,
                    0);
        add_numbers(builder, RGM_EDGE_SET, edges[i].name, "w", count, 0, 9000 + 100 * i, 1.5);
    }
    CHECK_OK(rgm_graph_builder_finish(&w->data, builder));
    rgm_graph_builder_release(builder);
}

static void open_tfgnn_world(world *w, const char *schema)
{
    *w = (world){0};
    CHECK_OK(rgm_schema_parse(&w->schema, schema, (int64_t)strlen(schema), "test"));
    make_tfgnn_graph(w);
    CHECK_OK(rgm_cgraph_create(&w->graph));
    CHECK_OK(rgm_graph_value_create(&w->value, w->graph, w->schema));
    CHECK_OK(rgm_scope_create(&w->scope, w->graph, RGM_F64));
}

/* What a parameter of that name is, element by element, whatever its shape. */
static void set_tfgnn_parameters(world *w)
{
    CHECK_OK(rgm_parameters_create(&w->parameters, w->graph, 7));
    for (int64_t p = 0; p < rgm_parameters_count(w->parameters); p++) {
        const char *name = rgm_parameters_name(w->parameters, p), *end = strrchr(name, '/');
        bool variance = end != NULL && strcmp(end, "/moving_variance") == 0;
        rgm_tensor *t = rgm_parameters_tensor(w->parameters, p);
        int64_t code = 0;

        for (int64_t i = 0; name[i] != '\0'; i++)
            code = (code + (i + 1) * (unsigned char)name[i]) % 997;
        for (int64_t i = 0; i < rgm_tensor_count(t); i++) {
            double x = 0.5 * sin(0.37 * (double)i + 0.01 * (double)code);
            rgm_tensor_f64(t)[i] = variance ? x * x + 0.5 : x;
        }
    }
    rgm_parameters_touch(w->parameters);
}

/* ---- convolutions along ab (of GCN along bb) ------------------------------------------------ */

static rgm_conv_input along(const world *w, rgm_tag receiver, bool featured)
{
    rgm_value *a = rgm_node_feature(w->value, "a", RGM_HIDDEN_STATE);
    rgm_value *b = rgm_node_feature(w->value, "b", RGM_HIDDEN_STATE);
    rgm_value *e = featured ? rgm_edge_feature(w->value, "ab", "e") : NULL;
    bool target = receiver == RGM_TARGET;

    return rgm_conv_along_edges(w->value, "ab", receiver, target ? b : a, target ? a : b, e);
}

static rgm_value *gcn(world *w, int way)
{
    rgm_gcn_options options = RGM_GCN_OPTIONS_INIT;
    rgm_value *b = rgm_node_feature(w->value, "b", RGM_HIDDEN_STATE);
    rgm_conv_input in = rgm_conv_along_edges(w->value, "bb", RGM_TARGET, b, b, NULL);

    options.units = 3;
    options.normalization = (rgm_degree_norm)(way / 2);
    options.self_loops = way % 2;
    options.edge_weight = rgm_edge_feature(w->value, "bb", "w");
    options.activation = RGM_ACT_RELU;
    return rgm_gcn_convolve(w->scope, &in, &options);
}

static rgm_value *gat(world *w, int way)
{
    rgm_gatv2_options options = RGM_GATV2_OPTIONS_INIT;
    rgm_conv_input in = along(w, way == 1 ? RGM_SOURCE : RGM_TARGET, way > 0);

    options.heads = 2;
    options.units = 3;
    options.activation = RGM_ACT_RELU;
    if (way == 1) {
        options.mean_heads = true;
        options.attention_activation = RGM_ACT_TANH;
    }
    if (way < 2)
        return rgm_gatv2_convolve(w->scope, &in, &options);
    in.sender = NULL;
    return rgm_gatv2_edge_pool(w->scope, &in, &options);
}

static rgm_value *sage(world *w, int way)
{
    rgm_sage_options options = RGM_SAGE_OPTIONS_INIT;
    rgm_conv_input in = along(w, RGM_TARGET, false);

    options.units = 3;
    options.hidden_units = way == 2 ? 5 : 0;
    options.reduce_type = way == 1 ? "sum" : NULL;
    return way == 2 ? rgm_sage_pool_convolve(w->scope, &in, &options)
                    : rgm_sage_convolve(w->scope, &in, &options);
}

enum { MH, MH_EDGES, MH_LINEAR_EDGES, MH_PLAIN_KEYS, MH_AFTER, MH_AFTER_EDGES, MH_EDGE_POOL };

static rgm_value *multi_head(world *w, int way)
{
    rgm_multi_head_options options = RGM_MULTI_HEAD_OPTIONS_INIT;
    rgm_conv_input in =
        along(w, way == MH_LINEAR_EDGES ? RGM_SOURCE : RGM_TARGET, way != MH && way != MH_AFTER);

    options.heads = 2;
    options.units = 3;
    options.transform_keys = way != MH_PLAIN_KEYS && way != MH_AFTER && way != MH_AFTER_EDGES;
    options.transform_values_after_pooling = way == MH_AFTER || way == MH_AFTER_EDGES;
    if (way == MH_PLAIN_KEYS)
        options.score_scaling = RGM_SCORE_PLAIN;
    if (way == MH_LINEAR_EDGES)
        options.activation = RGM_ACT_TANH;
    if (way == MH_EDGES) {
        options.score_scaling = RGM_SCORE_TRAINED;
        options.attention_activation = RGM_ACT_TANH;
    }
    if (way == MH_EDGE_POOL)
        return rgm_multi_head_edge_pool(w->scope, &in, &options);
    return rgm_multi_head_convolve(w->scope, &in, &options);
}

/* ---- graph updates: the new states of b, and of others behind them --------------------------- */

static rgm_value *states(const rgm_graph_value *graph, int64_t count)
{
    static const char *const order[SETS] = {"b", "a", "c"};
    rgm_value *x[SETS];

    CHECK(graph != NULL);
    for (int64_t i = 0; i < count; i++)
        x[i] = rgm_node_feature(graph, order[i], RGM_HIDDEN_STATE);
    return count == 1 ? x[0] : rgm_concat(x, count, 0);
}

static const char *const only_b[] = {"b"};

static rgm_value *sage_update(world *w, int way)
{
    rgm_sage_update_options options = RGM_SAGE_UPDATE_OPTIONS_INIT;

    (void)way;
    options.units = 3;
    options.node_sets = only_b;
    options.node_set_count = 1;
    return states(rgm_sage_update(w->scope, "update", w->value, &options), 1);
}

static rgm_value *sage_gcn(world *w, int way)
{
    static const char *const heard[] = {"ab", "bb"};
    rgm_sage_gcn_options options = RGM_SAGE_GCN_OPTIONS_INIT;

    (void)way;
    options.edge_sets = heard;
    options.edge_set_count = 2;
    options.units = 3;
    options.bias = true;
    return rgm_sage_gcn_node_update(w->scope, w->value, "b", &options);
}

static rgm_value *mpnn(world *w, int way)
{
    rgm_mpnn_options options = RGM_MPNN_OPTIONS_INIT;

    (void)way;
    options.units = 3;
    options.message_dim = 4;
    options.node_sets = only_b;
    options.node_set_count = 1;
    options.edge_feature = "e";
    options.reduce_type = "mean|max_no_inf";
    options.layer_norm = true;
    return states(rgm_vanilla_mpnn_update(w->scope, "update", w->value, &options), 1);
}

static rgm_value *gat_mpnn(world *w, int way)
{
    rgm_gatv2_mpnn_options options = RGM_GATV2_MPNN_OPTIONS_INIT;

    (void)way;
    options.units = 3;
    options.message_dim = 4;
    options.heads = 2;
    options.node_sets = only_b;
    options.node_set_count = 1;
    options.edge_feature = "e";
    return states(rgm_gatv2_mpnn_update(w->scope, "update", w->value, &options), 1);
}

enum { HGT, HGT_PLAIN, HGT_LATENT };

static rgm_value *hgt(world *w, int way)
{
    rgm_hgt_options options = RGM_HGT_OPTIONS_INIT;
    rgm_graph_value *graph = w->value;

    options.heads = options.units = 2;
    if (way == HGT_PLAIN) {
        options.receivers = RGM_AT_SOURCE;
        options.weighted_skip = options.layer_norm = options.bias = false;
        options.activation = RGM_ACT_TANH;
    }
    if (way == HGT_LATENT)
        graph =
            rgm_with_state(graph, "a", rgm_make_empty_feature(w->scope, graph, RGM_NODE_SET, "a"));
    return states(rgm_hgt_update(w->scope, "update", graph, &options), way == HGT_PLAIN ? 3 : 2);
}

enum { ALBIS, ALBIS_PLAIN, ALBIS_MULTI_HEAD, ALBIS_GAT };

static rgm_value *albis(world *w, int way)
{
    static const char *const attended[] = {"ab"};
    rgm_albis_options options = RGM_ALBIS_OPTIONS_INIT;

    options.units = options.message_dim = 4;
    options.heads = 2;
    options.node_sets = only_b;
    options.node_set_count = 1;
    options.edge_feature = way == ALBIS || way == ALBIS_MULTI_HEAD ? "e" : NULL;
    options.receiver_state = way != ALBIS_PLAIN;
    options.reduce_type = way == ALBIS ? "mean|sum|max_no_inf" : NULL;
    options.state.residual = way == ALBIS || way == ALBIS_GAT;
    options.state.sum = way == ALBIS_PLAIN;
    options.state.norm = way == ALBIS_PLAIN        ? RGM_STATE_PLAIN
                         : way == ALBIS_MULTI_HEAD ? RGM_STATE_BATCH
                                                   : RGM_STATE_LAYER;
    if (way == ALBIS_MULTI_HEAD)
        options.attention = RGM_ALBIS_MULTI_HEAD;
    if (way == ALBIS_GAT) {
        options.attention = RGM_ALBIS_GAT_V2;
        options.attention_edge_sets = attended;
        options.attention_edge_set_count = 1;
    }
    return states(rgm_albis_update(w->scope, "update", w->value, &options), 1);
}

static const struct {
    const char *name;
    rgm_value *(*build)(world *w, int way);
    int way;
} cases[] = {
    {"gcn_none", gcn, 2 * RGM_NORM_NONE},
    {"gcn_none_loops", gcn, 2 * RGM_NORM_NONE + 1},
    {"gcn_in", gcn, 2 * RGM_NORM_IN},
    {"gcn_in_loops", gcn, 2 * RGM_NORM_IN + 1},
    {"gcn_out", gcn, 2 * RGM_NORM_OUT},
    {"gcn_out_loops", gcn, 2 * RGM_NORM_OUT + 1},
    {"gcn_in_out", gcn, 2 * RGM_NORM_IN_OUT},
    {"gcn_in_out_loops", gcn, 2 * RGM_NORM_IN_OUT + 1},
    {"gcn_in_in", gcn, 2 * RGM_NORM_IN_IN},
    {"gcn_in_in_loops", gcn, 2 * RGM_NORM_IN_IN + 1},
    {"gat_v2", gat, 0},
    {"gat_v2_edges", gat, 1},
    {"gat_v2_edge_pool", gat, 2},
    {"sage_mean", sage, 0},
    {"sage_sum", sage, 1},
    {"sage_pool", sage, 2},
    {"sage_update", sage_update, 0},
    {"sage_gcn", sage_gcn, 0},
    {"vanilla_mpnn", mpnn, 0},
    {"gat_v2_mpnn", gat_mpnn, 0},
    {"multi_head", multi_head, MH},
    {"multi_head_edges", multi_head, MH_EDGES},
    {"multi_head_linear_edges", multi_head, MH_LINEAR_EDGES},
    {"multi_head_plain_keys", multi_head, MH_PLAIN_KEYS},
    {"multi_head_values_after", multi_head, MH_AFTER},
    {"multi_head_values_after_edges", multi_head, MH_AFTER_EDGES},
    {"multi_head_edge_pool", multi_head, MH_EDGE_POOL},
    {"hgt", hgt, HGT},
    {"hgt_plain", hgt, HGT_PLAIN},
    {"hgt_latent", hgt, HGT_LATENT},
    {"mt_albis", albis, ALBIS},
    {"mt_albis_plain", albis, ALBIS_PLAIN},
    {"mt_albis_multi_head", albis, ALBIS_MULTI_HEAD},
    {"mt_albis_gat_v2", albis, ALBIS_GAT},
};
enum { CASES = sizeof cases / sizeof *cases };

/* The next case of the file against ours; the largest difference. */
static double compare(FILE *file, int i)
{
    double worst = 0;
    char name[64];
    int rows, columns;
    rgm_tensor *ours;
    rgm_value *y;
    world w;

    CHECK_INT(3, fscanf(file, " case %63s %d %d", name, &rows, &columns));
    CHECK_TEXT(cases[i].name, name);
    open_tfgnn_world(&w, FULL);
    y = cases[i].build(&w, cases[i].way);
    CHECK_OK(rgm_cgraph_status(w.graph));
    set_tfgnn_parameters(&w);
    ours = run(&w, y, w.data, false);
    CHECK_INT(rows, rgm_tensor_dim(ours, 0));
    CHECK_INT(columns, rgm_tensor_dim(ours, 1));
    for (int64_t k = 0; k < rows * columns; k++) {
        double theirs;

        CHECK_INT(1, fscanf(file, "%lf", &theirs));
        worst = fmax(worst, fabs(rgm_tensor_f64(ours)[k] - theirs) / (1 + fabs(theirs)));
    }
    rgm_tensor_release(ours);
    world_close(&w);
    return worst;
}

static void the_same_weights_give_what_tfgnn_gives(void **state)
{
    FILE *file = fopen(GOLDEN, "r");
    char line[128];

    (void)state;
    CHECK(file != NULL);
    CHECK(fgets(line, sizeof line, file) != NULL);
    for (int i = 0; i < CASES; i++) {
        double worst = compare(file, i);

        if (!(worst < 1e-5))
            fail_msg("%s: largest difference %g", cases[i].name, worst);
    }
    CHECK_INT(EOF, fscanf(file, "%127s", line)); /* there are no more */
    fclose(file);
}

/* Through attention the ways of which no model has all. */
static void gradients_agree_with_central_differences(void **state)
{
    (void)state;
    for (int i = 0; i < CASES; i++) {
        world w;

        if (cases[i].build != multi_head || cases[i].way == MH_LINEAR_EDGES)
            continue;
        open_tfgnn_world(&w, FULL);
        check_gradients(&w, rgm_tanh(cases[i].build(&w, cases[i].way)), 20);
        world_close(&w);
    }
}

static rgm_status build_case(rgm_schema *schema, int i)
{
    world w = {.schema = schema};
    rgm_status status = RGM_OK;

    RGM_GO(rgm_cgraph_create(&w.graph));
    RGM_GO(rgm_graph_value_create(&w.value, w.graph, schema));
    RGM_GO(rgm_scope_create(&w.scope, w.graph, RGM_F64));
    (void)cases[i].build(&w, cases[i].way);
    status = rgm_cgraph_status(w.graph);
done:
    rgm_scope_release(w.scope);
    rgm_graph_value_release(w.value);
    rgm_cgraph_release(w.graph);
    return status;
}

static void attention_survives_every_failing_allocation(void **state)
{
    rgm_schema *schema;

    (void)state;
    CHECK_OK(rgm_schema_parse(&schema, FULL, (int64_t)strlen(FULL), "test"));
    for (int i = 0; i < CASES; i++)
        if (cases[i].build == multi_head)
            CHECK_EVERY_OOM(build_case(schema, i), (void)0);
    rgm_schema_release(schema);
}

TESTS(cmocka_unit_test(the_same_weights_give_what_tfgnn_gives),
      cmocka_unit_test(gradients_agree_with_central_differences),
      cmocka_unit_test(attention_survives_every_failing_allocation))

/*
 * Tests of models over no more of a graph than their readouts need: predictions, loss and gradients
 * are those of the whole, for every model, on random graphs with cycles, several edges between two
 * nodes, isolated roots, roots that are neighbours and roots asked about twice; with fewer
 * operations; the same bits on any number of threads; and whole runs of training.
 */
#include "gnn_check.h"

#include <regimen/graph_tasks.h>

/* As the graphs of gnn_check.h, asked about papers. */
#define READOUT                                                                                    \
    "node_sets { key: '_readout' value { } }"                                                      \
    "edge_sets { key: '_readout/seed' value { source: 'paper' target: '_readout' } }"

static uint64_t draws;

static int64_t draw(int64_t below)
{
    rgm_rng rng = rgm_rng_stream(11, "near", 0);

    return (int64_t)rgm_rng_below(&rng, draws++, (uint64_t)below);
}

static void set_sizes(rgm_graph_builder *b, rgm_piece piece, const char *set, int64_t size)
{
    CHECK_OK(rgm_graph_builder_sizes(b, piece, set, &size));
}

static void random_doubles(rgm_graph_builder *b, rgm_piece piece, const char *set,
                           const char *feature, int64_t items, int64_t width)
{
    double data[2000];

    for (int64_t i = 0; i < items * (width > 0 ? width : 1); i++)
        data[i] = 0.1 + (double)draw(1000) / 700;
    add_doubles(b, piece, set, feature, items, width, data);
}

/* One component: `papers` of which the last third is far from the roots; no edge ends at root 0. */
static rgm_graph *random_component(rgm_schema *schema, int64_t papers, int64_t roots)
{
    enum { MOST = 400 };
    int64_t source[MOST], target[MOST], length[MOST], column[MOST], words = 0;
    int64_t cites = 3 * papers, authors = 1 + papers / 4, writes = papers;
    rgm_graph_builder *b = NULL;
    rgm_graph *graph;

    CHECK_OK(rgm_graph_builder_create(&b, schema, 1));
    set_sizes(b, RGM_NODE_SET, "paper", papers);
    set_sizes(b, RGM_EDGE_SET, "cites", cites);
    for (int64_t i = 0; i < cites; i++) {
        /* a third of the papers is near, cites itself and the second; that cites the last */
        int64_t third = draw(3) * papers / 3;

        target[i] = 1 + (third + draw(papers / 3)) % (papers - 1);
        source[i] = 1 + (third + draw(papers / 2)) % (papers - 1);
        if (i % 7 == 6) { /* twice */
            target[i] = target[i - 1];
            source[i] = source[i - 1];
        }
    }
    add_edges(b, "cites", cites, source, target);
    random_doubles(b, RGM_NODE_SET, "paper", "x", papers, 3);
    for (int64_t i = 0; i < papers; i++) {
        length[i] = draw(3);
        for (int64_t k = 0; k < length[i]; k++)
            column[words++] = 2 * k + draw(2);
    }
    add_words(b, papers, length, words, column);
    random_doubles(b, RGM_EDGE_SET, "cites", "w", cites, 0);
    random_doubles(b, RGM_EDGE_SET, "cites", "e", cites, 2);
    if (rgm_schema_find(schema, RGM_NODE_SET, "author") != NULL) {
        set_sizes(b, RGM_NODE_SET, "author", authors);
        set_sizes(b, RGM_EDGE_SET, "writes", writes);
        for (int64_t i = 0; i < writes; i++) {
            source[i] = draw(authors);
            target[i] = draw(papers);
        }
        add_edges(b, "writes", writes, source, target);
        random_doubles(b, RGM_CONTEXT_PIECE, NULL, "c", 1, 2);
    }
    set_sizes(b, RGM_NODE_SET, "_readout", roots);
    set_sizes(b, RGM_EDGE_SET, "_readout/seed", roots);
    for (int64_t i = 0; i < roots; i++) {
        source[i] = i < 2 ? i : i == 2 ? source[0] : i - 1; /* the isolated one twice */
        target[i] = i;
    }
    add_edges(b, "_readout/seed", roots, source, target);
    if (rgm_set_feature(rgm_schema_find(schema, RGM_NODE_SET, "_readout"), "label") != NULL) {
        rgm_feature label = {0};

        for (int64_t i = 0; i < roots; i++)
            target[i] = draw(3);
        CHECK_OK(rgm_tensor_create_from(&label.values, RGM_I64, 1, &roots, target));
        CHECK_OK(rgm_graph_builder_feature(b, RGM_NODE_SET, "_readout", "label", &label));
        rgm_tensor_release(label.values);
    }
    CHECK_OK(rgm_graph_builder_finish(&graph, b));
    rgm_graph_builder_release(b);
    return graph;
}

static void random_world(world *w, const char *schema_text)
{
    rgm_graph *parts[3];

    *w = (world){0};
    CHECK_OK(rgm_schema_parse(&w->schema, schema_text, (int64_t)strlen(schema_text), "test"));
    for (int i = 0; i < 3; i++)
        parts[i] = random_component(w->schema, 30 + 6 * i, 1 + 2 * i);
    CHECK_OK(rgm_graph_merge(&w->data, parts, 3));
    for (int i = 0; i < 3; i++)
        rgm_graph_release(parts[i]);
    CHECK_OK(rgm_cgraph_create(&w->graph));
    CHECK_OK(rgm_graph_value_create(&w->value, w->graph, w->schema));
    CHECK_OK(rgm_scope_create(&w->scope, w->graph, RGM_F64));
}

/* ---- models -------------------------------------------------------------------------------- */

typedef rgm_graph_value *model_of_test(world *w, const char *yaml);

/* A row of rgm_graph_models, "<name>: <options>". */
static rgm_graph_value *named(world *w, const char *text)
{
    const char *colon = strchr(text, ':');
    char name[32];
    const rgm_graph_model_type *type;
    rgm_arena *arena;
    rgm_yaml *yaml;
    rgm_graph_value *graph;
    void *options;

    snprintf(name, sizeof name, "%.*s", (int)(colon - text), text);
    type = (const rgm_graph_model_type *)rgm_section_type_find(rgm_graph_models, name);
    CHECK(type != NULL);
    CHECK_OK(rgm_arena_create(&arena));
    options = rgm_arena_alloc(arena, type->section.options_size);
    CHECK(options != NULL);
    type->section.defaults(options);
    CHECK_OK(rgm_yaml_parse(&yaml, colon + 1, (int64_t)strlen(colon + 1), "model.yaml"));
    CHECK_OK(
        rgm_options_read(options, type->section.fields, rgm_yaml_root(yaml), "model", NULL, arena));
    graph = type->build(w->scope, w->value, options);
    rgm_yaml_release(yaml);
    rgm_arena_release(arena);
    return graph;
}

/* Papers and edges have states that hear of each other, in both directions, with a residual. */
static rgm_graph_value *with_edge_states(world *w, const char *receiver)
{
    rgm_dense_state_options options = RGM_DENSE_STATE_OPTIONS_INIT;
    rgm_edge_set_update edges = RGM_EDGE_SET_UPDATE_INIT;
    rgm_simple_conv_options conv = RGM_SIMPLE_CONV_OPTIONS_INIT;
    rgm_gatv2_options attend = RGM_GATV2_OPTIONS_INIT;
    rgm_edge_input inputs[2];
    rgm_node_set_update nodes = {.node_set = "paper", .inputs = inputs};
    rgm_graph_update_options update = {
        .edge_sets = &edges, .edge_set_count = 1, .node_sets = &nodes, .node_set_count = 1};
    rgm_graph_value *graph = rgm_with_state(
        w->value, "paper", rgm_dense(w->scope, "in", rgm_node_feature(w->value, "paper", "x"), 4));
    char name[32];

    options.units = 4;
    conv.units = 3;
    attend.units = 3;
    edges.edge_set = "cites";
    edges.next_state = (rgm_next_state){rgm_dense_state, &options};
    nodes.next_state = (rgm_next_state){rgm_residual_state, &options};
    for (int i = 0; i < 2; i++)
        inputs[i] = (rgm_edge_input){.edge_set = "cites",
                                     .receiver = i == 0 ? RGM_TARGET : RGM_SOURCE,
                                     .edge_feature = RGM_HIDDEN_STATE};
    inputs[0].conv = (rgm_conv){rgm_simple_convolve, &conv};
    inputs[1].conv = (rgm_conv){rgm_gatv2_convolve, &attend};
    nodes.input_count = strcmp(receiver, "both") == 0 ? 2 : 1;
    graph = rgm_with_feature(graph, RGM_EDGE_SET, "cites", RGM_HIDDEN_STATE,
                             rgm_edge_feature(graph, "cites", "e"));
    for (int i = 0; i < 3; i++) {
        snprintf(name, sizeof name, "round_%d", i);
        graph = rgm_graph_update(w->scope, name, graph, &update);
    }
    return graph;
}

/* x less its mean over all papers, and a context that hears of all: needs everything below. */
static rgm_graph_value *with_means(world *w, const char *text)
{
    rgm_value *x = rgm_node_feature(w->value, "paper", "x"), *h, *all;
    rgm_value *p = rgm_adjacency(w->value, "cites", RGM_TARGET);
    const char *set = "paper";

    h = rgm_tanh(rgm_spmm(p, rgm_dense(w->scope, "one", x, 3), NULL));
    h = rgm_sub(h, rgm_reduce(h, 0, RGM_MEAN));
    all = rgm_pool(w->value, RGM_CONTEXT, RGM_NODE_SET, &set, &h, 1, "mean");
    all = rgm_broadcast(w->value, RGM_CONTEXT, RGM_NODE_SET, "paper",
                        rgm_dense(w->scope, "context", all, 3));
    h = rgm_tanh(rgm_add(h, strcmp(text, "context") == 0 ? all : h));
    h = rgm_add(h, rgm_spmm(p, rgm_dense(w->scope, "two", h, 3), NULL)); /* jumps back */
    return rgm_with_state(w->value, "paper",
                          rgm_concat((rgm_value *[]){h, rgm_dense(w->scope, "three", x, 2)}, 2, 1));
}

/* What models of users may do: several reductions, softmax over edges, reshapes, degrees. */
static rgm_graph_value *with_all_sorts(world *w, const char *text)
{
    rgm_value *x = rgm_node_feature(w->value, "paper", "x"), *edge, *y, *degree;
    rgm_value *p = rgm_adjacency(w->value, "cites", RGM_TARGET);
    rgm_value *q = rgm_adjacency(w->value, "cites", RGM_SOURCE);
    rgm_dim shape[3] = {rgm_value_dim(x, 0), 2, 2};

    for (int i = 0; i < 2; i++) {
        x = rgm_dense(w->scope, i == 0 ? "one" : "two", x, 4);
        edge = rgm_tanh(rgm_sub(rgm_broadcast_columns(p, x), rgm_broadcast_rows(p, x)));
        /* the same ends, looked at from the other side */
        edge = rgm_mul(edge, rgm_broadcast_columns(q, rgm_sigmoid(x)));
        edge = rgm_mul(edge, rgm_softmax_rows(p, edge));
        y = rgm_reshape(rgm_pool_rows(p, edge, RGM_MAX_NO_INF), 3, shape);
        y = rgm_reduce(rgm_mul(y, rgm_softmax(y)), 2, RGM_SUM);
        degree = rgm_degree(strcmp(text, "out") == 0 ? q : p, RGM_F64);
        degree =
            rgm_reshape(rgm_rsqrt(rgm_shift(degree, 1)), 2, (rgm_dim[]){rgm_value_dim(x, 0), 1});
        x = rgm_mul(rgm_l2_normalize(
                        rgm_concat((rgm_value *[]){rgm_slice(x, 1, 1, 4), y,
                                                   rgm_pool_rows(p, rgm_shift(edge, 1), RGM_PROD)},
                                   3, 1)),
                    degree);
    }
    return rgm_with_state(w->value, "paper", x);
}

/* `fewer`: whether a narrowed model has fewer operations. */
static const struct {
    model_of_test *build;
    const char *schema, *text;
    bool fewer;
} cases[] = {
    {named, PAPERS READOUT, "gcn: {hidden: [4], output: 2, activation: tanh}", true},
    {named, PAPERS READOUT, "gcn: {hidden: [4, 3], self_loops: false, normalization: in}", true},
    {named, PAPERS READOUT, "gcn: {hidden: [4, 3], normalization: in_out, receiver: source}", true},
    {named, PAPERS READOUT, "gcn: {hidden: [4, 3], normalization: out}", true},
    {named, PAPERS READOUT, "gcn: {hidden: [3, 2, 2], edge_weight: w, input: {features: x}}", true},
    {named, PAPERS READOUT,
     "gcn: {hidden: [3, 2], edge_weight: w, self_loops: false, input: {features: words}}", true},
    {named, PAPERS READOUT, "gat_v2: {hidden: [2], heads: 3, output: 2, output_heads: 2}", true},
    {named, PAPERS READOUT, "gat_v2: {hidden: [2, 2], heads: 2, residual: true, self_loops: false}",
     true},
    {named, PAPERS READOUT, "gat_v2: {hidden: [2, 2], heads: 2, share_weights: true}", true},
    {named, PAPERS READOUT, "graph_sage: {hidden: [4], output: 2, l2_normalize: true}", true},
    {named, LIBRARY READOUT, "graph_sage: {hidden: [4], output: 2, combine: concat}", true},
    {named, LIBRARY READOUT, "graph_sage: {hidden: [4], output: 2, receiver: both}", true},
    {named, PAPERS READOUT, "graph_sage: {hidden: [3, 3], aggregator: pool, hidden_units: 4}",
     true},
    {named, PAPERS READOUT,
     "graph_sage: {hidden: [3, 3], aggregator: max, receiver: source, input: {features: x}}", true},
    {named, LIBRARY READOUT, "graph_sage: {hidden: [3], aggregator: gcn, output: 2}", true},
    {named, LIBRARY READOUT,
     "vanilla_mpnn: {units: 3, message_dim: 4, receiver_state: false, reduce_type: mean}", true},
    {named, PAPERS READOUT, "vanilla_mpnn: {units: 3, message_dim: 4, layer_norm: true}", true},
    {named, LIBRARY READOUT,
     "vanilla_mpnn: {units: 3, message_dim: 4, receiver: both, edge_feature: e, layers: 3,"
     " reduce_type: mean|max_no_inf, input_units: 5}",
     true},
    {named, PAPERS READOUT,
     "vanilla_mpnn: {units: 3, message_dim: 4, receiver: source, edge_feature: e}", true},
    {named, PAPERS READOUT, "vanilla_mpnn: {units: 3, message_dim: 4, layers: 1}", true},
    {named, PAPERS READOUT, "appnp: {hidden: [3], output: 2, iterations: 3}", true},
    {named, PAPERS READOUT, "sgc: {output: 2, receiver: source}", true},
    {named, PAPERS READOUT, "gin: {units: 3, norm: layer, edge_feature: e, jump: concat}", true},
    {named, LIBRARY READOUT, "hgt: {units: 4, heads: 2, receiver: both}", true},
    {named, PAPERS READOUT, "hgt: {units: 4, heads: 2, weighted_skip: false}", true},
    {named, LIBRARY READOUT,
     "mt_albis: {units: 3, message_dim: 4, reduce_type: mean|max_no_inf, residual: true}", true},
    {named, LIBRARY READOUT,
     "mt_albis: {units: 3, message_dim: 4, heads: 2, attention_type: multi_head, edge_feature: e}",
     true},
    {named, LIBRARY READOUT, "rgcn: {units: 4, receiver: both}", true},
    {named, PAPERS READOUT, "pna: {units: 4, norm: layer, towers: 2, edge_feature: e}", true},
    {named, PAPERS READOUT,
     "gps: {units: 4, heads: 2, layers: 2, local: none, attention_sets: [cites], norm: layer}",
     true},
    {named, PAPERS READOUT,
     "vanilla_mpnn: {units: 3, message_dim: 4, edge_units: 3, edge_feature: e}", true},
    {named, PAPERS READOUT, "rgcn: {units: 4, bases: 2, decomposition: block}", true},
    {named, PAPERS READOUT,
     "gat_v2: {hidden: [2, 2], heads: 2, edge_feature: e, edge_units: 3, jump: concat}", true},
    {named, PAPERS READOUT, "gat_v2: {hidden: [2, 2], heads: 2, edge_feature: e, residual: true}",
     true},
    {named, PAPERS READOUT,
     "gcn: {hidden: [3, 2], output: 2, residual: true, input: {features: x}}", true},
    {named, LIBRARY READOUT,
     "graph_sage: {hidden: [3, 3, 3], residual: true, jump: max, context_feature: c}", true},
    {named, LIBRARY READOUT,
     "mt_albis: {units: 3, message_dim: 4, edge_units: 3, edge_feature: e, jump: concat}", true},
    {named, LIBRARY READOUT, "rgcn: {units: 3, residual: true, jump: sum, context_units: 2}", true},
    {named, LIBRARY READOUT, "hgt: {units: 4, heads: 2, context_units: 3, layers: 3}", true},
    {named, PAPERS READOUT,
     "gin: {units: 3, norm: layer, edge_units: 2, context_units: 2, residual: true}", true},
    {named, PAPERS READOUT, "pna: {units: 4, norm: layer, edge_feature: e, edge_units: 2}", true},
    {with_edge_states, PAPERS READOUT, "target", true},
    {with_edge_states, PAPERS READOUT, "both", true},
    {with_means, PAPERS READOUT, "mean", true},
    {with_means, LIBRARY READOUT, "context", true},
    {with_all_sorts, PAPERS READOUT, "in", true},
    {with_all_sorts, PAPERS READOUT, "out", true},
};
enum { CASES = sizeof cases / sizeof *cases, MOST_PARAMETERS = 128 };

/* ---- comparing ----------------------------------------------------------------------------- */

/* Predictions, loss, the loss' gradients. */
typedef struct result {
    rgm_value *fetches[MOST_PARAMETERS + 2];
    rgm_tensor *values[MOST_PARAMETERS + 2];
    int64_t count, flops;
} result;

static void add_gradients(result *r, world *w)
{
    rgm_value *wrt[MOST_PARAMETERS];
    int64_t count = rgm_cgraph_parameter_count(w->graph);

    CHECK(count <= MOST_PARAMETERS);
    for (int64_t i = 0; i < count; i++)
        wrt[i] = rgm_cgraph_parameter(w->graph, i);
    CHECK_OK(rgm_cgraph_gradients(r->fetches + 2, r->fetches[1], wrt, count));
    r->count = 2 + count;
}

static void compute(result *r, world *w, rgm_graph *data)
{
    rgm_executor *executor = NULL;
    rgm_feed feeds[64];
    int64_t count = 0;
    rgm_tensor *fetched[MOST_PARAMETERS + 2];

    CHECK_OK(rgm_graph_feeds(feeds, 64, &count, w->value, data));
    CHECK_OK(rgm_executor_create(&executor, w->graph, r->fetches, r->count, NULL));
    CHECK_OK(rgm_executor_run(executor, fetched, w->parameters, feeds, count, 3, 0));
    for (int64_t i = 0; i < r->count; i++)
        CHECK_OK(rgm_tensor_copy(&r->values[i], fetched[i]));
    r->flops = rgm_executor_flops(executor);
    rgm_executor_release(executor);
}

static void result_clear(result *r)
{
    for (int64_t i = 0; i < r->count; i++)
        rgm_tensor_release(r->values[i]);
}

static void check_same(const result *a, const result *b, double relative, double absolute)
{
    CHECK_INT(a->count, b->count);
    for (int64_t i = 0; i < a->count; i++) {
        CHECK_INT(rgm_tensor_count(a->values[i]), rgm_tensor_count(b->values[i]));
        for (int64_t k = 0; k < rgm_tensor_count(a->values[i]); k++)
            CHECK_CLOSE(rgm_tensor_at(a->values[i], k), rgm_tensor_at(b->values[i], k), relative,
                        absolute);
    }
}

/* A world with a model whose papers are read through the readout, or the first of each component.
 */
static void open_case(world *w, result *whole, result *narrowed, int i, bool first)
{
    rgm_graph_value *graph;
    rgm_value *states;

    random_world(w, cases[i].schema);
    graph = cases[i].build(w, cases[i].text);
    CHECK_OK(rgm_cgraph_status(w->graph));
    states = first ? rgm_gather_first_node(graph, "paper", RGM_HIDDEN_STATE)
                   : rgm_structured_readout(graph, "seed", RGM_HIDDEN_STATE, NULL);
    *whole = *narrowed = (result){.count = 0};
    whole->fetches[0] = rgm_dense(w->scope, "head", states, 3);
    whole->fetches[1] = rgm_sum(rgm_square(rgm_tanh(whole->fetches[0])));
    CHECK_OK(rgm_graph_narrow(narrowed->fetches, whole->fetches, 2, w->value));
    add_gradients(whole, w);
    add_gradients(narrowed, w);
    set_parameters(w);
}

static void narrowed_models_are_the_same_functions(void **state)
{
    (void)state;
    for (int i = 0; i < 2 * CASES; i++) {
        world w;
        result whole, narrowed;

        open_case(&w, &whole, &narrowed, i / 2, i % 2 == 0);
        CHECK(narrowed.fetches[0] != whole.fetches[0]);
        compute(&whole, &w, w.data);
        compute(&narrowed, &w, w.data);
        check_same(&whole, &narrowed, 1e-9, 1e-11);
        if ((narrowed.flops < whole.flops) != cases[i / 2].fewer)
            fail_msg("%s: %lld operations of %lld", cases[i / 2].text, (long long)narrowed.flops,
                     (long long)whole.flops);
        result_clear(&whole);
        result_clear(&narrowed);
        world_close(&w);
    }
}

/* Means over all nodes would be others over some of them. */
static void what_is_of_all_nodes_is_left_whole(void **state)
{
    rgm_value *narrowed[1], *logits;
    rgm_graph_value *graph;
    world w;

    (void)state;
    random_world(&w, PAPERS READOUT);
    graph = named(&w, "gin: {units: 3}"); /* with batch norm */
    logits = rgm_structured_readout(graph, "seed", RGM_HIDDEN_STATE, NULL);
    CHECK_OK(rgm_graph_narrow(narrowed, &logits, 1, w.value));
    CHECK(narrowed[0] == logits);
    world_close(&w);
}

/* ---- by rounds ----------------------------------------------------------------------------- */

typedef struct gathered {
    double rows[64 * 16];
    int64_t next, width;
} gathered;

static rgm_status gather_rows(const rgm_tensor *rows, int64_t first, void *payload)
{
    gathered *g = payload;

    CHECK_INT(g->next, first);
    g->width = rgm_tensor_dim(rows, 1);
    CHECK(g->width <= 16);
    for (int64_t i = 0; i < rgm_tensor_count(rows); i++)
        g->rows[g->next * g->width + i] = rgm_tensor_at(rows, i);
    g->next += rgm_tensor_dim(rows, 0);
    return RGM_OK;
}

/* Twice with what is opened once, as for one graph after another. */
static void check_by_rounds(world *w, rgm_value *states, rgm_graph *data, const result *whole,
                            const rgm_by_rounds_options *options, const char *what)
{
    rgm_by_rounds *rounds = NULL;
    gathered g;
    rgm_status status = rgm_by_rounds_open(&rounds, states, w->value, options);

    for (int i = 0; i < 2 && status == RGM_OK; i++) {
        g = (gathered){.next = 0};
        status = rgm_by_rounds_run(gather_rows, &g, rounds, data, w->parameters);
    }
    if (status != RGM_OK)
        fail_msg("%s: %s", what, rgm_error_message());
    rgm_by_rounds_close(rounds);
    CHECK_INT(rgm_tensor_dim(whole->values[0], 0), g.next);
    for (int64_t i = 0; i < rgm_tensor_count(whole->values[0]); i++)
        if (fabs(g.rows[i] - rgm_tensor_at(whole->values[0], i)) > 1e-10)
            fail_msg("%s: number %lld is %.12g, by rounds %.12g", what, (long long)i,
                     rgm_tensor_at(whole->values[0], i), g.rows[i]);
}

/* The same graph in a file that is mapped. */
static void check_mapped(world *w, const result *whole, rgm_graph *data,
                         const rgm_by_rounds_options *options, const char *what)
{
    const rgm_graph_data plain = {.schema = w->schema, .graphs = &data, .graph_count = 1};
    const char *folder = check_folder();
    rgm_graph_data mapped;
    char path[128];

    snprintf(path, sizeof path, "%s/graph", folder);
    CHECK_OK(rgm_graph_data_write(&plain, path, NULL));
    CHECK_OK(rgm_graph_data_open(&mapped, path));
    CHECK(rgm_graph_mapped_bytes(mapped.graphs[0]) > 0);
    check_by_rounds(w, whole->fetches[0], mapped.graphs[0], whole, options, what);
    rgm_graph_data_clear(&mapped);
    CHECK_OK(rgm_folder_remove(folder));
}

/* Whether a round needs all items at once: what hears of the context, or edges with loops behind
 * them that have states too. */
static bool needs_the_whole(const char *text)
{
    return strstr(text, "context_") != NULL ||
           (strstr(text, "gat_v2") != NULL && strstr(text, "edge_units") != NULL);
}

/* Five nodes at a time, all at once, and with states in files. */
static void rounds_make_the_states_of_the_whole(void **state)
{
    static const rgm_by_rounds_options ways[] = {
        {.chunk = 5, .memory = 1 << 20}, {.chunk = 1000, .memory = 1 << 20}, {.chunk = 7}};

    /* Batch norm limits what is narrowed, not this; attention along edges is no limit either. */
    static const char *const more[] = {"gin: {units: 3}"};

    (void)state;
    for (int i = 0; i < CASES + 1; i++) {
        bool extra = i >= CASES;
        const char *text = extra ? more[i - CASES] : cases[i].text;
        world w;
        result whole = {.count = 1};
        rgm_graph_value *graph;
        rgm_by_rounds *rounds;
        rgm_graph *data;
        int64_t bytes;

        random_world(&w, extra ? PAPERS READOUT : cases[i].schema);
        data = random_component(w.schema, 42, 2);
        graph = extra ? named(&w, text) : cases[i].build(&w, text);
        CHECK_OK(rgm_cgraph_status(w.graph));
        whole.fetches[0] = rgm_node_feature(graph, "paper", RGM_HIDDEN_STATE);
        set_parameters(&w);
        if ((!extra && cases[i].build == with_means) || needs_the_whole(text)) {
            CHECK_STATUS(RGM_ERR_UNSUPPORTED,
                         rgm_by_rounds_open(&rounds, whole.fetches[0], w.value, &ways[0]));
            CHECK_MESSAGE("not defined by rounds");
        } else {
            compute(&whole, &w, data);
            CHECK_OK(rgm_by_rounds_open(&rounds, whole.fetches[0], w.value, NULL));
            CHECK_OK(rgm_by_rounds_bytes(&bytes, rounds, data));
            CHECK(bytes > 0);
            rgm_by_rounds_close(rounds);
            for (int k = 0; k < 3; k++)
                check_by_rounds(&w, whole.fetches[0], data, &whole, &ways[k], text);
            if (i % 6 == 0)
                check_mapped(&w, &whole, data, &ways[0], text);
            result_clear(&whole);
        }
        rgm_graph_release(data);
        world_close(&w);
    }
}

/* What knows how many nodes there are would count those of a chunk; a gradient by x is row by row.
 */
static void counts_of_nodes_are_not_made_by_rounds(void **state)
{
    const rgm_by_rounds_options options = {.chunk = 5, .memory = 1 << 20};

    (void)state;
    for (int i = 0; i < 4; i++) {
        result whole = {.count = 1};
        rgm_value *x, *ones, *y;
        rgm_by_rounds *rounds;
        rgm_graph *data;
        world w;

        random_world(&w, PAPERS READOUT);
        data = random_component(w.schema, 42, 2);
        x = rgm_node_feature(w.value, "paper", "x");
        y = i % 2 == 0 ? rgm_mean(rgm_square(x)) : rgm_sum(rgm_square(x));
        CHECK_OK(rgm_cgraph_gradients(&whole.fetches[0], y, &x, 1));
        if (i >= 2) { /* rows of ones, summed or taken as they are */
            CHECK_OK(rgm_cgraph_gradients(&ones, rgm_sum(x), &x, 1));
            whole.fetches[0] = rgm_mul(x, i == 2 ? rgm_reduce(ones, 0, RGM_SUM) : ones);
        }
        CHECK_OK(rgm_cgraph_status(w.graph));
        set_parameters(&w);
        if (i % 2 == 0) {
            CHECK_STATUS(RGM_ERR_UNSUPPORTED,
                         rgm_by_rounds_open(&rounds, whole.fetches[0], w.value, &options));
            CHECK_MESSAGE("not defined by rounds");
        } else {
            compute(&whole, &w, data);
            check_by_rounds(&w, whole.fetches[0], data, &whole, &options, "a gradient by x");
            result_clear(&whole);
        }
        rgm_graph_release(data);
        world_close(&w);
    }
}

static int64_t value_count(const rgm_cgraph *graph)
{
    int64_t count = 0;

    while (rgm_cgraph_value(graph, count) != NULL)
        count++;
    return count;
}

/* Graphs of other sizes one after another; none adds to the compute graph. */
static void rounds_are_opened_once_for_many_graphs(void **state)
{
    const rgm_by_rounds_options options = {.chunk = 7, .memory = 1 << 20};
    rgm_by_rounds *rounds;
    rgm_graph *merged;
    result whole = {.count = 1};
    int64_t values, bytes;
    world w;

    (void)state;
    random_world(&w, PAPERS READOUT);
    whole.fetches[0] = rgm_node_feature(named(&w, "gat_v2: {hidden: [4], heads: 2, output: 2}"),
                                        "paper", RGM_HIDDEN_STATE);
    CHECK_OK(rgm_cgraph_status(w.graph));
    set_parameters(&w);
    CHECK_OK(rgm_by_rounds_open(&rounds, whole.fetches[0], w.value, &options));
    values = value_count(w.graph);
    for (int64_t papers = 50; papers >= 30; papers -= 10) {
        rgm_graph *data = random_component(w.schema, papers, 2);
        gathered g = {.next = 0};

        compute(&whole, &w, data);
        CHECK_OK(rgm_by_rounds_run(gather_rows, &g, rounds, data, w.parameters));
        CHECK_INT(papers, g.next);
        for (int64_t i = 0; i < rgm_tensor_count(whole.values[0]); i++)
            CHECK_CLOSE(rgm_tensor_at(whole.values[0], i), g.rows[i], 0, 1e-10);
        CHECK_INT(values, value_count(w.graph));
        CHECK_OK(rgm_graph_merge(&merged, (rgm_graph *[]){data, data}, 2));
        CHECK_STATUS(RGM_ERR_UNSUPPORTED, /* and goes on with the next */
                     rgm_by_rounds_run(gather_rows, &g, rounds, merged, w.parameters));
        CHECK_STATUS(RGM_ERR_UNSUPPORTED, rgm_by_rounds_bytes(&bytes, rounds, merged));
        CHECK_MESSAGE("a graph of 2 components");
        rgm_graph_release(merged);
        result_clear(&whole);
        rgm_graph_release(data);
    }
    rgm_by_rounds_close(rounds);
    world_close(&w);
}

static rgm_status ignore_rows(const rgm_tensor *rows, int64_t first, void *payload)
{
    (void)rows;
    (void)first;
    (void)payload;
    return RGM_OK;
}

/* The compute graph has a failed op then, so each time it is another. */
static rgm_status run_by_rounds(rgm_graph *data, rgm_schema *schema)
{
    const rgm_by_rounds_options options = {.chunk = 20, .memory = 600};
    rgm_status status = RGM_OK;
    rgm_graph_value *graph, *root = NULL;
    rgm_parameters *parameters = NULL;
    rgm_scope *scope = NULL;
    rgm_cgraph *cgraph = NULL;
    rgm_by_rounds *rounds = NULL;
    rgm_value *states;

    RGM_GO(rgm_cgraph_create(&cgraph));
    RGM_GO(rgm_graph_value_create(&root, cgraph, schema));
    RGM_GO(rgm_scope_create(&scope, cgraph, RGM_F64));
    states = rgm_dense(scope, "in", rgm_node_feature(root, "paper", "x"), 4);
    graph = rgm_with_state(root, "paper", states);
    states = rgm_gcn_conv(scope, "conv", graph, "cites", states, 3);
    RGM_GO(rgm_cgraph_status(cgraph));
    RGM_GO(rgm_parameters_create(&parameters, cgraph, 1));
    RGM_GO(rgm_by_rounds_open(&rounds, states, root, &options));
    for (int i = 0; i < 2; i++)
        RGM_GO(rgm_by_rounds_run(ignore_rows, NULL, rounds, data, parameters));
done:
    rgm_by_rounds_close(rounds);
    rgm_parameters_release(parameters);
    rgm_graph_value_release(root);
    rgm_scope_release(scope);
    rgm_cgraph_release(cgraph);
    return status;
}

static void rounds_survive_every_failing_allocation(void **state)
{
    world w;
    rgm_graph *data;
    rgm_pattern *made;
    rgm_by_rounds *rounds;

    (void)state;
    random_world(&w, PAPERS READOUT);
    data = random_component(w.schema, 42, 2);
    CHECK_OK(rgm_graph_adjacency(&made, data, "cites", RGM_TARGET)); /* which the graph keeps */
    CHECK_OK(rgm_graph_adjacency(&made, data, "cites", RGM_SOURCE));
    CHECK_EVERY_OOM(run_by_rounds(data, w.schema), (void)0);
    CHECK_STATUS(RGM_ERR_ARG,
                 rgm_by_rounds_open(&rounds, NULL, w.value, &(rgm_by_rounds_options){.chunk = 0}));
    rgm_graph_release(data);
    world_close(&w);
}

/* Another graph of other sizes behind the first, and the first again. */
static void narrowed_models_take_one_graph_after_another(void **state)
{
    (void)state;
    for (int i = 0; i < CASES; i += 5) {
        world w;
        result whole, narrowed, again;
        rgm_graph *other;

        open_case(&w, &whole, &narrowed, i, false);
        other = random_component(w.schema, 50, 4);
        compute(&whole, &w, other);
        compute(&narrowed, &w, other);
        check_same(&whole, &narrowed, 1e-9, 1e-11);
        result_clear(&whole);
        result_clear(&narrowed);
        again = narrowed;
        compute(&narrowed, &w, w.data);
        compute(&again, &w, w.data);
        check_same(&again, &narrowed, 0, 0);
        result_clear(&again);
        result_clear(&narrowed);
        rgm_graph_release(other);
        world_close(&w);
    }
}

static void threads_change_no_bit(void **state)
{
    int threads = rgm_threads();

    (void)state;
    for (int i = 0; i < CASES; i++) {
        world w;
        result whole, one, several;

        open_case(&w, &whole, &one, i, false);
        several = one;
        rgm_threads_set(1);
        compute(&one, &w, w.data);
        rgm_threads_set(3);
        compute(&several, &w, w.data);
        check_same(&one, &several, 0, 0);
        result_clear(&one);
        result_clear(&several);
        world_close(&w);
    }
    rgm_threads_set(threads);
}

/* Feeds are the same objects each time, so that nothing is found out twice. */
static void levels_are_found_once(void **state)
{
    world w;
    result whole, narrowed;
    rgm_feed a[64], b[64];
    int64_t count;

    (void)state;
    open_case(&w, &whole, &narrowed, 0, false);
    CHECK_OK(rgm_graph_feeds(a, 64, &count, w.value, w.data));
    CHECK_OK(rgm_graph_feeds(b, 64, &count, w.value, w.data));
    for (int64_t i = 0; i < count; i++)
        CHECK(a[i].pattern == b[i].pattern && a[i].tensor == b[i].tensor);
    CHECK_STATUS(RGM_ERR_ARG, rgm_graph_feeds(a, count - 1, &count, w.value, w.data));
    CHECK_STATUS(RGM_ERR_ARG,
                 rgm_graph_narrow(narrowed.fetches, whole.fetches, 2, w.value)); /* once */
    CHECK_MESSAGE("narrowed already");
    world_close(&w);
}

static void what_reads_every_node_stays(void **state)
{
    world w;
    rgm_value *y[2], *narrowed[2];
    rgm_graph_value *graph;

    (void)state;
    random_world(&w, PAPERS READOUT);
    graph = named(&w, "graph_sage: {hidden: [4, 3], output: 2}");
    y[0] = rgm_node_feature(graph, "paper", RGM_HIDDEN_STATE);
    y[1] = rgm_sum(rgm_add(rgm_sum(y[0]),
                           rgm_sum(rgm_structured_readout(graph, "seed", RGM_HIDDEN_STATE, NULL))));
    CHECK_OK(rgm_cgraph_status(w.graph));
    CHECK_OK(rgm_graph_narrow(narrowed, y, 2, w.value));
    CHECK(narrowed[0] == y[0] && narrowed[1] == y[1]);
    world_close(&w);
}

/* Feeds are counted: a run takes so many, and one that had few enough must go on to work. */
static void models_of_very_many_relations_stay(void **state)
{
    enum { MOST = 500 };

    (void)state;
    for (int relations = 10; relations <= 80; relations += 70) {
        rgm_text text = {0};
        world w = {0};
        rgm_value *y, *narrowed;
        rgm_feed feeds[MOST];
        int64_t count;

        CHECK_OK(rgm_text_printf(&text, "%s", PAPERS READOUT));
        for (int i = 1; i < relations; i++)
            CHECK_OK(rgm_text_printf(
                &text, "edge_sets { key: 'r%d' value { source: 'paper' target: 'paper' } }", i));
        CHECK_OK(rgm_schema_parse(&w.schema, text.data, text.size, "test"));
        w.data = random_component(w.schema, 30, 4);
        CHECK_OK(rgm_cgraph_create(&w.graph));
        CHECK_OK(rgm_graph_value_create(&w.value, w.graph, w.schema));
        CHECK_OK(rgm_scope_create(&w.scope, w.graph, RGM_F64));
        y = rgm_structured_readout(
            named(&w, "graph_sage: {hidden: [2, 2, 2], output: 2, receiver: both}"), "seed",
            RGM_HIDDEN_STATE, NULL);
        CHECK_OK(rgm_cgraph_status(w.graph));
        CHECK_OK(rgm_graph_narrow(&narrowed, &y, 1, w.value));
        CHECK_INT(relations == 10, narrowed != y);
        CHECK_OK(rgm_graph_feeds(feeds, MOST, &count, w.value, w.data));
        rgm_text_clear(&text);
        world_close(&w);
    }
}

/* Builds, narrows and feeds a model with attention, loops and edge weights. */
static rgm_status narrow_and_feed(rgm_graph *half)
{
    rgm_status status = RGM_OK;
    world w = {.schema = NULL};
    rgm_gatv2_options attend = RGM_GATV2_OPTIONS_INIT;
    rgm_gcn_options gcn = RGM_GCN_OPTIONS_INIT;
    rgm_value *x, *y, *narrowed;
    rgm_feed feeds[64];
    int64_t count;

    attend.units = gcn.units = 2;
    RGM_GO(rgm_graph_merge(&w.data, (rgm_graph *[]){half, half}, 2)); /* keeps what it is fed */
    RGM_GO(rgm_cgraph_create(&w.graph));
    RGM_GO(rgm_graph_value_create(&w.value, w.graph, (rgm_schema *)rgm_graph_schema(half)));
    RGM_GO(rgm_scope_create(&w.scope, w.graph, RGM_F64));
    gcn.edge_weight = rgm_edge_feature(w.value, "cites", "w");
    x = rgm_node_feature(w.value, "paper", "x");
    x = rgm_gcn_conv_with(w.scope, "one", w.value, "cites", x, &gcn);
    x = rgm_gatv2_conv(w.scope, "two", w.value, "cites", x, &attend);
    y = rgm_structured_readout(rgm_with_state(w.value, "paper", x), "seed", RGM_HIDDEN_STATE, NULL);
    RGM_GO(rgm_cgraph_status(w.graph));
    RGM_GO(rgm_graph_narrow(&narrowed, &y, 1, w.value));
    RGM_GO(rgm_graph_feeds(feeds, 64, &count, w.value, w.data));
done:
    world_close(&w);
    return status;
}

static void every_failing_allocation_is_told(void **state)
{
    const char *text = PAPERS READOUT;
    rgm_schema *schema = NULL;
    rgm_graph *graph;

    (void)state;
    CHECK_OK(rgm_schema_parse(&schema, text, (int64_t)strlen(text), "test"));
    graph = random_component(schema, 30, 4);
    CHECK_EVERY_OOM(narrow_and_feed(graph), (void)0);
    rgm_graph_release(graph);
    rgm_schema_release(schema);
}

/* ---- whole runs ---------------------------------------------------------------------------- */

#define LABELLED                                                                                   \
    "node_sets { key: '_readout' value { features { key: 'label' value { dtype: DT_INT64 } } } }"  \
    "edge_sets { key: '_readout/seed' value { source: 'paper' target: '_readout' } }"

static rgm_status graphs_dataset(rgm_dataset **out, void *state, bool training)
{
    return rgm_provider_dataset(out, state, training);
}

static rgm_schema *graphs_schema(void *state)
{
    return rgm_provider_schema(state);
}

static void graphs_release(void *state)
{
    rgm_provider_release(state);
}

/* Graphs that, for all that a run can know, are read piece by piece. */
static const rgm_provider_type streamed = {.name = "streamed",
                                           .dataset = graphs_dataset,
                                           .schema = graphs_schema,
                                           .release = graphs_release};

typedef struct learned {
    double train, valid;
    float predicted;
    int64_t feeds;
} learned;

static rgm_status add_up(const rgm_prediction *p, void *payload)
{
    float *sum = payload;

    for (int64_t i = 0; i < rgm_tensor_count(p->values); i++)
        *sum += (float)(1 + i % 5) * (float)rgm_tensor_at(p->values, i);
    return RGM_OK;
}

static learned learn(rgm_provider *data, rgm_graph *graph, rgm_padding_kind padding, int threads,
                     double dropout)
{
    rgm_feed feeds[64];
    rgm_graph_learning_options what = RGM_GRAPH_LEARNING_OPTIONS_INIT;
    rgm_run_options how = RGM_RUN_OPTIONS_INIT;
    rgm_mpnn_model_options mpnn;
    const rgm_epoch_logs *records;
    rgm_open_run *run = NULL;
    learned out = {.train = 0};
    int64_t epochs;

    rgm_mpnn_model.section.defaults(&mpnn);
    mpnn.units = 8;
    mpnn.message_dim = 6;
    mpnn.receiver = RGM_AT_BOTH;
    mpnn.dropout = dropout;
    what.train_data = what.valid_data = data;
    what.task = rgm_node_multiclass("paper", "label", 3);
    what.model_fn = rgm_mpnn_model.build;
    what.model_payload = &mpnn;
    what.global_batch_size = 2;
    what.train_padding.kind = what.valid_padding.kind = padding;
    how.optimizer = rgm_adam(0.01);
    how.trainer.epochs = 5;
    how.runtime.seed = 3;
    how.runtime.threads = threads;
    CHECK_OK(rgm_run(&run, &what, &how));
    epochs = rgm_run_history(&records, run);
    CHECK_INT(5, epochs);
    out.train = rgm_logs_get(&records[epochs - 1].train, "loss");
    out.valid = rgm_logs_get(&records[epochs - 1].valid, "loss");
    CHECK_OK(rgm_run_predict(run, RGM_TRAIN, 0, add_up, &out.predicted));
    CHECK_OK(rgm_graph_feeds(feeds, 64, &out.feeds, rgm_graph_run_input(run), graph));
    rgm_run_close(run);
    rgm_graph_task_release(what.task);
    return out;
}

static void runs_learn_the_same_of_what_they_read_piece_by_piece(void **state)
{
    static const rgm_padding_kind kinds[] = {RGM_PADDING_NONE, RGM_PADDING_TIGHT, RGM_PADDING_FIT};
    const char *text = PAPERS LABELLED;
    rgm_provider *whole, *pieces;
    rgm_schema *schema = NULL;
    rgm_graph *graphs[6];

    (void)state;
    CHECK_OK(rgm_schema_parse(&schema, text, (int64_t)strlen(text), "test"));
    for (int i = 0; i < 6; i++)
        graphs[i] = random_component(schema, 18 + 3 * i, 1 + i % 4);
    whole = rgm_graphs_provider(graphs, 6, true);
    pieces = rgm_provider_create(&streamed, rgm_provider_retain(whole));
    CHECK(whole != NULL && pieces != NULL);
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        learned a = learn(whole, graphs[0], kinds[k], 2, 0);
        learned b = learn(pieces, graphs[0], kinds[k], 2, 0);

        CHECK_CLOSE(a.train, b.train, 1e-4, 0);
        CHECK_CLOSE(a.valid, b.valid, 1e-4, 0);
        CHECK_CLOSE(a.predicted, b.predicted, 1e-3, 1e-3);
        CHECK(a.feeds < b.feeds); /* or nothing was narrowed */
    }
    learned one = learn(pieces, graphs[0], RGM_PADDING_NONE, 1, 0.3);
    learned three = learn(pieces, graphs[0], RGM_PADDING_NONE, 3, 0.3);
    CHECK(one.train == three.train && one.valid == three.valid && one.predicted == three.predicted);
    rgm_provider_release(pieces);
    rgm_provider_release(whole);
    for (int i = 0; i < 6; i++)
        rgm_graph_release(graphs[i]);
    rgm_schema_release(schema);
}

TESTS(cmocka_unit_test(narrowed_models_are_the_same_functions),
      cmocka_unit_test(what_is_of_all_nodes_is_left_whole),
      cmocka_unit_test(rounds_make_the_states_of_the_whole),
      cmocka_unit_test(counts_of_nodes_are_not_made_by_rounds),
      cmocka_unit_test(rounds_are_opened_once_for_many_graphs),
      cmocka_unit_test(rounds_survive_every_failing_allocation),
      cmocka_unit_test(narrowed_models_take_one_graph_after_another),
      cmocka_unit_test(threads_change_no_bit), cmocka_unit_test(levels_are_found_once),
      cmocka_unit_test(what_reads_every_node_stays),
      cmocka_unit_test(models_of_very_many_relations_stay),
      cmocka_unit_test(every_failing_allocation_is_told),
      cmocka_unit_test(runs_learn_the_same_of_what_they_read_piece_by_piece))

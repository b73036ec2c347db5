/*
 * Files that take a graph's tables: what the interpreter makes of them, in any order of the edges,
 * is what the executor makes of the graph; indices out of their range are refused; the signature
 * says what goes in.
 */
#include "onnx_check.h"

#include <regimen/graph_tasks.h>

static const char schema_text[] =
    "context { features { key: \"heat\" value { dtype: DT_FLOAT } } }\n"
    "node_sets { key: \"atom\" value {\n"
    "  features { key: \"mass\" value { description: \"in u\" dtype: DT_FLOAT shape { dim { size: "
    "2 "
    "} } } }\n"
    "  features { key: \"kind\" value { dtype: DT_INT64 } }\n"
    "  features { key: \"codes\" value { dtype: DT_INT32 shape { dim { size: 2 } } } }\n"
    "  features { key: \"words\" value { dtype: DT_INT64 shape { dim { size: -1 } } source: "
    "\"one_hot:6\" } }\n"
    "  features { key: \"tags\" value { dtype: DT_INT64 shape { dim { size: -1 } } } } } }\n"
    "node_sets { key: \"_readout\" value {\n"
    "  features { key: \"label\" value { dtype: DT_INT64 } } } }\n"
    "edge_sets { key: \"bond\" value { source: \"atom\" target: \"atom\"\n"
    "  features { key: \"order\" value { dtype: DT_INT64 } }\n"
    "  features { key: \"length\" value { dtype: DT_FLOAT } } } }\n"
    "edge_sets { key: \"_readout/seed\" value { source: \"atom\" target: \"_readout\" } }\n";
#define LARGE (INT64_C(1) << 53) /* as doubles it and the next are one number */
enum { ATOMS = 9, BONDS = 11, SEEDS = 4, GROUPS = 3 };

static rgm_tensor *numbers(rgm_dtype dtype, int64_t count, int64_t width, const double *values)
{
    rgm_tensor *t;
    int64_t shape[2] = {count, width};

    CHECK_OK(rgm_tensor_create(&t, dtype, width > 0 ? 2 : 1, shape));
    for (int64_t i = 0; i < rgm_tensor_count(t); i++)
        rgm_dtype_put((char *)rgm_tensor_data(t) + (size_t)i * rgm_dtype_size(dtype), dtype,
                      values[i]);
    return t;
}

static void give(rgm_graph_builder *b, rgm_piece piece, const char *set, const char *name,
                 rgm_tensor *values, rgm_tensor *lengths)
{
    rgm_feature feature = {.values = values, .row_lengths = {NULL, lengths}};

    CHECK_OK(rgm_graph_builder_feature(b, piece, set, name, &feature));
    rgm_feature_clear(&feature);
}

/* Three components; bonds are not in the order of their nodes. */
static rgm_graph *molecules(rgm_schema *schema)
{
    rgm_graph_builder *b;
    rgm_graph *graph;
    rgm_tensor *from = numbers(RGM_I64, BONDS, 0, (double[]){1, 0, 3, 2, 2, 5, 4, 7, 8, 6, 8}),
               *to = numbers(RGM_I64, BONDS, 0, (double[]){0, 1, 0, 3, 0, 4, 5, 6, 6, 8, 7}),
               *seed = numbers(RGM_I64, SEEDS, 0, (double[]){3, 1, 5, 7}),
               *place = numbers(RGM_I64, SEEDS, 0, (double[]){0, 1, 2, 3}),
               *tags = numbers(RGM_I64, 6, 0, (double[]){500, -7, 0, 0, 3, -7});
    double mass[2 * ATOMS], length[BONDS];

    for (int i = 0; i < 2 * ATOMS; i++)
        mass[i] = sin(i);
    for (int i = 0; i < BONDS; i++)
        length[i] = cos(i);
    rgm_tensor_i64(tags)[2] = LARGE;
    rgm_tensor_i64(tags)[3] = LARGE + 1;
    CHECK_OK(rgm_graph_builder_create(&b, schema, GROUPS));
    CHECK_OK(rgm_graph_builder_sizes(b, RGM_NODE_SET, "atom", (int64_t[]){4, 2, 3}));
    CHECK_OK(rgm_graph_builder_sizes(b, RGM_EDGE_SET, "bond", (int64_t[]){5, 2, 4}));
    CHECK_OK(rgm_graph_builder_sizes(b, RGM_NODE_SET, "_readout", (int64_t[]){2, 1, 1}));
    CHECK_OK(rgm_graph_builder_sizes(b, RGM_EDGE_SET, "_readout/seed", (int64_t[]){2, 1, 1}));
    CHECK_OK(rgm_graph_builder_edges(b, "bond", from, to));
    CHECK_OK(rgm_graph_builder_edges(b, "_readout/seed", seed, place));
    give(b, RGM_CONTEXT_PIECE, NULL, "heat", numbers(RGM_F32, GROUPS, 0, (double[]){1, -2, 0.5}),
         NULL);
    give(b, RGM_NODE_SET, "atom", "mass", numbers(RGM_F32, ATOMS, 2, mass), NULL);
    give(b, RGM_NODE_SET, "atom", "kind",
         numbers(RGM_I64, ATOMS, 0, (double[]){0, 2, 1, 1, 0, 2, 2, 0, 1}), NULL);
    give(b, RGM_NODE_SET, "atom", "codes",
         numbers(RGM_I32, ATOMS, 2,
                 (double[]){0, 3, 1, 1, 2, 0, 3, 3, 0, 0, 1, 2, 2, 1, 3, 0, 1, 3}),
         NULL);
    give(b, RGM_NODE_SET, "atom", "words",
         numbers(RGM_I64, 8, 0, (double[]){0, 5, 2, 3, 3, 1, 4, 0}),
         numbers(RGM_I64, ATOMS, 0, (double[]){2, 0, 1, 0, 3, 0, 1, 1, 0}));
    give(b, RGM_NODE_SET, "atom", "tags", tags,
         numbers(RGM_I64, ATOMS, 0, (double[]){1, 0, 2, 0, 0, 1, 0, 2, 0}));
    give(b, RGM_EDGE_SET, "bond", "order",
         numbers(RGM_I64, BONDS, 0, (double[]){0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1}), NULL);
    give(b, RGM_EDGE_SET, "bond", "length", numbers(RGM_F32, BONDS, 0, length), NULL);
    CHECK_OK(rgm_graph_builder_finish(&graph, b));
    rgm_graph_builder_release(b);
    rgm_tensor_release(from);
    rgm_tensor_release(to);
    rgm_tensor_release(seed);
    rgm_tensor_release(place);
    return graph;
}

/* ---- a model of every form ------------------------------------------------------------------- */

static rgm_value *weights(rgm_cgraph *graph, const char *name, int64_t rows)
{
    return rgm_parameter(graph, name, RGM_F32, 2, (int64_t[]){rows, 3},
                         (rgm_init){RGM_INIT_GLOROT_UNIFORM, 0});
}

typedef struct network {
    rgm_schema *schema;
    rgm_graph *graph;
    rgm_cgraph *cgraph;
    rgm_graph_value *value;
    rgm_parameters *parameters;
    rgm_value *y;
    rgm_feed feeds[64];
    int64_t feed_count;
} network;

/* States of atoms of all of their features, then what they hear along bonds in both directions. */
static rgm_value *states(network *n)
{
    rgm_cgraph *g = n->cgraph;
    rgm_value *h = rgm_add(
        rgm_matmul(rgm_node_feature(n->value, "atom", "mass"), weights(g, "mass", 2)),
        rgm_spmm(rgm_node_sparse_feature(n->value, "atom", "words"), weights(g, "words", 6), NULL));
    h = rgm_add(h, rgm_spmm(rgm_one_hot(n->value, RGM_NODE_SET, "atom", "kind", 3),
                            weights(g, "kind", 3), NULL));
    h = rgm_add(h, rgm_spmm(rgm_one_hot(n->value, RGM_NODE_SET, "atom", "codes", 4),
                            weights(g, "codes", 8), NULL));
    rgm_value *order = rgm_spmm(rgm_one_hot(n->value, RGM_EDGE_SET, "bond", "order", 3),
                                weights(g, "order", 3), NULL);
    rgm_spmm_options by_length = {.weight = rgm_edge_feature(n->value, "bond", "length")};
    rgm_value *in = rgm_spmm(rgm_adjacency(n->value, "bond", RGM_TARGET), h, &by_length);
    rgm_value *out = rgm_pool(n->value, RGM_SOURCE, RGM_EDGE_SET, (const char *[]){"bond"}, &order,
                              1, "max_no_inf");
    return rgm_add(h, rgm_add(in, out));
}

static void network_open(network *n)
{
    *n = (network){.y = NULL};
    CHECK_OK(rgm_schema_parse(&n->schema, schema_text, sizeof schema_text - 1, "schema"));
    n->graph = molecules(n->schema);
    CHECK_OK(rgm_cgraph_create(&n->cgraph));
    CHECK_OK(rgm_graph_value_create(&n->value, n->cgraph, n->schema));
    rgm_graph_value *h = rgm_with_state(n->value, "atom", states(n));
    rgm_value *state = rgm_node_feature(h, "atom", RGM_HIDDEN_STATE), *bonds;
    rgm_value *mean =
        rgm_pool(h, RGM_CONTEXT, RGM_NODE_SET, (const char *[]){"atom"}, &state, 1, "mean");
    rgm_value *first = rgm_gather_first_node(h, "atom", RGM_HIDDEN_STATE);
    rgm_value *length = rgm_reshape(rgm_edge_feature(n->value, "bond", "length"), 2,
                                    (rgm_dim[]){rgm_set_size(n->value, RGM_EDGE_SET, "bond"), 1});
    bonds = rgm_pool(h, RGM_CONTEXT, RGM_EDGE_SET, (const char *[]){"bond"}, &length, 1, "sum");
    rgm_value *heat = rgm_reshape(rgm_context_feature(n->value, "heat"), 2,
                                  (rgm_dim[]){rgm_set_size(n->value, RGM_CONTEXT_PIECE, NULL), 1});
    rgm_value *context = rgm_add(rgm_add(mean, first), rgm_mul(bonds, heat));
    h = rgm_with_state(
        h, "atom", rgm_add(state, rgm_broadcast(h, RGM_CONTEXT, RGM_NODE_SET, "atom", context)));
    n->y = rgm_structured_readout(h, "seed", RGM_HIDDEN_STATE, NULL);
    CHECK_OK(rgm_cgraph_status(n->cgraph));
    CHECK_OK(rgm_parameters_create(&n->parameters, n->cgraph, 3));
    CHECK_OK(rgm_graph_feeds(n->feeds, 64, &n->feed_count, n->value, n->graph));
}

static void network_close(network *n)
{
    rgm_parameters_release(n->parameters);
    rgm_graph_value_release(n->value);
    rgm_cgraph_release(n->cgraph);
    rgm_graph_release(n->graph);
    rgm_schema_release(n->schema);
}

/* ---- tables in another order ----------------------------------------------------------------- */

static rgm_named_tensor *table(rgm_named_tensor *tables, int64_t count, const char *name)
{
    for (int64_t i = 0; i < count; i++)
        if (strcmp(tables[i].name, name) == 0)
            return &tables[i];
    fail_msg("no table '%s'", name);
    return NULL;
}

/* Some order of a set's items, those of a component together. */
static int64_t *some_order(const rgm_tensor *sizes, uint64_t seed)
{
    rgm_rng rng = rgm_rng_stream(seed, "shuffle", 0);
    int64_t total = 0, *order;

    for (int64_t c = 0; c < rgm_tensor_count(sizes); c++)
        total += rgm_tensor_at_int(sizes, c);
    CHECK_OK(RGM_NEW(order, total));
    for (int64_t c = 0, at = 0; c < rgm_tensor_count(sizes); c++) {
        int64_t count = rgm_tensor_at_int(sizes, c);
        rgm_rng_permutation(&rng, order + at, count);
        for (int64_t i = 0; i < count; i++)
            order[at + i] += at;
        at += count;
    }
    return order;
}

/* Every table of an edge set but its sizes, its rows in another order. */
static void shuffle(rgm_named_tensor *tables, int64_t count, const char *edge_set, uint64_t seed)
{
    char sizes[64];
    size_t prefix = strlen(edge_set);
    int64_t *order;

    snprintf(sizes, sizeof sizes, "%s.#size", edge_set);
    order = some_order(table(tables, count, sizes)->tensor, seed);
    for (int64_t i = 0; i < count; i++) {
        rgm_tensor *old = tables[i].tensor, *made;
        if (strncmp(tables[i].name, edge_set, prefix) != 0 || tables[i].name[prefix] != '.' ||
            strcmp(tables[i].name, sizes) == 0)
            continue;
        CHECK_OK(rgm_tensor_create(&made, rgm_tensor_dtype(old), rgm_tensor_rank(old),
                                   rgm_tensor_shape(old)));
        size_t row = rgm_tensor_bytes(old) / (size_t)rgm_tensor_dim(old, 0);
        for (int64_t e = 0; e < rgm_tensor_dim(old, 0); e++)
            memcpy((char *)rgm_tensor_data(made) + (size_t)e * row,
                   (char *)rgm_tensor_data(old) + (size_t)order[e] * row, row);
        rgm_tensor_release(old);
        tables[i].tensor = made;
    }
    rgm_free(order);
}

static rgm_tensor *executed(rgm_value *y, const rgm_parameters *parameters, const rgm_feed *feeds,
                            int64_t count)
{
    const rgm_executor_options evaluation = {.training = false};
    rgm_executor *executor;
    rgm_tensor *borrowed, *copy;

    CHECK_OK(rgm_executor_create(&executor, rgm_value_graph(y), &y, 1, &evaluation));
    CHECK_OK(rgm_executor_run(executor, &borrowed, parameters, feeds, count, 1, 1));
    CHECK_OK(rgm_tensor_copy(&copy, borrowed));
    rgm_executor_release(executor);
    return copy;
}

/* The file of y, opened; its path is left to be removed. */
static rgm_onnx_model *exported(char **path, char folder[64], rgm_value *y,
                                const rgm_parameters *parameters, const rgm_graph_value *value)
{
    rgm_onnx_options options = {.description = "tables"};
    rgm_onnx_model *model;

    lab_folder(folder, 64);
    *path = lab_path(folder, "model.onnx");
    CHECK_OK(rgm_graph_value_tables(&options, value));
    rgm_export_output output = {.name = "y", .value = y};
    CHECK_OK(rgm_onnx_save(*path, rgm_value_graph(y), parameters, &output, 1, &options));
    CHECK_OK(rgm_saved_model_save(folder, rgm_value_graph(y), parameters, &output, 1, &options));
    CHECK_OK(rgm_onnx_open(&model, *path));
    return model;
}

static void closed(rgm_onnx_model *model, char *path, const char *folder)
{
    rgm_onnx_close(model);
    rgm_free(path);
    CHECK_OK(rgm_folder_remove(folder));
}

/* ---- tests ----------------------------------------------------------------------------------- */

static void every_form_gives_what_the_graph_gives_in_any_order_of_edges(void **state)
{
    (void)state;
    network n;
    char folder[64], *path, name[64];
    rgm_named_tensor *tables;
    rgm_tensor *want, *got;
    int64_t count;

    network_open(&n);
    want = executed(n.y, n.parameters, n.feeds, n.feed_count);
    rgm_onnx_model *model = exported(&path, folder, n.y, n.parameters, n.value);
    CHECK_INT(14, rgm_onnx_input_count(model));
    for (uint64_t seed = 0; seed < 4; seed++) {
        CHECK_OK(rgm_graph_tables(&tables, &count, n.graph));
        if (seed > 0) {
            shuffle(tables, count, "edges/bond", seed);
            shuffle(tables, count, "edges/_readout/seed", seed);
        }
        if (rgm_onnx_run(&got, model, tables, count) != RGM_OK)
            fail_msg("%s", rgm_error_text());
        snprintf(name, sizeof name, "tables.%d", (int)seed);
        lab_compare(got, want, name, 1e-5);
        lab_dump(folder, name, tables, count, want);
        rgm_tensor_release(got);
        rgm_onnx_inputs_release(tables, count);
    }
    rgm_tensor_release(want);
    closed(model, path, folder);
    network_close(&n);
}

static const struct {
    const char *model, *yaml;
} models[] = {
    {"gcn", "hidden: [8]\noutput: 4\ninput: {normalize: true}\n"},
    {"gat_v2", "hidden: [4]\nheads: 3\noutput: 4\noutput_heads: 2\n"},
    {"graph_sage", "hidden: [6]\naggregator: pool\nhidden_units: 5\n"},
    {"vanilla_mpnn", "units: 6\nmessage_dim: 8\nreduce_type: mean|max_no_inf\n"},
};

static rgm_value *build_named(rgm_scope *scope, const rgm_graph_value *value, int which)
{
    const rgm_graph_model_type *type =
        (const rgm_graph_model_type *)rgm_section_type_find(rgm_graph_models, models[which].model);
    rgm_arena *arena;
    rgm_yaml *yaml;

    CHECK_OK(rgm_arena_create(&arena));
    void *options = rgm_arena_alloc(arena, type->section.options_size);
    type->section.defaults(options);
    CHECK_OK(rgm_yaml_parse(&yaml, models[which].yaml, (int64_t)strlen(models[which].yaml), "m"));
    CHECK_OK(
        rgm_options_read(options, type->section.fields, rgm_yaml_root(yaml), "model", NULL, arena));
    rgm_graph_value *out = type->build(scope, value, options);
    rgm_yaml_release(yaml);
    rgm_arena_release(arena);
    return rgm_node_feature(out, "nodes", RGM_HIDDEN_STATE);
}

static void named_models_take_shuffled_edges(void **state)
{
    (void)state;
    rgm_citation_options citation = RGM_CITATION_OPTIONS_INIT;
    rgm_graph_data data;

    citation.nodes = 120, citation.edges = 260, citation.words = 40, citation.words_per_node = 5;
    citation.train_per_class = 5, citation.valid = citation.test = 20;
    CHECK_OK(rgm_generate_citation(&data, &citation));
    for (int i = 0; i < (int)(sizeof models / sizeof *models); i++) {
        network n = {.graph = data.graphs[0]};
        rgm_scope *scope;
        rgm_named_tensor *tables;
        rgm_tensor *want, *got;
        int64_t count;
        char folder[64], *path, name[64];
        CHECK_OK(rgm_cgraph_create(&n.cgraph));
        CHECK_OK(rgm_graph_value_create(&n.value, n.cgraph, data.schema));
        CHECK_OK(rgm_scope_create(&scope, n.cgraph, RGM_F32));
        n.y = build_named(scope, n.value, i);
        CHECK_OK(rgm_cgraph_status(n.cgraph));
        CHECK_OK(rgm_parameters_create(&n.parameters, n.cgraph, 5));
        CHECK_OK(rgm_graph_feeds(n.feeds, 64, &n.feed_count, n.value, n.graph));
        want = executed(n.y, n.parameters, n.feeds, n.feed_count);
        rgm_onnx_model *model = exported(&path, folder, n.y, n.parameters, n.value);
        CHECK_OK(rgm_graph_tables(&tables, &count, n.graph));
        shuffle(tables, count, "edges/edges", 7);
        CHECK_OK(rgm_onnx_run(&got, model, tables, count));
        snprintf(name, sizeof name, "tables.%s", models[i].model);
        lab_compare(got, want, name, 1e-5);
        lab_dump(folder, name, tables, count, want);
        rgm_tensor_release(want);
        rgm_tensor_release(got);
        rgm_onnx_inputs_release(tables, count);
        closed(model, path, folder);
        rgm_parameters_release(n.parameters);
        rgm_scope_release(scope);
        rgm_graph_value_release(n.value);
        rgm_cgraph_release(n.cgraph);
    }
    rgm_graph_data_clear(&data);
}

static void indices_out_of_their_range_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        int64_t at, value;
    } wrong[] = {
        {"edges/bond.#source", 2, -1},
        {"edges/bond.#source", 2, ATOMS},
        {"edges/bond.#target", 0, -9},
        {"edges/bond.#target", 0, ATOMS},
        {"nodes/atom.kind", 4, -1},
        {"nodes/atom.kind", 4, 3},
        {"nodes/atom.codes", 5, -1},
        {"nodes/atom.codes", 4, 4},
        {"nodes/atom.words", 3, -2},
        {"nodes/atom.words", 3, 6},
        {"nodes/atom.words.d1", 1, 1},
        {"nodes/atom.words.d1", 0, 1},
        {"nodes/atom.words.d1", 3, -1},
        {"nodes/atom.#size", 0, 5},
        {"nodes/atom.#size", 2, 2},
        {"nodes/atom.#size", 1, -1},
        {"edges/bond.#size", 0, 6},
        {"edges/bond.order", 1, 3},
        {"edges/_readout/seed.#target", 0, 1},
        {"edges/_readout/seed.#source", 0, -1},
    };
    network n;
    char folder[64], *path;
    rgm_tensor *got;

    network_open(&n);
    rgm_onnx_model *model = exported(&path, folder, n.y, n.parameters, n.value);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        rgm_named_tensor *tables, *bad;
        rgm_tensor *copy;
        int64_t count;
        CHECK_OK(rgm_graph_tables(&tables, &count, n.graph));
        bad = table(tables, count, wrong[i].name);
        CHECK_OK(rgm_tensor_copy(&copy, bad->tensor));
        rgm_tensor_release(bad->tensor);
        bad->tensor = copy;
        if (rgm_tensor_dtype(copy) == RGM_I32)
            rgm_tensor_i32(copy)[wrong[i].at] = (int32_t)wrong[i].value;
        else
            rgm_tensor_i64(copy)[wrong[i].at] = wrong[i].value;
        if (rgm_onnx_run(&got, model, tables, count) != RGM_ERR_DATA)
            fail_msg("%s[%d] = %d is taken, or: %s", wrong[i].name, (int)wrong[i].at,
                     (int)wrong[i].value, rgm_error_text());
        rgm_onnx_inputs_release(tables, count);
    }
    closed(model, path, folder);
    network_close(&n);
}

/* ---- lookups --------------------------------------------------------------------------------- */

static rgm_value *looked_up(network *n, const char *feature, rgm_lookup *lookup)
{
    rgm_value *pattern = rgm_lookup_rows(n->value, RGM_NODE_SET, "atom", feature, lookup);
    rgm_value *y = rgm_spmm(pattern, weights(n->cgraph, feature, rgm_value_dim(pattern, 1)), NULL);

    rgm_lookup_release(lookup);
    return y;
}

static const int64_t tag_values[] = {12, 500, -7, 88, LARGE, LARGE + 1, INT64_MAX};
static const double mass_bounds[] = {-0.9, -0.5, 0, 0.25, 0.5, 0.75, 0.9};

/* Integers in a vocabulary without and with others, numbers in buckets, lists, nodes themselves. */
static void lookups_open(network *n, bool numbered)
{
    rgm_lookup *kinds, *codes, *tags, *masses;

    *n = (network){.y = NULL};
    CHECK_OK(rgm_schema_parse(&n->schema, schema_text, sizeof schema_text - 1, "schema"));
    n->graph = molecules(n->schema);
    CHECK_OK(rgm_cgraph_create(&n->cgraph));
    CHECK_OK(rgm_graph_value_create(&n->value, n->cgraph, n->schema));
    CHECK_OK(rgm_lookup_integers(&kinds, (int64_t[]){2, 0, 1}, 3, false));
    CHECK_OK(rgm_lookup_integers(&codes, (int64_t[]){3}, 1, true));
    CHECK_OK(rgm_lookup_integers(&tags, tag_values, 7, true));
    CHECK_OK(rgm_lookup_buckets(&masses, mass_bounds, 7));
    n->y = rgm_add(rgm_add(looked_up(n, "kind", kinds), looked_up(n, "codes", codes)),
                   rgm_add(looked_up(n, "tags", tags), looked_up(n, "mass", masses)));
    if (numbered) {
        rgm_graph *one;
        CHECK_OK(rgm_graph_component(&one, n->graph, 0));
        rgm_graph_release(n->graph);
        n->graph = one;
        n->y = rgm_add(n->y, rgm_spmm(rgm_node_numbers(n->value, "atom", 4),
                                      weights(n->cgraph, "numbers", 4), NULL));
    }
    CHECK_OK(rgm_cgraph_status(n->cgraph));
    CHECK_OK(rgm_parameters_create(&n->parameters, n->cgraph, 3));
    CHECK_OK(rgm_graph_feeds(n->feeds, 64, &n->feed_count, n->value, n->graph));
}

static void lookups_are_in_the_file(void **state)
{
    char folder[64], *path;
    rgm_named_tensor *tables;
    rgm_tensor *want, *got;
    int64_t count;

    (void)state;
    for (int numbered = 0; numbered < 2; numbered++) {
        network n;
        lookups_open(&n, numbered);
        want = executed(n.y, n.parameters, n.feeds, n.feed_count);
        rgm_onnx_model *model = exported(&path, folder, n.y, n.parameters, n.value);
        CHECK_OK(rgm_graph_tables(&tables, &count, n.graph));
        if (rgm_onnx_run(&got, model, tables, count) != RGM_OK)
            fail_msg("%s", rgm_error_text());
        lab_compare(got, want, "lookups", 1e-5);
        lab_dump(folder, numbered ? "lookups.numbers" : "lookups", tables, count, want);
        rgm_tensor_release(want);
        rgm_tensor_release(got);
        rgm_onnx_inputs_release(tables, count);
        closed(model, path, folder);
        network_close(&n);
    }
}

/* A value that no vocabulary has, a number that is none, another number of nodes. */
static void what_the_lookups_refuse_the_file_refuses(void **state)
{
    network n;
    char folder[64], *path;
    rgm_named_tensor *tables;
    rgm_tensor *got;
    int64_t count;

    (void)state;
    lookups_open(&n, true);
    rgm_onnx_model *model = exported(&path, folder, n.y, n.parameters, n.value);
    for (int what = 0; what < 4; what++) {
        rgm_graph *graph, *all = molecules(n.schema);
        if (what == 3)
            CHECK_OK(rgm_graph_merge(&graph, (rgm_graph *[]){n.graph, n.graph}, 2));
        else
            CHECK_OK(rgm_graph_component(&graph, all, what == 2 ? 1 : 0));
        rgm_graph_release(all);
        CHECK_OK(rgm_graph_tables(&tables, &count, graph));
        if (what == 0)
            rgm_tensor_i64(table(tables, count, "nodes/atom.kind")->tensor)[2] = 3;
        if (what == 1)
            rgm_tensor_f32(table(tables, count, "nodes/atom.mass")->tensor)[3] = NAN;
        if (rgm_onnx_run(&got, model, tables, count) == RGM_OK)
            fail_msg("mistake %d is taken", what);
        rgm_onnx_inputs_release(tables, count);
        rgm_graph_release(graph);
    }
    closed(model, path, folder);
    network_close(&n);
}

static void a_graph_of_nothing_is_served_too(void **state)
{
    (void)state;
    network n;
    char folder[64], *path;
    rgm_graph_builder *b;
    rgm_graph *nothing;
    rgm_named_tensor *tables;
    rgm_tensor *got;
    int64_t count;

    network_open(&n);
    rgm_onnx_model *model = exported(&path, folder, n.y, n.parameters, n.value);
    CHECK_OK(rgm_graph_builder_create(&b, n.schema, 0));
    give(b, RGM_CONTEXT_PIECE, NULL, "heat", numbers(RGM_F32, 0, 0, NULL), NULL);
    give(b, RGM_NODE_SET, "atom", "mass", numbers(RGM_F32, 0, 2, NULL), NULL);
    give(b, RGM_NODE_SET, "atom", "kind", numbers(RGM_I64, 0, 0, NULL), NULL);
    give(b, RGM_NODE_SET, "atom", "codes", numbers(RGM_I32, 0, 2, NULL), NULL);
    give(b, RGM_NODE_SET, "atom", "words", numbers(RGM_I64, 0, 0, NULL),
         numbers(RGM_I64, 0, 0, NULL));
    give(b, RGM_NODE_SET, "atom", "tags", numbers(RGM_I64, 0, 0, NULL),
         numbers(RGM_I64, 0, 0, NULL));
    give(b, RGM_EDGE_SET, "bond", "order", numbers(RGM_I64, 0, 0, NULL), NULL);
    give(b, RGM_EDGE_SET, "bond", "length", numbers(RGM_F32, 0, 0, NULL), NULL);
    CHECK_OK(rgm_graph_builder_finish(&nothing, b));
    CHECK_OK(rgm_graph_tables(&tables, &count, nothing));
    if (rgm_onnx_run(&got, model, tables, count) != RGM_OK)
        fail_msg("%s", rgm_error_text());
    CHECK_INT(0, rgm_tensor_dim(got, 0));
    CHECK_INT(3, rgm_tensor_dim(got, 1));
    rgm_tensor_release(got);
    rgm_onnx_inputs_release(tables, count);
    rgm_graph_release(nothing);
    rgm_graph_builder_release(b);
    closed(model, path, folder);
    network_close(&n);
}

static rgm_status print_signature(rgm_text *out, const network *n)
{
    rgm_onnx_options options = {0};
    const char *names[] = {"none", "\"aromatic\"", "ring"};
    rgm_export_output output = {
        .name = "y", .value = n->y, .kind = RGM_OUTPUT_LOGITS, .classes = {names, 3}};

    RGM_TRY(rgm_graph_value_tables(&options, n->value));
    return rgm_onnx_signature(out, "model.onnx", n->cgraph, n->parameters, &output, 1, &options);
}

static void the_signature_says_what_goes_in_and_comes_out(void **state)
{
    (void)state;
    static const char *const parts[] = {
        "\"format\": \"regimen-signature\"",
        "\"file\": \"model.onnx\"",
        "{\"name\": \"nodes/atom.mass\", \"dtype\": \"float32\", \"shape\": [\"nodes/atom\", 2],\n"
        "     \"doc\": \"'mass' of each node of 'atom': in u\"}",
        "{\"name\": \"nodes/atom.kind\", \"dtype\": \"int64\", \"shape\": [\"nodes/atom\"],\n"
        "     \"doc\": \"'kind' of each node of 'atom', each 0 to 2\"}",
        "{\"name\": \"nodes/atom.codes\", \"dtype\": \"int32\", \"shape\": [\"nodes/atom\", 2]",
        "{\"name\": \"nodes/atom.words.d1\", \"dtype\": \"int64\", \"shape\": [\"nodes/atom\"]",
        "{\"name\": \"edges/bond.#source\", \"dtype\": \"int64\", \"shape\": [\"edges/bond\"]",
        "{\"name\": \"nodes/atom.#size\", \"dtype\": \"int64\", \"shape\": [\"components\"]",
        "{\"name\": \"y\", \"dtype\": \"float32\", \"shape\": [\"nodes/_readout\", 3], \"kind\": "
        "\"logits\"",
        "\"classes\": [\"none\", \"\\\"aromatic\\\"\", \"ring\"]",
    };
    network n;
    rgm_text text = {0};
    rgm_json *json;

    network_open(&n);
    CHECK_OK(print_signature(&text, &n));
    CHECK_OK(rgm_json_parse(&json, text.data, text.size, "signature.json"));
    rgm_json_release(json);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (strstr(text.data, parts[i]) == NULL)
            fail_msg("no %s in\n%s", parts[i], text.data);
    CHECK(strstr(text.data, "label") == NULL);
    CHECK(strstr(text.data, ".rows") == NULL);
    rgm_text_clear(&text);
    network_close(&n);
}

/* All of it anew, so that what a root keeps is given back too. */
static rgm_status sign_and_release(rgm_schema *schema)
{
    rgm_status status = RGM_OK;
    network n = {.schema = schema};
    rgm_text text = {0};

    RGM_GO(rgm_cgraph_create(&n.cgraph));
    RGM_GO(rgm_graph_value_create(&n.value, n.cgraph, schema));
    n.y = rgm_gather_first_node(n.value, "atom", "mass");
    RGM_GO(rgm_cgraph_status(n.cgraph));
    RGM_GO(print_signature(&text, &n));
done:
    rgm_text_clear(&text);
    rgm_graph_value_release(n.value);
    rgm_cgraph_release(n.cgraph);
    return status;
}

static rgm_status make_tables(const rgm_graph *graph)
{
    rgm_named_tensor *tables;
    int64_t count;

    RGM_TRY(rgm_graph_tables(&tables, &count, graph));
    rgm_onnx_inputs_release(tables, count);
    return RGM_OK;
}

static void nothing_leaks_where_memory_runs_out(void **state)
{
    (void)state;
    network n;

    network_open(&n);
    CHECK_OK(make_tables(n.graph)); /* the schema keeps its keys */
    CHECK_EVERY_OOM(make_tables(n.graph), (void)0);
    CHECK_EVERY_OOM(sign_and_release(n.schema), (void)0);
    network_close(&n);
}

TESTS(cmocka_unit_test(every_form_gives_what_the_graph_gives_in_any_order_of_edges),
      cmocka_unit_test(named_models_take_shuffled_edges),
      cmocka_unit_test(indices_out_of_their_range_are_refused),
      cmocka_unit_test(lookups_are_in_the_file),
      cmocka_unit_test(what_the_lookups_refuse_the_file_refuses),
      cmocka_unit_test(a_graph_of_nothing_is_served_too),
      cmocka_unit_test(the_signature_says_what_goes_in_and_comes_out),
      cmocka_unit_test(nothing_leaks_where_memory_runs_out))

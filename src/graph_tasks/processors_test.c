/* Processors as rows: read from a file, asked in their order, drawn in training alone. */
#include <check.h>

#include "learning.h"

static const char schema_text[] =
    "context { features { key: 'kind' value { dtype: DT_INT64 } } }"
    "node_sets { key: 'atom' value { features { key: 'x' value { dtype: DT_FLOAT shape { dim { "
    "size: 2 } } } } } }"
    "edge_sets { key: 'bond' value { source: 'atom' target: 'atom' features { key: 'old' value { "
    "dtype: DT_BOOL } } } }";

/* Two components: a path of 4 nodes with a chord, and a pair; every second edge is old. */
static rgm_graph *two_molecules(void)
{
    static const int64_t source[] = {0, 1, 2, 0, 4}, target[] = {1, 2, 3, 2, 5};
    rgm_graph_builder *b;
    rgm_schema *schema;
    rgm_graph *graph;
    rgm_tensor *ends[2];
    rgm_feature x = {0}, old = {0}, kind = {0};

    CHECK_OK(rgm_schema_parse(&schema, schema_text, sizeof schema_text - 1, "schema"));
    CHECK_OK(rgm_graph_builder_create(&b, schema, 2));
    CHECK_OK(rgm_graph_builder_sizes(b, RGM_NODE_SET, "atom", (int64_t[]){4, 2}));
    CHECK_OK(rgm_graph_builder_sizes(b, RGM_EDGE_SET, "bond", (int64_t[]){4, 1}));
    CHECK_OK(rgm_tensor_create_from(&ends[0], RGM_I64, 1, (int64_t[]){5}, source));
    CHECK_OK(rgm_tensor_create_from(&ends[1], RGM_I64, 1, (int64_t[]){5}, target));
    CHECK_OK(rgm_graph_builder_edges(b, "bond", ends[0], ends[1]));
    CHECK_OK(rgm_tensor_create(&x.values, RGM_F32, 2, (int64_t[]){6, 2}));
    CHECK_OK(rgm_tensor_create(&old.values, RGM_BOOL, 1, (int64_t[]){5}));
    CHECK_OK(rgm_tensor_create(&kind.values, RGM_I64, 1, (int64_t[]){2}));
    for (int i = 0; i < 12; i++)
        rgm_tensor_f32(x.values)[i] = (float)(i + 1);
    for (int i = 0; i < 5; i++)
        rgm_tensor_bool(old.values)[i] = (uint8_t)(i % 2);
    rgm_tensor_i64(kind.values)[1] = 1;
    CHECK_OK(rgm_graph_builder_feature(b, RGM_NODE_SET, "atom", "x", &x));
    CHECK_OK(rgm_graph_builder_feature(b, RGM_EDGE_SET, "bond", "old", &old));
    CHECK_OK(rgm_graph_builder_feature(b, RGM_CONTEXT_PIECE, NULL, "kind", &kind));
    CHECK_OK(rgm_graph_builder_finish(&graph, b));
    rgm_feature_clear(&x);
    rgm_feature_clear(&old);
    rgm_feature_clear(&kind);
    rgm_tensor_release(ends[0]);
    rgm_tensor_release(ends[1]);
    rgm_graph_builder_release(b);
    rgm_schema_release(schema);
    return graph;
}

/* Processors as a file says them; they live until the next are read. */
typedef struct file_options {
    rgm_sections processors;
} file_options;
#define RGM_OPTIONS file_options
static const rgm_field file_fields[] = {RGM_SECTIONS_FIELD(processors, rgm_graph_processors, ""),
                                        {0}};
#undef RGM_OPTIONS

static rgm_graph_processor list[16];
static rgm_yaml *document;
static rgm_arena *arena;

static void drop(void)
{
    rgm_yaml_release(document);
    rgm_arena_release(arena);
    document = NULL;
    arena = NULL;
}

static rgm_status read_list(int64_t *count, const char *text)
{
    file_options o = {{NULL, 0}};

    drop();
    CHECK_OK(rgm_arena_create(&arena));
    CHECK_OK(rgm_yaml_parse(&document, text, (int64_t)strlen(text), "a.yaml"));
    RGM_TRY(rgm_options_read(&o, file_fields, rgm_yaml_root(document), "data", NULL, arena));
    for (int64_t i = 0; i < o.processors.count; i++)
        list[i] =
            (rgm_graph_processor){(const rgm_graph_processor_type *)o.processors.items[i].type,
                                  o.processors.items[i].options};
    *count = o.processors.count;
    return RGM_OK;
}

/* `text` on a graph; its schema is that of a graph without components, too. */
static rgm_graph *processed(const char *text, const rgm_graph *graph, const rgm_rng *rng)
{
    rgm_schema *schema;
    rgm_graph *out;
    int64_t count;

    CHECK_OK(read_list(&count, text));
    CHECK_OK(rgm_graph_process(&out, (rgm_graph *)graph, list, count, rng));
    CHECK_OK(rgmi_processors_schema(&schema, (rgm_schema *)rgm_graph_schema(graph), list, count));
    CHECK_OK(rgm_schema_check_has(schema, rgm_graph_schema(out)));
    CHECK_OK(rgm_schema_check_has(rgm_graph_schema(out), schema));
    rgm_schema_release(schema);
    return out;
}

static int64_t edges(const rgm_graph *graph, const char *set)
{
    return rgm_graph_total(graph, RGM_EDGE_SET, set);
}

static const rgm_tensor *values(const rgm_graph *graph, const char *set, const char *feature)
{
    const rgm_feature *found = rgm_graph_feature(graph, RGM_NODE_SET, set, feature);

    CHECK(found != NULL);
    return found->values;
}

static void every_row_does_what_its_keys_say(void **state)
{
    rgm_graph *graph = two_molecules(), *out;

    (void)state;
    out = processed("processors: [{type: reverse_edges, name: back}]", graph, NULL);
    CHECK_INT(5, edges(out, "back"));
    rgm_graph_release(out);
    out = processed("processors: [{type: undirected}, {type: self_loops}]", graph, NULL);
    CHECK_INT(16, edges(out, "bond"));
    rgm_graph_release(out);
    out = processed("processors: [{type: undirected}, {type: undirected, merge: false}]", graph,
                    NULL);
    CHECK_INT(20, edges(out, "bond"));
    rgm_graph_release(out);
    out = processed("processors: [{type: mask_edges, feature: old}]", graph, NULL);
    CHECK_INT(3, edges(out, "bond"));
    CHECK_INT(2, edges(out, "_masked/bond"));
    rgm_graph_release(out);
    out = processed("processors: [{type: mask_edges, feature: old, where: not_set, name: new}]",
                    graph, NULL);
    CHECK_INT(3, edges(out, "new"));
    rgm_graph_release(out);
    out = processed("processors: [{type: line_graph}]", graph, NULL);
    CHECK_INT(5, rgm_graph_total(out, RGM_NODE_SET, "bond_line"));
    CHECK_INT(3, edges(out, "bond_line_next")); /* 01-12, 12-23, 02-23 */
    rgm_graph_release(out);
    out = processed("processors: [{type: virtual_node, name: all}]", graph, NULL);
    CHECK_INT(6, edges(out, "atom_to_all"));
    rgm_graph_release(out);
    out = processed("processors: [{type: complete}]", graph, NULL);
    CHECK_INT(20, edges(out, "atom_complete"));
    rgm_graph_release(out);
    drop();
    rgm_graph_release(graph);
}

static void places_are_features_of_nodes(void **state)
{
    rgm_graph *graph = two_molecules(), *out;

    (void)state;
    out = processed("processors: [{type: degree}, {type: degree, end: source, most: 1, feature: "
                    "out}, {type: undirected}, {type: random_walk, steps: 2}, {type: laplacian, "
                    "count: 2}]",
                    graph, NULL);
    CHECK_INT(2, rgm_tensor_i64(values(out, "atom", "degree"))[2]);
    CHECK_INT(1, rgm_tensor_i64(values(out, "atom", "out"))[0]); /* 2 are counted as 1 */
    CHECK_INT(0, rgm_tensor_i64(values(out, "atom", "out"))[3]);
    CHECK_CLOSE(rgm_tensor_f32(values(out, "atom", "random_walk"))[4 * 2 + 1], 1, 0, 1e-6);
    /* The pair: 1 / sqrt(2) and its negative, then nothing. */
    CHECK_CLOSE(rgm_tensor_f32(values(out, "atom", "laplacian"))[4 * 2], sqrt(0.5), 0, 1e-6);
    CHECK_CLOSE(rgm_tensor_f32(values(out, "atom", "laplacian"))[5 * 2], -sqrt(0.5), 0, 1e-6);
    CHECK(rgm_tensor_f32(values(out, "atom", "laplacian"))[5 * 2 + 1] == 0);
    rgm_graph_release(out);
    drop();
    rgm_graph_release(graph);
}

static void labels_move_to_the_readout(void **state)
{
    rgm_graph *graph = two_molecules(), *out;
    static const char context[] = "processors: [{type: context_to_readout, feature: kind}]";
    static const char node[] = "processors: [{type: first_node_readout}, {type: readout_feature, "
                               "feature: x, name: y, keep: true}]";

    (void)state;
    out = processed(context, graph, NULL);
    CHECK_INT(1, rgm_tensor_i64(values(out, RGM_READOUT, "kind"))[1]);
    CHECK(rgm_graph_feature(out, RGM_CONTEXT_PIECE, NULL, "kind") == NULL);
    rgm_graph_release(out);
    out = processed(node, graph, NULL);
    CHECK_CLOSE(rgm_tensor_f32(values(out, RGM_READOUT, "y"))[2], 9, 0, 0);
    CHECK(rgm_graph_feature(out, RGM_NODE_SET, "atom", "x") != NULL);
    rgm_graph_release(out);
    drop();
    rgm_graph_release(graph);
}

/* An Example to be predicted: its schema has labels, it has none. */
static void what_is_predicted_needs_no_label(void **state)
{
    rgm_graph *graph = two_molecules(), *blind, *asked, *out;
    const rgm_set_schema *readout;
    rgm_text example = {0};
    int64_t count;

    (void)state;
    CHECK_OK(rgm_graph_component(&blind, graph, 0));
    CHECK_OK(rgm_graph_without_feature(&out, blind, RGM_CONTEXT_PIECE, NULL, "kind"));
    CHECK_OK(rgm_graph_encode(&example, out, NULL));
    CHECK_OK(rgm_graph_decode(&asked, (rgm_schema *)rgm_graph_schema(graph), example.data,
                              example.size, NULL, "here"));
    rgm_graph_release(out);
    CHECK_OK(read_list(&count, "processors: [{type: context_to_readout, feature: kind}]"));
    CHECK_OK(rgm_graph_process(&out, asked, list, count, NULL));
    CHECK_INT(1, rgm_graph_total(out, RGM_NODE_SET, RGM_READOUT));
    readout = rgm_schema_find(rgm_graph_schema(out), RGM_NODE_SET, RGM_READOUT);
    CHECK(rgm_set_feature(readout, "kind") == NULL);
    rgm_text_clear(&example);
    rgm_graph_release(out);
    rgm_graph_release(asked);
    rgm_graph_release(blind);
    drop();
    rgm_graph_release(graph);
}

static bool same_edges(const rgm_graph *a, const rgm_graph *b)
{
    return rgm_tensor_equal(rgm_graph_source(a, "bond"), rgm_graph_source(b, "bond")) &&
           rgm_tensor_equal(rgm_graph_target(a, "bond"), rgm_graph_target(b, "bond"));
}

static void what_draws_does_so_in_training_alone(void **state)
{
    static const char *const rows[] = {
        "processors: [{type: drop_edges, rate: 0.5}]",
        "processors: [{type: drop_edges, rate: 0.5, edge_sets: [bond]}]",
        "processors: [{type: drop_nodes, rate: 0.5}]",
        "processors: [{type: shuffle_nodes}]",
        "processors: [{type: shuffle_features, feature: x}]",
        "processors: [{type: random_signs, feature: x}]"};
    rgm_graph *graph = two_molecules();

    (void)state;
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        rgm_graph *plain = processed(rows[k], graph, NULL);
        int64_t others = 0;

        CHECK(plain == graph); /* retained, not copied */
        for (uint64_t i = 0; i < 8; i++) {
            rgm_rng rng = rgm_rng_stream(i, "batch", 0);
            rgm_graph *drawn = processed(rows[k], graph, &rng);
            rgm_graph *again = processed(rows[k], graph, &rng);

            CHECK(same_edges(drawn, again));
            CHECK(rgm_tensor_equal(values(drawn, "atom", "x"), values(again, "atom", "x")));
            others += !same_edges(drawn, graph) ||
                      !rgm_tensor_equal(values(drawn, "atom", "x"), values(graph, "atom", "x"));
            rgm_graph_release(drawn);
            rgm_graph_release(again);
        }
        CHECK(others >= 5);
        rgm_graph_release(plain);
    }
    drop();
    rgm_graph_release(graph);
}

static void refuse(const rgm_graph *graph, const char *text, rgm_status expected, const char *part)
{
    rgm_graph *out;
    int64_t count;
    rgm_status status = read_list(&count, text);

    if (status == RGM_OK)
        status = rgm_graph_process(&out, (rgm_graph *)graph, list, count, NULL);
    CHECK_STATUS(expected, status);
    CHECK_MESSAGE(part);
}

static rgm_status gives_nothing(rgm_graph **out, rgm_graph *graph, const void *options,
                                const rgm_rng *rng)
{
    (void)graph;
    (void)options;
    (void)rng;
    *out = NULL;
    return RGM_OK;
}

static void what_cannot_be_is_refused_by_name(void **state)
{
    static const rgm_graph_processor_type none = {.section = {.name = "none"},
                                                  .process = gives_nothing};
    const rgm_graph_processor own = {&none, NULL};
    rgm_graph *graph = two_molecules(), *out;

    (void)state;
    refuse(graph, "processors: [{type: self_loops, edge_set: bonds}]", RGM_ERR_NOT_FOUND,
           "processor 'self_loops': ");
    CHECK_MESSAGE("did you mean 'bond'?");
    refuse(graph, "processors: [{type: reverse_edges}, {type: self_loops}]", RGM_ERR_CONFIG,
           "edge_set is needed: there are 'bond', 'bond_reversed' and maybe more");
    refuse(graph, "processors: [{type: mask_edges}]", RGM_ERR_CONFIG, "feature is missing");
    refuse(graph, "processors: [{type: context_to_readout}]", RGM_ERR_CONFIG, "feature is missing");
    refuse(graph, "processors: [{type: mask_edges, feature: young}]", RGM_ERR_NOT_FOUND, "'young'");
    refuse(graph, "processors: [{type: drop_edges, rate: 2}]", RGM_ERR_CONFIG, "rate");
    refuse(graph, "processors: [{type: self_lops}]", RGM_ERR_CONFIG, "did you mean 'self_loops'?");
    CHECK_STATUS(RGM_ERR_DATA, rgm_graph_process(&out, graph, &own, 1, NULL));
    CHECK_MESSAGE("processor 'none' gave no graph");
    drop();
    rgm_graph_release(graph);
}

static void failing_allocations_leave_nothing(void **state)
{
    rgm_graph *graph = two_molecules(), *out;
    rgm_rng rng = rgm_rng_stream(1, "batch", 0);
    int64_t count;

    (void)state;
    CHECK_OK(read_list(&count, "processors: [{type: mask_edges, feature: old}, {type: undirected}, "
                               "{type: laplacian}, {type: drop_edges}, {type: "
                               "context_to_readout, feature: kind}]"));
    CHECK_EVERY_OOM(rgm_graph_process(&out, graph, list, count, &rng), rgm_graph_release(out));
    drop();
    rgm_graph_release(graph);
}

TESTS(cmocka_unit_test(every_row_does_what_its_keys_say),
      cmocka_unit_test(places_are_features_of_nodes), cmocka_unit_test(labels_move_to_the_readout),
      cmocka_unit_test(what_is_predicted_needs_no_label),
      cmocka_unit_test(what_draws_does_so_in_training_alone),
      cmocka_unit_test(what_cannot_be_is_refused_by_name),
      cmocka_unit_test(failing_allocations_leave_nothing))

/*
 * The parts of a SavedModel beside the meaning of its graph, which onnx_check.h and TensorFlow
 * test: names, the signature, bytes, refusals, files, memory that runs out.
 */
#include <unistd.h>

#include "onnx_check.h"

/* softplus(x w) summed over rows of a pattern, with names that TensorFlow does not accept. */
typedef struct model {
    lab l;
    rgm_parameters *parameters;
    rgm_export_output outputs[2];
} model;

static void model_open(model *m)
{
    rgm_cgraph *graph;
    rgm_value *x, *w, *p, *y;
    rgm_dim n, k;

    *m = (model){.parameters = NULL};
    lab_open(&m->l, RGM_F32);
    graph = m->l.graph;
    n = rgm_cgraph_symbol(graph, "n");
    k = rgm_cgraph_symbol(graph, "k");
    x = rgm_input(graph, "nodes/p#x", RGM_F32, 2, (rgm_dim[]){n, 3});
    p = rgm_input_pattern(graph, "_edges", k, n, rgm_cgraph_symbol(graph, "m"));
    w = rgm_parameter(graph, "nodes/p_x", RGM_F32, 2, (int64_t[]){3, 2},
                      (rgm_init){RGM_INIT_GLOROT_UNIFORM, 0});
    y = rgm_spmm(p, rgm_softplus(rgm_matmul(x, w)), NULL);
    CHECK_OK(rgm_cgraph_status(graph));
    CHECK_OK(rgm_parameters_create(&m->parameters, graph, 1));
    m->outputs[0] = (rgm_export_output){.name = "of rows", .value = y};
    m->outputs[1] = (rgm_export_output){.name = "probabilities", .value = rgm_softmax(y)};
}

static void model_close(model *m)
{
    rgm_parameters_release(m->parameters);
    lab_close(&m->l);
}

static rgm_status save(const char *folder, model *m)
{
    return rgm_saved_model_save(folder, m->l.graph, m->parameters, m->outputs, 2, NULL);
}

/* Name of the node, dtype and sizes of an entry of a signature. */
static void check_info(const saved_graph *g, int kind, const char *key, const char *node,
                       uint64_t dtype, int rank, const int64_t *sizes)
{
    wire info;
    wire_field f;

    if (!wire_entry(g->signature, kind, key, &info))
        fail_msg("the signature has no '%s'", key);
    CHECK(wire_is(wire_of(info, 1), node));
    CHECK(wire_get(info, 2, 0, &f) && f.value == dtype);
    for (int i = 0; i < rank; i++) {
        CHECK(wire_get(wire_of(info, 3), 2, i, &f) && wire_get(f.bytes, 1, 0, &f));
        CHECK_INT(sizes[i], (int64_t)f.value);
    }
    CHECK(!wire_get(wire_of(info, 3), 2, rank, &f));
}

static void the_signature_keeps_names_that_nodes_cannot_have(void **state)
{
    (void)state;
    char folder[64];
    model m;
    saved_graph g;
    wire_field f;

    lab_folder(folder, sizeof folder);
    model_open(&m);
    CHECK_OK(save(folder, &m));
    saved_graph_open(&g, folder);
    check_info(&g, 1, "nodes/p#x", "nodes/p_x:0", 1, 2, (int64_t[]){-1, 3});
    check_info(&g, 1, "_edges.rows", "x_edges.rows:0", 9, 1, (int64_t[]){-1});
    check_info(&g, 1, "_edges.columns", "x_edges.columns:0", 9, 1, (int64_t[]){-1});
    check_info(&g, 1, "k.#size", "k._size:0", 9, 0, NULL);
    CHECK(!wire_get(g.signature, 1, 4, &f));
    check_info(&g, 2, "of rows", "of_rows:0", 1, 2, (int64_t[]){-1, 2});
    check_info(&g, 2, "probabilities", "probabilities:0", 1, 2, (int64_t[]){-1, 2});
    CHECK(!wire_get(g.signature, 2, 2, &f));
    CHECK(rgm_map_has(g.ops, "nodes/p_x_2")); /* the parameter, whose name an input has taken */
    saved_graph_close(&g);
    model_close(&m);
    CHECK_OK(rgm_folder_remove(folder));
}

/* The file has the parameter's bytes, and sums take the row numbers once, not for each channel. */
static void the_graph_has_the_weights_and_nothing_that_is_not_needed(void **state)
{
    (void)state;
    char folder[64];
    model m;
    saved_graph g;
    wire node, value;
    wire_field f;
    const rgm_tensor *w;
    bool found = false;

    lab_folder(folder, sizeof folder);
    model_open(&m);
    CHECK_OK(save(folder, &m));
    saved_graph_open(&g, folder);
    CHECK(saved_graph_find(&g, "TensorScatterAdd", &node));
    CHECK(!saved_graph_find(&g, "BroadcastTo", &node));
    w = rgm_parameters_find(m.parameters, "nodes/p_x");
    for (wire rest = g.graph; wire_next(&rest, &f);) {
        if (f.number != 1 || !wire_is(wire_of(f.bytes, 1), "nodes/p_x_2"))
            continue;
        CHECK(wire_entry(f.bytes, 5, "value", &value));
        value = wire_of(wire_of(value, 8), 4);
        CHECK_INT(rgm_tensor_bytes(w), value.end - value.at);
        CHECK(memcmp(value.at, rgm_tensor_data(w), rgm_tensor_bytes(w)) == 0);
        found = true;
    }
    CHECK(found);
    saved_graph_close(&g);
    model_close(&m);
    CHECK_OK(rgm_folder_remove(folder));
}

static void the_bytes_depend_on_the_arguments_alone(void **state)
{
    (void)state;
    char folder[64], *path, *bytes[2];
    int64_t size[2];

    lab_folder(folder, sizeof folder);
    path = lab_path(folder, RGM_SAVED_MODEL_FILE);
    for (int i = 0; i < 2; i++) {
        model m;
        void *hole = malloc((size_t)(1 + i) * 1000); /* other addresses each time */
        model_open(&m);
        CHECK_OK(save(folder, &m));
        CHECK_OK(rgm_file_load(&bytes[i], &size[i], path, 1 << 20));
        model_close(&m);
        free(hole);
    }
    CHECK(size[0] == size[1] && memcmp(bytes[0], bytes[1], (size_t)size[0]) == 0);
    rgm_free(bytes[0]);
    rgm_free(bytes[1]);
    rgm_free(path);
    CHECK_OK(rgm_folder_remove(folder));
}

static void what_has_no_form_is_refused_by_name(void **state)
{
    (void)state;
    lab l;

    lab_open(&l, RGM_F32);
    rgm_cgraph_set_scope(l.graph, "here");
    rgm_value *x = lab_input(&l, 2, (int64_t[]){3, 4});
    rgm_value *y = rgm_op(l.graph, lab_op("sum_squares"), &x, 1, &(rgm_attributes){.text = NULL});
    rgm_export_output output = {.name = "y", .value = y};
    CHECK_STATUS(RGM_ERR_UNSUPPORTED,
                 rgm_saved_model_save("/nowhere", l.graph, NULL, &output, 1, NULL));
    CHECK_MESSAGE("SavedModel export: op 'sum_squares' (in scope 'here') has no SavedModel form");
    CHECK_STATUS(RGM_ERR_UNSUPPORTED, rgm_saved_model_check(l.graph, NULL, &output, 1, NULL));
    CHECK_STATUS(RGM_ERR_ARG, rgm_saved_model_check(l.graph, NULL, &output, 0, NULL));
    lab_close(&l);
}

/* A file in the folder's place, a folder in the file's, a link; existing files stay. */
static void wrong_paths_are_told_and_nothing_is_replaced(void **state)
{
    (void)state;
    char folder[64], *file, *inner, *deep, *bytes;
    int64_t size;
    model m;

    lab_folder(folder, sizeof folder);
    file = lab_path(folder, RGM_SAVED_MODEL_FILE);
    inner = lab_path(file, RGM_SAVED_MODEL_FILE);
    deep = lab_path(folder, "a/b");
    model_open(&m);
    CHECK_OK(rgm_saved_model_check(m.l.graph, m.parameters, m.outputs, 2, NULL));
    CHECK(!rgm_path_exists(file));
    CHECK_OK(rgm_file_save(file, "old", 3));
    CHECK_STATUS(RGM_ERR_IO, save(file, &m));
    CHECK_STATUS(RGM_ERR_NOT_FOUND,
                 rgm_saved_model_save(folder, m.l.graph, NULL, m.outputs, 2, NULL));
    CHECK_OK(rgm_file_load(&bytes, &size, file, 100));
    CHECK_TEXT("old", bytes);
    rgm_free(bytes);
    CHECK_OK(save(folder, &m));
    CHECK_INT(0, unlink(file));
    CHECK_OK(rgm_folder_make(inner));
    CHECK_STATUS(RGM_ERR_IO, save(folder, &m));
    CHECK_OK(rgm_folder_remove(file));
    CHECK_INT(0, symlink("elsewhere", file));
    CHECK_STATUS(RGM_ERR_IO, save(folder, &m));
    CHECK_OK(save(deep, &m));
    model_close(&m);
    rgm_free(deep);
    rgm_free(inner);
    rgm_free(file);
    CHECK_OK(rgm_folder_remove(folder));
}

/* ---- parsed from Examples --------------------------------------------------------------------
 */

/* x w + the sum of the tokens, where `flag` is set. */
static rgm_export_output parsed_output(lab *l, rgm_dim more)
{
    rgm_cgraph *graph = l->graph;
    rgm_dim n = rgm_cgraph_symbol(graph, "n"), k = rgm_cgraph_symbol(graph, "k");
    rgm_value *x = rgm_input(graph, "x", RGM_F32, 2, (rgm_dim[]){n, 3});
    rgm_value *tokens = rgm_input(graph, "tokens", RGM_I32, 2, (rgm_dim[]){n, k});
    rgm_value *flag = rgm_input(graph, "flag", RGM_BOOL, 2, (rgm_dim[]){n, more});
    rgm_value *sum = rgm_reduce(rgm_cast(tokens, RGM_F32), 1, RGM_SUM);

    sum = rgm_add(sum, rgm_reduce(x, 1, RGM_SUM));
    return (rgm_export_output){
        .name = "y", .value = rgm_mul(sum, rgm_reduce(rgm_cast(flag, RGM_F32), 1, RGM_SUM))};
}

static const double halves[] = {0.5, 1.5, 2.5}, one[] = {1};
static const rgm_parsed_feature features[] = {
    {.input = "x", .key = "the x", .defaults = halves, .default_count = 3},
    {.input = "tokens", .padding = -1},
    {.input = "flag", .defaults = one, .default_count = 1},
    {.input = "nobody's"},
    {0}};

static rgm_status save_parsed(const char *folder, lab *l, const rgm_export_output *output,
                              const rgm_parsed_feature *list)
{
    return rgm_saved_model_save(folder, l->graph, NULL, output, 1,
                                &(rgm_onnx_options){.parsed = list});
}

/* Texts of a constant, or its bytes. */
static wire constant_of(const saved_graph *g, const char *name, int field, int nth)
{
    wire value, rest = g->graph;
    wire_field f;

    while (wire_next(&rest, &f))
        if (f.number == 1 && wire_is(wire_of(f.bytes, 1), name)) {
            CHECK(wire_entry(f.bytes, 5, "value", &value));
            CHECK(wire_get(wire_of(value, 8), field, nth, &f));
            return f.bytes;
        }
    fail_msg("there is no '%s'", name);
    return (wire){NULL, NULL};
}

/* Sizes of shape i of the parser. */
static void check_shape(wire parser, int i, int rank, const int64_t *sizes)
{
    wire list;
    wire_field shape, f;

    CHECK(wire_entry(parser, 5, "dense_shapes", &list));
    CHECK(wire_get(wire_of(list, 1), 7, i, &shape));
    for (int a = 0; a < rank; a++) {
        CHECK(wire_get(shape.bytes, 2, a, &f) && wire_get(f.bytes, 1, 0, &f));
        CHECK_INT(sizes[a], (int64_t)f.value);
    }
    CHECK(!wire_get(shape.bytes, 2, rank, &f));
}

static void check_parser(const saved_graph *g)
{
    static const char *const keys[] = {"tokens", "the x", "flag"};
    static const float half[] = {0.5f, 1.5f, 2.5f};
    const int64_t padding = -1;
    int64_t seen[3] = {0};
    wire parser, list;
    wire_field f;

    CHECK(saved_graph_find(g, "ParseExampleV2", &parser));
    CHECK(wire_get(parser, 3, 7, &f) && !wire_get(parser, 3, 8, &f)); /* 5 and a default for each */
    CHECK(wire_entry(parser, 5, "Tdense", &list));
    list = wire_of(wire_of(list, 1), 6);
    CHECK_INT(3, list.end - list.at);
    for (int i = 0; i < 3; i++) { /* in whatever order the graph takes them */
        wire key = constant_of(g, "examples/keys", 8, i);

        for (int k = 0; k < 3; k++)
            seen[k] += wire_is(key, keys[k]);
        CHECK_INT(wire_is(key, "the x") ? 1 : 9, list.at[i]);
        check_shape(parser, i, 1,
                    (int64_t[]){wire_is(key, "tokens") ? -1
                                : wire_is(key, "flag") ? 2
                                                       : 3});
    }
    CHECK(seen[0] == 1 && seen[1] == 1 && seen[2] == 1);
    CHECK(memcmp(constant_of(g, "examples/default/x", 4, 0).at, half, sizeof half) == 0);
    CHECK(memcmp(constant_of(g, "examples/default/tokens", 4, 0).at, &padding, sizeof padding) ==
          0);
    CHECK(memcmp(constant_of(g, "examples/default/flag", 4, 0).at, (int64_t[]){1, 1}, 16) == 0);
}

static void examples_are_parsed_and_tensors_are_a_second_signature(void **state)
{
    (void)state;
    char folder[64];
    lab l;
    rgm_export_output output;
    saved_graph g;
    wire_field f;

    lab_folder(folder, sizeof folder);
    lab_open(&l, RGM_F32);
    output = parsed_output(&l, 2);
    CHECK_OK(save_parsed(folder, &l, &output, features));
    saved_graph_open(&g, folder);
    check_info(&g, 1, "examples", "examples:0", 7, 1, (int64_t[]){-1});
    CHECK(!wire_get(g.signature, 1, 1, &f));
    check_info(&g, 2, "y", "y:0", 1, 1, (int64_t[]){-1});
    check_parser(&g);
    CHECK(wire_entry(g.meta, 5, "tensors", &g.signature));
    check_info(&g, 1, "x", "x:0", 1, 2, (int64_t[]){-1, 3});
    check_info(&g, 1, "tokens", "tokens:0", 3, 2, (int64_t[]){-1, -1});
    check_info(&g, 1, "flag", "flag:0", 10, 2, (int64_t[]){-1, 2});
    check_info(&g, 2, "y", "y:0", 1, 1, (int64_t[]){-1});
    saved_graph_close(&g);
    CHECK_OK(save_parsed(folder, &l, &output, NULL));
    saved_graph_open(&g, folder);
    CHECK(!wire_entry(g.meta, 5, "tensors", &g.signature));
    saved_graph_close(&g);
    CHECK_EVERY_OOM(save_parsed(folder, &l, &output, features), (void)0);
    lab_close(&l);
    CHECK_OK(rgm_folder_remove(folder));
}

static void check_unparsed(const rgm_export_output *output, lab *l, rgm_parsed_feature one_of_them,
                           int at, const char *message)
{
    rgm_parsed_feature list[5];

    memcpy(list, features, sizeof list);
    list[at] = one_of_them;
    CHECK_STATUS(RGM_ERR_CONFIG, save_parsed("/nowhere", l, output, list));
    CHECK_MESSAGE(message);
}

static void what_no_example_can_have_is_refused(void **state)
{
    (void)state;
    rgm_export_output output;
    lab l;

    lab_open(&l, RGM_F32);
    output = parsed_output(&l, 2);
    check_unparsed(&output, &l, (rgm_parsed_feature){.input = "y"}, 2,
                   "the graph takes the input 'flag', for which no feature is parsed");
    check_unparsed(
        &output, &l, (rgm_parsed_feature){.input = "flag", .defaults = halves, .default_count = 3},
        2, "the input 'flag' has 3 defaults: it takes one for all values of a record, or 2");
    check_unparsed(&output, &l,
                   (rgm_parsed_feature){.input = "tokens", .defaults = one, .default_count = 1}, 1,
                   "it has padding, no defaults");
    output.value = rgm_reduce(output.value, 0, RGM_SUM);
    output.value = rgm_mul(output.value, rgm_input(l.graph, "all", RGM_F32, 0, NULL));
    check_unparsed(&output, &l, (rgm_parsed_feature){.input = "all"}, 3,
                   "the input 'all' has no axis of records");
    lab_close(&l);
    lab_open(&l, RGM_F32);
    output = (rgm_export_output){.name = "y",
                                 .value = rgm_input(l.graph, "x", RGM_F32, 3,
                                                    (rgm_dim[]){rgm_cgraph_symbol(l.graph, "n"), 2,
                                                                rgm_cgraph_symbol(l.graph, "k")})};
    check_unparsed(&output, &l, (rgm_parsed_feature){.input = "x"}, 0,
                   "axis 2 of the input 'x' varies");
    lab_close(&l);
}

static int64_t count_of(const saved_graph *g, const char *op)
{
    wire rest = g->graph;
    int64_t count = 0;
    wire_field f;

    while (wire_next(&rest, &f))
        count += f.number == 1 && wire_is(wire_of(f.bytes, 2), op);
    return count;
}

/* Numbers of nodes are compared with the nodes of their own Example, sources with targets and rows
 * of x with the sizes; what is wrong becomes an index, or a number of values, that is none. */
static void check_own(const saved_graph *g)
{
    CHECK_INT(2, count_of(g, "Less"));
    CHECK_INT(2, count_of(g, "GreaterEqual"));
    CHECK_INT(2, count_of(g, "All"));
    CHECK_INT(1, count_of(g, "Mul")); /* each row of x is 3 values */
    CHECK_INT(2, count_of(g, "Slice"));
    CHECK_INT(6, count_of(g, "SelectV2")); /* two are of the file: indices that are negative */
    (void)constant_of(g, "constant/number_4503599627370496", 4, 0);
    (void)constant_of(g, "constant/vector_4503599627370496", 4, 0);
}

/* Sums over the edges of a graph, which a table of ends says. */
static void tables_of_graphs_are_parsed_and_joined(void **state)
{
    (void)state;
    static const char *const wanted[] = {"edges/e.#target", "edges/e.#source", "nodes/p.x",
                                         "nodes/p.#size"};
    char folder[64];
    int64_t seen = 0;
    saved_graph g;
    wire parser, list;
    wire_field f;
    lab l;

    lab_folder(folder, sizeof folder);
    lab_open(&l, RGM_F32);
    rgm_dim n = rgm_cgraph_symbol(l.graph, "n"), m = rgm_cgraph_symbol(l.graph, "m");
    rgm_dim c = rgm_cgraph_symbol(l.graph, "c");
    rgm_value *x = rgm_input(l.graph, "x", RGM_F32, 2, (rgm_dim[]){n, 3});
    rgm_value *p = rgm_input_pattern(l.graph, "p", n, n, m);
    const rgm_onnx_input inputs[] = {
        {.input = x,
         .form = RGM_FORM_DENSE,
         .tables = {{.name = "nodes/p.x", .dtype = RGM_F32, .rank = 2, .shape = {n, 3}}}},
        {.input = p,
         .form = RGM_FORM_ENTRIES,
         .tables = {{.name = "edges/e.#target",
                     .dtype = RGM_I64,
                     .rank = 1,
                     .shape = {m},
                     .counts = "nodes/p.#size"},
                    {.name = "edges/e.#source",
                     .dtype = RGM_I64,
                     .rank = 1,
                     .shape = {m},
                     .counts = "nodes/p.#size"}}}};
    const rgm_onnx_size size = {
        .dim = n, .table = {.name = "nodes/p.#size", .dtype = RGM_I64, .rank = 1, .shape = {c}}};
    rgm_onnx_options options = {.inputs = inputs,
                                .input_count = 2,
                                .sizes = &size,
                                .size_count = 1,
                                .joins_examples = true};
    rgm_export_output output = {.name = "y", .value = rgm_spmm(p, x, NULL)};

    CHECK_OK(rgm_saved_model_save(folder, l.graph, NULL, &output, 1, &options));
    saved_graph_open(&g, folder);
    check_info(&g, 1, "examples", "examples:0", 7, 1, (int64_t[]){-1});
    CHECK(!wire_get(g.signature, 1, 1, &f));
    CHECK(saved_graph_find(&g, "ParseExampleV2", &parser));
    CHECK(saved_graph_find(&g, "UpperBound", &list));
    CHECK(wire_entry(parser, 5, "ragged_value_types", &list));
    list = wire_of(wire_of(list, 1), 6);
    CHECK_INT(4, list.end - list.at);
    for (int i = 0; i < 4; i++) {
        wire key = constant_of(&g, "examples/keys", 8, i);

        for (int k = 0; k < 4; k++)
            seen += wire_is(key, wanted[k]);
        CHECK_INT(wire_is(key, "nodes/p.x") ? 1 : 9, list.at[i]);
    }
    CHECK_INT(4, seen);
    check_own(&g);
    CHECK(wire_entry(g.meta, 5, "tensors", &g.signature));
    check_info(&g, 1, "nodes/p.x", "nodes/p.x:0", 1, 2, (int64_t[]){-1, 3});
    check_info(&g, 1, "edges/e.#source", "edges/e._source:0", 9, 1, (int64_t[]){-1});
    saved_graph_close(&g);
    CHECK_EVERY_OOM(rgm_saved_model_save(folder, l.graph, NULL, &output, 1, &options), (void)0);
    options.input_count = 1; /* the pattern's rows and columns are no tables */
    CHECK_STATUS(RGM_ERR_UNSUPPORTED, rgm_saved_model_check(l.graph, NULL, &output, 1, &options));
    CHECK_MESSAGE("which is no table of an Example");
    lab_close(&l);
    CHECK_OK(rgm_folder_remove(folder));
}

static void every_failing_allocation_is_reported_and_nothing_leaks(void **state)
{
    (void)state;
    char folder[64];
    model m;

    lab_folder(folder, sizeof folder);
    model_open(&m);
    CHECK_EVERY_OOM(save(folder, &m), (void)0);
    model_close(&m);
    CHECK_OK(rgm_folder_remove(folder));
}

TESTS(cmocka_unit_test(the_signature_keeps_names_that_nodes_cannot_have),
      cmocka_unit_test(the_graph_has_the_weights_and_nothing_that_is_not_needed),
      cmocka_unit_test(the_bytes_depend_on_the_arguments_alone),
      cmocka_unit_test(what_has_no_form_is_refused_by_name),
      cmocka_unit_test(examples_are_parsed_and_tensors_are_a_second_signature),
      cmocka_unit_test(what_no_example_can_have_is_refused),
      cmocka_unit_test(tables_of_graphs_are_parsed_and_joined),
      cmocka_unit_test(wrong_paths_are_told_and_nothing_is_replaced),
      cmocka_unit_test(every_failing_allocation_is_reported_and_nothing_leaks))

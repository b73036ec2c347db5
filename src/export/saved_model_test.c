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
      cmocka_unit_test(wrong_paths_are_told_and_nothing_is_replaced),
      cmocka_unit_test(every_failing_allocation_is_reported_and_nothing_leaks))

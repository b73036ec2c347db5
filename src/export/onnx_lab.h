/*
 * What this layer's tests share: a graph with its feeds (a lab), and the comparison of an exported
 * file, run by the interpreter, with the executor. With RGM_ONNX_DUMP=FOLDER in the environment
 * each comparison also leaves the model, inputs and outputs there for tests/oracle/onnx_oracle.py.
 */
#ifndef RGM_ONNX_LAB_H
#define RGM_ONNX_LAB_H

#include <check.h>
#include <regimen/export.h>

enum { LAB_MAX = 24 };

typedef struct lab {
    rgm_cgraph *graph;
    rgm_dtype dtype;
    bool symbolic; /* outermost sizes are symbols, one for each size */
    rgm_feed feeds[LAB_MAX];
    int64_t count;
    uint64_t draws;
} lab;

static inline void lab_open(lab *l, rgm_dtype dtype, bool symbolic)
{
    *l = (lab){.dtype = dtype, .symbolic = symbolic};
    CHECK_OK(rgm_cgraph_create(&l->graph));
}

static inline void lab_close(lab *l)
{
    for (int64_t i = 0; i < l->count; i++) {
        rgm_tensor_release(l->feeds[i].tensor);
        rgm_pattern_release(l->feeds[i].pattern);
    }
    rgm_cgraph_release(l->graph);
}

static inline double lab_uniform(lab *l)
{
    rgm_rng rng = rgm_rng_stream(11, "onnx lab", 0);
    return rgm_rng_f64(&rng, l->draws++);
}

/* The dim of an outermost axis. */
static inline rgm_dim lab_dim(lab *l, int64_t size)
{
    char name[32];

    snprintf(name, sizeof name, "n%lld", (long long)size);
    return l->symbolic && size != 1 ? rgm_cgraph_symbol(l->graph, name) : size;
}

static inline rgm_value *lab_feed(lab *l, rgm_value *input, rgm_tensor *tensor,
                                  rgm_pattern *pattern)
{
    CHECK(l->count < LAB_MAX);
    l->feeds[l->count++] = (rgm_feed){.input = input, .tensor = tensor, .pattern = pattern};
    return input;
}

/* Numbers of magnitude 0.2 to 2, away from kinks; `whole`: integers, so that there are ties. */
static inline rgm_value *lab_numbers_of(lab *l, int rank, const int64_t *size, const rgm_dim *dims,
                                        bool positive, bool whole)
{
    char name[16];
    rgm_tensor *t;

    snprintf(name, sizeof name, "x%d", (int)l->count);
    CHECK_OK(rgm_tensor_create(&t, l->dtype, rank, size));
    for (int64_t i = 0; i < rgm_tensor_count(t); i++) {
        double x = 0.2 + 1.8 * lab_uniform(l);
        x = positive || lab_uniform(l) < 0.5 ? x : -x;
        x = whole ? floor(x) : x;
        if (l->dtype == RGM_F64)
            rgm_tensor_f64(t)[i] = x;
        else
            rgm_tensor_f32(t)[i] = (float)x;
    }
    return lab_feed(l, rgm_input(l->graph, name, l->dtype, rank, dims), t, NULL);
}

static inline rgm_value *lab_numbers(lab *l, int rank, const int64_t *size, bool positive,
                                     bool whole)
{
    rgm_dim dims[RGM_MAX_RANK] = {0};

    for (int i = 0; i < rank; i++)
        dims[i] = i == 0 ? lab_dim(l, size[i]) : size[i];
    return lab_numbers_of(l, rank, size, dims, positive, whole);
}

static inline rgm_value *lab_input(lab *l, int rank, const int64_t *size)
{
    return lab_numbers(l, rank, size, false, false);
}

/* Integers from 0 to limit - 1. */
static inline rgm_value *lab_integers(lab *l, rgm_dtype dtype, int rank, const int64_t *size,
                                      const rgm_dim *dims, int64_t limit)
{
    char name[16];
    rgm_tensor *t;

    snprintf(name, sizeof name, "i%d", (int)l->count);
    CHECK_OK(rgm_tensor_create(&t, dtype, rank, size));
    for (int64_t i = 0; i < rgm_tensor_count(t); i++) {
        int64_t k = (int64_t)(lab_uniform(l) * (double)limit);
        if (dtype == RGM_I64)
            rgm_tensor_i64(t)[i] = k;
        else
            rgm_tensor_i32(t)[i] = (int32_t)k;
    }
    return lab_feed(l, rgm_input(l->graph, name, dtype, rank, dims), t, NULL);
}

static inline rgm_value *lab_index(lab *l, rgm_dtype dtype, int64_t count, int64_t limit)
{
    rgm_dim dim = lab_dim(l, count);

    return lab_integers(l, dtype, 1, &count, &dim, limit);
}

/* Entries in random order, with repeats and, with luck, empty rows. */
static inline rgm_value *lab_pattern(lab *l, int64_t rows, int64_t columns, int64_t count)
{
    char name[16];
    int64_t *row = malloc(sizeof *row * (size_t)(2 * count + 1)), *column = row + count;
    rgm_pattern *pattern;

    snprintf(name, sizeof name, "p%d", (int)l->count);
    for (int64_t i = 0; i < count; i++) {
        row[i] = (int64_t)(lab_uniform(l) * (double)rows);
        column[i] = (int64_t)(lab_uniform(l) * (double)columns);
    }
    CHECK_OK(rgm_pattern_create(&pattern, rows, columns, count, row, column));
    free(row);
    return lab_feed(
        l,
        rgm_input_pattern(l->graph, name, lab_dim(l, rows), lab_dim(l, columns), lab_dim(l, count)),
        NULL, pattern);
}

/* ---- comparison ---- */

static inline char *lab_path(const char *folder, const char *name)
{
    char *path;

    CHECK_OK(rgm_path_join(&path, folder, name));
    return path;
}

static inline void lab_compare(const rgm_tensor *got, const rgm_tensor *want, const char *what,
                               double tolerance)
{
    char a[64], b[64];

    rgm_tensor_describe(got, a, sizeof a);
    rgm_tensor_describe(want, b, sizeof b);
    if (strcmp(a, b) != 0)
        fail_msg("%s: the file gives %s, the executor %s", what, a, b);
    for (int64_t i = 0; i < rgm_tensor_count(want); i++) {
        double x = rgm_tensor_at(got, i), y = rgm_tensor_at(want, i);
        if (x != y && !(fabs(x - y) <= tolerance * (1 + fabs(y))))
            fail_msg("%s: element %lld of %s is %.17g, the executor's %.17g", what, (long long)i, b,
                     x, y);
    }
}

/* For the oracle: NAME.onnx, NAME.inputs.safetensors, NAME.outputs.safetensors. */
static inline void lab_dump(const char *model, const char *name, const rgm_named_tensor *inputs,
                            int64_t input_count, rgm_tensor *output)
{
    const char *folder = getenv("RGM_ONNX_DUMP");
    rgm_named_tensor named = {"y", output};
    char file[256], *path, *bytes;
    int64_t size;

    if (folder == NULL)
        return;
    snprintf(file, sizeof file, "%s.onnx", name);
    path = lab_path(folder, file);
    CHECK_OK(rgm_file_load(&bytes, &size, model, 1 << 30));
    CHECK_OK(rgm_file_save(path, bytes, size));
    rgm_free(bytes);
    rgm_free(path);
    snprintf(file, sizeof file, "%s.inputs.safetensors", name);
    path = lab_path(folder, file);
    CHECK_OK(rgm_safetensors_save(path, inputs, input_count, NULL, 0));
    rgm_free(path);
    snprintf(file, sizeof file, "%s.outputs.safetensors", name);
    path = lab_path(folder, file);
    CHECK_OK(rgm_safetensors_save(path, &named, 1, NULL, 0));
    rgm_free(path);
}

/* In memory where that is possible: a save waits for the disk, and there are thousands. */
static inline void lab_folder(char *path, size_t size)
{
    snprintf(path, size, "/dev/shm/regimen-test-XXXXXX");
    if (mkdtemp(path) == NULL)
        snprintf(path, size, "%s", check_folder());
}

/* y exported and run by the interpreter equals y by the executor on the same feeds. */
static inline void lab_check(rgm_value *y, const rgm_parameters *parameters, const rgm_feed *feeds,
                             int64_t feed_count, const char *what, double tolerance)
{
    const rgm_executor_options evaluation = {.training = false};
    rgm_cgraph *graph;
    rgm_executor *executor;
    rgm_tensor *want, *got;
    rgm_onnx_model *model;
    rgm_named_tensor *inputs;
    int64_t input_count;
    char path[64];

    CHECK(y != NULL);
    graph = rgm_value_graph(y);
    lab_folder(path, sizeof path);
    char *file = lab_path(path, "model.onnx");
    CHECK_OK(rgm_cgraph_status(graph));
    CHECK_OK(rgm_executor_create(&executor, graph, &y, 1, &evaluation));
    CHECK_OK(rgm_executor_run(executor, &want, parameters, feeds, feed_count, 1, 1));
    CHECK_OK(rgm_onnx_save(file, graph, parameters, &(rgm_export_output){"y", y}, 1, NULL));
    CHECK_OK(rgm_onnx_open(&model, file));
    CHECK_OK(rgm_onnx_inputs(&inputs, &input_count, feeds, feed_count));
    if (rgm_onnx_run(&got, model, inputs, input_count) != RGM_OK)
        fail_msg("%s: %s", what, rgm_error_text());
    lab_compare(got, want, what, tolerance);
    lab_dump(file, what, inputs, input_count, want);
    rgm_tensor_release(got);
    rgm_onnx_inputs_release(inputs, input_count);
    rgm_onnx_close(model);
    rgm_executor_release(executor);
    rgm_free(file);
    CHECK_OK(rgm_folder_remove(path));
}

static inline const rgm_op_type *lab_op(const char *name)
{
    int64_t count;
    const rgm_op_type *const *types = rgm_op_types(&count);

    for (int64_t i = 0; i < count; i++)
        if (strcmp(types[i]->name, name) == 0)
            return types[i];
    fail_msg("there is no op '%s'", name);
    return NULL;
}

/* Below y (itself too), the first value of an op of that name; NULL: none. */
static inline rgm_value *lab_find(rgm_value *y, const char *op)
{
    if (y == NULL || rgm_value_op(y) == NULL)
        return NULL;
    if (strcmp(rgm_value_op(y)->name, op) == 0)
        return y;
    for (int i = 0; i < rgm_value_input_count(y); i++) {
        rgm_value *found = lab_find(rgm_value_input(y, i), op);
        if (found != NULL)
            return found;
    }
    return NULL;
}

/* d sum(y) / dx */
static inline rgm_value *lab_gradient(rgm_value *y, rgm_value *x)
{
    rgm_value *gradient;

    CHECK_OK(rgm_cgraph_gradients(&gradient, rgm_sum(y), &x, 1));
    return gradient;
}

#endif

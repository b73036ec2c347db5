/*
 * The comparison of an exported file, run by the interpreter, with the executor; its SavedModel is
 * looked at whole. With
 * RGM_ONNX_DUMP=FOLDER in the environment each comparison also leaves the model, inputs and outputs
 * there for tests/oracle/onnx_oracle.py, with RGM_SAVED_MODEL_DUMP=FOLDER for
 * saved_model_oracle.py.
 */
#ifndef RGM_ONNX_CHECK_H
#define RGM_ONNX_CHECK_H

#include <lab.h>
#include <regimen/export.h>

#include "saved_model_check.h"

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

static inline void lab_copy(const char *folder, const char *name, const char *from,
                            const char *source)
{
    char *path = lab_path(folder, name), *other = lab_path(from, source), *bytes;
    int64_t size;

    CHECK_OK(rgm_file_load(&bytes, &size, other, 1 << 30));
    CHECK_OK(rgm_file_save(path, bytes, size));
    rgm_free(bytes);
    rgm_free(other);
    rgm_free(path);
}

/* For an oracle, where `variable` of the environment names a folder: what was exported into the
 * folder `from` as NAME and `ending`, and NAME.inputs.safetensors, NAME.outputs.safetensors. */
static inline void lab_dump_for(const char *variable, const char *source, const char *ending,
                                const char *from, const char *name, const rgm_named_tensor *inputs,
                                int64_t input_count, rgm_tensor *output)
{
    const char *folder = getenv(variable);
    rgm_named_tensor named = {"y", output};
    char file[256], *path;

    if (folder == NULL)
        return;
    snprintf(file, sizeof file, "%s%s", name, ending);
    lab_copy(folder, file, from, source);
    snprintf(file, sizeof file, "%s.inputs.safetensors", name);
    path = lab_path(folder, file);
    CHECK_OK(rgm_safetensors_save(path, inputs, input_count, NULL, 0));
    rgm_free(path);
    snprintf(file, sizeof file, "%s.outputs.safetensors", name);
    path = lab_path(folder, file);
    CHECK_OK(rgm_safetensors_save(path, &named, 1, NULL, 0));
    rgm_free(path);
}

static inline void lab_dump(const char *from, const char *name, const rgm_named_tensor *inputs,
                            int64_t input_count, rgm_tensor *output)
{
    lab_dump_for("RGM_ONNX_DUMP", "model.onnx", ".onnx", from, name, inputs, input_count, output);
    lab_dump_for("RGM_SAVED_MODEL_DUMP", "saved_model.pb", ".pb", from, name, inputs, input_count,
                 output);
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
    saved_graph saved;
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
    rgm_export_output output = {.name = "y", .value = y};
    CHECK_OK(rgm_onnx_save(file, graph, parameters, &output, 1, NULL));
    if (rgm_saved_model_save(path, graph, parameters, &output, 1, NULL) != RGM_OK)
        fail_msg("%s: %s", what, rgm_error_text());
    saved_graph_open(&saved, path);
    saved_graph_close(&saved);
    CHECK_OK(rgm_onnx_open(&model, file));
    CHECK_OK(rgm_onnx_inputs(&inputs, &input_count, feeds, feed_count));
    if (rgm_onnx_run(&got, model, inputs, input_count) != RGM_OK)
        fail_msg("%s: %s", what, rgm_error_text());
    lab_compare(got, want, what, tolerance);
    lab_dump(path, what, inputs, input_count, want);
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

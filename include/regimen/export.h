/*
 * export: a compute graph written for other programs. ONNX (opset 18): inputs are raw tensors
 * (dense features as they are; a pattern as two int64 vectors, the row and the column of each
 * entry, in entry order), sizes are dynamic axes, and everything between them and the named outputs
 * is in the file: degrees, normalisation, sparse products, softmax over neighbours. An interpreter
 * of its own, written against the ONNX specification and sharing no code with the executor, runs an
 * exported file to verify it.
 */
#ifndef REGIMEN_EXPORT_H
#define REGIMEN_EXPORT_H

#include <regimen/autodiff.h>

#ifdef __cplusplus
extern "C" {
#endif

/** An output of an exported graph. */
typedef struct rgm_export_output {
    const char *name; /* "classification_logits" */
    rgm_value *value;
} rgm_export_output;

typedef struct rgm_onnx_options {
    const char *description;     /* doc_string; may be NULL                             */
    const char *const *metadata; /* pairs key, value for metadata_props; may be NULL    */
    int64_t metadata_count;      /* pairs                                               */
} rgm_onnx_options;

/**
 * Write model.onnx: the part of `graph` that the outputs need, in evaluation mode (no dropout),
 * with the parameters as initializers. Written beside and renamed; the bytes depend on the
 * arguments alone.
 *
 * A dense input named "nodes/paper.year" becomes an ONNX input of that name and of its dtype; a
 * pattern "edges/cites.target" becomes "edges/cites.target.rows" and "edges/cites.target.columns"
 * [count] int64. Where an op needs the number of rows of a pattern and no dense input has that
 * axis, a scalar int64 input "<symbol>.#size" is added. `parameters` may be NULL for a graph
 * without any.
 *
 * Errors: RGM_ERR_UNSUPPORTED (an op without an ONNX form: its name and scope; a file over 2 GiB),
 * RGM_ERR_ARG (no outputs; a name that two things would have), RGM_ERR_NOT_FOUND and RGM_ERR_SHAPE
 * (parameters of another graph), RGM_ERR_IO, RGM_ERR_NOMEM. No file is written or replaced then.
 */
rgm_status rgm_onnx_save(const char *path, rgm_cgraph *graph, const rgm_parameters *parameters,
                         const rgm_export_output *outputs, int64_t output_count,
                         const rgm_onnx_options *options);

/**
 * Whether rgm_onnx_save() could write this, before training is spent on it: all of its work but the
 * copy of the parameters and the file.
 * Errors: those of rgm_onnx_save() but RGM_ERR_IO.
 */
rgm_status rgm_onnx_check(rgm_cgraph *graph, const rgm_parameters *parameters,
                          const rgm_export_output *outputs, int64_t output_count);

/** An exported file opened to be run. */
typedef struct rgm_onnx_model rgm_onnx_model;
/**
 * Errors: RGM_ERR_FORMAT (not ONNX, damaged), RGM_ERR_VERSION (another opset than 18),
 * RGM_ERR_UNSUPPORTED (an operator or attribute that is not known here), RGM_ERR_NOMEM.
 */
rgm_status rgm_onnx_open(rgm_onnx_model **out, const char *path);
/**
 * The same from memory, which is copied; `name` is for messages.
 * Errors: RGM_ERR_FORMAT, RGM_ERR_VERSION, RGM_ERR_UNSUPPORTED, RGM_ERR_NOMEM.
 */
rgm_status rgm_onnx_open_memory(rgm_onnx_model **out, const void *data, int64_t size,
                                const char *name);
void rgm_onnx_close(rgm_onnx_model *model);
int64_t rgm_onnx_input_count(const rgm_onnx_model *model);
const char *rgm_onnx_input_name(const rgm_onnx_model *model, int64_t i);
/**
 * What input i takes: shape[k] is -1 where any size will do, *rank -1 where any rank will.
 *
 * @param shape  [out] [RGM_MAX_RANK]
 *
 * Errors: RGM_ERR_FORMAT (no tensor), RGM_ERR_UNSUPPORTED (an element type or rank not known here).
 */
rgm_status rgm_onnx_input_type(rgm_dtype *dtype, int *rank, int64_t *shape,
                               const rgm_onnx_model *model, int64_t i);
int64_t rgm_onnx_output_count(const rgm_onnx_model *model);
const char *rgm_onnx_output_name(const rgm_onnx_model *model, int64_t i);
/**
 * Run it. Memory and work are bounded by what is put in (256 MiB and 64 bytes for each byte of
 * inputs and parameters), so that a hostile file cannot ask for more.
 *
 * @param outputs  [out, owned] [rgm_onnx_output_count()]
 * @param inputs   by name; those the model does not take are not looked at
 *
 * Errors: RGM_ERR_NOT_FOUND (an input that is not given), RGM_ERR_SHAPE and RGM_ERR_DTYPE (an input
 * or a node's), RGM_ERR_DATA (an index out of range), RGM_ERR_FORMAT (names that contradict each
 * other), RGM_ERR_UNSUPPORTED (what is not known here, or over the bound). All outputs are then
 * NULL.
 */
rgm_status rgm_onnx_run(rgm_tensor **outputs, const rgm_onnx_model *model,
                        const rgm_named_tensor *inputs, int64_t input_count);
/**
 * The ONNX inputs that correspond to what an executor is fed: named tensors for each dense feed,
 * two for each pattern, and sizes. Release each tensor and rgm_free() the array and names with
 * rgm_onnx_inputs_release().
 * Errors: RGM_ERR_SHAPE, RGM_ERR_NOMEM.
 */
rgm_status rgm_onnx_inputs(rgm_named_tensor **inputs, int64_t *count, const rgm_feed *feeds,
                           int64_t feed_count);
void rgm_onnx_inputs_release(rgm_named_tensor *inputs, int64_t count);

/** What a comparison of an exported model with the executor found. */
typedef struct rgm_export_check {
    int64_t items; /* predictions compared: their rows */
    double largest_difference;
} rgm_export_check;
/**
 * Put the largest difference of two tensors into `check`; a NaN on either side is as far away as
 * can be. RGM_ERR_SHAPE when shapes or dtypes differ.
 */
rgm_status rgm_export_compare(rgm_export_check *check, const rgm_tensor *file,
                              const rgm_tensor *executor);

#ifdef __cplusplus
}
#endif
#endif

/*
 * export: a compute graph written for other programs. ONNX (opset 18): inputs are the tables that a
 * user has (dense features as they are; a pattern by the row and the column of each entry in any
 * order, by row lengths, by integers, by the sizes of groups), sizes are dynamic axes, and
 * everything between them and the named outputs is in the file: one-hot rows, degrees,
 * normalisation, sparse products, softmax over neighbours. A signature in JSON says what each input
 * and output is. An interpreter of its own, written against the ONNX specification and sharing no
 * code with the executor, runs an exported file to verify it. The same graph as TensorFlow has it:
 * a SavedModel.
 */
#ifndef REGIMEN_EXPORT_H
#define REGIMEN_EXPORT_H

#include <regimen/autodiff.h>

#ifdef __cplusplus
extern "C" {
#endif

/** What the numbers of an output are. */
typedef enum rgm_output_kind {
    RGM_OUTPUT_OTHER,
    RGM_OUTPUT_LOGITS,
    RGM_OUTPUT_PROBABILITIES,
    RGM_OUTPUT_NUMBERS /* what was asked for itself: a regression */
} rgm_output_kind;
extern const char *const rgm_output_kind_names[]; /* "other", "logits", ..., ended by NULL */

/** An output of an exported graph. What stands behind `value` is for the signature. */
typedef struct rgm_export_output {
    const char *name; /* "classification_logits" */
    rgm_value *value;
    rgm_output_kind kind;
    rgm_texts classes; /* names of the last axis; none: they are numbers */
} rgm_export_output;

/** Key of metadata_props where an output has classes: JSON of them by the output's name,
 * {"classification_logits": ["art", "bio"], "probabilities": ["art", "bio"]}. */
#define RGM_ONNX_CLASS_NAMES "class_names"

/** A tensor that an exported file takes. */
typedef struct rgm_onnx_table {
    const char *name; /* "edges/cites.#source"; NULL: there is none */
    rgm_dtype dtype;
    int rank;
    rgm_dim shape[RGM_MAX_RANK];
    const char *doc; /* what stands in it, for the input's doc_string; may be NULL */
} rgm_onnx_table;

/** Where a value of a table stands among sorted keys, for the column that it is then. */
typedef struct rgm_onnx_search {
    const int64_t *integers; /* [count] keys, ascending; or                                      */
    const double *numbers;   /* [count] boundaries, ascending: a value's column is how many are
                                no more than it; NaN is an error                                 */
    const int64_t *columns;  /* [count] of integers: the column of each key                      */
    int64_t count, other;    /* other: column of an integer that is no key; -1: it is an error   */
} rgm_onnx_search;

/** How an input of the compute graph comes of tables. Indices are i64, from 0. */
typedef enum rgm_onnx_form {
    RGM_FORM_DENSE,    /* it is tables[0]                                                      */
    RGM_FORM_ENTRIES,  /* pattern: row (tables[0]) and column (tables[1]) of each entry [count];
                          entries may come in any order, with what else is theirs              */
    RGM_FORM_RAGGED,   /* pattern: columns of all rows one after the other [count], and how many
                          each row has [rows]                                                  */
    RGM_FORM_KINDS,    /* pattern [n, k * values] of integers [n, k...]: number j of a row has
                          column j * values + itself                                           */
    RGM_FORM_SIZES,    /* pattern [groups, items]: items of each group [groups], which lie in
                          the groups' order                                                    */
    RGM_FORM_FIRSTS,   /* the same, but of each group its first item alone                     */
    RGM_FORM_PICKS,    /* pattern with one entry a row: row and column of each [rows], in any
                          order; in the graph they are in the rows'                            */
    RGM_FORM_NUMBERS,  /* pattern [items, n], entry i is (i, i), of one group of n items: tables[0]
                          as in SIZES, and anything else is an error                           */
    RGM_FORM_IDENTITY, /* pattern [n, n], entry i is (i, i): nothing is asked for              */
    RGM_FORM_ONES      /* dense, 1 everywhere: nothing is asked for                            */
} rgm_onnx_form;

/** An input of the compute graph and its tables. A table that is named twice is asked for once. */
typedef struct rgm_onnx_input {
    rgm_value *input;
    rgm_onnx_form form;
    rgm_onnx_table tables[2];
    int64_t values;                /* RGM_FORM_KINDS: columns of one number                      */
    const rgm_onnx_search *search; /* RGM_FORM_KINDS, _RAGGED: by which the tables' values become
                                      columns; NULL: they are columns                            */
} rgm_onnx_input;

/** Where to read the size of a symbol that no table has for a dim. */
typedef struct rgm_onnx_size {
    rgm_dim dim;
    rgm_onnx_table table; /* i64 [groups]: the size is its sum, */
    bool is_count;        /* or how many there are              */
} rgm_onnx_size;

typedef struct rgm_onnx_options {
    const char *description;      /* doc_string; may be NULL                             */
    const char *const *metadata;  /* pairs key, value for metadata_props; may be NULL; no
                                     RGM_ONNX_CLASS_NAMES, which is made of the outputs  */
    int64_t metadata_count;       /* pairs                                               */
    const rgm_onnx_input *inputs; /* those that are not asked for as rgm_onnx_save() says */
    int64_t input_count;
    const rgm_onnx_size *sizes;
    int64_t size_count;
} rgm_onnx_options;

/**
 * Write model.onnx: the part of `graph` that the outputs need, in evaluation mode (no dropout),
 * with the parameters as initializers. Written beside and renamed; the bytes depend on the
 * arguments alone.
 *
 * An input of the graph that options->inputs has is made of its tables; an index that is negative
 * or otherwise outside its range is then an error of whatever runs the file. Of others a dense one
 * named "x" becomes an ONNX input of that name and of its dtype; a pattern "p" becomes "p.rows" and
 * "p.columns" [count] int64. Where an op needs a size that is no dim of any of them, it comes from
 * options->sizes, else a scalar int64 input "<symbol>.#size" is added. `parameters` may be NULL for
 * a graph without any.
 *
 * Errors: RGM_ERR_UNSUPPORTED (an op without an ONNX form: its name and scope; a file over 2 GiB),
 * RGM_ERR_ARG (no outputs; a name or key that two things would have), RGM_ERR_NOT_FOUND and
 * RGM_ERR_SHAPE (parameters of another graph), RGM_ERR_IO, RGM_ERR_NOMEM. No file is written or
 * replaced then.
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
                          const rgm_export_output *outputs, int64_t output_count,
                          const rgm_onnx_options *options);
/**
 * What the file of the same arguments takes and gives, as JSON: of each input name, dtype, shape
 * (a text is a size that varies; equal texts are equal sizes) and doc; of each output also kind and
 * the names of its classes.
 *
 * @param file  [in] the file's name, told in it
 *
 * Errors: those of rgm_onnx_save() but RGM_ERR_IO.
 */
rgm_status rgm_onnx_signature(rgm_text *out, const char *file, rgm_cgraph *graph,
                              const rgm_parameters *parameters, const rgm_export_output *outputs,
                              int64_t output_count, const rgm_onnx_options *options);

/** The file of a SavedModel. */
#define RGM_SAVED_MODEL_FILE "saved_model.pb"
/**
 * Write a SavedModel of TensorFlow (schema version 1): the graph of rgm_onnx_save() in TensorFlow's
 * ops, with the parameters as constants, and one signature "serving_default" whose inputs and
 * outputs have the names, dtypes and shapes of the ONNX file (a size that varies is -1).
 * tf.saved_model.load() and TensorFlow Serving read it. There is saved_model.pb alone: of frozen
 * weights nothing is kept beside it. On a CPU an index outside its range is an error of
 * TensorFlow's; its GPU kernels take no notice of one.
 *
 * @param folder   [in] made where it is missing; saved_model.pb is written beside and renamed
 * @param options  [in] as for rgm_onnx_save(), but that `metadata` have no place here;
 * `description` is the graph's meta_graph_version
 *
 * Errors: those of rgm_onnx_save(); RGM_ERR_UNSUPPORTED also for an ONNX node that TensorFlow
 * cannot say, by its operator, and for more than 2 GiB. No file is written or replaced then.
 */
rgm_status rgm_saved_model_save(const char *folder, rgm_cgraph *graph,
                                const rgm_parameters *parameters, const rgm_export_output *outputs,
                                int64_t output_count, const rgm_onnx_options *options);
/**
 * Whether rgm_saved_model_save() could write this: all of its work but the copy of the parameters
 * and the file.
 * Errors: those of rgm_saved_model_save() but RGM_ERR_IO.
 */
rgm_status rgm_saved_model_check(rgm_cgraph *graph, const rgm_parameters *parameters,
                                 const rgm_export_output *outputs, int64_t output_count,
                                 const rgm_onnx_options *options);

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
/** What metadata_props say of `key`, the model's; NULL: nothing. */
const char *rgm_onnx_metadata(const rgm_onnx_model *model, const char *key);
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
 * The inputs, where no options->inputs says otherwise, that correspond to what an executor is fed:
 * named tensors for each dense feed, two for each pattern, and sizes. Release each tensor and
 * rgm_free() the array and names with rgm_onnx_inputs_release(). Errors: RGM_ERR_SHAPE,
 * RGM_ERR_NOMEM.
 */
rgm_status rgm_onnx_inputs(rgm_named_tensor **inputs, int64_t *count, const rgm_feed *feeds,
                           int64_t feed_count);
void rgm_onnx_inputs_release(rgm_named_tensor *inputs, int64_t count);

/** What a comparison of an exported model with the executor found. */
typedef struct rgm_export_check {
    int64_t items;             /* predictions compared: their rows */
    double largest_difference; /* of values above 1 in proportion to them */
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

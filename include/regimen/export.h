/*
 * export: writes a compute graph for other programs. In ONNX (opset 18) the inputs are the tables
 * that a user has: dense features as they are; a pattern as the row and the column of each entry in
 * any order, as row lengths, as integers, or as the sizes of groups. Sizes are dynamic axes, and
 * the file holds everything between the inputs and the named outputs: one-hot rows, degrees,
 * normalisation, sparse products, softmax over neighbours. A JSON signature describes each input
 * and output. To verify an exported file, an interpreter runs it; it is written against the ONNX
 * specification and shares no code with the executor. The same graph can be written for TensorFlow
 * as a SavedModel.
 */
#ifndef REGIMEN_EXPORT_H
#define REGIMEN_EXPORT_H

#include <regimen/autodiff.h>

#ifdef __cplusplus
extern "C" {
#endif

/** What the numbers of an output mean. */
typedef enum rgm_output_kind {
    RGM_OUTPUT_OTHER,
    RGM_OUTPUT_LOGITS,
    RGM_OUTPUT_PROBABILITIES,
    RGM_OUTPUT_NUMBERS /* the predicted quantity itself: a regression */
} rgm_output_kind;
extern const char *const rgm_output_kind_names[]; /* "other", "logits", ..., ended by NULL */

/** An output of an exported graph. The members after `value` are for the signature. */
typedef struct rgm_export_output {
    const char *name; /* "classification_logits" */
    rgm_value *value;
    rgm_output_kind kind;
    rgm_texts classes; /* names of the last axis; none: they are numbers */
} rgm_export_output;

/** Key of metadata_props when an output has classes. Its value is JSON, classes by output name:
 * {"classification_logits": ["art", "bio"], "probabilities": ["art", "bio"]}. */
#define RGM_ONNX_CLASS_NAMES "class_names"

/** A tensor that an exported file takes. */
typedef struct rgm_onnx_table {
    const char *name; /* "edges/cites.#source"; NULL: there is none */
    rgm_dtype dtype;
    int rank;
    rgm_dim shape[RGM_MAX_RANK];
    const char *doc;    /* what it holds, for the input's doc_string; may be NULL */
    const char *counts; /* of numbers of items: the table of their sizes in each component, by which
                           several Examples' numbers are told apart; NULL: they are none */
} rgm_onnx_table;

/** Maps the values of a table to columns by a search among sorted keys. */
typedef struct rgm_onnx_search {
    const int64_t *integers; /* [count] keys, ascending; or                                      */
    const double *numbers;   /* [count] boundaries, ascending: a value's column is the number of
                                boundaries <= the value; NaN is an error                         */
    const int64_t *columns;  /* [count] with integers: the column of each key                    */
    int64_t count, other;    /* other: column of integers that are no key; -1: they are an error */
} rgm_onnx_search;

/** How an input of the compute graph is computed from tables. Indices are i64, from 0. */
typedef enum rgm_onnx_form {
    RGM_FORM_DENSE,    /* the input is tables[0]                                               */
    RGM_FORM_ENTRIES,  /* pattern: row (tables[0]) and column (tables[1]) of each entry [count];
                          entries may come in any order, together with their other values      */
    RGM_FORM_RAGGED,   /* pattern: the columns of all rows one after the other [count], and the
                          number of columns of each row [rows]                                 */
    RGM_FORM_KINDS,    /* pattern [n, k * values] from integers [n, k...]: number j of a row has
                          column j * values + itself                                           */
    RGM_FORM_SIZES,    /* pattern [groups, items]: number of items of each group [groups]; items
                          are in the order of the groups                                       */
    RGM_FORM_FIRSTS,   /* the same, but only the first item of each group                      */
    RGM_FORM_PICKS,    /* pattern with one entry a row: row and column of each [rows], in any
                          order; the graph has them in row order                               */
    RGM_FORM_NUMBERS,  /* pattern [items, n], entry i is (i, i), for one group of n items:
                          tables[0] as in SIZES; another number of groups is an error  */
    RGM_FORM_IDENTITY, /* pattern [n, n], entry i is (i, i): takes no table                    */
    RGM_FORM_ONES      /* dense, 1 everywhere: takes no table                                  */
} rgm_onnx_form;

/** An input of the compute graph and its tables. A table named twice is one input of the file. */
typedef struct rgm_onnx_input {
    rgm_value *input;
    rgm_onnx_form form;
    rgm_onnx_table tables[2];
    int64_t values;                /* RGM_FORM_KINDS: columns of one number                      */
    const rgm_onnx_search *search; /* RGM_FORM_KINDS, _RAGGED: turns the tables' values into
                                      columns; NULL: they are columns                            */
} rgm_onnx_input;

/** Where to read the size of a symbol that is no dim of any table. */
typedef struct rgm_onnx_size {
    rgm_dim dim;
    rgm_onnx_table table; /* i64 [groups]: the size is its sum,      */
    bool is_count;        /* or with is_count the number of elements */
} rgm_onnx_size;

/**
 * How an input of an exported graph is read from serialized tf.train.Examples, one record each. Of
 * an input [records, shape...] an Example has as many values as a record: floats for f32 and f64,
 * integers for i32, i64 and bool. Where the second axis varies, it has any number of whole rows,
 * and the longest of a request is the size of that axis; further axes are fixed.
 */
typedef struct rgm_parsed_feature {
    const char *input; /* the input's name; NULL ends a list                                   */
    const char *key;   /* in the Example; NULL: the input's name                               */
    const double *defaults; /* [default_count] what an Example without the feature has: a record's
                               values, or one for all of them */
    int64_t default_count;  /* 0: the feature is required; always so where the second axis varies,
                               whose missing feature is a list of nothing  */
    double padding; /* behind lists that are shorter than the longest                       */
} rgm_parsed_feature;

typedef struct rgm_onnx_options {
    const char *description;      /* doc_string; may be NULL                             */
    const char *const *metadata;  /* pairs key, value for metadata_props; may be NULL; without
                                     RGM_ONNX_CLASS_NAMES, which is made from the outputs */
    int64_t metadata_count;       /* pairs                                               */
    const rgm_onnx_input *inputs; /* those that differ from rgm_onnx_save()'s default    */
    int64_t input_count;
    const rgm_onnx_size *sizes;
    int64_t size_count;
    const rgm_parsed_feature *parsed; /* of a SavedModel alone, ended by {0}: all of its inputs are
                                         parsed from Examples. NULL: it takes tensors */
    bool joins_examples; /* of a SavedModel alone, whose inputs are all tables: they are parsed from
                            Examples of graphs, whose features have the tables' names */
} rgm_onnx_options;

/**
 * Write model.onnx: the part of `graph` that the outputs need, in evaluation mode (no dropout),
 * with the parameters as initializers. The file is written under another name and renamed. Its
 * bytes depend only on the arguments.
 *
 * An input of the graph that is listed in options->inputs is computed from its tables; an index
 * that is negative or otherwise out of range is then an error in the program that runs the file.
 * Any other dense input "x" becomes an ONNX input of that name and dtype; any other pattern "p"
 * becomes "p.rows" and "p.columns" [count] int64. When an op needs a size that is no dim of any
 * input, the size comes from options->sizes, or else from an additional scalar int64 input
 * "<symbol>.#size". `parameters` may be NULL for a graph without parameters.
 *
 * Errors: RGM_ERR_UNSUPPORTED (an op without an ONNX form: its name and scope; a file over 2 GiB),
 * RGM_ERR_ARG (no outputs; a name or key used twice), RGM_ERR_NOT_FOUND and RGM_ERR_SHAPE
 * (parameters of another graph), RGM_ERR_IO, RGM_ERR_NOMEM. No file is written or replaced then.
 */
rgm_status rgm_onnx_save(const char *path, rgm_cgraph *graph, const rgm_parameters *parameters,
                         const rgm_export_output *outputs, int64_t output_count,
                         const rgm_onnx_options *options);

/**
 * Check, before time is spent on training, whether rgm_onnx_save() could write this. It does
 * everything but copy the parameters and write the file.
 * Errors: those of rgm_onnx_save() except RGM_ERR_IO.
 */
rgm_status rgm_onnx_check(rgm_cgraph *graph, const rgm_parameters *parameters,
                          const rgm_export_output *outputs, int64_t output_count,
                          const rgm_onnx_options *options);
/**
 * Describe in JSON the inputs and outputs of the file that the same arguments write: name, dtype,
 * shape (a text is a size that varies; equal texts are equal sizes) and doc; for outputs also kind
 * and class names.
 *
 * @param file  [in] the file's name, as the JSON gives it
 *
 * Errors: those of rgm_onnx_save() except RGM_ERR_IO.
 */
rgm_status rgm_onnx_signature(rgm_text *out, const char *file, rgm_cgraph *graph,
                              const rgm_parameters *parameters, const rgm_export_output *outputs,
                              int64_t output_count, const rgm_onnx_options *options);

/** The file of a SavedModel. */
#define RGM_SAVED_MODEL_FILE "saved_model.pb"
/**
 * Write a TensorFlow SavedModel (schema version 1): the graph of rgm_onnx_save() in TensorFlow's
 * ops, with the parameters as constants, and one signature "serving_default" whose inputs and
 * outputs have the names, dtypes and shapes of the ONNX file (a size that varies is -1).
 * tf.saved_model.load() and TensorFlow Serving read it. saved_model.pb is the only file: the
 * weights are frozen in it. On a CPU an index out of range is a TensorFlow error; TensorFlow's GPU
 * kernels ignore it.
 *
 * With options->parsed or joins_examples the input of "serving_default" is `examples`, strings
 * [records] of serialized tf.train.Examples; a second signature, "tensors", takes the graph's
 * inputs as above.
 *
 * @param folder   [in] created if missing; saved_model.pb is written under another name and renamed
 * @param options  [in] as for rgm_onnx_save(), except that `metadata` are ignored; `description`
 * becomes the graph's meta_graph_version
 *
 * Errors: those of rgm_onnx_save(); RGM_ERR_UNSUPPORTED also for an ONNX node that TensorFlow
 * cannot express (the message has its operator), and for more than 2 GiB; RGM_ERR_CONFIG for an
 * input that no feature is read for, or whose feature cannot be (the message says why). No file is
 * written or replaced then.
 */
rgm_status rgm_saved_model_save(const char *folder, rgm_cgraph *graph,
                                const rgm_parameters *parameters, const rgm_export_output *outputs,
                                int64_t output_count, const rgm_onnx_options *options);
/**
 * Check whether rgm_saved_model_save() could write this. It does everything but copy the parameters
 * and write the file.
 * Errors: those of rgm_saved_model_save() except RGM_ERR_IO.
 */
rgm_status rgm_saved_model_check(rgm_cgraph *graph, const rgm_parameters *parameters,
                                 const rgm_export_output *outputs, int64_t output_count,
                                 const rgm_onnx_options *options);

/** An exported file, opened to be run. */
typedef struct rgm_onnx_model rgm_onnx_model;
/**
 * Errors: RGM_ERR_FORMAT (not ONNX, or damaged), RGM_ERR_VERSION (an opset other than 18),
 * RGM_ERR_UNSUPPORTED (an operator or attribute that the interpreter does not know), RGM_ERR_NOMEM.
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
 * The type of input i: shape[k] is -1 when any size is accepted, *rank -1 when any rank is.
 *
 * @param shape  [out] [RGM_MAX_RANK]
 *
 * Errors: RGM_ERR_FORMAT (not a tensor), RGM_ERR_UNSUPPORTED (unknown element type or rank).
 */
rgm_status rgm_onnx_input_type(rgm_dtype *dtype, int *rank, int64_t *shape,
                               const rgm_onnx_model *model, int64_t i);
int64_t rgm_onnx_output_count(const rgm_onnx_model *model);
const char *rgm_onnx_output_name(const rgm_onnx_model *model, int64_t i);
/** The model's metadata_props value for `key`, owned by the model; NULL: none. */
const char *rgm_onnx_metadata(const rgm_onnx_model *model, const char *key);
/**
 * Run the model. Memory and work are bounded by the inputs (256 MiB and 64 bytes for each byte of
 * inputs and parameters), so that a hostile file cannot use more.
 *
 * @param outputs  [out, owned] [rgm_onnx_output_count()]
 * @param inputs   by name; those that the model does not take are ignored
 *
 * Errors: RGM_ERR_NOT_FOUND (a missing input), RGM_ERR_SHAPE and RGM_ERR_DTYPE (of an input or a
 * node), RGM_ERR_DATA (an index out of range), RGM_ERR_FORMAT (names that contradict each other),
 * RGM_ERR_UNSUPPORTED (unknown to the interpreter, or over the bound). All outputs are then NULL.
 */
rgm_status rgm_onnx_run(rgm_tensor **outputs, const rgm_onnx_model *model,
                        const rgm_named_tensor *inputs, int64_t input_count);
/**
 * The ONNX inputs that correspond to an executor's feeds, for graphs without options->inputs: a
 * tensor for each dense feed, two for each pattern, and sizes. rgm_onnx_inputs_release() frees the
 * tensors, the array and the names. Errors: RGM_ERR_SHAPE, RGM_ERR_NOMEM.
 */
rgm_status rgm_onnx_inputs(rgm_named_tensor **inputs, int64_t *count, const rgm_feed *feeds,
                           int64_t feed_count);
void rgm_onnx_inputs_release(rgm_named_tensor *inputs, int64_t count);

/**
 * Write an input or output of a file for a description of one's own, as a member of a list:
 * {"name": "ids", "dtype": "int64", "shape": ["batch", 3]}. value: i64 or f32; free sizes are told
 * by their names. Errors: RGM_ERR_NOMEM.
 */
rgm_status rgm_export_write_tensor(rgm_json_writer *writer, const char *name,
                                   const rgm_value *value);

/** The result of comparing an exported model with the executor. */
typedef struct rgm_export_check {
    int64_t items;             /* rows of predictions compared */
    double largest_difference; /* absolute; relative for values above 1 */
} rgm_export_check;
/**
 * Record the largest difference of two tensors in `check`; a NaN on either side counts as the
 * largest possible difference. RGM_ERR_SHAPE when shapes or dtypes differ.
 */
rgm_status rgm_export_compare(rgm_export_check *check, const rgm_tensor *file,
                              const rgm_tensor *executor);

#ifdef __cplusplus
}
#endif
#endif

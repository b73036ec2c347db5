/* The writer's state, and the functions with which op translators add nodes to it. One arena holds
 * everything. */
#ifndef RGM_ONNX_INTERNAL_H
#define RGM_ONNX_INTERNAL_H

#include <regimen/export.h>

#include "onnx.pb-c.h"

/* ONNX's numbers for element types. */
enum { ONNX_FLOAT = 1, ONNX_INT32 = 6, ONNX_INT64 = 7, ONNX_BOOL = 9, ONNX_DOUBLE = 11 };
#define RGMI_ONNX_OPSET 18
#define RGMI_ONNX_IR    8

/** Lists of pointers in protobuf-c's form. */
typedef struct rgmi_list {
    void **items;
    size_t count, capacity;
} rgmi_list;

/** The names of a value in the file: one, or for a pattern rows and columns. */
typedef struct rgmi_name {
    const rgm_value *value;
    const char *name;           /* dense */
    const char *rows, *columns; /* patterns: int64 [count] */
} rgmi_name;

/** The state of a file of one graph while it is written. */
typedef struct rgmi_writer {
    rgm_cgraph *graph;
    const rgm_parameters *parameters;
    const rgm_onnx_options *options; /* may be NULL */
    const char *format;              /* "ONNX": for messages */
    rgm_arena *arena;
    rgm_status status; /* the first failure; translators then do nothing */
    rgmi_list nodes, inputs, outputs, initializers;
    rgmi_list tables;     /* const rgm_onnx_table *: the tables that are inputs */
    rgmi_list translated; /* rgmi_name *, inputs first: both give sizes */
    rgm_map *named;       /* "value pointer" -> rgmi_name *                            */
    rgm_map *used;        /* every name of the file                                    */
    rgm_map *known;       /* text of a constant, a size, a degree -> its name: made once */
    int64_t next;
    const char *hint; /* op being translated: new names begin with it */
} rgmi_writer;

int rgmi_onnx_type(rgm_dtype dtype);
rgm_status rgmi_onnx_dtype(rgm_dtype *out, int64_t type);

/* ---- onnx_graph.c ---- */

/** Record a failure; returns NULL. */
const char *rgmi_fail(rgmi_writer *w, rgm_status code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void *rgmi_memory(rgmi_writer *w, size_t size);
const char *rgmi_text(rgmi_writer *w, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void rgmi_add(rgmi_writer *w, rgmi_list *list, void *item);

/** Reserve a name; RGM_ERR_ARG when it is taken, or not UTF-8. Returns `name`, or NULL. */
const char *rgmi_claim(rgmi_writer *w, const char *name, const char *what);
/** A new name that begins with `base`. */
const char *rgmi_fresh(rgmi_writer *w, const char *base);
/** The name that rgmi_keep() stored under the text, else NULL. rgmi_keep() returns `name`. */
const char *rgmi_known_name(const rgmi_writer *w, const char *key);
const char *rgmi_keep(rgmi_writer *w, const char *key, const char *name);

/** Add a node; returns its output's name. A NULL input means an earlier failure: then NULL. */
const char *rgmi_node_of(rgmi_writer *w, const char *type, const char *const *inputs, int count);
/** The same with one to three inputs: the first NULL ends them. */
const char *rgmi_node(rgmi_writer *w, const char *type, const char *a, const char *b,
                      const char *c);
/** Add an attribute to the last node: 1 float, 2 int, 3 string, 4 tensor, 7 ints. NULL on
 * failure. */
Rgmi__Onnx__AttributeProto *rgmi_attribute(rgmi_writer *w, const char *name, int32_t type);
void rgmi_int(rgmi_writer *w, const char *name, int64_t value);
void rgmi_float(rgmi_writer *w, const char *name, double value);
void rgmi_write_ints(rgmi_writer *w, const char *name, const int64_t *values, int64_t count);
void rgmi_string(rgmi_writer *w, const char *name, const char *value);

/** The key of a value in the writer's maps; returns key. */
const char *rgmi_key_of(char *key, size_t size, const rgm_value *value);
/** The name of a translated value. */
const char *rgmi_name_of(rgmi_writer *w, const rgm_value *value);
const rgmi_name *rgmi_pattern_of(rgmi_writer *w, const rgm_value *value);
/** Count a value as translated from now on; the caller fills in its name. */
rgmi_name *rgmi_remember(rgmi_writer *w, const rgm_value *value);

/* ---- onnx_values.c ---- */

/** Constants, shared when equal. */
const char *rgmi_scalar(rgmi_writer *w, rgm_dtype dtype, double value);
const char *rgmi_vector(rgmi_writer *w, const int64_t *values, int64_t count);
void rgmi_initializer(rgmi_writer *w, const char *name, const rgm_tensor *tensor);
/** The same for a vector of count >= 1 numbers, which is copied; returns its name. */
const char *rgmi_numbers(rgmi_writer *w, rgm_dtype dtype, const void *data, int64_t count);
/** Add an input or output of the graph to `list`. */
void rgmi_value_info(rgmi_writer *w, rgmi_list *list, const char *name, rgm_dtype dtype, int rank,
                     const rgm_dim *shape, const char *doc);
/** The input for a table, made at its first use; returns its name. */
const char *rgmi_table_name(rgmi_writer *w, const rgm_onnx_table *table);
/**
 * [1] int64 with a dim's size: a constant, or the size of something with that dim, else from
 * options->sizes, else the new input "<symbol>.#size". NULL on failure.
 */
const char *rgmi_size(rgmi_writer *w, rgm_dim dim);
/** The same as a scalar. */
const char *rgmi_size_scalar(rgmi_writer *w, rgm_dim dim);

/* Common nodes. */
const char *rgmi_cast(rgmi_writer *w, const char *x, rgm_dtype dtype);
const char *rgmi_unsqueeze(rgmi_writer *w, const char *x, int64_t axis);
/** x [n] as [n, 1, ...] of rank `rank`. */
const char *rgmi_as_column(rgmi_writer *w, const char *x, int rank);
/** axis >= 0: onnxruntime mishandles a negative axis of a tensor without elements. */
const char *rgmi_reduce(rgmi_writer *w, const char *type, const char *x, int64_t axis, bool keep);
const char *rgmi_concat(rgmi_writer *w, const char *const *x, int count, int64_t axis);
/** 0, 1, .. up to but without a scalar. */
const char *rgmi_range(rgmi_writer *w, const char *end);
/** [rank] int64: the sizes. */
const char *rgmi_shape(rgmi_writer *w, const rgm_dim *shape, int rank);
/** x of shape `from` in shape `to`; correct for sizes of 0 too. */
const char *rgmi_reshape(rgmi_writer *w, const char *x, const rgm_dim *from, int from_rank,
                         const rgm_dim *to, int rank);
/** A tensor of that shape vector full of `value`. */
const char *rgmi_filled(rgmi_writer *w, const char *shape, rgm_dtype dtype, double value);
/** data, with updates [count, ...] applied at rows `index` [count] by "add", "max", "min" or
 * "mul". */
const char *rgmi_scatter(rgmi_writer *w, const char *data, const char *index, const char *updates,
                         int rank, const char *reduction);
const char *rgmi_activate(rgmi_writer *w, const char *x, rgm_activation activation, double slope,
                          rgm_dtype dtype);
/** The result of a reduction of nothing: the lowest number for a maximum, and so on. */
double rgmi_empty(rgm_reduction reduction, rgm_dtype dtype);

/* ---- onnx_tables.c ---- */

/** An index, or number of values, that no tensor has: 2^52, which a double holds exactly. */
#define RGMI_NO_INDEX 4503599627370496.0

/** The options' form of an input that is made from tables; NULL: it is not. */
const rgm_onnx_input *rgmi_input_form(const rgmi_writer *w, const rgm_value *input);
/** Make the tables of an input inputs of the file. */
void rgmi_ask_tables(rgmi_writer *w, const rgm_onnx_input *input);
/** Make an input from its tables, once the tables of all inputs are inputs of the file. */
void rgmi_make_input(rgmi_writer *w, const rgm_onnx_input *input, rgmi_name *name);

/* ---- onnx_signature.c ---- */

/** Print inputs and outputs of a written graph as JSON. */
rgm_status rgmi_signature_print(rgm_text *out, const char *file, const rgmi_writer *w,
                                const rgm_export_output *outputs, int64_t output_count);
/** Print the classes of each output that has class names, as JSON; nothing if none has. */
rgm_status rgmi_class_names_print(rgm_text *out, const rgm_export_output *outputs,
                                  int64_t output_count);

/* ---- onnx_save.c ---- */

/** The arguments of an export. */
typedef struct rgmi_export {
    rgm_cgraph *graph;
    const rgm_parameters *parameters;
    const rgm_export_output *outputs;
    int64_t output_count;
    const rgm_onnx_options *options;
    rgm_text *signature; /* where to put it; NULL: nowhere */
} rgmi_export;
/** Makes a file of the complete nodes (path NULL: only checks whether it could). */
typedef rgm_status rgmi_finish(const char *path, rgmi_writer *w, const rgmi_export *e);
/** Make the nodes of an export and give them to `finish`; errors name the format. */
rgm_status rgmi_export_as(const char *format, rgmi_finish *finish, const char *path,
                          const rgmi_export *e);

/* ---- translators: onnx_dense.c, onnx_attention.c, onnx_image.c, onnx_sparse.c ---- */

/** Fills in the name(s) of y, whose inputs all have theirs. */
typedef void rgmi_translator(rgmi_writer *w, const rgm_value *y, rgmi_name *name);
rgmi_translator rgmi_translate_attention;
rgmi_translator rgmi_translate_rotary;
typedef struct rgmi_translation {
    const char *op;
    rgmi_translator *translate;
} rgmi_translation;
extern const rgmi_translation rgmi_dense_translations[], rgmi_image_translations[],
    rgmi_sparse_translations[];

#endif

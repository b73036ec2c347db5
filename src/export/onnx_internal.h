/* The writer's state, and how op translators add nodes to it. Everything lives in one arena. */
#ifndef RGM_ONNX_INTERNAL_H
#define RGM_ONNX_INTERNAL_H

#include <regimen/export.h>

#include "onnx.pb-c.h"

/* ONNX's numbers for element types. */
enum { ONNX_FLOAT = 1, ONNX_INT32 = 6, ONNX_INT64 = 7, ONNX_BOOL = 9, ONNX_DOUBLE = 11 };
#define RGMI_ONNX_OPSET 18
#define RGMI_ONNX_IR    8

/** Lists of pointers as protobuf-c wants them. */
typedef struct rgmi_list {
    void **items;
    size_t count, capacity;
} rgmi_list;

/** A value as it stands in the file: one name, or for a pattern rows and columns. */
typedef struct rgmi_name {
    const rgm_value *value;
    const char *name;           /* dense */
    const char *rows, *columns; /* patterns: int64 [count] */
} rgmi_name;

/** What a file of one graph needs while it is written. */
typedef struct rgmi_writer {
    rgm_cgraph *graph;
    const rgm_parameters *parameters;
    const rgm_onnx_options *options; /* may be NULL */
    const char *format;              /* "ONNX": for messages */
    rgm_arena *arena;
    rgm_status status; /* the first failure; translators then do nothing */
    rgmi_list nodes, inputs, outputs, initializers;
    rgmi_list tables;     /* const rgm_onnx_table *: what was asked for                */
    rgmi_list translated; /* rgmi_name *, inputs first: sizes are read off both        */
    rgm_map *named;       /* "value pointer" -> rgmi_name *                            */
    rgm_map *used;        /* every name of the file                                    */
    rgm_map *known;       /* text of a constant, a size, a degree -> its name: made once */
    int64_t next;
    const char *hint; /* op being translated: new names begin so */
} rgmi_writer;

int rgmi_onnx_type(rgm_dtype dtype);
rgm_status rgmi_onnx_dtype(rgm_dtype *out, int64_t type);

/* ---- onnx_graph.c ---- */

/** Remember a failure; NULL. */
const char *rgmi_fail(rgmi_writer *w, rgm_status code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void *rgmi_memory(rgmi_writer *w, size_t size);
const char *rgmi_text(rgmi_writer *w, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void rgmi_add(rgmi_writer *w, rgmi_list *list, void *item);

/** The name is now taken; RGM_ERR_ARG when it is already, or no UTF-8. Gives `name`, or NULL. */
const char *rgmi_claim(rgmi_writer *w, const char *name, const char *what);
/** A name made of `base` that nothing has. */
const char *rgmi_fresh(rgmi_writer *w, const char *base);
/** What rgmi_keep() stored under the text, else NULL. rgmi_keep() gives `name`. */
const char *rgmi_known(const rgmi_writer *w, const char *key);
const char *rgmi_keep(rgmi_writer *w, const char *key, const char *name);

/** A node; gives its output's name. A NULL input means that something failed: then NULL. */
const char *rgmi_node_of(rgmi_writer *w, const char *type, const char *const *inputs, int count);
/** With one to three inputs: the first NULL ends them. */
const char *rgmi_node(rgmi_writer *w, const char *type, const char *a, const char *b,
                      const char *c);
/** An attribute of the node added last: 1 float, 2 int, 3 string, 4 tensor, 7 ints. NULL on
 * failure. */
Rgmi__Onnx__AttributeProto *rgmi_attribute(rgmi_writer *w, const char *name, int32_t type);
void rgmi_int(rgmi_writer *w, const char *name, int64_t value);
void rgmi_float(rgmi_writer *w, const char *name, double value);
void rgmi_write_ints(rgmi_writer *w, const char *name, const int64_t *values, int64_t count);
void rgmi_string(rgmi_writer *w, const char *name, const char *value);

/** What a value is known by in the writer's maps; returns key. */
const char *rgmi_key_of(char *key, size_t size, const rgm_value *value);
/** The name of a value that is translated already. */
const char *rgmi_name_of(rgmi_writer *w, const rgm_value *value);
const rgmi_name *rgmi_pattern_of(rgmi_writer *w, const rgm_value *value);
/** A value counts as translated from now on; its name is to be filled in. */
rgmi_name *rgmi_remember(rgmi_writer *w, const rgm_value *value);

/* ---- onnx_values.c ---- */

/** Constants, shared when equal. */
const char *rgmi_scalar(rgmi_writer *w, rgm_dtype dtype, double value);
const char *rgmi_vector(rgmi_writer *w, const int64_t *values, int64_t count);
void rgmi_initializer(rgmi_writer *w, const char *name, const rgm_tensor *tensor);
/** The same for a vector of count >= 1 numbers, which is copied; gives its name. */
const char *rgmi_numbers(rgmi_writer *w, rgm_dtype dtype, const void *data, int64_t count);
/** An input or output of the graph in `list`. */
void rgmi_value_info(rgmi_writer *w, rgmi_list *list, const char *name, rgm_dtype dtype, int rank,
                     const rgm_dim *shape, const char *doc);
/** The input that has a table, made when it is first asked for; gives its name. */
const char *rgmi_table(rgmi_writer *w, const rgm_onnx_table *table);
/**
 * [1] int64 with a dim's size: a constant, read off something that has it, else from
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
/** axis >= 0: onnxruntime mistakes a negative one of a tensor without elements. */
const char *rgmi_reduce(rgmi_writer *w, const char *type, const char *x, int64_t axis, bool keep);
const char *rgmi_concat(rgmi_writer *w, const char *const *x, int count, int64_t axis);
/** 0, 1, .. below a scalar. */
const char *rgmi_range(rgmi_writer *w, const char *end);
/** [rank] int64: the sizes. */
const char *rgmi_shape(rgmi_writer *w, const rgm_dim *shape, int rank);
/** x of shape `from` in shape `to`; right for sizes of 0 too. */
const char *rgmi_reshape(rgmi_writer *w, const char *x, const rgm_dim *from, int from_rank,
                         const rgm_dim *to, int rank);
/** A tensor of that shape vector full of `value`. */
const char *rgmi_filled(rgmi_writer *w, const char *shape, rgm_dtype dtype, double value);
/** data with updates [count, ...] put at rows `index` [count] by "add", "max", "min" or "mul". */
const char *rgmi_scatter(rgmi_writer *w, const char *data, const char *index, const char *updates,
                         int rank, const char *reduction);
const char *rgmi_activate(rgmi_writer *w, const char *x, rgm_activation activation, double slope,
                          rgm_dtype dtype);
/** What a reduction gives for nothing: the lowest number for a maximum, and so on. */
double rgmi_empty(rgm_reduction reduction, rgm_dtype dtype);

/* ---- onnx_tables.c ---- */

/** How the options say that an input comes of tables; NULL: they do not. */
const rgm_onnx_input *rgmi_input_form(const rgmi_writer *w, const rgm_value *input);
/** Ask for the tables of an input. */
void rgmi_ask_tables(rgmi_writer *w, const rgm_onnx_input *input);
/** Make an input of its tables, which all inputs have asked for. */
void rgmi_make_input(rgmi_writer *w, const rgm_onnx_input *input, rgmi_name *name);

/* ---- onnx_signature.c ---- */

/** Inputs and outputs of a graph that is written, as JSON. */
rgm_status rgmi_signature_print(rgm_text *out, const char *file, const rgmi_writer *w,
                                const rgm_export_output *outputs, int64_t output_count);
/** The classes of each output that has names of them, as JSON; nothing where none has. */
rgm_status rgmi_class_names_print(rgm_text *out, const rgm_export_output *outputs,
                                  int64_t output_count);

/* ---- onnx_save.c ---- */

/** What is exported. */
typedef struct rgmi_export {
    rgm_cgraph *graph;
    const rgm_parameters *parameters;
    const rgm_export_output *outputs;
    int64_t output_count;
    const rgm_onnx_options *options;
    rgm_text *signature; /* where it goes; NULL: nowhere */
} rgmi_export;
/** Makes a file (path NULL: only finds out whether it could) of nodes that are all there. */
typedef rgm_status rgmi_finish(const char *path, rgmi_writer *w, const rgmi_export *e);
/** The nodes of an export, and what `finish` makes of them; errors say the format's name. */
rgm_status rgmi_export_as(const char *format, rgmi_finish *finish, const char *path,
                          const rgmi_export *e);

/* ---- translators: onnx_dense.c, onnx_attention.c, onnx_image.c, onnx_sparse.c ---- */

/** Fills in the name(s) of y, all of whose inputs have theirs. */
typedef void rgmi_translator(rgmi_writer *w, const rgm_value *y, rgmi_name *name);
rgmi_translator rgmi_translate_attention;
typedef struct rgmi_translation {
    const char *op;
    rgmi_translator *translate;
} rgmi_translation;
extern const rgmi_translation rgmi_dense_translations[], rgmi_image_translations[],
    rgmi_sparse_translations[];

#endif

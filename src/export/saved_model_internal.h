/*
 * The writer of SavedModels: translates an export's ONNX nodes, one after the other, into
 * TensorFlow nodes. It reads only what the ONNX writer writes. As there, one arena holds
 * everything, and after a failure every function does nothing.
 */
#ifndef RGM_SAVED_MODEL_INTERNAL_H
#define RGM_SAVED_MODEL_INTERNAL_H

#include "onnx_internal.h"
#include "saved_model.pb-c.h"

/** A tensor of the graph: the first and only output of a node, or of a parser one of many.
 * TensorFlow needs the dtype wherever it is used; ONNX leaves it out. */
typedef struct rgmi_tensor {
    const char *name; /* of its node; of a later output with ":" and its number */
    rgm_dtype dtype;
    const Rgmi__Onnx__TensorProto *constant; /* its value; NULL: not an initializer */
    const Rgmi__Onnx__NodeProto *node;       /* its ONNX node; NULL: a leaf */
} rgmi_tensor;

typedef struct rgmi_tf {
    rgmi_writer w;    /* its names, constants and nodes (Rgmi__Tf__NodeDef *) */
    rgm_map *tensors; /* ONNX name -> rgmi_tensor *                           */
} rgmi_tf;

/** An ONNX node to translate. */
typedef struct rgmi_onnx_node {
    const Rgmi__Onnx__NodeProto *node;
    const rgmi_tensor **in;
    int count;
    const char *op; /* TensorFlow's, of the row */
} rgmi_onnx_node;

/** Returns the tensor for the node's output; NULL on failure. */
typedef const rgmi_tensor *rgmi_tf_translator(rgmi_tf *t, const rgmi_onnx_node *s);
typedef struct rgmi_tf_row {
    const char *onnx, *op;
    rgmi_tf_translator *translate;
} rgmi_tf_row;
extern const rgmi_tf_row rgmi_tf_rows[]; /* ended by a row without a name */

/* ---- saved_model_graph.c ---- */

int rgmi_tf_dtype(rgm_dtype dtype);
Rgmi__Tf__TensorShapeProto *rgmi_tf_shape(rgmi_tf *t, int rank, const int64_t *sizes);

/** Add a node whose output is of `dtype`; a NULL input means an earlier failure. */
const rgmi_tensor *rgmi_tf_node_of(rgmi_tf *t, const char *op, rgm_dtype dtype,
                                   const rgmi_tensor *const *in, int count);
/** The same with one to three inputs: the first NULL ends them. */
const rgmi_tensor *rgmi_tf_node(rgmi_tf *t, const char *op, rgm_dtype dtype, const rgmi_tensor *a,
                                const rgmi_tensor *b, const rgmi_tensor *c);
/** Attributes of the node added last. */
void rgmi_tf_type(rgmi_tf *t, const char *name, rgm_dtype dtype);
void rgmi_tf_int(rgmi_tf *t, const char *name, int64_t value);
void rgmi_tf_bool(rgmi_tf *t, const char *name, bool value);
void rgmi_tf_float(rgmi_tf *t, const char *name, double value);
void rgmi_tf_text(rgmi_tf *t, const char *name, const char *value);
void rgmi_tf_ints(rgmi_tf *t, const char *name, const int64_t *values, int count);
/** Lists of dtypes and of shapes; both may be empty. */
void rgmi_tf_types(rgmi_tf *t, const char *name, const rgm_dtype *types, int count);
void rgmi_tf_shapes(rgmi_tf *t, const char *name, Rgmi__Tf__TensorShapeProto *const *shapes,
                    int count);

/** Add a graph's input, whose name there is like `name`. */
const rgmi_tensor *rgmi_tf_placeholder(rgmi_tf *t, const char *name, rgm_dtype dtype, int rank,
                                       const int64_t *sizes);
/** Add a constant of these bytes, which are borrowed. */
const rgmi_tensor *rgmi_tf_constant(rgmi_tf *t, const char *name, rgm_dtype dtype, int rank,
                                    const int64_t *sizes, const void *data, size_t bytes);
/** The same of texts [count], which are borrowed. */
const rgmi_tensor *rgmi_tf_texts(rgmi_tf *t, const char *name, const char *const *texts, int count);
/** Constants of int64, shared when equal. */
const rgmi_tensor *rgmi_tf_number(rgmi_tf *t, int64_t value);
const rgmi_tensor *rgmi_tf_vector(rgmi_tf *t, const int64_t *values, int count);

/** x[begin:end] along an axis; begin and end are [1]. */
const rgmi_tensor *rgmi_tf_slice(rgmi_tf *t, const rgmi_tensor *x, const rgmi_tensor *begin,
                                 const rgmi_tensor *end, int64_t axis);
const rgmi_tensor *rgmi_tf_concat(rgmi_tf *t, const rgmi_tensor *const *parts, int count,
                                  int64_t axis);
const rgmi_tensor *rgmi_tf_reshape(rgmi_tf *t, const rgmi_tensor *x, const rgmi_tensor *shape);
/** [rank] int64 */
const rgmi_tensor *rgmi_tf_shape_of(rgmi_tf *t, const rgmi_tensor *x);

/* ---- saved_model_parse.c ---- */

#define RGMI_TF_EXAMPLES "examples" /* the input of serialized Examples */

/** Sizes of an input of the file, -1 where they vary; returns its rank. */
int rgmi_tf_sizes(int64_t *sizes, const Rgmi__Onnx__ValueInfoProto *info);
/** Parse each of the file's inputs as options->parsed says: made[i] becomes the tensor of input i.
 * Returns the input of serialized Examples; NULL on failure. */
const rgmi_tensor *rgmi_tf_parse(rgmi_tf *t, const rgmi_writer *from, const rgmi_tensor **made);

/* ---- saved_model_join.c ---- */

/** The same of the tables of graphs, for options->joins_examples. */
const rgmi_tensor *rgmi_tf_join(rgmi_tf *t, const rgmi_writer *from, const rgmi_tensor **made);

#endif

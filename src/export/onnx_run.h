/*
 * The interpreter's side: an operator is a row that makes one output tensor from its inputs. It is
 * written for clarity from the ONNX specification and shares no code with kernels or executor;
 * arithmetic goes through double.
 */
#ifndef RGM_ONNX_RUN_H
#define RGM_ONNX_RUN_H

#include <regimen/export.h>

#include "onnx.pb-c.h"

/**
 * What a run may still take. A file of a hundred bytes can ask for a terabyte or a year: memory and
 * work are bounded by what was put in.
 */
typedef struct rgmi_budget {
    int64_t bytes; /* of live tensors            */
    int64_t work;  /* elements made, or multiplied */
} rgmi_budget;

/** One node at work. in[i] is NULL where an optional input is absent. */
typedef struct rgmi_call {
    const Rgmi__Onnx__NodeProto *node;
    rgm_tensor **in;
    int inputs;
    rgm_tensor *out; /* made by the operator */
    rgmi_budget *budget;
} rgmi_call;

typedef struct rgmi_operator {
    const char *type;
    int least, most; /* inputs */
    rgm_status (*run)(rgmi_call *call);
    const char *attributes[3]; /* those it knows: a node with another is refused */
} rgmi_operator;
const rgmi_operator *rgmi_operator_find(const char *type); /* NULL if none */
extern const rgmi_operator rgmi_elementwise_operators[], rgmi_shape_operators[],
    rgmi_index_operators[], rgmi_reduce_operators[], rgmi_image_operators[];

/** Attributes with the specification's defaults. */
int64_t rgmi_get_int(const rgmi_call *call, const char *name, int64_t otherwise);
double rgmi_get_float(const rgmi_call *call, const char *name, double otherwise);
const Rgmi__Onnx__AttributeProto *rgmi_get(const rgmi_call *call, const char *name);

rgm_status rgmi_call_fail(const rgmi_call *call, rgm_status code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/** Take `amount` of the budget's work. */
rgm_status rgmi_work(rgmi_call *call, int64_t amount);
/** Make call->out within the budget. */
rgm_status rgmi_make_out(rgmi_call *call, rgm_dtype dtype, int rank, const int64_t *shape);
/** Sizes whose products cannot overflow, also where others are 0. */
bool rgmi_sizes_are_sane(int rank, const int64_t *shape);
/** Element i = value: integers are cut off, and at their limits. */
void rgmi_put(rgm_tensor *tensor, int64_t i, double value);
/** Copy elements as they are between tensors of one dtype. */
void rgmi_move(rgm_tensor *to, int64_t at, const rgm_tensor *from, int64_t begin, int64_t count);
/** Input i is of an integer dtype. */
rgm_status rgmi_need_index(const rgmi_call *call, int i);
/** A vector input as sizes, at most RGM_MAX_RANK of them. */
rgm_status rgmi_read_sizes(int64_t *sizes, int *count, const rgmi_call *call, int input);
/** axis in 0..rank-1 from one that may be negative. */
rgm_status rgmi_axis(int *out, const rgmi_call *call, int64_t axis, int rank);
/** Products of the sizes before and after an axis. */
void rgmi_around(int64_t *outer, int64_t *inner, const rgm_tensor *x, int axis);
rgm_status rgmi_proto_tensor(rgm_tensor **out, const Rgmi__Onnx__TensorProto *proto);

#endif

/*
 * The interpreter's side: an operator is a row that computes one output tensor from its inputs. It
 * is written for clarity from the ONNX specification and shares no code with kernels or executor;
 * arithmetic goes through double.
 */
#ifndef RGM_ONNX_RUN_H
#define RGM_ONNX_RUN_H

#include <regimen/export.h>

#include "onnx.pb-c.h"

/**
 * What a run may still use. A file of a hundred bytes can ask for a terabyte or a year, so the
 * inputs bound memory and work.
 */
typedef struct rgmi_budget {
    int64_t bytes; /* of live tensors            */
    int64_t work;  /* elements made, or multiplied */
} rgmi_budget;

/** One node being run. in[i] is NULL where an optional input is absent. */
typedef struct rgmi_onnx_call {
    const Rgmi__Onnx__NodeProto *node;
    rgm_tensor **in;
    int inputs;
    rgm_tensor *out; /* made by the operator */
    rgmi_budget *budget;
} rgmi_onnx_call;

typedef struct rgmi_operator {
    const char *type;
    int least, most; /* inputs */
    rgm_status (*run)(rgmi_onnx_call *call);
    const char *attributes[3]; /* the known ones: a node with another is refused */
} rgmi_operator;
const rgmi_operator *rgmi_operator_find(const char *type); /* NULL if none */
extern const rgmi_operator rgmi_elementwise_operators[], rgmi_shape_operators[],
    rgmi_index_operators[], rgmi_reduce_operators[], rgmi_image_operators[];

/** Attributes, with the specification's defaults. */
int64_t rgmi_get_int(const rgmi_onnx_call *call, const char *name, int64_t otherwise);
double rgmi_get_float(const rgmi_onnx_call *call, const char *name, double otherwise);
const Rgmi__Onnx__AttributeProto *rgmi_get(const rgmi_onnx_call *call, const char *name);

rgm_status rgmi_call_fail(const rgmi_onnx_call *call, rgm_status code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/** Charge `amount` of work to the budget. */
rgm_status rgmi_count_work(rgmi_onnx_call *call, int64_t amount);
/** Make call->out within the budget. */
rgm_status rgmi_make_out(rgmi_onnx_call *call, rgm_dtype dtype, int rank, const int64_t *shape);
/** Whether the products of sizes cannot overflow, even if other sizes are 0. */
bool rgmi_sizes_are_sane(int rank, const int64_t *shape);
/** Set element i to value, truncated for integers, and limited to their range. */
void rgmi_put(rgm_tensor *tensor, int64_t i, double value);
/** Copy elements unchanged between tensors of one dtype. */
void rgmi_move(rgm_tensor *to, int64_t at, const rgm_tensor *from, int64_t begin, int64_t count);
/** Check that input i has an integer dtype. */
rgm_status rgmi_need_index(const rgmi_onnx_call *call, int i);
/** Read a vector input as sizes, at most RGM_MAX_RANK of them. */
rgm_status rgmi_read_sizes(int64_t *sizes, int *count, const rgmi_onnx_call *call, int input);
/** The axis in 0..rank-1 of one that may be negative. */
rgm_status rgmi_axis_from_end(int *out, const rgmi_onnx_call *call, int64_t axis, int rank);
/** Products of the sizes before and after an axis. */
void rgmi_around(int64_t *outer, int64_t *inner, const rgm_tensor *x, int axis);
rgm_status rgmi_proto_tensor(rgm_tensor **out, const Rgmi__Onnx__TensorProto *proto);

#endif

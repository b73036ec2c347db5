/*
 * The interpreter's side: an operator is a row that makes one output tensor from its inputs. It is
 * written for clarity from the ONNX specification and shares no code with kernels or executor; every
 * number goes through double.
 */
#ifndef RGM_ONNX_RUN_H
#define RGM_ONNX_RUN_H

#include <regimen/export.h>

#include "onnx.pb-c.h"

#define RGMI_ONNX_MAX_INPUTS 16

/** One node at work. in[i] is NULL where an optional input is absent. */
typedef struct rgmi_call {
    const Rgmi__Onnx__NodeProto *node;
    rgm_tensor *in[RGMI_ONNX_MAX_INPUTS];
    int inputs;
    rgm_tensor *out; /* made by the operator */
} rgmi_call;

typedef struct rgmi_operator {
    const char *type;
    int least, most; /* inputs */
    rgm_status (*run)(rgmi_call *call);
} rgmi_operator;
const rgmi_operator *rgmi_operator_find(const char *type); /* NULL if none */
extern const rgmi_operator rgmi_elementwise_operators[], rgmi_shape_operators[],
    rgmi_reduce_operators[];

/** Attributes with the specification's defaults. */
int64_t rgmi_get_int(const rgmi_call *call, const char *name, int64_t otherwise);
double rgmi_get_float(const rgmi_call *call, const char *name, double otherwise);
const Rgmi__Onnx__AttributeProto *rgmi_get(const rgmi_call *call, const char *name);
/** Text attribute equal to `text`. */
bool rgmi_get_is(const rgmi_call *call, const char *name, const char *text);

rgm_status rgmi_call_fail(const rgmi_call *call, rgm_status code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/** Make call->out, bounded so that a hostile file cannot ask for more than RGMI_ONNX_MAX_ELEMENTS. */
#define RGMI_ONNX_MAX_ELEMENTS (INT64_C(1) << 31)
rgm_status rgmi_make_out(rgmi_call *call, rgm_dtype dtype, int rank, const int64_t *shape);
void rgmi_put(rgm_tensor *tensor, int64_t i, double value);
/** A vector input as sizes, at most RGM_MAX_RANK of them. */
rgm_status rgmi_read_sizes(int64_t *sizes, int *count, const rgmi_call *call, int input);
/** axis in 0..rank-1 from one that may be negative. */
rgm_status rgmi_axis(int *out, const rgmi_call *call, int64_t axis, int rank);
rgm_status rgmi_proto_tensor(rgm_tensor **out, const Rgmi__Onnx__TensorProto *proto);

#endif

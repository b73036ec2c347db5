/* ONNX operators with an index: gather and scatter. */
#include <math.h>
#include <string.h>

#include "onnx_internal.h"
#include "onnx_run.h"

/* Element k of an index into `size` rows; negative ones count from the end. */
static rgm_status read_index(int64_t *row, const rgmi_onnx_call *call, int64_t k, int64_t size)
{
    *row = rgm_tensor_at_int(call->in[1], k);
    if (*row < -size || *row >= size)
        return rgmi_call_fail(call, RGM_ERR_DATA, "index %lld of %lld", (long long)*row,
                              (long long)size);
    *row += *row < 0 ? size : 0;
    return RGM_OK;
}

static rgm_status run_gather(rgmi_onnx_call *call)
{
    const rgm_tensor *x = call->in[0], *index = call->in[1];
    int64_t shape[RGM_MAX_RANK], outer, inner, size, from, count = rgm_tensor_count(index);
    int rank = 0, axis;

    RGM_TRY(rgmi_need_index(call, 1));
    RGM_TRY(rgmi_axis_from_end(&axis, call, rgmi_get_int(call, "axis", 0), rgm_tensor_rank(x)));
    if (rgm_tensor_rank(x) - 1 + rgm_tensor_rank(index) > RGM_MAX_RANK)
        return rgmi_call_fail(call, RGM_ERR_SHAPE, "a result of too high a rank");
    for (int i = 0; i < axis; i++)
        shape[rank++] = rgm_tensor_dim(x, i);
    for (int i = 0; i < rgm_tensor_rank(index); i++)
        shape[rank++] = rgm_tensor_dim(index, i);
    for (int i = axis + 1; i < rgm_tensor_rank(x); i++)
        shape[rank++] = rgm_tensor_dim(x, i);
    RGM_TRY(rgmi_make_out(call, rgm_tensor_dtype(x), rank, shape));
    rgmi_around(&outer, &inner, x, axis);
    size = rgm_tensor_dim(x, axis);
    for (int64_t k = 0; k < count; k++) {
        RGM_TRY(read_index(&from, call, k, size));
        for (int64_t o = 0; o < outer && inner > 0; o++)
            rgmi_move(call->out, (o * count + k) * inner, x, (o * size + from) * inner, inner);
    }
    return RGM_OK;
}

/* ---- scatter ------------------------------------------------------------------------------- */

static double second(double old, double new)
{
    (void)old;
    return new;
}
static double sum(double old, double new)
{
    return old + new;
}
static double product(double old, double new)
{
    return old * new;
}
/* Unlike C's functions, these propagate a NaN. */
static double larger(double old, double new)
{
    return isnan(old) || old > new ? old : new;
}
static double smaller(double old, double new)
{
    return isnan(old) || old < new ? old : new;
}

static rgm_status reduction_of(double (**f)(double, double), const rgmi_onnx_call *call)
{
    static const struct {
        const char *name;
        double (*f)(double, double);
    } rows[] = {
        {"none", second}, {"add", sum}, {"mul", product}, {"max", larger}, {"min", smaller}};
    const Rgmi__Onnx__AttributeProto *a = rgmi_get(call, "reduction");

    *f = second;
    if (a == NULL)
        return RGM_OK;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (a->s.len == strlen(rows[i].name) && memcmp(a->s.data, rows[i].name, a->s.len) == 0) {
            *f = rows[i].f;
            return RGM_OK;
        }
    return rgmi_call_fail(call, RGM_ERR_UNSUPPORTED, "a reduction that is not known here");
}

static rgm_status check_scatter(const rgmi_onnx_call *call)
{
    const rgm_tensor *data = call->in[0], *index = call->in[1], *updates = call->in[2];
    bool fits = rgm_tensor_dtype(updates) == rgm_tensor_dtype(data) && rgm_tensor_rank(data) >= 1 &&
                rgm_tensor_rank(updates) == rgm_tensor_rank(data) &&
                rgm_tensor_rank(index) == rgm_tensor_rank(data);

    RGM_TRY(rgmi_need_index(call, 1));
    for (int i = 0; fits && i < rgm_tensor_rank(data); i++)
        fits = rgm_tensor_dim(index, i) == rgm_tensor_dim(updates, i) &&
               (i == 0 || rgm_tensor_dim(updates, i) == rgm_tensor_dim(data, i));
    if (!fits) {
        char a[64], b[64], c[64];

        return rgmi_call_fail(call, RGM_ERR_SHAPE, "updates %s at indices %s for data %s",
                              rgm_tensor_describe(updates, a, sizeof a),
                              rgm_tensor_describe(index, c, sizeof c),
                              rgm_tensor_describe(data, b, sizeof b));
    }
    return RGM_OK;
}

/* Along axis 0: element k of the updates goes to row index[k] of its own column, in order. */
static rgm_status run_scatter_elements(rgmi_onnx_call *call)
{
    const rgm_tensor *data = call->in[0], *updates = call->in[2];
    double (*f)(double, double);
    int64_t outer, width, row;

    if (rgmi_get_int(call, "axis", 0) != 0)
        return rgmi_call_fail(call, RGM_ERR_UNSUPPORTED, "scatters along axis 0 here");
    RGM_TRY(reduction_of(&f, call));
    RGM_TRY(check_scatter(call));
    rgmi_around(&outer, &width, data, 0);
    RGM_TRY(
        rgmi_make_out(call, rgm_tensor_dtype(data), rgm_tensor_rank(data), rgm_tensor_shape(data)));
    RGM_TRY(rgmi_count_work(call, rgm_tensor_count(updates)));
    rgmi_move(call->out, 0, data, 0, rgm_tensor_count(data));
    for (int64_t k = 0; k < rgm_tensor_count(updates); k++) {
        int64_t i;

        RGM_TRY(read_index(&row, call, k, rgm_tensor_dim(data, 0)));
        i = row * width + k % width;
        rgmi_put(call->out, i, f(rgm_tensor_at(call->out, i), rgm_tensor_at(updates, k)));
    }
    return RGM_OK;
}

const rgmi_operator rgmi_index_operators[] = {
    {"Gather", 2, 2, run_gather, {"axis"}},
    {"ScatterElements", 3, 3, run_scatter_elements, {"axis", "reduction"}},
    {NULL, 0, 0, NULL, {NULL}},
};

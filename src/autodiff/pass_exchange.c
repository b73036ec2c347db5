/*
 * Rules that split a sparse product beside an exchange of rows, each row being summed by itself. Of
 * a product that reads fetched rows the rows that read own ones alone are computed while the others
 * travel. Of a product whose result is given back the rows of copies are computed first, and the
 * own ones, to which is added when the others' have come, while those travel. Rows of a device are
 * exchanged as a whole before the next op, so there nothing is split.
 */
#include "executor_internal.h"

static bool is_product(const rgm_value *v)
{
    return (rgmi_is(v, &rgmi_spmm_op) || rgmi_is(v, &rgmi_spmm_add_op)) &&
           v->attributes.integer[3] == RGMI_ALL_ROWS;
}

rgm_value *rgmi_rule_inner_rows(rgm_executor *executor, rgm_value *v)
{
    rgm_value *x, *first;
    int64_t own;

    if (executor->device != rgm_device_cpu() || !is_product(v))
        return NULL;
    x = v->in[rgmi_is(v, &rgmi_spmm_add_op) ? 2 : 1];
    if (!rgmi_is(x, &rgmi_arrived_op) || !rgmi_is(x->in[0], &rgmi_exchange_op))
        return NULL;
    own = rgmi_exchange_of(x)->own;
    if (own == 0)
        return NULL;
    first = rgmi_spmm_first(v, x->in[0], RGMI_INNER_ROWS, own);
    return rgmi_spmm_rest(first, v, RGMI_OUTER_ROWS, own);
}

rgm_value *rgmi_rule_own_rows(rgm_executor *executor, rgm_value *v)
{
    rgm_value *product = v->inputs == 1 ? v->in[0] : NULL, *first;
    int64_t own;

    if (executor->device != rgm_device_cpu() || !rgmi_is(v, &rgmi_exchange_grad_op) ||
        !is_product(product) || !rgmi_single(product))
        return NULL;
    own = rgmi_exchange_of(v)->own;
    if (own == 0)
        return NULL;
    first = rgmi_spmm_first(product, product->in[rgmi_is(product, &rgmi_spmm_add_op) ? 2 : 1],
                            RGMI_COPIED_ROWS, own);
    first = rgmi_op1(v->type, first, &v->attributes);
    return rgmi_spmm_rest(first, product, RGMI_OWN_ROWS, own);
}

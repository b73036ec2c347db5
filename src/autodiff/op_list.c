/*
 * Every built-in op, in one list. A new op is one row in a file by kind, one line here, and a case in
 * the gradient test, which walks this list.
 */
#include "autodiff_internal.h"

static const rgm_op_type *const list[] = {
    /* element-wise */
    &rgmi_add_op, &rgmi_sub_op, &rgmi_mul_op, &rgmi_div_op, &rgmi_maximum_op, &rgmi_minimum_op,
    &rgmi_greater_op, &rgmi_equal_op, &rgmi_scale_op, &rgmi_shift_op, &rgmi_neg_op, &rgmi_abs_op,
    &rgmi_square_op, &rgmi_sqrt_op, &rgmi_rsqrt_op, &rgmi_reciprocal_op, &rgmi_exp_op, &rgmi_log_op,
    &rgmi_softplus_op, &rgmi_floor_at_op, &rgmi_sign_op, &rgmi_relu_op, &rgmi_leaky_relu_op,
    &rgmi_elu_op, &rgmi_sigmoid_op, &rgmi_tanh_op, &rgmi_gelu_op, &rgmi_gelu_slope_op,
    &rgmi_relu_grad_op, &rgmi_leaky_relu_grad_op, &rgmi_elu_grad_op, &rgmi_sigmoid_grad_op,
    &rgmi_tanh_grad_op, &rgmi_map_op_type,
    /* dtype, randomness */
    &rgmi_cast_op, &rgmi_stop_gradient_op, &rgmi_dropout_op, &rgmi_item_dropout_op,
    /* shape */
    &rgmi_reshape_op, &rgmi_permute_op, &rgmi_concat_op, &rgmi_slice_op, &rgmi_slice_grad_op,
    &rgmi_broadcast_to_op, &rgmi_inverse_dim_op, &rgmi_copy_op,
    /* products, reductions, normalisation */
    &rgmi_matmul_op, &rgmi_matmul_add_op, &rgmi_reduce_op, &rgmi_reduce_prod_grad_op,
    &rgmi_sum_squares_op, &rgmi_argmax_op, &rgmi_softmax_op, &rgmi_softmax_grad_op, &rgmi_masked_softmax_op,
    &rgmi_log_softmax_op, &rgmi_log_softmax_grad_op, &rgmi_cross_entropy_op,
    &rgmi_cross_entropy_grad_op, &rgmi_layer_norm_op, &rgmi_layer_norm_grad_op,
    &rgmi_l2_normalize_op, &rgmi_l2_normalize_grad_op,
    /* sparse */
    &rgmi_transpose_pattern_op, &rgmi_add_self_loops_op, &rgmi_pattern_from_index_op,
    &rgmi_degree_op, &rgmi_spmm_op, &rgmi_spmm_add_op, &rgmi_broadcast_rows_op,
    &rgmi_broadcast_columns_op, &rgmi_pool_rows_op, &rgmi_pool_rows_grad_op, &rgmi_softmax_rows_op,
    &rgmi_softmax_rows_grad_op, &rgmi_sddmm_op, &rgmi_gatv2_score_op, &rgmi_gatv2_grad_q_op,
    &rgmi_gatv2_grad_v_op, &rgmi_gatv2_grad_a_op, &rgmi_gather_op,
};

const rgm_op_type *const *rgm_op_types(int64_t *count)
{
    *count = sizeof list / sizeof *list;
    return list;
}

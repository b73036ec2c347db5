/*
 * The passes over an executor's private graph, in their order. The values are the same as without
 * passes up to rounding.
 */
#include "executor_internal.h"

rgm_status rgmi_program_optimize(rgm_executor *executor)
{
    static rgmi_rule *const simplify[] = {rgmi_rule_drop,      rgmi_rule_movement,
                                          rgmi_rule_broadcast, rgmi_rule_arithmetic,
                                          rgmi_rule_slices,    rgmi_rule_norm_sum};
    static rgmi_rule *const sparse[] = {rgmi_rule_movement, rgmi_rule_entries,    rgmi_rule_pool,
                                        rgmi_rule_sddmm,    rgmi_rule_pooled_sum, rgmi_rule_scales};
    static rgmi_rule *const narrow[] = {rgmi_rule_transposed, rgmi_rule_narrow,
                                        rgmi_rule_narrow_grad, rgmi_rule_entry_product,
                                        rgmi_rule_movement};
    static rgmi_rule *const epilogue[] = {rgmi_rule_dropped_relu, rgmi_rule_bias,
                                          rgmi_rule_activation,   rgmi_rule_masked_softmax,
                                          rgmi_rule_residual,     rgmi_rule_sum_squares,
                                          rgmi_rule_product_sum,  rgmi_rule_norm_relu_grad};
    static rgmi_rule *const accumulate[] = {rgmi_rule_accumulate, rgmi_rule_activation};
    static rgmi_rule *const base_scale[] = {rgmi_rule_base_scale};
    static rgmi_rule *const pack[] = {rgmi_rule_pack};
    static rgmi_rule *const map[] = {rgmi_rule_map};
    static rgmi_rule *const dropped[] = {rgmi_rule_dropped_sum};
    static rgmi_rule *const exchanged[] = {rgmi_rule_inner_rows, rgmi_rule_own_rows};

#define APPLY(list) RGM_TRY(rgmi_rules_apply(executor, list, sizeof list / sizeof *list))
    if (executor->options.eager || executor->options.no_fusion) {
        return rgmi_program_order(executor);
    }
    APPLY(simplify);
    RGM_TRY(rgmi_pass_common(executor));
    APPLY(sparse);
    RGM_TRY(rgmi_pass_common(executor));
    APPLY(narrow);
    RGM_TRY(rgmi_pass_common(executor));
    APPLY(simplify);
    RGM_TRY(rgmi_pass_common(executor));
    APPLY(epilogue);
    if (executor->options.inference)
        APPLY(pack);
    APPLY(base_scale);
    APPLY(accumulate);
    RGM_TRY(rgmi_pass_common(executor));
    APPLY(map);
    APPLY(dropped);
    APPLY(exchanged);
#undef APPLY
    return rgmi_program_order(executor);
}

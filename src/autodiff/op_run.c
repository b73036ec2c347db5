/*
 * What a forward function gets, and what it asks of a run: sizes, indices, a copy; and the context
 * in which its error stands.
 */
#include "executor_internal.h"

rgm_op_run rgmi_op_run(rgm_executor *executor, const rgmi_plan *plan, int64_t s,
                       const rgm_index_watch *watch)
{
    const rgm_value *v = executor->order[s];

    for (int k = 0; k < v->inputs; k++)
        executor->in[k] = plan->views[v->in[k]->slot];
    return (rgm_op_run){.in = executor->in,
                        .inputs = v->inputs,
                        .out = &plan->views[s],
                        .attributes = &v->attributes,
                        .device = executor->device,
                        .kernels = executor->kernels[s],
                        .training = executor->options.training,
                        .scratch = (char *)executor->arena + plan->place[s].scratch_offset,
                        .symbols = plan->symbols,
                        .watch = watch};
}

rgm_status rgmi_in_context(rgm_status status, const rgm_value *v)
{
    if (v->scope != NULL)
        return rgm_error_prefix(status, "%s (in scope '%s')", v->type->name, v->scope);
    return rgm_error_prefix(status, "%s", v->type->name);
}

int64_t rgm_op_run_dim(const rgm_op_run *run, rgm_dim dim)
{
    return rgmi_dim_bind(dim, run->symbols);
}

void rgmi_copy(const rgm_op_run *run, const rgm_view *x)
{
    rgm_copy_args args = {.y = run->out->data,
                          .x = x->data,
                          .outer = 1,
                          .size = (size_t)rgmi_view_count(x) * rgm_dtype_size(x->dtype)};

    run->kernels->copy(&args);
}

bool rgm_op_run_index(rgm_index_flag *outside, const rgm_op_run *run, const rgm_view *index,
                      int64_t least, int64_t limit)
{
    const rgm_index_watch *watch = run->watch;
    rgm_index_args args = {.index = index->data,
                           .index_dtype = index->dtype,
                           .count = rgmi_view_count(index),
                           .least = least,
                           .limit = limit,
                           .op = watch->op,
                           .flag = watch->flag};

    if (watch->found != NULL) {
        *outside = *watch->found;
        return false;
    }
    run->kernels->index_check(&args);
    if (!rgm_device_is_host(run->device) || watch->flag->raised == 0)
        return true;
    *outside = *watch->flag;
    *watch->flag = (rgm_index_flag){0};
    return false;
}

rgm_status rgmi_need_rows(const rgm_op_run *run, const rgm_view *index, int64_t least, int64_t rows)
{
    rgm_index_flag outside;

    if (rgm_op_run_index(&outside, run, index, least, rows))
        return RGM_OK;
    return RGM_FAIL(RGM_ERR_DATA, "index[%lld] is %lld, there are %lld rows", (long long)outside.at,
                    (long long)outside.index, (long long)rows);
}

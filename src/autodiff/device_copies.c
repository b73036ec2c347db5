/*
 * What an executor copies for a device whose memory is not the host's: inputs, constants and
 * patterns there, fetched values back, both for ops that work on the host. Of the
 * CPU nothing here is called. Feeds are copied in each run, or when they are others
 * (options.fixed_feeds), as patterns are; of rows of a table that is lent to the device only the
 * numbers are copied. Parameters stay there, see parameters.c.
 */
#include "executor_internal.h"

#include <regimen/device_tensor.h>

/* ---- leaves -------------------------------------------------------------------------------- */

static rgm_status constants_copy(rgm_executor *executor)
{
    for (int64_t s = 0; s < executor->count; s++) {
        const rgm_value *v = executor->order[s];
        rgm_view view;
        if (v->constant != NULL)
            RGM_TRY(rgmi_copies_leaf(executor, &view, v, v->constant));
    }
    return RGM_OK;
}

static int turned(int reads)
{
    return (reads & RGM_READS_CSR ? RGM_READS_CSR_T : 0) |
           (reads & RGM_READS_CSR_T ? RGM_READS_CSR : 0) |
           (reads & RGM_READS_ROW_OF ? RGM_READS_COLUMN_OF : 0) |
           (reads & RGM_READS_COLUMN_OF ? RGM_READS_ROW_OF : 0);
}

/* What v reads there of its patterns. What works on the host has the host's. */
static int reads_of(const rgm_executor *executor, const rgm_value *v)
{
    enum { ALL = RGM_READS_CSR | RGM_READS_CSR_T | RGM_READS_ROW_OF | RGM_READS_COLUMN_OF };

    if (v->type == &rgmi_transpose_pattern_op)
        return turned(executor->reads[v->slot]);
    if (v->type->on_host)
        return 0;
    return v->type->pattern_reads != 0 ? v->type->pattern_reads : ALL;
}

/* Who reads a value stands behind it. */
static rgm_status find_reads(rgm_executor *executor)
{
    RGM_TRY(RGM_NEW(executor->reads, executor->count));
    for (int64_t s = executor->count - 1; s >= 0; s--) {
        const rgm_value *v = executor->order[s];

        for (int k = 0; k < v->inputs; k++)
            if (v->in[k]->s.is_pattern)
                executor->reads[v->in[k]->slot] |= reads_of(executor, v);
    }
    return RGM_OK;
}

rgm_status rgmi_copies_create(rgm_executor *executor)
{
    void *flag;

    executor->flag = &executor->host_flag;
    if (rgm_device_is_host(executor->device))
        return RGM_OK;
    RGM_TRY(RGM_NEW(executor->copies, executor->count));
    RGM_TRY(find_reads(executor));
    if (executor->options.stays != NULL) {
        RGM_TRY(RGM_NEW(executor->stays, executor->fetch_count));
        for (int64_t i = 0; i < executor->fetch_count; i++)
            executor->stays[i] = executor->options.stays[i];
    }
    RGM_TRY(rgm_device_allocate(&flag, executor->device, sizeof executor->host_flag));
    executor->flag = flag;
    RGM_TRY(rgm_device_copy_to(executor->device, flag, &executor->host_flag,
                               sizeof executor->host_flag));
    return constants_copy(executor);
}

void rgmi_copy_clear(rgmi_device_copy *copy, rgm_device *device)
{
    rgm_device_free(device, copy->data);
    rgm_device_free(device, copy->rows);
    rgm_device_free(device, copy->arrays);
    rgm_pattern_release(copy->pattern);
    rgm_tensor_release(copy->of);
    *copy = (rgmi_device_copy){0};
}

void rgmi_copies_release(rgm_executor *executor)
{
    if (executor->copies == NULL)
        return;
    for (int64_t s = 0; s < executor->count; s++)
        rgmi_copy_clear(&executor->copies[s], executor->device);
    rgm_free(executor->stays);
    if (executor->flag != &executor->host_flag)
        rgm_device_free(executor->device, executor->flag);
    rgm_free(executor->copies);
    rgm_free(executor->reads);
}

rgm_tensor *rgmi_copies_there(const rgm_executor *executor, const rgm_tensor *tensor)
{
    rgm_tensor *there = rgm_tensor_device(tensor) != NULL ? (rgm_tensor *)(uintptr_t)tensor
                                                          : rgm_tensor_there(tensor);

    return there != NULL && rgm_tensor_device(there) == executor->device ? there : NULL;
}

rgm_tensor *rgmi_copies_table(const rgm_executor *executor, const rgm_tensor *tensor)
{
    rgm_tensor *table, *rows;

    return rgm_tensor_bytes(tensor) > 0 && rgm_tensor_picked(&table, &rows, tensor)
               ? rgmi_copies_there(executor, table)
               : NULL;
}

/* Memory for at least `bytes`; what was in it is gone when there were fewer. */
static rgm_status reserve(void **data, size_t *capacity, rgm_executor *executor, size_t bytes,
                          const char *what, const char *name)
{
    rgm_status status;

    if (*data != NULL && *capacity >= bytes)
        return RGM_OK;
    rgm_device_free(executor->device, *data);
    *data = NULL;
    status = rgm_device_allocate(data, executor->device, bytes);
    if (status != RGM_OK)
        return rgm_error_prefix(status, "%s%s%s%s", what, name != NULL ? " '" : "",
                                name != NULL ? name : "", name != NULL ? "'" : "");
    *capacity = bytes;
    return RGM_OK;
}

static rgm_status reserve_elements(rgm_executor *executor, rgmi_device_copy *copy,
                                   const rgm_value *leaf, const rgm_tensor *tensor)
{
    return reserve(&copy->data, &copy->capacity, executor, rgm_tensor_bytes(tensor), "input",
                   leaf->name);
}

rgm_status rgmi_copies_gather(rgm_executor *executor, rgmi_device_copy *copy, const rgm_value *leaf,
                              const rgm_tensor *tensor)
{
    rgm_tensor *table, *rows;

    if (!copy->numbered)
        return RGM_OK;
    copy->numbered = false;
    RGM_TRY(reserve_elements(executor, copy, leaf, tensor));
    (void)rgm_tensor_picked(&table, &rows, tensor);
    rgm_gather_args args = {.y = copy->data,
                            .x = rgm_tensor_data(rgmi_copies_table(executor, tensor)),
                            .index = copy->rows,
                            .index_dtype = RGM_I32,
                            .count = rgm_tensor_count(rows)};
    args.channels = (int64_t)rgm_tensor_bytes(tensor) / args.count;
    rgm_kernels_for(executor->device, RGM_F32)->gather_bytes(&args);
    return RGM_OK;
}

rgm_status rgmi_copies_leaf(rgm_executor *executor, rgm_view *view, const rgm_value *leaf,
                            rgm_tensor *tensor)
{
    rgmi_device_copy *copy = &executor->copies[leaf->slot];
    rgm_tensor *there = rgmi_copies_there(executor, tensor);
    const rgmi_fed fed = {.tensor = tensor};

    view->data = there != NULL ? rgm_tensor_data(there) : copy->data;
    if (there != NULL || (copy->of == tensor && executor->options.fixed_feeds))
        return RGM_OK;
    rgm_tensor_release(copy->of);
    copy->of = NULL;
    RGM_TRY(rgmi_copies_reserve(executor, copy, leaf, &fed));
    RGM_TRY(rgmi_copies_fill(executor, copy, leaf, RGM_DEVICE_KERNELS, &fed));
    RGM_TRY(rgmi_copies_gather(executor, copy, leaf, tensor));
    view->data = copy->data;
    copy->of = rgm_tensor_retain(tensor);
    return RGM_OK;
}

/* ---- patterns ------------------------------------------------------------------------------ */

/* Where the arrays of a pattern go; without a base they are only counted. */
typedef struct block {
    rgm_device *device;
    rgm_device_queue queue;
    char *base;
    size_t at;
} block;

/* `bytes` from `host` at the end of the block. */
static rgm_status append(const void *member, block *b, const void *host, size_t bytes)
{
    const void **out = (const void **)(uintptr_t)member;

    *out = NULL;
    if (host == NULL)
        return RGM_OK;
    if (b->base != NULL) {
        *out = b->base + b->at;
        RGM_TRY(rgm_device_copy_on(b->device, b->queue, b->base + b->at, host, bytes));
    }
    b->at += (bytes + 63) / 64 * 64;
    return RGM_OK;
}

static rgm_status csr_append(rgm_csr *to, block *b, const rgm_csr *from, bool is_read)
{
    size_t entries = (size_t)from->count * sizeof(int32_t);

    *to = *from;
    if (!is_read) { /* sizes alone */
        to->row_start = NULL;
        to->column = to->entry = to->visit = NULL;
        return RGM_OK;
    }
    RGM_TRY(append(&to->row_start, b, from->row_start, (size_t)(from->rows + 1) * sizeof(int64_t)));
    RGM_TRY(append(&to->column, b, from->column, entries));
    RGM_TRY(append(&to->entry, b, from->entry, entries));
    return append(&to->visit, b, from->visit, (size_t)from->rows * sizeof(int32_t));
}

/* Rows or columns of the entries: where one direction's columns are these, because it is sorted,
 * its copy is theirs, if there is one. */
static rgm_status index_append(const int32_t **out, block *b, const int32_t *index,
                               const rgm_csr *there, const rgm_csr *here, bool is_read)
{
    *out = NULL;
    if (!is_read)
        return RGM_OK;
    if (here->column != index || there->row_start == NULL)
        return append(out, b, index, (size_t)here->count * sizeof *index);
    *out = there->column;
    return RGM_OK;
}

/* What ops read of the pattern. */
static rgm_status arrays_copy(rgmi_device_copy *copy, block *b, const rgm_pattern *pattern,
                              int reads)
{
    const rgm_csr *by_row = rgm_pattern_by_row(pattern);
    const rgm_csr *by_column = rgm_pattern_by_column(pattern);

    RGM_TRY(csr_append(&copy->by_row, b, by_row, reads & RGM_READS_CSR));
    RGM_TRY(csr_append(&copy->by_column, b, by_column, reads & RGM_READS_CSR_T));
    RGM_TRY(index_append(&copy->row_of, b, rgm_pattern_row_of(pattern), &copy->by_column, by_column,
                         reads & RGM_READS_ROW_OF));
    return index_append(&copy->column_of, b, rgm_pattern_column_of(pattern), &copy->by_row, by_row,
                        reads & RGM_READS_COLUMN_OF);
}

rgm_status rgmi_copies_reserve(rgm_executor *executor, rgmi_device_copy *copy,
                               const rgm_value *leaf, const rgmi_fed *fed)
{
    block counted = {0};
    rgm_tensor *table, *rows;

    if (fed->pattern != NULL) {
        RGM_TRY(arrays_copy(copy, &counted, fed->pattern, executor->reads[leaf->slot]));
        return reserve(&copy->arrays, &copy->array_capacity, executor, counted.at, "pattern",
                       leaf->name);
    }
    if (rgmi_copies_table(executor, fed->tensor) == NULL)
        return reserve_elements(executor, copy, leaf, fed->tensor);
    (void)rgm_tensor_picked(&table, &rows, fed->tensor);
    return reserve(&copy->rows, &copy->row_capacity, executor, rgm_tensor_bytes(rows), "input",
                   leaf->name);
}

rgm_status rgmi_copies_fill(rgm_executor *executor, rgmi_device_copy *copy, const rgm_value *leaf,
                            rgm_device_queue queue, const rgmi_fed *fed)
{
    rgm_device *device = executor->device;
    block arrays = {.device = device, .queue = queue, .base = copy->arrays};
    rgm_tensor *table, *rows;

    if (fed->pattern != NULL)
        return arrays_copy(copy, &arrays, fed->pattern, executor->reads[leaf->slot]);
    copy->numbered = rgmi_copies_table(executor, fed->tensor) != NULL;
    if (!copy->numbered)
        return rgm_device_send(device, queue, copy->data, fed->tensor);
    (void)rgm_tensor_picked(&table, &rows, fed->tensor);
    return rgm_device_send(device, queue, copy->rows, rows);
}

rgm_status rgmi_copies_pattern(rgm_executor *executor, rgm_view *view, int64_t s)
{
    rgmi_device_copy *copy = &executor->copies[s];
    const rgmi_fed fed = {.pattern = view->pattern};

    if (copy->pattern != view->pattern) {
        rgm_pattern_release(copy->pattern);
        copy->pattern = NULL;
        RGM_TRY(rgmi_copies_reserve(executor, copy, executor->order[s], &fed));
        RGM_TRY(rgmi_copies_fill(executor, copy, executor->order[s], RGM_DEVICE_KERNELS, &fed));
        copy->pattern = rgm_pattern_retain(view->pattern);
    }
    view->csr = &copy->by_row;
    view->csr_t = &copy->by_column;
    view->row_of = copy->row_of;
    view->column_of = copy->column_of;
    return RGM_OK;
}

/* ---- ops that work on the host -------------------------------------------------------------- */

/* Memory of the host for a view's elements, NULL for a pattern. */
static rgm_status host_memory(void **out, const rgm_view *view)
{
    size_t bytes = (size_t)rgmi_view_count(view) * rgm_dtype_size(view->dtype);

    *out = rgm_malloc(bytes);
    return *out != NULL ? RGM_OK : RGM_FAIL(RGM_ERR_NOMEM, "out of memory: %zu bytes", bytes);
}

/* A view of the device's memory as one of the host's; *memory is to be freed. */
static rgm_status host_view(rgm_view *view, void **memory, rgm_executor *executor,
                            const rgm_value *v)
{
    const rgm_csr *by_row, *by_column;
    bool turned = false;

    if (!v->s.is_pattern) {
        RGM_TRY(host_memory(memory, view));
        RGM_TRY(rgm_device_copy_from(executor->device, *memory, view->data,
                                     (size_t)rgmi_view_count(view) * rgm_dtype_size(view->dtype)));
        view->data = *memory;
        return RGM_OK;
    }
    for (; v->type == &rgmi_transpose_pattern_op; v = v->in[0])
        turned = !turned;
    by_row = rgm_pattern_by_row(view->pattern);
    by_column = rgm_pattern_by_column(view->pattern);
    view->csr = turned ? by_column : by_row;
    view->csr_t = turned ? by_row : by_column;
    view->row_of =
        turned ? rgm_pattern_column_of(view->pattern) : rgm_pattern_row_of(view->pattern);
    view->column_of =
        turned ? rgm_pattern_row_of(view->pattern) : rgm_pattern_column_of(view->pattern);
    return RGM_OK;
}

rgm_status rgmi_copies_run_on_host(rgm_executor *executor, rgm_op_run *run, const rgm_value *v)
{
    rgm_status status = RGM_OK;
    rgm_view out = *run->out, *device_out = run->out;
    const rgm_view *device_in = run->in;
    rgm_view *in = NULL;
    void **memory = NULL, *result = NULL, *scratch = NULL;

    RGM_GO(RGM_NEW(in, v->inputs));
    RGM_GO(RGM_NEW(memory, v->inputs));
    for (int k = 0; k < v->inputs; k++) {
        in[k] = run->in[k];
        RGM_GO(host_view(&in[k], &memory[k], executor, v->in[k]));
    }
    if (!v->s.is_pattern)
        RGM_GO(host_memory(&result, &out));
    if (v->type->scratch != NULL) {
        scratch = rgm_malloc(v->type->scratch(in, v->inputs, &out, &v->attributes));
        if (scratch == NULL)
            RGM_GO(RGM_FAIL(RGM_ERR_NOMEM, "out of memory: scratch"));
    }
    out.data = result;
    run->in = in;
    run->out = &out;
    run->scratch = scratch;
    RGM_GO(v->type->forward(run));
    if (!v->s.is_pattern)
        RGM_GO(rgm_device_copy_to(executor->device, device_out->data, result,
                                  (size_t)rgmi_view_count(&out) * rgm_dtype_size(out.dtype)));
done:
    device_out->pattern = out.pattern;
    run->in = device_in;
    run->out = device_out;
    for (int k = 0; memory != NULL && k < v->inputs; k++)
        rgm_free(memory[k]);
    rgm_free(memory);
    rgm_free(in);
    rgm_free(result);
    rgm_free(scratch);
    return status;
}

/* ---- when a run is done -------------------------------------------------------------------- */

/* What a part of the run has made is nothing, and whoever computes next finds the flag down. */
static void forget_run(rgm_executor *executor)
{
    static const rgm_index_flag down;

    for (int64_t s = 0; s < executor->count; s++) {
        executor->kept[s].valid = false;
        if (executor->pack[s] != NULL)
            rgmi_pack_set(executor, s, false);
    }
    (void)rgm_device_copy_to(executor->device, executor->flag, &down, sizeof down);
}

rgm_status rgmi_copies_look(rgm_executor *executor)
{
    rgm_index_flag found;

    RGM_TRY(rgm_device_copy_from(executor->device, &found, executor->flag, sizeof found));
    return found.raised == 0 ? RGM_OK : RGM_FAIL(RGM_ERR_DATA, "an index is outside");
}

rgm_status rgmi_copies_check_indices(rgm_executor *executor, const rgmi_plan *plan,
                                     rgm_status status)
{
    rgm_index_flag found;
    rgm_error failure;
    rgm_status read;

    if (status != RGM_OK)
        rgm_error_save(&failure, status);
    read = rgm_device_copy_from(executor->device, &found, executor->flag, sizeof found);
    if (status == RGM_OK && read != RGM_OK)
        rgm_error_save(&failure, status = read);
    if (status == RGM_OK && found.raised == 0)
        return RGM_OK;
    forget_run(executor);
    if (read != RGM_OK || found.raised == 0)
        return rgm_error_restore(&failure);
    const rgm_value *v = executor->order[found.op];
    rgm_index_watch watch = {.flag = executor->flag, .op = found.op, .found = &found};
    rgm_op_run run = rgmi_op_run(executor, plan, found.op, &watch);
    status = v->type->forward(&run);
    if (status == RGM_OK)
        status = RGM_FAIL(RGM_ERR_DATA, "index[%lld] is %lld, which is outside",
                          (long long)found.at, (long long)found.index);
    return rgmi_in_context(status, v);
}

/* A fetched tensor of the device, made again when the value has moved. */
static rgm_status fetch_there(rgm_executor *executor, rgmi_plan *plan, int64_t i)
{
    const rgm_view *view = &plan->views[executor->fetch[i]->slot];

    if (plan->fetched[i] != NULL && rgm_tensor_data(plan->fetched[i]) == view->data)
        return RGM_OK;
    rgm_tensor_release(plan->fetched[i]);
    plan->fetched[i] = NULL;
    return rgm_tensor_wrap_on(&plan->fetched[i], executor->device, view->dtype, view->rank,
                              view->shape, view->data, NULL, NULL);
}

rgm_status rgmi_copies_fetch(rgm_executor *executor, rgmi_plan *plan)
{
    for (int64_t i = 0; i < executor->fetch_count; i++) {
        const rgm_view *view = &plan->views[executor->fetch[i]->slot];
        if (executor->stays != NULL && executor->stays[i]) {
            RGM_TRY(fetch_there(executor, plan, i));
            continue;
        }
        if (executor->fetch[i]->type == NULL)
            continue;
        if (plan->fetched[i] == NULL)
            RGM_TRY(rgm_tensor_create(&plan->fetched[i], view->dtype, view->rank, view->shape));
        RGM_TRY(rgm_device_copy_from(executor->device, rgm_tensor_data(plan->fetched[i]),
                                     view->data, rgm_tensor_bytes(plan->fetched[i])));
    }
    return RGM_OK;
}

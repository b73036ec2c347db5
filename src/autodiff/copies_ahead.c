/*
 * Feeds of the next run, copied while a run is under way. Each input has two copies: that of the
 * run, and the next one, which is filled beside the kernels; when what it is of is fed, they change
 * places. An input that stays the same keeps its place, since what was computed of it may point
 * there.
 */
#include "executor_internal.h"

#include <regimen/device_tensor.h>

/* What was copied ahead is nobody's. */
static void forget_next(rgmi_device_copy *next)
{
    rgm_tensor_release(next->of);
    rgm_pattern_release(next->pattern);
    next->of = NULL;
    next->pattern = NULL;
    next->numbered = false;
}

void rgmi_ahead_release(rgm_executor *executor)
{
    rgmi_ahead *ahead = &executor->ahead;

    (void)rgm_device_follow(executor->device, RGM_DEVICE_KERNELS, &ahead->ready);
    rgm_device_forget(executor->device, &ahead->run);
    rgm_device_forget(executor->device, &ahead->before);
    for (int64_t k = 0; ahead->next != NULL && k < executor->input_count; k++)
        rgmi_copy_clear(&ahead->next[k], executor->device);
    rgm_free(ahead->next);
    rgm_free(ahead->fed);
    *ahead = (rgmi_ahead){0};
}

/* ---- copying ahead --------------------------------------------------------------------------- */

/* Whether the run under way has something else there, which is not there yet. */
static bool is_due(const rgm_executor *executor, int64_t k)
{
    const rgmi_fed *to = &executor->ahead.fed[k], *now = &executor->fed[k];
    const rgmi_device_copy *next = &executor->ahead.next[k];

    if (to->tensor == now->tensor && to->pattern == now->pattern)
        return false;
    if (to->tensor == NULL && to->pattern == NULL)
        return false;
    if (to->tensor != NULL && rgmi_copies_there(executor, to->tensor) != NULL)
        return false;
    return next->of != to->tensor || next->pattern != to->pattern;
}

/* Memory for all that is due; *grown: some of it is new. */
static rgm_status reserve_all(bool *grown, rgm_executor *executor)
{
    rgmi_ahead *ahead = &executor->ahead;

    for (int64_t k = 0; k < executor->input_count; k++) {
        rgmi_device_copy *next = &ahead->next[k];
        const void *data = next->data, *rows = next->rows, *arrays = next->arrays;

        if (!is_due(executor, k))
            continue;
        forget_next(next);
        RGM_TRY(rgmi_copies_reserve(executor, next, executor->inputs[k], &ahead->fed[k]));
        *grown |= data != next->data || rows != next->rows || arrays != next->arrays;
    }
    return RGM_OK;
}

static rgm_status copy_all(rgm_executor *executor)
{
    rgmi_ahead *ahead = &executor->ahead;

    for (int64_t k = 0; k < executor->input_count; k++) {
        rgmi_device_copy *next = &ahead->next[k];

        if (!is_due(executor, k))
            continue;
        RGM_TRY(rgmi_copies_fill(executor, next, executor->inputs[k], RGM_DEVICE_COPIES,
                                 &ahead->fed[k]));
        next->of = ahead->fed[k].tensor != NULL ? rgm_tensor_retain(ahead->fed[k].tensor) : NULL;
        next->pattern =
            ahead->fed[k].pattern != NULL ? rgm_pattern_retain(ahead->fed[k].pattern) : NULL;
    }
    return RGM_OK;
}

/*
 * What is filled the run before the one under way has read, whose mark is `before`; unless it ended
 * early. Memory that is new to us may be what any kernel so far uses.
 */
static rgm_status copy_ahead(rgm_executor *executor)
{
    rgm_device *device = executor->device;
    rgmi_ahead *ahead = &executor->ahead;
    bool all = ahead->missed;

    RGM_TRY(rgm_device_follow(device, RGM_DEVICE_KERNELS, &ahead->ready));
    RGM_TRY(reserve_all(&all, executor));
    RGM_TRY(rgm_device_follow(device, RGM_DEVICE_COPIES, all ? &ahead->run : &ahead->before));
    RGM_TRY(copy_all(executor));
    return rgm_device_mark(&ahead->ready, device, RGM_DEVICE_COPIES);
}

rgm_status rgm_executor_feed_ahead(rgm_executor *executor, const rgm_feed *feeds, int64_t count)
{
    rgmi_ahead *ahead = &executor->ahead;
    bool due = false;
    rgm_status status;

    if (!ahead->inside || !executor->options.fixed_feeds)
        return RGM_FAIL(RGM_ERR_ARG, "a feed ahead outside of options.meanwhile, or of feeds that "
                                     "may change");
    if (ahead->next == NULL) {
        RGM_TRY(RGM_NEW(ahead->next, executor->input_count));
        RGM_TRY(RGM_NEW(ahead->fed, executor->input_count));
    }
    RGM_TRY(rgmi_feeds_take(executor, ahead->fed, feeds, count));
    for (int64_t k = 0; k < executor->input_count && !due; k++)
        due = is_due(executor, k);
    if (!due)
        return RGM_OK;
    status = copy_ahead(executor);
    for (int64_t k = 0; status != RGM_OK && k < executor->input_count; k++)
        forget_next(&ahead->next[k]);
    if (status == RGM_ERR_NOMEM) { /* the run copies what it needs, and says what it lacks */
        rgm_error_reset();
        status = RGM_OK;
    }
    return status;
}

/* ---- the run that needs it ---------------------------------------------------------------------
 */

/* Of rows of a table the numbers have come; the elements are gathered where the run before had its
 * own, in turn behind its kernels. */
static rgm_status take_numbers(rgm_executor *executor, const rgm_value *leaf,
                               rgmi_device_copy *next)
{
    rgmi_device_copy *copy = &executor->copies[leaf->slot];
    void *rows = copy->rows;
    size_t capacity = copy->row_capacity;

    rgm_tensor_release(copy->of);
    copy->of = NULL;
    copy->rows = next->rows;
    copy->row_capacity = next->row_capacity;
    next->rows = rows;
    next->row_capacity = capacity;
    copy->numbered = true;
    RGM_TRY(rgmi_copies_gather(executor, copy, leaf, next->of));
    copy->of = rgm_tensor_retain(next->of);
    return RGM_OK;
}

static rgm_status take_one(rgm_executor *executor, int64_t k)
{
    rgmi_device_copy *next = &executor->ahead.next[k], old;
    rgmi_device_copy *copy = &executor->copies[executor->inputs[k]->slot];
    const rgmi_fed *now = &executor->now[k];
    rgm_status status = RGM_OK;

    if (!executor->changed[k] || next->of != now->tensor || next->pattern != now->pattern)
        return RGM_OK;
    if (next->numbered) {
        if (rgmi_copies_table(executor, now->tensor) != NULL) /* it is still lent */
            status = take_numbers(executor, executor->inputs[k], next);
    } else {
        old = *copy;
        *copy = *next;
        *next = old;
    }
    forget_next(next);
    return status;
}

rgm_status rgmi_ahead_take(rgm_executor *executor)
{
    rgmi_ahead *ahead = &executor->ahead;

    ahead->missed = ahead->running;
    ahead->running = true;
    if (ahead->next == NULL)
        return RGM_OK;
    RGM_TRY(rgm_device_follow(executor->device, RGM_DEVICE_KERNELS, &ahead->ready));
    for (int64_t k = 0; k < executor->input_count; k++)
        RGM_TRY(take_one(executor, k));
    return RGM_OK;
}

void rgmi_ahead_meanwhile(rgm_executor *executor)
{
    const rgm_executor_options *o = &executor->options;
    rgmi_ahead *ahead = &executor->ahead;

    if (o->meanwhile == NULL)
        return;
    rgm_device_forget(executor->device, &ahead->before);
    ahead->before = ahead->run;
    ahead->run = NULL;
    if (rgm_device_mark(&ahead->run, executor->device, RGM_DEVICE_KERNELS) != RGM_OK)
        return; /* of a lost device the run will hear */
    ahead->running = false;
    ahead->inside = true;
    o->meanwhile(executor, o->meanwhile_payload);
    ahead->inside = false;
}

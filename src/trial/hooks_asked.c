/*
 * A trained model of hooks that is asked: by the receiver that parses Examples, else in rows, which
 * have the numbers of the tensors that the predictions are made of, in the record's order.
 */
#include <string.h>

#include "hooks.h"

/* ---- what is given --------------------------------------------------------------------------- */

bool rgmi_hooks_gives(const rgmi_hooks_task *task, const rgmi_output *output)
{
    const rgm_serving_receiver *receiver = rgmi_hooks_parser(task);

    if (receiver == NULL && task->receiver_count > 0)
        receiver = &task->receivers[0];
    if (receiver == NULL || receiver->predictions[0] == NULL)
        return true;
    for (int64_t k = 0; k < RGM_MAX_HEADS && receiver->predictions[k] != NULL; k++)
        if (strcmp(receiver->predictions[k], output->name) == 0)
            return true;
    return false;
}

/* ---- what is asked in ------------------------------------------------------------------------ */

static rgm_status check_parsed(const rgmi_hooks_task *task, int64_t i, const rgmi_output *output)
{
    const rgm_serving_receiver *receiver = rgmi_hooks_parser(task);

    for (const rgm_parsed_feature *f = receiver->features; f->input != NULL; f++)
        if (strcmp(f->input, task->names[i]) == 0)
            return RGM_OK;
    return RGM_FAIL(RGM_ERR_UNSUPPORTED,
                    "the prediction '%s' is made of '%s', which no feature of the receiver '%s' "
                    "becomes",
                    output->name, task->names[i], receiver->name);
}

static rgm_status check_row(const rgmi_hooks_task *task, int64_t i, const rgmi_output *output)
{
    const rgmi_tensor_form *form = &task->form.tensors[i];

    if (form->dtype > RGM_BOOL)
        return RGM_FAIL(RGM_ERR_UNSUPPORTED,
                        "the prediction '%s' is made of '%s', which is %s and no part of a row of "
                        "numbers",
                        output->name, task->names[i], rgm_dtype_name(form->dtype));
    for (int a = 1; a < form->rank; a++)
        if (form->shape[a] < 0)
            return RGM_FAIL(RGM_ERR_UNSUPPORTED,
                            "the prediction '%s' is made of '%s', whose axis %d varies, so that no "
                            "row of numbers has it: give it a receiver with features, which takes "
                            "Examples",
                            output->name, task->names[i], a);
    return RGM_OK;
}

rgm_status rgmi_hooks_check_asked(const rgmi_hooks_task *task)
{
    bool is_parsed = rgmi_hooks_parser(task) != NULL;

    for (int64_t o = 0; o < task->outputs.count; o++) {
        const rgmi_output *output = &task->outputs.items[o];
        bool needed[RGMI_MAX_TENSORS] = {false};

        if (!output->is_prediction || (task->is_asked && !rgmi_hooks_gives(task, output)))
            continue;
        RGM_TRY(rgmi_hooks_needs(needed, task, output));
        for (int64_t i = 0; i < task->form.count; i++)
            if (needed[i])
                RGM_TRY(is_parsed ? check_parsed(task, i, output) : check_row(task, i, output));
    }
    return RGM_OK;
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* Numbers of one record. */
static int64_t width_of(const rgmi_tensor_form *form)
{
    int64_t width = 1;

    for (int a = 1; a < form->rank; a++)
        width *= form->shape[a];
    return width;
}

/* Whether rows are flat, or of one tensor and nested as it is. */
static bool have_form(const rgmi_hooks_task *task, const rgm_tensor *rows)
{
    const rgmi_tensor_form *only = NULL;

    if (rgm_tensor_rank(rows) <= 2)
        return true;
    for (int64_t i = 0; i < task->form.count; i++) {
        if (task->asked_for[i] && only != NULL)
            return false;
        if (task->asked_for[i])
            only = &task->form.tensors[i];
    }
    if (only == NULL || only->rank != rgm_tensor_rank(rows))
        return false;
    for (int a = 1; a < only->rank; a++)
        if (only->shape[a] != rgm_tensor_dim(rows, a))
            return false;
    return true;
}

static rgm_status check_width(const rgmi_hooks_task *task, const rgm_tensor *rows)
{
    int64_t wanted = 0, given = rgm_tensor_count(rows) / rgm_tensor_dim(rows, 0);
    rgm_status status = RGM_OK;
    rgm_text parts = {0};
    char got[96];

    for (int64_t i = 0; i < task->form.count; i++) {
        if (!task->asked_for[i])
            continue;
        RGM_GO(rgm_text_printf(&parts, "%s%lld of '%s'", wanted > 0 ? ", " : "",
                               (long long)width_of(&task->form.tensors[i]), task->names[i]));
        wanted += width_of(&task->form.tensors[i]);
    }
    if (given != wanted)
        RGM_GO(RGM_FAIL(RGM_ERR_SHAPE, "a row has %lld numbers, but '%s' takes %lld: %s",
                        (long long)given, task->hooks->name, (long long)wanted,
                        parts.data != NULL ? parts.data : "none"));
    if (!have_form(task, rows))
        RGM_GO(RGM_FAIL(RGM_ERR_SHAPE,
                        "rows are %s, but '%s' takes them flat, or of one tensor in its shape: %s",
                        rgm_tensor_describe(rows, got, sizeof got), task->hooks->name,
                        parts.data != NULL ? parts.data : "none"));
done:
    rgm_text_clear(&parts);
    return status;
}

/* The columns from `begin` on, as tensor i of the record has them. */
static rgm_status take_columns(rgm_tensor **out, const rgmi_hooks_task *task, int64_t i,
                               const rgm_tensor *rows, int64_t begin)
{
    const rgmi_tensor_form *form = &task->form.tensors[i];
    int64_t count = rgm_tensor_dim(rows, 0), width = width_of(form);
    int64_t all = rgm_tensor_count(rows) / count, shape[RGM_MAX_RANK] = {count};

    for (int a = 1; a < form->rank; a++)
        shape[a] = form->shape[a];
    RGM_TRY(rgm_tensor_create(out, form->dtype, form->rank, shape));
    for (int64_t n = 0; n < count; n++)
        for (int64_t k = 0; k < width; k++) {
            rgm_status status =
                rgmi_put_value(*out, n * width + k, rgm_tensor_at(rows, n * all + begin + k));

            if (status != RGM_OK)
                return rgm_error_prefix(status, "row %lld: '%s'", (long long)n, task->names[i]);
        }
    return RGM_OK;
}

static rgm_status row_batch(rgm_element **out, void *state, const rgm_tensor *rows)
{
    const rgmi_hooks_task *task = state;
    rgm_status status = RGM_OK;
    rgmi_asked_records *batch = NULL;
    int64_t begin = 0;

    *out = NULL;
    if (rgm_tensor_dtype(rows) != RGM_F32 && rgm_tensor_dtype(rows) != RGM_F64)
        RGM_GO(RGM_FAIL(RGM_ERR_DTYPE, "rows of %s; they are f32 or f64",
                        rgm_dtype_name(rgm_tensor_dtype(rows))));
    RGM_GO(rgmi_hooks_check_asked(task));
    RGM_GO(check_width(task, rows));
    RGM_GO(RGM_NEW(batch, 1));
    for (int64_t i = 0; i < task->form.count; i++) {
        if (!task->asked_for[i])
            continue;
        batch->inputs[batch->count] = i;
        RGM_GO(take_columns(&batch->tensors[batch->count++], task, i, rows, begin));
        begin += width_of(&task->form.tensors[i]);
    }
    RGM_GO(rgmi_asked_element(out, batch));
    batch = NULL;
done:
    rgmi_asked_release(batch);
    return status;
}

void rgmi_hooks_take_rows(rgm_task *out, const rgmi_hooks_task *task)
{
    if (rgmi_hooks_parser(task) == NULL)
        out->row_batch = row_batch;
}

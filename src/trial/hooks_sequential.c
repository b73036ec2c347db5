/*
 * A network as a list of layers with what it is trained for: the graph that a hook would otherwise
 * write, with loss, metric and prediction.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "hooks.h"

/* ---- what the hook calls ----------------------------------------------------------------------
 */

void rgm_sequential_add(rgm_sequential *out, const char *format, ...)
{
    rgm_status status;
    char text[300];
    va_list args;

    if (out->error.status != RGM_OK)
        return;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    status = out->count < RGM_MAX_LAYERS
                 ? rgm_error_prefix(rgm_layer_parse(&out->layers[out->count], text), "layer %lld",
                                    (long long)out->count)
                 : RGM_FAIL(RGM_ERR_CONFIG, "more than %d layers", RGM_MAX_LAYERS);
    if (status == RGM_OK) {
        out->count++;
        return;
    }
    rgm_error_save(&out->error, status);
    rgm_error_reset();
}

/* ---- the graph --------------------------------------------------------------------------------
 */

static rgm_value *tensor_of(const rgm_record *record, const char *name, int64_t otherwise)
{
    return name != NULL ? rgm_record_value(record, name) : rgm_record_at(record, otherwise);
}

static rgm_value *wrong_output(const rgm_record *record, const rgm_value *y, const char *wanted)
{
    char text[96];

    return rgm_cgraph_fail(record->graph, RGM_ERR_SHAPE, "the last layer gives %s, but %s",
                           rgm_value_describe(y, text, sizeof text), wanted);
}

/* One class of many: labels are integers [n] or [n, 1]. */
static void judge_classes(rgm_outputs *out, rgm_value *logits, rgm_value *label)
{
    rgm_value *right;

    if (rgm_value_rank(label) == 2 && rgm_value_dim(label, 1) == 1)
        label = rgm_reshape(label, 1, (rgm_dim[]){rgm_value_dim(label, 0)});
    right = rgm_equal(rgm_cast(rgm_argmax(logits), rgm_value_dtype(label)), label);
    rgm_output(out, "loss", rgm_mean(rgm_softmax_cross_entropy(logits, label)));
    rgm_output_as(out, "accuracy", rgm_mean(right), RGM_AGGREGATE_WEIGHTED_MEAN);
    rgm_output_prediction(out, "logits", logits, RGM_OUTPUT_LOGITS);
}

/* 0 or 1, each for itself. */
static void judge_flags(rgm_outputs *out, rgm_value *logits, rgm_value *label)
{
    rgm_value *zero = rgm_scale(rgm_stop_gradient(logits), 0);
    rgm_value *right = rgm_equal(rgm_greater(logits, zero), label);

    rgm_output(out, "loss", rgm_mean(rgm_sigmoid_cross_entropy(logits, label)));
    rgm_output_as(out, "accuracy", rgm_mean(right), RGM_AGGREGATE_WEIGHTED_MEAN);
    rgm_output_prediction(out, "logits", logits, RGM_OUTPUT_LOGITS);
}

static void judge_numbers(rgm_outputs *out, rgm_value *y, rgm_value *label)
{
    rgm_value *off = rgm_sub(y, label);

    rgm_output(out, "loss", rgm_mean(rgm_square(off)));
    rgm_output_as(out, "mean_absolute_error", rgm_mean(rgm_abs(off)), RGM_AGGREGATE_WEIGHTED_MEAN);
    rgm_output_prediction(out, "numbers", y, RGM_OUTPUT_NUMBERS);
}

/* The trial's outputs. */
static void give_outputs(rgmi_hooks_task *task, rgm_scope *scope, const rgm_record *record)
{
    const rgm_sequential *s = &task->sequential;
    rgm_value *x = tensor_of(record, s->input, 0), *label = tensor_of(record, s->label, 1), *y;

    if (x == NULL || label == NULL)
        return;
    if (s->layers[0].kind != RGM_LAYER_EMBEDDING)
        x = rgm_cast(x, rgm_scope_dtype(scope));
    y = rgm_layers(scope, x, s->layers, s->count);
    if (y == NULL)
        return;
    if (rgm_value_rank(y) != 2) {
        wrong_output(record, y, "a prediction is [n, units]: flatten or global_pool make it so");
        return;
    }
    if (s->loss == RGM_LOSS_CLASSES) {
        judge_classes(&task->outputs, y, label);
        return;
    }
    label = rgm_as_rows(scope, rgm_cast(label, rgm_scope_dtype(scope)));
    if (label != NULL && rgm_value_dim(label, 1) != rgm_value_dim(y, 1))
        wrong_output(record, y, "labels have another width");
    else if (s->loss == RGM_LOSS_FLAGS)
        judge_flags(&task->outputs, y, label);
    else
        judge_numbers(&task->outputs, y, label);
}

/* ---- the hook ---------------------------------------------------------------------------------
 */

rgm_status rgmi_sequential_ask(rgmi_hooks_task *task)
{
    rgm_sequential *s = &task->sequential;
    rgm_status status = task->hooks->build_sequential(s, &task->experiment, &task->hparams);

    if (status == RGM_OK && s->error.status != RGM_OK)
        status = rgm_error_restore(&s->error);
    if (status == RGM_OK && (s->count < 1 || s->count > RGM_MAX_LAYERS))
        status = RGM_FAIL(RGM_ERR_CONFIG, "%lld layers; 1 to %d are possible", (long long)s->count,
                          RGM_MAX_LAYERS);
    if (status == RGM_OK && ((int)s->loss < 0 || s->loss > RGM_LOSS_NUMBERS))
        status = RGM_FAIL(RGM_ERR_CONFIG, "loss %d", (int)s->loss);
    task->graph = give_outputs;
    return rgmi_hook_done(task, status, "build_sequential");
}

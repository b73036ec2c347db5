/*
 * Weights of several tasks that are learned beside the model (Kendall, Gal and Cipolla 2018): a
 * task whose labels are noisy gets less. Parameter s = ln(sigma^2) of each, 0 at the beginning; the
 * loss is exp(-s) L + s / 2 of classes (equation 10) and exp(-s) L / 2 + s / 2 of numbers (equation
 * 7).
 */
#include <math.h>
#include <stdio.h>

#include "learning.h"

#define PARAMETER "log_variance"

static double share_of(const rgm_head *head)
{
    return head->is_number ? 0.5 : 1;
}

void rgmi_learn_loss_weight(rgm_head *head, rgm_scope *scope)
{
    rgm_value *s = rgm_scope_parameter(rgm_scope_enter(scope, head->name), PARAMETER, 0, NULL,
                                       (rgm_init){.kind = RGM_INIT_ZEROS});
    rgm_value *weighed = rgm_mul(head->loss, rgm_exp(rgm_neg(s)));

    weighed = rgm_scale(weighed, share_of(head));
    head->loss = rgm_add(weighed, rgm_scale(s, 0.5));
}

/* ---- told as metrics ---------------------------------------------------------------------------
 */

static int64_t one(const rgm_metric *metric)
{
    (void)metric;
    return 1;
}

/* What is told is the weight behind the last step, which no batch says. */
static void nothing(double *state, const rgm_metric *metric, const rgm_metric_batch *batch)
{
    (void)state, (void)metric, (void)batch;
}

static double last(const double *state, const rgm_metric *metric)
{
    (void)metric;
    return state[0];
}

static const rgm_metric_type weight_type = {
    .name = "loss_weight", .state_size = one, .update = nothing, .result = last};

rgm_status rgmi_loss_weight_metrics(rgm_task_metric *out, int64_t *count,
                                    const rgm_task_model *model, bool training, void *state)
{
    const rgmi_learning *learning = state;

    (void)training;
    for (int64_t h = 0; h < model->head_count; h++) {
        rgm_metric *metric = &out[*count].metric;

        if (!learning->learns_weight[learning->task_of[h]])
            continue;
        out[*count] = (rgm_task_metric){.head = h, .metric = {.type = &weight_type}};
        metric->precision = share_of(&model->heads[h]);
        snprintf(metric->name, sizeof metric->name, "%s_loss_weight", model->heads[h].name);
        ++*count;
    }
    return RGM_OK;
}

void rgmi_loss_weight_process(double *const *states, const rgm_task_metric *metrics, int64_t count,
                              const rgm_step *step, void *state)
{
    (void)state;
    for (int64_t i = 0; i < count; i++) {
        char name[RGM_METRIC_NAME + sizeof PARAMETER];
        int length = (int)(strlen(metrics[i].metric.name) - strlen("_loss_weight"));
        const rgm_tensor *s;
        int64_t number;

        snprintf(name, sizeof name, "%.*s/" PARAMETER, length, metrics[i].metric.name);
        number = rgm_parameters_number(step->parameters, name);
        s = number >= 0 ? rgm_parameters_read(step->parameters, number) : NULL;
        states[i][0] = s != NULL ? metrics[i].metric.precision * exp(-rgm_tensor_at(s, 0)) : 0;
    }
}

/*
 * The measures of single tokens beside their loss: perplexity and accuracy, by the labels without
 * smoothing, whatever smoothing the loss has.
 */
#include <math.h>
#include <string.h>

#include "translation_internal.h"

/* Sums of weight * column and of weights. */
static void add_column(double *state, const rgm_metric_batch *batch, int column)
{
    int64_t n = rgm_tensor_dim(batch->predictions, 0);

    for (int64_t i = 0; i < n; i++) {
        double weight = batch->weights != NULL ? rgm_tensor_at(batch->weights, i) : 1;

        if (weight == 0) /* what stands at padding may be anything */
            continue;
        state[0] += weight * rgm_tensor_at(batch->predictions, i * RGMI_TOKEN_COLUMNS + column);
        state[1] += weight;
    }
}

static double mean_of(const double *state)
{
    return state[1] > 0 ? state[0] / state[1] : 0;
}

static int64_t two(const rgm_metric *metric)
{
    (void)metric;
    return 2;
}

static void add_nll(double *state, const rgm_metric *metric, const rgm_metric_batch *batch)
{
    (void)metric;
    add_column(state, batch, RGMI_TOKEN_NLL);
}

static double perplexity_of(const double *state, const rgm_metric *metric)
{
    (void)metric;
    return state[1] > 0 ? exp(mean_of(state)) : 0;
}

static void add_right(double *state, const rgm_metric *metric, const rgm_metric_batch *batch)
{
    (void)metric;
    add_column(state, batch, RGMI_TOKEN_RIGHT);
}

static double accuracy_of(const double *state, const rgm_metric *metric)
{
    (void)metric;
    return mean_of(state);
}

static const rgm_metric_type perplexity = {
    .name = "perplexity",
    .smaller_is_better = true,
    .state_size = two,
    .update = add_nll,
    .result = perplexity_of,
};

static const rgm_metric_type token_accuracy = {
    .name = "token_accuracy",
    .state_size = two,
    .update = add_right,
    .result = accuracy_of,
};

void rgmi_tokens_judge(rgm_head *head, const rgm_seq2seq *model, rgm_value *logits,
                       rgm_value *losses, double smoothing)
{
    int64_t classes = model->target_vocabulary;
    rgm_cross_entropy_options plain = {.classes = classes};
    rgm_value *columns[RGMI_TOKEN_COLUMNS] = {losses, losses};

    if (smoothing > 0)
        columns[RGMI_TOKEN_NLL] = rgm_softmax_cross_entropy_with(logits, head->labels, &plain);
    if (rgm_seq2seq_padded(classes) != classes)
        logits = rgm_slice(logits, 1, 0, classes);
    columns[RGMI_TOKEN_RIGHT] = rgm_cast(rgm_equal(rgm_argmax(logits), head->labels),
                                         losses != NULL ? rgm_value_dtype(losses) : RGM_F32);
    for (int i = 0; i < RGMI_TOKEN_COLUMNS; i++)
        columns[i] = rgm_reshape(columns[i], 2, (rgm_dim[]){RGM_INFER, 1});
    head->predictions = rgm_concat(columns, RGMI_TOKEN_COLUMNS, 1);
    (void)rgm_head_add_metric(head, &perplexity);
    (void)rgm_head_add_metric(head, &token_accuracy);
}

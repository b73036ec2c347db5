/*
 * The measures of single tokens beside their loss: perplexity and accuracy, by the labels without
 * smoothing, whatever smoothing the loss has.
 */
#include <regimen/train_teachers.h>

#include <math.h>
#include <string.h>

#include "trainer_internal.h"

/** Columns of the predictions; the last only with bytes. */
enum { LOSS, NLL, RIGHT, BYTES, COLUMNS };

/* Sums of weight * column, and of weights or of weight * column `over`. */
static void add_columns(double *state, const rgm_metric_batch *batch, int column, int over)
{
    int64_t n = rgm_tensor_dim(batch->predictions, 0),
            width = rgm_tensor_dim(batch->predictions, 1);

    for (int64_t i = 0; i < n; i++) {
        double weight = batch->weights != NULL ? rgm_tensor_at(batch->weights, i) : 1;

        if (weight == 0) /* what stands at padding may be anything */
            continue;
        state[0] += weight * rgm_tensor_at(batch->predictions, i * width + column);
        state[1] +=
            over < 0 ? weight : weight * rgm_tensor_at(batch->predictions, i * width + over);
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
    add_columns(state, batch, NLL, -1);
}

static double perplexity_of(const double *state, const rgm_metric *metric)
{
    (void)metric;
    return state[1] > 0 ? exp(mean_of(state)) : 0;
}

static void add_right(double *state, const rgm_metric *metric, const rgm_metric_batch *batch)
{
    (void)metric;
    add_columns(state, batch, RIGHT, -1);
}

static double accuracy_of(const double *state, const rgm_metric *metric)
{
    (void)metric;
    return mean_of(state);
}

static void add_bits(double *state, const rgm_metric *metric, const rgm_metric_batch *batch)
{
    (void)metric;
    add_columns(state, batch, NLL, BYTES);
}

static double bits_of(const double *state, const rgm_metric *metric)
{
    (void)metric;
    return mean_of(state) / log(2);
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

static const rgm_metric_type bits_per_byte = {
    .name = "bits_per_byte",
    .smaller_is_better = true,
    .state_size = two,
    .update = add_bits,
    .result = bits_of,
};

void rgm_tokens_set_loss(rgm_head *head, rgm_value *losses, rgm_value *taught, double weight)
{
    rgm_value *mixed;

    head->loss = rgm_weighted_mean(losses, head->weights);
    if (taught == NULL)
        return;
    mixed = rgm_scale(losses, 1 - weight);
    mixed = rgm_weighted_mean(rgm_add(mixed, rgm_scale(taught, weight)), head->weights);
    head->loss = rgm_when_training(mixed, head->loss);
}

void rgm_tokens_judge(rgm_head *head, rgm_value *logits, rgm_value *losses,
                      const rgm_token_judging *how)
{
    rgm_cross_entropy_options plain = {.classes = how->classes};
    rgm_value *columns[COLUMNS] = {losses, losses, NULL, how->bytes};
    int count = how->bytes != NULL ? COLUMNS : BYTES;

    if (how->smoothing > 0)
        columns[NLL] = rgm_softmax_cross_entropy_with(logits, head->labels, &plain);
    if (logits != NULL && rgm_value_dim(logits, 1) != how->classes)
        logits = rgm_slice(logits, 1, 0, how->classes);
    columns[RIGHT] = rgm_cast(rgm_equal(rgm_argmax(logits), head->labels),
                              losses != NULL ? rgm_value_dtype(losses) : RGM_F32);
    for (int i = 0; i < count; i++)
        columns[i] = rgm_reshape(columns[i], 2, (rgm_dim[]){RGM_INFER, 1});
    head->predictions = rgm_concat(columns, count, 1);
    (void)rgm_head_add_metric(head, &perplexity);
    (void)rgm_head_add_metric(head, &token_accuracy);
    if (how->bytes != NULL)
        (void)rgm_head_add_metric(head, &bits_per_byte);
}

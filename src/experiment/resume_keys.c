/*
 * Which keys may differ when a run continues. A key without a row is fixed: with another value of
 * it the weights, or what was measured with them, would mean something else.
 */
#include <string.h>

#include "experiment_internal.h"

/* Of a run that judges itself by one of them. */
static const rgm_resume_key of_sets[] = {{"data.valid_sets", RGM_KEY_FIXED}, {0}};

/* Of a run whose rate decays to its end: every step has another rate than it would have had. */
static const rgm_resume_key of_length[] = {
    {"trainer.epochs", RGM_KEY_TOLD}, {"trainer.train_steps", RGM_KEY_TOLD}, {0}};

/* 0 has no slot, which other optimizers keep at any value. */
static const rgm_resume_key of_adafactor[] = {{"optimizer.beta_1", RGM_KEY_FIXED}, {0}};

/* How long, where, with what beside it: the steps that were made are those of the other value, too.
 */
static const rgm_resume_key free_keys[] = {
    {"description", RGM_KEY_FREE},
    {"trainer.epochs", RGM_KEY_FREE},
    {"trainer.train_steps", RGM_KEY_FREE},
    {"trainer.max_seconds", RGM_KEY_FREE},
    {"trainer.profile", RGM_KEY_FREE},
    {"trainer.flops", RGM_KEY_FREE},
    {"trainer.histograms", RGM_KEY_FREE},
    {"trainer.summary_interval", RGM_KEY_FREE},
    {"trainer.run_eagerly", RGM_KEY_FREE},
    {"trainer.exports", RGM_KEY_FREE},
    {"trainer.activation_checkpointing", RGM_KEY_FREE},
    {"trainer.continuous_eval_*", RGM_KEY_FREE},
    {"trainer.steps_per_execution", RGM_KEY_FREE},
    {"trainer.checkpoint.every_*", RGM_KEY_FREE},
    {"trainer.checkpoint.keep*", RGM_KEY_FREE},
    {"trainer.checkpoint.asynchronous", RGM_KEY_FREE},
    {"trainer.checkpoint.averages", RGM_KEY_FREE},
    {"trainer.checkpoint.best.keep", RGM_KEY_FREE},
    {"trainer.checkpoint.best.save", RGM_KEY_FREE},
    {"runtime.seeds", RGM_KEY_FREE}, /* a run has one, whatever its file says */
    {"runtime.threads", RGM_KEY_FREE},
    {"runtime.peak_gflops", RGM_KEY_FREE},
    {"runtime.features_on_device", RGM_KEY_FREE},
    {"runtime.shard_optimizer", RGM_KEY_FREE},
    {"runtime.workers", RGM_KEY_FREE},
    {"runtime.listen", RGM_KEY_FREE},
    {"runtime.worker_timeout", RGM_KEY_FREE},
    {"export", RGM_KEY_FREE},
    {"runtime.input_workers.order", RGM_KEY_TOLD},
    {"runtime.input_workers.*", RGM_KEY_FREE},
    {"data.valid_sets", RGM_KEY_FREE},
    {"data.test", RGM_KEY_FREE},
    {"data.test_sets", RGM_KEY_FREE},
    {"task.distillation.teacher", RGM_KEY_CONTENT},
    {"data.path", RGM_KEY_CONTENT},
    {0},
};

/* Not of private training: what privacy was spent is computed from batches, noise and steps, which
 * must have been the same. */
static const rgm_resume_key other_keys[] = {
    /* Another one has other slots, or slots of another shape. */
    {"optimizer.type", RGM_KEY_FIXED},
    {"optimizer.average", RGM_KEY_FIXED},
    {"optimizer.momentum", RGM_KEY_FIXED}, /* 0 has none */
    {"optimizer.amsgrad", RGM_KEY_FIXED},
    {"optimizer.centered", RGM_KEY_FIXED},
    {"optimizer.factored", RGM_KEY_FIXED},
    {"optimizer.min_dim_size_to_factor", RGM_KEY_FIXED},
    {"optimizer.rates", RGM_KEY_FIXED}, /* what a factor of 0 freezes has none */
    /* The steps to come are others than those before. */
    {"optimizer.*", RGM_KEY_TOLD},
    {"data.batch_*", RGM_KEY_TOLD},
    {"trainer.accumulation_steps", RGM_KEY_TOLD},
    {"trainer.validation_*", RGM_KEY_TOLD},
    {"trainer.norms", RGM_KEY_TOLD},
    {"trainer.early_stopping", RGM_KEY_TOLD},
    {"trainer.reduce_on_plateau", RGM_KEY_TOLD},
    {"trainer.recovery", RGM_KEY_TOLD},
    {"trainer.restore_best_weights", RGM_KEY_TOLD},
    {"runtime.mixed_precision", RGM_KEY_TOLD},
    {"runtime.shards", RGM_KEY_TOLD},
    {"runtime.gradient_exchange", RGM_KEY_TOLD},
    {"runtime.staleness", RGM_KEY_TOLD},
    {"runtime.device", RGM_KEY_TOLD},
    {"model.dropout", RGM_KEY_TOLD},
    {"model.*.dropout", RGM_KEY_TOLD},
    {0},
};

_Static_assert((sizeof of_sets + sizeof of_length + sizeof of_adafactor + sizeof free_keys +
                sizeof other_keys) /
                       sizeof *free_keys <=
                   RGMI_MAX_RESUME_KEYS,
               "an experiment has room for all rules");

/* Whether a metric is of a set by name: "valid_news.accuracy". */
static bool is_of_set(const char *metric)
{
    return metric != NULL && strncmp(metric, "valid_", 6) == 0;
}

static bool is_judged_by_sets(const rgm_trainer_options *o)
{
    return is_of_set(o->checkpoint.best.metric) || is_of_set(o->early_stopping.metric) ||
           is_of_set(o->reduce_on_plateau.metric);
}

static bool decays_to_the_end(const rgm_schedule *rate)
{
    return rate->type != NULL && rate->type->decays && rate->decay_steps == 0;
}

static rgm_resume_key *add(rgm_resume_key *at, const rgm_resume_key *keys)
{
    while (keys->pattern != NULL)
        *at++ = *keys++;
    return at;
}

const rgm_resume_key *rgmi_resume_keys(rgm_experiment *experiment)
{
    const rgm_trainer_options *o = &experiment->trainer;
    rgm_resume_key *at = experiment->resume_keys; /* the first that matches counts */

    if (is_judged_by_sets(o))
        at = add(at, of_sets);
    if (decays_to_the_end(&experiment->optimizer.learning_rate))
        at = add(at, of_length);
    if (strcmp(experiment->optimizer.type->name, "adafactor") == 0)
        at = add(at, of_adafactor);
    at = add(at, free_keys);
    if (!(o->privacy.clipping_norm > 0))
        at = add(at, other_keys);
    *at = (rgm_resume_key){0};
    return experiment->resume_keys;
}

/*
 * optim: how parameters move. Learning-rate schedules as pure functions of the step, optimizers as
 * rows of one table, clipping by global norm, weight decay by parameter name. An optimizer's whole
 * state is its slot tensors and the step number, so a restored run goes on with the same bits.
 */
#ifndef REGIMEN_OPTIM_H
#define REGIMEN_OPTIM_H

#include <regimen/autodiff.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- schedules ----------------------------------------------------------------------------- */

typedef enum rgm_schedule_type {
    RGM_SCHEDULE_CONSTANT,    /* rate = peak                                                     */
    RGM_SCHEDULE_EXPONENTIAL, /* rate = peak * decay_rate ^ (t / decay_steps)                     */
    RGM_SCHEDULE_COSINE       /* rate = peak * (floor + (1 - floor) * (1 + cos(pi * u)) / 2),
                                 u = min(t, decay_steps) / decay_steps                           */
} rgm_schedule_type;

/**
 * A learning rate over time; every field is a config key of a map `learning_rate: {...}` (a plain
 * number is the constant schedule). t counts from the end of the warmup. Before it, for
 * step < warmup_steps: rate = warmup_start + (peak - warmup_start) * step / warmup_steps.
 *
 * The formulas are Keras' ExponentialDecay and CosineDecay (Loshchilov & Hutter 2017, eq. 5 without
 * restarts; `floor` is Keras' alpha), the warmup that of Keras' CosineDecay, in front of any type.
 */
typedef struct rgm_schedule {
    int type;            /* rgm_schedule_type; config: constant, exponential, cosine              */
    double peak;         /* rate after warmup, > 0                                                 */
    int64_t decay_steps; /* 0: all steps of the run after warmup, see rgm_optimizer_options_resolve */
    double decay_rate;   /* exponential: in (0, 1]; default 0.96                                   */
    bool staircase;      /* exponential: t / decay_steps is rounded down                           */
    double floor;        /* cosine: last rate as a fraction of peak, in [0, 1]; default 0          */
    int64_t warmup_steps;
    double warmup_start; /* rate at step 0 of a warmup; default 0                                  */
} rgm_schedule;

rgm_schedule rgm_schedule_constant(double rate);
rgm_schedule rgm_schedule_exponential(double peak, int64_t decay_steps, double decay_rate);
rgm_schedule rgm_schedule_cosine(double peak, int64_t decay_steps);
/** The rate of update number `step` (0 is the first). Needs decay_steps > 0 where the type decays. */
double rgm_schedule_rate(const rgm_schedule *schedule, int64_t step);

/* ---- options ------------------------------------------------------------------------------- */

typedef struct rgm_optimizer_type rgm_optimizer_type;

/** What an optimizer is made from. Each type reads those that its table of fields lists. */
typedef struct rgm_optimizer_options {
    const rgm_optimizer_type *type;
    rgm_schedule learning_rate;
    double clip_norm;    /* gradients are scaled so that their global norm is at most this; 0: never */
    double weight_decay; /* sgd, adam: L2, weight_decay * w is added to the (clipped) gradient, as
                            PyTorch's SGD and Adam; adamw: decoupled, w -= rate * weight_decay * w
                            (Loshchilov & Hutter 2019)                                               */
    rgm_texts weight_decay_only;   /* shell patterns on parameter names ("conv1*", "*kernel"); empty: all */
    rgm_texts weight_decay_except; /* patterns of parameters that do not decay, after the above      */
    double momentum;     /* sgd */
    bool nesterov;       /* sgd */
    double beta_1, beta_2, epsilon; /* adam, adamw; epsilon is outside the bias correction (Keras)   */
} rgm_optimizer_options;

/** Keras' defaults: beta 0.9, 0.999, epsilon 1e-7, no decay, no clipping. */
rgm_optimizer_options rgm_adam(double learning_rate);
rgm_optimizer_options rgm_adamw(double learning_rate, double weight_decay);
rgm_optimizer_options rgm_sgd(double learning_rate, double momentum);

/**
 * Options from the `optimizer` map of an experiment file: `type` (adam, adamw, sgd; required) and
 * that type's keys. NULL map: adam with its defaults. Texts live in `arena`.
 *
 * Errors: RGM_ERR_CONFIG with the place (unknown key or type, value out of range), RGM_ERR_NOMEM.
 */
rgm_status rgm_optimizer_options_read(rgm_optimizer_options *options, const rgm_yaml_node *map,
                                      rgm_arena *arena);
/**
 * Fill in decay_steps 0 from the length of the run: max(1, total_steps - warmup_steps). With
 * total_steps < 1 (unknown) a decaying schedule without decay_steps is RGM_ERR_CONFIG.
 */
rgm_status rgm_optimizer_options_resolve(rgm_optimizer_options *options, int64_t total_steps);

/* ---- optimizers ---------------------------------------------------------------------------- */

#define RGM_MAX_SLOTS 4

/** What a type's step function gets for one parameter. */
typedef struct rgm_update {
    const rgm_optimizer_options *options;
    const rgm_kernels *kernels; /* for the parameter's dtype           */
    void *w;                    /* [count]                              */
    const void *gradient;       /* [count]                              */
    void *slots[RGM_MAX_SLOTS]; /* [count] each, in the type's order    */
    int64_t count;
    int64_t step;               /* updates done before this one         */
    double rate;                /* of this step, from the schedule      */
    double gradient_scale;      /* from clipping                        */
    double weight_decay;        /* 0 where the name filter says so      */
} rgm_update;

/** An optimizer: one row. */
struct rgm_optimizer_type {
    const char *name; /* config value, and first part of its slots' names */
    const char *help;
    const rgm_field *fields; /* its keys in rgm_optimizer_options          */
    void (*defaults)(rgm_optimizer_options *options);
    /** Which slots these options need; at most RGM_MAX_SLOTS names, ended by NULL. */
    const char *const *(*slots)(const rgm_optimizer_options *options);
    void (*step)(const rgm_update *update);
};
const rgm_optimizer_type *const *rgm_optimizer_types(int64_t *count);
const rgm_optimizer_type *rgm_optimizer_find(const char *name); /* NULL if none */

typedef struct rgm_optimizer rgm_optimizer;

/**
 * An optimizer with zeroed slots for `parameters` (f32 or f64), which it does not keep.
 *
 * @param options  [in] copied; texts are not needed afterwards
 *
 * Errors: RGM_ERR_CONFIG (a number out of range, a decaying schedule without decay_steps, a
 * weight_decay_only pattern that matches no parameter: the nearest name is told), RGM_ERR_DTYPE,
 * RGM_ERR_NOMEM; *out is then NULL.
 */
rgm_status rgm_optimizer_create(rgm_optimizer **out, const rgm_optimizer_options *options,
                                const rgm_parameters *parameters);
void rgm_optimizer_release(rgm_optimizer *optimizer);

/**
 * One update of all parameters, in place, in one sweep; then rgm_parameters_touch().
 *
 * @param gradients  [in] [parameters] in their order, same dtypes and shapes; NULL: not updated.
 *                   States (rgm_parameters_trainable() false) never are, not even by weight decay
 * @param step       [in] updates done before, >= 0: the whole time dependence
 *
 * Errors: RGM_ERR_NUMERIC "gradient of 'conv1/kernel' has a NaN or infinity at step 12",
 * RGM_ERR_SHAPE, RGM_ERR_DTYPE; parameters and slots are then as they were.
 */
rgm_status rgm_optimizer_step(rgm_optimizer *optimizer, rgm_parameters *parameters,
                              rgm_tensor *const *gradients, int64_t step);
/** Global norm of the last step's gradients before clipping; 0 before the first step. */
double rgm_optimizer_gradient_norm(const rgm_optimizer *optimizer);
/** Rate of update number `step`. */
double rgm_optimizer_rate(const rgm_optimizer *optimizer, int64_t step);
const rgm_optimizer_options *rgm_optimizer_settings(const rgm_optimizer *optimizer);

/** Slots by name, "adam/m/<parameter>", for a checkpoint. Borrowed. */
int64_t rgm_optimizer_slot_count(const rgm_optimizer *optimizer);
rgm_named_tensor rgm_optimizer_slot(const rgm_optimizer *optimizer, int64_t i);
/**
 * Take all slots from a file. Errors: RGM_ERR_NOT_FOUND (a slot is missing: made with another
 * optimizer or model), RGM_ERR_SHAPE, RGM_ERR_DTYPE, RGM_ERR_DATA (the file has a slot more);
 * nothing is then changed.
 */
rgm_status rgm_optimizer_restore(rgm_optimizer *optimizer, const rgm_safetensors *file);

#ifdef __cplusplus
}
#endif
#endif

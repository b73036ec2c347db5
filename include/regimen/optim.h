/*
 * optim: how parameters move. Learning-rate schedules as pure functions of the step, optimizers as
 * rows of one table, three ways to clip, weight decay and rates by parameter name, averaged
 * weights. An optimizer's whole state is its slot tensors and the step number, so a restored run
 * goes on with the same bits.
 */
#ifndef REGIMEN_OPTIM_H
#define REGIMEN_OPTIM_H

#include <regimen/autodiff.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- schedules ----------------------------------------------------------------------------- */

typedef struct rgm_schedule_type rgm_schedule_type;

typedef enum rgm_warmup_type { RGM_WARMUP_LINEAR, RGM_WARMUP_POLYNOMIAL } rgm_warmup_type;
/**
 * The first steps of any schedule. Let F be the schedule's own rate at step `steps`, where the
 * warmup hands over; the schedule sees the true step, it does not begin anew. For step < steps:
 *   linear:      start + step / steps * (F - start)
 *   polynomial:  F * (max(step, 1) / steps) ^ power
 */
typedef struct rgm_warmup {
    rgm_warmup_type type;
    int64_t steps; /* 0: no warmup                          */
    double start;  /* linear: rate of step 0, default 0     */
    double power;  /* polynomial: default 1                 */
} rgm_warmup;

/** What a schedule's s, offset, decay_steps and boundaries count. Its warmup always counts updates.
 */
typedef enum rgm_schedule_unit {
    RGM_UNIT_UPDATES,
    RGM_UNIT_EPOCHS /* whole ones behind: the rate moves at the end of an epoch alone */
} rgm_schedule_unit;

/**
 * A learning rate over time; every field is a config key of a map `learning_rate: {...}`, each type
 * reads those of its table (a plain number is the constant schedule). s = max(0, step - offset),
 * L = initial, D = decay_steps:
 *
 *   constant           L
 *   stepwise           values[i] for boundaries[i-1] < s <= boundaries[i]; one value more. In
 *                      epochs for boundaries[i-1] <= s < boundaries[i]: the first boundaries[0]
 *                      epochs have values[0]
 *   exponential        L * decay_rate ^ (s / D); staircase: the exponent is rounded down
 *   inverse_time       L / (1 + decay_rate * s / D); staircase: s / D is rounded down
 *   polynomial         (L - end) * (1 - min(s, D) / D) ^ power + end; cycle: D is the first
 * multiple of decay_steps that s has not passed cosine             L * (floor + (1 - floor) * (1 +
 * cos(pi * min(s, D) / D)) / 2) power              L * max(s, 1) ^ power power_linear       L *
 * max(s, 1) ^ power * min(1, (D - s) / (D * linear_decay_fraction)), not below 0 power_with_offset
 * L * max(s, 1) ^ power, at most pre_offset_rate, which is the rate up to offset
 *   step_cosine_with_offset  from values[i] at boundaries[i] by half a cosine to values[i+1] at
 *                      boundaries[i+1]; values[0] before, the last value after
 *
 * Sources: Keras' schedules of those names (cosine: Loshchilov & Hutter 2017, eq. 5 without
 * restarts; `floor` is Keras' alpha), the TensorFlow model garden's power schedules. power -0.5
 * with a linear warmup and L = 2 d^-0.5 is the schedule of Vaswani et al. 2017 (their factor there
 * is 1).
 */
typedef struct rgm_schedule {
    const rgm_schedule_type *type;
    double initial;               /* >= 0                                                       */
    int64_t offset;               /* >= 0; not in constant and power                            */
    int64_t decay_steps;          /* 0: to the end of the run, rgm_optimizer_options_resolve()  */
    double decay_rate;            /* exponential: in (0, 1], 0.96; inverse_time: >= 0, 1        */
    bool staircase;               /* exponential, inverse_time                                  */
    double end;                   /* polynomial: last rate, 1e-4                                */
    double floor;                 /* cosine: last rate as a fraction of initial, in [0, 1], 0   */
    double power;                 /* polynomial: > 0, 1; power*: any, -0.5                      */
    bool cycle;                   /* polynomial: rise to a new, lower start at each end         */
    double linear_decay_fraction; /* power_linear: last part of D, in (0, 1], 0.1               */
    double pre_offset_rate;       /* power_with_offset: 0 (the default) is initial              */
    rgm_ints boundaries;          /* stepwise, step_cosine_with_offset: ascending steps         */
    rgm_floats values;            /* rates there, >= 0                                          */
    rgm_warmup warmup;
    rgm_schedule_unit unit; /* updates                                                    */
    int64_t
        epoch_updates; /* by epochs: how many an epoch has; 0: one pass over the training data */
    /* By epochs with epoch_updates 0: batches of a pass, and of an update. A trainer sets both, and
     * update n is in epoch n * update_batches / pass_batches. 0: not known */
    int64_t pass_batches, update_batches;
    const void *own; /* options of the type's `own`; NULL: it has none */
} rgm_schedule;

/** A schedule: one row. */
struct rgm_schedule_type {
    const char *name; /* config value */
    const char *help;
    const rgm_field *fields; /* its keys in rgm_schedule */
    bool decays;             /* it has decay_steps       */
    double (*rate)(const rgm_schedule *schedule, double s);
    /** Keys of a row that is not the library's, in a struct of its own: rgm_schedule.own. NULL:
     * none. Texts and lists in it must outlive the optimizer. */
    const rgm_section_type *own;
};
/** The keys of a schedule: initial, decay_steps, offset, warmup. For rows of a program's own. */
extern const rgm_field rgm_schedule_fields[];
const rgm_schedule_type *const *rgm_schedule_types(int64_t *count);
const rgm_schedule_type *rgm_schedule_find(const char *name); /* NULL if none */

/** A schedule of `type` with the defaults above, no warmup. */
rgm_schedule rgm_schedule_default(const rgm_schedule_type *type, double initial);
rgm_schedule rgm_schedule_constant(double rate);
rgm_schedule rgm_schedule_exponential(double initial, int64_t decay_steps, double decay_rate);
rgm_schedule rgm_schedule_cosine(double initial, int64_t decay_steps);
rgm_schedule rgm_schedule_power(double initial, double power);
/** The rate of update number `step` (0 is the first). Needs decay_steps > 0 where the type decays.
 */
double rgm_schedule_rate(const rgm_schedule *schedule, int64_t step);
/** Whole epochs behind update number `step`, as the schedule counts them; -1: it counts updates, or
 * the length of an epoch is not known. */
int64_t rgm_schedule_epochs(const rgm_schedule *schedule, int64_t step);
/**
 * Hold a schedule against a run of so many updates (< 1: not known; then, and for a decay whose
 * length is open, only what does not depend on it is checked).
 *
 * @param remark  [out] gets one line about what is possible but hardly meant: a decay at least
 * twice as long as the run, a warmup that the run does not outlast, a rate of 0 from some update
 * on. NULL: not asked
 *
 * Errors: RGM_ERR_CONFIG (a warmup as long as the decay, a rate of 0 in every update),
 * RGM_ERR_NOMEM.
 */
rgm_status rgm_schedule_check_run(rgm_text *remark, const rgm_schedule *schedule, int64_t updates);

/* ---- options ------------------------------------------------------------------------------- */

typedef struct rgm_optimizer_type rgm_optimizer_type;

/**
 * Averages of the weights over time, beside them. After update number n (1 is the first), with
 * k = n - start_step: average -= (1 - d) * (average - w), where d is `decay`, or with `dynamic`
 * min(decay, (1 + k) / (10 + k)); before start_step the average is the weight. They start as copies
 * of the weights, so they are not biased towards 0. (The recursion and the dynamic decay:
 * tf.train.ExponentialMovingAverage.)
 */
typedef struct rgm_average {
    double decay;       /* in [0, 1); 0: no averages. The config key `average: {}` makes it 0.99 */
    int64_t start_step; /* 0    */
    bool dynamic;       /* true */
} rgm_average;

/** What an optimizer is made from. Each type reads those that its table of fields lists. */
typedef struct rgm_optimizer_options {
    const rgm_optimizer_type *type;
    rgm_schedule learning_rate;
    rgm_numbers rates; /* factors on the rate by shell pattern on the parameter's name; the first
                          that fits counts, 1 without one. 0 freezes: no slots, and the bits stay */

    /* Clipping, in this order; 0: never. clip_norm and clip_global_norm exclude each other. */
    double clip_value;       /* each element into [-clip_value, clip_value]                    */
    double clip_norm;        /* each gradient by itself is scaled to at most this norm         */
    double clip_global_norm; /* all are scaled alike, so that their norm together is at most this */

    double weight_decay; /* adamw, adafactor: decoupled, w -= rate * weight_decay * w (Loshchilov &
                            Hutter 2019); lamb: a part of the update; else L2, weight_decay * w is
                            added to the (clipped) gradient, as in PyTorch */
    /* shell patterns on parameter names ("conv1*", "*kernel"); empty: all */
    rgm_texts weight_decay_only;
    rgm_texts weight_decay_except; /* patterns of parameters that do not decay, after the above */
    rgm_average average;

    double momentum;       /* sgd, lars, rmsprop                                              */
    bool nesterov;         /* sgd, lars                                                       */
    double beta_1, beta_2; /* adam, adamw, lamb; adafactor: beta_1 alone                      */
    double epsilon; /* adam, adamw: outside the bias correction (Keras); lamb: inside (paper);
                       rmsprop, adagrad: added to the root                             */
    bool amsgrad;   /* adam, adamw                                                     */
    double rho;     /* rmsprop                                                         */
    bool centered;  /* rmsprop                                                         */
    double initial_accumulator_value;  /* adagrad                                               */
    double trust_coefficient;          /* lars                                                  */
    bool classic_momentum;             /* lars                                                  */
    rgm_texts layer_adaptation_except; /* lamb, lars: patterns of parameters whose trust ratio is 1;
                                          items NULL: those of weight_decay_except             */
    bool factored, multiply_by_parameter_scale; /* adafactor, and the rest           */
    int64_t min_dim_size_to_factor, step_offset;
    double decay_rate, clipping_threshold, epsilon_1, epsilon_2;
    const void *own; /* options of the type's `own`; NULL: it has none */
} rgm_optimizer_options;

/** Keras' defaults: beta 0.9, 0.999, epsilon 1e-7, no decay, no clipping. The other types'
 * defaults: rgm_optimizer_find("lamb")->defaults(&options). */
rgm_optimizer_options rgm_adam(double learning_rate);
rgm_optimizer_options rgm_adamw(double learning_rate, double weight_decay);
rgm_optimizer_options rgm_sgd(double learning_rate, double momentum);

/** Options of `type` with what is the same for all: a constant rate, no clipping, no averages. What
 * the `defaults` of a row begin with. */
rgm_optimizer_options rgm_optimizer_default(const rgm_optimizer_type *type, double learning_rate);

/**
 * Optimizers and schedules of a program's own, which are named like the library's. Each list is
 * ended by NULL; NULL: none.
 */
typedef struct rgm_optimizer_rows {
    const rgm_optimizer_type *const *optimizers;
    const rgm_schedule_type *const *schedules;
} rgm_optimizer_rows;
/** RGM_ERR_ARG names a row that lacks something, or has the name of another or of the library's. */
rgm_status rgm_optimizer_rows_check(const rgm_optimizer_rows *rows);

/**
 * Options from the `optimizer` map of an experiment file: `type` (a name of rgm_optimizer_types()
 * or of `own`, which may be NULL; required) and that type's keys. NULL map: adam with its defaults.
 * Texts, lists and options of own rows live in `arena`.
 *
 * Errors: RGM_ERR_CONFIG with the place (unknown key or type, value out of range, both norms),
 * RGM_ERR_ARG (rgm_optimizer_rows_check()), RGM_ERR_NOMEM.
 */
rgm_status rgm_optimizer_options_read(rgm_optimizer_options *options, const rgm_yaml_node *map,
                                      const rgm_optimizer_rows *own, rgm_arena *arena);
/**
 * Fill in decay_steps 0 from the length of the run: max(1, total_steps - offset), by epochs max(1,
 * epochs - offset) unless the length of an epoch is not known yet. With total_steps < 1 (unknown) a
 * decaying schedule without decay_steps is RGM_ERR_CONFIG.
 */
rgm_status rgm_optimizer_options_resolve(rgm_optimizer_options *options, int64_t total_steps);

/* ---- optimizers ---------------------------------------------------------------------------- */

#define RGM_MAX_SLOTS 4

/** One tensor of state that a type keeps for a parameter, of the parameter's dtype. */
typedef struct rgm_slot {
    const char *name; /* "m"                           */
    int rank;
    int64_t shape[RGM_MAX_RANK];
    double initial; /* what it is filled with          */
} rgm_slot;

/** What a type's step function gets for one parameter. */
typedef struct rgm_update {
    const rgm_optimizer_options *options;
    const rgm_kernels *kernels; /* for the parameter's dtype, of the device that has it    */
    rgm_dtype dtype;            /* RGM_F32 or RGM_F64: w, gradient, slots, scratch */
    int rank;
    const int64_t *shape;
    int64_t count;
    void *w;                       /* [count]                                  */
    const void *gradient;          /* [count]                                  */
    void *slots[RGM_MAX_SLOTS];    /* in the type's order                      */
    void *scratch;                 /* [count], if the type has `scratch` or `direction` */
    double w_norm, direction_norm; /* in `step`, if `direction` asked for them       */
    int64_t step;                  /* updates done before this one             */
    double rate;                   /* of this step: schedule times `rates`     */
    double gradient_scale;         /* from clipping                            */
    double weight_decay;           /* 0 where the name filter says so          */
    bool layer_adaptation;         /* whether a trust ratio is taken           */
} rgm_update;

/** An optimizer: one row. */
struct rgm_optimizer_type {
    const char *name; /* config value, and first part of its slots' names */
    const char *help;
    const rgm_field *fields; /* its keys in rgm_optimizer_options          */
    bool scratch;            /* a step needs room for one tensor more      */
    void (*defaults)(rgm_optimizer_options *options);
    /** The slots of parameter `w` with these options; returns how many, at most RGM_MAX_SLOTS. */
    int (*slots)(rgm_slot *slots, const rgm_optimizer_options *options, const rgm_tensor *w);
    void (*step)(const rgm_update *update);
    /** Called before `step`, for all parameters before the first one moves: the direction of w into
     * `scratch`, slots updated. Returns whether `step` reads the norms of w and of the direction.
     * NULL: `step` does everything. */
    bool (*direction)(const rgm_update *update);
    /** Both touch elements through update->kernels alone, so that they may run on a device, where
     * w, gradient, slots and scratch are addresses. False: the update is made on the host. */
    bool on_device;
    /** Keys of a row that is not the library's, in a struct of its own: rgm_optimizer_options.own.
     * NULL: none. Texts and lists in it must outlive the optimizer. */
    const rgm_section_type *own;
};
/** The keys that every optimizer has: rates, clipping, averages, weight_decay and its patterns. For
 * rows of a program's own. */
extern const rgm_field rgm_optimizer_fields[];
const rgm_optimizer_type *const *rgm_optimizer_types(int64_t *count);
const rgm_optimizer_type *rgm_optimizer_find(const char *name); /* NULL if none */

typedef struct rgm_optimizer rgm_optimizer;

/**
 * Whether a shell pattern is of a parameter: one that is of none is a misspelt name, and what it
 * asks for would be gone without a word. RGM_ERR_CONFIG begins with `key` and names the nearest.
 */
rgm_status rgm_pattern_check(const char *key, const char *pattern,
                             const rgm_parameters *parameters);

/**
 * An optimizer with fresh slots for `parameters` (f32 or f64), which it does not keep. States and
 * frozen parameters have no slots.
 *
 * @param options  [in] copied, `own` too; texts and lists of the library's are not needed
 * afterwards
 *
 * Errors: RGM_ERR_CONFIG (a number out of range, a decaying schedule without decay_steps, a pattern
 * that matches no parameter: the nearest name is told; one of weight_decay_only or rates that
 * matches states alone; rates of 0 for all that could be trained), RGM_ERR_DTYPE, RGM_ERR_NOMEM;
 * *out is then NULL.
 */
rgm_status rgm_optimizer_create(rgm_optimizer **out, const rgm_optimizer_options *options,
                                const rgm_parameters *parameters);
void rgm_optimizer_release(rgm_optimizer *optimizer);

/**
 * One update of all parameters, in place, of which executors are told. States and frozen parameters
 * stay as they are, and their gradients are not looked at. It is computed on the device that has
 * the gradients or else the parameters (rgm_parameters_device()), where weights and slots then
 * stay.
 *
 * @param gradients  [in] [parameters] in their order, same dtypes and shapes, of the host or of a
 * device; NULL: not updated
 * @param step       [in] updates done before, >= 0: the whole time dependence. At step 0 the
 * averages are made copies of the weights, which may have been loaded since the creation
 *
 * Errors: RGM_ERR_NUMERIC "gradient of 'conv1/kernel' has a NaN or infinity at step 12",
 * RGM_ERR_SHAPE, RGM_ERR_DTYPE, RGM_ERR_ARG (step < 0, or weights and averages are swapped),
 * RGM_ERR_NOMEM (of a device), RGM_ERR_IO (the device is lost). Parameters and slots are then as
 * they were, unless rgm_optimizer_is_spoiled(): RGM_ERR_NUMERIC "the update of 'conv1/kernel'
 * overflows", and a device that failed in the middle of an update.
 */
rgm_status rgm_optimizer_step(rgm_optimizer *optimizer, rgm_parameters *parameters,
                              rgm_tensor *const *gradients, int64_t step);
/** Whether an update has overflowed, or broke off on a device: weights and slots mean nothing until
 * both are restored. */
bool rgm_optimizer_is_spoiled(const rgm_optimizer *optimizer);
/** Global norm of the last step's gradients before any clipping; 0 before the first step. */
double rgm_optimizer_gradient_norm(const rgm_optimizer *optimizer);
/** The same of one parameter's gradient alone; 0 where it has none or does not move. */
double rgm_optimizer_parameter_norm(const rgm_optimizer *optimizer, int64_t parameter);
/** Rate of update number `step`, before the factors of `rates`. */
double rgm_optimizer_rate(const rgm_optimizer *optimizer, int64_t step);
/**
 * From the next update on the schedule's rate times `factor`, in (0, 1], is the rate, but not below
 * `least` unless the schedule's is. No part of the slots: who reduces keeps the factor.
 */
void rgm_optimizer_reduce_rate(rgm_optimizer *optimizer, double factor, double least);
const rgm_optimizer_options *rgm_optimizer_settings(const rgm_optimizer *optimizer);

/** Whether the options ask for averaged weights. */
bool rgm_optimizer_has_averages(const rgm_optimizer *optimizer);
/**
 * Exchange the contents of weights and averages, and rgm_parameters_touch(): evaluation sees the
 * averages; a second call restores every bit. In between no step may be taken and no checkpoint
 * written. Without averages nothing happens.
 *
 * Errors: RGM_ERR_SHAPE (parameters of another graph), RGM_ERR_NOMEM or RGM_ERR_IO (of a device
 * that has the weights); nothing is then changed.
 */
rgm_status rgm_optimizer_averages_swap(rgm_optimizer *optimizer, rgm_parameters *parameters);

/** The averages become copies of the weights, as at the first step: these were loaded. */
void rgm_optimizer_averages_reset(rgm_optimizer *optimizer, const rgm_parameters *parameters);

/**
 * A part of the parameters, which one process moves; others move the rest. So each has slots of its
 * own part alone.
 */
typedef struct rgm_optimizer_part {
    const bool *own; /* [parameters] read once */
    /** Called in each step when the own part has been moved, or has failed with `status`: lets all
     * parameters have the values that their processes gave them. Returns the status of all: an
     * error of one is one of each. */
    rgm_status (*exchange)(rgm_status status, rgm_parameters *parameters, void *payload);
    void *payload;
} rgm_optimizer_part;
/**
 * Let the optimizer move a part alone, and forget the slots of the others; averages are kept of
 * all. Norms and clipping are of all gradients, which every process has. Before the first step and
 * the first restore; for updates on the host.
 */
void rgm_optimizer_take_part(rgm_optimizer *optimizer, const rgm_optimizer_part *part);
/** The parameter whose process alone has slot i; -1: every process has it. */
int64_t rgm_optimizer_slot_owner(const rgm_optimizer *optimizer, int64_t i);
/**
 * Let slot i, which another process has, be a copy of `elements` as that process has them; NULL: no
 * more. For those who read all slots. Errors: RGM_ERR_NOMEM, RGM_ERR_ARG (it is this one's own).
 */
rgm_status rgm_optimizer_lend_slot(rgm_optimizer *optimizer, int64_t i, const void *elements);

/** Begins the name of the slot that is the average of a parameter. */
#define RGM_AVERAGE_PREFIX "average/"
/**
 * A parameter's average among saved slots.
 *
 * @param out    [out] with the shape in the file, as rgm_safetensors_look() gives it; NULL: there
 *               is none
 * @param slots  [in] NULL: there are none
 *
 * Errors: those of rgm_safetensors_look() but RGM_ERR_NOT_FOUND.
 */
rgm_status rgm_average_look(rgm_tensor **out, const rgm_safetensors *slots, const char *parameter);
/**
 * Slots by name, "adam/m/<parameter>" and "average/<parameter>", for a checkpoint. Borrowed, to be
 * read. What a device has newer is brought back first, and is NaN if it cannot be. The tensor is
 * NULL of a slot that another process has.
 */
int64_t rgm_optimizer_slot_count(const rgm_optimizer *optimizer);
rgm_named_tensor rgm_optimizer_slot(const rgm_optimizer *optimizer, int64_t i);
/** Bring back all slots that a device has newer. Errors: RGM_ERR_IO (the device is lost),
 * RGM_ERR_NOMEM. */
rgm_status rgm_optimizer_to_host(const rgm_optimizer *optimizer);
/**
 * Take all slots from a file. Errors: RGM_ERR_NOT_FOUND (a slot is missing: made with another
 * optimizer or model), RGM_ERR_SHAPE, RGM_ERR_DTYPE, RGM_ERR_DATA (the file has a slot more);
 * nothing is then changed.
 */
rgm_status rgm_optimizer_restore(rgm_optimizer *optimizer, const rgm_safetensors *file);

/* ---- privacy ------------------------------------------------------------------------------- */

/** How the examples of a step are chosen; decides what an epsilon is worth, see
 * rgm_privacy_basis(). */
typedef enum rgm_privacy_sampling {
    RGM_PRIVACY_POISSON, /* each by a coin of its own: rgm_dataset_poisson()     */
    RGM_PRIVACY_SHUFFLE  /* batches of fixed size from a shuffled pass           */
} rgm_privacy_sampling;

/**
 * Differentially private gradient descent (Abadi et al. 2016): every example's gradient is scaled
 * to a global norm of at most clipping_norm, and to their sum is added normal noise of standard
 * deviation noise_multiplier * clipping_norm. Any optimizer may use what comes out. Every field is
 * a config key.
 */
typedef struct rgm_privacy {
    double clipping_norm;    /* > 0; 0: no privacy                                             */
    double noise_multiplier; /* 0: clipping alone, with an epsilon of infinity                 */
    double target_epsilon;   /* > 0: the least noise_multiplier whose epsilon is at most this when
                                the run has its length; in the place of noise_multiplier         */
    double delta;            /* of the (epsilon, delta) reported; below 1 / number of examples */
    rgm_privacy_sampling sampling;
    int64_t noise_seed; /* 0: noise and samples by a key of the system's that nobody has; else who
                           knows this number can take the noise away, and the run can be repeated */
} rgm_privacy;
#define RGM_PRIVACY_INIT                                                                           \
    {                                                                                              \
        .clipping_norm = 0, .noise_multiplier = 0, .target_epsilon = 0, .delta = 1e-5,             \
        .sampling = RGM_PRIVACY_POISSON, .noise_seed = 0                                           \
    }
extern const rgm_field rgm_privacy_fields[];
/**
 * RGM_ERR_CONFIG naming a number out of range, noise or a target without a clipping norm, noise and
 * a target for it, or a target with another sampling than poisson.
 */
rgm_status rgm_privacy_check(const rgm_privacy *privacy);

/**
 * Add one example's gradients to the sums, scaled to a global norm of at most clipping_norm:
 * sum += gradient * min(1, clipping_norm / norm), in double, rounded to the sum's dtype. The same
 * bits for any number of threads.
 *
 * @param sums       [in, out] [count] f32 or f64
 * @param gradients  [in] [count] f32 or f64 of the sums' shapes; NULL: does not depend on this one
 * @param norm       [out] global norm before clipping; may be NULL
 *
 * All are of the host, or all of one device, which then adds.
 *
 * Errors: RGM_ERR_NUMERIC (NaN, infinity or overflow in gradient i), RGM_ERR_SHAPE, RGM_ERR_DTYPE
 * (of a device: gradient and sum differ), RGM_ERR_ARG (clipping_norm is not above 0, two devices),
 * RGM_ERR_NOMEM, RGM_ERR_IO; nothing is added then.
 */
rgm_status rgm_privacy_clip_add(rgm_tensor *const *sums, rgm_tensor *const *gradients,
                                int64_t count, double clipping_norm, double *norm);
/**
 * sum = (sum + sigma * z) * scale for every element, z standard normal and independent: element e
 * of tensor i takes normal number e of (secret, step, i). sigma is noise_multiplier *
 * clipping_norm, scale is 1 / expected batch size (sample rate * number of examples, not the size
 * drawn). The same bits for any number of threads. A NULL sum is passed over. Who knows the secret
 * can take the noise away again, and so can who sees two sums with the noise of one step: no step
 * may be used twice.
 *
 * Sums of a device go to the host, where the secret is, and back.
 *
 * Errors: RGM_ERR_DTYPE (not f32 or f64), RGM_ERR_ARG (sigma or scale negative or not finite, step
 * negative); nothing is changed then. RGM_ERR_NOMEM, RGM_ERR_IO: of a device.
 */
rgm_status rgm_privacy_noise(rgm_tensor *const *sums, int64_t count, double sigma, double scale,
                             const rgm_secret *secret, int64_t step);

#define RGM_PRIVACY_ORDERS 156

/**
 * What has been spent: the Renyi divergence at each order, which adds up over steps. {0} is nothing
 * spent. `rdp` is all there is to save in a checkpoint; the rest remembers the last mechanism.
 */
typedef struct rgm_privacy_accountant {
    double rdp[RGM_PRIVACY_ORDERS];
    double noise_multiplier, sample_rate;
    double each[RGM_PRIVACY_ORDERS]; /* what one step of these costs */
} rgm_privacy_accountant;

/**
 * `steps` further steps of the Poisson-subsampled Gaussian mechanism (Mironov, Talwar, Zhang 2019),
 * neighbouring data sets differing in one example added or removed. sample_rate 1: the Gaussian
 * mechanism. Below a noise multiplier of 0.05 the sampling is left out of account, a bound still.
 *
 * Errors: RGM_ERR_ARG (noise_multiplier < 0, sample_rate outside [0, 1], steps < 0; NaN).
 * Cost: when the mechanism differs from the last one's, a millisecond, some 50 for noise near 0.05.
 */
rgm_status rgm_privacy_step(rgm_privacy_accountant *accountant, double noise_multiplier,
                            double sample_rate, int64_t steps);
/**
 * The least epsilon over the orders of which (epsilon, delta) holds, >= 0, INFINITY if none does:
 * rdp + log((a - 1) / a) - (log(delta) + log(a)) / (a - 1) (Canonne, Kamath, Steinke 2020, prop.
 * 12; Balle et al. 2020, thm. 21), as Opacus and TensorFlow Privacy.
 */
double rgm_privacy_epsilon(const rgm_privacy_accountant *accountant, double delta);
/**
 * The least noise multiplier, to nine digits and at least 0.05, whose epsilon after so many steps
 * is at most `epsilon`. Errors: RGM_ERR_ARG (out of range), RGM_ERR_UNSUPPORTED (no noise is
 * enough).
 */
rgm_status rgm_privacy_noise_for(double *noise_multiplier, double epsilon, double delta,
                                 double sample_rate, int64_t steps);
/** One line to stand beside a reported epsilon: which analysis it is, and whether it is a bound. */
const char *rgm_privacy_basis(const rgm_privacy *privacy, double sample_rate);

#ifdef __cplusplus
}
#endif
#endif

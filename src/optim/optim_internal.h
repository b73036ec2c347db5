/*
 * What the files of optim share among themselves.
 */
#ifndef RGM_OPTIM_INTERNAL_H
#define RGM_OPTIM_INTERNAL_H

#include <math.h>
#include <regimen/device_tensor.h>
#include <regimen/optim.h>

extern const rgm_optimizer_type rgmi_sgd_type, rgmi_adam_type, rgmi_adamw_type, rgmi_lamb_type,
    rgmi_lars_type, rgmi_rmsprop_type, rgmi_adagrad_type, rgmi_adafactor_type;

/* ---- keys ---------------------------------------------------------------------------------- */

/* Rows of a table of fields, with RGM_OPTIONS defined as rgm_optimizer_options. */
#define RGMI_FRACTION(key, text) RGM_FLOAT_FIELD(key, 0, RGM_BELOW_1, text)
#define RGMI_NUMBER(key, text)   RGM_FLOAT_FIELD(key, 0, INFINITY, text)

extern const rgm_field rgmi_average_fields[];

/** The keys that every type has, as the first entries of its table of fields. */
#define RGMI_OPTIMIZER_FIELDS                                                                      \
    RGM_NUMBERS_FIELD(rates, 0, INFINITY,                                                          \
                      "factor on the rate by pattern of parameter names; 0: frozen"),              \
        RGMI_NUMBER(clip_value, "largest absolute value of a gradient's element; 0: no limit"),    \
        RGMI_NUMBER(clip_norm, "largest norm of each gradient by itself; 0: no limit"),            \
        RGMI_NUMBER(clip_global_norm, "largest norm of all gradients together; 0: no limit"),      \
        RGM_TEXTS_FIELD(weight_decay_only, "patterns of the parameters that decay; none: all"),    \
        RGM_TEXTS_FIELD(weight_decay_except, "patterns of the parameters that do not decay"),      \
        RGM_GROUP_FIELD(average, rgmi_average_fields, "averages of the weights over time")

/** Options in a struct of a row's own, against its keys and its check. */
rgm_status rgmi_own_check(const rgm_section_type *own, const void *options, const char *path);
rgm_status rgmi_schedule_check(const rgm_schedule *schedule);
/** RGM_ERR_CONFIG naming the number that no optimizer can work with. */
rgm_status rgmi_optimizer_options_check(const rgm_optimizer_options *options);

/* ---- slots --------------------------------------------------------------------------------- */

/** A slot of the shape of `w`. */
rgm_slot rgmi_slot_like(const char *name, const rgm_tensor *w, double initial);

/* ---- privacy -------------------------------------------------------------------------------- */

/** Order i: 1.1, 1.2, ... 10.9, 11, 12, ... 63 (as Opacus, and 11), 128, 256, 512, 1024. */
double rgmi_privacy_order(int64_t i);

/* ---- the object ---------------------------------------------------------------------------- */

/* One parameter's share: its slots, and what the patterns say of its name. */
typedef struct rgmi_parameter_share {
    int64_t first_slot;    /* in the optimizer's slots                                */
    int slot_count;        /* the type's; the average comes after them                */
    rgm_resident *average; /* one of the slots; NULL: none                            */
    rgm_dtype dtype;
    const rgm_kernels *kernels; /* of the optimizer's device, for its dtype                */
    int64_t count;
    double rate_scale;
    bool moves; /* neither a state nor frozen */
    bool away;  /* another process moves it   */
    bool decays, layer_adaptation;
    double norm;     /* of this step's gradient, after clip_value */
    double measured; /* the same before it                        */

    const void *gradient;  /* of this step, on the optimizer's device; NULL: not updated     */
    rgm_tensor *staged;    /* room there for one that lies elsewhere; NULL: not needed yet   */
    rgm_tensor *direction; /* the scratch of one parameter, on a device; NULL: not needed yet */
} rgmi_parameter_share;

typedef struct rgmi_named_slot {
    char *name;
    rgm_resident value; /* {0}: another process has it */
    rgm_slot form;
    int64_t parameter;
} rgmi_named_slot;

/* Sums of squares that are asked for one by one and read together: see place.c. */
typedef struct rgmi_squares {
    const void **x; /* [most], and so the others */
    int64_t *counts;
    const rgm_kernels **kernels;
    double *sums;
    int64_t most, asked, begun;
    rgm_tensor *there; /* f64 [most] of the device; NULL: of the CPU, or not needed yet */
} rgmi_squares;

struct rgm_optimizer {
    rgm_optimizer_options options;
    rgm_arena *lists;              /* what the options point to */
    rgmi_parameter_share *entries; /* in the parameters' order */
    int64_t count;
    rgmi_named_slot *slots;
    int64_t slot_count;
    rgm_device *device; /* that computes the update; the CPU before the first */
    rgmi_squares squares;
    int64_t most;              /* elements of the largest parameter that moves       */
    double *scratch;           /* room for one parameter, if the type wants it       */
    double *clipped;           /* room for one gradient, with clip_value             */
    rgm_tensor *clipped_there; /* the same on a device; NULL: not needed yet         */
    double gradient_norm;
    double rate_factor, least_rate; /* on the schedule's rate; 1: as it is */
    rgm_optimizer_part part;        /* exchange NULL: it moves all              */
    bool swapped;                   /* weights and averages                     */
    bool spoiled;                   /* by an update that overflowed or broke off */
};

/** Whether a step needs room for one parameter more. */
static inline bool rgmi_needs_scratch(const rgm_optimizer *optimizer)
{
    return optimizer->options.type->scratch || optimizer->options.type->direction != NULL;
}

/* ---- where an update is computed: place.c -------------------------------------------------- */

/**
 * Choose the device of this update, and have there whatever it reads and writes: weights, slots,
 * averages, gradients (entries' `gradient`), memory to work in. Nothing has changed after an error.
 */
rgm_status rgmi_place_open(rgm_optimizer *optimizer, const rgm_parameters *parameters,
                           rgm_tensor *const *gradients);
void rgmi_place_close(rgm_optimizer *optimizer);
/** Whether the optimizer's device is one whose memory is not the host's. */
static inline bool rgmi_is_far(const rgm_optimizer *optimizer)
{
    return !rgm_device_is_host(optimizer->device);
}
/** Slot s of the optimizer, where it computes; place_open has brought it there. */
void *rgmi_slot_address(rgm_optimizer *optimizer, int64_t s);

/** Room for `most` sums. */
rgm_status rgmi_squares_open(rgmi_squares *squares, int64_t most);
/** Begin anew. */
void rgmi_squares_clear(rgmi_squares *squares);
/** Ask for the sum of squares of x [count]: one more. */
void rgmi_squares_ask(rgmi_squares *squares, const rgm_kernels *kernels, const void *x,
                      int64_t count);
/** What was asked for so far is computed before whatever is called next. */
void rgmi_squares_begin(rgm_optimizer *optimizer);
/** squares.sums, in the order in which they were asked for; the one wait for them all. */
rgm_status rgmi_squares_read(rgm_optimizer *optimizer);

/** Whether `parameters` are those that the optimizer was made for. */
rgm_status rgmi_optimizer_check_parameters(const rgm_optimizer *optimizer,
                                           const rgm_parameters *parameters);
/** RGM_ERR_DTYPE or RGM_ERR_SHAPE unless a is of b's dtype and shape. */
rgm_status rgmi_check_same(const char *what, const char *name, const rgm_tensor *a,
                           const rgm_tensor *b);
/** Averages := weights; and one move of all averages after update number `n` (1 is the first). */
rgm_status rgmi_averages_copy(rgm_optimizer *optimizer, const rgm_parameters *parameters);
rgm_status rgmi_averages_update(rgm_optimizer *optimizer, const rgm_parameters *parameters,
                                int64_t n);

#endif

/*
 * What the files of optim share among themselves.
 */
#ifndef RGM_OPTIM_INTERNAL_H
#define RGM_OPTIM_INTERNAL_H

#include <regimen/optim.h>

extern const rgm_optimizer_type rgmi_adam_type;
extern const rgm_optimizer_type rgmi_adamw_type;
extern const rgm_optimizer_type rgmi_sgd_type;

/** The keys that every type has, as the first entries of its table of fields. */
#define RGMI_OPTIMIZER_FIELDS                                                                      \
    {.name = "clip_norm",                                                                          \
     .kind = RGM_FIELD_FLOAT,                                                                      \
     .offset = offsetof(rgm_optimizer_options, clip_norm),                                         \
     .max = INFINITY,                                                                              \
     .help = "largest global norm of the gradients; 0: no clipping"},                              \
        {.name = "weight_decay_only",                                                              \
         .kind = RGM_FIELD_TEXTS,                                                                  \
         .offset = offsetof(rgm_optimizer_options, weight_decay_only),                             \
         .help = "patterns of the parameters that decay; none: all"},                              \
    {                                                                                              \
        .name = "weight_decay_except", .kind = RGM_FIELD_TEXTS,                                    \
        .offset = offsetof(rgm_optimizer_options, weight_decay_except),                            \
        .help = "patterns of the parameters that do not decay"                                     \
    }

/** RGM_ERR_CONFIG naming the number that no optimizer can work with. */
rgm_status rgmi_optimizer_options_check(const rgm_optimizer_options *options);

#endif

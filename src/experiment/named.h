/* The table that cmake/embed.cmake makes from configs/. */
#ifndef RGM_EXPERIMENT_NAMED_H
#define RGM_EXPERIMENT_NAMED_H

#include <regimen/experiment.h>

extern const rgm_named_experiment rgmi_named_experiments[]; /* by name */
extern const int64_t rgmi_named_experiment_count;

#endif

/* What the tests of the controller share beside those of the trainer: a controller of the plane
 * task. */
#ifndef RGM_CONTROLLER_CHECK_H
#define RGM_CONTROLLER_CHECK_H

#include <regimen/controller_run.h>

#include "train_check.h"

/* A controller over a trainer of the setup. */
static inline rgm_status open_plane_controller(rgm_controller **out, plane_setup *s,
                                               rgm_trainer *trainer, const char *run_dir)
{
    rgm_controller_setup made = {
        .trainer = trainer, .options = &s->options, .run_dir = run_dir, .config = "test: 1\n"};

    return rgm_controller_create(out, &made);
}

#endif

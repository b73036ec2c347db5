/* What the parts of a trial share. */
#ifndef RGM_TRIAL_INTERNAL_H
#define RGM_TRIAL_INTERNAL_H

#include <regimen/trial.h>

/* trial.c */
/** The batches of the checkpoint that it went on from; 0: none. */
int64_t rgmi_trial_opened_at(const rgm_trial *trial);
/** An error of reading the checkpoint to go on from, as rgm_trial_has_lost_checkpoint() knows it.
 */
rgm_status rgmi_lost_checkpoint(rgm_status status, int64_t batches);
/** RGM_ERR_CONFIG when an experiment is several runs: a trial is one. */
rgm_status rgmi_check_single(const rgm_experiment *experiment, const char *path);
/** RGM_ERR_CONFIG becomes that of a point that cannot be. */
rgm_status rgmi_invalid(rgm_status status);

/* objectives.c */
/** The best weights are chosen by the searcher's metric: what is wrong with it is said of that. */
rgm_status rgmi_of_searcher(rgm_status status, const rgm_search_file *file);
/** RGM_ERR_CONFIG unless validation of an open run gives the searcher's metrics. */
rgm_status rgmi_check_objectives(const rgm_search_file *file, const rgm_open_run *run);

#endif

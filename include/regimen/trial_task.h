/*
 * trial: a program's own model and data (hooks) as one run, without a search: to look at a trial's
 * run folder, and to train what a search found.
 *
 *     rgm_trial_task_create(&task, file, NULL);        a search file of one point
 *     rgm_trial_task_prepare(&options, task, folder);
 *     rgm_trial_task_open(&run, task, &options);       rgm_run_complete(), _evaluate(), _export()
 *
 *     rgm_trial_predictor_open(&predictor, run_dir, NULL, 0);      rgm_predictor_ask()
 */
#ifndef REGIMEN_TRIAL_TASK_H
#define REGIMEN_TRIAL_TASK_H

#include <regimen/trial.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct rgm_trial_task rgm_trial_task;
/**
 * Take the point of a search file with an entrypoint. config.yaml of a trial's run folder is such a
 * file; so is any whose hyperparameters all have one value.
 *
 * @param file   [in] retained
 * @param hooks  [in] in the place of those of the file's entrypoint, borrowed; or NULL
 *
 * Errors: RGM_ERR_CONFIG (there is no entrypoint, or a hyperparameter with several values, which
 * the message names), RGM_ERR_NOMEM.
 */
rgm_status rgm_trial_task_create(rgm_trial_task **out, rgm_search_file *file,
                                 const rgm_trial_hooks *hooks);
/**
 * The task of a run folder, as its config.yaml says; of a registered version with the object that
 * lies in its folder code/. *out is NULL when there is no config.yaml, or one without an
 * entrypoint: an experiment file's run, also that of a premade trial.
 *
 * @param sets  [in] [set_count] "hyperparameters.units=4": as in rgm_experiment_load(). NULL: none
 *
 * Errors: those of rgm_trial_load_merged() and rgm_trial_task_create().
 */
rgm_status rgm_trial_task_load(rgm_trial_task **out, const char *run_dir, const char *const *sets,
                               int64_t set_count);
void rgm_trial_task_release(rgm_trial_task *task); /* takes NULL */
/**
 * Load the shared object, ask its hooks and fill in the options of a run. The task owns what they
 * point to. Receivers become an exporter of the run.
 *
 * @param run_dir  [in] borrowed; NULL: nothing is written
 *
 * Errors: as rgm_trial_open(). RGM_ERR_ARG: it was prepared before.
 */
rgm_status rgm_trial_task_prepare(rgm_run_options *options, rgm_trial_task *task,
                                  const char *run_dir);
/** rgm_run_open() with the prepared task, which must outlive the run. Callbacks are called behind
 * the options' own actions. RGM_ERR_ARG: nothing was prepared. RGM_ERR_UNSUPPORTED: callbacks, and
 * trainer_hooks of the options. */
rgm_status rgm_trial_task_open(rgm_open_run **run, const rgm_trial_task *task,
                               const rgm_run_options *options);
/**
 * rgm_predictor_open() of any folder: also of the run of a program's own model, with its best
 * weights. The program's hooks are called as for training, so that its data, or as much of them as
 * make_data_loaders opens, have to be there. It is asked in
 *
 * - Examples, when a receiver has features: of the first such receiver, its predictions;
 * - else in rows: the numbers of the record's tensors that the predictions of the first receiver
 *   (without receivers all predictions) are made of, one tensor after the other in the record's
 *   order.
 *
 * Errors: those of rgm_predictor_open() and rgm_trial_task_prepare(); RGM_ERR_UNSUPPORTED (nothing
 * is predicted, or of a tensor that no row or feature has), RGM_ERR_NOT_FOUND (there is no object,
 * no checkpoint).
 */
rgm_status rgm_trial_predictor_open(rgm_predictor **out, const char *folder,
                                    const char *const *sets, int64_t set_count);
/** The name of the hooks once it is prepared, the file's entrypoint, and the file's name
 * (rgm_search_file_name()); borrowed. */
const char *rgm_trial_task_name(const rgm_trial_task *task);
const char *rgm_trial_task_entrypoint(const rgm_trial_task *task);
const char *rgm_trial_task_file(const rgm_trial_task *task);

#ifdef __cplusplus
}
#endif
#endif

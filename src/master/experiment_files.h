/*
 * What lies in an experiment's folder beside its trials: its file, and the code of its trials.
 */
#ifndef RGM_MASTER_EXPERIMENT_FILES_H
#define RGM_MASTER_EXPERIMENT_FILES_H

#include "code_origin.h"

#include <regimen/search_code.h>

/**
 * Read the code of a file that an experiment is made of.
 *
 * @param out     [out] cleared with rgm_code_clear(), after an error too
 * @param origin  [out] where it came from; rgmi_code_origin_clear() it. Without a folder: from the
 *                      parent, or there is none
 * @param folder  [in] in which a relative entrypoint is looked for
 * @param parent  [in] an experiment whose copy or continuation this is: where its file names the
 *                     same entrypoint and files, its code is taken, not what lies there today; 0:
 *                     none
 *
 * Errors: those of rgm_code_collect() (an object that is not there is passed over where a program
 * runs trials by a command of its own), RGM_ERR_FORMAT (the parent's is not what it was).
 */
rgm_status rgmi_trial_code_read(rgm_code *out, rgmi_code_origin *origin, rgm_master *master,
                                const rgm_search_file *file, const char *folder, int64_t parent);
/** The files of an experiment's code, without their bytes; none where it has no code of its own.
 * rgm_code_clear() it. */
rgm_status rgmi_experiment_code(rgm_code *out, rgm_master *master, int64_t id);

/** Write experiment.yaml and the code of a new experiment. Errors: RGM_ERR_IO, RGM_ERR_NOMEM. */
rgm_status rgmi_experiment_files_write(rgm_master *master, int64_t id, const rgm_search_file *file,
                                       const rgm_code *code);
/** experiment.yaml of a search that was changed. Errors: RGM_ERR_IO, RGM_ERR_NOMEM. */
rgm_status rgmi_experiment_file_renew(rgm_master *master, const rgmi_experiment *e);
/** Before a trial reads experiment.yaml: one that is not the experiment's any more is written
 * again. Errors: RGM_ERR_IO, RGM_ERR_NOMEM. */
rgm_status rgmi_experiment_file_restore(rgm_master *master, const rgmi_experiment *e);
/** The entrypoint of an experiment whose code is kept: the path of the copy, with ":NAME" where
 * the file has it. Errors: RGM_ERR_NOMEM. */
rgm_status rgmi_experiment_entrypoint(char **out, const rgm_master *master, int64_t id,
                                      const rgm_search_file *file);

#endif

/*
 * What lies in an experiment's folder beside its trials: its file, and the code of its trials.
 */
#ifndef RGM_MASTER_EXPERIMENT_FILES_H
#define RGM_MASTER_EXPERIMENT_FILES_H

#include "master_internal.h"

/** The shared object of an experiment's entrypoint, as it was when the experiment began. */
typedef struct rgmi_trial_code {
    char *data; /* NULL: its trials have no code of their own */
    int64_t size;
    char hash[17]; /* of the bytes, in hexadecimal */
} rgmi_trial_code;
/**
 * Read the code of a file that an experiment is made of.
 *
 * @param folder  [in] in which a relative entrypoint is looked for
 * @param parent  [in] an experiment whose copy or continuation this is: where its file names the
 *                     same entrypoint, its code is taken, not what lies at that path today; 0: none
 *
 * Errors: RGM_ERR_NOT_FOUND (there is no such file; passed over where a program runs trials by a
 * command of its own), RGM_ERR_FORMAT (it is too large, or the parent's is not what it was),
 * RGM_ERR_IO, RGM_ERR_NOMEM. Cleared after an error too.
 */
rgm_status rgmi_trial_code_read(rgmi_trial_code *out, rgm_master *master,
                                const rgm_search_file *file, const char *folder, int64_t parent);
void rgmi_trial_code_clear(rgmi_trial_code *code);

/** Write experiment.yaml and the code of a new experiment. Errors: RGM_ERR_IO, RGM_ERR_NOMEM. */
rgm_status rgmi_experiment_files_write(rgm_master *master, int64_t id, const rgm_search_file *file,
                                       const rgmi_trial_code *code);
/** Before a trial reads experiment.yaml: one that is not the experiment's any more is written
 * again. Errors: RGM_ERR_IO, RGM_ERR_NOMEM. */
rgm_status rgmi_experiment_file_restore(rgm_master *master, const rgmi_experiment *e);
/** The entrypoint of an experiment whose code is kept: the path of the copy, with ":NAME" where
 * the file has it. Errors: RGM_ERR_NOMEM. */
rgm_status rgmi_experiment_entrypoint(char **out, const rgm_master *master, int64_t id,
                                      const rgm_search_file *file);

#endif

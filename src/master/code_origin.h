/*
 * Where an experiment's code came from: its folder, and the commit of git that the folder is of.
 */
#ifndef RGM_MASTER_CODE_ORIGIN_H
#define RGM_MASTER_CODE_ORIGIN_H

#include "master_internal.h"

typedef struct rgmi_code_origin {
    char *folder;          /* NULL: there is no code */
    char *commit, *branch; /* NULL: it is in no work tree of git, or that has no commit */
    bool is_dirty;         /* some file of the work tree is not as in the commit, or is new */
    char *diff;            /* what was changed since, of the whole work tree; NULL: nothing */
    bool is_cut;           /* diff is its first part */
} rgmi_code_origin;

/**
 * Ask git about a folder. Where there is no git, or it does not answer within a few seconds, the
 * log says so, and nothing is known.
 *
 * @param out  [out] cleared with rgmi_code_origin_clear(), after an error too
 *
 * Errors: RGM_ERR_NOMEM.
 */
rgm_status rgmi_code_origin_find(rgmi_code_origin *out, const char *folder);
void rgmi_code_origin_clear(rgmi_code_origin *origin);
/** Its row, of a new experiment. */
rgm_status rgmi_code_origin_insert(rgm_master *master, int64_t experiment,
                                   const rgmi_code_origin *origin);
/** That of another experiment is that of a copy which takes its code. */
rgm_status rgmi_code_origin_inherit(rgm_master *master, int64_t experiment, int64_t parent);

#endif

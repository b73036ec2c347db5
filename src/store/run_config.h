/*
 * With which other config.yaml a run may continue, and what is kept of the change. The caller holds
 * the run folder's lock.
 */
#ifndef RGM_STORE_RUN_CONFIG_H
#define RGM_STORE_RUN_CONFIG_H

#include "store_internal.h"

/** A key whose value differs, both on one line as YAML has them; "": it is not set. */
typedef struct rgmi_config_change {
    char *key, *was, *is;
    rgm_key_rule rule;
} rgmi_config_change;

typedef struct rgmi_config_changes {
    rgmi_config_change *items;
    int64_t count, capacity;
} rgmi_config_changes;

void rgmi_config_changes_clear(rgmi_config_changes *changes);
/**
 * Find every key that differs between two config.yaml texts. RGM_ERR_CONFIG with key, line and both
 * values where the table has no rule for it, or where the data of a RGM_KEY_CONTENT key have
 * another content. `run` is the run folder.
 */
rgm_status rgmi_config_compare(rgmi_config_changes *changes, const char *run, const char *old,
                               const char *now, const rgm_resume_key *keys);
/** Add the changes to changes.jsonl; sync it. Errors: RGM_ERR_IO, RGM_ERR_NOMEM. */
rgm_status rgmi_config_changes_keep(const rgmi_config_changes *changes, const char *run);
/** Write each change to the log of this thread: those of RGM_KEY_TOLD as warnings. */
void rgmi_config_changes_tell(const rgmi_config_changes *changes);
/**
 * Warn in the log of this thread where the data of a RGM_KEY_CONTENT key are others than at the
 * run's start. Errors: RGM_ERR_CONFIG, RGM_ERR_IO, RGM_ERR_NOMEM.
 */
rgm_status rgmi_content_tell(const char *run, const char *config, const rgm_resume_key *keys);
/**
 * Write content.json of a run that has learned nothing yet: a hash of the data that each
 * RGM_KEY_CONTENT key names, if they are there. Errors: RGM_ERR_CONFIG, RGM_ERR_IO, RGM_ERR_NOMEM.
 */
rgm_status rgmi_content_keep(const char *run, const char *config, const rgm_resume_key *keys);

#endif

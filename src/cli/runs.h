/*
 * regimen runs in three files: runs.c finds run folders and sorts them, runs_read.c looks into one,
 * runs_table.c prints them for people. A run is a JSON object throughout, the one that --json
 * prints.
 */
#ifndef RGM_CLI_RUNS_H
#define RGM_CLI_RUNS_H

#include "cli.h"

/* ---- runs_read.c --------------------------------------------------------------------------- */

/** Whether a trainer has ever begun here. */
bool is_run_folder(const char *path);
/**
 * What can be known without loading a run: run_dir, state (finished, running, stopped or damaged,
 * then with reason), description, model, epoch, epochs, step, best {metric, value, step} by its
 * newest checkpoint, last {"valid.loss": ...}, modified. null: not known. NULL: out of memory.
 */
json_t *run_read(const char *path);

/* ---- runs_table.c -------------------------------------------------------------------------- */

/** Aligned columns with the last values of `metrics`; cut at `width` characters unless it is 0. */
rgm_status runs_table(rgm_text *out, const json_t *runs, const text_list *metrics, int64_t width);

#endif

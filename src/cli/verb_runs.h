/*
 * regimen runs in three files: verb_runs.c finds run folders, sorts them and prints JSON,
 * verb_runs_table.c prints them for people, verb_runs_input.c who makes their batches.
 */
#ifndef RGM_CLI_VERB_RUNS_H
#define RGM_CLI_VERB_RUNS_H

#include <regimen/store.h>

#include "cli.h"

typedef struct listed_run {
    char *path;
    char *name; /* the path, safe to show */
    rgm_run_look look;
} listed_run;

typedef struct run_list {
    listed_run *items;
    int64_t count, capacity;
    int64_t foreign;     /* folders without a run */
    rgm_text foreigners; /* the first of them     */
    json_t *series;      /* of folders of several runs: what they came to, with "run_dir" */
} run_list;

/* ---- verb_runs_input.c ----------------------------------------------------------------------- */

/** A file of a run that is a JSON object, as it is; null where there is none, or none that can be
 * read. */
json_t *run_file_json(const char *folder, const char *name);

/** A line about the input workers of a run that is at work; nothing where it has none. */
rgm_status runs_input(rgm_text *out, const listed_run *run);

/* ---- verb_runs_table.c ----------------------------------------------------------------------- */

/** Aligned columns with the last values of `metrics`; cut at `width` characters unless it is 0. */
rgm_status runs_table(rgm_text *out, const run_list *runs, const text_list *metrics, int64_t width);

/** Mean and deviation of what the runs of a folder came to; series: as series_load() has it, with
 * "run_dir". */
rgm_status series_table(rgm_text *out, const json_t *series, int64_t width);

#endif

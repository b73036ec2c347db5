/*
 * experiment: one YAML file from data to export. Sections data, task (or tasks), model, optimizer,
 * trainer, runtime and export; every key is a field of an options struct of the layer that uses it. An
 * unknown key is an error with file, line, column and the nearest name.
 */
#ifndef REGIMEN_EXPERIMENT_H
#define REGIMEN_EXPERIMENT_H

#include <regimen/runner.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct rgm_experiment rgm_experiment;

/**
 * Load a file, lay it over the file that its `extends` names (relative to it; any depth up to 8), then
 * set `sets` ("trainer.epochs=3") in order, and check every key and value.
 *
 * Errors: RGM_ERR_CONFIG "FILE:line:column: what", or "FILE: --set: what"; RGM_ERR_IO.
 */
rgm_status rgm_experiment_load(rgm_experiment **out, const char *path, const char *const *sets,
                               int64_t set_count);
/** The same from a run folder's config.yaml. */
rgm_status rgm_experiment_load_run(rgm_experiment **out, const char *run_dir,
                                   const char *const *sets, int64_t set_count);
void rgm_experiment_release(rgm_experiment *experiment);
/** The merged file as YAML, as it is kept in the run folder. */
const char *rgm_experiment_text(const rgm_experiment *experiment);
/** Name of the file without folder and ending: "cora_gcn". */
const char *rgm_experiment_name(const rgm_experiment *experiment);

/**
 * Load the data and fill in everything for rgm_run(). What `options` points to belongs to the
 * experiment. run_dir is where sampled records are kept ("<run_dir>/samples"); it may be NULL unless the
 * file asks for them.
 */
rgm_status rgm_experiment_prepare(rgm_run_options *options, rgm_experiment *experiment,
                                  const char *run_dir);

/** What a person wants to see before a run: "gcn on data/cora, 1 graph, ...". */
rgm_status rgm_experiment_describe(rgm_text *out, const rgm_experiment *experiment);
/** Every section's keys with their help, for `regimen config`; section NULL: all. */
rgm_status rgm_experiment_keys(rgm_text *out, const char *section);

#ifdef __cplusplus
}
#endif
#endif

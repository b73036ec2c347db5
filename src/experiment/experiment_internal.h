/* The parsed experiment: one struct for each section; sections.c fills it, prepare.c uses it. */
#ifndef RGM_EXPERIMENT_INTERNAL_H
#define RGM_EXPERIMENT_INTERNAL_H

#include <regimen/experiment.h>

#define RGMI_MAX_HPARAMS 256
#define RGMI_MAX_ROWS    8 /* entries of export, actions.train, actions.eval */

#define RGMI_MAX_RESUME_KEYS 80

struct rgm_experiment {
    char *path, *name, *text;
    char *sources;  /* sources.json, made by prepare */
    char *identity; /* of its data, for input workers; NULL: it names none */
    const char *description;
    rgm_yaml *yaml;
    rgm_arena *arena;
    rgm_experiment_value *values;
    int64_t value_count, value_capacity;

    const rgm_extensions *own; /* NULL: none */
    bool serves;               /* it is the model.yaml of an export */
    const rgm_task_type *type;
    rgm_task_setup setup; /* options are in the arena; prepare fills in the run's part */
    rgm_optimizer_options optimizer;
    rgm_trainer_options trainer;
    rgm_runtime_options runtime;
    rgm_exporter exporters[RGMI_MAX_ROWS];
    int64_t exporter_count;
    rgm_action train_actions[RGMI_MAX_ROWS], eval_actions[RGMI_MAX_ROWS];
    int64_t train_action_count, eval_action_count;
    rgm_hparam hparams[RGMI_MAX_HPARAMS];
    int64_t hparam_count;
    rgm_resume_key resume_keys[RGMI_MAX_RESUME_KEYS]; /* made by prepare */

    rgm_task task;       /* made by prepare; without a name before */
    rgm_log_notes notes; /* warned of while it was made */
};

/** RGM_ERR_ARG: a row of the program's own is impossible; the message has its name. */
rgm_status rgmi_extensions_check(const rgm_extensions *own);
/** Row i, the library's before the program's own; NULL after the last. */
const rgm_task_type *rgmi_task_type(const rgm_extensions *own, int64_t i);
const rgm_section_type *rgmi_kind(const rgm_extensions *own, const rgm_task_type *type, int64_t i);
const rgm_section_type *rgmi_model(const rgm_extensions *own, const rgm_task_type *type, int64_t i);
const rgm_exporter_type *rgmi_exporter(const rgm_extensions *own, int64_t i);
const rgm_action_type *rgmi_action(const rgm_extensions *own, int64_t i);
/** Merge the layers into one document. */
rgm_status rgmi_layers_merge(rgm_yaml **out, const rgm_experiment_layers *layers, rgm_arena *arena);
/** Set a key by "key=value"; nodes point into the arena. RGM_ERR_CONFIG. */
rgm_status rgmi_apply_set(rgm_yaml *yaml, const char *set, rgm_arena *arena);
/** A copy that shares nothing with the original. */
rgm_status rgmi_document_copy(rgm_yaml **out, const rgm_yaml *document, const char *name);
/** Fill every section from the document. */
rgm_status rgmi_sections_read(rgm_experiment *experiment);
/** How many folds are run one after the other, and seeds; 1: it is one run. */
int64_t rgmi_fold_count(const rgm_experiment *e);
int64_t rgmi_seed_count(const rgm_experiment *e);
/**
 * Fill data, task and model from the part of an experiment file that an export keeps. Other
 * sections are missing, and so may be the keys of data and tasks that only training needs.
 */
rgm_status rgmi_serving_read(rgm_experiment *experiment);
/** Check the schedule against the run's length, as far as the file gives that. remark may be
 * NULL. */
rgm_status rgmi_rate_check(rgm_text *remark, const rgm_experiment *experiment);
/** List every key with its value. */
rgm_status rgmi_values_collect(rgm_experiment *experiment);
/** Mark the values that have no effect, then check every restriction. */
rgm_status rgmi_restrictions_check(rgm_experiment *experiment);
/** Warn of what means something else in the run that trainer.initialize takes weights from. */
rgm_status rgmi_fine_tuning_tell(const rgm_experiment *experiment);
/** What a run is made for. */
typedef enum rgmi_purpose { RGMI_TO_TRAIN, RGMI_TO_LOOK_AT, RGMI_TO_ASK } rgmi_purpose;
/** Make the task and the options of its run. */
rgm_status rgmi_experiment_prepare(rgm_run_options *options, rgm_experiment *experiment,
                                   const char *run_dir, rgmi_purpose why);
/** Which keys may differ when a run of it continues. */
const rgm_resume_key *rgmi_resume_keys(rgm_experiment *experiment);
/** Where a node was set: "FILE:line", "--set" or "$REGIMEN_..."; NULL: out of memory. */
const char *rgmi_place_text(rgm_arena *arena, const rgm_yaml_node *node);

#endif

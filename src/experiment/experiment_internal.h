/* The parsed experiment: one struct for each section, filled by sections.c, used by prepare.c. */
#ifndef RGM_EXPERIMENT_INTERNAL_H
#define RGM_EXPERIMENT_INTERNAL_H

#include <regimen/experiment.h>

#define RGMI_MAX_HPARAMS 256
#define RGMI_MAX_ROWS    8 /* entries of export, actions.train, actions.eval */

struct rgm_experiment {
    char *path, *name, *text;
    char *sources; /* sources.json, made by prepare */
    const char *description;
    rgm_yaml *yaml;
    rgm_arena *arena;
    rgm_experiment_value *values;
    int64_t value_count, value_capacity;

    const rgm_extensions *own; /* NULL: none */
    bool serves;               /* it is model.yaml of an export */
    const rgm_task_type *type;
    rgm_task_setup setup; /* its options are in the arena; the run's part is filled by prepare */
    rgm_optimizer_options optimizer;
    rgm_trainer_options trainer;
    rgm_runtime_options runtime;
    rgm_exporter exporters[RGMI_MAX_ROWS];
    int64_t exporter_count;
    rgm_action train_actions[RGMI_MAX_ROWS], eval_actions[RGMI_MAX_ROWS];
    int64_t train_action_count, eval_action_count;
    rgm_hparam hparams[RGMI_MAX_HPARAMS];
    int64_t hparam_count;

    rgm_task task; /* made by prepare; without a name before */
};

/** RGM_ERR_ARG: rows of the program's own that cannot be, each by its name. */
rgm_status rgmi_extensions_check(const rgm_extensions *own);
/** Row i, the library's before the program's own; NULL behind the last. */
const rgm_task_type *rgmi_task_type(const rgm_extensions *own, int64_t i);
const rgm_section_type *rgmi_kind(const rgm_extensions *own, const rgm_task_type *type, int64_t i);
const rgm_section_type *rgmi_model(const rgm_extensions *own, const rgm_task_type *type, int64_t i);
const rgm_exporter_type *rgmi_exporter(const rgm_extensions *own, int64_t i);
const rgm_action_type *rgmi_action(const rgm_extensions *own, int64_t i);
/** The layers merged into one document. */
rgm_status rgmi_layers_merge(rgm_yaml **out, const rgm_experiment_layers *layers, rgm_arena *arena);
/** A copy that points to nothing else. */
rgm_status rgmi_document_copy(rgm_yaml **out, const rgm_yaml *document, const char *name);
/** Fill every section from the document. */
rgm_status rgmi_sections_read(rgm_experiment *experiment);
/**
 * Fill data, task and model from what an export keeps of an experiment file: no other section is
 * there, and what data and tasks need only to be trained may be missing.
 */
rgm_status rgmi_serving_read(rgm_experiment *experiment);
/** The schedule against the run's length as far as that is said. remark may be NULL. */
rgm_status rgmi_rate_check(rgm_text *remark, const rgm_experiment *experiment);
/** List every key with its value. */
rgm_status rgmi_values_collect(rgm_experiment *experiment);
/** Mark the values that have no effect, then hold every restriction against the values. */
rgm_status rgmi_restrictions_check(rgm_experiment *experiment);
/** Where a node was set: "FILE:line", "--set" or "$REGIMEN_..."; NULL: out of memory. */
const char *rgmi_place(rgm_arena *arena, const rgm_yaml_node *node);

#endif

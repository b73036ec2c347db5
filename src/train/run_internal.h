/* A run's parts, shared by the files that open, finish, ask and export it. */
#ifndef RGM_TRAIN_RUN_INTERNAL_H
#define RGM_TRAIN_RUN_INTERNAL_H

#include "controller_internal.h"

struct rgm_open_run {
    rgm_run_options options; /* what it points to is the caller's */
    rgm_task task;
    rgm_trainer *trainer;
    rgm_controller *controller;
    rgm_executor *predictors[RGM_MAX_HEADS];

    rgm_logs metrics[3], set_metrics[RGM_MAX_EVAL_SETS];
    char **exports;
    int64_t export_count, export_capacity;
    int64_t exported_step; /* of the last export on the way; -1: none by this process */
};

/* run_check.c */
/** What can be asked before the first step, where there will be one; before anything is written. */
rgm_status rgmi_run_check(const rgm_open_run *run);
/** The plan, and warnings of what is possible but hardly meant, in the run's log. */
rgm_status rgmi_run_remark(const rgm_open_run *run);

/* weights_exporter.c */
extern const rgm_exporter_type rgmi_weights_exporter;

/* saved_model_exporter.c */
extern const rgm_exporter_type rgmi_saved_model_exporter;

/* outputs.c */
enum { RGMI_MOST_OUTPUTS = 2 * RGM_MAX_HEADS };
/** What a model gives: every head by its name, then their probabilities. */
typedef struct rgmi_outputs {
    rgm_export_output items[RGMI_MOST_OUTPUTS];
    rgm_value *values[RGMI_MOST_OUTPUTS];
    char names[RGM_MAX_HEADS][96];
    int64_t count, heads;
} rgmi_outputs;
/** Names may point into `list`: it is not to be moved. */
void rgmi_outputs_of(rgmi_outputs *list, const rgm_task_model *model);

/** As rgm_exporter.save. */
typedef rgm_status rgmi_save(const rgm_open_run *run, const char *folder, void *payload);
/** All outputs by the names that they shall have; o NULL: as the run's own exporter with that
 * `save` was told, if it has one. `list` is not to be moved. */
rgm_status rgmi_export_outputs(rgmi_outputs *list, const rgm_open_run *run, rgmi_save *save,
                               const rgm_onnx_exporter_options *o);
/** How the task's tables become inputs; nothing else is set. */
rgm_status rgmi_export_inputs(rgm_onnx_options *options, const rgm_open_run *run);
/** "graph_sage trained by Regimen" */
void rgmi_export_description(char *text, size_t size, const rgm_open_run *run);
/** signature.json of the exported `file`. */
rgm_status rgmi_save_signature(const rgm_open_run *run, const char *folder, const char *file,
                               const rgmi_outputs *outputs, const rgm_onnx_options *options);
/** Keys of rgm_onnx_exporter_options, and what is asked of them. */
extern const rgm_field rgmi_output_names_fields[];
rgm_status rgmi_check_output_names(const void *options);

/* run_predict.c */
/** Hand each batch of the data to `answer`, until they end or it says RGM_END. */
rgm_status rgmi_each_batch(rgm_dataset *data, const rgm_iterator_options *options,
                           rgm_status (*answer)(rgm_element *batch, void *payload), void *payload);

/* save_serving.c */
/** What a predictor is opened from. */
rgm_status rgmi_save_serving(const rgm_open_run *run, const char *folder);

/* run_exports.c */
/** Those that the finished run is for. */
rgm_status rgmi_run_export_all(rgm_open_run *run);
/** Sweep what a killed export left, and have the controller export on the way, if asked for. */
rgm_status rgmi_run_exports_open(rgm_open_run *run);

#endif

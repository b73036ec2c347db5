/* A run's parts, shared by the files that open, finish, query and export it. */
#ifndef RGM_TRAIN_RUN_INTERNAL_H
#define RGM_TRAIN_RUN_INTERNAL_H

#include "controller_internal.h"

struct rgm_open_run {
    rgm_run_options options; /* the caller owns what it points to */
    rgm_task task;
    rgm_trainer *trainer;
    rgm_controller *controller;
    rgm_executor *predictors[RGM_MAX_HEADS];
    rgm_device *device;                       /* that the run opened, NULL: none */
    rgm_service *service;                     /* of input workers, NULL: none   */
    const rgm_element_type *element_types[2]; /* of the task's batches, ended by NULL */

    rgm_logs metrics[3], set_metrics[RGM_MAX_EVAL_SETS];
    rgm_log_notes notes; /* of before the run had a log          */
    rgm_text identity;   /* of its data, for input workers */
    rgm_text plan;       /* of result.json, when it was first written */
    bool kept_tests;     /* the results on test data are in the run's files */
    char **exports;
    int64_t export_count, export_capacity;
};

/* run_device.c */
/** What runtime.device names, unless the program has one for the trainer. */
rgm_status rgmi_run_open_device(rgm_open_run *run);
/* run_service.c */
/** Listen for input workers, if the run trains with any. */
rgm_status rgmi_run_service_open(rgm_open_run *run);
/** Where input_workers.json is, once there is a folder for it. */
rgm_status rgmi_run_service_report(rgm_open_run *run);

/* run_check.c */
/** Make all checks that are possible before the first step, before anything is written. */
rgm_status rgmi_run_check(const rgm_open_run *run);
/** Log the plan, and warnings of what is possible but probably not intended. */
rgm_status rgmi_run_remark(const rgm_open_run *run);

/* run_outcome.c */
/** Write the run's members of result.json: plan, final metrics, exports. An rgmi_result's
 * `describe`. */
rgm_status rgmi_run_describe_result(rgm_json_writer *w, void *run);

/* weights_exporter.c */
extern const rgm_exporter_type rgmi_weights_exporter;

/* exporter.c */
/** RGM_ERR_CONFIG where a folder has files of another format that the exporter would replace. */
rgm_status rgmi_exporter_fits(const rgm_open_run *run, const rgm_exporter *exporter,
                              const char *folder);

/* saved_model_exporter.c */
extern const rgm_exporter_type rgmi_saved_model_exporter;

/* outputs.c */
/** A model's outputs: every head by its name, then their probabilities. */
typedef struct rgmi_outputs {
    rgm_export_output items[RGM_MAX_OUTPUTS];
    rgm_value *values[RGM_MAX_OUTPUTS];
    char names[RGM_MAX_HEADS][96];
    int64_t count, heads;
} rgmi_outputs;
/** Names may point into `list`, so it must not be moved. */
void rgmi_outputs_of(rgmi_outputs *list, const rgm_task_model *model);

/** As rgm_exporter.save. */
typedef rgm_status rgmi_save(const rgm_open_run *run, const char *folder, void *payload);
/** All outputs under their final names; o NULL: with the options of the run's own exporter with
 * that `save`, if it has one. `list` must not be moved. */
rgm_status rgmi_export_outputs(rgmi_outputs *list, const rgm_open_run *run, rgmi_save *save,
                               const rgm_onnx_exporter_options *o);
/** How the task's tables become inputs, and whether these are parsed of Examples; nothing else is
 * set. */
rgm_status rgmi_export_inputs(rgm_onnx_options *options, const rgm_open_run *run,
                              bool joins_examples);
/** "graph_sage trained by Regimen" */
void rgmi_export_description(char *text, size_t size, const rgm_open_run *run);
/** signature.json of the exported `file`. */
rgm_status rgmi_save_signature(const rgm_open_run *run, const char *folder, const char *file,
                               const rgmi_outputs *outputs, const rgm_onnx_options *options);
/** Keys of rgm_onnx_exporter_options, and their check. */
extern const rgm_field rgmi_output_names_fields[];
rgm_status rgmi_check_output_names(const void *options);

/* run_predict.c */
/** Pass each batch of the data to `answer`, until they end or it returns RGM_END. */
rgm_status rgmi_each_batch(rgm_dataset *data, const rgm_iterator_options *options,
                           rgm_status (*answer)(rgm_element *batch, void *payload), void *payload);

/* predictor_texts.c */
/** Answer prompts, each as it is wished, by a task's `writing`, in which no text is. After an error
 * it has texts. */
rgm_status rgmi_answer_prompts(rgm_answers *out, const rgm_task *task, void *writing,
                               const rgm_questions *questions);

/* save_serving.c */
/** Save what a predictor is opened from; int8: matrices in 8 bits, as rgm_task.int8_axis says. */
rgm_status rgmi_save_serving(const rgm_open_run *run, const char *folder, bool int8);

/* serving_weights.c */
/** RGM_SERVING_WEIGHTS of a folder; int8_axis NULL: all in f32. */
rgm_status rgmi_serving_weights_save(const char *folder, const rgm_parameters *parameters,
                                     int (*int8_axis)(const char *name, const rgm_tensor *tensor));
/** The parameters of a graph from such a file; *int8: some were in 8 bits. */
rgm_status rgmi_serving_weights_load(rgm_parameters **out, bool *int8, const rgm_cgraph *graph,
                                     const char *path);

/* run_exports.c */
/** Make the exports of the finished run. */
rgm_status rgmi_run_export_all(rgm_open_run *run);
/** Errors: RGM_ERR_CONFIG if it is said when or where to export, and there is no exporter. */
rgm_status rgmi_run_exports_check(const rgm_run_options *o);
/** The same where a folder that the exports will go to has files that they may not replace. */
rgm_status rgmi_run_export_folders_check(const rgm_open_run *run);
/** The same if what is to be exported into checkpoints is unknown, or cannot be. */
rgm_status rgmi_run_checkpoint_exports_check(const rgm_open_run *run);
/** Remove leftovers of a killed export and, if requested, let the controller export during
 * training. */
rgm_status rgmi_run_exports_open(rgm_open_run *run);

#endif

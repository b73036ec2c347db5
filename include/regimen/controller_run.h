/*
 * controller_run: an open run, which is a task with its trainer, controller and folder, from data
 * to export; and a predictor, which answers questions with a run's model, or with its export alone.
 */
#ifndef REGIMEN_CONTROLLER_RUN_H
#define REGIMEN_CONTROLLER_RUN_H

#include <regimen/controller.h>
#include <regimen/train_writing.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- runs: a task from data to export -------------------------------------------------------- */

/** An open run: a task with its trainer, its controller and its folder. One thread at a time. */
typedef struct rgm_open_run rgm_open_run;

/** Writes a trained run for others to use. */
typedef struct rgm_exporter {
    const char *name; /* "onnx" */
    rgm_status (*save)(const rgm_open_run *run, const char *folder, void *payload);
    void *payload;
    /** Check before the first step whether `save` can write this model. NULL: save will tell. */
    rgm_status (*check)(const rgm_open_run *run, void *payload);
    bool of_graph; /* it writes named outputs: its payload is a rgm_onnx_exporter_options, or begins
                      as one, or is NULL */
} rgm_exporter;

/** An exporter that an experiment file can name: one row. Its options are the payload. */
typedef struct rgm_exporter_type {
    rgm_section_type section; /* `type` of an entry of `export`, the keys beside it, their check */
    rgm_status (*save)(const rgm_open_run *run, const char *folder, void *options);
    rgm_status (*check)(const rgm_open_run *run, void *options); /* as in rgm_exporter */
    bool of_graph;                                               /* likewise */
} rgm_exporter_type;
/** "onnx", "saved_model", "predictor" (only what rgm_predictor_open() needs), "weights",
 * "ctranslate2" and "huggingface" (of tasks with that rgm_task_format); ended by NULL. */
extern const rgm_exporter_type *const rgm_exporter_types[];

/** Options of the exporter "onnx". */
typedef struct rgm_onnx_exporter_options {
    rgm_lists output_names; /* new names of outputs; the others keep theirs */
} rgm_onnx_exporter_options;
/** Options of the exporter "saved_model"; they begin as those of "onnx". */
typedef struct rgm_saved_model_exporter_options {
    rgm_lists output_names;
    bool
        examples; /* it takes serialized tf.train.Examples of graphs, which are parsed and joined */
} rgm_saved_model_exporter_options;
/** Options of the exporter "weights": only the parameters, in a safetensors file that
 * trainer.initialize accepts. */
typedef struct rgm_weights_exporter_options {
    const char *file; /* in the export folder; NULL: "weights.safetensors" */
    rgm_texts only;   /* shell patterns of parameter names; empty: all     */
    rgm_texts except;
} rgm_weights_exporter_options;

/** Options of the exporter "predictor". */
typedef enum rgm_weight_precision { RGM_WEIGHTS_F32, RGM_WEIGHTS_INT8 } rgm_weight_precision;
typedef struct rgm_predictor_exporter_options {
    rgm_weight_precision precision; /* int8: matrices in 8 bits, by tasks with rgm_task.int8_axis */
} rgm_predictor_exporter_options;
/** The exporter "predictor"; options are borrowed. */
rgm_exporter rgm_predictor_exporter(rgm_predictor_exporter_options *options);
/** The exporter "ctranslate2": model.bin, config.json and vocabularies. */
rgm_exporter rgm_ctranslate2_exporter(void);
/** The exporter "huggingface": config.json, model.safetensors and the tokenizer. */
rgm_exporter rgm_huggingface_exporter(void);

/** How to run a task; fields named as in rgm_controller_setup mean the same. */
typedef struct rgm_run_options {
    rgm_optimizer_options optimizer;
    rgm_trainer_options trainer;
    rgm_runtime_options runtime;
    const char *run_dir;            /* NULL: nothing is written          */
    const char *const *export_dirs; /* NULL: <run_dir>/export            */
    int64_t export_dir_count;
    const rgm_exporter *exporters; /* every exporter runs for every dir */
    int64_t exporter_count;
    /* Called with the folder of each checkpoint before it has its name, beside what
     * trainer.checkpoint.exports says: their files are deleted with the checkpoint. */
    const rgm_exporter *checkpoint_exporters;
    int64_t checkpoint_exporter_count;
    const char *config;  /* text for the run folder; may be NULL */
    const char *sources; /* the same of sources.json             */
    const rgm_resume_key *resume_keys;
    /* What batches follow from, "key: value" lines, for input workers; the files that config names
     * are added to it. May be NULL. */
    const char *data_identity;
    const rgm_log_notes *notes; /* warnings of before, for the run's log; may be NULL */
    const rgm_hparam *hparams;  /* for TensorBoard; may be NULL         */
    int64_t hparam_count;
    rgm_controller_hooks hooks;
    const rgm_trainer_hooks *trainer_hooks;         /* copied; may be NULL */
    const rgm_action *train_actions, *eval_actions; /* see rgm_controller_setup; copied */
    int64_t train_action_count, eval_action_count;
    rgm_run_mode mode; /* default RGM_RUN_TRAIN_AND_EVAL; exporters run after modes that train */
    /* Those that train the run together, each holding a part of runtime.shards: see
     * rgm_trainer_setup. The first one writes the folder, and runs actions and exporters. Borrowed;
     * NULL: this process alone. */
    rgm_comm *comm;
    bool read_only;  /* to evaluate, predict, export: the weights that a finished run would have  */
    bool no_data[3]; /* by rgm_mode, where nothing is trained: see rgm_trainer_setup              */
    /* Only rgm_run_save() writes checkpoints: neither training itself nor its end writes one, and a
     * run that is asked to stop leaves nothing behind. For callers that decide what is kept. */
    bool saves_on_request;
    /* The run owns the task and calls rgm_task_release(), also when opening fails. */
    bool releases_task;
} rgm_run_options;
#define RGM_RUN_OPTIONS_INIT rgm_run_options_default()
rgm_run_options rgm_run_options_default(void);
/** Threads that a run with these options uses: as many as requested, or as the machine has. */
int rgm_runtime_threads(const rgm_runtime_options *runtime);

/**
 * Build the trainer and controller of a task, restored from the run folder or initialized. Nothing
 * is trained yet. If the run is to train, this makes every check that is possible before the first
 * step: the data of every part (rgm_task.check_data), the schedule against the run's length, the
 * exporters against the model. A configuration that is possible but probably not intended is logged
 * as a warning.
 *
 * @param task  [in] copied; its state is borrowed (or see releases_task)
 *
 * Errors: RGM_ERR_CONFIG (options that contradict each other or the data), those of
 * rgm_trainer_create(), rgm_controller_create(), of the task's check_data and of exporters; *out is
 * then NULL, and nothing was written to the run folder unless a run was there.
 * Collective: every rank calls it.
 */
rgm_status rgm_run_open(rgm_open_run **out, const rgm_task *task, const rgm_run_options *options);
/** Close the run and release the folder's lock; nothing is saved. Takes NULL. */
void rgm_run_close(rgm_open_run *run);
/**
 * Do the rest of the run: train and evaluate as options.mode says, compute the final metrics of
 * every part, then export.
 *
 * Errors: RGM_STOPPED (asked to stop; state saved, the run continues when opened again), those of
 * rgm_controller_run() and of exporters.
 * Collective: every rank calls it.
 */
rgm_status rgm_run_complete(rgm_open_run *run);

/** How to make batches for a trainer elsewhere. */
typedef struct rgm_serve_options {
    int threads; /* batches at once */
    bool stays;  /* see rgm_input_worker */
    bool (*should_stop)(void *payload);
    void *payload;
} rgm_serve_options;
/**
 * Make training batches of a task, as an input worker of the trainer at
 * runtime.input_workers.address, until it wants no more. Nothing else of the task is built.
 *
 * @param made  [out] the batches that were sent; may be NULL
 *
 * Errors: RGM_ERR_CONFIG (no address, no training data, private training), those of build_inputs
 * and of rgm_input_worker_serve().
 */
rgm_status rgm_run_serve(int64_t *made, const rgm_task *task, const rgm_run_options *options,
                         const rgm_serve_options *serve);

/* The same in units, for callers that decide themselves what comes next. */

/**
 * Train until a total of `steps` steps are done. RGM_END: training ended earlier, because data that
 * do not repeat ended (when the length is given in epochs; with trainer.train_steps they repeat) or
 * by early stopping.
 * Errors: rgm_controller_train(). Collective: every rank calls it.
 */
rgm_status rgm_run_train(rgm_open_run *run, int64_t steps);
/**
 * Make one pass over `steps` batches of a part, RGM_TO_END for all.
 * Errors: those of rgm_controller_evaluate(). Collective: every rank calls it.
 */
rgm_status rgm_run_evaluate(rgm_open_run *run, rgm_mode mode, int64_t steps, const rgm_logs **logs);
/**
 * Batches of a part, which has data, that a finished run is judged by, for rgm_run_evaluate(): of
 * validation trainer.validation_steps; of training data that never end an epoch's worth, 0 where
 * none is known; else RGM_TO_END, all of it.
 */
int64_t rgm_run_judged_steps(const rgm_open_run *run, rgm_mode mode);
/**
 * Save a checkpoint now.
 * Errors: those of rgm_controller_save(). Collective: every rank calls it.
 */
rgm_status rgm_run_save(rgm_open_run *run);
/**
 * Run every exporter on the current weights; without exporters write ONNX. folder NULL:
 * <run_dir>/export.
 *
 * Errors: RGM_ERR_CONFIG (no folder), those of exporters, with their names.
 */
rgm_status rgm_run_export(rgm_open_run *run, const char *folder);

/** A final metric; mode is "train", "valid", "test" or a set such as "valid_news". NaN when there
 * is none. */
double rgm_run_metric(const rgm_open_run *run, const char *mode, const char *name);
/** All final metrics of a mode, borrowed; empty before rgm_run_complete(). */
const rgm_logs *rgm_run_metrics(const rgm_open_run *run, rgm_mode mode);
/** All final metrics of one of the trainer's eval_sets, borrowed. */
const rgm_logs *rgm_run_set_metrics(const rgm_open_run *run, int64_t set);
/** The last epochs' metrics of this call: see rgm_controller_history(). */
int64_t rgm_run_history(const rgm_epoch_logs **records, const rgm_open_run *run);
int64_t rgm_run_steps(const rgm_open_run *run);
int64_t rgm_run_saved_step(const rgm_open_run *run); /* of the last checkpoint; -1: none */
int64_t rgm_run_epochs(const rgm_open_run *run);
int64_t rgm_run_best_step(const rgm_open_run *run); /* -1: no validation */
/** Folders exported to, in order; NULL after the last. */
int64_t rgm_run_export_count(const rgm_open_run *run);
const char *rgm_run_export_dir(const rgm_open_run *run, int64_t i);

/** Append a description of what the run does with its data (rgm_task.plan), and before it of the
 * device that computes unless that is the CPU. Errors:
 * RGM_ERR_NOMEM. */
rgm_status rgm_run_plan(rgm_text *out, const rgm_open_run *run);

/* The parts of a run, borrowed. */
const rgm_task *rgm_run_task(const rgm_open_run *run);
rgm_trainer *rgm_run_trainer(const rgm_open_run *run);
rgm_controller *rgm_run_controller(const rgm_open_run *run);
/** Heads and loss. */
const rgm_task_model *rgm_run_model(const rgm_open_run *run);

/** The predictions of a head for a batch; everything is borrowed for the call. */
typedef struct rgm_prediction {
    rgm_element *batch;
    const rgm_feed *feeds;
    int64_t feed_count;
    const rgm_tensor *values;        /* [n, units]                                     */
    const rgm_tensor *probabilities; /* the same shape, rgm_head.probabilities; NULL: none */
} rgm_prediction;
/** Called with each batch; RGM_END stops without an error. */
typedef rgm_status rgm_prediction_sink(const rgm_prediction *prediction, void *payload);
/**
 * Predict one pass over the batches of a part, in order, with the current weights.
 *
 * Errors: RGM_ERR_NOT_FOUND (no such data), RGM_ERR_ARG (no such head), those of data and sink.
 */
rgm_status rgm_run_predict(const rgm_open_run *run, rgm_mode mode, int64_t head,
                           rgm_prediction_sink *sink, void *payload);
/**
 * Predictions of a head for these feeds; *out [n, units] is owned.
 * Errors: RGM_ERR_ARG (no such head), those of rgm_executor_run().
 */
rgm_status rgm_run_predict_feeds(rgm_tensor **out, const rgm_open_run *run, int64_t head,
                                 const rgm_feed *feeds, int64_t count);

/**
 * Exports model.onnx (export.h). Every head is an output with the head's name. Its probabilities,
 * if it has some, are the output "probabilities" (with several heads "<name>.probabilities"). The
 * payload, a rgm_onnx_exporter_options, can rename outputs; NULL takes the options of the run's own
 * exporter "onnx", else of "saved_model", if it has one. signature.json describes inputs and
 * outputs. For a task that can be served (rgm_task.save_serving) it also writes what
 * rgm_predictor_open() needs: RGM_SERVING_WEIGHTS, the task's files for serving and, for runs with
 * a config, RGM_SERVING_MODEL. A task may write something else instead (rgm_task.exports). The
 * task's files (rgm_task.files), such as a tokenizer, are copied beside it.
 */
rgm_exporter rgm_onnx_exporter(void);
/**
 * Exports a TensorFlow SavedModel (rgm_saved_model_save() of export.h) into the export folder
 * itself, so that TensorFlow Serving sees numbered exports as versions: saved_model.pb, with
 * inputs, outputs and payload as for rgm_onnx_exporter(), and assets.extra/signature.json, which
 * describes them. Saving and checking give RGM_ERR_UNSUPPORTED also for a task that exports several
 * graphs (rgm_task.exports).
 */
rgm_exporter rgm_saved_model_exporter(void);
/** The same that takes Examples of graphs: signature "serving_default" has the input `examples`,
 * signature "tensors" the tables. RGM_ERR_UNSUPPORTED for a task that has no tables. */
rgm_exporter rgm_saved_model_examples_exporter(void);
/** The first file to open of an rgm_onnx_exporter() export: "model.onnx", or the task's. */
const char *rgm_run_onnx_file(const rgm_open_run *run);
/**
 * Run the files that rgm_onnx_exporter() wrote into a folder with export's interpreter, on up to
 * max_batches batches of a mode's data, and compare with the executor. RGM_ERR_DATA when an output
 * differs by more than 1e-4 (relative for values above 1), RGM_ERR_NOT_FOUND when there are no such
 * data.
 */
rgm_status rgm_run_verify_onnx(rgm_export_check *check, const rgm_open_run *run, const char *folder,
                               rgm_mode mode, int64_t max_batches);
/**
 * Write files for a comparison with another runtime: for every batch of a mode's data the tables
 * that the exported graph takes (and perhaps more) as <folder>/inputs-<n>.safetensors, and the
 * model's results as outputs-<n>.safetensors, n from 0. RGM_ERR_IO when a file already exists,
 * RGM_ERR_UNSUPPORTED for a task that exports several graphs.
 *
 * @param exporter  [in] rgm_onnx_exporter() or rgm_saved_model_exporter(): its names are used
 */
rgm_status rgm_run_dump_onnx(int64_t *batches, const rgm_open_run *run, const char *folder,
                             rgm_mode mode, const rgm_exporter *exporter);

/* ---- asking ---------------------------------------------------------------------------------- */

/**
 * A trained model that answers questions, whatever its task: rows of numbers, graphs as
 * tf.train.Examples, lines of text. Of an export it needs neither the training data, an optimizer
 * nor a run folder: it runs the task's model with the library's executor and the weights of the
 * export. One thread at a time; several predictors may work at once and share the pool
 * (rgm_threads_set()).
 */
typedef struct rgm_predictor rgm_predictor;
/** Where rgm_onnx_exporter() puts the files that rgm_predictor_open() (experiment.h) reads. */
#define RGM_SERVING_MODEL   "model.yaml"
#define RGM_SERVING_WEIGHTS "model.safetensors"
/** What 8 bits change, as rgm_task.judge_int8 tells it, where weights are kept so. */
#define RGM_SERVING_QUALITY "quality.json"
/**
 * @param task     [in, taken] with its state, also when this fails; zeroed
 * @param weights  [in] a .safetensors file with exactly the parameters of the task's model; those
 * in 8 bits (i8, and f32 NAME.row_steps or NAME.column_steps) become f32
 *
 * Errors: RGM_ERR_UNSUPPORTED (the task has no model, or accepts no form of questions),
 * RGM_ERR_NOT_FOUND and RGM_ERR_SHAPE (weights of another model: the first name), RGM_ERR_FORMAT
 * (damaged weights), those of build_model.
 */
rgm_status rgm_predictor_create(rgm_predictor **out, rgm_task *task, const char *weights);
/**
 * A predictor of an open run, with its weights as they are and on its device. The run must outlive
 * it. Examples for a run that was opened with its data have labels as those have; one that
 * rgm_experiment_prepare_asked() prepared needs none. Errors: RGM_ERR_UNSUPPORTED (the task's model
 * predicts nothing), RGM_ERR_NOMEM.
 */
rgm_status rgm_run_predictor(rgm_predictor **out, rgm_open_run *run);
void rgm_predictor_release(rgm_predictor *predictor);
/** Call `release(owner)` last when the predictor is released: for what the task borrows. Once. */
void rgm_predictor_keep(rgm_predictor *predictor, void (*release)(void *owner), void *owner);
/** The outputs, borrowed: every head by its name, then their probabilities, as in model.onnx; of a
 * task that answers lines or prompts its own. Returns their number. */
int64_t rgm_predictor_outputs(const rgm_export_output **outputs, const rgm_predictor *predictor);
/** Those of rgm_predictor_run_files(): the heads of any task that reads files. */
int64_t rgm_predictor_file_outputs(const rgm_export_output **outputs,
                                   const rgm_predictor *predictor);
/** The form in which it is asked. Errors: RGM_ERR_UNSUPPORTED (in none). */
rgm_status rgm_predictor_form(rgm_question_form *out, const rgm_predictor *predictor);
/** The kind of list that an Example has under a key, such as "nodes/paper.words";
 * RGM_FEATURE_NONE: the model's graphs have no such key, or it is asked in another form. */
rgm_feature_kind rgm_predictor_example_kind(const rgm_predictor *predictor, const char *key);
/**
 * Answer questions, in their order.
 *
 * @param out        [out, owned] rgm_answers_clear(); its outputs are rgm_predictor_outputs()
 * @param questions  [in] in the form of rgm_predictor_form()
 *
 * Errors: RGM_ERR_UNSUPPORTED (the task accepts none, or another form), RGM_ERR_ARG (none given),
 * RGM_ERR_SHAPE and RGM_ERR_DTYPE (of rows), RGM_ERR_FORMAT and RGM_ERR_DATA (a question that
 * cannot be answered: "example 3: ...", "line 3: ...", "prompt 3: ..."; a number that is not
 * finite),
 * RGM_ERR_NOT_FOUND (a missing feature), RGM_ERR_NOMEM.
 */
rgm_status rgm_predictor_ask(rgm_answers *out, rgm_predictor *predictor,
                             const rgm_questions *questions);
/**
 * Texts token by token, many together: of a predictor that is asked in prompts. They join between
 * two steps and leave when they have ended, and each has the same tokens beside any others.
 *
 *     rgm_predictor_prepare(&text, predictor, prompt, NULL);
 *     rgm_predictor_join(predictor, text, 0, mine);                     at any time
 *     while (rgm_predictor_texts(predictor) > 0)
 *         rgm_predictor_step(predictor, tell, payload);                 tell(): each as it is now
 *
 * Read a prompt, and what is wished of its text (rgm_questions.wishes; NULL: nothing). Threads:
 * any, beside all else. Errors: RGM_ERR_UNSUPPORTED (it writes no texts), RGM_ERR_DATA (a prompt
 * that is too long, an unknown wish, a value out of bounds), those of the tokenizer, RGM_ERR_NOMEM.
 *
 * @param out  [out] for rgm_predictor_join(), or rgm_predictor_discard()
 */
rgm_status rgm_predictor_prepare(void **out, const rgm_predictor *predictor, rgm_str prompt,
                                 const rgm_json *wishes);
void rgm_predictor_discard(const rgm_predictor *predictor, void *prepared);
/** Up to `most` texts are written together, 0: as many as the model's file says. Without it the
 * first that joins does this. RGM_ERR_ARG: texts are written already; RGM_ERR_UNSUPPORTED,
 * RGM_ERR_NOMEM. */
rgm_status rgm_predictor_write(rgm_predictor *predictor, int64_t most);
/**
 * A text joins, to be begun by one of the next steps.
 *
 * @param prepared  [in, taken] also after an error
 * @param number    [in] what is drawn depends on it, where the wishes have no seed
 * @param mine      [in] rgm_written.mine
 *
 * Errors: RGM_ERR_UNSUPPORTED, RGM_ERR_NOMEM.
 */
rgm_status rgm_predictor_join(rgm_predictor *predictor, void *prepared, int64_t number, void *mine);
/** How many have joined and not ended. */
int64_t rgm_predictor_texts(const rgm_predictor *predictor);
/** One token more for each; the sink is called with each that has one, and a last time with its
 * end. Errors: RGM_ERR_NUMERIC, RGM_ERR_NOMEM, RGM_ERR_IO: all texts have left then, untold. */
rgm_status rgm_predictor_step(rgm_predictor *predictor, rgm_written_sink *sink, void *payload);
/**
 * Predictions of a head for batches of data that a user names (rgm_task.build_file_inputs).
 * Errors: RGM_ERR_UNSUPPORTED (the task reads no files), RGM_ERR_ARG (no such head), those of data
 * and sink.
 */
rgm_status rgm_predictor_run_files(rgm_predictor *predictor, const rgm_new_data *files,
                                   int64_t head, rgm_prediction_sink *sink, void *payload);
/** The predictor's task, borrowed. */
const rgm_task *rgm_predictor_task(const rgm_predictor *predictor);
/** Its weights, borrowed: for functions of its task that take them; and whether the file kept them
 * in 8 bits. */
const rgm_parameters *rgm_predictor_parameters(const rgm_predictor *predictor);
bool rgm_predictor_int8(const rgm_predictor *predictor);

#ifdef __cplusplus
}
#endif
#endif

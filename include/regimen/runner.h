/*
 * runner: a graph network from data to export in one call. rgm_run() joins data providers, a base
 * GNN, one task or several, an optimizer and the trainer into one run folder. It owns no loop: the
 * trainer does (train.h).
 *
 * Data go through these stages: examples are batched, parsed to graphs and merged into components,
 * padded if asked for, and given to the feature processors in order. Inside the compute graph each
 * task then takes its labels out of the graph, features of auxiliary sets ("_readout") are dropped,
 * the base GNN runs once for each distinct graph, and each task predicts from the result.
 */
#ifndef REGIMEN_RUNNER_H
#define REGIMEN_RUNNER_H

#include <regimen/data.h>
#include <regimen/export.h>
#include <regimen/graph.h>
#include <regimen/models.h>
#include <regimen/optim.h>
#include <regimen/task.h>
#include <regimen/train.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- providers ----------------------------------------------------------------------------- */

/**
 * Where unbatched examples come from. Constructors return NULL and record an error when they fail;
 * rgm_run() reports it, so a program may check once. Counted.
 */
typedef struct rgm_provider rgm_provider;

/** For a provider of one's own. */
typedef struct rgm_provider_type {
    const char *name;
    /**
     * A recipe of elements that are serialized tf.train.Examples (bytes) or graphs (pointer
     * elements of type rgm_graph_element). `training` asks for shuffling where the provider
     * shuffles.
     */
    rgm_status (*dataset)(rgm_dataset **out, void *state, bool training);
    /** The schema of its graphs if it knows it (borrowed), else NULL. May be NULL. */
    rgm_schema *(*schema)(void *state);
    /** Elements are whole mini-batches already: they are not batched or merged again. */
    bool batched;
    void (*release)(void *state);
} rgm_provider_type;
rgm_provider *rgm_provider_create(const rgm_provider_type *type, void *state);
rgm_provider *rgm_provider_retain(rgm_provider *provider);
void rgm_provider_release(rgm_provider *provider);
rgm_schema *rgm_provider_schema(const rgm_provider *provider); /* borrowed, or NULL */
rgm_status rgm_provider_dataset(rgm_dataset **out, const rgm_provider *provider, bool training);

/** Options of rgm_tfrecord_provider(). */
typedef struct rgm_tfrecord_provider_options {
    const char *file_pattern;      /* glob or "name@N"                                   */
    bool shuffle_filenames;        /* when training                                      */
    int64_t examples_shuffle_size; /* buffer, when training; 0: none                     */
    int64_t cycle_length;          /* files read at once, default 1                      */
    int64_t max_bad_records;       /* skipped before it is an error, default 0           */
} rgm_tfrecord_provider_options;
/** TFRecord files of serialized tf.train.Examples. */
rgm_provider *rgm_tfrecord_provider(const rgm_tfrecord_provider_options *options);

/** Graphs in memory, retained; in another order each epoch when training and `shuffle`. */
rgm_provider *rgm_graphs_provider(rgm_graph *const *graphs, int64_t count, bool shuffle);

/**
 * One part ("train", "valid" or "test") of an imported data set. One big graph: the graph itself,
 * asked about the part's nodes through "_readout" (full-graph training). Many graphs: the part's
 * graphs.
 */
rgm_provider *rgm_source_provider(const rgm_source *source, const char *part);
/** The same straight from an OGB folder with default import options. */
rgm_provider *rgm_ogb_provider(const char *path, const char *split, const char *part);

/** Options of rgm_sampling_provider(). */
typedef struct rgm_sampling_provider_options {
    const rgm_sampling_spec *spec;
    int64_t batch_size; /* seeds a mini-batch                                                     */
    const char *label;  /* feature of the seed node set, moved to "_readout"                      */
    bool shuffle;       /* seeds in another order each epoch when training                        */
    bool resample;      /* other neighbours each epoch when training; else those of epoch 0       */
    uint64_t seed;
    int threads; /* mini-batches sampled at once                                           */
} rgm_sampling_provider_options;
/** Mini-batches sampled in memory around the seeds [n] i64 of one big graph (retained). */
rgm_provider *rgm_sampling_provider(rgm_graph *graph, rgm_tensor *seeds,
                                    const rgm_sampling_provider_options *options);

/**
 * A random mix of providers, each element from provider i with weight weights[i]; ends with the
 * first that ends (provider 0 when the others repeat for ever).
 */
rgm_provider *rgm_mix_provider(rgm_provider *const *providers, const double *weights,
                               int64_t count);

/* ---- run ----------------------------------------------------------------------------------- */

/** A feature map outside training: a new graph from a graph; may change the schema. */
typedef struct rgm_feature_processor {
    rgm_status (*process)(rgm_graph **out, rgm_graph *graph, void *payload);
    void *payload;
} rgm_feature_processor;

/** Padding of batches to fixed sizes. */
typedef enum rgm_padding_kind {
    RGM_PADDING_NONE,
    RGM_PADDING_TIGHT, /* the largest example times the batch size; nothing is lost             */
    RGM_PADDING_FIT_OR_SKIP /* sizes that fit success_ratio of random batches; others are dropped */
} rgm_padding_kind;
typedef struct rgm_padding {
    rgm_padding_kind kind;
    int64_t min_nodes_per_component; /* default 1 */
    int64_t sample_size;             /* fit or skip: examples looked at, default 10000 */
    double success_ratio;            /* fit or skip: default 0.99                      */
} rgm_padding;
#define RGM_PADDING_INIT                                                                           \
    {                                                                                              \
        .min_nodes_per_component = 1, .sample_size = 10000, .success_ratio = 0.99                  \
    }

typedef struct rgm_run_result rgm_run_result;

/** Writes a trained run for others to use. */
typedef struct rgm_exporter {
    const char *name; /* "onnx" */
    rgm_status (*save)(const rgm_run_result *result, const char *export_dir, void *payload);
    void *payload;
} rgm_exporter;
/**
 * model.onnx with the preprocessing in it (export.h): every head is an output of its name. A task
 * may say what it writes instead (rgm_task.exports). Beside it the task's files (rgm_task.files): a
 * tokenizer, say.
 */
rgm_exporter rgm_onnx_exporter(void);
/** The file of rgm_onnx_exporter() to begin with: "model.onnx", or the task's. */
const char *rgm_run_onnx_file(const rgm_run_result *result);

/**
 * Run what rgm_onnx_exporter() wrote into a folder with export's interpreter on up to max_batches
 * batches of a mode's data and compare. RGM_ERR_DATA when a logit differs by more than 1e-4,
 * RGM_ERR_NOT_FOUND when there are no such data.
 */
rgm_status rgm_run_verify_onnx(rgm_export_check *check, const rgm_run_result *result,
                               const char *folder, rgm_mode mode, int64_t max_batches);

/**
 * For another ONNX runtime to be compared with: what the exported graph takes and what the model
 * gives for every batch of a mode's data, as <folder>/inputs-<n>.safetensors and
 * outputs-<n>.safetensors, n from 0. RGM_ERR_IO when a file is there already, RGM_ERR_UNSUPPORTED
 * for a task that exports several graphs.
 */
rgm_status rgm_run_dump_onnx(int64_t *batches, const rgm_run_result *result, const char *folder,
                             rgm_mode mode);

/** Every argument of a run. */
typedef struct rgm_run_options {
    rgm_provider *train_data; /* required; the run retains what it needs */
    rgm_provider *valid_data; /* NULL: no validation                     */
    rgm_provider *test_data;  /* NULL: none                              */
    rgm_schema *schema;       /* of one example; NULL: the provider's    */

    rgm_model_fn *model_fn;
    void *model_payload;
    rgm_gnn_task task;         /* a single task, or                     */
    const rgm_gnn_task *tasks; /* several, each with a name             */
    int64_t task_count;
    const double *loss_weights; /* [task_count], NULL: ones              */

    rgm_optimizer_options optimizer;
    rgm_trainer_options trainer;
    int64_t epochs;            /* overrides trainer.epochs when > 0     */
    int64_t global_batch_size; /* examples a step, default 1            */
    bool drop_remainder;
    int64_t steps_per_execution; /* overrides the trainer's when > 0      */
    bool run_eagerly;            /* likewise when true                    */

    const rgm_feature_processor *feature_processors;
    int64_t feature_processor_count;
    rgm_padding train_padding, valid_padding;

    const char *run_dir;            /* NULL: nothing is written              */
    const char *const *export_dirs; /* NULL: <run_dir>/export                */
    int64_t export_dir_count;
    const rgm_exporter *exporters; /* every exporter runs for every dir     */
    int64_t exporter_count;

    rgm_runtime_options runtime; /* seed, threads, precision              */
    const char *config;          /* text for the run folder; may be NULL  */
    const rgm_hparam *hparams;   /* for TensorBoard; may be NULL          */
    int64_t hparam_count;
    rgm_controller_hooks hooks;
    /** Called with hooks.payload when all is built (and restored), before the first step; may be
     * NULL. */
    rgm_status (*begin)(const rgm_run_result *run, void *payload);
    rgm_run_mode mode; /* default RGM_RUN_TRAIN_AND_EVAL: exporters run behind modes that train */
    bool no_training;  /* build and restore only: evaluate, predict, export */
    bool no_data[3];   /* with no_training or a mode that does not train, by rgm_mode: the
                          trainer leaves these data alone (rgm_trainer_setup) */
} rgm_run_options;
#define RGM_RUN_OPTIONS_INIT rgm_run_options_default()
rgm_run_options rgm_run_options_default(void);

/**
 * Train, validate, test and export.
 *
 * @param result  [out, owned] set on RGM_OK, and on RGM_STOPPED (then with what there is)
 *
 * Errors: RGM_STOPPED (asked to stop; the same call continues), RGM_ERR_CONFIG (arguments that
 * contradict each other or the data), and those of providers, tasks, trainer and exporters.
 */
rgm_status rgm_run(rgm_run_result **result, const rgm_run_options *options);
/**
 * The same for a task that is no graph network (train.h): of the options those from `optimizer` on,
 * without global_batch_size, drop_remainder, feature processors and padding. The task is copied.
 */
rgm_status rgm_run_task(rgm_run_result **result, const rgm_task *task,
                        const rgm_run_options *options);
void rgm_run_result_release(rgm_run_result *result);

/** A final metric: mode "train", "valid" or "test"; NaN when there is none. */
double rgm_run_metric(const rgm_run_result *result, const char *mode, const char *name);
const rgm_logs *rgm_run_metrics(const rgm_run_result *result, rgm_mode mode);
/** Every epoch's metrics of this call; the run folder's metrics.jsonl has them all. */
int64_t rgm_run_history(const rgm_epoch_record **records, const rgm_run_result *result);
int64_t rgm_run_steps(const rgm_run_result *result);
int64_t rgm_run_epochs(const rgm_run_result *result);
int64_t rgm_run_best_step(const rgm_run_result *result); /* -1: no validation */
int64_t rgm_run_export_count(const rgm_run_result *result);
const char *rgm_run_export(const rgm_run_result *result, int64_t i);

/* The models of a run, borrowed. */
rgm_trainer *rgm_run_trainer(const rgm_run_result *result);
rgm_controller *rgm_run_controller(const rgm_run_result *result);
/** The graph before and behind the base GNN (of task 0), and the trained model: heads and loss. */
const rgm_graph_value *rgm_run_input(const rgm_run_result *result);
const rgm_graph_value *rgm_run_base_model(const rgm_run_result *result);
const rgm_task_model *rgm_run_trained_model(const rgm_run_result *result);
/** The preprocess model: examples (serialized, or a graph as it is) to one merged, processed graph.
 */
rgm_status rgm_run_preprocess(rgm_graph **out, const rgm_run_result *result,
                              rgm_element *const *examples, int64_t count);
/** Predictions of head `head` [n, units] for a preprocessed graph; *out is owned. */
rgm_status rgm_run_predict(rgm_tensor **out, const rgm_run_result *result, int64_t head,
                           rgm_graph *graph);
/**
 * One pass over a part's batches, calling `visit` with each batch's graph (NULL for a task that is
 * no graph network) and predictions, both borrowed.
 */
typedef rgm_status rgm_predict_sink(void *payload, rgm_graph *graph, const rgm_tensor *predictions);
rgm_status rgm_run_predict_all(const rgm_run_result *result, rgm_mode mode, int64_t head,
                               rgm_predict_sink *visit, void *payload);

#ifdef __cplusplus
}
#endif
#endif

/*
 * trial: one point of a search, trained. An experiment file with a searcher; the sequencer that
 * turns what a searcher asks for into workloads; and a trial, which is an open run driven by
 * workloads in a run folder of its own.
 *
 *     rgm_search_file   an experiment file with `searcher` and `hyperparameters`
 *     rgm_sequencer     train a step, validate, checkpoint: which comes next, what a failure undoes
 *     RGM_TRIAL(...)    hooks: a model and data of one's own, `entrypoint: ./digits.so`
 *     rgm_trial         does workloads: rgm_run_train(), _evaluate() and _save() of an open run
 *
 *     while (rgm_sequencer_next(&workload, sequencer)) {
 *         rgm_trial_do(trial, &workload, &result);
 *         rgm_sequencer_completed(&asked, sequencer, &workload, is_best);
 *     }
 *
 * Nothing here knows of other trials, processes or databases: that is master's. Workloads have
 * PEDL's meaning (docs/trial.md says where they differ).
 */
#ifndef REGIMEN_TRIAL_H
#define REGIMEN_TRIAL_H

#include <regimen/experiment.h>
#include <regimen/search.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- search files ---------------------------------------------------------------------------- */

/** Behind which validations a checkpoint is made of itself. */
typedef enum rgm_checkpoint_policy {
    RGM_POLICY_BEST, /* those that are the best of the whole search so far */
    RGM_POLICY_ALL,
    RGM_POLICY_NONE
} rgm_checkpoint_policy;

/** Which checkpoints are kept when the search is over: all that any of the three counters names. */
typedef struct rgm_checkpoint_storage {
    int64_t save_experiment_best; /* default 0 */
    int64_t save_trial_best;      /* default 1 */
    int64_t save_trial_latest;    /* default 1 */
} rgm_checkpoint_storage;

typedef struct rgm_trial_resources {
    int64_t slots_per_trial; /* cores of a trial: its runtime.threads, unless that is given;
                                default 1 */
    int64_t max_slots;       /* of all trials together; 0: no bound               */
    int64_t priority;        /* 1..99, small first; default 42                    */
    double weight;           /* of a fair share; default 1                        */
} rgm_trial_resources;

typedef enum rgm_scheduler_type { RGM_SCHEDULER_LOCAL, RGM_SCHEDULER_SLURM } rgm_scheduler_type;

/** Where trials run. Texts are NULL, numbers 0 where nothing is said. */
typedef struct rgm_scheduler_options {
    rgm_scheduler_type type; /* default local: processes of this machine */
    /* slurm alone: */
    const char *partition, *account, *qos;
    const char *time;   /* of a job, as sbatch --time takes it          */
    const char *memory; /* of a job, as sbatch --mem takes it           */
    rgm_texts options;  /* more of sbatch's, each whole: "--constraint=icelake" */
    rgm_texts setup;    /* lines of shell before the trial: "module load gcc"   */
} rgm_scheduler_options;

/** The sections that a search has beside those of an experiment; names are keys of the file. */
typedef struct rgm_search_settings {
    const char *description;   /* NULL: none is given          */
    rgm_texts labels;          /* of a list or of a map's keys */
    const char *entrypoint;    /* "FILE.so" or "FILE.so:NAME", a program's own model and data; NULL:
                                  the    file's task is trained */
    int64_t batches_per_step;  /* >= 1, default 100                                     */
    int64_t records_per_epoch; /* 0: not given; lengths in epochs need it               */
    rgm_length min_validation_period; /* 0 units: none */
    rgm_length min_checkpoint_period;
    bool perform_initial_validation;
    rgm_checkpoint_policy checkpoint_policy;
    rgm_checkpoint_storage checkpoint_storage;
    int64_t max_restarts; /* >= 0, default 5                                */
    struct rgm_trial_reproducibility {
        int64_t experiment_seed; /* 0..2^31-1; -1: not given, the time of creation is taken       */
    } reproducibility;
    rgm_trial_resources resources;
    struct rgm_trial_optimizations {
        int64_t aggregation_frequency; /* becomes trainer.accumulation_steps; default 1           */
        bool average_aggregated_gradients; /* true; false is refused: our updates take means      */
    } optimizations;
    struct rgm_trial_environment {
        rgm_texts environment_variables; /* "NAME=value" of trials' processes */
    } environment;
    rgm_scheduler_options scheduler;
    bool debug; /* trials log at the level debug */
} rgm_search_settings;

/** A search file, merged and checked. Counted: trials keep theirs. */
typedef struct rgm_search_file rgm_search_file;

/** Whether a merged document is a search: it has `searcher`, `hyperparameters` or `entrypoint`. */
bool rgm_search_file_is_one(const rgm_yaml *merged);
/**
 * Merge the layers as rgm_experiment_load_layers() does, take the search's sections out and check
 * everything: keys, values, the space, the searcher, that every hyperparameter is a key of the
 * experiment, and the experiments of some of the space's points as `regimen run` would. Nothing of
 * the data is read.
 *
 * @param mistakes  [out] every mistake, "FILE:line:column: what\n" each, appended; NULL: not
 * wanted. Of the experiment's own sections it is the first one that their reader meets.
 *
 * Errors: RGM_ERR_CONFIG (the first mistake, and how many more there are), RGM_ERR_NOT_FOUND,
 * RGM_ERR_IO, RGM_ERR_NOMEM.
 */
rgm_status rgm_search_file_load(rgm_search_file **out, rgm_text *mistakes,
                                const rgm_experiment_layers *layers);
/** The same of what rgm_experiment_merge_layers() merged; copied. name: that of its file. Errors:
 * RGM_ERR_CONFIG, RGM_ERR_NOMEM. */
rgm_status rgm_search_file_load_merged(rgm_search_file **out, rgm_text *mistakes, const char *name,
                                       const rgm_yaml *merged, const rgm_extensions *own);
/** The same from what rgm_search_file_text() gave, as a database keeps it; name: for messages.
 * Errors: RGM_ERR_CONFIG, RGM_ERR_NOMEM. */
rgm_status rgm_search_file_parse(rgm_search_file **out, rgm_text *mistakes, const char *text,
                                 int64_t size, const char *name, const rgm_extensions *own);
rgm_search_file *rgm_search_file_retain(rgm_search_file *file);
void rgm_search_file_release(rgm_search_file *file);

/* All of these belong to the file. */
const char *rgm_search_file_name(const rgm_search_file *file); /* "digits_search" */
const char *
rgm_search_file_text(const rgm_search_file *file); /* merged, as YAML: parses to the same */
const rgm_search_settings *rgm_search_file_settings(const rgm_search_file *file);
rgm_space *rgm_search_file_space(const rgm_search_file *file);
/** The section `searcher`, and any other by its key; NULL: there is none. */
const rgm_yaml_node *rgm_search_file_section(const rgm_search_file *file, const char *name);
/** The searcher's metrics, with the part that they are of: "valid.accuracy" also where the file
 * says "accuracy". Returns how many there are. */
int64_t rgm_search_file_objectives(const rgm_objective **objectives, const rgm_search_file *file);

/** rgm_searcher_read() of the file's section over its space. own: may be NULL. Errors:
 * RGM_ERR_CONFIG, RGM_ERR_NOMEM. */
rgm_status rgm_search_file_searcher(rgm_searcher **out, const rgm_search_file *file, uint32_t seed,
                                    const rgm_search_rows *own);
/**
 * The experiment file of one point, which `regimen run` takes: the search's sections are gone,
 * values stand at their keys, runtime.seed = seed; trainer.train_steps is the longest length that
 * the searcher may ask for, so that schedules are the same in all trials; the best weights are
 * chosen by the searcher's metric unless the file says otherwise.
 *
 * @param values  [in] [rgm_space_count()]
 *
 * Errors: RGM_ERR_CONFIG (a key that cannot be set, or a length that is no number of batches),
 * RGM_ERR_NOMEM.
 */
rgm_status rgm_search_file_point(rgm_text *out, const rgm_search_file *file,
                                 const rgm_hyper_value *values, uint32_t seed);
/** That file, checked: RGM_ERR_CONFIG is a point that cannot be (rgm_search_event RGM_INVALID). Of
 * a search with an entrypoint there is none: RGM_ERR_UNSUPPORTED. */
rgm_status rgm_search_file_experiment(rgm_experiment **out, const rgm_search_file *file,
                                      const rgm_hyper_value *values, uint32_t seed);

/** A length of a searcher or a period in batches. */
typedef struct rgm_batches {
    int64_t batches; /* at least 1, for a length of at least 1 unit                               */
    bool is_whole; /* false: a last part of a batch was left out (records % batch size), to be told
                    */
} rgm_batches;
/**
 * Steps are batches_per_step batches. Records are divided by the batch size, which is
 * global_batch_size of the hyperparameters, else data.batch_size (times the aggregation frequency),
 * rounded down, at least 1; an epoch has records_per_epoch of them.
 *
 * Errors: RGM_ERR_CONFIG (no batch size, no records_per_epoch, more than 10^15 batches).
 */
rgm_status rgm_search_file_batches(rgm_batches *out, const rgm_search_file *file,
                                   const rgm_hyper_value *values, rgm_length length);

/** Keys of the search's sections with their help, for `regimen config keys`; section NULL: all.
 * Errors: RGM_ERR_NOT_FOUND. */
rgm_status rgm_search_file_keys(rgm_text *out, const char *section);

/* ---- sequencer ------------------------------------------------------------------------------- */

typedef enum rgm_workload_kind {
    RGM_RUN_STEP,
    RGM_COMPUTE_VALIDATION_METRICS,
    RGM_CHECKPOINT_MODEL,
    RGM_TERMINATE /* never asked for by a sequencer: for protocols of who drives trials */
} rgm_workload_kind;
extern const char *const rgm_workload_names[]; /* "RUN_STEP", ..., ended by NULL */

/** One piece of work on a trial. */
typedef struct rgm_workload {
    rgm_workload_kind kind;
    int64_t step;    /* RUN_STEP: the number that it has, from 1; others: of the step done last; 0:
                        before the first */
    int64_t batches; /* trained in all when it is done, warm start not counted                    */
} rgm_workload;

typedef struct rgm_sequencer_options {
    int64_t batches_per_step;                     /* >= 1 */
    int64_t validation_period, checkpoint_period; /* batches; 0: none */
    bool initial_validation;                      /* validate before the first step */
    rgm_checkpoint_policy policy;
} rgm_sequencer_options;

/**
 * What a trial does next: a pure state machine without clock or I/O. A step is batches_per_step
 * batches, or fewer where a length that was asked for or a period ends it, and keeps its number
 * when it is run again. Lengths are batches in all since the trial's beginning.
 */
typedef struct rgm_sequencer rgm_sequencer;
/** Errors: RGM_ERR_ARG, RGM_ERR_NOMEM. */
rgm_status rgm_sequencer_create(rgm_sequencer **out, const rgm_sequencer_options *options);
void rgm_sequencer_release(rgm_sequencer *sequencer);

/**
 * Ask, on the searcher's behalf, for training until `batches` are done in all, for a validation at
 * so many, for a checkpoint at so many.
 *
 * @param done  [out] it has been done already, of itself: tell the searcher what it came to, for it
 *              will not be asked of the trial again; NULL: not wanted
 *
 * Errors: RGM_ERR_ARG (to train no further than was asked before; to validate or save where the
 * trial has passed, in the middle of the step under way, or beyond what was asked to be trained);
 * nothing is then changed. RGM_ERR_NOMEM.
 */
rgm_status rgm_sequencer_train(rgm_sequencer *sequencer, int64_t batches);
rgm_status rgm_sequencer_validate(bool *done, rgm_sequencer *sequencer, int64_t batches);
rgm_status rgm_sequencer_checkpoint(bool *done, rgm_sequencer *sequencer, int64_t batches);

/** What is to be done now; the same until it is completed. false: the trial is up to date. */
bool rgm_sequencer_next(rgm_workload *out, rgm_sequencer *sequencer);
/** All that was asked for is done: the trial waits for the searcher. */
bool rgm_sequencer_is_up_to_date(const rgm_sequencer *sequencer);
/** The checkpoint to make before the trial stops for a while or for good; false: none is needed. */
bool rgm_sequencer_preclose(rgm_workload *out, const rgm_sequencer *sequencer);
/**
 * It is done. A checkpoint may be any of a step that was done, asked for or not.
 *
 * @param asked    [out] the searcher asked for it and has not been told: tell it now. For a step:
 *                 whether one of the lengths asked for ends with it. May be NULL.
 * @param is_best  [in] of a validation: it is better than every one of the search before (a tie is
 *                 not), as the policy `best` wants to know
 *
 * Errors: RGM_ERR_ARG (it is not what was to be done; nothing is changed), RGM_ERR_NOMEM.
 */
rgm_status rgm_sequencer_completed(bool *asked, rgm_sequencer *sequencer,
                                   const rgm_workload *workload, bool is_best);
/**
 * The trial failed, or was opened again: back to its newest checkpoint of at most `most` batches
 * (INT64_MAX: of all), 0 if there is none. What was asked for stays asked, and what the searcher
 * was told stays told: it is done again without a word to it. Returns where the trial now stands.
 */
rgm_workload rgm_sequencer_rollback(rgm_sequencer *sequencer, int64_t most);
/** Where the trial stands: steps and batches done. */
int64_t rgm_sequencer_steps(const rgm_sequencer *sequencer);
int64_t rgm_sequencer_batches(const rgm_sequencer *sequencer);
/** How far it was asked to train. */
int64_t rgm_sequencer_target(const rgm_sequencer *sequencer);

/** Everything, as one line of JSON; appended. Errors: RGM_ERR_NOMEM. */
rgm_status rgm_sequencer_save(rgm_text *out, const rgm_sequencer *sequencer);
/** One that goes on as the saved one would have. Errors: RGM_ERR_FORMAT, RGM_ERR_NOMEM. */
rgm_status rgm_sequencer_restore(rgm_sequencer **out, const char *text, int64_t size);

/* ---- hooks: a program's own model and data --------------------------------------------------- */

/**
 * A map of a file as a program's functions read it: the search file, or the values of a trial's
 * hyperparameters. Keys are dotted ("data.path"). What is missing or of another type gives 0, false
 * or "", and is the error of the hook in which it happened: functions need not look at each.
 */
typedef struct rgm_config rgm_config;
const char *rgm_config_string(const rgm_config *config, const char *key);
int64_t rgm_config_int(const rgm_config *config, const char *key);
double rgm_config_float(const rgm_config *config, const char *key);
bool rgm_config_bool(const rgm_config *config, const char *key);
/** Whether there is such a key; what stands there as it is, NULL: nothing, which is no error. */
bool rgm_config_has(const rgm_config *config, const char *key);
const rgm_yaml_node *rgm_config_node(const rgm_config *config, const char *key);

/** What a hook gives of data: elements are batches, of tensors that all begin with the same axis,
 * or lists of such as rgm_dataset_batch() makes them, which are stacked. */
typedef struct rgm_data_loaders {
    rgm_dataset *train, *valid; /* [out, owned] of elements of the same structure */
    const char *const *names;   /* of the tensors, ended by NULL; NULL: "0", "1", ... */
} rgm_data_loaders;

/** The symbolic element of whichever data are read. */
typedef struct rgm_record rgm_record;
/** Its tensor of that name (a '/' in a name may stand for nesting), or by its place: [batch, ...].
 * There is none: a failure of the graph, and NULL. */
rgm_value *rgm_record_value(const rgm_record *record, const char *name);
rgm_value *rgm_record_at(const rgm_record *record, int64_t i);
int64_t rgm_record_count(const rgm_record *record);

/** How the values of batches make a metric. */
typedef enum rgm_aggregation {
    RGM_AGGREGATE_MEAN,          /* each batch counts alike, as in PEDL    */
    RGM_AGGREGATE_WEIGHTED_MEAN, /* by the records that it has             */
    RGM_AGGREGATE_SUM,
    RGM_AGGREGATE_MIN,
    RGM_AGGREGATE_MAX,
    RGM_AGGREGATE_LAST
} rgm_aggregation;

/** What a graph gives, by name. */
typedef struct rgm_outputs rgm_outputs;
/** A scalar: "loss", which is minimised, or what may be a metric; mean over batches. */
void rgm_output(rgm_outputs *out, const char *name, rgm_value *scalar);
void rgm_output_as(rgm_outputs *out, const char *name, rgm_value *scalar,
                   rgm_aggregation aggregation);
/** What is predicted for each record, [batch, ...]: for exports. */
void rgm_output_prediction(rgm_outputs *out, const char *name, rgm_value *value,
                           rgm_output_kind kind);

/** How the executor works. */
typedef struct rgm_session_config {
    int64_t threads; /* default: the file's, else slots_per_trial */
    rgm_mixed_precision mixed_precision;
    const char *loss_scale; /* as runtime.loss_scale */
    bool run_eagerly;
} rgm_session_config;

/** A model with its optimizer, as tf.estimator has it. */
typedef struct rgm_estimator {
    /** Called once for training, validation and serving: outputs, of which "loss" is minimised and
     * all others are metrics, and predictions made of the features alone. */
    void (*model_fn)(rgm_outputs *out, rgm_scope *scope, const rgm_record *features,
                     const rgm_record *labels, rgm_value *is_training, const rgm_config *hparams);
    rgm_optimizer_options optimizer;
} rgm_estimator;

/** Batches for training or validation: the last `label_count` tensors of an element are labels. */
typedef struct rgm_input_spec {
    rgm_dataset *dataset; /* [out, owned] */
    const char *const *names;
    int64_t label_count;
    int64_t steps; /* validation: batches of a pass; 0: to the end. Training: max_steps, which is
                      passed over (batches_per_step says it) and told */
} rgm_input_spec;

/** One graph to be exported at every checkpoint: <checkpoint>/<name>/model.onnx. */
typedef struct rgm_serving_receiver {
    const char *name;                       /* letters, digits, '_' and '-' */
    const char *predictions[RGM_MAX_HEADS]; /* that it gives; none: all. It takes the features that
                                               they need */
} rgm_serving_receiver;
#define RGM_MAX_RECEIVERS 8

#define RGM_TRIAL_ABI 1
/**
 * A trial of a program's own. Either the first group of functions (PEDL's TensorFlowTrial) or the
 * second (its EstimatorTrial). Each returns an error of its own, or
 * rgm_invalid_hyperparameters(...).
 */
typedef struct rgm_trial_hooks {
    int64_t abi; /* these two by RGM_TRIAL(): what it was compiled against */
    int64_t sizes[4];
    const char *name;

    rgm_status (*make_data_loaders)(rgm_data_loaders *out, const rgm_config *experiment,
                                    const rgm_config *hparams);
    /** Called once: the same graph trains and validates. is_training is 1 in training and 0
     * elsewhere, folded when an executor compiles; rgm_dropout() and rgm_when_training() know it.
     */
    void (*build_graph)(rgm_outputs *out, rgm_scope *scope, const rgm_record *record,
                        rgm_value *is_training, const rgm_config *hparams);
    /** rgm_sgd(...), rgm_adam(...), with what is changed of them. */
    rgm_optimizer_options (*optimizer)(const rgm_config *hparams);
    const char *validation_metrics[RGM_MAX_METRICS]; /* names of outputs */
    const char *training_metrics[RGM_MAX_METRICS];   /* the loss is always told; may be empty */
    /** May be NULL. `config` has the file's values. */
    void (*session_config)(rgm_session_config *config, const rgm_config *hparams);

    rgm_status (*build_estimator)(rgm_estimator *out, const rgm_config *hparams);
    rgm_status (*build_train_spec)(rgm_input_spec *out, const rgm_config *experiment,
                                   const rgm_config *hparams);
    rgm_status (*build_validation_spec)(rgm_input_spec *out, const rgm_config *experiment,
                                        const rgm_config *hparams);
    /** May be NULL: no exports. @param out  [out] [RGM_MAX_RECEIVERS] */
    rgm_status (*build_serving_input_receiver_fns)(rgm_serving_receiver *out, int64_t *count,
                                                   const rgm_config *hparams);
} rgm_trial_hooks;

/**
 * Publish hooks under a name, in a shared object or in a program:
 *
 *     RGM_TRIAL(digits, .make_data_loaders = make_data_loaders, .build_graph = build_graph,
 *               .optimizer = optimizer, .validation_metrics = {"accuracy"});
 *
 * `entrypoint: ./digits.so` finds the one that is named as the file, `./digits.so:other` another.
 */
#define RGM_TRIAL(trial_name, ...)                                                                 \
    const rgm_trial_hooks rgm_hooks_##trial_name = {                                               \
        .abi = RGM_TRIAL_ABI,                                                                      \
        .sizes = {sizeof(rgm_trial_hooks), sizeof(rgm_optimizer_options), sizeof(rgm_estimator),   \
                  sizeof(rgm_data_loaders)},                                                       \
        .name = #trial_name,                                                                       \
        __VA_ARGS__}

/* ---- a trial --------------------------------------------------------------------------------- */

/** Where a trial that is opened begins. */
typedef enum rgm_trial_start {
    RGM_START_NEWEST, /* its newest intact checkpoint; without one `from`, else the beginning */
    RGM_START_AT      /* the checkpoint of at_batches; later ones are set aside, and 0 is the
                         beginning (or `from`) */
} rgm_trial_start;

typedef struct rgm_trial_setup {
    rgm_search_file *file;         /* retained                                       */
    const rgm_trial_hooks *hooks;  /* in the place of those of the file's entrypoint; or NULL */
    const rgm_hyper_value *values; /* [rgm_space_count()], read when it is opened    */
    uint32_t seed;                 /* of the trial                                   */
    const char *run_dir;           /* made when it is not there; NULL: nothing is written, and
                                      checkpoints are refused */
    const char *from; /* checkpoint folder of another trial to warm start with: weights and
                         optimizer state; NULL: none */
    rgm_trial_start start;
    int64_t at_batches;
    int threads; /* 0: as the file says, or slots_per_trial */
    /** Asked between batches: true ends rgm_trial_do() with RGM_STOPPED, and the step under way is
     * lost. NULL: never. */
    bool (*should_stop)(void *payload);
    /** How far the step under way is, between batches now and then; NULL: not wanted. */
    void (*progress)(int64_t batches, void *payload);
    void *payload;
    bool is_test; /* a trial run: one batch of everything, whatever the searcher asks for */
} rgm_trial_setup;

/** A file of a checkpoint, by its path in there; folders end in '/', with size 0. */
typedef struct rgm_trial_file {
    const char *path;
    int64_t size;
} rgm_trial_file;

/** What a workload came to; all of it belongs to the trial until the next one. */
typedef struct rgm_workload_result {
    rgm_workload workload;
    const rgm_logs
        *metrics;             /* of a step: means over its batches; of a validation: everything it
                                 gave, "loss", "accuracy", those of further sets as "valid_news.loss" */
    const double *objectives; /* of a validation: [rgm_search_file_objectives()] of them; NaN is a
                                 number that is no good; NULL: it was none                        */
    int64_t num_batches; /* of a step                                                             */
    int64_t num_inputs; /* items that the metrics are means over                                  */
    double seconds;     /* that it took                                                           */
    const char *checkpoint; /* its folder, below the run folder: "ckpt/step-00000200"         */
    const rgm_trial_file *files; /* [file_count] by path                                          */
    int64_t file_count, bytes;
} rgm_workload_result;

typedef struct rgm_trial rgm_trial;
/**
 * Open it: the run folder is an ordinary one (config.yaml, event files, metrics.jsonl) that keeps
 * every checkpoint. All that can be asked is asked before the first step: data of every part, the
 * model, and whether validation gives the searcher's metric.
 *
 * Errors: RGM_ERR_CONFIG (the point cannot be, or the folder is another trial's), RGM_ERR_NOT_FOUND
 * (no such checkpoint), RGM_ERR_BUSY (another process has the folder), those of reading data.
 */
rgm_status rgm_trial_open(rgm_trial **out, const rgm_trial_setup *setup);
/**
 * Whether what rgm_trial_open() or rgm_trial_do() failed with says that the hyperparameters cannot
 * be: the searcher is told RGM_INVALID, and another trial takes its place. Asked before another
 * call of the library.
 */
bool rgm_trial_is_invalid(rgm_status status);
/** Nothing is saved. Takes NULL. */
void rgm_trial_close(rgm_trial *trial);
/**
 * Do a workload of a sequencer: train to workload->batches, validate once through, or write a
 * checkpoint of now. Training data repeat for ever; their position goes on.
 *
 * Errors: RGM_ERR_ARG (it is not about where the trial stands), RGM_STOPPED (asked to), those of
 * rgm_run_train(), rgm_run_evaluate() and rgm_run_save(); RGM_ERR_CONFIG where a validation lacks
 * the searcher's metric (those there are are told).
 */
rgm_status rgm_trial_do(rgm_trial *trial, const rgm_workload *workload,
                        rgm_workload_result *result);
int64_t rgm_trial_batches(const rgm_trial *trial);   /* done so far                               */
int64_t rgm_trial_opened_at(const rgm_trial *trial); /* the checkpoint it went on from; 0: none */
/** Batches of one pass over the training data; 0: known only by reading. */
int64_t rgm_trial_epoch_batches(const rgm_trial *trial);
/**
 * What a trial is asked before its first step, of one point of the space and without a folder: the
 * data are read and the model is built, nothing is trained or written.
 * Errors: those of rgm_trial_open().
 */
rgm_status rgm_search_file_check_data(rgm_search_file *file);
/** The run that it is, borrowed. */
rgm_open_run *rgm_trial_run(const rgm_trial *trial);

/**
 * What a program's own functions say of a point that cannot be: RGM_ERR_CONFIG "invalid
 * hyperparameters: ...", which rgm_trial_is_invalid() knows.
 */
rgm_status rgm_invalid_hyperparameters(const char *format, ...)
    __attribute__((format(printf, 1, 2)));

#ifdef __cplusplus
}
#endif
#endif

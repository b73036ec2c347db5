/*
 * trial: trains one point of a search over experiments: an open run in a run folder of its own that
 * workloads drive.
 *
 *     rgm_trial_load_search()   an experiment file with `searcher` and `hyperparameters`
 *     RGM_TRIAL(...)            hooks: a model and data of one's own, `entrypoint: ./digits.so`
 *     rgm_trial                 does workloads: rgm_run_train(), _evaluate(), _save() of an open
 * run
 *
 *     while (rgm_sequencer_next(&workload, sequencer)) {
 *         rgm_trial_do(trial, &workload, &result);
 *         rgm_sequencer_completed(&asked, sequencer, &workload, is_best);
 *     }
 *
 * This layer knows nothing of other trials, processes or databases: master does. Workloads have
 * PEDL's meaning (docs/trial.md says where they differ).
 */
#ifndef REGIMEN_TRIAL_H
#define REGIMEN_TRIAL_H

#include <regimen/experiment.h>
#include <regimen/nn_layers.h>
#include <regimen/search_file.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- searches over experiments -------------------------------------------------------------- */

/**
 * The subject of a search over experiments: the sections of an experiment file, and a check of
 * points as `regimen run` would make it, without reading data. Its payload is a rgm_extensions, the
 * program's own rows; here it is NULL: none.
 */
extern const rgm_search_subject rgm_trial_subject;
/**
 * Load the search file that layers make, merged as by rgm_experiment_load_layers(), with the rows
 * of layers->own.
 *
 * @param mistakes  [out] as rgm_search_file_load() has it; NULL: not wanted
 *
 * Errors: those of rgm_search_file_load(), RGM_ERR_NOT_FOUND, RGM_ERR_IO.
 */
rgm_status rgm_trial_load_search(rgm_search_file **out, rgm_text *mistakes,
                                 const rgm_experiment_layers *layers);
/**
 * The same of layers that are merged already, a file's `entrypoint` included: a relative one is
 * looked for beside the file that has it, and where nothing lies there in the working folder.
 *
 * @param name  [in] of the file, for messages
 * @param own   [in] the program's own rows, or NULL
 *
 * Errors: those of rgm_search_file_load().
 */
rgm_status rgm_trial_load_merged(rgm_search_file **out, rgm_text *mistakes, const char *name,
                                 const rgm_yaml *merged, const rgm_extensions *own);
/**
 * The experiment of a point: rgm_search_file_point(), checked. RGM_ERR_CONFIG is an invalid point
 * (rgm_search_event RGM_INVALID). A search with an entrypoint has no experiment:
 * RGM_ERR_UNSUPPORTED.
 */
rgm_status rgm_trial_experiment(rgm_experiment **out, const rgm_search_file *file,
                                const rgm_hyper_value *values, uint32_t seed);
/**
 * Check one point of the space as a trial is checked before its first step, without a folder: the
 * data are read and the model is built, nothing is trained or written.
 * Errors: those of rgm_trial_open().
 */
rgm_status rgm_trial_check_data(rgm_search_file *file);

/* ---- hooks: a program's own model and data -------------------------------------------------- */

/**
 * A map of a file as a program's functions read it: the search file, or the values of a trial's
 * hyperparameters. Keys are dotted, and entries of lists have numbers from 0 ("data.path",
 * "data.files.0"). What is missing or of another type gives 0, false or "", and becomes the error
 * of the hook that asked for it: functions need not check each value.
 */
typedef struct rgm_config rgm_config;
const char *rgm_config_string(const rgm_config *config, const char *key);
int64_t rgm_config_int(const rgm_config *config, const char *key);
double rgm_config_float(const rgm_config *config, const char *key);
bool rgm_config_bool(const rgm_config *config, const char *key);
/** The number of entries of a list or a map. */
int64_t rgm_config_count(const rgm_config *config, const char *key);
/** Whether there is such a key; its node as it stands, NULL: there is none, which is no error. */
bool rgm_config_has(const rgm_config *config, const char *key);
const rgm_yaml_node *rgm_config_node(const rgm_config *config, const char *key);
/**
 * The whole search file with its defaults, which hooks that are given hyperparameters alone find by
 * them: rgm_config_string(rgm_config_experiment(hparams), "data.path").
 */
const rgm_config *rgm_config_experiment(const rgm_config *hparams);

/**
 * The data that a hook gives. Elements are batches of tensors that all begin with the same axis, or
 * lists of tensors or of bytes (lines, say) as rgm_dataset_batch() makes, which are stacked.
 * Tensors of texts are a part of the record, too: no graph takes them, but reducers see them.
 */
typedef struct rgm_data_loaders {
    rgm_dataset *train, *valid; /* [out, owned] of elements of the same structure */
    const char *const *names; /* of the tensors, ended by NULL; NULL: "0", "1", ... A '/' stands for
                                 nesting: "image/pixels", "image/label" */
    const char *const *valid_names; /* of those of `valid`: the same names, in whatever order its
                                       tensors stand; NULL: `names`, in their order */
    /**
     * Axes that differ from batch to batch, ended by NULL: "tokens/1" is axis 1 of the tensor
     * "tokens", and "mask/1=tokens/1" differs as that does, so that the graph may put both
     * together. The first axis, of records, always may; others that differ in the first two batches
     * need not be named. NULL: none.
     */
    const char *const *varying;
} rgm_data_loaders;

/** The symbolic element of the data that are read. */
typedef struct rgm_record rgm_record;
/**
 * Its tensor of that name (a '/' in a name may stand for nesting), or by its place: [batch, ...].
 * If there is none, the graph has failed and the result is NULL.
 */
rgm_value *rgm_record_value(const rgm_record *record, const char *name);
rgm_value *rgm_record_at(const rgm_record *record, int64_t i);
int64_t rgm_record_count(const rgm_record *record);

#define RGM_MAX_REDUCER_INPUTS 4
#define RGM_MAX_REDUCERS       16
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
/** Give a scalar: "loss", which is minimised, or a possible metric; mean over batches. */
void rgm_output(rgm_outputs *out, const char *name, rgm_value *scalar);
void rgm_output_as(rgm_outputs *out, const char *name, rgm_value *scalar,
                   rgm_aggregation aggregation);
/** Give a prediction for each record, [batch, ...], for exports. */
void rgm_output_prediction(rgm_outputs *out, const char *name, rgm_value *value,
                           rgm_output_kind kind);

/** Give a tensor of any shape and type that reducers look at; it is computed in validation alone.
 */
void rgm_output_values(rgm_outputs *out, const char *name, rgm_value *value);

/** What a reducer has gathered of the batches of one validation. */
typedef struct rgm_gathered rgm_gathered;
/** Its counts [rgm_reducer.counts], which are zeros at first: add to them. */
double *rgm_gathered_counts(rgm_gathered *gathered);
/** Append numbers to its list, which is empty at first. Errors: RGM_ERR_NOMEM. */
rgm_status rgm_gathered_append(rgm_gathered *gathered, const double *numbers, int64_t count);
/** Its list [*count]; borrowed until the next append, and NULL while it is empty. */
const double *rgm_gathered_list(const rgm_gathered *gathered, int64_t *count);

/**
 * A metric of validation of the program's own: counts or a list that it adds to by batch, and a
 * number made of them behind the last one. With runtime.shards (and on several ranks) each shard
 * gathers apart: their counts are added up, and their lists stand one behind another in the order
 * of shards.
 */
typedef struct rgm_reducer {
    const char *name;                           /* of the metric; it may be the searcher's */
    const char *inputs[RGM_MAX_REDUCER_INPUTS]; /* tensors that `add` gets: by rgm_output_values(),
                                                    else of the record */
    int64_t counts;                             /* of numbers in rgm_gathered_counts() */
    bool smaller_is_better;                     /* of the number */
    double parameter;                           /* the program's own: the 10 of hits at 10 */
    /** Add a batch. @param values  [in] those of `inputs`, on the host */
    rgm_status (*add)(rgm_gathered *gathered, const struct rgm_reducer *reducer,
                      rgm_tensor *const *values, const rgm_config *hparams);
    /** Make the number, which may be NaN where it is not defined. Called once for a validation. */
    rgm_status (*result)(double *out, rgm_gathered *gathered, const struct rgm_reducer *reducer,
                         const rgm_config *hparams);
} rgm_reducer;

/** What a trial measures, for the hook make_metrics. Names and reducers are copied. */
typedef struct rgm_measures rgm_measures;
/** Let an output of build_graph be a metric of training or of validation, as if its name stood in
 * training_metrics or validation_metrics. */
void rgm_measure_training(rgm_measures *measures, const char *output);
void rgm_measure_validation(rgm_measures *measures, const char *output);
/** Add a reducer. */
void rgm_measure_by(rgm_measures *measures, const rgm_reducer *reducer);

/** How the executor works. */
typedef struct rgm_session_config {
    int64_t threads; /* default: the file's, else slots_per_trial */
    rgm_mixed_precision mixed_precision;
    const char *loss_scale; /* as runtime.loss_scale */
    bool run_eagerly;
} rgm_session_config;

/** A model with its optimizer, as tf.estimator has it. */
typedef struct rgm_estimator {
    /**
     * Called once for training, validation and serving. It gives outputs ("loss" is minimised, all
     * others are metrics) and predictions, which use the features alone.
     */
    void (*model_fn)(rgm_outputs *out, rgm_scope *scope, const rgm_record *features,
                     const rgm_record *labels, rgm_value *is_training, const rgm_config *hparams);
    rgm_optimizer_options optimizer;
} rgm_estimator;

/**
 * Batches for training or validation: the last `label_count` tensors of an element are labels.
 * Training and validation are put together by names: validation may give its tensors in another
 * order, but has the same ones, and the same ones of them are labels.
 */
typedef struct rgm_input_spec {
    rgm_dataset *dataset;       /* [out, owned] */
    const char *const *names;   /* NULL for validation: those of training, in their order */
    const char *const *varying; /* as rgm_data_loaders has it; of either counts for both */
    int64_t label_count;
    int64_t steps; /* validation: batches of a pass; 0: to the end. Training: max_steps, which is
                      passed over (batches_per_step says it) and told */
} rgm_input_spec;

/** One graph to be exported at every checkpoint: <checkpoint>/<name>/model.onnx. */
typedef struct rgm_serving_receiver {
    const char *name;                       /* letters, digits, '_' and '-' */
    const char *predictions[RGM_MAX_HEADS]; /* that it gives; none: all. It takes the features that
                                               they need */
    /**
     * How the record's tensors are parsed from serialized tf.train.Examples, ended by {0}; borrowed
     * for as long as the trial. There is then also <checkpoint>/<name>/saved_model.pb, whose
     * signature serving_default takes `examples` and whose signature "tensors" takes the tensors,
     * and `regimen predict --input` reads TFRecord files by the first receiver that has features.
     * NULL: the receiver takes tensors.
     */
    const rgm_parsed_feature *features;
} rgm_serving_receiver;
#define RGM_MAX_RECEIVERS 8

/**
 * Where a trial is when one of its callbacks is called. Everything is borrowed for the call.
 */
typedef struct rgm_trial_moment {
    const rgm_config *hparams;  /* rgm_config_experiment() of it is the whole file                */
    int64_t batches;            /* trained so far                                                 */
    const rgm_logs *metrics;    /* on_step_end, on_validation_end: their numbers; else NULL       */
    const char *folder;         /* on_save: an empty one, on_load: one with its files; else NULL  */
    const rgm_trainer *trainer; /* with the weights, to look at; NULL in on_end                   */
} rgm_trial_moment;

/** What a network of layers is trained for: the loss that is minimised, and the metric beside it.
 */
typedef enum rgm_sequential_loss {
    RGM_LOSS_CLASSES, /* cross-entropy of logits [n, classes], labels are integers [n]; "accuracy"
                       */
    RGM_LOSS_FLAGS, /* of logits [n, k] and 0/1 labels, each for itself; "accuracy"               */
    RGM_LOSS_NUMBERS /* mean squared error of numbers [n, k]; "mean_absolute_error" */
} rgm_sequential_loss;

/**
 * A network as a list of layers, with what Keras' compile() says. Fill in `layers` and `count`, or
 * call rgm_sequential_add() for each.
 */
typedef struct rgm_sequential {
    rgm_layer layers[RGM_MAX_LAYERS];
    int64_t count;
    const char *input, *label; /* tensors of the data; NULL: the first and the second */
    rgm_sequential_loss loss;
    rgm_optimizer_options optimizer;
    rgm_error error; /* of the first rgm_sequential_add() that failed */
} rgm_sequential;
/** Add a layer in the words of rgm_layer_parse(): rgm_sequential_add(out, "dense %lld relu", n).
 * One that is wrong becomes the error of the hook. */
void rgm_sequential_add(rgm_sequential *out, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/**
 * One of the library's own tasks, described as an experiment file describes it: data, task, model,
 * optimizer. It keeps all that the task has: data, metrics, exports, predictions.
 *
 *     rgm_premade_begin(out, "digits_mlp");
 *     rgm_premade_take(out, "data", experiment, "data");
 *     rgm_premade_set(out, "model.hidden", "[%lld, 64]", (long long)units);
 *
 * A call that fails becomes the error of the hook, and those behind it do nothing.
 */
typedef struct rgm_premade rgm_premade;
/** Begin with an experiment file or a named experiment, in the place of all that was said before.
 */
void rgm_premade_begin(rgm_premade *premade, const char *name);
/** Set a key to a YAML text, as --set does. */
void rgm_premade_set(rgm_premade *premade, const char *key, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/** Set a key to what stands in `config` at `from`: a whole section, or one value. */
void rgm_premade_take(rgm_premade *premade, const char *key, const rgm_config *config,
                      const char *from);

#define RGM_TRIAL_ABI 3
/**
 * A program's own trial. It has the first group of functions (PEDL's TensorFlowTrial), of which
 * build_sequential may stand for build_graph, optimizer and metrics (its Keras trial); the second
 * (its EstimatorTrial); or build_premade alone. Each function returns an error of its own, or
 * rgm_invalid_hyperparameters(...).
 */
typedef struct rgm_trial_hooks {
    int64_t abi; /* these two by RGM_TRIAL(): what it was compiled against */
    int64_t sizes[6];
    const char *name;

    rgm_status (*make_data_loaders)(rgm_data_loaders *out, const rgm_config *experiment,
                                    const rgm_config *hparams);
    /** Called once: the same graph trains and validates. is_training is 1 in training and 0
     * elsewhere, folded when an executor compiles; rgm_dropout() and rgm_when_training() know it.
     */
    void (*build_graph)(rgm_outputs *out, rgm_scope *scope, const rgm_record *record,
                        rgm_value *is_training, const rgm_config *hparams);
    /** In the place of build_graph and optimizer. @param out  [out] zeros at first */
    rgm_status (*build_sequential)(rgm_sequential *out, const rgm_config *experiment,
                                   const rgm_config *hparams);
    /** rgm_sgd(...), rgm_adam(...), with changed members; learning_rate may be a schedule, by
     * updates or by epochs. */
    rgm_optimizer_options (*optimizer)(const rgm_config *hparams);
    const char *validation_metrics[RGM_MAX_METRICS]; /* names of outputs */
    const char *training_metrics[RGM_MAX_METRICS];   /* the loss is always told; may be empty */
    /** May be NULL. Metrics beside those of the lists, which may follow from the hyperparameters,
     * and reducers. Of either group; an estimator's outputs are metrics without it. */
    rgm_status (*make_metrics)(rgm_measures *out, const rgm_config *experiment,
                               const rgm_config *hparams);
    /** May be NULL. `config` has the file's values. */
    void (*session_config)(rgm_session_config *config, const rgm_config *hparams);
    /** May be NULL: the file's trainer.reduce_on_plateau, which `plateau` has. Of either group. */
    void (*reduce_on_plateau)(rgm_trainer_plateau *plateau, const rgm_config *hparams);

    rgm_status (*build_estimator)(rgm_estimator *out, const rgm_config *hparams);
    rgm_status (*build_train_spec)(rgm_input_spec *out, const rgm_config *experiment,
                                   const rgm_config *hparams);
    rgm_status (*build_validation_spec)(rgm_input_spec *out, const rgm_config *experiment,
                                        const rgm_config *hparams);
    /** May be NULL: no exports. @param out  [out] [RGM_MAX_RECEIVERS] */
    rgm_status (*build_serving_input_receiver_fns)(rgm_serving_receiver *out, int64_t *count,
                                                   const rgm_config *hparams);

    /**
     * Make a task of the library of the hyperparameters. The search file's sections `trainer` and
     * `runtime`, and what the search says of a trial's length and metric, are laid over it. The
     * run folder is that of an ordinary experiment, and needs this program no more.
     */
    rgm_status (*build_premade)(rgm_premade *out, const rgm_config *experiment,
                                const rgm_config *hparams);

    /*
     * Callbacks of either group; each may be NULL. An error that one returns ends the trial with
     * its message. Of several processes that train a trial together the first one alone calls them.
     * In this order:
     *
     * - on_begin: before the first work of a process on the trial; *state, NULL here, is the
     *   program's own and is given to the others
     * - on_load: next, where the trial goes on from a checkpoint that on_save wrote into
     * - on_step_end: behind each trial step (without a search: each loop)
     * - on_validation_end: behind each validation
     * - on_save: in each checkpoint, behind the validation of the same step
     * - on_end: last, whatever happened, on_begin's own error included
     *
     * A trial that stops and goes on in another process begins and ends in both. A trial that is
     * only opened, looked at or exported calls none of them.
     */
    rgm_status (*on_begin)(const rgm_trial_moment *moment, void **state);
    rgm_status (*on_step_end)(const rgm_trial_moment *moment, void *state);
    rgm_status (*on_validation_end)(const rgm_trial_moment *moment, void *state);
    /**
     * Write what `state` has into the empty folder moment->folder: files and folders, at most
     * RGM_MAX_SAVED bytes. They become a part of the checkpoint, whole or not at all, and on_load
     * gets the same bytes: it sets `state` to what it was, also when `state` has gone on meanwhile
     * (trainer.recovery.policy: rollback). A trial that goes back to its beginning ends and begins
     * anew. What is written has to follow from the training alone, or a trial that was stopped and
     * one that was not have different checkpoints. Both or none of the two are given.
     */
    rgm_status (*on_save)(const rgm_trial_moment *moment, void *state);
    rgm_status (*on_load)(const rgm_trial_moment *moment, void *state);
    void (*on_end)(const rgm_trial_moment *moment, void *state);
} rgm_trial_hooks;
#define RGM_MAX_SAVED (INT64_C(1) << 30)

/**
 * Publish hooks under a name, in a shared object or in a program:
 *
 *     RGM_TRIAL(digits, .make_data_loaders = make_data_loaders, .build_graph = build_graph,
 *               .optimizer = optimizer, .validation_metrics = {"accuracy"});
 *
 * `entrypoint: ./digits.so` finds the hooks with the file's name, `./digits.so:other` others.
 */
#define RGM_TRIAL(trial_name, ...)                                                                 \
    const rgm_trial_hooks rgm_hooks_##trial_name = {                                               \
        .abi = RGM_TRIAL_ABI,                                                                      \
        .sizes = {sizeof(rgm_trial_hooks), sizeof(rgm_optimizer_options), sizeof(rgm_estimator),   \
                  sizeof(rgm_data_loaders), sizeof(rgm_serving_receiver), sizeof(rgm_sequential)}, \
        .name = #trial_name,                                                                       \
        __VA_ARGS__}

/* ---- a trial -------------------------------------------------------------------------------- */

/** Where a trial begins when it is opened. */
typedef enum rgm_trial_start {
    RGM_START_NEWEST, /* its newest intact checkpoint; without one `from`, else the beginning */
    RGM_START_AT      /* the checkpoint of at_batches; later ones are set aside, and 0 is the
                         beginning (or `from`) */
} rgm_trial_start;

typedef struct rgm_trial_setup {
    rgm_search_file *file;        /* retained                                       */
    const rgm_trial_hooks *hooks; /* in the place of those of the file's entrypoint; or NULL */
    const char *entrypoint; /* in the place of the file's, as where a copy of it is kept; or NULL */
    const rgm_hyper_value *values; /* [rgm_space_count()], read when it is opened    */
    uint32_t seed;                 /* of the trial                                   */
    const char *run_dir;           /* made when it is not there; NULL: nothing is written, and
                                      checkpoints are refused */
    const char *from; /* checkpoint folder of another trial to warm start with: weights and
                         optimizer state; NULL: none */
    rgm_trial_start start;
    int64_t at_batches;
    int threads;        /* 0: as the file says, or slots_per_trial */
    const char *device; /* what the run opens in the place of the file's runtime.device; NULL: that.
                           Borrowed until it is closed; config.yaml keeps the file's */
    /* Those that train the trial together, each with a part of runtime.shards; all call the same.
     * Borrowed. NULL: this process alone. */
    rgm_comm *comm;
    /**
     * Called between batches: true ends rgm_trial_do() with RGM_STOPPED, and the step under way is
     * lost. NULL: never.
     */
    bool (*should_stop)(void *payload);
    /** Called between batches now and then: how far the step under way is; NULL: not wanted. */
    void (*progress)(int64_t batches, void *payload);
    void *payload;
    bool is_test; /* a trial run: one batch of everything, whatever the searcher asks for */
} rgm_trial_setup;

/** A file of a checkpoint, by its path inside the checkpoint; folders end in '/', with size 0. */
typedef struct rgm_trial_file {
    const char *path;
    int64_t size;
} rgm_trial_file;

/** The result of a workload. The trial owns all of it; it is valid until the next workload. */
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
 * Open a trial. The run folder is an ordinary one (config.yaml, event files, metrics.jsonl) that
 * keeps every checkpoint. Everything that can be checked is checked before the first step: data of
 * every split, the model, and whether validation gives the searcher's metric.
 *
 * Errors: RGM_ERR_CONFIG (the point is invalid, or the folder is another trial's),
 * RGM_ERR_NOT_FOUND (no such checkpoint), RGM_ERR_BUSY (another process has the folder), those of
 * reading data.
 */
rgm_status rgm_trial_open(rgm_trial **out, const rgm_trial_setup *setup);
/**
 * Whether the error of rgm_trial_open() or rgm_trial_do() says that the hyperparameters are
 * invalid. The searcher is then told RGM_INVALID, and another trial takes this one's place. Call it
 * before any other call of the library.
 */
bool rgm_trial_is_invalid(rgm_status status);
/**
 * Whether the error of rgm_trial_open() says that the checkpoint to go on from (RGM_START_AT) is
 * missing or damaged: an older one may do. Call it before any other call of the library.
 */
bool rgm_trial_has_lost_checkpoint(rgm_status status);
/** Nothing is saved. Takes NULL. */
void rgm_trial_close(rgm_trial *trial);
/**
 * Do a workload of a sequencer: train to workload->batches, validate in one pass, or write a
 * checkpoint of the present state. Training data repeat for ever; their position goes on.
 *
 * Errors: RGM_ERR_ARG (the workload does not fit where the trial stands), RGM_STOPPED (asked to),
 * those of rgm_run_train(), rgm_run_evaluate() and rgm_run_save(); RGM_ERR_CONFIG where a
 * validation lacks the searcher's metric (the message lists those that it has).
 */
rgm_status rgm_trial_do(rgm_trial *trial, const rgm_workload *workload,
                        rgm_workload_result *result);
/** The trial's run, borrowed; its rgm_run_steps() are the batches done. */
rgm_open_run *rgm_trial_run(const rgm_trial *trial);

/**
 * A program's own functions return this for an invalid point: RGM_ERR_CONFIG "invalid
 * hyperparameters: ...", which rgm_trial_is_invalid() recognises.
 */
rgm_status rgm_invalid_hyperparameters(const char *format, ...)
    __attribute__((format(printf, 1, 2)));

#ifdef __cplusplus
}
#endif
#endif

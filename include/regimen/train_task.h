/*
 * train_task: the contract of a task. rgm_task is a table of functions that define its data, model,
 * losses, metrics and steps; rgm_task_type is the row by which an experiment file names it. The
 * trainer (train.h) runs a task; nothing here runs anything.
 */
#ifndef REGIMEN_TRAIN_TASK_H
#define REGIMEN_TRAIN_TASK_H

#include <regimen/data.h>
#include <regimen/export.h>
#include <regimen/metrics.h>
#include <regimen/nn.h>
#include <regimen/optim.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- task ---------------------------------------------------------------------------------- */

typedef enum rgm_mode { RGM_TRAIN, RGM_VALID, RGM_TEST } rgm_mode;
const char *rgm_mode_name(rgm_mode mode); /* "train", "valid", "test" */

#define RGM_MAX_HEADS     8
#define RGM_MAX_METRICS   32
#define RGM_MOST_CONFUSED 100
#define RGM_MAX_FEEDS     512 /* of a batch */

/** What the scores of an output are held against, for curves over all thresholds. */
typedef enum rgm_curves_of {
    RGM_CURVES_OF_NOTHING,
    RGM_CURVES_OF_LABELS, /* 0/1 labels, at most RGM_MOST_CURVES of an item       */
    RGM_CURVES_OF_CLASSES /* each class, of at most RGM_MOST_CURVES, against the rest */
} rgm_curves_of;

/** One output of a model, with its labels, loss and metrics. */
typedef struct rgm_head {
    char name[64]; /* "classification_logits"; a prefix of metrics when heads are several */
    rgm_value *predictions;   /* [n, units] */
    bool is_number;           /* predictions are the numbers sought, not logits: a regression    */
    rgm_value *probabilities; /* of the classes, shaped like predictions, for exports; NULL: none */
    rgm_texts class_names;    /* of the last axis; none: numbers */
    rgm_value *labels;
    rgm_value *weights; /* [n]; [n, units] for labels [n, units] that may be missing one by one;
                           NULL: ones */
    rgm_value *lists;   /* i64 [n] for rankings: the list of each item; NULL: not needed         */
    rgm_value *loss;    /* scalar: mean over the real items; NULL when build_losses makes one  */
    rgm_value *loss_items; /* scalar: the number that the loss is a mean over, which weighs the
                              batch, if not its items: lists of a ranking. NULL: the items     */
    double loss_weight;    /* of the default build_losses                                         */
    int64_t confusion; /* classes, at most RGM_MOST_CONFUSED, whose predictions validations count by
                          label for tables.jsonl; for a logit of 1 against 0: 2; 0: not counted   */
    rgm_curves_of curves; /* what passes keep scores of for score_curves.jsonl                   */
    bool ranks_links;     /* and the ranks of links for hits by k                                */
    bool is_of_passes; /* only evaluations look at it: training does not compute its predictions */
    int64_t metric_count; /* the model's own ("compiled") metrics; of_states in passes only      */
    rgm_metric metrics[RGM_MAX_METRICS];
} rgm_head;

/** The parts of a task's model. */
typedef struct rgm_task_model {
    int64_t head_count;
    rgm_head heads[RGM_MAX_HEADS];
    /**
     * What exports and predictions give where the heads only measure: of each its name,
     * predictions, and whether they are numbers (else logits). Borrowed from the task. NULL: the
     * heads.
     */
    const rgm_head *served;
    int64_t served_count; /* at most RGM_MAX_HEADS; 0 with served: it predicts nothing */
    rgm_value *loss;      /* set by the trainer from build_losses: the scalar to minimise */
} rgm_task_model;

/** What the model gives to others, `served` or the heads; returns how many there are. */
int64_t rgm_task_model_outputs(const rgm_head **outputs, const rgm_task_model *model);

/** A metric and the head it looks at. */
typedef struct rgm_task_metric {
    rgm_metric metric;
    int64_t head;
} rgm_task_metric;

/** How training steps draw their examples; a privacy guarantee depends on it. */
typedef struct rgm_sampling {
    int64_t examples; /* in the training set                                       */
    double rate;      /* expected batch / examples                                 */
    bool poisson;     /* each independently; else batches of a shuffled pass        */
} rgm_sampling;

/** One step of training or validation, as a task's functions see it. */
typedef struct rgm_step {
    rgm_mode mode;
    int64_t eval_set;    /* 1 + the index in the task's eval_sets; 0: the mode's own data */
    int64_t global_step; /* steps done before this one */
    rgm_element *inputs; /* the batch, borrowed */
    rgm_element *extra;  /* next_eval_inputs' second result, never fed to the model; or NULL      */
    /* Filled in by the default steps; tensors are borrowed until the next step of the mode. */
    rgm_tensor *predictions[RGM_MAX_HEADS], *labels[RGM_MAX_HEADS], *weights[RGM_MAX_HEADS];
    rgm_tensor *lists[RGM_MAX_HEADS];
    double loss;  /* [out] of this step; NaN in validation, which has none of its own        */
    double items; /* [out] number the loss is a mean over: this step's weight in a loop      */
    struct rgm_trainer *trainer; /* train.h: for a task's own steps that call the default ones */
    const rgm_parameters *parameters; /* the current weights: averages while they are evaluated */
    rgm_device *device; /* the model's: a task that computes itself does so there, too */
    bool bf16; /* runtime.mixed_precision: a task that multiplies itself rounds to bf16 too */
} rgm_step;

/** How a task writes its trained model for other programs, if that is more than a graph of its
 * heads. */
typedef struct rgm_task_export {
    const char *file; /* the first to open, "translation.json" */
    /** Write everything into an existing folder; the task's files are copied beside it. */
    rgm_status (*save)(const char *folder, const rgm_parameters *parameters, void *state);
    /** Check before the first step whether `save` can succeed. NULL: save will tell. */
    rgm_status (*check)(const rgm_parameters *parameters, void *state);
    /**
     * Run the files there with export's interpreter on up to max_batches batches of a mode's data,
     * and add the comparison with the executor's results to `check`.
     */
    rgm_status (*verify)(rgm_export_check *check, const char *folder,
                         const rgm_parameters *parameters, rgm_mode mode, int64_t max_batches,
                         void *state);
} rgm_task_export;

/** Another program's form of a task's trained model: an exporter of that name writes it. */
typedef struct rgm_task_format {
    const char *name; /* "ctranslate2"                         */
    const char *file; /* the one that is told as the result    */
    /** Write everything into an existing folder. */
    rgm_status (*save)(const char *folder, const rgm_parameters *parameters, void *state);
    /** Check before the first step whether `save` can succeed. NULL: save will tell. */
    rgm_status (*check)(const rgm_parameters *parameters, void *state);
} rgm_task_format;

/** A file that a trained model needs beside its weights, such as a tokenizer. */
typedef struct rgm_task_file {
    const char *name; /* in run folders and exports, "tokenizer.model" */
    const void *data;
    int64_t size;
    const char *origin; /* where it was read from, for messages */
    bool may_differ; /* it describes data; a run that continues with others keeps what they say */
} rgm_task_file;
#define RGM_MAX_TASK_FILES 8

/** The pair that a prediction is about, in the data's own numbers; -1: none. */
typedef struct rgm_item_pair {
    int64_t source, target, relation;
    rgm_str names[3]; /* of the same, borrowed; empty: they have none */
} rgm_item_pair;

/** New data that a user names to be predicted for. */
typedef struct rgm_new_data {
    const char *files; /* a file, folder or pattern */
    const char *items; /* a CSV file of the items that are asked about, by their ids, or by those of
                          both ends; NULL: all of the files' items, or those that the files name */
} rgm_new_data;

/** Further data to evaluate on, beside those of a mode: a validation set of another kind, say. */
typedef struct rgm_eval_set {
    const char *name; /* letters, digits, '_' and '-': "news" is reported as valid_news           */
    rgm_mode mode;    /* RGM_VALID or RGM_TEST: evaluated after that mode's own data              */
} rgm_eval_set;
#define RGM_MAX_EVAL_SETS 16

/** data.valid_sets and data.test_sets: files by name, borrowed. Sets are numbered through both
 * lists, validation first, as in rgm_task.eval_sets. */
typedef struct rgm_file_sets {
    const rgm_lists *valid, *test;
} rgm_file_sets;

/** The number of sets in both lists. */
int64_t rgm_file_sets_count(const rgm_file_sets *sets);
/** List them for rgm_task.eval_sets. @param out  [out] [RGM_MAX_EVAL_SETS] */
void rgm_file_sets_list(rgm_eval_set *out, int64_t *count, const rgm_file_sets *sets);
/** The files of set i, borrowed. */
const rgm_texts *rgm_file_sets_files(const rgm_file_sets *sets, int64_t i);
/** "data.valid_sets.news". The caller frees *key. Errors: RGM_ERR_NOMEM. */
rgm_status rgm_file_sets_key(char **key, const rgm_file_sets *sets, int64_t i);
/**
 * Check that each set's part has data of its own (has_valid, has_test), that the set names files,
 * that no other set of the part and no part has its name, and that there are at most
 * RGM_MAX_EVAL_SETS. Otherwise RGM_ERR_CONFIG, with the key.
 */
rgm_status rgm_file_sets_check(const rgm_file_sets *sets, bool has_valid, bool has_test);

/** data.train, if given, with data.train_sets and data.weights, borrowed. */
typedef struct rgm_train_sets {
    bool has_train;
    const rgm_lists *sets;
    const rgm_numbers *weights;
} rgm_train_sets;

/** Check that sets name files, that none is called train, and that weights belong to `train` or a
 * set. Otherwise RGM_ERR_CONFIG, with the key. */
rgm_status rgm_train_sets_check(const rgm_train_sets *sets);
/** The weight of `train` or a set; 1 if not given. */
double rgm_train_sets_weight(const rgm_train_sets *sets, const char *name);

/* ---- questions and answers --------------------------------------------------------------------
 */

/** The one form in which a task is asked. */
typedef enum rgm_question_form {
    RGM_QUESTIONS_ROWS,     /* rows of numbers: records               */
    RGM_QUESTIONS_EXAMPLES, /* serialized tf.train.Examples: graphs    */
    RGM_QUESTIONS_LINES,    /* lines of text                          */
    RGM_QUESTIONS_PROMPTS   /* texts, behind which texts are written  */
} rgm_question_form;
extern const char *const rgm_question_form_names[]; /* "rows", "examples", "lines", "prompts", ended
                                                       by NULL */

/** Questions of one form; all is borrowed. */
typedef struct rgm_questions {
    int64_t count;
    const rgm_tensor *rows; /* RGM_QUESTIONS_ROWS: f32 or f64 [count, numbers], or [count, ...] in
                               the shape of a record; as data files have them: unscaled, and without
                               the label's column                                             */
    const rgm_str *texts;   /* [count] of the other forms. Examples need no labels            */
    const char *const *wishes; /* [count] of prompts and lines: how each is to be answered, JSON as
                                  {"tokens": 20, "temperature": 0}, {"required": ["dog"]}; NULL, or
                                  one that is NULL: as the model's file says */
    int64_t first; /* the first one's number, where answers are drawn at random: a question's answer
                      depends on its number and not on how questions are divided into calls   */
} rgm_questions;

/** The most outputs of a model: every head, and its probabilities. */
#define RGM_MAX_OUTPUTS (2 * RGM_MAX_HEADS)
/** Answers to questions, in their order. `{0}` is a valid empty one. */
typedef struct rgm_answers {
    int64_t count; /* questions that were answered: all; after an error those before the bad line,
                      of other forms none                                                        */
    int64_t output_count;
    rgm_tensor *outputs[RGM_MAX_OUTPUTS]; /* [rows, ...] of all answers, owned                */
    int64_t *begins[RGM_MAX_OUTPUTS];     /* [count + 1] question i has the rows begins[o][i] ..
                                             begins[o][i + 1] - 1 of outputs[o]               */
    char **texts; /* [rows of outputs[0]] what the model wrote, owned; NULL: it writes no text */
    char **alignments; /* [the same] of each text with its question's, "0-0 1-2", owned, NULL where
                          none was wished; NULL: of no question */
    bool is_single; /* by its kind, and not by chance, each question has one row of each output  */
} rgm_answers;
void rgm_answers_clear(rgm_answers *answers);
/**
 * Add the rows of one more output.
 *
 * @param rows   [in, taken] [sum of items, ...], also after an error
 * @param items  [in] [count] the rows of each question; NULL: one each
 *
 * Errors: RGM_ERR_SHAPE (there are other rows than the items say), RGM_ERR_NOMEM.
 */
rgm_status rgm_answers_add(rgm_answers *answers, rgm_tensor *rows, const int64_t *items,
                           int64_t count);

/** What a task computes with where it is asked. All is borrowed. */
typedef struct rgm_asked_with {
    const rgm_parameters *parameters;
    rgm_device *device; /* NULL: the CPU */
    bool bf16;
    bool int8; /* the weights were kept in 8 bits */
} rgm_asked_with;

typedef struct rgm_task_type rgm_task_type;
struct rgm_task_writing; /* train_writing.h */

/**
 * A task for the trainer: a table of functions over `state` (the seeds' tfm Task). For each
 * function that may be NULL, its comment says what happens then.
 */
typedef struct rgm_task {
    const char *name;
    /** The type whose `state` this is; readers compare it first (rgm_task_state()). NULL: a task
     * whose state nobody else needs to recognise. */
    const rgm_task_type *type;
    const char *items;   /* what a step's weights count: "target tokens"; NULL: nothing special */
    const char *network; /* what is trained, for people: "graph network"; NULL: "network"       */
    void *state;
    const rgm_element_type *element_type; /* of pointers in its batches; NULL: they hold none */
    /** One thing, such as a graph, that lies in so many parts with as many ranks or fewer, which
     * compute on it together: of the batches of each step and pass, one a part, a rank runs that of
     * its first part, which is all that it has. 0: batches stand alone. */
    int64_t parts;

    /* ---- building, each called once ---- */

    /**
     * Batches of a mode. *out is NULL when the task has no such data. Train data repeat for ever
     * when `endless`, else they are one pass.
     */
    rgm_status (*build_inputs)(rgm_dataset **out, void *state, rgm_mode mode, bool endless);
    /**
     * The sets beside the modes' own data. NULL: none.
     *
     * @param out  [out] [RGM_MAX_EVAL_SETS]; the task owns the names
     */
    void (*eval_sets)(rgm_eval_set *out, int64_t *count, void *state);
    /** One pass over set i of eval_sets. Required with eval_sets. */
    rgm_status (*build_eval_inputs)(rgm_dataset **out, void *state, int64_t set);
    /** Add the model, with its heads, to the scope's compute graph. NULL: no model; train_step is
     * then required. */
    rgm_status (*build_model)(rgm_task_model *out, rgm_scope *scope, void *state);
    /**
     * The scalar to minimise. aux is the sum of the losses that layers added to the scope
     * (regularisation), NULL when there are none. NULL: sum of loss_weight * loss of the heads,
     * plus aux.
     */
    rgm_value *(*build_losses)(const rgm_task_model *model, rgm_value *aux, void *state);
    /**
     * Metrics beside the model's own, for training or for validation. NULL: none.
     *
     * @param out  [out] [RGM_MAX_METRICS]
     */
    rgm_status (*build_metrics)(rgm_task_metric *out, int64_t *count, const rgm_task_model *model,
                                bool training, void *state);
    /** The feeds for a batch, which they borrow from; nobody writes to a tensor that was fed.
     * Required with a model. */
    rgm_status (*feeds)(rgm_feed *feeds, int64_t capacity, int64_t *count, void *state,
                        rgm_element *batch);
    /**
     * Complete batches by what other ranks have, such as neighbours in a graph that lies with
     * several: before `feeds` sees them. Called by every rank once for each step, with the batches
     * of its shards, and once for each runtime.shards batches of a pass. NULL: batches are complete
     * as they are read. Collective: every rank calls it.
     *
     * @param batches  [in, out] [count] each is replaced; NULL: there is no such batch
     */
    rgm_status (*complete)(rgm_element **batches, int64_t count, void *state);
    /**
     * Files that travel with the weights, borrowed from the task. A run folder keeps them from the
     * start, and a run continues only with the same ones. NULL: there are none.
     *
     * @param out  [out] [RGM_MAX_TASK_FILES]
     */
    void (*files)(rgm_task_file *out, int64_t *count, void *state);
    /** NULL: the graph of every head, model.onnx. */
    const rgm_task_export *exports;
    const rgm_task_format *formats; /* others, ended by a row without a name; NULL: none */
    /**
     * How the inputs of model.onnx are computed from a user's tables, once the model is built: sets
     * inputs and sizes, which stay until the next call. With options->joins_examples the tables are
     * parsed of the user's records: an error (RGM_ERR_UNSUPPORTED) where those are changed before
     * the model reads them. NULL: the inputs are those of the graph.
     */
    rgm_status (*export_inputs)(rgm_onnx_options *options, void *state);
    /**
     * The tables of a batch that such a file takes, and perhaps others; freed by
     * rgm_onnx_inputs_release(). NULL: rgm_onnx_inputs() of the feeds.
     */
    rgm_status (*export_tables)(rgm_named_tensor **tables, int64_t *count, void *state,
                                rgm_element *batch);
    /**
     * Check that the data of a part fit the model: schema, labels and their range. Data in memory
     * are checked completely; of data read as a stream, the first ones. Called before the first
     * step for each part that exists. NULL: the first batch shows it. Errors: those of the data,
     * with what to do.
     */
    rgm_status (*check_data)(void *state, rgm_mode mode);
    /**
     * Append to `out`, once the training data are open, one line of what a person should know about
     * them: "batches of 1,024 tokens (91% real)". NULL: nothing.
     */
    rgm_status (*describe)(rgm_text *out, void *state);
    /**
     * Append what the run does with its data, once the model is built, in lines of a word and a
     * description: "items 140 train, 500 valid\n", "reads paper.words\n", "leaves paper.year\n".
     * NULL: nothing.
     */
    rgm_status (*plan)(rgm_text *out, void *state);
    /**
     * The model computes on `device`, whose memory is not the host's: what the task's batches are
     * cut out of may stay there (rgm_device_lend()), at most `most` bytes of it. Called when the
     * model is built and no batch was made, and with device NULL when none will be made any more,
     * while the device is there: whatever the task has of it goes then. NULL: batches are sent as
     * they are. Errors: RGM_ERR_IO, RGM_ERR_NOMEM, those of the data.
     */
    rgm_status (*place)(void *state, rgm_device *device, size_t most);
    /**
     * Batches of a mode for prediction: every example once, in the data's order, without padding;
     * labels need not be valid. *out is NULL when there are no such data. NULL: those of
     * build_inputs.
     */
    rgm_status (*build_prediction_inputs)(rgm_dataset **out, void *state, rgm_mode mode);
    /**
     * Batches, as `feeds` takes them, of data that a user names for prediction. NULL: the task
     * reads no files.
     */
    rgm_status (*build_file_inputs)(rgm_dataset **out, void *state, const rgm_new_data *data);
    /**
     * Append what a person should know about those data, once all batches of the last
     * build_file_inputs are through, in lines of a word and a description: "unseen paper.kind 3 of
     * 40 values\n". NULL: nothing.
     */
    rgm_status (*describe_files)(rgm_text *out, void *state);
    /**
     * The number that the data have for item i of a batch's predictions of a head, -1: none. NULL:
     * the data number no items.
     */
    int64_t (*item_number)(rgm_element *batch, int64_t head, int64_t i, void *state);
    /**
     * What new data call item i of a batch's predictions, borrowed from the batch, and what it is:
     * "node", "graph". Returns NULL if they have no name for it. NULL: they never have.
     */
    const char *(*item_name)(rgm_str *out, rgm_element *batch, int64_t head, int64_t i,
                             void *state);
    /** What item i of a head is about, if items are pairs; false, or NULL: they are not. */
    bool (*item_pair)(rgm_item_pair *out, rgm_element *batch, int64_t head, int64_t i, void *state);
    /** Whether item `item` of all predictions of a head is one of that part's, where the data of a
     * part hold others' items too. NULL: each is. */
    bool (*item_asked)(rgm_mode mode, int64_t head, int64_t item, void *state);
    /** Why a table of predictions makes no sense here, and what to use; NULL: it makes sense. */
    const char *no_predictions;
    /* ---- serving: predictions for requests, see rgm_predictor ---- */

    /**
     * Write into a folder what rgm_task_type.serve reads beside the weights, replacing older files,
     * and append the keys of `data:` that it needs, one line "  key: value\n" each. NULL: the task
     * cannot be served from an export.
     */
    rgm_status (*save_serving)(rgm_text *data, const char *folder, void *state);
    /**
     * The weights that an export keeps for that, where these are others than the trained ones:
     * adapters are merged. *out is the caller's to release; NULL: they are the trained ones. NULL:
     * they always are.
     */
    rgm_status (*serving_weights)(rgm_parameters **out, const rgm_parameters *parameters,
                                  void *state);
    /**
     * How a parameter is kept where weights are kept in 8 bits: with a step for each row (0) or
     * each column (1) of a matrix, or not (-1). NULL: the task's weights are never kept so.
     */
    int (*int8_axis)(const char *name, const rgm_tensor *tensor);
    /** Append as JSON what that changes, measured on the validation data with both. NULL: nothing
     * is measured. Errors: those of data and model. */
    rgm_status (*judge_int8)(rgm_text *out, const rgm_parameters *parameters, void *state);
    /**
     * A batch, as `feeds` takes it, of serialized tf.train.Examples. NULL: the task does not accept
     * them.
     */
    rgm_status (*example_batch)(rgm_element **out, void *state, const rgm_str *examples,
                                int64_t count);
    /**
     * How many of a head's predictions each Example of such a batch has. NULL: one, as a record
     * has.
     *
     * @param items  [out] [count]
     */
    rgm_status (*example_items)(int64_t *items, void *state, rgm_element *batch, int64_t head,
                                const rgm_str *examples, int64_t count);
    /** The kind of list that an Example has under a key; RGM_FEATURE_NONE: there is no such key.
     * NULL: it is not known of any. */
    rgm_feature_kind (*example_kind)(const char *key, void *state);
    /** A batch of rows of numbers, f32 or f64 [n, ...]. NULL: the task does not accept them. */
    rgm_status (*row_batch)(rgm_element **out, void *state, const rgm_tensor *rows);
    /**
     * Answer lines of text. Sets every member of *out, which is empty, but output_count; with
     * RGM_ERR_DATA answers of the lines before the bad one may be there. NULL: the task accepts no
     * lines.
     */
    rgm_status (*answer_lines)(rgm_answers *out, void *state, const rgm_asked_with *with,
                               const rgm_questions *questions);
    /** The outputs of answer_lines, ended by a name that is NULL. Required with it. */
    const rgm_export_output *line_outputs;
    /** Texts behind prompts, a token at a time. NULL: the task writes none. */
    const struct rgm_task_writing *writing;

    /** How build_inputs draws training examples. NULL: training with privacy is refused. */
    rgm_status (*sampling)(rgm_sampling *out, void *state);
    /** NULL: rgm_optimizer_create(). */
    rgm_status (*create_optimizer)(rgm_optimizer **out, const rgm_optimizer_options *options,
                                   const rgm_parameters *parameters, void *state);
    /**
     * Called when a run has no checkpoint of its own, after random initialisation and
     * `trainer.initialize`. NULL: nothing more.
     */
    rgm_status (*initialize)(rgm_parameters *parameters, void *state);
    /**
     * For trainer.initialize.adapt: which row of the parameter of that name each row of ours is in
     * another run of this type, -1: none. For tables by token, whose tokens may have other numbers
     * there. NULL: rows are the same numbers.
     *
     * @param from   [out] [rows], when *known
     * @param known  [out] false: of this parameter rows are the same numbers
     * @param run    [in] the folder of the other run, with its files
     */
    rgm_status (*match_rows)(int64_t *from, bool *known, const char *parameter, int64_t rows,
                             const char *run, void *state);

    /* ---- steps ---- */

    /**
     * One training step: sets step->loss and items. NULL: rgm_trainer_default_train_step(), which
     * runs the model forward and backward and lets the optimizer update.
     */
    rgm_status (*train_step)(rgm_step *step, void *state);
    /**
     * NULL: rgm_trainer_default_validation_step(): inference_step, then loss and metrics. The loss
     * is the model's, even if the task's own inference_step computes other predictions, unless that
     * function sets step->loss.
     */
    rgm_status (*validation_step)(rgm_step *step, void *state);
    /** Only forward, without dropout: predictions. NULL: rgm_trainer_default_inference_step(). */
    rgm_status (*inference_step)(rgm_step *step, void *state);
    /** Update the task's metrics (build_metrics) with a step. NULL: each with its head. */
    void (*process_metrics)(double *const *states, const rgm_task_metric *metrics, int64_t count,
                            const rgm_step *step, void *state);
    /** The same for the model's own (rgm_head.metrics). */
    void (*process_compiled_metrics)(double *const *states, const rgm_task_metric *metrics,
                                     int64_t count, const rgm_step *step, void *state);

    /* ---- over a validation pass, for numbers that no sum over steps gives (BLEU) ---- */

    /** Add a step to *aggregate, NULL at the first one. NULL: nothing is aggregated. */
    rgm_status (*aggregate_logs)(void **aggregate, const rgm_step *step, void *state);
    /**
     * Add to *aggregate (NULL: nothing yet) what another process has aggregated over its share of
     * the same pass; the caller keeps `other`. NULL: aggregates cannot be merged.
     */
    rgm_status (*merge_aggregates)(void **aggregate, const void *other, void *state);
    /**
     * Append an aggregate as bytes for another process on a machine of this kind; and make an
     * aggregate of such bytes, all of which it is. NULL: processes cannot share this task's
     * validation.
     */
    rgm_status (*save_aggregate)(rgm_text *out, const void *aggregate, void *state);
    rgm_status (*load_aggregate)(void **aggregate, rgm_str bytes, void *state);
    /** Compute numbers from the aggregate and add them to the pass' logs. Required with
     * aggregate_logs. */
    rgm_status (*reduce_aggregated_logs)(rgm_logs *logs, void *aggregate, int64_t global_step,
                                         void *state);
    /** Always called after it, and when a pass fails. */
    void (*release_aggregate)(void *aggregate, void *state);
    /**
     * The names of reduce_aggregated_logs' numbers, ended by NULL, so that a metric that chooses
     * the best weights can be checked before the first step. NULL: they are known only after the
     * first validation.
     */
    const char *const *(*reduced_names)(void *state);
    /** Whether smaller is better for one of reduce_aggregated_logs' numbers. NULL: larger is. */
    bool (*smaller_is_better)(const char *name, void *state);
} rgm_task;

/**
 * `feeds` for batches of tensors: tensor i of the batch goes to inputs[i], and is left out where
 * that is NULL. RGM_ERR_ARG when there is no room for them.
 */
rgm_status rgm_feed_tensors(rgm_feed *feeds, int64_t capacity, int64_t *count,
                            rgm_value *const *inputs, int64_t input_count, rgm_element *batch);

/** Update metrics of a step with their heads' predictions and labels: the default of
 * process_metrics. */
void rgm_metrics_update(double *const *states, const rgm_task_metric *metrics, int64_t count,
                        const rgm_step *step);

/**
 * Write a task's files into an existing folder, each whole or not at all; files of the same name
 * are replaced. Errors: RGM_ERR_NOMEM.
 */
rgm_status rgm_task_files_save(const rgm_task *task, const char *folder);
/**
 * Check that the files in the folder are the task's: RGM_ERR_CONFIG names the first that differs. A
 * missing file is no difference.
 */
rgm_status rgm_task_files_check(const rgm_task *task, const char *folder);

/* ---- one class out of many ----------------------------------------------------------------- */

/** What tasks that predict a class have in common. */
typedef struct rgm_classes {
    int64_t num_classes; /* this or names */
    rgm_texts names;
    bool statistics;  /* precision and recall of each class too */
    double smoothing; /* of labels, only in the loss            */
} rgm_classes;
static inline int64_t rgm_classes_count(const rgm_classes *classes)
{
    return classes->names.count > 0 ? classes->names.count : classes->num_classes;
}
/** RGM_ERR_CONFIG: both or none of num_classes and class_names, names that are too long or appear
 * twice, or more statistics than fit. */
rgm_status rgm_classes_check(const rgm_classes *classes);
/**
 * Set loss (mean over the items) and metrics of a head whose predictions [n, classes], labels [n]
 * and weights are set.
 */
void rgm_classes_judge(rgm_head *head, const rgm_classes *classes);
/** Add only the metrics. */
void rgm_classes_add_metrics(rgm_head *head, const rgm_classes *classes);
/** Add a metric to a head, named after its type; NULL when the head has RGM_MAX_METRICS. */
rgm_metric *rgm_head_add_metric(rgm_head *head, const rgm_metric_type *type);
/** Add metrics by name. Errors: as rgm_named_metrics_check(), with the key task.metrics;
 * RGM_ERR_CONFIG when there are more than RGM_MAX_METRICS. */
rgm_status rgm_head_add_named_metrics(rgm_head *head, const rgm_texts *names, int64_t outputs,
                                      rgm_metrics_of of);

/* ---- tokens -------------------------------------------------------------------------------- */

/** How a head that predicts tokens is judged. */
typedef struct rgm_token_judging {
    int64_t classes;  /* tokens; logits behind them mean nothing                              */
    double smoothing; /* that `losses` have: metrics are taken without any                    */
    rgm_value *bytes; /* [n] in the losses' dtype: the bytes of text that each label stands for;
                         NULL: no bits_per_byte                                               */
} rgm_token_judging;
/**
 * Set the predictions of a head and add its metrics: "perplexity" (exp of the mean negative
 * log-probability of the labels, whatever smoothing the losses have), "token_accuracy" and, with
 * bytes, "bits_per_byte". The labels [n] are set. Predictions are [n, 3] or [n, 4]: of each label
 * its loss, its negative log-probability, 1 where it is the most probable token, and its bytes; so
 * the logits stay inside the graph.
 *
 * @param logits  [n, classes or more]
 * @param losses  [n]
 */
void rgm_tokens_judge(rgm_head *head, rgm_value *logits, rgm_value *losses,
                      const rgm_token_judging *how);

/* ---- task types: what an experiment file can name -------------------------------------------- */

struct rgm_trained_model; /* train_teachers.h */

/** One requested task: `task:`, or an entry of `tasks:`. */
typedef struct rgm_task_part {
    const char *name; /* of the entry; NULL: it is the only one */
    const rgm_section_type *type;
    void *options;
    double loss_weight;
    bool learns_weight; /* loss_weight is learned, where the type's `learned_weights` allows it */
} rgm_task_part;

/** What an experiment file says about a task, and the run it is created for. All is borrowed. */
typedef struct rgm_task_setup {
    void *data; /* options of the type's `data` */
    rgm_task_part parts[RGM_MAX_HEADS];
    int64_t part_count;
    const rgm_section_type *model;
    void *model_options;
    uint64_t seed;
    int threads;
    const char *run_dir; /* NULL: nothing is kept                                             */
    bool begun;          /* the folder has a run that goes on: files that it made are read again */
    bool trained;        /* the run is only looked at: all of `files` are read from there     */
    bool asked; /* trained, and asked about data that a user names alone: its own need not be there
                 */
    bool dry;   /* only a check: nothing is written, and files to keep are made in memory       */
    rgm_folds folds; /* the data are one fold of a cross-validation; count 0: no cross-validation */
    /** Open a model by the folder of its run (its best weights) or export; NULL: nobody can here.
     */
    rgm_status (*open_model)(struct rgm_trained_model *out, const char *folder);
} rgm_task_setup;

/**
 * A task with its kind of data and models: its sections in an experiment file, and how they become
 * a rgm_task. The one list of task types is in experiment.
 */
struct rgm_task_type {
    const char *name;                      /* for people: "graph network"                    */
    const rgm_section_type *data;          /* keys of `data:`                                */
    const rgm_section_type *const *tasks;  /* values of task.type, ended by NULL. When options have
                                              size 0, the fields are members of data's options */
    const rgm_section_type *const *models; /* values of model.type, ended by NULL            */
    int64_t most_parts;                    /* most tasks that `tasks:` may join; 0: none     */
    bool learned_weights;                  /* their loss_weight may be `learned`             */
    const rgm_effect *effects;             /* ended by {0}; NULL: none */
    const rgm_rule *rules;                 /* ended by {0}; NULL: none */
    const char *no_privacy; /* why its tasks cannot be trained with privacy; NULL: they can */
    bool makes_folds;       /* create() implements rgm_task_setup.folds; else a file with folds is
                               refused */
    /** Errors: RGM_ERR_CONFIG (key, value, what to do), those of reading data; *out is then
     * zeros. */
    rgm_status (*create)(rgm_task *out, const rgm_task_setup *setup);
    /**
     * Create a task without data of its own, which has a model and makes batches of requests.
     * save_serving wrote `folder`, perhaps on another machine, and the files may have been changed
     * since. NULL: the type cannot be served.
     */
    rgm_status (*serve)(rgm_task *out, const rgm_task_setup *setup, const char *folder);
    void (*release)(rgm_task *task);
};
/** RGM_ERR_CONFIG with the reason: privacy is requested and the type's tasks cannot have it. */
rgm_status rgm_task_type_check_privacy(const rgm_task_type *type, const rgm_privacy *privacy);
/** Release a task by its type and zero it; nothing for a task without a type. */
void rgm_task_release(rgm_task *task);
/** The state of a task of `type`; RGM_ERR_UNSUPPORTED "task 'x' is no <type>" for any other. */
rgm_status rgm_task_state(void **state, const rgm_task *task, const rgm_task_type *type);

#ifdef __cplusplus
}
#endif
#endif

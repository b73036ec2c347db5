/*
 * train: from a task to trained weights in a run folder. What a task is, with its losses and
 * metrics; the progress line; and the training core that every front door uses:
 *
 *     rgm_trainer     a task with its model, optimizer and data: train n steps, evaluate n steps
 *     rgm_controller  decides when: loops, validation, checkpoints, summaries, actions, recovery
 *     rgm_controller_run()   the modes of a run: train, eval, train_and_eval, ...
 *
 * The library never prints: progress goes to a callback.
 */
#ifndef REGIMEN_TRAIN_H
#define REGIMEN_TRAIN_H

#include <regimen/data.h>
#include <regimen/export.h>
#include <regimen/nn.h>
#include <regimen/optim.h>
#include <regimen/store.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- metrics ------------------------------------------------------------------------------- */

/** What a metric sees of one batch. Items of weight 0 (padding) do not count. */
typedef struct rgm_metric_batch {
    const rgm_tensor *predictions; /* f32/f64 [n, units]: logits        */
    const rgm_tensor *labels;      /* [n] classes, or [n(, units)] 0/1  */
    const rgm_tensor *weights;     /* [n], of 0/1 labels and numbers also [n, units]; NULL: ones */
    const rgm_tensor *lists; /* i64 [n], of rankings: see rgm_ranking_loss(); NULL: one list */
} rgm_metric_batch;

typedef struct rgm_metric rgm_metric;

/** A kind of metric: a sum over batches, kept as doubles so that it can be saved, and its result.
 */
typedef struct rgm_metric_type {
    const char *name;
    bool smaller_is_better;
    int64_t (*state_size)(const rgm_metric *metric); /* doubles, zero at the start */
    void (*update)(double *state, const rgm_metric *metric, const rgm_metric_batch *batch);
    double (*result)(const double *state, const rgm_metric *metric); /* 0 when nothing was seen */
    bool of_states; /* it looks at predictions alone, labels or not, and in passes alone: it is dear
                     */
} rgm_metric_type;

#define RGM_METRIC_NAME 128

/** A metric of a head, as reported. */
struct rgm_metric {
    const rgm_metric_type *type;
    char name[RGM_METRIC_NAME]; /* "accuracy", "recall_at_precision_90", "precision_for_cat" */
    int64_t class_id;           /* per-class metrics                                         */
    double precision;           /* recall at precision                                       */
    int64_t outputs; /* of counts and curves by class: classes, or independent 0/1 labels    */
    int64_t k;       /* top: how many; calibration_error: bins; hits: the worst rank that is one;
                        ndcg: the last rank that counts, 0: all do */
    bool several;    /* it is of several independent 0/1 labels                               */
};

extern const rgm_metric_type rgm_metric_accuracy;      /* argmax == label, ties to the lowest     */
extern const rgm_metric_type rgm_metric_cross_entropy; /* mean of logsumexp(z) - z_y              */
extern const rgm_metric_type rgm_metric_class_precision; /* argmax == c against label == c */
extern const rgm_metric_type rgm_metric_class_recall;
extern const rgm_metric_type rgm_metric_binary_accuracy; /* (logit > 0) == label, over all units */
extern const rgm_metric_type rgm_metric_binary_cross_entropy;
extern const rgm_metric_type rgm_metric_precision; /* positive iff logit > 0                  */
extern const rgm_metric_type rgm_metric_recall;
extern const rgm_metric_type rgm_metric_auc_roc; /* 200 thresholds, as Keras                */
extern const rgm_metric_type rgm_metric_auc_pr;
extern const rgm_metric_type rgm_metric_recall_at_precision;
/* Of one class out of many, and binary_ of 0/1 labels; as scikit-learn has them. Of one 0/1 label
 * the classes are 0 and 1, of several they are the labels that are 1. `outputs` is to be set. */
extern const rgm_metric_type rgm_metric_f1_micro, rgm_metric_binary_f1_micro; /* of all counts */
extern const rgm_metric_type rgm_metric_f1_macro, rgm_metric_binary_f1_macro; /* mean of classes */
extern const rgm_metric_type rgm_metric_f1_weighted,
    rgm_metric_binary_f1_weighted;                 /* mean by how many labels a class has */
extern const rgm_metric_type rgm_metric_binary_f1; /* of the labels that are 1, of all units */
extern const rgm_metric_type rgm_metric_balanced_accuracy,
    rgm_metric_binary_balanced_accuracy; /* mean of the classes' recalls */
extern const rgm_metric_type rgm_metric_matthews_correlation,
    rgm_metric_binary_matthews_correlation;  /* Gorodkin 2004; 0 where one side does not vary */
extern const rgm_metric_type rgm_metric_top; /* the label is among the `k` largest logits, of equal
                                                ones the lowest class first */
/* sum over `k` bins of probability of |sum of probabilities - how many were right|, by all: of the
 * class that is given (Guo et al. 2017), of 0/1 labels of 1. */
extern const rgm_metric_type rgm_metric_calibration_error, rgm_metric_binary_calibration_error;
/* Brier 1950: squared distances of probabilities from labels, of classes summed over all classes.
 */
extern const rgm_metric_type rgm_metric_brier_score, rgm_metric_binary_brier_score;
/* Means of the areas of each 0/1 label that has items of both kinds. `outputs` is to be set. */
extern const rgm_metric_type rgm_metric_auc_roc_macro, rgm_metric_auc_pr_macro;
/* Of predicted numbers, means over items and units; labels [n, units]. */
extern const rgm_metric_type rgm_metric_mean_squared_error;
extern const rgm_metric_type rgm_metric_mean_absolute_error;
extern const rgm_metric_type rgm_metric_mean_absolute_percentage_error; /* |label| at least 1e-7 */
extern const rgm_metric_type rgm_metric_mean_squared_logarithmic_error; /* of ln(1 + x)          */
extern const rgm_metric_type rgm_metric_r2; /* 1 - squared errors / squared distances from the mean
                                               label; 0 where labels do not vary              */
/*
 * Of pairs, links (label 1) and others (0), by one score [n, 1] each. A pass over several batches
 * is the mean of the batches by their pairs, or links: a score is compared with those of its batch.
 *
 * auc: share of the pairs (link, other) with the link's score above, equal ones a half: the area
 * under the ROC curve itself. average_precision: mean over links of the precision at their score
 * (links at or above it, of all at or above it): the sum over thresholds of precision times the
 * gain in recall, not interpolated.
 *
 * A link's rank is that among itself and the others behind it up to the next link: 1 + those with
 * a higher score + half of those with the same (the mean rank of ties). mrr: mean of 1 / rank
 * (Voorhees 1999). hits: share of ranks that are k or better. Others that are known to be true are
 * to be left out of the data or to weigh 0 ("filtered", Bordes et al. 2013).
 */
extern const rgm_metric_type rgm_metric_auc, rgm_metric_average_precision, rgm_metric_mrr,
    rgm_metric_hits;
/*
 * Of the order of each list's items by their scores [n, 1] against labels from 0 on, the mean over
 * the lists that have a label above 0 (the others have no best order); one that has none counts
 * nowhere. Items with the same score count with the mean over all their orders (ndcg, McSherry &
 * Najork 2008; of mrr the mean of the rank), or all at the last of their ranks (map).
 *
 * ndcg: sum of (2^label - 1) / log2(1 + rank) over the ranks up to `k`, of what the best order
 * would have (Jarvelin & Kekalainen 2002, with the gains of Burges et al. 2005). map: mean over the
 * items with labels above 0 of the share of such items at its score and above. mrr: 1 / the rank of
 * the first of them. A score that is no number makes its list's figure NaN.
 */
extern const rgm_metric_type rgm_metric_list_ndcg, rgm_metric_list_map, rgm_metric_list_mrr;
/*
 * How good states [n, columns] are without labels (Tsitsulin et al. 2023), by the singular values s
 * of a batch, descending, and its left vectors U; the mean of the batches. `outputs`, the columns,
 * is to be set; a batch of others is not counted. Of a batch with more than
 * RGM_MOST_REPRESENTED_ROWS items every second, third, ... is looked at. Values below 1e-6 of the
 * first count as 0: states are float. A batch of zeros has 0, one with a NaN makes the metric NaN.
 *
 * rankme: exp(entropy of s / sum s), Garrido et al. 2023. numerical_rank: sum s^2 / s_0^2.
 * pseudo_condition_number: s_0 / s_last, 0 where s_last is. coherence: max |U_i|^2 n / rank over
 * the items, those U whose s is not 0 (Candes & Recht 2009): 1 where all weigh the same.
 * self_clustering: the sum over pairs of squared cosines, 0 where it is that of n random
 * directions and 1 where all are one; an item of zeros is not counted.
 */
extern const rgm_metric_type rgm_metric_rankme, rgm_metric_numerical_rank, rgm_metric_coherence,
    rgm_metric_pseudo_condition_number, rgm_metric_self_clustering;
#define RGM_MOST_REPRESENTED_ROWS 8192

/* ---- logs ---------------------------------------------------------------------------------- */

/** A text of some lines by its name. */
typedef struct rgm_named_text {
    char *name, *text;
} rgm_named_text;

/**
 * What a loop or a pass comes to: named numbers in order, "loss" first. A '/' in a name makes a
 * level of nesting, which is a sub-folder of the summaries. Zero-initialised it is empty.
 */
typedef struct rgm_logs {
    rgm_named_number *items; /* names are the logs' own */
    int64_t count, capacity;
    rgm_named_text *texts; /* for people: told in the log and in event files, never chosen by */
    int64_t text_count, text_capacity;
    rgm_sample *samples; /* for tables.jsonl; all of each is the logs' own */
    int64_t sample_count, sample_capacity;
} rgm_logs;
/** Set, or set again; the name is copied. Errors: RGM_ERR_NOMEM. */
rgm_status rgm_logs_set(rgm_logs *logs, const char *name, double value);
/** A text to be told: a sample of what is generated, say; both are copied. Errors: RGM_ERR_NOMEM.
 */
rgm_status rgm_logs_set_text(rgm_logs *logs, const char *name, const char *text);
/** One more of what is generated, copied; the names of its scores are not. Errors: RGM_ERR_NOMEM.
 */
rgm_status rgm_logs_add_sample(rgm_logs *logs, const rgm_sample *sample);
bool rgm_logs_has(const rgm_logs *logs, const char *name);
/** NaN when there is none of that name. */
double rgm_logs_get(const rgm_logs *logs, const char *name);
/** Set in `to` all that `from` has; its samples, if any, take the place of others. Errors:
 * RGM_ERR_NOMEM. */
rgm_status rgm_logs_merge(rgm_logs *to, const rgm_logs *from);
/** Empty it and give its memory back. */
void rgm_logs_clear(rgm_logs *logs);

/* ---- losses -------------------------------------------------------------------------------- */

/** sum(weights * x) / max(sum(weights), tiny) over items [n]; NULL weights: the mean. Scalar. */
rgm_value *rgm_weighted_mean(rgm_value *x, rgm_value *weights);
/** What is made of the loss of classes beside cross-entropy; zeros: nothing. */
typedef struct rgm_class_loss_options {
    /** In [0, 1): the target of class k is (1 - smoothing) [k = label] + smoothing / classes
     * (Szegedy et al. 2016, section 7), of a 0/1 label (1 - smoothing) label + smoothing / 2. */
    double smoothing;
    /** At least 0: each term of cross-entropy times (1 - p)^gamma, p the probability of what it is
     * about (Lin et al. 2017, equation 4). */
    double focal_gamma;
    /** [classes], of 0/1 labels [2, units] or [2, 1]: the loss of an item times that of its label;
     * NULL: ones. */
    rgm_value *weights;
} rgm_class_loss_options;
/** Losses [n] of logits [n, classes] and labels [n] i32/i64. */
rgm_value *rgm_class_loss(rgm_value *logits, rgm_value *labels,
                          const rgm_class_loss_options *options);
/** Losses [n, units] of logits and targets [n, units], 0 or 1 in the dtype of the logits. */
rgm_value *rgm_binary_loss(rgm_value *logits, rgm_value *targets,
                           const rgm_class_loss_options *options);
/**
 * Labels with 0 for those that are missing: NaN, and of `classes` (or 0/1 labels) what is below 0.
 *
 * @param known  [out] of the labels' shape in `dtype`, that of the predictions: 1, and 0 for
 * missing
 * @return of classes in the labels' own dtype, else in `dtype`
 */
rgm_value *rgm_known_labels(rgm_value **known, rgm_value *labels, rgm_dtype dtype, bool classes);

/** How far predicted numbers p are from labels y; e = y - p. */
typedef enum rgm_regression_loss_type {
    RGM_LOSS_MEAN_SQUARED_ERROR,             /* e^2                                            */
    RGM_LOSS_MEAN_ABSOLUTE_ERROR,            /* |e|                                            */
    RGM_LOSS_MEAN_ABSOLUTE_PERCENTAGE_ERROR, /* 100 |e| / max(|y|, 1e-7)                       */
    RGM_LOSS_MEAN_SQUARED_LOGARITHMIC_ERROR, /* squares of ln(1 + y) - ln(1 + p)               */
    RGM_LOSS_MEAN_SQUARED_LOG_SCALED_ERROR,  /* e^2 + alpha (ln(p + epsilon) - ln(y + epsilon))^2,
                                                of p >= 0                                      */
    RGM_LOSS_COSINE_SIMILARITY,              /* -cos of the angle between the rows y and p     */
    RGM_LOSS_HUBER,                          /* e^2 / 2, beyond delta straight on (Huber 1964) */
    RGM_LOSS_LOG_COSH,                       /* ln(cosh(e))                                    */
    RGM_LOSS_QUANTILE,                       /* max(q e, (q - 1) e) (Koenker & Bassett 1978)   */
    RGM_LOSS_POISSON                         /* p - y ln(p + 1e-7), of rates p > 0             */
} rgm_regression_loss_type;
extern const char *const rgm_regression_loss_names[]; /* "mean_squared_error", ..., ended by NULL */
typedef struct rgm_regression_loss_options {
    double delta, quantile, alpha, epsilon; /* of those that have them */
} rgm_regression_loss_options;
#define RGM_REGRESSION_LOSS_OPTIONS_INIT                                                           \
    {                                                                                              \
        .delta = 1, .quantile = 0.5, .alpha = 5, .epsilon = 1e-8                                   \
    }
/** Each item's mean over its units: [n] of predictions and labels [n, units] of one dtype. */
rgm_value *rgm_regression_loss(rgm_regression_loss_type type, rgm_value *predictions,
                               rgm_value *labels, const rgm_regression_loss_options *options);
/** The same of each unit by itself, [n, units]; of cosine_similarity there is none. */
rgm_value *rgm_regression_unit_loss(rgm_regression_loss_type type, rgm_value *predictions,
                                    rgm_value *labels, const rgm_regression_loss_options *options);

/**
 * What holds the scores s of a list's items against their labels y: the higher the label, the
 * further up. Pairs are those of one list with y_i > y_j; d = s_i - s_j.
 */
typedef enum rgm_ranking_loss_type {
    RGM_RANKING_PAIRWISE_LOGISTIC, /* mean over pairs of ln(1 + exp(-d)): RankNet, Burges 2005    */
    RGM_RANKING_PAIRWISE_HINGE,    /* mean over pairs of max(0, 1 - d): Herbrich et al. 2000      */
    RGM_RANKING_SOFTMAX,           /* -sum y_i / sum(y) ln(softmax(s)_i): Bruch et al. 2019       */
    RGM_RANKING_LIST_NET,          /* -sum softmax(y)_i ln(softmax(s)_i): Cao et al. 2007, top 1  */
    RGM_RANKING_APPROX_NDCG        /* 1 - NDCG with ranks 1 + sum_j sigmoid((s_j - s_i) /
                                      temperature) over the others: Qin et al. 2010, equation 14  */
} rgm_ranking_loss_type;
extern const char *const rgm_ranking_loss_names[]; /* "pairwise_logistic", ..., ended by NULL */
/**
 * The mean over lists of a list's loss, a scalar; 0 where there is none. A list without two
 * different labels has no order to be learned and is not counted. Takes time by the square of a
 * list's items, of softmax and list_net by the items, and memory by the items.
 *
 * @param scores       [n] or [n, 1] of f32 or f64
 * @param labels       of their dtype and count, from 0 on; gains 2^y - 1 overflow above 1000
 * @param weights      [n] or [n, 1] of any float; items of weight 0 are in no list, other weights
 *                     are all the same; NULL: ones
 * @param lists        i64 [n]: items of the same number are a list, those below 0 are in none
 * @param temperature  of approx_ndcg, above 0
 *
 * Errors, as the graph keeps them: RGM_ERR_ARG (temperature), RGM_ERR_SHAPE (others than these).
 */
rgm_value *rgm_ranking_loss(rgm_ranking_loss_type type, rgm_value *scores, rgm_value *labels,
                            rgm_value *weights, rgm_value *lists, double temperature);
/** How many lists that is the mean of, a scalar for rgm_head.loss_items; the same arguments and
 * errors, but labels of any number type, [n] or [n, 1]. */
rgm_value *rgm_ranking_lists(rgm_value *labels, rgm_value *weights, rgm_value *lists);

/* ---- task ---------------------------------------------------------------------------------- */

typedef enum rgm_mode { RGM_TRAIN, RGM_VALID, RGM_TEST } rgm_mode;
const char *rgm_mode_name(rgm_mode mode); /* "train", "valid", "test" */

#define RGM_MAX_HEADS     8
#define RGM_MAX_METRICS   32
#define RGM_MOST_CONFUSED 100

/** One output of a model with what judges it. */
typedef struct rgm_head {
    char name[64];          /* "classification_logits"; metrics of several heads get it as prefix */
    rgm_value *predictions; /* [n, units] */
    bool is_number;         /* predictions are the numbers asked for, not logits: a regression */
    rgm_value
        *probabilities;    /* of the classes, like predictions, for exports; NULL: there are none */
    rgm_texts class_names; /* of the last axis; none: numbers */
    rgm_value *labels;
    rgm_value *weights;    /* [n], of labels [n, units] that may be missing one by one [n, units];
                              NULL: ones */
    rgm_value *lists;      /* i64 [n] of rankings: which list an item is in; NULL: of no matter */
    rgm_value *loss;       /* scalar: mean over the real items; NULL when build_losses makes one  */
    rgm_value *loss_items; /* scalar: how many the loss is the mean of, by which batches are
                              weighed, if not its items: lists of a ranking. NULL: the items   */
    double loss_weight;    /* of the default build_losses                                         */
    int64_t confusion; /* classes, at most RGM_MOST_CONFUSED, whose predictions are counted by label
                          in validations, for tables.jsonl; of a logit for 1 against 0: 2; 0: not */
    int64_t metric_count; /* the model's own ("compiled") metrics; of_states in passes alone     */
    rgm_metric metrics[RGM_MAX_METRICS];
} rgm_head;

/** What a task's model consists of. */
typedef struct rgm_task_model {
    int64_t head_count;
    rgm_head heads[RGM_MAX_HEADS];
    rgm_value *loss; /* set by the trainer from build_losses: the scalar to minimise */
} rgm_task_model;

/** A metric and the head it looks at. */
typedef struct rgm_task_metric {
    rgm_metric metric;
    int64_t head;
} rgm_task_metric;

/** How the examples of a training step are drawn: what a privacy guarantee rests on. */
typedef struct rgm_sampling {
    int64_t examples; /* in the training set                                       */
    double rate;      /* expected batch / examples                                 */
    bool poisson;     /* each by a coin of its own; else batches of a shuffled pass */
} rgm_sampling;

/** One step of training or validation, as a task's functions see it. */
typedef struct rgm_step {
    rgm_mode mode;
    int64_t eval_set;    /* 1 + the place in the task's eval_sets; 0: the mode's own data */
    int64_t global_step; /* steps done before this one */
    rgm_element *inputs; /* the batch, borrowed */
    rgm_element *extra; /* what next_eval_inputs gave beside it, never fed to the model; or NULL  */
    /* What the default steps fill in; tensors are borrowed until the next step of the mode. */
    rgm_tensor *predictions[RGM_MAX_HEADS], *labels[RGM_MAX_HEADS], *weights[RGM_MAX_HEADS];
    rgm_tensor *lists[RGM_MAX_HEADS];
    double loss;  /* [out] of this step; NaN in validation: it has none of its own           */
    double items; /* [out] how many it is the mean of: the weight of this step in a loop's   */
    struct rgm_trainer *trainer; /* train.h: for steps of one's own that go on to the default */
    const rgm_parameters
        *parameters; /* the weights at this moment: averages while they are evaluated */
    bool bf16; /* runtime.mixed_precision: products of what a task runs itself round to bf16 too */
} rgm_step;

/** How a task writes its trained model for other programs, where that is more than a graph of its
 * heads. */
typedef struct rgm_task_export {
    const char *file; /* the one to begin with, "translation.json" */
    /** Write all of it into a folder that is there; the task's files come beside it. */
    rgm_status (*save)(const char *folder, const rgm_parameters *parameters, void *state);
    /** Whether `save` could: asked before the first step. NULL: save will tell. */
    rgm_status (*check)(const rgm_parameters *parameters, void *state);
    /**
     * Run what stands there with export's interpreter on up to max_batches batches of a mode's
     * data, and add what is compared with the executor's results to `check`.
     */
    rgm_status (*verify)(rgm_export_check *check, const char *folder,
                         const rgm_parameters *parameters, rgm_mode mode, int64_t max_batches,
                         void *state);
} rgm_task_export;

/** A file that a trained model needs beside its weights: a tokenizer, say. */
typedef struct rgm_task_file {
    const char *name; /* in run folders and exports, "tokenizer.model" */
    const void *data;
    int64_t size;
    const char *origin; /* where it was read: for messages */
} rgm_task_file;
#define RGM_MAX_TASK_FILES 8

/** What a prediction about a pair is about: numbers that the data have, -1: none. */
typedef struct rgm_item_pair {
    int64_t source, target, relation;
    rgm_str names[3]; /* of the same, borrowed; of no bytes: they have none */
} rgm_item_pair;

/** More data to evaluate on beside those of a mode: a validation set of another kind, say. */
typedef struct rgm_eval_set {
    const char *name; /* letters, digits, '_' and '-': "news" is told as valid_news               */
    rgm_mode mode;    /* RGM_VALID or RGM_TEST: evaluated behind that mode's own data             */
} rgm_eval_set;
#define RGM_MAX_EVAL_SETS 16

/** data.valid_sets and data.test_sets: files by name, borrowed. A set's number counts through both,
 * validation first: that of rgm_task.eval_sets. */
typedef struct rgm_file_sets {
    const rgm_lists *valid, *test;
} rgm_file_sets;

/** Of both lists together. */
int64_t rgm_file_sets_count(const rgm_file_sets *sets);
/** rgm_task.eval_sets of them. @param out  [out] [RGM_MAX_EVAL_SETS] */
void rgm_file_sets_list(rgm_eval_set *out, int64_t *count, const rgm_file_sets *sets);
/** The files of set i, borrowed. */
const rgm_texts *rgm_file_sets_files(const rgm_file_sets *sets, int64_t i);
/** "data.valid_sets.news". *key is freed by the caller. Errors: RGM_ERR_NOMEM. */
rgm_status rgm_file_sets_key(char **key, const rgm_file_sets *sets, int64_t i);
/**
 * Each set stands beside its part's own data (has_valid, has_test), names files, and is called
 * neither as another of its part nor as a part; there are at most RGM_MAX_EVAL_SETS. Else
 * RGM_ERR_CONFIG, with the key.
 */
rgm_status rgm_file_sets_check(const rgm_file_sets *sets, bool has_valid, bool has_test);

/** data.train, where there is one, with data.train_sets and data.weights, borrowed. */
typedef struct rgm_train_sets {
    bool has_train;
    const rgm_lists *sets;
    const rgm_numbers *weights;
} rgm_train_sets;

/** Sets name files and none is called train; weights are of `train` or a set. Else
 * RGM_ERR_CONFIG, with the key. */
rgm_status rgm_train_sets_check(const rgm_train_sets *sets);
/** Of `train` or a set, 1 where it is not named. */
double rgm_train_sets_weight(const rgm_train_sets *sets, const char *name);

typedef struct rgm_task_type rgm_task_type;

/**
 * A task for the trainer: the seeds' tfm Task as a table of functions over `state`. Those that may
 * be NULL say what then happens.
 */
typedef struct rgm_task {
    const char *name;
    /** Whose `state` this is: who reads that compares first (rgm_task_state()). NULL: a task of
     * one's own that nobody has to know again. */
    const rgm_task_type *type;
    const char *items;   /* what a step's weights count: "target tokens"; NULL: nothing special */
    const char *network; /* what is trained, for people: "graph network"; NULL: "network"       */
    void *state;

    /* ---- building, each called once ---- */

    /**
     * Batches of a mode. *out is NULL when the task has no such data. Train data repeat for ever
     * when `endless`, else they are one pass.
     */
    rgm_status (*build_inputs)(rgm_dataset **out, void *state, rgm_mode mode, bool endless);
    /**
     * The sets that there are beside the modes' own data. NULL: none.
     *
     * @param out  [out] [RGM_MAX_EVAL_SETS]; names are the task's
     */
    void (*eval_sets)(rgm_eval_set *out, int64_t *count, void *state);
    /** One pass over set i of eval_sets. Needed with it. */
    rgm_status (*build_eval_inputs)(rgm_dataset **out, void *state, int64_t set);
    /** Add the model to the scope's compute graph: its heads. NULL: no model; train_step is then
     * needed. */
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
    /** What to feed for a batch; feeds borrow from it. Needed with a model. */
    rgm_status (*feeds)(rgm_feed *feeds, int64_t capacity, int64_t *count, void *state,
                        rgm_element *batch);
    /**
     * Files that travel with the weights, borrowed from the task: a run folder keeps them from its
     * beginning, and a run goes on only with the same ones. NULL: there are none.
     *
     * @param out  [out] [RGM_MAX_TASK_FILES]
     */
    void (*files)(rgm_task_file *out, int64_t *count, void *state);
    /** NULL: the graph of every head, model.onnx. */
    const rgm_task_export *exports;
    /**
     * How the inputs of model.onnx come of what a user has, once the model is built: sets inputs
     * and sizes, which stay until the next call. NULL: they are those of the graph.
     */
    rgm_status (*export_inputs)(rgm_onnx_options *options, void *state);
    /**
     * The tables of a batch that such a file takes, maybe others too: rgm_onnx_inputs_release().
     * NULL: rgm_onnx_inputs() of what is fed.
     */
    rgm_status (*export_tables)(rgm_named_tensor **tables, int64_t *count, void *state,
                                rgm_element *batch);
    /**
     * Whether the data of a part are what the model was built for: schema, labels and their range;
     * of all that is in memory, of the first ones where they are read as they come. Called for each
     * part that there is before the first step. NULL: the first batch shows it.
     * Errors: those of the data, with what to do.
     */
    rgm_status (*check_data)(void *state, rgm_mode mode);
    /**
     * Append to `out` what a person should know of the training data once they are there, in one
     * line: "batches of 1,024 tokens (91% real)". NULL: nothing.
     */
    rgm_status (*describe)(rgm_text *out, void *state);
    /**
     * Append what the run does with its data, in lines of a word and what there is to say, once the
     * model is built: "items 140 train, 500 valid\n", "reads paper.words\n", "leaves paper.year\n".
     * NULL: nothing.
     */
    rgm_status (*plan)(rgm_text *out, void *state);
    /**
     * Batches of a mode for prediction: every example once, in the data's order, without padding;
     * labels need not be sound. *out is NULL when there are no such data. NULL: those of
     * build_inputs.
     */
    rgm_status (*build_prediction_inputs)(rgm_dataset **out, void *state, rgm_mode mode);
    /**
     * Batches, as `feeds` takes them, of files that a user names for prediction. NULL: there is no
     * such form.
     */
    rgm_status (*build_file_inputs)(rgm_dataset **out, void *state, const char *pattern);
    /**
     * The number that the data have for item i of a batch's predictions of a head, -1: none. NULL:
     * they number nothing.
     */
    int64_t (*item_number)(rgm_element *batch, int64_t head, int64_t i, void *state);
    /** What item i of a head is about where items are pairs; false, or NULL: they are not. */
    bool (*item_pair)(rgm_item_pair *out, rgm_element *batch, int64_t head, int64_t i, void *state);
    /** Why a table of predictions says nothing here, and what does; NULL: it says something. */
    const char *no_predictions;
    /* ---- serving: predictions of what a program is sent, see rgm_predictor ---- */

    /**
     * Write into a folder what rgm_task_type.serve reads beside the weights, replacing what is
     * there, and append the keys of `data:` that it needs, a line "  key: value\n" each. NULL: the
     * task cannot be served from an export.
     */
    rgm_status (*save_serving)(rgm_text *data, const char *folder, void *state);
    /**
     * A batch, as `feeds` takes it, of serialized tf.train.Examples; of rows of numbers, f32 or f64
     * [n, ...]. NULL: there is no such form.
     */
    rgm_status (*example_batch)(rgm_element **out, void *state, const rgm_str *examples,
                                int64_t count);
    rgm_status (*row_batch)(rgm_element **out, void *state, const rgm_tensor *rows);

    /** How build_inputs draws training examples. NULL: training with privacy is refused. */
    rgm_status (*sampling)(rgm_sampling *out, void *state);
    /** NULL: rgm_optimizer_create(). */
    rgm_status (*create_optimizer)(rgm_optimizer **out, const rgm_optimizer_options *options,
                                   const rgm_parameters *parameters, void *state);
    /**
     * Called when a run has no checkpoint of its own, behind random initialisation and
     * `trainer.initialize`. NULL: nothing more.
     */
    rgm_status (*initialize)(rgm_parameters *parameters, void *state);

    /* ---- steps ---- */

    /**
     * One training step: sets step->loss and items. NULL: rgm_trainer_default_train_step(), which
     * runs the model forward and backward and lets the optimizer update.
     */
    rgm_status (*train_step)(rgm_step *step, void *state);
    /**
     * NULL: rgm_trainer_default_validation_step(): inference_step, then loss and metrics. The loss
     * is the model's, also beside predictions of an inference_step that goes its own way, unless
     * that sets step->loss.
     */
    rgm_status (*validation_step)(rgm_step *step, void *state);
    /** Forward alone, without dropout: predictions. NULL: rgm_trainer_default_inference_step(). */
    rgm_status (*inference_step)(rgm_step *step, void *state);
    /** Update the task's metrics (build_metrics) with a step. NULL: each with its head. */
    void (*process_metrics)(double *const *states, const rgm_task_metric *metrics, int64_t count,
                            const rgm_step *step, void *state);
    /** The same for the model's own (rgm_head.metrics). */
    void (*process_compiled_metrics)(double *const *states, const rgm_task_metric *metrics,
                                     int64_t count, const rgm_step *step, void *state);

    /* ---- over a validation pass, for what no sum of steps can tell (BLEU) ---- */

    /** Add a step to *aggregate, NULL at the first one. NULL: nothing is aggregated. */
    rgm_status (*aggregate_logs)(void **aggregate, const rgm_step *step, void *state);
    /** Numbers from what was aggregated, added to the pass' logs. Needed with aggregate_logs. */
    rgm_status (*reduce_aggregated_logs)(rgm_logs *logs, void *aggregate, int64_t global_step,
                                         void *state);
    /** Always called behind it, and when a pass fails. */
    void (*release_aggregate)(void *aggregate, void *state);
    /**
     * The names of reduce_aggregated_logs' numbers, ended by NULL, so that one that is to choose
     * the best weights can be checked before the first step. NULL: they are known when the first
     * validation has made them.
     */
    const char *const *(*reduced_names)(void *state);
    /** Whether a smaller one of reduce_aggregated_logs' numbers is better. NULL: larger is. */
    bool (*smaller_is_better)(const char *name, void *state);
} rgm_task;

/**
 * What `feeds` is for batches of tensors: tensor i of the batch goes to inputs[i]. RGM_ERR_ARG when
 * there is no room for them.
 */
rgm_status rgm_feed_tensors(rgm_feed *feeds, int64_t capacity, int64_t *count,
                            rgm_value *const *inputs, int64_t input_count, rgm_element *batch);

/** Update metrics of a step with their heads' predictions and labels: the default of
 * process_metrics. */
void rgm_metrics_update(double *const *states, const rgm_task_metric *metrics, int64_t count,
                        const rgm_step *step);

/**
 * Write a task's files into a folder that is there, each whole or not at all; those of the same
 * name are replaced.
 * Errors: RGM_ERR_NOMEM.
 */
rgm_status rgm_task_files_save(const rgm_task *task, const char *folder);
/**
 * Whether those that the folder has are the task's: RGM_ERR_CONFIG names the one that is another.
 * What the folder lacks is no difference.
 */
rgm_status rgm_task_files_check(const rgm_task *task, const char *folder);

/* ---- one class out of many ----------------------------------------------------------------- */

/** What tasks that predict a class have in common. */
typedef struct rgm_classes {
    int64_t num_classes; /* this or names */
    rgm_texts names;
    bool statistics;  /* precision and recall of each class too */
    double smoothing; /* of labels, in the loss alone           */
} rgm_classes;
static inline int64_t rgm_classes_count(const rgm_classes *classes)
{
    return classes->names.count > 0 ? classes->names.count : classes->num_classes;
}
/** RGM_ERR_CONFIG: both or none of num_classes and class_names, names that are too long or stand
 * twice, or more statistics than fit. */
rgm_status rgm_classes_check(const rgm_classes *classes);
/**
 * Loss (mean over the items) and metrics of a head whose predictions [n, classes], labels [n] and
 * weights are set.
 */
void rgm_classes_judge(rgm_head *head, const rgm_classes *classes);
/** The metrics alone. */
void rgm_classes_add_metrics(rgm_head *head, const rgm_classes *classes);
/** One more metric of a head, by the name of its type; NULL when it has RGM_MAX_METRICS. */
rgm_metric *rgm_head_add_metric(rgm_head *head, const rgm_metric_type *type);
/** What named metrics are of: one class of several, independent 0/1 labels, states. */
typedef enum rgm_metrics_of {
    RGM_METRICS_OF_CLASSES,
    RGM_METRICS_OF_LABELS,
    RGM_METRICS_OF_STATES
} rgm_metrics_of;
#define RGM_MOST_REPRESENTED_COLUMNS 1024
/**
 * Metrics by name: f1_micro, f1_macro, f1_weighted, balanced_accuracy, matthews_correlation,
 * top_<k>, calibration_error or calibration_error_<bins> (15), brier_score; of 0/1 labels f1,
 * auc_roc_macro and auc_pr_macro too, but no top; of states rankme, numerical_rank, coherence,
 * pseudo_condition_number, self_clustering alone. They are reported by that name.
 *
 * @param outputs  classes, 0/1 labels of an item, or columns of the states; 0: not known yet
 *
 * Errors: RGM_ERR_CONFIG "key: ..." with the nearest name, a number that cannot be, one twice, more
 * columns than RGM_MOST_REPRESENTED_COLUMNS.
 */
rgm_status rgm_named_metrics_check(const char *key, const rgm_texts *names, int64_t outputs,
                                   rgm_metrics_of of);
/** Add them. Errors: as the check, RGM_ERR_CONFIG when there are more than RGM_MAX_METRICS. */
rgm_status rgm_head_add_named_metrics(rgm_head *head, const rgm_texts *names, int64_t outputs,
                                      rgm_metrics_of of);

/* ---- task types: what an experiment file can name -------------------------------------------- */

/** One task that is asked for: `task:`, or an entry of `tasks:`. */
typedef struct rgm_task_part {
    const char *name; /* of the entry; NULL: it stands alone */
    const rgm_section_type *type;
    void *options;
    double loss_weight;
    bool learns_weight; /* loss_weight: learned, where the type's `learned_weights` allows */
} rgm_task_part;

/** What an experiment file says of a task, with the run that it is made for. All is borrowed. */
typedef struct rgm_task_setup {
    void *data; /* options of the type's `data` */
    rgm_task_part parts[RGM_MAX_HEADS];
    int64_t part_count;
    const rgm_section_type *model;
    void *model_options;
    uint64_t seed;
    int threads;
    const char *run_dir; /* NULL: nothing is kept                                             */
    bool begun;          /* the folder has a run already: what that made itself is read again */
    bool trained;        /* it is only looked at: all that `files` gave is read from there    */
    bool dry; /* it is only checked: nothing is written, what would be kept is made in memory */
    rgm_folds
        folds; /* the data are one fold of a cross-validation; count 0: they are as they are */
} rgm_task_setup;

/**
 * A task with its kind of data and models: what stands in an experiment file, and how it becomes a
 * rgm_task. The one list of them is in experiment.
 */
struct rgm_task_type {
    const char *name;                      /* for people: "graph network"                    */
    const rgm_section_type *data;          /* keys of `data:`                                */
    const rgm_section_type *const *tasks;  /* what task.type can be, ended by NULL. Of options of
                                              size 0 the fields are members of data's options */
    const rgm_section_type *const *models; /* what model.type can be, ended by NULL          */
    int64_t most_parts;                    /* how many tasks `tasks:` may join; 0: none      */
    bool learned_weights;                  /* their loss_weight may be `learned`             */
    const rgm_effect *effects;             /* ended by {0}; NULL: none */
    const rgm_rule *rules;                 /* ended by {0}; NULL: none */
    const char *no_privacy; /* why its tasks cannot be trained with privacy; NULL: they can */
    bool makes_folds;       /* create() makes rgm_task_setup.folds; else a file that asks for them
                               is refused */
    /** Errors: RGM_ERR_CONFIG (key, value, what to do), those of reading data; *out is then zeros.
     */
    rgm_status (*create)(rgm_task *out, const rgm_task_setup *setup);
    /**
     * A task that has a model and makes batches of what it is sent, but no data of its own:
     * save_serving wrote `folder`, maybe on another machine, maybe somebody changed it. NULL: there
     * is no such task.
     */
    rgm_status (*serve)(rgm_task *out, const rgm_task_setup *setup, const char *folder);
    void (*release)(rgm_task *task);
};
/** RGM_ERR_CONFIG with the reason: privacy is asked for and tasks of the type cannot have it. */
rgm_status rgm_task_type_check_privacy(const rgm_task_type *type, const rgm_privacy *privacy);
/** Release by the task's type and zero it; nothing for a task without one. */
void rgm_task_release(rgm_task *task);
/** The state of a task of `type`; RGM_ERR_UNSUPPORTED "task 'x' is no <type>" for any other. */
rgm_status rgm_task_state(void **state, const rgm_task *task, const rgm_task_type *type);

/* ---- progress ------------------------------------------------------------------------------ */

/**
 * What a person sees of a run. On a terminal one live line, redrawn in place; elsewhere a plain
 * line every `interval` seconds and no control characters. Writes through a callback only.
 */
typedef struct rgm_progress rgm_progress;
typedef void rgm_progress_write(const char *text, int64_t size, void *payload);

typedef struct rgm_progress_options {
    rgm_progress_write *write;
    void *payload;
    bool live; /* redraw one line with carriage returns                                   */
    bool color;
    int columns;      /* width of the live line; 0: 80                                           */
    double interval;  /* seconds between lines; < 0: 0.1 live, 10 otherwise                       */
    const char *unit; /* "step" or "epoch"; NULL: "step"                                         */
    double (*clock)(void); /* seconds, monotonic; NULL: rgm_now                                 */
} rgm_progress_options;
/**
 * Options for a descriptor: live on a terminal whose TERM is set and not "dumb"; columns from
 * COLUMNS or the terminal; color unless NO_COLOR. write and payload are the caller's to set.
 */
rgm_progress_options rgm_progress_options_for(int fd);

/** State to be shown. Strings are copied. */
typedef struct rgm_progress_state {
    int64_t done, total; /* units; total 0: unknown                          */
    double loss;         /* NaN: not shown                                   */
    const char *metric;  /* "valid accuracy"; NULL: none                     */
    double value;
    int64_t checkpoint;  /* unit of the last checkpoint; < 0: none           */
    double epsilon;      /* spent by private training; 0: not shown */
    const char *items;   /* "target tokens": the rate is told in them; NULL: in units */
    double items_a_unit; /* mean; 0: not known yet                           */
} rgm_progress_state;

/** A line of progress as the options say. RGM_ERR_NOMEM. */
rgm_status rgm_progress_create(rgm_progress **out, const rgm_progress_options *options);
/** Ends the live line. */
void rgm_progress_release(rgm_progress *progress);
/** Cheap when it is not yet time to draw: one clock reading. */
void rgm_progress_update(rgm_progress *progress, const rgm_progress_state *state);
/** A whole line of its own, above the live one; control characters are escaped. */
void rgm_progress_note(rgm_progress *progress, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/** Draw the last state now and end the line. A later update begins a new one. */
void rgm_progress_finish(rgm_progress *progress);
/** Units per second, smoothed; 0 at the beginning. */
double rgm_progress_rate(const rgm_progress *progress);

/* ---- options: the keys of `trainer:` and `runtime:` ------------------------------------------ */

typedef enum rgm_best_mode {
    RGM_BEST_AUTO, /* by the metric */
    RGM_BEST_MIN,
    RGM_BEST_MAX
} rgm_best_mode;

/** By which metric the best weights are chosen: never by test data. */
typedef struct rgm_trainer_best {
    const char *metric; /* "valid.accuracy", "valid_news.loss" of the set news; NULL: "valid.loss"
                           when there are validation data */
    rgm_best_mode mode;
    int64_t keep; /* checkpoints of the k best validations that retention spares; default 0   */
    bool save;    /* write each new best to <run>/best: weights and info.json                  */
} rgm_trainer_best;

typedef struct rgm_trainer_checkpoints {
    int64_t every_steps; /* 0: not by steps                                                       */
    int64_t every_epochs; /* 0: not by epochs */
    double every_seconds; /* work lost at most; default 300, 0: not by time */
    int64_t keep; /* latest ones kept, default 2                                           */
    double keep_every_hours; /* of others one every so many hours is kept for good; 0: none   */
    int64_t averages; /* newest validations whose averaged weights alone are kept in <run>/averages;
                         0: none                                                              */
    rgm_trainer_best best;
} rgm_trainer_checkpoints;

/** Exports on the way, each numbered by its step: <run>/export/1200; <run>/export has the last. */
typedef struct rgm_trainer_exports {
    int64_t every_steps; /* at the first loop end behind each multiple; 0: not by steps           */
    bool validations;    /* at each validation                                                    */
    bool checkpoints;    /* beside each checkpoint                                                */
    int64_t keep;        /* newest numbers kept, default 5; 0: all                                */
    rgm_texts dirs;      /* folders that the finished run is exported to; none: <run>/export      */
} rgm_trainer_exports;

typedef struct rgm_trainer_stopping {
    const char *metric; /* NULL: the best metric                       */
    rgm_best_mode mode; /* auto: of the best metric as best.mode says, of another by its name */
    int64_t patience;   /* validations without a new best; 0: never    */
} rgm_trainer_stopping;

/** What to do when the loss or a gradient is not finite, an update overflows, or the loss is above
 * its bound. */
typedef enum rgm_recovery_policy {
    RGM_RECOVER_STOP, /* end with RGM_ERR_NUMERIC: step, op and tensor                            */
    RGM_RECOVER_SKIP, /* leave weights and slots as they are, go on with the next batch; behind an
                         update that has overflowed as rollback */
    RGM_RECOVER_ROLLBACK /* back to the newest checkpoint (the start if none) with the data going on
                          */
} rgm_recovery_policy;

typedef struct rgm_trainer_recovery {
    rgm_recovery_policy policy; /* default stop */
    double loss_upper_bound;    /* of one step's loss, default infinity */
    int64_t begin_steps; /* the bound holds from this step on; NaN is looked for from the first */
    int64_t max_tries;   /* skips or rollbacks before it is an error after all, default 3       */
} rgm_trainer_recovery;

/** Weights to start from when the run has no checkpoint of its own. */
typedef struct rgm_trainer_initialize {
    const char *checkpoint; /* run folder, checkpoint folder or .safetensors file; NULL: none */
    rgm_texts only; /* shell patterns of parameter names; empty: all                        */
    rgm_texts except;
    bool best; /* of a run folder: its best weights, not the newest                     */
} rgm_trainer_initialize;

/** Keras' ReduceLROnPlateau: the rate goes down when validations get no better. */
typedef struct rgm_trainer_plateau {
    const char *metric; /* NULL: the best metric */
    rgm_best_mode mode;
    int64_t patience;         /* validations without improvement before each reduction; 0: never */
    double factor;            /* what the rate is multiplied by, in (0, 1); default 0.1          */
    double min_delta;         /* how much better counts as improvement, default 1e-4             */
    int64_t cooldown;         /* validations behind a reduction that are not counted             */
    double min_learning_rate; /* the rate is not reduced below it                                */
} rgm_trainer_plateau;

/** Where time goes: some steps op by op, and the whole run in passes, saves, summaries, exports.
 * Changes no result. */
typedef struct rgm_profile_options {
    int64_t steps;      /* recorded op by op, and as many batches of evaluation; 0: no profile  */
    int64_t skip_steps; /* of each start that pass before, default 10: the first ones plan      */
    int64_t max_events; /* kept, default 100,000 (12 MB of JSON); the others are counted alone  */
} rgm_profile_options;

typedef enum rgm_restore_best {
    RGM_RESTORE_AUTO, /* iff there are validation data */
    RGM_RESTORE_TRUE,
    RGM_RESTORE_FALSE
} rgm_restore_best;

/** What is done about gradients of several heads' losses that are against each other. */
typedef enum rgm_gradient_surgery {
    RGM_SURGERY_NONE, /* they are added */
    /**
     * PCGrad (Yu et al. 2020, algorithm 1): before they are added, each loses its part along every
     * other that it is against: g_i - g_j <g_i, g_j> / |g_j|^2 where the product is below 0, over
     * the parameters that at least two losses depend on, the heads behind i first, then those
     * before it (the paper draws the order; of two there is one). What layers add to the loss (L2)
     * has no part in it. A step costs a backward pass and the gradients' memory for each head.
     */
    RGM_SURGERY_PCGRAD
} rgm_gradient_surgery;

/** Field names are the keys of `trainer:`. A run is so many steps or so many epochs long. */
typedef struct rgm_trainer_options {
    int64_t train_steps;         /* length in steps: loops of steps_per_loop; 0: in epochs        */
    int64_t steps_per_loop;      /* steps that metrics are taken over, default 1000               */
    int64_t validation_interval; /* steps between validations, default 1000                       */
    int64_t epochs;          /* length in epochs, default 1: a loop is an epoch                */
    int64_t steps_per_epoch; /* 0: an epoch is one pass over the training data                */
    int64_t validation_freq; /* validate each k-th epoch, default 1                           */
    int64_t validation_per_epoch; /* k validations inside an epoch; needs steps_per_epoch, excludes
                                     validation_freq */
    int64_t validation_steps;  /* -1: the whole validation set                                  */
    bool validation_continues; /* each validation of validation_steps batches goes on where the last
                                  one stopped, over and over; default false: from the first batch */
    int64_t steps_per_execution; /* steps between looks at the clock and checkpoint.every_steps
                                    inside a loop, default 1                                      */
    int64_t summary_interval;    /* steps between scalars of training; 0: each loop only; default
                                    -1: each loop (length in steps), 500 (length in epochs)       */
    double max_seconds;          /* of training in all, over every start of the run, validation and
                                    saving with it: then it ends as if it were done; 0: no limit  */
    bool histograms; /* of weights and gradients in the event files: each summary; by default (-1)
                        at the end of each loop or epoch too                             */
    bool norms; /* norms of gradients and weights, by layer and of all, with each loop's numbers */
    bool flops; /* floating-point operations: of a step with each loop's numbers, as a rate in the
                   event files, by layer once in the log                                         */
    int64_t accumulation_steps; /* batches whose gradients make one update, default 1            */
    rgm_gradient_surgery gradient_surgery; /* between the losses of several heads                */
    rgm_restore_best restore_best_weights; /* default auto */
    bool run_eagerly; /* op by op, stops at the first NaN naming op and tensor         */
    /* seconds without a new checkpoint, default 3600; < 0: for ever */
    double continuous_eval_timeout;
    bool continuous_eval_every; /* every checkpoint in its order, each once; default: the newest */
    rgm_trainer_checkpoints checkpoint;
    rgm_trainer_exports exports;
    rgm_trainer_stopping early_stopping;
    rgm_trainer_plateau reduce_on_plateau;
    rgm_trainer_recovery recovery;
    rgm_trainer_initialize initialize;
    rgm_profile_options profile;
    rgm_privacy privacy; /* clipping_norm > 0: differentially private steps (optim.h); the
                            loop's logs then have "privacy_epsilon"                       */
    /* Of experiment files: their data are made of these (rgm_task_setup.folds) before a trainer is.
       A run is of one fold: rgm_run_open() refuses folds without a fold. */
    int64_t folds;     /* cross-validation of so many folds; 0: none */
    int64_t fold;      /* the one that a run is of, from 1           */
    double fold_valid; /* rgm_folds.valid                            */
    int64_t fold_seed; /* rgm_folds.seed, default 1                  */
} rgm_trainer_options;
void rgm_trainer_defaults(rgm_trainer_options *options);
extern const rgm_field rgm_trainer_fields[];
/** When its keys say something, and what must hold between them; ended by {0}. */
extern const rgm_effect rgm_trainer_effects[];
extern const rgm_rule rgm_trainer_rules[];

typedef enum rgm_mixed_precision {
    RGM_MIXED_NONE, /* all in f32 */
    RGM_MIXED_BF16  /* products in bf16, weights and sums in f32 */
} rgm_mixed_precision;

/** Field names are the keys of `runtime:`. */
typedef struct rgm_runtime_options {
    int64_t seed;    /* default 1                                                            */
    int64_t threads; /* 0: as many as the machine has                                        */
    rgm_mixed_precision mixed_precision;
    const char *loss_scale; /* NULL: none; "dynamic" (starts at 2^15, doubled after 2000 finite
                               steps, halved and the step skipped otherwise); or a number */
    double
        peak_gflops; /* the machine's, for the share of it that trainer.flops tells; 0: not known */
    int64_t seeds;   /* of experiment files: as many runs, from `seed` on; a run has one: 0 or 1 */
} rgm_runtime_options;
void rgm_runtime_defaults(rgm_runtime_options *options);
extern const rgm_field rgm_runtime_fields[];
/** RGM_ERR_CONFIG: folds without a fold, or several seeds, are more than one run. */
rgm_status rgm_run_check_single(const rgm_trainer_options *trainer,
                                const rgm_runtime_options *runtime);

/* ---- trainer ------------------------------------------------------------------------------- */

/** A model in training: its compute graph, parameters, optimizer, data and loops. One thread at a
 * time. */
typedef struct rgm_trainer rgm_trainer;

#define RGM_TO_END (-1) /* as a number of steps: until the data end */

/** A loop: `num_steps` steps, or RGM_TO_END. */
typedef rgm_status rgm_loop_fn(rgm_trainer *trainer, int64_t num_steps);

/** What a program may put in the place of the trainer's own; all may be NULL. */
typedef struct rgm_trainer_hooks {
    /** First thing in a loop, before there is an iterator. */
    rgm_status (*train_loop_begin)(rgm_trainer *trainer, void *payload);
    /** The next batch; RGM_END ends the data. NULL: rgm_iterator_next(). */
    rgm_status (*next_train_inputs)(rgm_element **out, rgm_iterator *iterator, void *payload);
    /**
     * Between backward and update: may change the gradients in place. They are the mean over the
     * update's items, unscaled by the loss scale and, with privacy, with their noise; clipping,
     * weight decay and the look for NaN come behind it. [parameters], NULL where none is trained.
     * Random numbers keyed by rgm_trainer_updates() make a run that goes on the same.
     */
    rgm_status (*gradients)(rgm_tensor *const *gradients, rgm_trainer *trainer, void *payload);
    /** Last thing in a loop: may add to its logs. */
    rgm_status (*train_loop_end)(rgm_logs *logs, rgm_trainer *trainer, void *payload);
    rgm_status (*eval_begin)(rgm_trainer *trainer, rgm_mode mode, void *payload);
    /** *extra stays on the host and goes to aggregate_logs beside the step's outputs (ids, texts).
     */
    rgm_status (*next_eval_inputs)(rgm_element **out, rgm_element **extra, rgm_iterator *iterator,
                                   void *payload);
    /** In the place of the task's aggregate_logs. */
    rgm_status (*eval_reduce)(void **aggregate, const rgm_step *step, void *payload);
    /** Behind the task's reduce_aggregated_logs: may add to the pass' logs. */
    rgm_status (*eval_end)(rgm_logs *logs, rgm_trainer *trainer, rgm_mode mode, void *payload);
    void *payload;
} rgm_trainer_hooks;

/** Everything a trainer is made from. */
typedef struct rgm_trainer_setup {
    const rgm_task *task;
    const rgm_trainer_options *options;     /* NULL: defaults */
    const rgm_runtime_options *runtime;     /* NULL: defaults */
    const rgm_optimizer_options *optimizer; /* NULL: none; the task's own train_step must update */
    bool no_data[3]; /* by rgm_mode: these data are left alone; without RGM_TRAIN it cannot train */
    bool endless;    /* training data repeat for ever; else a pass at a time                */
    rgm_dataset *train_dataset, *validation_dataset; /* in the place of the task's; retained */
    const rgm_trainer_hooks *hooks;                  /* copied; may be NULL */
} rgm_trainer_setup;

/**
 * Build model, metrics, optimizer and data. Weights are random as of the seed: see
 * rgm_trainer_initialize() and rgm_trainer_restore_state().
 *
 * Errors: of the task's functions; RGM_ERR_CONFIG (a function, data or option that is missing or
 * contradicts another, each named).
 */
rgm_status rgm_trainer_create(rgm_trainer **out, const rgm_trainer_setup *setup);
void rgm_trainer_release(rgm_trainer *trainer);
/**
 * The callback for runs without a checkpoint: options.initialize, then the task's initialize.
 * Errors: RGM_ERR_ARG, RGM_ERR_SHAPE, RGM_ERR_CONFIG, RGM_ERR_FORMAT, RGM_ERR_VERSION,
 * RGM_ERR_NOT_FOUND, RGM_ERR_IO, RGM_ERR_NOMEM.
 */
rgm_status rgm_trainer_initialize_weights(rgm_trainer *trainer);

/**
 * Train `num_steps` steps as one loop: begin, steps, end. *logs are the means and metrics of this
 * loop alone ("loss", metrics, "learning_rate" of the next step), borrowed until the next loop. The
 * iterator persists from call to call; when the data end first the loop is shorter (see
 * rgm_trainer_at_end()) and the next loop begins the next pass. RGM_TO_END: one pass.
 *
 * Errors: RGM_ERR_NUMERIC (a loss or gradient that is not finite or above its bound: step, op,
 * tensor; the step changed nothing), RGM_ERR_ARG (RGM_TO_END with endless data), those of the task.
 * Collective: every rank calls it.
 */
rgm_status rgm_trainer_train(rgm_trainer *trainer, int64_t num_steps, const rgm_logs **logs);
/**
 * Evaluate on `num_steps` batches of a mode, RGM_TO_END for all, from the first on. With averaged
 * weights when the optimizer keeps them. *logs are borrowed until the next pass of that mode. Data
 * that end early make a shorter pass, not an error.
 *
 * Errors: RGM_ERR_NOT_FOUND (no such data), RGM_ERR_ARG (num_steps is 0 or below -1, or RGM_TO_END
 * with data that never end), those of the task.
 * Collective: every rank calls it.
 */
rgm_status rgm_trainer_evaluate(rgm_trainer *trainer, rgm_mode mode, int64_t num_steps,
                                const rgm_logs **logs);

/**
 * The same on one of the task's eval_sets; *logs are borrowed until the next pass over that set.
 * Errors: those of rgm_trainer_evaluate(); RGM_ERR_NOT_FOUND: its mode's data are left alone.
 * Collective: every rank calls it.
 */
rgm_status rgm_trainer_evaluate_set(rgm_trainer *trainer, int64_t set, int64_t num_steps,
                                    const rgm_logs **logs);
/** The task's eval_sets, borrowed: how many. */
int64_t rgm_trainer_eval_sets(const rgm_eval_set **sets, const rgm_trainer *trainer);
/** How a set is told in logs and names of metrics: "valid_news". Borrowed. */
const char *rgm_trainer_eval_set_name(const rgm_trainer *trainer, int64_t set);
/** The numbers of the last pass over a set, borrowed; empty before the first. */
const rgm_logs *rgm_trainer_eval_set_logs(const rgm_trainer *trainer, int64_t set);

/**
 * The parts of the two, for loops of one's own: begin, then steps, then end.
 * Errors: RGM_ERR_ARG, RGM_ERR_NOT_FOUND.
 */
rgm_status rgm_trainer_train_loop_begin(rgm_trainer *trainer);
/**
 * One step; RGM_END when the data have ended (nothing was done).
 * Errors: RGM_ERR_ARG, RGM_ERR_SHAPE, RGM_ERR_DTYPE, RGM_ERR_CONFIG, RGM_ERR_DATA, RGM_ERR_NUMERIC,
 * RGM_ERR_NOT_FOUND, RGM_ERR_NOMEM.
 * Collective: every rank calls it.
 */
rgm_status rgm_trainer_train_step(rgm_trainer *trainer);
rgm_status rgm_trainer_train_loop_end(rgm_trainer *trainer, const rgm_logs **logs);
rgm_status rgm_trainer_eval_begin(rgm_trainer *trainer, rgm_mode mode);
/**
 * One step, aggregated: RGM_END when the data have ended.
 * Errors: RGM_ERR_ARG, RGM_ERR_SHAPE, RGM_ERR_DTYPE, RGM_ERR_NUMERIC, RGM_ERR_NOMEM.
 * Collective: every rank calls it.
 */
rgm_status rgm_trainer_eval_step(rgm_trainer *trainer);
/**
 * Puts trained weights back in place also when the pass failed before; logs may be NULL then.
 * Errors: RGM_ERR_ARG, RGM_ERR_SHAPE, RGM_ERR_NOMEM.
 * Collective: every rank calls it.
 */
rgm_status rgm_trainer_eval_end(rgm_trainer *trainer, const rgm_logs **logs);
/** The loops that rgm_trainer_train() and _evaluate() run between begin and end. */
rgm_loop_fn *rgm_trainer_create_train_loop_fn(rgm_trainer *trainer);
rgm_loop_fn *rgm_trainer_create_eval_loop_fn(rgm_trainer *trainer, bool has_state);

/**
 * What a task's own step functions may go on to.
 * Errors: RGM_ERR_ARG, RGM_ERR_SHAPE, RGM_ERR_DTYPE, RGM_ERR_CONFIG, RGM_ERR_DATA, RGM_ERR_NUMERIC,
 * RGM_ERR_NOMEM.
 */
rgm_status rgm_trainer_default_train_step(rgm_step *step);
rgm_status rgm_trainer_default_validation_step(rgm_step *step);
rgm_status rgm_trainer_default_inference_step(rgm_step *step);

/**
 * What a task's own train_step can be made of: draw a further batch, take gradients without
 * updating, update. (rgm_trainer_default_train_step() is one of each.)
 *
 * @param out  [out, owned] the next batch of the training data
 *
 * Errors: RGM_END (the data have ended), those of the data.
 */
rgm_status rgm_trainer_next_inputs(rgm_element **out, rgm_trainer *trainer);
/**
 * Forward and backward of a batch: fills in the step's loss, items and outputs. States (moving
 * averages) take their next values with the update.
 *
 * @param gradients  [out, borrowed] [parameters], NULL where none is trained; until the next call
 *
 * Errors: RGM_ERR_ARG (no model), RGM_ERR_NUMERIC (a loss that is not finite or above its bound),
 * those of the task's feeds.
 */
rgm_status rgm_trainer_compute_gradients(rgm_step *step, rgm_element *inputs,
                                         rgm_tensor *const **gradients);
/**
 * One update of weights and states, as the default step makes it: hooks, loss scale, optimizer.
 * At most once a step.
 *
 * @param gradients  [in] [parameters] of the parameters' dtypes and shapes; NULL: stays
 *
 * Errors: RGM_ERR_ARG (no optimizer), those of rgm_optimizer_step().
 */
rgm_status rgm_trainer_apply_gradients(rgm_step *step, rgm_tensor *const *gradients);

/**
 * Another training set from the next step on, from its beginning; retained.
 * Errors: RGM_ERR_ARG, RGM_ERR_CONFIG (training is private).
 */
rgm_status rgm_trainer_set_train_dataset(rgm_trainer *trainer, rgm_dataset *dataset);
rgm_status rgm_trainer_set_validation_dataset(rgm_trainer *trainer, rgm_dataset *dataset);

/** All slots of an optimizer. Errors: RGM_ERR_NOMEM. */
rgm_status rgm_checkpoint_add_slots(rgm_checkpoint *checkpoint, const rgm_optimizer *optimizer);
/**
 * Everything that the rest of the run depends on: weights, slots, averages, counters, loss scale,
 * data position, metric sums of the loop under way. Restored, a trainer goes on with the same bits.
 * Errors: RGM_ERR_NOMEM.
 */
rgm_status rgm_trainer_save_state(rgm_checkpoint *checkpoint, const rgm_trainer *trainer);
/** RGM_ERR_CONFIG, RGM_ERR_NOT_FOUND, RGM_ERR_SHAPE, ...: made by another model, optimizer or seed.
 */
rgm_status rgm_trainer_restore_state(rgm_trainer *trainer, const rgm_checkpoint *checkpoint);

/**
 * Begin with what another run of the same model and optimizer has learnt: weights and optimizer
 * state, so that moments, corrections of bias and schedule go on from its updates. Steps count from
 * 0 and the data begin at their beginning; the seed stays the trainer's own. After an error the
 * trainer is of no more use.
 * Errors: RGM_ERR_ARG (a step was done), RGM_ERR_CONFIG (training is private), RGM_ERR_NOT_FOUND,
 * RGM_ERR_SHAPE, RGM_ERR_DTYPE, RGM_ERR_DATA: made by another model or optimizer.
 */
rgm_status rgm_trainer_warm_start(rgm_trainer *trainer, const rgm_checkpoint *checkpoint);

/** What it was made of and where it stands; borrowed. */
const rgm_task *rgm_trainer_task(const rgm_trainer *trainer);
rgm_cgraph *rgm_trainer_graph(const rgm_trainer *trainer);
const rgm_task_model *rgm_trainer_model(const rgm_trainer *trainer);
rgm_parameters *rgm_trainer_parameters(const rgm_trainer *trainer);
bool rgm_trainer_bf16(const rgm_trainer *trainer); /* runtime.mixed_precision is bf16 */
rgm_optimizer *rgm_trainer_optimizer(const rgm_trainer *trainer); /* NULL: none */
int64_t rgm_trainer_global_step(const rgm_trainer *trainer);      /* steps done      */
int64_t rgm_trainer_updates(const rgm_trainer *trainer); /* of them those that moved the weights */
/** steps of the loop under way; -1: none */
int64_t rgm_trainer_loop_step(const rgm_trainer *trainer);
int64_t rgm_trainer_passes(const rgm_trainer *trainer);   /* whole passes over the training data  */
bool rgm_trainer_at_end(const rgm_trainer *trainer);      /* the last loop ended with the data    */
double rgm_trainer_last_loss(const rgm_trainer *trainer); /* of the last step; NaN before         */
/** Items that the numbers of the last loop (RGM_TRAIN) or pass are means over; 0 before. */
double rgm_trainer_items(const rgm_trainer *trainer, rgm_mode mode);
/** Whether there are data for that mode. */
bool rgm_trainer_has_data(const rgm_trainer *trainer, rgm_mode mode);
/** Steps of one pass over the training data; 0: known only by reading; INT64_MAX: endless. */
int64_t rgm_trainer_pass_steps(const rgm_trainer *trainer);
/** Names of the numbers that evaluating a mode gives (without reduce_aggregated_logs'). */
int64_t rgm_trainer_metric_count(const rgm_trainer *trainer, rgm_mode mode);
const char *rgm_trainer_metric_name(const rgm_trainer *trainer, rgm_mode mode, int64_t i);
bool rgm_trainer_smaller_is_better(const rgm_trainer *trainer, const char *metric);
/** What private training has spent at trainer.privacy.delta; 0: training is not private. */
double rgm_trainer_epsilon(const rgm_trainer *trainer);
/** What private training does and guarantees. */
typedef struct rgm_privacy_report {
    double noise_multiplier; /* as given, or found for target_epsilon                      */
    double clipping_norm, sample_rate, delta;
    double epsilon;    /* spent so far                                               */
    int64_t steps;     /* of the whole run; 0: not known                             */
    double planned;    /* epsilon when it has that length; NaN: not known            */
    const char *basis; /* rgm_privacy_basis()                                        */
} rgm_privacy_report;
/** Whether training is private; *out is then filled in. */
bool rgm_trainer_privacy(rgm_privacy_report *out, const rgm_trainer *trainer);
/** The same in a line for people, appended; nothing when training is not private. RGM_ERR_NOMEM. */
rgm_status rgm_trainer_describe_privacy(rgm_text *out, const rgm_trainer *trainer);
/** Bytes of the training and validation arenas so far. */
int64_t rgm_trainer_arena_bytes(const rgm_trainer *trainer);

/** One kind of work in a profile. */
typedef struct rgm_profile_row {
    const char *name; /* an op; "data", "update", "other"; beside the steps "evaluation", ...     */
    double seconds;
    int64_t calls;
    int64_t flops, bytes; /* of ops: see rgm_op_event                                             */
} rgm_profile_row;

/** What was recorded (trainer.profile). */
typedef struct rgm_profile_report {
    int64_t first_step, steps; /* recorded training steps; the number of the first, from 1        */
    double seconds;            /* of these steps; its rows sum up to it                           */
    const rgm_profile_row *rows; /* [row_count] most time first: ops, "data" (waiting for a batch),
                                    "update" (the optimizer) and "other" (all else); borrowed     */
    int64_t row_count;
    const rgm_profile_row *beside; /* [beside_count] of the whole start, by first occurrence: what
                                      one of them calls is in both; borrowed                      */
    int64_t beside_count;
    int64_t events, dropped; /* kept for the trace; more than trainer.profile.max_events          */
} rgm_profile_report;
/** What has been recorded up to now; false: trainer.profile asks for nothing. The rows are valid
 * until the next step. */
bool rgm_trainer_profile(rgm_profile_report *out, const rgm_trainer *trainer);
/**
 * Append it as a table for people: time, share and calls of a step, GFLOP/s and GB/s of ops, then
 * what came beside the steps. Errors: RGM_ERR_NOMEM.
 */
rgm_status rgm_trainer_profile_table(rgm_text *out, const rgm_trainer *trainer);
/**
 * Append it as JSON in Chrome's trace event format, which chrome://tracing and ui.perfetto.dev
 * open: complete events ("X") with ts and dur in microseconds since the trainer was made. Nothing
 * without a profile. Errors: RGM_ERR_NOMEM.
 */
rgm_status rgm_trainer_profile_trace(rgm_text *out, const rgm_trainer *trainer);

/** What initializing from other weights found. */
typedef struct rgm_initialize_report {
    int64_t matched; /* parameters taken                                         */
    int64_t left;    /* parameters of the model that stay random                 */
    int64_t unused;  /* tensors of the file that nothing took                    */
    rgm_text text;   /* a line for each parameter that was not taken, with why; owned */
} rgm_initialize_report;
/**
 * Copy weights from elsewhere: `only` and `except` choose parameters, names and shapes must agree.
 *
 * Errors: RGM_ERR_NOT_FOUND (no such checkpoint, or nothing matched: names of both sides are told),
 * RGM_ERR_SHAPE (both shapes); nothing is then changed.
 */
rgm_status rgm_parameters_initialize(rgm_initialize_report *report, rgm_parameters *parameters,
                                     const rgm_trainer_initialize *options);

/* ---- controller ---------------------------------------------------------------------------- */

typedef struct rgm_controller rgm_controller;

/** Something done between steps, with what the loop or pass came to. A failure ends the run with
 * it. */
typedef struct rgm_action {
    const char *name; /* for messages */
    /** NULL: always. */
    bool (*condition)(const rgm_logs *output, rgm_controller *controller, void *payload);
    rgm_status (*run)(const rgm_logs *output, rgm_controller *controller, void *payload);
    void *payload;
} rgm_action;

/** An action that an experiment file can name: one row. Its options are the payload. */
typedef struct rgm_action_type {
    rgm_section_type section; /* `type` of an entry of actions.train or .eval, the keys beside it */
    bool (*condition)(const rgm_logs *output, rgm_controller *controller, void *options);
    rgm_status (*run)(const rgm_logs *output, rgm_controller *controller, void *options);
} rgm_action_type;

/** One line of a run's history, after a loop that was an epoch. */
typedef struct rgm_epoch_logs {
    int64_t epoch, step; /* both counted from 1: after how many */
    bool validated;
    rgm_logs train, valid;
} rgm_epoch_logs;

typedef enum rgm_event_kind {
    RGM_EVENT_INITIALIZE, /* no checkpoint: weights initialized          */
    RGM_EVENT_RESTORE,    /* a checkpoint was taken up                   */
    RGM_EVENT_LOOP_BEGIN,
    RGM_EVENT_LOOP_END, /* logs: the loop's, with rates                */
    RGM_EVENT_SUMMARY,  /* scalars of a step inside a loop             */
    RGM_EVENT_SAVE,     /* a checkpoint was written                    */
    RGM_EVENT_EVAL_BEGIN,
    RGM_EVENT_EVAL_END, /* logs: the pass'                             */
    RGM_EVENT_NEW_BEST,
    RGM_EVENT_RECOVER, /* a bad step was skipped or rolled back       */
    RGM_EVENT_STOP     /* asked to stop, early stopping, or out of time */
} rgm_event_kind;
const char *rgm_event_name(rgm_event_kind kind); /* "loop_begin" */

/** What happened in a run, for who wants to know. Valid during the call. */
typedef struct rgm_event {
    rgm_event_kind kind;
    rgm_mode mode;   /* of evaluations                                      */
    const char *set; /* of evaluations: "valid_news"; NULL: the mode's own data */
    int64_t step;
    const rgm_logs *logs; /* or NULL */
} rgm_event;

/** What the outside may want to do or know while a controller runs; all may be NULL. */
typedef struct rgm_controller_hooks {
    /** Asked between steps: true saves and ends the run with RGM_STOPPED. From a signal flag, say.
     */
    bool (*should_stop)(void *payload);
    /** Length of the loop that begins at a step, >= 1; NULL: options.steps_per_loop. */
    int64_t (*steps_per_loop)(int64_t global_step, void *payload);
    void (*event)(const rgm_event *event, void *payload);
    /** In the place of the event files: logs of "train", "valid" or "test" at a step. */
    rgm_status (*summary)(const char *split, int64_t step, const rgm_logs *logs, void *payload);
    /** After each epoch's validation. A failure ends the run with it. */
    rgm_status (*epoch_end)(const rgm_epoch_logs *epoch, void *payload);
    void *payload;
} rgm_controller_hooks;

/** Everything a controller is made from. */
typedef struct rgm_controller_setup {
    rgm_trainer *trainer;               /* borrowed; outlives the controller */
    const rgm_trainer_options *options; /* NULL: defaults */
    const char *run_dir; /* NULL: nothing is written (no checkpoints, no resume)               */
    const char *config;  /* text of the merged experiment file, for the run folder; may be NULL */
    const char
        *sources; /* where its values were set: rgm_run_folder_options.sources; may be NULL */
    const rgm_hparam *hparams; /* for TensorBoard's hparams page; may be NULL */
    int64_t hparam_count;
    bool read_only;        /* look at a run: its newest state, nothing locked or written          */
    bool saves_on_request; /* see rgm_run_options */
    const rgm_action
        *train_actions; /* in order, behind each loop and before its checkpoint; copied */
    int64_t train_action_count;
    const rgm_action *eval_actions; /* behind each evaluation; copied */
    int64_t eval_action_count;
    const rgm_controller_hooks *hooks; /* copied; may be NULL */
} rgm_controller_setup;

/**
 * Take hold of a trainer and, with a run folder, lock it and go on from its newest intact
 * checkpoint; without one the weights are initialized.
 *
 * Errors: RGM_ERR_CONFIG (options that exclude each other, both values told; unknown metric: those
 * there are), RGM_ERR_BUSY (somebody else holds the run folder), RGM_ERR_DATA and others of
 * rgm_trainer_restore_state().
 */
rgm_status rgm_controller_create(rgm_controller **out, const rgm_controller_setup *setup);
void rgm_controller_release(rgm_controller *controller);

/**
 * Train in loops until the global step is `steps` (absolute: not that many more), then save. Ends
 * before when the training data end (without `endless`) or early stopping says so.
 *
 * Order at each loop's end: train actions, log line with steps and examples a second, summaries,
 * checkpoint if due. A checkpoint is due when the loop has
 * passed a multiple of `every_steps`, or by time.
 *
 * Errors: RGM_STOPPED (asked to stop; state saved, the same call continues), RGM_ERR_NUMERIC (see
 * recovery), any other; the last good checkpoint stays.
 * Collective: every rank calls it.
 */
rgm_status rgm_controller_train(rgm_controller *controller, int64_t steps);
/**
 * Evaluate the weights in memory, then eval actions and summaries; validation also judges best and
 * early stopping. *logs (may be NULL) are borrowed until the next pass.
 * Errors: RGM_ERR_ARG, RGM_ERR_SHAPE, RGM_ERR_DTYPE, RGM_ERR_CONFIG, RGM_ERR_FORMAT,
 * RGM_ERR_VERSION, RGM_ERR_NOT_FOUND, RGM_ERR_IO, RGM_ERR_NOMEM.
 * Collective: every rank calls it.
 */
rgm_status rgm_controller_evaluate(rgm_controller *controller, rgm_mode mode, int64_t steps,
                                   const rgm_logs **logs);
/**
 * Train to `train_steps`, evaluating each `eval_interval` steps (0: at the end only) and at the
 * end; then save. *logs: those of the last evaluation, NULL when there was none.
 * Errors: RGM_ERR_ARG, RGM_ERR_SHAPE, RGM_ERR_DTYPE, RGM_ERR_CONFIG, RGM_ERR_FORMAT,
 * RGM_ERR_VERSION, RGM_ERR_DATA, RGM_ERR_NUMERIC, RGM_ERR_NOT_FOUND, RGM_ERR_IO, RGM_ERR_NOMEM.
 * Collective: every rank calls it.
 */
rgm_status rgm_controller_train_and_evaluate(rgm_controller *controller, int64_t train_steps,
                                             int64_t eval_steps, int64_t eval_interval,
                                             const rgm_logs **logs);
/**
 * Follow the run folder of a trainer in another process: evaluate each newest checkpoint that
 * appears (continuous_eval_every: every one in its order and once, over restarts too; while one is
 * not, the trainer's retention spares it), until the one of `final_step` was (0: unknown), or one
 * that was stopped early, or `timeout` seconds brought none and timeout_fn (NULL: yes) says to
 * stop; timeout < 0 waits for ever. The controller is read_only; what it finds goes to
 * <run>/continuous_eval (metrics.jsonl, event files).
 *
 * Errors: RGM_STOPPED (asked to stop), RGM_ERR_BUSY (another evaluator follows the run).
 */
rgm_status rgm_controller_evaluate_continuously(rgm_controller *controller, int64_t steps,
                                                int64_t final_step, double timeout,
                                                bool (*timeout_fn)(void *payload), void *payload,
                                                const rgm_logs **logs);

/**
 * Save a checkpoint now, unless this very state is saved; nothing without a run folder.
 * Errors: RGM_ERR_ARG, RGM_ERR_DTYPE, RGM_ERR_FORMAT, RGM_ERR_VERSION, RGM_ERR_NOT_FOUND,
 * RGM_ERR_IO, RGM_ERR_NOMEM.
 * Collective: every rank calls it.
 */
rgm_status rgm_controller_save(rgm_controller *controller);
/**
 * Take up the state of a checkpoint folder; NULL: the newest, RGM_ERR_NOT_FOUND when there is none.
 * With a path that is for good: a run started again goes on from what was restored and trained
 * since. Its checkpoints of later steps stand as step-N.rolled-back, which nothing reads;
 * metrics.jsonl is cut where the checkpoint, if it is the run's own, was saved.
 * Errors: those of rgm_trainer_restore_state(), rgm_controller_save().
 */
rgm_status rgm_controller_restore(rgm_controller *controller, const char *path);
/** Put the weights of the best validation in place; RGM_ERR_NOT_FOUND when there is none. */
rgm_status rgm_controller_restore_best(rgm_controller *controller);

/**
 * Put in place the mean of several checkpoints' weights (of their averages, where the optimizer
 * keeps some): of the newest `count`, or of the best `count` validations. RGM_ERR_NOT_FOUND: how
 * many there are, and the key that keeps more.
 */
rgm_status rgm_controller_restore_mean(rgm_controller *controller, bool best, int64_t count);
/**
 * Put in place the weights of one checkpoint (their averages, where the optimizer keeps some), of
 * the steps that the run folder has. Counters stay: this is to look at, not to go on from.
 * Errors: RGM_ERR_NOT_FOUND (names the steps there are), RGM_ERR_FORMAT, RGM_ERR_VERSION,
 * RGM_ERR_SHAPE, RGM_ERR_DTYPE, RGM_ERR_DATA, RGM_ERR_IO, RGM_ERR_NOMEM.
 */
rgm_status rgm_controller_restore_step(rgm_controller *controller, int64_t step);
/**
 * Put in place what a finished run leaves for use: the best weights when there are some and
 * restore_best_weights is not false, else the averages when the optimizer keeps some.
 * Errors: RGM_ERR_SHAPE, RGM_ERR_NOT_FOUND.
 */
rgm_status rgm_controller_place_final_weights(rgm_controller *controller);

/** The trainer that it drives, borrowed. */
rgm_trainer *rgm_controller_trainer(const rgm_controller *controller);
/** The run's log, for work on it beside the controller; without a run folder the caller's. */
rgm_logger *rgm_controller_logger(const rgm_controller *controller);
int64_t rgm_controller_epochs(const rgm_controller *controller);    /* complete ones          */
int64_t rgm_controller_best_step(const rgm_controller *controller); /* -1: no best yet        */
double rgm_controller_best_value(const rgm_controller *controller);
/** "valid.accuracy"; "" none */
const char *rgm_controller_best_metric(const rgm_controller *controller);
/** at its length, stopped early, or out of time (trainer.max_seconds) */
bool rgm_controller_finished(const rgm_controller *controller);
#define RGM_HISTORY_EPOCHS 1000
/**
 * This process' last epochs, at least RGM_HISTORY_EPOCHS where there were so many; borrowed until
 * the next one. metrics.jsonl has them all, and the hook epoch_end sees each.
 */
int64_t rgm_controller_history(const rgm_epoch_logs **epochs, const rgm_controller *controller);

#define RGM_PROFILE_FILE "profile.json"
/**
 * <run>/profile.json, whole or not at all, when something was recorded since the last time; the
 * first time the table goes to the log. Done by itself when the asked steps are recorded, at the
 * end of rgm_controller_run() and rgm_run_complete(), whatever that is, and where
 * rgm_controller_train() stops or fails.
 * Errors: RGM_ERR_IO, RGM_ERR_NOMEM.
 */
rgm_status rgm_controller_write_profile(rgm_controller *controller);

/** From here on progress is shown, in epochs or in steps; NULL: no more. Borrowed. */
void rgm_controller_show_progress(rgm_controller *controller, rgm_progress *progress,
                                  bool in_epochs);

/** What `--mode` says. */
typedef enum rgm_run_mode {
    RGM_RUN_TRAIN,
    RGM_RUN_EVAL,
    RGM_RUN_TRAIN_AND_EVAL,
    RGM_RUN_TRAIN_AND_POST_EVAL,
    RGM_RUN_CONTINUOUS_EVAL
} rgm_run_mode;
extern const char *const rgm_run_mode_names[]; /* "train", ..., ended by NULL */
/**
 * Do what the mode says with the controller's options: train in steps or in epochs, then
 * rgm_controller_place_final_weights(). *logs: of the last evaluation, or NULL.
 * Errors: RGM_ERR_ARG, RGM_ERR_SHAPE, RGM_ERR_DTYPE, RGM_ERR_CONFIG, RGM_ERR_FORMAT,
 * RGM_ERR_VERSION, RGM_ERR_DATA, RGM_ERR_NUMERIC, RGM_ERR_NOT_FOUND, RGM_ERR_BUSY, RGM_ERR_IO,
 * RGM_ERR_NOMEM.
 * Collective: every rank calls it.
 */
rgm_status rgm_controller_run(rgm_controller *controller, rgm_run_mode mode, const rgm_logs **logs);

/* ---- runs: a task from data to export -------------------------------------------------------- */

/** A run, open: a task with its trainer, its controller and its folder. One thread at a time. */
typedef struct rgm_open_run rgm_open_run;

/** Writes a trained run for others to use. */
typedef struct rgm_exporter {
    const char *name; /* "onnx" */
    rgm_status (*save)(const rgm_open_run *run, const char *folder, void *payload);
    void *payload;
    /** Whether `save` could write this model, asked before the first step. NULL: save will tell. */
    rgm_status (*check)(const rgm_open_run *run, void *payload);
    bool of_graph; /* it writes outputs by name: its payload is an rgm_onnx_exporter_options or NULL
                    */
} rgm_exporter;

/** An exporter that an experiment file can name: one row. Its options are the payload. */
typedef struct rgm_exporter_type {
    rgm_section_type section; /* `type` of an entry of `export`, the keys beside it, their check */
    rgm_status (*save)(const rgm_open_run *run, const char *folder, void *options);
    rgm_status (*check)(const rgm_open_run *run, void *options); /* as in rgm_exporter */
    bool of_graph;                                               /* likewise */
} rgm_exporter_type;
/** "onnx", "saved_model", "predictor" (what rgm_predictor_open() serves, alone) and "weights";
 * ended by NULL. */
extern const rgm_exporter_type *const rgm_exporter_types[];

/** Options of the exporters "onnx" and "saved_model". */
typedef struct rgm_onnx_exporter_options {
    rgm_lists output_names; /* outputs to the names they shall have; others keep theirs */
} rgm_onnx_exporter_options;
/** Options of the exporter "weights": parameters alone, in a safetensors file, as
 * trainer.initialize takes them. */
typedef struct rgm_weights_exporter_options {
    const char *file; /* in the export folder; NULL: "weights.safetensors" */
    rgm_texts only;   /* shell patterns of parameter names; empty: all     */
    rgm_texts except;
} rgm_weights_exporter_options;

/** How a task is run; field names are those of rgm_controller_setup where they mean the same. */
typedef struct rgm_run_options {
    rgm_optimizer_options optimizer;
    rgm_trainer_options trainer;
    rgm_runtime_options runtime;
    const char *run_dir;            /* NULL: nothing is written          */
    const char *const *export_dirs; /* NULL: <run_dir>/export            */
    int64_t export_dir_count;
    const rgm_exporter *exporters; /* every exporter runs for every dir */
    int64_t exporter_count;
    const char *config;        /* text for the run folder; may be NULL */
    const char *sources;       /* the same of sources.json             */
    const rgm_hparam *hparams; /* for TensorBoard; may be NULL         */
    int64_t hparam_count;
    rgm_controller_hooks hooks;
    const rgm_trainer_hooks *trainer_hooks;         /* copied; may be NULL */
    const rgm_action *train_actions, *eval_actions; /* see rgm_controller_setup; copied */
    int64_t train_action_count, eval_action_count;
    rgm_run_mode mode; /* default RGM_RUN_TRAIN_AND_EVAL: exporters run behind modes that train */
    bool read_only;  /* to evaluate, predict, export: the weights that a finished run would have  */
    bool no_data[3]; /* by rgm_mode, where nothing is trained: see rgm_trainer_setup              */
    /* Checkpoints are written by rgm_run_save() alone: neither on the way, nor where training ends
     * or is asked to stop, which then leaves nothing behind. For who decides what is kept. */
    bool saves_on_request;
    /* the task goes with the run, also when opening fails: rgm_task_release() */
    bool releases_task;
} rgm_run_options;
#define RGM_RUN_OPTIONS_INIT rgm_run_options_default()
rgm_run_options rgm_run_options_default(void);
/** Threads that a run with these options works with: as many as asked for, or as the machine has.
 */
int rgm_runtime_threads(const rgm_runtime_options *runtime);

/**
 * Build the trainer of a task and its controller, restored from the run folder or initialized.
 * Nothing is trained yet. A run that is to train is asked here all that can be asked before its
 * first step: its data of every part (rgm_task.check_data), its schedule against its length, its
 * exporters against the model. What is possible but hardly meant is logged as a warning.
 *
 * @param task  [in] copied; its state is borrowed (or see releases_task)
 *
 * Errors: RGM_ERR_CONFIG (options that contradict each other or the data), those of
 * rgm_trainer_create(), rgm_controller_create(), of the task's check_data and of exporters; *out is
 * then NULL, and nothing was written to the run folder unless a run was there.
 * Collective: every rank calls it.
 */
rgm_status rgm_run_open(rgm_open_run **out, const rgm_task *task, const rgm_run_options *options);
/** Also the folder's lock is given back; nothing is saved. Takes NULL. */
void rgm_run_close(rgm_open_run *run);
/**
 * All that is left of the run: train and evaluate as options.mode says, final metrics of every
 * part, then exports.
 *
 * Errors: RGM_STOPPED (asked to stop; state saved, a run opened again goes on), those of
 * rgm_controller_run() and of exporters.
 * Collective: every rank calls it.
 */
rgm_status rgm_run_complete(rgm_open_run *run);

/* In units, for who decides himself what comes next. */

/**
 * Train until so many steps are done in all. RGM_END: fewer were, since data that do not repeat
 * ended (a length in epochs makes them so; trainer.train_steps does not) or early stopping said so.
 * Errors: rgm_controller_train(). Collective: every rank calls it.
 */
rgm_status rgm_run_train(rgm_open_run *run, int64_t steps);
/**
 * One pass over `steps` batches of a part, RGM_TO_END for all.
 * Errors: those of rgm_controller_evaluate(). Collective: every rank calls it.
 */
rgm_status rgm_run_evaluate(rgm_open_run *run, rgm_mode mode, int64_t steps, const rgm_logs **logs);
/**
 * A checkpoint of now.
 * Errors: those of rgm_controller_save(). Collective: every rank calls it.
 */
rgm_status rgm_run_save(rgm_open_run *run);
/**
 * Every exporter's files of the weights in place; without exporters ONNX. folder NULL:
 * <run_dir>/export.
 *
 * Errors: RGM_ERR_CONFIG (no folder), those of exporters, with their names.
 */
rgm_status rgm_run_export(rgm_open_run *run, const char *folder);

/** A final metric: mode "train", "valid", "test" or a set's, "valid_news"; NaN when there is none.
 */
double rgm_run_metric(const rgm_open_run *run, const char *mode, const char *name);
/** All final metrics of a mode, borrowed; empty before rgm_run_complete(). */
const rgm_logs *rgm_run_metrics(const rgm_open_run *run, rgm_mode mode);
/** Those of one of the trainer's eval_sets. */
const rgm_logs *rgm_run_set_metrics(const rgm_open_run *run, int64_t set);
/** The last epochs' metrics of this call: see rgm_controller_history(). */
int64_t rgm_run_history(const rgm_epoch_logs **records, const rgm_open_run *run);
int64_t rgm_run_steps(const rgm_open_run *run);
int64_t rgm_run_epochs(const rgm_open_run *run);
int64_t rgm_run_best_step(const rgm_open_run *run); /* -1: no validation */
/** Folders that were exported to, in order; NULL behind the last. */
int64_t rgm_run_export_count(const rgm_open_run *run);
const char *rgm_run_export_dir(const rgm_open_run *run, int64_t i);

/** Append what the run does with its data (rgm_task.plan). Errors: RGM_ERR_NOMEM. */
rgm_status rgm_run_plan(rgm_text *out, const rgm_open_run *run);

/* The parts of a run, borrowed. */
const rgm_task *rgm_run_task(const rgm_open_run *run);
rgm_trainer *rgm_run_trainer(const rgm_open_run *run);
rgm_controller *rgm_run_controller(const rgm_open_run *run);
/** Heads and loss. */
const rgm_task_model *rgm_run_model(const rgm_open_run *run);

/** What a head predicts for a batch; all is borrowed for the call. */
typedef struct rgm_prediction {
    rgm_element *batch;
    const rgm_feed *feeds;
    int64_t feed_count;
    const rgm_tensor *values;        /* [n, units]                                     */
    const rgm_tensor *probabilities; /* the same, of rgm_head.probabilities; NULL: none */
} rgm_prediction;
/** Called with each batch; RGM_END: it has seen enough. */
typedef rgm_status rgm_prediction_sink(const rgm_prediction *prediction, void *payload);
/**
 * One pass over the batches of a part, in order, with the weights in place.
 *
 * Errors: RGM_ERR_NOT_FOUND (no such data), RGM_ERR_ARG (no such head), those of data and sink.
 */
rgm_status rgm_run_predict(const rgm_open_run *run, rgm_mode mode, int64_t head,
                           rgm_prediction_sink *sink, void *payload);
/** The same over files that a user names; RGM_ERR_UNSUPPORTED where the task takes none. */
rgm_status rgm_run_predict_files(const rgm_open_run *run, const char *pattern, int64_t head,
                                 rgm_prediction_sink *sink, void *payload);
/**
 * Predictions of a head for what is fed; *out [n, units] is owned.
 * Errors: RGM_ERR_ARG (no such head), those of rgm_executor_run().
 */
rgm_status rgm_run_predict_feeds(rgm_tensor **out, const rgm_open_run *run, int64_t head,
                                 const rgm_feed *feeds, int64_t count);

/**
 * model.onnx (export.h): every head is an output of its name, and what it gives as probabilities
 * the output "probabilities" (of one head of several "<name>.probabilities"), unless the payload (a
 * rgm_onnx_exporter_options; NULL: those of the run's own exporter "onnx", else "saved_model", if
 * it has one) names it anew; signature.json says what the file takes and gives. Of a task that can
 * be served (rgm_task.save_serving) there is also what rgm_predictor_open() needs:
 * RGM_SERVING_WEIGHTS, the task's files for it and, of runs with a config, RGM_SERVING_MODEL. A
 * task may say what it writes instead (rgm_task.exports). Beside it the task's files
 * (rgm_task.files): a tokenizer, say.
 */
rgm_exporter rgm_onnx_exporter(void);
/**
 * A SavedModel of TensorFlow (rgm_saved_model_save() of export.h) in the export folder itself, so
 * that numbered exports are versions to TensorFlow Serving: saved_model.pb, with inputs, outputs
 * and payload as of rgm_onnx_exporter(), and assets.extra/signature.json, which says what they are.
 * Saving and asking: RGM_ERR_UNSUPPORTED also of a task that exports several graphs
 * (rgm_task.exports).
 */
rgm_exporter rgm_saved_model_exporter(void);
/** The file of rgm_onnx_exporter() to begin with: "model.onnx", or the task's. */
const char *rgm_run_onnx_file(const rgm_open_run *run);
/**
 * Run what rgm_onnx_exporter() wrote into a folder with export's interpreter on up to max_batches
 * batches of a mode's data and compare. RGM_ERR_DATA when an output differs by more than 1e-4
 * (above 1, by that share of it), RGM_ERR_NOT_FOUND when there are no such data.
 */
rgm_status rgm_run_verify_onnx(rgm_export_check *check, const rgm_open_run *run, const char *folder,
                               rgm_mode mode, int64_t max_batches);
/**
 * For another runtime to be compared with: the tables that the exported graph takes (maybe more)
 * and what the model gives for every batch of a mode's data, as <folder>/inputs-<n>.safetensors and
 * outputs-<n>.safetensors, n from 0. RGM_ERR_IO when a file is there already, RGM_ERR_UNSUPPORTED
 * for a task that exports several graphs.
 *
 * @param exporter  [in] rgm_onnx_exporter() or rgm_saved_model_exporter(), whose names outputs have
 */
rgm_status rgm_run_dump_onnx(int64_t *batches, const rgm_open_run *run, const char *folder,
                             rgm_mode mode, const rgm_exporter *exporter);

/* ---- serving --------------------------------------------------------------------------------- */

/**
 * A trained model that answers what it is sent, without its training data, an optimizer or a run
 * folder: the executor of the library over the task's model and the weights of an export. One
 * thread at a time; several predictors may work at once, and share the pool (rgm_threads_set()).
 */
typedef struct rgm_predictor rgm_predictor;
/** Where rgm_onnx_exporter() puts what a predictor is opened from (rgm_predictor_open() of
 * experiment.h). */
#define RGM_SERVING_MODEL   "model.yaml"
#define RGM_SERVING_WEIGHTS "model.safetensors"
/**
 * @param task     [in, taken] with its state, also when this fails; zeroed
 * @param weights  [in] a .safetensors file that has just the parameters of the task's model
 *
 * Errors: RGM_ERR_UNSUPPORTED (the task has no model, or takes neither Examples nor rows),
 * RGM_ERR_NOT_FOUND and RGM_ERR_SHAPE (weights of another model: the first name), RGM_ERR_FORMAT
 * (damaged weights), those of build_model.
 */
rgm_status rgm_predictor_create(rgm_predictor **out, rgm_task *task, const char *weights);
void rgm_predictor_release(rgm_predictor *predictor);
/** Have `release` called with `owner`, of what the task borrows, behind all else. Once. */
void rgm_predictor_keep(rgm_predictor *predictor, void (*release)(void *owner), void *owner);
/** What it gives, borrowed: every head by its name, then their probabilities, as in model.onnx.
 * Returns how many there are. */
int64_t rgm_predictor_outputs(const rgm_export_output **outputs, const rgm_predictor *predictor);
/**
 * All outputs for serialized tf.train.Examples together, answered in their order: tensors [n, ...],
 * n the predictions of all of them. Labels need not be in them.
 *
 * @param outputs  [out] [rgm_predictor_outputs()], borrowed until the next run
 *
 * Errors: RGM_ERR_UNSUPPORTED (the task takes no Examples), RGM_ERR_ARG (none given),
 * RGM_ERR_FORMAT and RGM_ERR_DATA (an Example that is damaged or of another schema, "example 3:
 * ..."), RGM_ERR_NOT_FOUND (a feature that is missing), RGM_ERR_NOMEM.
 */
rgm_status rgm_predictor_run_examples(rgm_tensor **outputs, rgm_predictor *predictor,
                                      const rgm_str *examples, int64_t count);
/**
 * The same for rows of numbers [n, ...] as the data files have them, before they are scaled, and
 * without the label's column; f32 or f64.
 * Errors: RGM_ERR_UNSUPPORTED (the task takes no rows), RGM_ERR_SHAPE, RGM_ERR_DTYPE, RGM_ERR_DATA
 * (a number that is not finite), RGM_ERR_NOMEM.
 */
rgm_status rgm_predictor_run_rows(rgm_tensor **outputs, rgm_predictor *predictor,
                                  const rgm_tensor *rows);
/**
 * Predictions of a head for the batches of files that a user names (rgm_task.build_file_inputs).
 * Errors: RGM_ERR_UNSUPPORTED (the task reads no files), RGM_ERR_ARG (no such head), those of data
 * and sink.
 */
rgm_status rgm_predictor_run_files(rgm_predictor *predictor, const char *pattern, int64_t head,
                                   rgm_prediction_sink *sink, void *payload);
/** The task that it asks, borrowed. */
const rgm_task *rgm_predictor_task(const rgm_predictor *predictor);

/* ---- actions ------------------------------------------------------------------------------- */

/**
 * Whether a metric is strictly better than ever before: the idiom is test as condition, [export,
 * commit] as actions, so that a failed export does not lose the best. NaN and infinities are never
 * best.
 */
typedef struct rgm_new_best rgm_new_best;
/**
 * @param metric  [in] a name of the logs ("accuracy", "task/bleu"); copied
 * @param file    [in] JSON file that keeps the best value over restarts, written atomically, its
 * folder made; NULL: none
 * Errors: RGM_ERR_FORMAT, RGM_ERR_IO, RGM_ERR_NOMEM.
 */
rgm_status rgm_new_best_create(rgm_new_best **out, const char *metric, bool higher_is_better,
                               const char *file);
void rgm_new_best_release(rgm_new_best *best);
/** RGM_ERR_NOT_FOUND when the logs lack the metric; those there are are named. */
rgm_status rgm_new_best_test(bool *is_best, const rgm_new_best *best, const rgm_logs *logs);
/** Test and record. Errors: RGM_ERR_ARG, RGM_ERR_NOT_FOUND, RGM_ERR_IO, RGM_ERR_NOMEM. */
rgm_status rgm_new_best_commit(bool *is_best, rgm_new_best *best, const rgm_logs *logs);
double rgm_new_best_value(const rgm_new_best *best); /* NaN before the first */

#ifdef __cplusplus
}
#endif
#endif

/*
 * metrics: what training minimises and how its result is judged. Losses are values of the compute
 * graph, metrics are sums over batches (kept as doubles), and logs are the results of a loop or a
 * pass.
 *
 *     rgm_class_loss(), rgm_regression_loss(), rgm_ranking_loss()   losses
 *     rgm_metric_accuracy, rgm_metric_auc, rgm_metric_list_ndcg     kinds of metrics, each a row
 *     rgm_logs                                                      named numbers, "loss" first
 */
#ifndef REGIMEN_METRICS_H
#define REGIMEN_METRICS_H

#include <regimen/autodiff.h>
#include <regimen/store.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- metrics ------------------------------------------------------------------------------- */

/** What a metric sees of one batch. Items of weight 0 (padding) do not count. */
typedef struct rgm_metric_batch {
    const rgm_tensor *predictions; /* f32/f64 [n, units]: logits        */
    const rgm_tensor *labels;      /* [n] classes, or [n(, units)] 0/1  */
    const rgm_tensor *weights;     /* [n], for 0/1 labels and numbers also [n, units]; NULL: ones */
    const rgm_tensor *lists; /* i64 [n], for rankings: see rgm_ranking_loss(); NULL: one list */
} rgm_metric_batch;

typedef struct rgm_metric rgm_metric;

/** A kind of metric: a sum over batches, kept as doubles so that it can be saved, and its result.
 * The states of two halves of a pass add up to the state of the whole pass. */
typedef struct rgm_metric_type {
    const char *name;
    bool smaller_is_better;
    int64_t (*state_size)(const rgm_metric *metric); /* doubles, zero at the start */
    void (*update)(double *state, const rgm_metric *metric, const rgm_metric_batch *batch);
    double (*result)(const double *state, const rgm_metric *metric); /* 0 when nothing was seen;
                        NaN when it is not defined for what was seen */
    bool of_states; /* it looks at predictions and never at labels; it is expensive, so only passes
                       compute it */
    bool keeps_scores; /* no sum has what it needs: its state is one double, how many scores are
                          kept in the metric's `scores`. Lists of two halves are merged by
                          rgm_metric_scores_merge() before their states are added */
} rgm_metric_type;

/**
 * The scores of 0/1 labels that metrics keep until the end of a pass: 8 bytes a label of an item,
 * 16 where predictions or weights are doubles, and at the end 16 more to sort them.
 * Zero-initialised it is empty. A state of 0 empties it, and a smaller state takes back the last.
 */
typedef struct rgm_metric_scores {
    void *entries, *sorted;
    int64_t count, capacity;
    bool wide;   /* entries are doubles */
    bool failed; /* out of memory: told by rgm_metric_scores_ready() */
} rgm_metric_scores;
/** Free its memory. */
void rgm_metric_scores_clear(rgm_metric_scores *scores);
/**
 * To be called before the results of metrics with these scores are asked for.
 *
 * @param count  [in] the metrics' state
 *
 * Errors: RGM_ERR_NOMEM, also for an earlier update that lacked memory.
 */
rgm_status rgm_metric_scores_ready(rgm_metric_scores *scores, int64_t count);
/** Append the first `other_count` scores of `other` to the first `count`. Errors: RGM_ERR_NOMEM;
 * `scores` has then its first `count`. */
rgm_status rgm_metric_scores_merge(rgm_metric_scores *scores, int64_t count,
                                   const rgm_metric_scores *other, int64_t other_count);
/** Append `count` of them, from `first` on, as bytes for a checkpoint or a process of this
 * machine's kind. Errors: RGM_ERR_NOMEM. */
rgm_status rgm_metric_scores_save(rgm_text *out, const rgm_metric_scores *scores, int64_t first,
                                  int64_t count);
/** Read them back; `bytes` then begins after them. Errors: RGM_ERR_FORMAT (not `count` of them),
 * RGM_ERR_NOMEM. */
rgm_status rgm_metric_scores_restore(rgm_metric_scores *scores, double count, rgm_str *bytes);

#define RGM_METRIC_NAME 128

/** A metric of a head, as reported. */
struct rgm_metric {
    const rgm_metric_type *type;
    char name[RGM_METRIC_NAME]; /* "accuracy", "recall_at_precision_90", "precision_for_cat" */
    int64_t class_id;           /* per-class metrics                                         */
    double precision;           /* recall at precision                                       */
    int64_t outputs; /* for counts and curves by class: classes, or independent 0/1 labels    */
    int64_t k; /* top: how many; calibration_error: bins; binned areas: thresholds; hits: the worst
                  rank that is a hit; ndcg: the last rank that counts, 0: all do */
    bool several; /* for several independent 0/1 labels                                    */
    rgm_metric_scores *scores; /* of a type that keeps scores: its owner's; NULL: nothing is seen */
    bool reads_scores;         /* an earlier metric of the same predictions adds to them */
};

extern const rgm_metric_type rgm_metric_accuracy;      /* argmax == label, ties to the lowest     */
extern const rgm_metric_type rgm_metric_cross_entropy; /* mean of logsumexp(z) - z_y              */
extern const rgm_metric_type rgm_metric_class_precision; /* argmax == c against label == c */
extern const rgm_metric_type rgm_metric_class_recall;
extern const rgm_metric_type rgm_metric_binary_accuracy; /* (logit > 0) == label, over all units */
extern const rgm_metric_type rgm_metric_binary_cross_entropy;
extern const rgm_metric_type rgm_metric_precision; /* positive iff logit > 0                  */
extern const rgm_metric_type rgm_metric_recall;
/* Exact: each distinct score is a threshold, as scikit-learn's roc_auc_score (equal scores count a
 * half) and average_precision_score (not interpolated). NaN: a kind of label that it needs is
 * missing, or a score is NaN. */
extern const rgm_metric_type rgm_metric_auc_roc, rgm_metric_auc_pr;
extern const rgm_metric_type rgm_metric_recall_at_precision; /* the largest of all thresholds  */
/* Keras' AUC with `k` thresholds (its default is 200): counts between even thresholds on the
 * probability, precision interpolated after Davis and Goadrich 2006. The caller sets `k`. */
extern const rgm_metric_type rgm_metric_auc_roc_binned, rgm_metric_auc_pr_binned;
/* For one class out of many and, with binary_, for 0/1 labels; as in scikit-learn. With one 0/1
 * label the classes are 0 and 1; with several, each label is a class. The caller sets `outputs`. */
extern const rgm_metric_type rgm_metric_f1_micro, rgm_metric_binary_f1_micro; /* of all counts */
extern const rgm_metric_type rgm_metric_f1_macro, rgm_metric_binary_f1_macro; /* mean of classes */
extern const rgm_metric_type rgm_metric_f1_weighted,
    rgm_metric_binary_f1_weighted;                 /* mean weighted by labels of each class */
extern const rgm_metric_type rgm_metric_binary_f1; /* of the labels that are 1, over all units */
extern const rgm_metric_type rgm_metric_balanced_accuracy,
    rgm_metric_binary_balanced_accuracy; /* mean of the classes' recalls */
extern const rgm_metric_type rgm_metric_matthews_correlation,
    rgm_metric_binary_matthews_correlation;  /* Gorodkin 2004; 0 where one side does not vary */
extern const rgm_metric_type rgm_metric_top; /* the label is among the `k` largest logits; of equal
                                                logits the lowest class counts as larger */
/* Sum over `k` bins of probability of |sum of probabilities - number of correct ones|, divided by
 * the number of all: for the predicted class (Guo et al. 2017); for 0/1 labels of the label 1. */
extern const rgm_metric_type rgm_metric_calibration_error, rgm_metric_binary_calibration_error;
/* Brier 1950: squared distances of probabilities from labels; with classes the sum over all
 * classes. */
extern const rgm_metric_type rgm_metric_brier_score, rgm_metric_binary_brier_score;
/* Means of the areas of each 0/1 label that has items of both kinds. The caller sets `outputs`, and
 * `k` for the binned ones. */
extern const rgm_metric_type rgm_metric_auc_roc_macro, rgm_metric_auc_pr_macro;
extern const rgm_metric_type rgm_metric_auc_roc_macro_binned, rgm_metric_auc_pr_macro_binned;
/* For predicted numbers, means over items and units; labels [n, units]. */
extern const rgm_metric_type rgm_metric_mean_squared_error;
extern const rgm_metric_type rgm_metric_mean_absolute_error;
extern const rgm_metric_type rgm_metric_mean_absolute_percentage_error; /* |label| at least 1e-7 */
extern const rgm_metric_type rgm_metric_mean_squared_logarithmic_error; /* of ln(1 + x)          */
extern const rgm_metric_type rgm_metric_r2; /* 1 - squared errors / squared distances from the mean
                                               label; 0 where labels do not vary              */
/*
 * For pairs with one score [n, 1] each: links (label 1) and others (0). A pass over several batches
 * gives the mean of the batches weighted by their pairs, or links, because a score is compared only
 * with the scores of its batch.
 *
 * auc: share of the pairs (link, other) in which the link has the higher score, equal scores
 * counting a half: exactly the area under the ROC curve. average_precision: mean over links of the
 * precision at their score (links at or above it, divided by all at or above it); that is the sum
 * over thresholds of precision times the gain in recall, not interpolated.
 *
 * A link is ranked among itself and the others that follow it up to the next link; its rank is 1 +
 * the number with a higher score + half of those with the same score (the mean rank of ties). mrr:
 * mean of 1 / rank (Voorhees 1999). hits: share of ranks that are k or better. Others known to be
 * true should be left out of the data or have weight 0 ("filtered", Bordes et al. 2013).
 */
extern const rgm_metric_type rgm_metric_auc, rgm_metric_average_precision, rgm_metric_mrr,
    rgm_metric_hits;
/*
 * For rankings: the order of each list's items by their scores [n, 1], against labels from 0 on.
 * The result is the mean over the lists that have a label above 0; the others have no best order
 * and do not count. Items with the same score count with the mean over all their orders (ndcg,
 * McSherry & Najork 2008; for mrr the mean of the rank), or all at the last of their ranks (map).
 *
 * ndcg: sum of (2^label - 1) / log2(1 + rank) over the ranks up to `k`, divided by the same sum for
 * the best order (Jarvelin & Kekalainen 2002, with the gains of Burges et al. 2005). map: mean over
 * the items with labels above 0 of the share of such items at the item's score and above. mrr: 1 /
 * the rank of the first of them. A NaN score makes its list's figure NaN.
 */
extern const rgm_metric_type rgm_metric_list_ndcg, rgm_metric_list_map, rgm_metric_list_mrr;
/*
 * How good states [n, columns] are, judged without labels (Tsitsulin et al. 2023): from the
 * singular values s of a batch, descending, and its left singular vectors U; the mean of the
 * batches. The caller sets `outputs` to the columns; a batch with another number does not count. In
 * a batch with more than RGM_MOST_REPRESENTED_ROWS items only every second, third, ... is used.
 * Values below 1e-6 of the first count as 0, since states are float. A batch of zeros gives 0; one
 * with a NaN makes the metric NaN.
 *
 * rankme: exp(entropy of s / sum s), Garrido et al. 2023. numerical_rank: sum s^2 / s_0^2.
 * pseudo_condition_number: s_0 / s_last, 0 when s_last is 0. coherence: max |U_i|^2 n / rank over
 * the items, with the columns of U whose s is not 0 (Candes & Recht 2009): 1 when all items weigh
 * the same. self_clustering: the sum over pairs of squared cosines, scaled to 0 for n random
 * directions and to 1 when all directions are the same; an item of zeros does not count.
 */
extern const rgm_metric_type rgm_metric_rankme, rgm_metric_numerical_rank, rgm_metric_coherence,
    rgm_metric_pseudo_condition_number, rgm_metric_self_clustering;
#define RGM_MOST_REPRESENTED_ROWS 8192

/*
 * No metrics but what curves are made of (rgm_score_curve_make()): their result is how many scores
 * are kept, at most one batch more than RGM_MOST_CURVE_SCORES. Of 0/1 labels the scores, unit by
 * unit; of classes (the caller sets `outputs`) the probability of each class, against the label
 * that it is this class or another; of links their ranks, as hits has them.
 */
extern const rgm_metric_type rgm_metric_scores_of_labels, rgm_metric_scores_of_classes,
    rgm_metric_ranks_of_links;
/**
 * The curve of the scores first, first + stride, ...; areas as those of auc_roc and auc_pr.
 * `name` is NULL. Errors: RGM_ERR_NOMEM.
 */
rgm_status rgm_score_curve_make(rgm_score_curve *out, const rgm_metric_scores *scores,
                                int64_t first, int64_t stride);
/** Share of hits by k, from 1 to the worst rank: every k, or as many in even steps of its
 * logarithm. Errors: RGM_ERR_NOMEM. */
rgm_status rgm_hits_curve_make(rgm_hits_curve *out, const rgm_metric_scores *ranks);

/**
 * Count a batch's items by label and prediction, without items of weight 0 (padding) and without
 * items that have no label. A batch of another form is not counted.
 *
 * @param counts  [in, out] [classes, classes], a row for each label; for a logit of 1 against 0
 * classes = 2
 */
void rgm_confusion_update(int64_t *counts, int64_t classes, const rgm_metric_batch *batch);

/* ---- metrics by name --------------------------------------------------------------------- */

/** What named metrics judge: one class of several, independent 0/1 labels, or states. */
typedef enum rgm_metrics_of {
    RGM_METRICS_OF_CLASSES,
    RGM_METRICS_OF_LABELS,
    RGM_METRICS_OF_STATES
} rgm_metrics_of;
#define RGM_MOST_REPRESENTED_COLUMNS 1024
/**
 * Check a list of metric names. For classes: f1_micro, f1_macro, f1_weighted, balanced_accuracy,
 * matthews_correlation, top_<k>, calibration_error or calibration_error_<bins> (15), brier_score.
 * For 0/1 labels the same without top, and f1, auc_roc_macro, auc_pr_macro, and with k thresholds
 * auc_roc_<k>, auc_pr_<k>, auc_roc_macro_<k>, auc_pr_macro_<k>. For states only rankme,
 * numerical_rank, coherence, pseudo_condition_number, self_clustering. Metrics are reported by
 * these names.
 *
 * @param outputs  classes, 0/1 labels of an item, or columns of the states; 0: not known yet
 *
 * Errors: RGM_ERR_CONFIG "key: ..." with the nearest name, an impossible number, a name given
 * twice, more columns than RGM_MOST_REPRESENTED_COLUMNS.
 */
rgm_status rgm_named_metrics_check(const char *key, const rgm_texts *names, int64_t outputs,
                                   rgm_metrics_of of);
/** The metric of a name, which may end in a number ("top_3"). Errors: as above, for one name. */
rgm_status rgm_named_metric(rgm_metric *out, const char *key, const char *name, int64_t outputs,
                            rgm_metrics_of of);

/* ---- logs ---------------------------------------------------------------------------------- */

/** A text of some lines with its name. */
typedef struct rgm_named_text {
    char *name, *text;
} rgm_named_text;

/**
 * The results of a loop or a pass: named numbers in order, "loss" first. A '/' in a name is a level
 * of nesting, which becomes a sub-folder of the summaries. Zero-initialised logs are empty.
 */
typedef struct rgm_logs {
    rgm_named_number *items; /* the logs own the names */
    int64_t count, capacity;
    rgm_named_text
        *texts; /* for people: shown in the log and in event files, never used to choose */
    int64_t text_count, text_capacity;
    rgm_sample *samples; /* for tables.jsonl; the logs own all of each */
    int64_t sample_count, sample_capacity;
} rgm_logs;
/** Set a number, replacing any value of that name; the name is copied. Errors: RGM_ERR_NOMEM. */
rgm_status rgm_logs_set(rgm_logs *logs, const char *name, double value);
/** Set a text to show, such as a sample of generated text; both are copied. Errors:
 * RGM_ERR_NOMEM. */
rgm_status rgm_logs_set_text(rgm_logs *logs, const char *name, const char *text);
/** Add a sample of generated output. It is copied, but the names of its scores are not. Errors:
 * RGM_ERR_NOMEM. */
rgm_status rgm_logs_add_sample(rgm_logs *logs, const rgm_sample *sample);
bool rgm_logs_has(const rgm_logs *logs, const char *name);
/** The number of that name; NaN when there is none. */
double rgm_logs_get(const rgm_logs *logs, const char *name);
/** Set in `to` everything that `from` has; samples of `from`, if any, replace those of `to`.
 * Errors: RGM_ERR_NOMEM. */
rgm_status rgm_logs_merge(rgm_logs *to, const rgm_logs *from);
/** Empty the logs and free their memory. */
void rgm_logs_clear(rgm_logs *logs);

/* ---- losses -------------------------------------------------------------------------------- */

/** sum(weights * x) / max(sum(weights), tiny) over items [n]; NULL weights: the mean. Scalar. */
rgm_value *rgm_weighted_mean(rgm_value *x, rgm_value *weights);
/** Changes to the loss of classes beside cross-entropy; zeros: none. */
typedef struct rgm_class_loss_options {
    /** In [0, 1): the target of class k is (1 - smoothing) [k = label] + smoothing / classes
     * (Szegedy et al. 2016, section 7), of a 0/1 label (1 - smoothing) label + smoothing / 2. */
    double smoothing;
    /** At least 0: each term of cross-entropy is multiplied by (1 - p)^gamma, p being the
     * probability in that term (Lin et al. 2017, equation 4). With smoothing, a 0/1 label t, which
     * is then between, has one factor as Keras has it: (t (1 - p) + (1 - t) p)^gamma, p being the
     * probability of 1. */
    double focal_gamma;
    /** [classes], for 0/1 labels [2, units] or [2, 1]: the loss of an item is multiplied by the
     * weight of its label; NULL: ones. */
    rgm_value *weights;
} rgm_class_loss_options;
/** Losses [n] of logits [n, classes] and labels [n] i32/i64. */
rgm_value *rgm_class_loss(rgm_value *logits, rgm_value *labels,
                          const rgm_class_loss_options *options);
/** Losses [n, units] of logits and targets [n, units], 0 or 1 in the dtype of the logits. */
rgm_value *rgm_binary_loss(rgm_value *logits, rgm_value *targets,
                           const rgm_class_loss_options *options);
/**
 * How far the distribution of a model's logits is from that of teachers (Hinton et al. 2015), of
 * each row: temperature^2 * KL(p || q), with q = softmax(logits / temperature) and p the mean of
 * softmax(teachers[i] / temperature). 0 where they are the same. No gradient goes to the teachers.
 *
 * @param logits    [n, classes or more]; columns behind the classes do not count
 * @param teachers  [count] each [n, classes or more] of the same dtype; 1 or more
 *
 * Errors, which the graph keeps: RGM_ERR_ARG (temperature not above 0), RGM_ERR_SHAPE.
 */
rgm_value *rgm_distillation_losses(rgm_value *logits, rgm_value *const *teachers, int64_t count,
                                   int64_t classes, double temperature);
/**
 * Labels with 0 in the place of missing ones, which are as rgm_dtype_missing() says (NaN, the
 * lowest integer); with `classes`, and for 0/1 labels, any label below 0 is missing.
 *
 * @param known  [out] of the labels' shape, in `dtype` (that of the predictions): 1, or 0 where the
 * label is missing
 * @return classes in the labels' own dtype, others in `dtype`
 */
rgm_value *rgm_known_labels(rgm_value **known, rgm_value *labels, rgm_dtype dtype, bool classes);

/** The distance of predicted numbers p from labels y; e = y - p. */
typedef enum rgm_regression_loss_type {
    RGM_LOSS_MEAN_SQUARED_ERROR,             /* e^2                                            */
    RGM_LOSS_MEAN_ABSOLUTE_ERROR,            /* |e|                                            */
    RGM_LOSS_MEAN_ABSOLUTE_PERCENTAGE_ERROR, /* 100 |e| / max(|y|, 1e-7)                       */
    RGM_LOSS_MEAN_SQUARED_LOGARITHMIC_ERROR, /* squares of ln(1 + y) - ln(1 + p)               */
    RGM_LOSS_MEAN_SQUARED_LOG_SCALED_ERROR,  /* e^2 + alpha (ln(p + epsilon) - ln(y + epsilon))^2,
                                                for p >= 0                                     */
    RGM_LOSS_COSINE_SIMILARITY,              /* -cos of the angle between the rows y and p     */
    RGM_LOSS_HUBER,                          /* e^2 / 2, linear beyond delta (Huber 1964)      */
    RGM_LOSS_LOG_COSH,                       /* ln(cosh(e))                                    */
    RGM_LOSS_QUANTILE,                       /* max(q e, (q - 1) e) (Koenker & Bassett 1978)   */
    RGM_LOSS_POISSON                         /* p - y ln(p + 1e-7), for rates p > 0            */
} rgm_regression_loss_type;
extern const char *const rgm_regression_loss_names[]; /* "mean_squared_error", ..., ended by NULL */
typedef struct rgm_regression_loss_options {
    double delta, quantile, alpha, epsilon; /* for those losses that have them */
} rgm_regression_loss_options;
#define RGM_REGRESSION_LOSS_OPTIONS_INIT                                                           \
    {                                                                                              \
        .delta = 1, .quantile = 0.5, .alpha = 5, .epsilon = 1e-8                                   \
    }
/** Each item's mean over its units: [n] of predictions and labels [n, units] of one dtype. */
rgm_value *rgm_regression_loss(rgm_regression_loss_type type, rgm_value *predictions,
                               rgm_value *labels, const rgm_regression_loss_options *options);
/** The same for each unit by itself, [n, units]; cosine_similarity has none. */
rgm_value *rgm_regression_unit_loss(rgm_regression_loss_type type, rgm_value *predictions,
                                    rgm_value *labels, const rgm_regression_loss_options *options);

/**
 * Losses that compare the scores s of a list's items with their labels y: items with higher labels
 * should have higher scores. Pairs are those of one list with y_i > y_j; d = s_i - s_j.
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
 * The mean over lists of a list's loss, a scalar; 0 when there is no list. A list without two
 * different labels has no order to learn and is not counted. Time grows with the square of a list's
 * items (with softmax and list_net linearly), memory linearly.
 *
 * @param scores       [n] or [n, 1] of f32 or f64
 * @param labels       of their dtype and count, from 0 on; gains 2^y - 1 overflow above 1000
 * @param weights      [n] or [n, 1] of any float; items of weight 0 are in no list, other weights
 *                     make no difference; NULL: ones
 * @param lists        i64 [n]: items with the same number are a list; those below 0 are in none
 * @param temperature  of approx_ndcg, above 0
 *
 * Errors, which the graph keeps: RGM_ERR_ARG (temperature), RGM_ERR_SHAPE (other shapes).
 */
rgm_value *rgm_ranking_loss(rgm_ranking_loss_type type, rgm_value *scores, rgm_value *labels,
                            rgm_value *weights, rgm_value *lists, double temperature);
/** The number of lists in that mean, a scalar for rgm_head.loss_items; the same arguments and
 * errors, but labels of any number type, [n] or [n, 1]. */
rgm_value *rgm_ranking_lists(rgm_value *labels, rgm_value *weights, rgm_value *lists);

#ifdef __cplusplus
}
#endif
#endif

/*
 * graph_tasks: the data of tasks on graphs: providers give graphs, processors and padding change
 * them before a model sees them.
 */
#ifndef REGIMEN_GRAPH_TASKS_DATA_H
#define REGIMEN_GRAPH_TASKS_DATA_H

#include <regimen/graph_features.h>
#include <regimen/graph_import.h>
#include <regimen/graph_sampling.h>
#include <regimen/train_task.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- providers ----------------------------------------------------------------------------- */

/**
 * A source of unbatched examples. Constructors that fail return NULL and record an error; rgm_run()
 * reports it, so a program may check once. Counted.
 */
typedef struct rgm_provider rgm_provider;

/** For a program's own provider. */
typedef struct rgm_provider_type {
    const char *name;
    /**
     * A recipe of elements that are serialized tf.train.Examples (bytes) or graphs (pointer
     * elements of type rgm_graph_element). With `training` a provider that shuffles does so.
     */
    rgm_status (*dataset)(rgm_dataset **out, void *state, bool training);
    /** The schema of its graphs if it knows it (borrowed), else NULL. May be NULL. */
    rgm_schema *(*schema)(void *state);
    /** Elements are already whole mini-batches: they are not batched or merged again. */
    bool batched;
    /** All elements are in memory: a check before the first step reads every one of them. */
    bool in_memory;
    /**
     * For mini-batches that are cut out of one graph: that graph with a readout of all their items,
     * for the same check of labels; *out may be NULL. NULL: the check reads the first element
     * alone.
     */
    rgm_status (*whole)(rgm_graph **out, void *state);
    /**
     * rgm_provider_draw(), `count` being the number of elements. NULL: its elements cannot be
     * drawn.
     */
    rgm_status (*draw)(void *state, const double *weights, int64_t count);
    void (*release)(void *state);
} rgm_provider_type;
rgm_provider *rgm_provider_create(const rgm_provider_type *type, void *state);
rgm_provider *rgm_provider_retain(rgm_provider *provider);
void rgm_provider_release(rgm_provider *provider);
rgm_schema *rgm_provider_schema(const rgm_provider *provider); /* borrowed, or NULL */
/** The recipe of its graphs, released by the caller. Errors: those of the provider's type. */
rgm_status rgm_provider_dataset(rgm_dataset **out, const rgm_provider *provider, bool training);
/**
 * Draw the graphs of training by weight. An epoch has as many graphs as before (or seeds, for
 * mini-batches that are sampled around seeds), but each is drawn by itself, with the probability
 * weight / sum of weights. In other passes all come once. Call it before a run is opened. See
 * rgm_dataset_draw().
 *
 * @param weights  [in] [count] finite, from 0 on, not all 0; copied
 *
 * Errors: RGM_ERR_UNSUPPORTED (a provider of another type), RGM_ERR_ARG, RGM_ERR_NOMEM.
 */
rgm_status rgm_provider_draw(rgm_provider *provider, const double *weights, int64_t count);

/** Options of rgm_tfrecord_provider(). */
typedef struct rgm_tfrecord_provider_options {
    rgm_texts files;               /* names, globs and "name@N", in this order */
    const char *key;               /* their name in messages; NULL: none */
    bool shuffle_filenames;        /* when training                                      */
    int64_t examples_shuffle_size; /* buffer, when training; 0: none                     */
    int64_t cycle_length;          /* files read at once, default 1                      */
    int64_t max_bad_records;       /* skipped; one more is an error; default 0 */
} rgm_tfrecord_provider_options;
/** TFRecord files of serialized tf.train.Examples. */
rgm_provider *rgm_tfrecord_provider(const rgm_tfrecord_provider_options *options);

/** Graphs in memory, retained. With `shuffle` each training epoch has another order. */
rgm_provider *rgm_graphs_provider(rgm_graph *const *graphs, int64_t count, bool shuffle);

/**
 * One part ("train", "valid" or "test") of an imported data set. One big graph: the graph itself,
 * whose "_readout" points at the part's nodes (full-graph training). Many graphs: the part's
 * graphs.
 */
rgm_provider *rgm_graph_data_provider(const rgm_graph_data *data, const char *part);
/**
 * The same with another label feature than "label" on one big graph's nodes. The model must not see
 * it. NULL: there is none.
 */
rgm_provider *rgm_graph_data_provider_of(const rgm_graph_data *data, const char *part,
                                         const char *label);
/** The same, directly from an OGB folder with default import options. */
rgm_provider *rgm_ogb_provider(const char *path, const char *split, const char *part);

/** Options of rgm_sampling_provider(). */
typedef struct rgm_sampling_provider_options {
    const rgm_sampling_spec *spec;
    int64_t batch_size; /* seeds a mini-batch                                                     */
    const char *label;  /* feature of the seed node set, moved to "_readout"                      */
    bool shuffle;       /* when training, seeds in another order each epoch */
    bool drop_remainder; /* when training, drop a smaller last mini-batch */
    bool resample;       /* when training, other neighbours each epoch; else those of epoch 0 */
    bool once; /* rgm_sampler_set_once()                                                  */
    uint64_t seed;
    int threads; /* mini-batches sampled at once                                           */
} rgm_sampling_provider_options;
/**
 * Mini-batches sampled in memory around the seeds [n] i64 of one big graph (retained). The spec is
 * read during the call and need not outlive it.
 */
rgm_provider *rgm_sampling_provider(rgm_graph *graph, rgm_tensor *seeds,
                                    const rgm_sampling_provider_options *options);

/** Options of rgm_subgraph_provider(). */
typedef struct rgm_subgraph_provider_options {
    int64_t batch_size;  /* units of the sampler a mini-batch: seeds, clusters, draws          */
    bool shuffle;        /* when training, units in another order each epoch */
    bool drop_remainder; /* when training, drop a smaller last mini-batch                       */
    bool resample;       /* when training, other draws each epoch; else those of epoch 0 */
    int threads;         /* mini-batches drawn at once                                         */
} rgm_subgraph_provider_options;
/** Mini-batches that a sampler (retained) draws. */
rgm_provider *rgm_subgraph_provider(rgm_subgraph_sampler *sampler,
                                    const rgm_subgraph_provider_options *options);

/* ---- links ---- */

/** Which end of a link its negatives replace by another node. */
typedef enum rgm_link_corruption {
    RGM_CORRUPT_EITHER, /* source or target, equally likely; with all nodes both */
    RGM_CORRUPT_SOURCE,
    RGM_CORRUPT_TARGET,
    RGM_CORRUPT_PAIR /* both ends are drawn anew, and are two different nodes */
} rgm_link_corruption;

/** Which nodes the negatives of training have in place of an end. Those of validation and test are
 * uniform, so that figures can be compared. */
typedef enum rgm_link_draw {
    RGM_DRAW_UNIFORM, /* any node is as likely                                                   */
    RGM_DRAW_DEGREE,  /* the end of a training link: as likely as the node has training links    */
    RGM_DRAW_BATCH    /* the end of a target of the step: negatives within the batch. Where each of
                         them makes a link too, any node */
} rgm_link_draw;

/** Links whose edges the feature `split` of rgm_link_options puts into several parts. */
typedef enum rgm_link_repeats {
    RGM_REPEATS_REFUSED, /* an error */
    RGM_REPEATS_FIRST /* in the first of the parts; edges of later ones are in no graph         */
} rgm_link_repeats;

/**
 * Which edges of a graph are predicted, and from which others; field names are keys of
 * `data.links`.
 */
typedef struct rgm_link_options {
    rgm_texts edge_sets;    /* their edges are links, all between the same two node sets; none: the
    only    one. If there are several, each is a relation, numbered by its place */
    rgm_lists reverse_sets; /* by edge set: the sets that have its edges reversed */
    bool undirected;        /* an edge and its reverse in the same set are one link               */
    const char *relation; /* integer or one_hot feature that numbers relations, on the one edge set
                             and its reverse sets; NULL: none */
    double valid, test;   /* shares of the links, default 0.05 and 0.1                          */
    const char *split;    /* integer feature of the edges, 0 train, 1 valid, 2 test, instead of
                             shares; NULL: none                                                 */
    rgm_link_repeats repeated; /* with split; reverse sets then have its feature too            */
    int64_t seed;        /* of the split and of what is drawn for validation and test          */
    int64_t batch_size;  /* training links that are targets of a step; an epoch has all; 0: ... */
    double target_share; /* ... this share of them, drawn anew each step: default 0.3          */
    int64_t negatives;   /* for each target in training, drawn anew each step; default 1       */
    int64_t eval_negatives; /* for each validation and test link, drawn once, default 1; 0: every
                               node in place of either end; loops only if some links are loops */
    rgm_link_corruption corrupt;
    rgm_link_draw draw;  /* of negatives in training */
    bool valid_messages; /* messages of the test part also have the validation links */
    int threads;         /* steps drawn at once; changes no result                                */
} rgm_link_options;
#define RGM_LINK_OPTIONS_INIT                                                                      \
    {                                                                                              \
        .valid = 0.05, .test = 0.1, .target_share = 0.3, .negatives = 1, .eval_negatives = 1       \
    }

/** One graph's links in three parts. A link, an edge with its reverses, is in one part. Counted. */
typedef struct rgm_link_split rgm_link_split;
/**
 * Split the links of a graph, which is retained. A link is known by its ends, so duplicate edges
 * are one link. A warning names a set that has most of a link set's edges reversed and is not in
 * reverse_sets, also the set itself when it is not undirected; an edge of reverse_sets that is of
 * no link stays in every graph.
 *
 * @param options  [in] read during the call
 *
 * Errors: RGM_ERR_CONFIG (sets and features that are missing or do not fit, reverse_sets that turn
 * links of another relation round, no training links),
 * RGM_ERR_DATA (values of `split` or `relation`; one link in two parts, unless repeated),
 * RGM_ERR_UNSUPPORTED (more than 2^63 possible pairs; several components), RGM_ERR_NOMEM.
 */
rgm_status rgm_link_split_create(rgm_link_split **out, rgm_graph *graph,
                                 const rgm_link_options *options);
rgm_link_split *rgm_link_split_retain(rgm_link_split *split);
void rgm_link_split_release(rgm_link_split *split);
/** The number of links in a part. */
int64_t rgm_link_split_count(const rgm_link_split *split, rgm_mode part);
/** How subgraphs around pairs are drawn. */
typedef struct rgm_link_sampling {
    const rgm_sampling_spec *spec; /* from the node set at both ends of links                */
    bool once;                     /* rgm_sampler_set_once()                                 */
    bool resample;                 /* other neighbours in each training step; else by seed */
    uint64_t seed;
} rgm_link_sampling;
/**
 * Let the providers of the split draw mini-batches instead of the whole graph: the subgraph around
 * both ends of options.batch_size links and their negatives, by rgm_sampler_pairs(). Only edges
 * that are messages are sampled: those of training links, in the test part with valid_messages
 * those of validation links too, and those of sets without links. In training all edges of link
 * sets and their reverse sets that join the two ends of a pair of the step are left out, whatever
 * their relation and direction. Call it before the first provider is made.
 *
 * Errors: RGM_ERR_CONFIG (links between two kinds of nodes, no batch_size, eval_negatives 0, a spec
 * that begins elsewhere), RGM_ERR_UNSUPPORTED (times of seeds), those of rgm_sampler_create().
 */
rgm_status rgm_link_split_sample(rgm_link_split *split, const rgm_link_sampling *options);
/**
 * Graphs with pairs to predict, for rgm_link_prediction. The pairs of "_readout" are each link
 * (label 1) followed by its negatives (label 0). "_readout/positive" says which belong together,
 * and if there are relations, the feature "relation" has them.
 *
 * Training steps: targets are drawn. The edges do not include the targets, their reverses and the
 * links of validation and test. Negatives are not training links; training knows no other links.
 * Validation: the edges are those of training links. Test: the same and, with valid_messages, those
 * of validation links. In both, negatives are links of no part, so ranks are filtered. Each link
 * draws from its own stream of options.seed, so its negatives are the same in batches of any size
 * and in the whole graph. Edges of sets without links are always there.
 *
 * Returns NULL on failure. RGM_ERR_NOT_FOUND: the part has no links. RGM_ERR_DATA: a link of
 * validation or test has no negative.
 */
rgm_provider *rgm_link_provider(rgm_link_split *split, rgm_mode part);

/**
 * A random mix of providers: each element comes from provider i with weight weights[i]. An epoch of
 * training ends with provider 0; the others begin again whenever they end. Checks and evaluation
 * see each element of all providers once.
 */
rgm_provider *rgm_mix_provider(rgm_provider *const *providers, const double *weights,
                               int64_t count);

/* ---- between data and model ----------------------------------------------------------------- */

/**
 * A map from graphs to graphs between data and model: one that an experiment file can name in
 * `data.processors`, or a program's own. It may change the schema, but only as its options say: it
 * is also called with a graph of no components, to find the schema.
 */
typedef struct rgm_graph_processor_type {
    rgm_section_type section; /* its name and keys; a program's own needs a name only */
    /** It draws at random, anew for each batch and epoch. Evaluation and prediction skip it. */
    bool training_only;
    /**
     * *out is a new graph, or `graph` retained. `rng`: if training_only, the stream of this batch
     * in this epoch, the same in a resumed run; else NULL. Several threads call it at once.
     */
    rgm_status (*process)(rgm_graph **out, rgm_graph *graph, const void *options,
                          const rgm_rng *rng);
} rgm_graph_processor_type;
typedef struct rgm_graph_processor {
    const rgm_graph_processor_type *type;
    const void *options; /* of the type, or a program's payload; must outlive every user */
} rgm_graph_processor;
/**
 * The processors that an experiment file can name, each the beginning of its type; ended by NULL.
 */
extern const rgm_section_type *const rgm_graph_processors[];
/**
 * Run `processors` [count] in their order. Errors: those of the processors, each message after the
 * name of its processor; RGM_ERR_NOMEM.
 */
rgm_status rgm_graph_process(rgm_graph **out, rgm_graph *graph,
                             const rgm_graph_processor *processors, int64_t count,
                             const rgm_rng *rng);

/**
 * Learn what the options need from a training part, in one pass over it. In a node set with a
 * readout only the nodes of the readout are read, in other sets all items.
 *
 * @param schema  of the provider's graphs
 *
 * Errors: RGM_ERR_CONFIG (a feature that cannot be read so), RGM_ERR_DATA (not finite; no value),
 * those of the provider.
 */
rgm_status rgm_learned_features_create(rgm_learned_features **out, const rgm_input_options *options,
                                       const rgm_schema *schema, const rgm_provider *train);

/** Padding of batches to fixed sizes; no batch is dropped. */
typedef enum rgm_padding_kind {
    RGM_PADDING_NONE,
    RGM_PADDING_TIGHT, /* the largest example times the batch size                             */
    RGM_PADDING_FIT    /* sizes that fit success_ratio of random batches; others stay as they are */
} rgm_padding_kind;
typedef struct rgm_padding {
    rgm_padding_kind kind;
    int64_t min_nodes_per_component; /* default 1 */
    int64_t sample_size;             /* fit: examples measured, default 10000 */
    double success_ratio;            /* fit: default 0.99                      */
    /**
     * Numbers of items of a padded batch, by the name of the set, and "components"; they replace
     * the sizes that `kind` finds. Read while a run is opened. If any is given, batches that do not
     * fit stay as they are.
     */
    rgm_numbers totals;
} rgm_padding;
#define RGM_PADDING_INIT                                                                           \
    {                                                                                              \
        .min_nodes_per_component = 1, .sample_size = 10000, .success_ratio = 0.99                  \
    }

/** More data to validate or to test on, by name. */
typedef struct rgm_graph_eval_set {
    const char *name;   /* "news" of RGM_VALID is reported as valid_news */
    rgm_mode mode;      /* RGM_VALID or RGM_TEST: evaluated after that mode's own data */
    rgm_provider *data; /* required; retained                                             */
} rgm_graph_eval_set;

#ifdef __cplusplus
}
#endif
#endif

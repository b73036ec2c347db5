/*
 * gnn: where graphs come from and what becomes of them before a model sees them: providers,
 * processors, padding.
 */
#ifndef REGIMEN_GNN_DATA_H
#define REGIMEN_GNN_DATA_H

#include <regimen/graph.h>
#include <regimen/graph_sampling.h>
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
    /** All elements are in memory: a check before the first step looks at every one of them. */
    bool in_memory;
    /**
     * Of mini-batches cut out of one graph: that graph, asked about all of their items at once, for
     * the same check of labels; *out may be NULL. NULL: it looks at the first element alone.
     */
    rgm_status (*whole)(rgm_graph **out, void *state);
    /** rgm_provider_draw() of as many as there are. NULL: its elements cannot be drawn. */
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
 * Training takes as many graphs (or seeds, of mini-batches sampled around some) an epoch as before,
 * but draws each by itself with the chance that its weight has in the sum; in other passes all come
 * once. To be called before a run is opened. See rgm_dataset_draw().
 *
 * @param weights  [in] [count] finite, from 0 on, not all 0; copied
 *
 * Errors: RGM_ERR_UNSUPPORTED (a provider of another type), RGM_ERR_ARG, RGM_ERR_NOMEM.
 */
rgm_status rgm_provider_draw(rgm_provider *provider, const double *weights, int64_t count);

/** Options of rgm_tfrecord_provider(). */
typedef struct rgm_tfrecord_provider_options {
    rgm_texts files;               /* names, globs and "name@N", one behind the other    */
    const char *key;               /* what messages call them; NULL: nothing             */
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
rgm_provider *rgm_graph_data_provider(const rgm_graph_data *data, const char *part);
/** The same with another label feature than "label" of one big graph's nodes, which the model must
 * not see; NULL: there is none. */
rgm_provider *rgm_graph_data_provider_of(const rgm_graph_data *data, const char *part,
                                         const char *label);
/** The same straight from an OGB folder with default import options. */
rgm_provider *rgm_ogb_provider(const char *path, const char *split, const char *part);

/** Options of rgm_sampling_provider(). */
typedef struct rgm_sampling_provider_options {
    const rgm_sampling_spec *spec;
    int64_t batch_size; /* seeds a mini-batch                                                     */
    const char *label;  /* feature of the seed node set, moved to "_readout"                      */
    bool shuffle;       /* seeds in another order each epoch when training                        */
    bool drop_remainder; /* drop a last smaller mini-batch when training                          */
    bool resample; /* other neighbours each epoch when training; else those of epoch 0       */
    bool once;     /* rgm_sampler_set_once()                                                  */
    uint64_t seed;
    int threads; /* mini-batches sampled at once                                           */
} rgm_sampling_provider_options;
/** Mini-batches sampled in memory around the seeds [n] i64 of one big graph (retained). The spec is
 * read now and need not stay. */
rgm_provider *rgm_sampling_provider(rgm_graph *graph, rgm_tensor *seeds,
                                    const rgm_sampling_provider_options *options);

/** Options of rgm_subgraph_provider(). */
typedef struct rgm_subgraph_provider_options {
    int64_t batch_size;  /* units of the sampler a mini-batch: seeds, clusters, draws          */
    bool shuffle;        /* units in another order each epoch when training                    */
    bool drop_remainder; /* drop a last smaller mini-batch when training                       */
    bool resample;       /* other draws each epoch when training; else those of epoch 0        */
    int threads;         /* mini-batches drawn at once                                         */
} rgm_subgraph_provider_options;
/** Mini-batches that a sampler (retained) draws. */
rgm_provider *rgm_subgraph_provider(rgm_subgraph_sampler *sampler,
                                    const rgm_subgraph_provider_options *options);

/* ---- links ---- */

/** Which end of a link is another node in its negatives. */
typedef enum rgm_link_corruption {
    RGM_CORRUPT_EITHER, /* the source or the target, as likely; both for all nodes             */
    RGM_CORRUPT_SOURCE,
    RGM_CORRUPT_TARGET,
    RGM_CORRUPT_PAIR /* both ends are drawn anew, and are two nodes                            */
} rgm_link_corruption;

/** Which edges of a graph are predicted, and from what; field names are keys of `data.links`. */
typedef struct rgm_link_options {
    rgm_texts edge_sets;    /* whose edges are links, all between the same two node sets; none: the
                               only one. Several are a relation each, by their places             */
    rgm_lists reverse_sets; /* by edge set: those that have its edges turned round                */
    bool undirected;        /* an edge and its reverse in the same set are one link               */
    const char *relation;   /* integer or one_hot feature of the one edge set, and of its reverse
                               sets, that numbers relations; NULL: none                           */
    double valid, test;     /* shares of the links, default 0.05 and 0.1                          */
    const char *split;      /* integer feature of the edges, 0 train, 1 valid, 2 test, instead of
                               shares; NULL: none                                                 */
    int64_t seed;           /* of the split and of what is drawn for validation and test          */
    int64_t batch_size;     /* training links that are targets in a step, all in an epoch; 0: ... */
    double target_share;    /* ... this share of them, drawn anew each step: default 0.3          */
    int64_t negatives;      /* for each target in training, drawn anew each step; default 1       */
    int64_t eval_negatives; /* for each validation and test link, drawn once, default 1; 0: each
                               node in place of either end, itself only where links are loops     */
    rgm_link_corruption corrupt;
    bool valid_messages; /* test messages have the validation links too                           */
    int threads;         /* steps drawn at once; changes no result                                */
} rgm_link_options;
#define RGM_LINK_OPTIONS_INIT                                                                      \
    {                                                                                              \
        .valid = 0.05, .test = 0.1, .target_share = 0.3, .negatives = 1, .eval_negatives = 1       \
    }

/** One graph's links in three parts: what a link is, an edge with its reverses, is in one. Counted.
 */
typedef struct rgm_link_split rgm_link_split;
/**
 * Split the links of a graph, retained. Links are found by their ends, so edges that are there
 * twice are one link. A set that has most of a link set's edges turned round and is not named by
 * reverse_sets, or the set itself when not undirected, is told as a warning.
 *
 * @param options  [in] read during the call
 *
 * Errors: RGM_ERR_CONFIG (sets and features that are not there or do not fit, no training links),
 * RGM_ERR_DATA (values of `split` or `relation`; one link in two parts), RGM_ERR_UNSUPPORTED (more
 * than 2^63 possible pairs; several components), RGM_ERR_NOMEM.
 */
rgm_status rgm_link_split_create(rgm_link_split **out, rgm_graph *graph,
                                 const rgm_link_options *options);
rgm_link_split *rgm_link_split_retain(rgm_link_split *split);
void rgm_link_split_release(rgm_link_split *split);
/** How many links a part has. */
int64_t rgm_link_split_count(const rgm_link_split *split, rgm_mode part);
/** How subgraphs around pairs are drawn. */
typedef struct rgm_link_sampling {
    const rgm_sampling_spec *spec; /* from the node set at both ends of links                */
    bool once;                     /* rgm_sampler_set_once()                                 */
    bool resample;                 /* other neighbours each step of training; else of seed   */
    uint64_t seed;
} rgm_link_sampling;
/**
 * From now on providers of the split draw mini-batches: the subgraph around both ends of
 * options.batch_size links and their negatives, by rgm_sampler_pairs(), instead of the whole graph.
 * Only edges that are messages are sampled: of training links, in the test part those of validation
 * with valid_messages, and of sets that no link is of. Training leaves out all edges of link sets
 * and their reverses that join the two ends of a pair of the step, whatever relation and direction
 * they have. Before the first provider.
 *
 * Errors: RGM_ERR_CONFIG (links between two kinds of nodes, no batch_size, eval_negatives 0, a spec
 * that begins elsewhere), RGM_ERR_UNSUPPORTED (times of seeds), those of rgm_sampler_create().
 */
rgm_status rgm_link_split_sample(rgm_link_split *split, const rgm_link_sampling *options);
/**
 * Graphs that are asked about pairs, for rgm_link_prediction: the pairs of "_readout" are each link
 * (label 1) with its negatives (label 0) behind it, "_readout/positive" says which, and with
 * relations feature "relation" has them.
 *
 * Training steps: targets are drawn, and they, their reverses and all of validation and test are
 * not among the edges. Their negatives are no training links, which is all that training knows.
 * Validation: the edges are those of training links; test: those, and of validation links with
 * valid_messages. Their negatives are links of no part, so ranks are filtered ones; each link has
 * a stream of options.seed, so they are the same in batches of any size and in the whole graph.
 * Edges of sets that no link is of are always there.
 *
 * NULL with RGM_ERR_NOT_FOUND: the part has no links; RGM_ERR_DATA: a link of validation or test
 * has no negative.
 */
rgm_provider *rgm_link_provider(rgm_link_split *split, rgm_mode part);

/**
 * A random mix of providers, each element from provider i with weight weights[i]. An epoch of
 * training ends with provider 0; the others begin again as often as they end. What is looked at or
 * evaluated has each element of all of them once.
 */
rgm_provider *rgm_mix_provider(rgm_provider *const *providers, const double *weights,
                               int64_t count);

/* ---- between data and model ----------------------------------------------------------------- */

/**
 * A map from graphs to graphs between data and model: one that an experiment file can name in
 * `data.processors`, or a program's own. It may change the schema, by what its options say alone: a
 * graph of no components is asked too, for the schema.
 */
typedef struct rgm_graph_processor_type {
    rgm_section_type section; /* its name and keys; of a program's own the name alone will do */
    /** It draws, anew for each batch and epoch; what is judged or predicted passes it by. */
    bool training_only;
    /**
     * *out is a new graph, or `graph` retained. `rng`: of one that is training_only, the stream of
     * this batch in this epoch, the same in a run that goes on; else NULL. Asked from several
     * threads at once.
     */
    rgm_status (*process)(rgm_graph **out, rgm_graph *graph, const void *options,
                          const rgm_rng *rng);
} rgm_graph_processor_type;
typedef struct rgm_graph_processor {
    const rgm_graph_processor_type *type;
    const void *options; /* of the type, or a program's payload; outlives who uses it */
} rgm_graph_processor;
/** Those that an experiment file can name, each the beginning of its type; ended by NULL. */
extern const rgm_section_type *const rgm_graph_processors[];
/**
 * `processors` [count] in their order. Errors: those of the processors, with the name of the one
 * before them; RGM_ERR_NOMEM.
 */
rgm_status rgm_graph_process(rgm_graph **out, rgm_graph *graph,
                             const rgm_graph_processor *processors, int64_t count,
                             const rgm_rng *rng);

/** Padding of batches to fixed sizes; none is dropped. */
typedef enum rgm_padding_kind {
    RGM_PADDING_NONE,
    RGM_PADDING_TIGHT, /* the largest example times the batch size                             */
    RGM_PADDING_FIT    /* sizes that fit success_ratio of random batches; others stay as they are */
} rgm_padding_kind;
typedef struct rgm_padding {
    rgm_padding_kind kind;
    int64_t min_nodes_per_component; /* default 1 */
    int64_t sample_size;             /* fit: examples looked at, default 10000 */
    double success_ratio;            /* fit: default 0.99                      */
    /** Items that each batch has of a set, by its name, and "components", in the place of what kind
     * finds; read while a run is opened. With some, batches that do not fit stay as they are. */
    rgm_numbers totals;
} rgm_padding;
#define RGM_PADDING_INIT                                                                           \
    {                                                                                              \
        .min_nodes_per_component = 1, .sample_size = 10000, .success_ratio = 0.99                  \
    }

/** More data to validate or to test on, by name. */
typedef struct rgm_graph_eval_set {
    const char *name;   /* "news" of RGM_VALID is told as valid_news                      */
    rgm_mode mode;      /* RGM_VALID or RGM_TEST: evaluated behind that mode's own data   */
    rgm_provider *data; /* required; retained                                             */
} rgm_graph_eval_set;

#ifdef __cplusplus
}
#endif
#endif

/*
 * graph_sampling: draws mini-batches from one graph: trees of neighbours by a spec (which can be
 * saved to files too), random walks, clusters, GraphSAINT and shaDow, each a row of one table. All
 * are functions of (seed, epoch, units); threads and the order of calls do not change the result.
 * Rows that walk do so over all node sets together, along the edges of all edge sets, in both
 * directions.
 */
#ifndef REGIMEN_GRAPH_SAMPLING_H
#define REGIMEN_GRAPH_SAMPLING_H

#include <regimen/graph.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- trees of neighbours -------------------------------------------------------------------- */

typedef enum rgm_sample_strategy {
    RGM_SAMPLE_TOP_K = 0,    /* highest weight first, ties to the lower edge number */
    RGM_SAMPLE_UNIFORM = 1,  /* without replacement */
    RGM_SAMPLE_WEIGHTED = 2, /* without replacement, by the weight feature */
    RGM_SAMPLE_LATEST_K = 3  /* latest time first, ties to the higher edge number */
} rgm_sample_strategy;

/** One hop of a sampling spec: from the union of its inputs' frontiers along an edge set. */
typedef struct rgm_sample_op {
    char *name;
    char **inputs; /* names of earlier ops or of the seed op */
    int64_t input_count;
    char *edge_set;
    rgm_tag from; /* the end the frontier stands on: RGM_SOURCE, or RGM_TARGET for "<edge_set" */
    int64_t sample_size;
    rgm_sample_strategy strategy;
    char *weight; /* scalar edge feature of TOP_K and WEIGHTED; NULL: "weight" */
    char *time;   /* scalar edge feature of LATEST_K (NULL: "time"), and what is held against the
                     seed's time (NULL: these edges were always there) */
} rgm_sample_op;

typedef struct rgm_sampling_spec {
    char *seed_op, *seed_node_set;
    char *seed_time; /* scalar feature of the seed's node set; NULL: no op looks at times */
    bool up_to_seed; /* edges at exactly the seed's time are taken too, not only earlier ones */
    rgm_sample_op *ops;
    int64_t op_count;
} rgm_sampling_spec;
/**
 * TF-GNN's SamplingSpec in proto text: seed_op {op_name node_set_name}, sampling_ops {op_name
 * input_op_names edge_set_name sample_size strategy}. Here too: weight_feature_name,
 * time_feature_name (of ops and of the seed_op, which may say up_to_seed: true), and an
 * edge_set_name "<cites" is followed from target to source. An op is named once, before its use.
 * RGM_ERR_FORMAT "name:line:column: ...".
 */
rgm_status rgm_sampling_spec_parse(rgm_sampling_spec **out, const char *text, int64_t size,
                                   const char *name, const rgm_schema *schema);
rgm_status rgm_sampling_spec_load(rgm_sampling_spec **out, const char *path,
                                  const rgm_schema *schema);
/**
 * Hop i follows edge_sets[i] ("<cites": from target to source) from all nodes that hop i - 1
 * reached, with sizes[i] edges for each node. Ops are named "<edge_set>-<i>". RGM_ERR_CONFIG if a
 * hop does not start where the one before ends.
 */
rgm_status rgm_sampling_spec_create(rgm_sampling_spec **out, const rgm_schema *schema,
                                    const char *seed_node_set, const char *const *edge_sets,
                                    const int64_t *sizes, int64_t hops,
                                    rgm_sample_strategy strategy);
/** Set the edge feature that every op of the spec uses as weight; copied. Errors: RGM_ERR_NOMEM. */
rgm_status rgm_sampling_spec_set_weight(rgm_sampling_spec *spec, const char *feature);
/**
 * Set times; the names are copied. `feature` is the time of every op's edges, except those of the
 * edge sets in always_there [always_count]. With seed_feature, a time of each seed node, only edges
 * earlier than the seed are taken, in every hop (`up_to_seed`: edges not later than it). Each seed
 * of rgm_sampler_batch() then has its own component, so that no seed sees another's past. Integers
 * are compared as integers; otherwise both sides are compared as doubles. Features of nodes are not
 * filtered by time.
 *
 * @param feature       [in] NULL: each op keeps its own; "time" where it has none
 * @param seed_feature  [in] NULL: the seeds keep theirs and up_to_seed. Where they have none, only
 *                           LATEST_K uses times, to rank edges
 *
 * Errors: RGM_ERR_CONFIG (an edge set of always_there that no op follows), RGM_ERR_NOMEM.
 */
rgm_status rgm_sampling_spec_set_time(rgm_sampling_spec *spec, const char *feature,
                                      const char *seed_feature, bool up_to_seed,
                                      const char *const *always_there, int64_t always_count);
/**
 * Every edge set that starts at a reached node set, for `hops` rounds (make_sampling_spec_tree).
 * Errors: RGM_ERR_CONFIG, RGM_ERR_NOT_FOUND, RGM_ERR_NOMEM.
 */
rgm_status rgm_sampling_spec_tree(rgm_sampling_spec **out, const rgm_schema *schema,
                                  const char *seed_node_set, int64_t hops, const int64_t *sizes,
                                  rgm_sample_strategy strategy);
/** As proto text that parses to the same spec. Errors: RGM_ERR_NOMEM. */
rgm_status rgm_sampling_spec_print(rgm_text *out, const rgm_sampling_spec *spec);
void rgm_sampling_spec_release(rgm_sampling_spec *spec);

/**
 * A whole graph of one component prepared for sampling. Sampling does not change it: any number of
 * threads may sample from one sampler at once. Retains the graph.
 *
 * Errors: RGM_ERR_NOT_FOUND (set, weight or time feature), RGM_ERR_DATA (a weight that is negative
 * or not a number, a time that is none: set, row, value; more than one component), RGM_ERR_NOMEM.
 */
typedef struct rgm_sampler rgm_sampler;
rgm_status rgm_sampler_create(rgm_sampler **out, rgm_graph *graph, const rgm_sampling_spec *spec,
                              uint64_t seed);
void rgm_sampler_release(rgm_sampler *sampler);
/**
 * Schema of the sampled graphs: the sets that the spec reaches with their features, and "#id" of
 * each node set, whose metadata.cardinality is the whole graph's number of nodes. Borrowed.
 */
rgm_schema *rgm_sampler_schema(const rgm_sampler *sampler);
/** Threads that one rgm_sampler_batch() may use; 1 unless set. Changes no result. */
void rgm_sampler_set_threads(rgm_sampler *sampler, int threads);
/**
 * Whether a node's edges of an edge set are drawn only once, by the first op that follows the set
 * from it, as in PyG's NeighborLoader. By default, as in TF-GNN, every op that reaches the node
 * draws again. Drawing once gives a node no more edges than one op's size, and if a model has as
 * many rounds as there are hops, its rounds shrink towards the seeds. To be set before sampling.
 */
void rgm_sampler_set_once(rgm_sampler *sampler, bool once);
/**
 * The rooted subgraph of seed node `node`. The seed is node 0 of its set; then come nodes in the
 * order of the ops that reach them, by number within one op. It has the edges traversed, each once,
 * and no others, by op and frontier node. Features are copied, and feature "#id" has the original
 * numbers. Uniform and weighted draws take min(size, degree) edges without replacement (weighted:
 * never an edge of weight 0), independently for each op and frontier node. The result depends only
 * on (sampler seed, epoch, node), not on threads or order.
 * Errors: RGM_ERR_ARG, RGM_ERR_DATA, RGM_ERR_NOMEM.
 */
rgm_status rgm_sampler_sample(rgm_graph **out, const rgm_sampler *sampler, int64_t node,
                              uint64_t epoch);
/**
 * One graph of one component for a whole mini-batch, nodes shared between seeds appearing once:
 * seeds first (without repeats), then as above with all seeds as the first frontier (of a spec with
 * times of seeds: one component for each, as rgm_sampler_sample() gives it); readout set
 * "_readout" with one item for each of nodes [count], read through "_readout/seed". The feature
 * `label` (NULL: none) of the seed's node set moves there, so that it cannot leak. A function of
 * (sampler seed, epoch, nodes).
 * Errors: RGM_ERR_ARG, RGM_ERR_DATA, RGM_ERR_NOT_FOUND, RGM_ERR_NOMEM.
 */
rgm_status rgm_sampler_batch(rgm_graph **out, const rgm_sampler *sampler, const int64_t *nodes,
                             int64_t count, uint64_t epoch, const char *label);

typedef struct rgm_sampler_run_options {
    uint64_t epoch;
    int threads;  /* 0: as many as the machine has                                             */
    bool encode;  /* also serialize each subgraph, in the threads                              */
    bool readout; /* add "_readout" through "_readout/seed" and move feature `label`, if given,
                     there */
    const char *label;
} rgm_sampler_run_options;
#define RGM_SAMPLER_RUN_OPTIONS_INIT                                                               \
    {                                                                                              \
        .epoch = 0, .threads = 0, .readout = true                                                  \
    }
/** Takes subgraph i; both borrowed. example is NULL unless encode was asked for. */
typedef rgm_status rgm_sample_sink(void *payload, int64_t i, rgm_graph *graph,
                                   const rgm_text *example);
/**
 * rgm_sampler_sample() of each of nodes [count], in parallel; the sink is called in the caller's
 * thread, in the order of nodes. It stops at the first error of a node or of the sink.
 * Errors: RGM_ERR_ARG, RGM_ERR_DATA, RGM_ERR_UNSUPPORTED, RGM_ERR_NOT_FOUND, RGM_ERR_IO,
 * RGM_ERR_NOMEM.
 */
rgm_status rgm_sampler_run(const rgm_sampler *sampler, const int64_t *nodes, int64_t count,
                           const rgm_sampler_run_options *options, rgm_sample_sink *sink,
                           void *payload);

/**
 * One graph of one component around both ends of pairs of nodes [count] of the spec's seed node
 * set, for tasks on links. It is drawn as rgm_sampler_batch() would around all ends, but without
 * the edges of sets `without` [without_count] that join the two nodes of a pair in either
 * direction, so that no message reveals the answer. "_readout" has one item for each pair, read
 * through "_readout/source" and "_readout/target". A function of (sampler seed, epoch, pairs).
 *
 * Errors: RGM_ERR_DATA (an end that is no node), RGM_ERR_NOT_FOUND (an edge set of `without` that
 * no op follows), RGM_ERR_UNSUPPORTED (a spec with times of seeds), RGM_ERR_NOMEM.
 */
rgm_status rgm_sampler_pairs(rgm_graph **out, const rgm_sampler *sampler, const int64_t *sources,
                             const int64_t *targets, int64_t count, uint64_t epoch,
                             const char *const *without, int64_t without_count);

/** Seeds whose subgraphs go to files of one name. */
typedef struct rgm_sample_part {
    const char *name;  /* "train" */
    rgm_tensor *nodes; /* i64     */
} rgm_sample_part;
typedef struct rgm_sampler_save_options {
    rgm_sampler_run_options run; /* its encode is always taken as true                        */
    int64_t shards;              /* files of each part; killing the process loses at most one   */
    bool gzip;
    int64_t share, shares; /* write only those files of which the number mod `shares` is `share` */
} rgm_sampler_save_options;
#define RGM_SAMPLER_SAVE_OPTIONS_INIT                                                              \
    {                                                                                              \
        .run = RGM_SAMPLER_RUN_OPTIONS_INIT, .shards = 1, .shares = 1                              \
    }
/**
 * Sample the seeds of each part in parallel into a new folder: schema.pbtxt, sampling.txt (what was
 * asked for, and a hash of some subgraphs) and, for each part, <name>-?????-of-?????.tfrecord with
 * one subgraph a record. The bytes are the same for any number of threads, processes (with shares)
 * and interruptions.
 *
 * Files are written below FOLDER.sampling, each complete or not at all, and the folder gets its
 * name when all are there. A call that finds some of them writes the others. Several processes with
 * different shares may work at once, and the last one finishes the folder. If the folder exists
 * already with the same sampling.txt, nothing is done.
 *
 * Errors: RGM_ERR_BUSY (the folder, finished or in progress, is for another request), RGM_ERR_ARG,
 * RGM_ERR_IO, those of rgm_sampler_run(). Complete files stay for the next call.
 */
rgm_status rgm_sampler_save(const rgm_sampler *sampler, const rgm_sample_part *parts, int64_t count,
                            const char *folder, const rgm_sampler_save_options *options);
/**
 * Whether a finished folder is what rgm_sampler_save() would write now, by its sampling.txt: false
 * where it is of another request, of other data or of a version that kept no hash, or is not there.
 * Errors: RGM_ERR_IO, those of rgm_sampler_run().
 */
rgm_status rgm_sampler_saved(bool *same, const rgm_sampler *sampler, const rgm_sample_part *parts,
                             int64_t count, const char *folder,
                             const rgm_sampler_save_options *options);

/**
 * Whether the sampling.txt of a folder, finished or not, is of a version that kept no hash, so that
 * nobody can tell of which data it is; false: there is none.
 * Errors: RGM_ERR_IO, RGM_ERR_NOMEM.
 */
rgm_status rgm_samples_of_before(bool *of_before, const char *folder);

/* ---- subgraphs ------------------------------------------------------------------------------ */

/** What a sampler draws from. */
typedef struct rgm_subgraph_source {
    rgm_graph *graph;     /* of one component; retained                                    */
    const char *node_set; /* of the seeds; copied                                          */
    rgm_tensor *seeds;    /* [n] i64, at least one; retained                               */
    const char *label;    /* their feature that moves to "_readout"; NULL: none; copied    */
    uint64_t seed;        /* of all draws                                                  */
} rgm_subgraph_source;

/** One sampling method: a row of the table. */
typedef struct rgm_subgraph_sampler_type {
    const char *name; /* "shadow" */
    size_t state_size;
    /** Prepare; `state` is zeroed. After an error close() releases what was made. */
    rgm_status (*open)(void *state, const rgm_subgraph_source *from, const void *options);
    /** What an epoch goes over, if not over the seeds: [n] i64, released by the caller. */
    rgm_status (*units)(rgm_tensor **out, const void *state);
    /** The mini-batch of units [count], with "_readout" items for the seeds in it. */
    rgm_status (*draw)(rgm_graph **out, const void *state, const int64_t *units, int64_t count,
                       uint64_t epoch);
    /** Validation uses the whole graph, not draws. */
    bool judges_whole;
    /**
     * Add to the whole graph, with a readout of some nodes, the features that draws have; NULL:
     * none.
     */
    rgm_status (*dress)(rgm_graph **graph, const void *state);
    void (*close)(void *state);
} rgm_subgraph_sampler_type;

/** A sampling method opened on one graph; counted; any number of threads may draw at once. */
typedef struct rgm_subgraph_sampler rgm_subgraph_sampler;
/**
 * @param options  [in] the row's own; read during the call only
 *
 * Errors: RGM_ERR_ARG (options, seeds), RGM_ERR_DATA (a seed that is no node; several components),
 * RGM_ERR_NOT_FOUND, RGM_ERR_UNSUPPORTED, RGM_ERR_NOMEM; *out is then NULL.
 */
rgm_status rgm_subgraph_sampler_create(rgm_subgraph_sampler **out,
                                       const rgm_subgraph_sampler_type *type,
                                       const rgm_subgraph_source *from, const void *options);
rgm_subgraph_sampler *rgm_subgraph_sampler_retain(rgm_subgraph_sampler *sampler);
void rgm_subgraph_sampler_release(rgm_subgraph_sampler *sampler);
/**
 * [n] i64, the units that an epoch iterates over in its own order: seeds, clusters, draws.
 * Borrowed.
 */
rgm_tensor *rgm_subgraph_sampler_units(const rgm_subgraph_sampler *sampler);
/**
 * The mini-batch of units [count]: a graph with "#id" of each node set and readout set "_readout",
 * read through "_readout/seed", with the label of the seeds in it. Each epoch draws differently.
 * Errors: RGM_ERR_DATA, RGM_ERR_NOT_FOUND, RGM_ERR_NOMEM.
 */
rgm_status rgm_subgraph_sampler_draw(rgm_graph **out, const rgm_subgraph_sampler *sampler,
                                     const int64_t *units, int64_t count, uint64_t epoch);
/** Whether validation is on the whole graph (rgm_subgraph_sampler_whole()), not on draws. */
bool rgm_subgraph_sampler_judges_whole(const rgm_subgraph_sampler *sampler);
/**
 * The whole graph with a readout of nodes [n] i64 of the seeds' set (NULL: the seeds), with their
 * label moved there and with the features that draws have.
 * Errors: RGM_ERR_DATA, RGM_ERR_NOT_FOUND, RGM_ERR_NOMEM.
 */
rgm_status rgm_subgraph_sampler_whole(rgm_graph **out, const rgm_subgraph_sampler *sampler,
                                      rgm_tensor *nodes);

/** Options of rgm_tree_sampler: neighbours by a spec, seeds together (rgm_sampler_batch()). */
typedef struct rgm_tree_sampler_options {
    const rgm_sampling_spec *spec;
    bool once; /* rgm_sampler_set_once() */
} rgm_tree_sampler_options;
extern const rgm_subgraph_sampler_type rgm_tree_sampler;

/**
 * Options of rgm_random_walk_sampler: PinSAGE's neighbourhoods (Ying et al. 2018). From a node of
 * the seeds' set, `walks` walks of `length` steps that start over with probability `restart`; of
 * the nodes of that set that they visit, the sizes[hop] most often visited become its neighbours
 * (of equals the lower number). The batch has the seeds' node set and edge set "walk" from each
 * node to its neighbours, or from these to it where `receiver` is RGM_TARGET, with "weight" f32,
 * the share of visits among those kept.
 */
typedef struct rgm_random_walk_options {
    rgm_ints sizes;   /* neighbours kept at each hop, at least one hop; default [10] */
    int64_t walks;    /* default 50                                                  */
    int64_t length;   /* steps of each, default 4                                    */
    double restart;   /* default 0.3                                                 */
    rgm_tag receiver; /* the end at which a node hears them, default RGM_SOURCE      */
} rgm_random_walk_options;
#define RGM_RANDOM_WALK_OPTIONS_INIT                                                               \
    {                                                                                              \
        .walks = 50, .length = 4, .restart = 0.3, .receiver = RGM_SOURCE                           \
    }
extern const rgm_subgraph_sampler_type rgm_random_walk_sampler;

/**
 * Options of rgm_cluster_sampler: Cluster-GCN (Chiang et al. 2019). The nodes of all sets are cut
 * once into `parts` by rgm_graph_partition(); a batch is the clusters of its units with all edges
 * among their nodes. An epoch goes over the clusters that have a seed.
 */
typedef struct rgm_cluster_options {
    int64_t parts;  /* default 50   */
    double balance; /* default 1.05 */
} rgm_cluster_options;
#define RGM_CLUSTER_OPTIONS_INIT                                                                   \
    {                                                                                              \
        .parts = 50, .balance = 1.05                                                               \
    }
extern const rgm_subgraph_sampler_type rgm_cluster_sampler;

/** How GraphSAINT draws the nodes of a subgraph. */
typedef enum rgm_saint_draw {
    RGM_SAINT_NODE, /* `budget` nodes with replacement, by degree                               */
    RGM_SAINT_EDGE, /* `budget` pairs of neighbours, by 1/degree + 1/degree; their ends         */
    RGM_SAINT_WALK  /* `budget` roots, and walks of `length` steps from them                    */
} rgm_saint_draw;
/**
 * Options of rgm_saint_sampler: GraphSAINT (Zeng et al. 2020). A unit is one draw, which has all
 * edges among its nodes. What is over-represented weighs less: readout items have "sampling_weight"
 * f32, 1 / (p_v seeds), by which losses are weighed, so that their sum estimates the mean over all
 * seeds; edges have "sampling_weight" f32, p_v / p_uv over v's degree, which makes the weighted sum
 * over v's neighbours, given that v is there, an estimate of their mean. p_v and p_uv, that a node
 * and both ends of an edge are drawn, are exact for nodes and edges and counted in `walks` single
 * walks for RGM_SAINT_WALK. Validation is on the whole graph, with weights 1 and 1 over degree.
 */
typedef struct rgm_saint_options {
    rgm_saint_draw draw;
    int64_t budget;   /* default 1000                                                           */
    int64_t length;   /* of walks, default 2                                                    */
    int64_t steps;    /* draws of an epoch; 0: as many as have about as many nodes as the graph */
    int64_t walks;    /* counted from each node, default 200                                    */
    rgm_tag receiver; /* the end whose degree counts, default RGM_TARGET                        */
} rgm_saint_options;
#define RGM_SAINT_OPTIONS_INIT                                                                     \
    {                                                                                              \
        .draw = RGM_SAINT_WALK, .budget = 1000, .length = 2, .walks = 200, .receiver = RGM_TARGET  \
    }
#define RGM_SAMPLING_WEIGHT "sampling_weight"
extern const rgm_subgraph_sampler_type rgm_saint_sampler;

/** How shaDow finds the nodes around a seed. */
typedef enum rgm_shadow_draw {
    RGM_SHADOW_HOPS, /* `hops` hops of at most `neighbors` neighbours each, drawn uniformly      */
    RGM_SHADOW_PPR   /* the `budget` nodes of the highest personalised PageRank, approximated by
                        pushes (Andersen, Chung and Lang 2006): no draw                          */
} rgm_shadow_draw;
/**
 * Options of rgm_shadow_sampler: shaDow (Zeng et al. 2021). Each seed has a component of its own:
 * the nodes around it, itself first, and all edges among them, for a model as deep as one likes.
 */
typedef struct rgm_shadow_options {
    rgm_shadow_draw draw;
    int64_t hops, neighbors; /* defaults 2, 10                                                   */
    int64_t budget;          /* default 50                                                       */
    double teleport;         /* of the PageRank, default 0.15                                    */
    double epsilon; /* pushed until no node's residual is above epsilon times its degree, 1e-4 */
} rgm_shadow_options;
#define RGM_SHADOW_OPTIONS_INIT                                                                    \
    {                                                                                              \
        .draw = RGM_SHADOW_HOPS, .hops = 2, .neighbors = 10, .budget = 50, .teleport = 0.15,       \
        .epsilon = 1e-4                                                                            \
    }
extern const rgm_subgraph_sampler_type rgm_shadow_sampler;

/** A cut of a graph's nodes. */
typedef struct rgm_partition {
    int64_t parts;
    rgm_tensor *part; /* [nodes of all node sets, in the schema's order] i64, 0 .. parts - 1 */
    int64_t largest;  /* nodes of the largest part                                           */
    double cut;       /* share of neighbouring pairs of nodes that are in two parts          */
} rgm_partition;
/**
 * Cut the nodes of all sets into `parts` of at most balance * nodes / parts each (but never less
 * than an even share, rounded up), with few edges between them: matched along heavy edges until the
 * graph is small, grown into parts there, and bettered by moving single nodes on the way back
 * (multilevel, as Karypis and Kumar 1998 have it). A function of (graph, parts, balance, seed).
 * Errors: RGM_ERR_ARG (parts below 1 or above the nodes, balance below 1), RGM_ERR_NOMEM; *out is
 * then zeros.   Cost: O(nodes + edges) a level.
 */
rgm_status rgm_graph_partition(rgm_partition *out, const rgm_graph *graph, int64_t parts,
                               double balance, uint64_t seed);
/** Who cuts. */
typedef enum rgm_partition_method {
    RGM_PARTITION_METIS,      /* METIS (Karypis and Kumar), which is loaded when asked for  */
    RGM_PARTITION_MULTILEVEL, /* rgm_graph_partition()                                      */
    RGM_PARTITION_RANDOM      /* each node by chance, the parts of even size                */
} rgm_partition_method;
extern const char *const rgm_partition_method_names[]; /* "metis", "multilevel", "random", NULL */
/**
 * The same by a method of your choice. Errors: those of rgm_graph_partition(); RGM_ERR_UNSUPPORTED
 * (this build has no METIS, or it is not installed; it leaves a part without a node; more than 2^31
 * neighbours).
 */
rgm_status rgm_graph_partition_by(rgm_partition *out, const rgm_graph *graph, int64_t parts,
                                  double balance, uint64_t seed, rgm_partition_method method);
void rgm_partition_clear(rgm_partition *partition);

#ifdef __cplusplus
}
#endif
#endif

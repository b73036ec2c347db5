/*
 * graph: how mini-batches are cut out of one graph, besides trees of neighbours (rgm_sampler in
 * graph.h): random walks, clusters, GraphSAINT, shaDow. Each is a row of one table. All are
 * functions of (seed, epoch, units): neither threads nor the order of calls play a part. Where they
 * walk, they do so over all node sets together, along the edges of all edge sets, either way.
 */
#ifndef REGIMEN_GRAPH_SAMPLING_H
#define REGIMEN_GRAPH_SAMPLING_H

#include <regimen/graph.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * One graph of one component around both ends of pairs of nodes [count] of the spec's seed node
 * set, for tasks on links: as rgm_sampler_batch() draws it around all ends, but without the edges
 * of sets `without` [without_count] that join the two of a pair, in either direction, so that no
 * message tells what is asked. "_readout" has one item for each pair, read through
 * "_readout/source" and "_readout/target". A function of (sampler seed, epoch, pairs).
 *
 * Errors: RGM_ERR_DATA (an end that is no node), RGM_ERR_NOT_FOUND (an edge set of `without` that
 * no op follows), RGM_ERR_UNSUPPORTED (a spec with times of seeds), RGM_ERR_NOMEM.
 */
rgm_status rgm_sampler_pairs(rgm_graph **out, const rgm_sampler *sampler, const int64_t *sources,
                             const int64_t *targets, int64_t count, uint64_t epoch,
                             const char *const *without, int64_t without_count);

/** What a sampler draws from. */
typedef struct rgm_subgraph_source {
    rgm_graph *graph;     /* of one component; retained                                    */
    const char *node_set; /* of the seeds; copied                                          */
    rgm_tensor *seeds;    /* [n] i64, at least one; retained                               */
    const char *label;    /* their feature that moves to "_readout"; NULL: none; copied    */
    uint64_t seed;        /* of all draws                                                  */
} rgm_subgraph_source;

/** One way to cut: a row. */
typedef struct rgm_subgraph_sampler_type {
    const char *name; /* "shadow" */
    size_t state_size;
    /** Prepare; `state` is zeros. What was made before an error is released by close(). */
    rgm_status (*open)(void *state, const rgm_subgraph_source *from, const void *options);
    /** What an epoch goes over, if not over the seeds: [n] i64, released by the caller. */
    rgm_status (*units)(rgm_tensor **out, const void *state);
    /** The mini-batch of units [count], with "_readout" items for the seeds in it. */
    rgm_status (*draw)(rgm_graph **out, const void *state, const int64_t *units, int64_t count,
                       uint64_t epoch);
    /** What is trained on is judged on the whole graph, not on draws. */
    bool judges_whole;
    /** Give the whole graph, asked about some nodes, the features that draws have; NULL: none. */
    rgm_status (*dress)(rgm_graph **graph, const void *state);
    void (*close)(void *state);
} rgm_subgraph_sampler_type;

/** A row at work on one graph; counted; any number of threads may draw at once. */
typedef struct rgm_subgraph_sampler rgm_subgraph_sampler;
/**
 * @param options  [in] the row's own: read now, they need not stay
 *
 * Errors: RGM_ERR_ARG (options, seeds), RGM_ERR_DATA (a seed that is no node; several components),
 * RGM_ERR_NOT_FOUND, RGM_ERR_UNSUPPORTED, RGM_ERR_NOMEM; *out is then NULL.
 */
rgm_status rgm_subgraph_sampler_create(rgm_subgraph_sampler **out,
                                       const rgm_subgraph_sampler_type *type,
                                       const rgm_subgraph_source *from, const void *options);
rgm_subgraph_sampler *rgm_subgraph_sampler_retain(rgm_subgraph_sampler *sampler);
void rgm_subgraph_sampler_release(rgm_subgraph_sampler *sampler);
/** [n] i64, what an epoch goes over in an order of its own: seeds, clusters, draws. Borrowed. */
rgm_tensor *rgm_subgraph_sampler_units(const rgm_subgraph_sampler *sampler);
/**
 * The mini-batch of units [count]: a graph with "#id" of each node set and readout set "_readout",
 * read through "_readout/seed", with the label of the seeds in it. Another epoch, other draws.
 * Errors: RGM_ERR_DATA, RGM_ERR_NOT_FOUND, RGM_ERR_NOMEM.
 */
rgm_status rgm_subgraph_sampler_draw(rgm_graph **out, const rgm_subgraph_sampler *sampler,
                                     const int64_t *units, int64_t count, uint64_t epoch);
/** Whether validation is on the whole graph (rgm_subgraph_sampler_whole()), not on draws. */
bool rgm_subgraph_sampler_judges_whole(const rgm_subgraph_sampler *sampler);
/**
 * The whole graph asked about nodes [n] i64 of the seeds' set (NULL: the seeds), their label moved,
 * with the features that draws have.
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
 * node to its neighbours, with "weight" f32, the share of visits among those kept: what a model
 * receives at RGM_SOURCE.
 */
typedef struct rgm_random_walk_options {
    rgm_ints sizes; /* neighbours kept at each hop, at least one hop; default [10] */
    int64_t walks;  /* default 50                                                  */
    int64_t length; /* steps of each, default 4                                    */
    double restart; /* default 0.3                                                 */
} rgm_random_walk_options;
#define RGM_RANDOM_WALK_OPTIONS_INIT                                                               \
    {                                                                                              \
        .walks = 50, .length = 4, .restart = 0.3                                                   \
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
void rgm_partition_clear(rgm_partition *partition);

#ifdef __cplusplus
}
#endif
#endif

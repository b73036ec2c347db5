/*
 * What the files of the sampler share. A call of the sampler goes through three stages: expand
 * walks the ops and leaves, for each op, its frontier and the edges taken (sampler_expand.c, with
 * sampler_pick.c choosing among one node's edges); assemble makes a graph of that
 * (sampler_graph.c); and a workspace, lent by the sampler, holds what a call needs so that nothing
 * is made twice.
 */
#ifndef RGM_GRAPH_SAMPLING_SAMPLER_INTERNAL_H
#define RGM_GRAPH_SAMPLING_SAMPLER_INTERNAL_H

#include <regimen/graph_sampling_parts.h>
#include <regimen/graph_parts.h>

#include <pthread.h>
#include <stdatomic.h>

/* ---- spec ---- */

/** Node set where an op's frontier stands, and where its edges lead; NULL without the edge set. */
const char *rgmi_sample_op_start(const rgm_sample_op *op, const rgm_schema *schema);
const char *rgmi_sample_op_end(const rgm_sample_op *op, const rgm_schema *schema);
/** Sets exist, names are unique, every op starts where its inputs end. */
rgm_status rgmi_sampling_spec_check(const rgm_sampling_spec *spec, const rgm_schema *schema);

/* ---- threads ---- */

/** Items begin .. end-1; `thread` is from 0 and below the number of threads asked for. */
typedef void rgmi_sampler_range(void *payload, int64_t begin, int64_t end, int thread);
/** All items, `chunk` at a time, by up to `threads` threads. */
void rgmi_sampler_for(int threads, int64_t items, int64_t chunk, rgmi_sampler_range *work,
                      void *payload);

/* ---- pick: which edges of one node ---- */

/** One direction of one edge set as an op draws from it. */
typedef struct rgmi_draw {
    const rgm_csr *csr;
    bool doubted; /* csr is a file's: what is read of it is checked */
    rgm_sample_strategy strategy;
    int64_t sample_size; /* at most the largest degree */
    int64_t max_degree;
    const float *weight; /* [count] in the order of csr's entries, for WEIGHTED */
    const int32_t
        *rank; /* [count] entries of each row, highest first, relative to the row: TOP_K */
    /* Times: LATEST_K, and every strategy where seeds have times. */
    const int64_t *when;  /* [count] in the order of csr's entries                      */
    const int32_t *order; /* [count] entries of each row, earliest first; NULL: as they */
    bool real;            /* `when` is of doubles                                       */
    bool limited;         /* only what was before the seed is drawn from                */
} rgmi_draw;

/** What edges must be earlier than, as integers and as doubles: see sampler_time.c. */
typedef struct rgmi_moment {
    int64_t before[2];
} rgmi_moment;

/** How many of the node's edges were before the moment: the first so many by time. */
int64_t rgmi_past(const rgmi_draw *draw, const rgmi_moment *moment, int64_t first, int64_t degree);

/** Memory of one thread: what one pick needs. */
typedef struct rgmi_picker {
    int32_t *positions; /* [sample_size]       */
    uint32_t *words;    /* random words        */
    float *keys;        /* [sample_size]       */
    uint64_t *bits;     /* one for each edge   */
    int64_t position_room, word_room, key_room, bit_room;
} rgmi_picker;

rgm_status rgmi_picker_reserve(rgmi_picker *picker, const rgmi_draw *draw);
void rgmi_picker_clear(rgmi_picker *picker);
/**
 * Choose edges of `node`, whose row begins at `first` and has `degree` edges, among the first
 * `past` by time (its degree where no time counts): positions in its row, ascending, into
 * picker->positions; returns how many. Only called when not all of the row is taken or the strategy
 * is weighted.
 */
int64_t rgmi_pick(rgmi_picker *picker, const rgmi_draw *draw, const rgm_rng *rng, int64_t node,
                  int64_t first, int64_t degree, int64_t past);
/** Blocks first .. first + count - 1 of the stream, as rgm_rng_block() gives them. */
void rgmi_random_words(uint32_t *words, const rgm_rng *rng, uint64_t first, int64_t count);

/* ---- sampler and workspace ---- */

/** A node set the spec reaches. */
typedef struct rgmi_sampled_nodes {
    int64_t total;                 /* in the whole graph      */
    int64_t set;                   /* place in out's schema   */
    rgm_feature_reader **features; /* [feature_count]; NULL: "#id", which comes last */
    int64_t feature_count;
} rgmi_sampled_nodes;

/** An edge set the spec follows. */
typedef struct rgmi_sampled_edges {
    int64_t set;
    int64_t ends[2]; /* sampled node sets, by tag */
    rgm_feature_reader **features;
    int64_t feature_count;
} rgmi_sampled_edges;

typedef struct rgmi_sampled_op {
    rgmi_draw draw;
    int64_t edges, start, end; /* sampled sets           */
    rgm_tag from;
    int64_t *inputs; /* ops; -1 is the seed op */
    int64_t input_count;
    int64_t *earlier; /* ops before it on the same edge set */
    int64_t earlier_count;
    bool remembered; /* some later op asks what this one took */
    /* Numbers of csr's entries, where edges of this set are known by them; NULL: by their place in
     * csr, which is quicker but means nothing to an op from the other end. */
    const int32_t *entry;
    float *weight_memory;
    int32_t *rank_memory, *order_memory;
    int64_t *when_memory;
    rgm_csr ordered; /* of a part: own nodes' rows in the order of the whole graph */
    int64_t *start_memory;
    int32_t *column_memory, *entry_memory;
} rgmi_sampled_op;

/** What one op found: frontier, and for each frontier node the edges taken from it. */
typedef struct rgmi_hop {
    int32_t *frontier; /* [count] nodes, ascending (seeds: as given)                      */
    int64_t *offset;   /* [count + 1] where each one's edges start                        */
    int32_t *taken;    /* [count] how many there are, less than the room when some fell out */
    int32_t *edge;     /* [offset[count]] places in csr, or edge numbers (see op.entry),  */
                       /* ascending for each frontier node                                */
    int32_t *other;    /* [offset[count]] nodes at their far end                          */
    int32_t *reached;  /* [reached_count] distinct far ends, ascending                    */
    int64_t *start;    /* [count] where each one's edges go in the graph                  */
    int32_t *place;    /* by local number of the frontier's set: place in frontier or -1  */
    int64_t *first;    /* [count] where each one's row begins                             */
    int32_t *degree;   /* [count] and how long it is                                      */
    int32_t *past;     /* [count] edges before the seed's time, where that counts         */
    int64_t count, reached_count, place_count;
    int64_t frontier_room, offset_room, taken_room, edge_room, other_room, reached_room;
    int64_t start_room, place_room, past_room, first_room, degree_room;
} rgmi_hop;

/** Nodes of one set in the subgraph being made. */
typedef struct rgmi_local_nodes {
    uint8_t *state; /* [total]: bit 0 has a local number, bit 1 reached by the op at work */
    int32_t *local; /* [total]: its local number                                          */
    int32_t *nodes; /* [count] by local number                                            */
    int64_t count, node_room;
} rgmi_local_nodes;

typedef struct rgmi_workspace {
    struct rgmi_workspace *next;
    rgmi_local_nodes *known; /* by sampled node set */
    rgmi_hop *hops;          /* by op               */
    rgmi_picker *pickers;    /* by thread          */
    int64_t picker_count, picker_room;
    int64_t *blocks; /* counts of a parallel scan */
    int64_t block_room;
    int32_t *sort; /* second buffer of the radix sort */
    int64_t sort_room;
    int32_t *items; /* edge numbers of one set, for features */
    int64_t item_room;
} rgmi_workspace;

/** Idle workspaces. */
typedef struct rgmi_lender rgmi_lender;

struct rgm_sampler {
    rgm_graph *graph;
    const rgm_parted_graph *part; /* that the graph is; NULL: it is whole */
    rgm_schema *schema;           /* of what it makes */
    uint64_t seed;
    int threads;
    const rgm_tensor *seed_times; /* the graph's; NULL: seeds have none */
    bool up_to_seed;
    bool once; /* see rgm_sampler_set_once() */
    int64_t node_set_count, edge_set_count, op_count;
    rgmi_sampled_nodes *node_sets; /* the seed's first */
    rgmi_sampled_edges *edge_sets;
    rgmi_sampled_op *ops;
    rgmi_lender *lender; /* of workspaces */
    rgm_text spec;       /* as text; of rgm_sampler_create() alone */
    rgm_buffers *buffers;
};

rgm_status rgmi_sampler_borrow(rgmi_workspace **out, const rgm_sampler *sampler);
/** Give it back; `clean`: only nodes that have a local number have a state, as after expand. */
void rgmi_sampler_give_back(const rgm_sampler *sampler, rgmi_workspace *work, bool clean);
/** One op for each edge set, from its target: for graphs of chosen nodes, see whole_graph.h. */
rgm_status rgmi_sampler_of_all(rgm_sampler **out, rgm_graph *graph, const char *node_set,
                               uint64_t seed);
/** Of a part: rows are those of own nodes, in the order of the whole graph. */
rgm_status rgmi_sampler_of_part(rgm_sampler **out, const rgm_parted_graph *part,
                                const rgm_sampling_spec *spec, uint64_t seed);
/** op's rows as the whole graph has them. */
rgm_status rgmi_sampler_order_rows(rgmi_sampled_op *op, const rgm_sampler *sampler,
                                   const rgm_sample_op *spec);
/** The context's features, which do not change. */
rgm_status rgmi_sampler_context(rgm_graph *graph, const rgm_sampler *sampler);
/** What op `op` draws with in a batch: the stream is rgm_rng_stream(key, "sampler", 0). */
uint64_t rgmi_sampler_key(const rgm_sampler *sampler, const int64_t *seeds, int64_t count,
                          uint64_t epoch, int64_t op);
rgm_status rgmi_lender_create(rgmi_lender **out);
void rgmi_lender_release(rgmi_lender *lender, const rgm_sampler *sampler);

/** The spec's times of seeds, and one op's times of edges; the sampler's sets are made. */
rgm_status rgmi_sampler_seed_times(rgm_sampler *sampler, const rgm_sampling_spec *spec);
rgm_status rgmi_sampler_edge_times(rgmi_sampled_op *op, const rgm_sampler *sampler,
                                   const rgm_sample_op *spec);
/** What edges around a seed node must be earlier than. */
rgmi_moment rgmi_seed_moment(const rgm_sampler *sampler, int64_t node);

/** Walk the ops from the seeds. Seeds are in range; of those with times there is one. */
rgm_status rgmi_sampler_expand(rgmi_workspace *work, const rgm_sampler *sampler,
                               const int64_t *seeds, int64_t count, uint64_t epoch, int threads);
/** One seed's graph with its readout. */
typedef rgm_status rgmi_one_seed(rgm_graph **out, const void *payload, int64_t node);
/** The graphs of all seeds, each a component. */
rgm_status rgmi_sampler_apart(rgm_graph **out, rgmi_one_seed *one, const void *payload,
                              const int64_t *nodes, int64_t count);
/** Whether each is a node of the seeds' set; RGM_ERR_DATA. */
rgm_status rgmi_sampler_check_nodes(const rgm_sampler *sampler, const int64_t *nodes,
                                    int64_t count);
/** A graph of what expand found. */
rgm_status rgmi_sampler_graph(rgm_graph **out, rgmi_workspace *work, const rgm_sampler *sampler,
                              int threads);
/** The schema of graphs with a readout of this label (NULL: none), once one was made. */
typedef struct rgmi_label_schema {
    struct rgmi_label_schema *next;
    char *label;
    rgm_schema *schema;
} rgmi_label_schema;
/** Borrowed; NULL when there is none yet. */
rgm_schema *rgmi_sampler_asked(const rgm_sampler *sampler, const char *label);
rgm_status rgmi_sampler_remember(const rgm_sampler *sampler, const char *label, rgm_schema *schema);
/** The graph with "_readout" items that stand for its seed nodes `nodes` [n]. */
rgm_status rgmi_sampler_readout(rgm_graph **out, const rgm_sampler *sampler, const rgm_graph *graph,
                                rgm_tensor *nodes, const char *label);

#endif

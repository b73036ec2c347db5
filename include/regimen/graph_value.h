/*
 * graph: the graph inside the compute graph: features as values and edge sets as patterns, with
 * pool, broadcast, softmax and readout; feeding it from a graph; inference layer by layer; the
 * tables that an exported model takes.
 */
#ifndef REGIMEN_GRAPH_VALUE_H
#define REGIMEN_GRAPH_VALUE_H

#include <regimen/autodiff.h>
#include <regimen/export.h>
#include <regimen/graph.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * A graph of values: features are rgm_value, edge sets are patterns, sizes are symbols
 * ("nodes/paper", "edges/cites", "components"). Input values are made when first asked for, so only
 * what a model uses is ever fed. Functional: with_* gives a new one; all belong to the root's arena
 * and are released with it.
 */
typedef struct rgm_graph_value rgm_graph_value;
/** The root for a schema; no input is made yet. Errors: RGM_ERR_DATA, RGM_ERR_NOMEM. */
rgm_status rgm_graph_value_create(rgm_graph_value **out, rgm_cgraph *cgraph, rgm_schema *schema);
void rgm_graph_value_release(rgm_graph_value *root);
/**
 * A root's inputs as they are now, apart from the compute graph: by rgm_graph_feeds() of it any
 * thread makes what the root will find made, also while the root gets other inputs or is released.
 * That is all it is for: `input` of its feeds must not be read. Ends by
 * rgm_graph_value_release(). Errors: RGM_ERR_NOMEM.
 */
rgm_status rgm_graph_value_apart(rgm_graph_value **out, const rgm_graph_value *graph);
rgm_cgraph *rgm_graph_value_cgraph(const rgm_graph_value *graph);
const rgm_schema *rgm_graph_value_schema(const rgm_graph_value *graph);
/**
 * On failure the builders below return NULL and record the failure in the compute graph; it names
 * the nearest feature.
 */
bool rgm_has_feature(const rgm_graph_value *graph, rgm_piece piece, const char *set,
                     const char *feature);
/** The set of this name; if there is none NULL, with a failure that names the nearest. */
const rgm_set_schema *rgm_require_set(const rgm_graph_value *graph, rgm_piece piece,
                                      const char *name);
/** The only non-auxiliary set of a piece, or a failure that lists them. */
const rgm_set_schema *rgm_only_set(const rgm_graph_value *graph, rgm_piece piece);
/** A failure of the compute graph: no set of a piece has the input feature; names the nearest. */
void rgm_unknown_feature(const rgm_graph_value *graph, rgm_piece piece, const char *name);
/** [items, ...] with the feature's shape in the schema: items of all components. */
rgm_value *rgm_node_feature(const rgm_graph_value *graph, const char *node_set,
                            const char *feature);
rgm_value *rgm_edge_feature(const rgm_graph_value *graph, const char *edge_set,
                            const char *feature);
rgm_value *rgm_context_feature(const rgm_graph_value *graph, const char *feature);
/** A one_hot feature as pattern [nodes, vocabulary]: rgm_spmm(pattern, W) is its dense layer. */
rgm_value *rgm_node_sparse_feature(const rgm_graph_value *graph, const char *node_set,
                                   const char *feature);
/**
 * A feature as columns by a lookup, as rgm_graph_lookup() makes it: pattern [items, k * columns]
 * for k numbers an item, [items, columns] for lists. Each feature may have one lookup.
 */
rgm_value *rgm_lookup_rows(const rgm_graph_value *graph, rgm_piece piece, const char *set,
                           const char *feature, rgm_lookup *lookup);
/** The same by rgm_lookup_range() of `values`: pattern [items, k * values]. */
rgm_value *rgm_one_hot(const rgm_graph_value *graph, rgm_piece piece, const char *set,
                       const char *feature, int64_t values);
/**
 * The identity pattern [nodes, `nodes`] of a node set, for one fixed graph with that many nodes.
 */
rgm_value *rgm_node_numbers(const rgm_graph_value *graph, const char *node_set, int64_t nodes);
/**
 * Whether the model reads this feature of the root's schema, that is, whether an input was made for
 * it.
 */
bool rgm_reads_feature(const rgm_graph_value *graph, rgm_piece piece, const char *set,
                       const char *feature);
/** Whether a model takes the values of this feature as they are: rgm_node_feature() and its
 * neighbours, of numbers that are not categories. */
bool rgm_feeds_feature(const rgm_graph_value *graph, rgm_piece piece, const char *set,
                       const char *feature);
/** rows: nodes at the `receiver` end; columns: at the other; entries: edges in edge order. */
rgm_value *rgm_adjacency(const rgm_graph_value *graph, const char *edge_set, rgm_tag receiver);
/** rows: components; columns: items. */
rgm_value *rgm_membership(const rgm_graph_value *graph, rgm_piece piece, const char *set);
/** Symbolic item count of a set; components for the context. */
rgm_dim rgm_set_size(const rgm_graph_value *graph, rgm_piece piece, const char *set);
rgm_graph_value *rgm_with_feature(const rgm_graph_value *graph, rgm_piece piece, const char *set,
                                  const char *feature, rgm_value *value);
/** The same graph without a feature: reading it fails. For labels that the model must not see. */
rgm_graph_value *rgm_without_feature(const rgm_graph_value *graph, rgm_piece piece, const char *set,
                                     const char *feature);
/**
 * f32 [items]: 1 for items of real components, 0 for padding: the weights of losses and metrics.
 */
rgm_value *rgm_real_mask(const rgm_graph_value *graph, rgm_piece piece, const char *set);
/** Edges at the `end` of each node, [nodes], in `dtype`. */
rgm_value *rgm_node_degree(const rgm_graph_value *graph, const char *edge_set, rgm_tag end,
                           rgm_dtype dtype);
/** with_feature for a node set's hidden_state. */
rgm_graph_value *rgm_with_state(const rgm_graph_value *graph, const char *node_set,
                                rgm_value *state);
/**
 * How a view changes what is read from a graph, for example by shuffling features or dropping
 * edges. Only what is read is changed. Auxiliary sets are read unchanged. A function that returns x
 * leaves it unchanged; NULL means a failure that the compute graph has recorded.
 */
typedef struct rgm_graph_reading {
    /**
     * Change a feature x, dense [items, ...] or a pattern. Feature "#number" is the identity
     * pattern of nodes. NULL: features stay unchanged.
     */
    rgm_value *(*feature)(const rgm_graph_value *graph, const rgm_set_schema *set,
                          const char *feature, rgm_value *x, const void *payload);
    /**
     * Change an edge set's pattern [targets, sources] to one with fewer entries. The function for
     * features must then give that many rows for the set's features. NULL: edges stay unchanged.
     */
    rgm_value *(*edges)(const rgm_graph_value *graph, const rgm_set_schema *set, rgm_value *pattern,
                        const void *payload);
    const void *payload; /* read until the model is built */
} rgm_graph_reading;
/** A view of the graph that is read through `reading`. */
rgm_graph_value *rgm_with_reading(const rgm_graph_value *graph, const rgm_graph_reading *reading);
/** The graph without any feature of auxiliary sets, so that labels cannot reach the model. */
rgm_graph_value *rgm_without_aux_features(const rgm_graph_value *graph);

/**
 * Reduce the items of several sets at their receivers as if the sets were one: mean weighs each
 * item the same, max shares its gradient among all ties. RGM_CONTEXT pools to components; edges can
 * also be pooled to one end.
 *
 * @param values       [in] [count], values[i] [items of sets[i], ...]
 * @param reduce_type  [in] sum, prod (1 for none), mean (0 for none), max and min (lowest and
 * highest number for none), max_no_inf and min_no_inf (0 for none); several joined by '|' are
 *                     concatenated on the last axis
 *
 * Returns [receivers, ...]. Pooling a value that was broadcast from the other end of the same edge
 * set is one sparse product.
 */
rgm_value *rgm_pool(const rgm_graph_value *graph, rgm_tag to, rgm_piece piece,
                    const char *const *sets, rgm_value *const *values, int64_t count,
                    const char *reduce_type /* "sum", "mean|max_no_inf", ... */);
/** RGM_ERR_CONFIG unless an option's reduce_type is a reduction or several joined by '|'. */
rgm_status rgm_reduce_type_check(const char *key, const char *reduce_type);
/** The value at each item's end or of its component: [nodes | components, ...] -> [items, ...]. */
rgm_value *rgm_broadcast(const rgm_graph_value *graph, rgm_tag from, rgm_piece piece,
                         const char *set, rgm_value *value);
/**
 * Joint softmax over several sets' values; out[i] for sets[i].
 * Errors: RGM_ERR_ARG, RGM_ERR_SHAPE, RGM_ERR_NOMEM.
 */
rgm_status rgm_softmax_over(rgm_value **out, const rgm_graph_value *graph, rgm_tag per,
                            rgm_piece piece, const char *const *sets, rgm_value *const *values,
                            int64_t count);
/** rgm_structured_readout() stored on the readout set as `new_feature` (NULL: the same name). */
rgm_graph_value *rgm_with_structured_readout(const rgm_graph_value *graph, const char *key,
                                             const char *feature, const char *new_feature,
                                             const char *readout_set);
/**
 * State of each component's first node [components, ...]; feeding a graph with an empty component
 * is an error.
 */
rgm_value *rgm_gather_first_node(const rgm_graph_value *graph, const char *node_set,
                                 const char *feature);
/**
 * [num_readouts, ...] through "<readout_set>/<key>[/suffix]"; readout_set NULL: "_readout". Several
 * edge sets of one key: floats only. Padded readouts give zeros or item 0; weigh them with
 * rgm_real_mask().
 */
rgm_value *rgm_structured_readout(const rgm_graph_value *graph, const char *key,
                                  const char *feature, const char *readout_set);
/**
 * The same values, computed by rgm_cgraph_narrow() from only the nodes and edges that they need.
 * Where they read only some nodes, through rgm_gather_first_node() or a structured readout, the
 * last round of messages is computed for those nodes, the round before for their neighbours too,
 * and so on. The given values stay unchanged. To be called once for each root of `graph`, before
 * gradients; rgm_graph_feeds() then feeds what both versions need.
 *
 * @param narrowed  [out] [count] the value itself where nothing is gained, and where models of very
 *                  many edge sets and rounds would need more than 448 feeds
 *
 * Errors: RGM_ERR_ARG (narrowed already; values of another compute graph), RGM_ERR_NOMEM.
 */
rgm_status rgm_graph_narrow(rgm_value **narrowed, rgm_value *const *values, int64_t count,
                            const rgm_graph_value *graph);
/**
 * Fill feeds [capacity] with what to feed for one concrete graph, which may have another schema
 * object; *count is their number. Feeds borrow from `graph` and are the same objects each time, so
 * that the executor sees what has not changed.
 *
 * Errors: RGM_ERR_NOT_FOUND (set or feature that the model asks for is not in the graph),
 * RGM_ERR_DATA (a feature of another shape; a readout that breaks its rules; a real component
 * without a first node), RGM_ERR_ARG (capacity), RGM_ERR_NOMEM.
 */
rgm_status rgm_graph_feeds(rgm_feed *feeds, int64_t capacity, int64_t *count,
                           const rgm_graph_value *root, rgm_graph *graph);

/** Options of rgm_by_rounds_run(). */
typedef struct rgm_by_rounds_options {
    int64_t chunk;  /* nodes at a time, default 65536                                       */
    int64_t memory; /* bytes for states that later rounds need, default 1 GiB; states beyond that go
                       to files                                           */
    const char *folder; /* of those files, which have no name; NULL: /tmp                       */
    bool bf16;          /* see rgm_executor_options                                             */
} rgm_by_rounds_options;
#define RGM_BY_ROUNDS_OPTIONS_INIT                                                                 \
    {                                                                                              \
        .chunk = 65536, .memory = 1073741824                                                       \
    }
/** Rows first, first + 1, ... of a value; borrowed. */
typedef rgm_status rgm_rows_sink(const rgm_tensor *rows, int64_t first, void *payload);
/** The rounds of a value, for one graph after another. */
typedef struct rgm_by_rounds rgm_by_rounds;
/**
 * Compute `value` [nodes of a set, ...] for whole graphs layer by layer (GraphSAGE, Hamilton et al.
 * 2017, appendix). Each round of messages is computed for all nodes, `chunk` of them at a time with
 * the edges that end at them, from the states of the round before. So each layer is computed once
 * for each node. Memory holds the states of a round, a chunk with its neighbours, and 4 bytes a
 * node. Sums are added in the same order as on the whole graph.
 *
 * Opening builds the rounds in the compute graph, which keeps them; running adds nothing to it.
 *
 * @param out          [out] owned; to be closed before the compute graph and graph_value
 * @param graph_value  [in] that `value` was built on
 * @param options      [in] NULL: the defaults; `folder` must outlive it
 *
 * Errors: RGM_ERR_UNSUPPORTED (rgm_cgraph_rounds(): readouts, contexts, norms and attention over
 * all nodes), RGM_ERR_ARG (a chunk of no node), RGM_ERR_NOMEM.
 */
rgm_status rgm_by_rounds_open(rgm_by_rounds **out, rgm_value *value,
                              const rgm_graph_value *graph_value,
                              const rgm_by_rounds_options *options);
/**
 * Compute all rows for one graph and pass them to a sink. A mapped graph is read in place.
 *
 * @param graph  [in] of one component
 *
 * Errors: RGM_ERR_UNSUPPORTED (several components), those of rgm_graph_feeds(), the executor and
 * the sink, RGM_ERR_FORMAT and RGM_ERR_IO (a mapped graph; a file of states), RGM_ERR_NOMEM.
 */
rgm_status rgm_by_rounds_run(rgm_rows_sink *sink, void *payload, rgm_by_rounds *rounds,
                             rgm_graph *graph, const rgm_parameters *parameters);
/**
 * The most bytes of states that are kept for later rounds of a graph at any time. Errors:
 * RGM_ERR_UNSUPPORTED (several components), RGM_ERR_NOT_FOUND (a set that the graph lacks).
 */
rgm_status rgm_by_rounds_bytes(int64_t *bytes, rgm_by_rounds *rounds, rgm_graph *graph);
void rgm_by_rounds_close(rgm_by_rounds *rounds);

/**
 * Check that rgm_graph_feeds() will find what it looks up in the features that the graph has: each
 * value has a column, and a numbered node set has the expected number of nodes. It makes nothing,
 * so it can check data before they are used. Errors: those of rgm_graph_check_lookup(),
 * rgm_graph_check_numbers().
 */
rgm_status rgm_graph_check_values(const rgm_graph_value *root, const rgm_graph *graph);

/**
 * An input that carries data from which a model learns, and the part of the graph that it stands
 * for.
 */
typedef struct rgm_graph_input {
    rgm_piece piece;
    const char *set;     /* NULL: the context                                                  */
    const char *feature; /* NULL: the edges themselves, a pattern whose entry e is edge e        */
    rgm_value *value;    /* for a feature its values [items, ..], or a pattern [items, columns] */
} rgm_graph_input;
/**
 * The edges and features that are inputs so far, except those of readouts and other auxiliary sets.
 * Returns their number and fills in the first `capacity`.
 */
int64_t rgm_graph_value_inputs(rgm_graph_input *out, int64_t capacity,
                               const rgm_graph_value *graph);

/** The patterns of readouts among the inputs so far, each of which picks a node for every item that
 * is asked about. Returns their number and fills in the first `capacity`. */
int64_t rgm_graph_value_readouts(rgm_value **out, int64_t capacity, const rgm_graph_value *graph);

/**
 * From here on feed only the inputs that `outputs` [count] depend on, so that a graph to predict
 * for needs no labels. Errors: RGM_ERR_NOMEM.
 */
rgm_status rgm_graph_value_keep(rgm_graph_value *root, rgm_value *const *outputs, int64_t count);

/* ---- graphs as tables: what exported models take ----------------------------------------------
 */

/**
 * Every table of a graph by its key in a tf.train.Example: sizes of sets in each component
 * ("nodes/paper.#size" [components] i64), ends of edges ("edges/cites.#source", "#target" [edges]
 * i64), values of features ("nodes/paper.year" [items, ...], of ragged ones as rgm_feature has
 * them) and row lengths ("nodes/paper.words.d1" i64). Absent features and text features are left
 * out. rgm_onnx_inputs_release() releases the tables.
 * Errors: RGM_ERR_DATA, RGM_ERR_NOMEM.
 */
rgm_status rgm_graph_tables(rgm_named_tensor **tables, int64_t *count, const rgm_graph *graph);
/**
 * Describe, for the file of a model, how each input made so far is computed from these tables:
 * edges in any order, integers as they are, items of components as #size counts them. For several
 * graphs the tables are those of rgm_graph_merge(). A mask of real items is 1 everywhere, because
 * served graphs have no padding.
 *
 * @param options  [in, out] inputs and sizes are set; they belong to the root, until the next call
 *
 * Errors: RGM_ERR_NOMEM.
 */
rgm_status rgm_graph_value_tables(rgm_onnx_options *options, const rgm_graph_value *root);

#ifdef __cplusplus
}
#endif
#endif

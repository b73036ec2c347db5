/*
 * graph: one scalar GraphTensor (context, node sets, edge sets, any number of components):
 * functions that make, read, change, merge and pad it, and its tf.train.Example encoding. Semantics
 * are TF-GNN's except where docs/graph.md says so. The other headers of this layer: graph_schema.h
 * says what a graph may contain, graph_edit.h makes graphs from a graph, graph_value.h is the graph
 * inside the compute graph, graph_data.h has data sets, graph_file.h graphs larger than memory, and
 * graph_parts.h the parts from which samplers and importers make graphs.
 */
#ifndef REGIMEN_GRAPH_H
#define REGIMEN_GRAPH_H

#include <regimen/data.h>
#include <regimen/graph_schema.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- lookups ------------------------------------------------------------------------------- */

/**
 * Maps each value of a feature to a column of a pattern: this encodes categories. Immutable,
 * counted (from any thread).
 */
typedef struct rgm_lookup rgm_lookup;
/** Integers 0 .. values - 1, each its own column; any other is an error. RGM_ERR_ARG, _NOMEM. */
rgm_status rgm_lookup_range(rgm_lookup **out, int64_t values);
/**
 * A vocabulary: values[i] has column i. Any other value has column `count` if `other` is true, and
 * is an error if not. The values are copied. Errors: RGM_ERR_ARG (a value twice; nothing at all),
 * RGM_ERR_NOMEM.
 */
rgm_status rgm_lookup_integers(rgm_lookup **out, const int64_t *values, int64_t count, bool other);
rgm_status rgm_lookup_texts(rgm_lookup **out, const rgm_str *texts, int64_t count, bool other);
/**
 * Column XXH3(bytes) mod `buckets` (rgm_hash64()). Texts are hashed as they are and integers as
 * decimals, so 7 and "7" have the same column. Errors: RGM_ERR_ARG, RGM_ERR_NOMEM.
 */
rgm_status rgm_lookup_hash(rgm_lookup **out, int64_t buckets);
/**
 * The column of a number is how many boundaries [count] are less than or equal to it: 0 below the
 * first one, `count` from the last one on. NaN is an error. Errors: RGM_ERR_ARG (the boundaries do
 * not ascend), RGM_ERR_NOMEM.
 */
rgm_status rgm_lookup_buckets(rgm_lookup **out, const double *boundaries, int64_t count);
rgm_lookup *rgm_lookup_retain(rgm_lookup *lookup);
void rgm_lookup_release(rgm_lookup *lookup);
int64_t rgm_lookup_columns(const rgm_lookup *lookup); /* how many, for one number */

/* ---- graph --------------------------------------------------------------------------------- */

/**
 * A feature of all items of a set: dense [items, shape...], or ragged: `values` flattened up to the
 * last ragged dim, [sum of its row lengths, dims after it...], and for ragged dim k (1-based over
 * inner dims; NULL for dense ones) the row lengths [product of the sizes before it] i64. So shape
 * [-1] has row_lengths[1] [items] and values [sum]; shape [3, -1, 4] has row_lengths[2] [items * 3]
 * and values [sum, 4].
 */
typedef struct rgm_feature {
    rgm_tensor *values;
    rgm_tensor *row_lengths[RGM_MAX_RANK]; /* [k] i64, k = 1 .. rank of the item shape */
} rgm_feature;

/**
 * A scalar GraphTensor: immutable once made, counted (from any thread); parts are shared between
 * graphs. A feature of the schema may be absent (a label at serving time): only a call that asks
 * for it fails.
 */
typedef struct rgm_graph rgm_graph;
/**
 * Graphs as elements of a dataset: rgm_element_create_pointer(&element, &rgm_graph_element,
 * graph).
 */
extern const rgm_element_type rgm_graph_element;

/** A graph under construction: set sizes, indices and features in any order, then finish. */
typedef struct rgm_graph_builder rgm_graph_builder;
/** An empty graph of a schema. Errors: RGM_ERR_ARG, RGM_ERR_DATA, RGM_ERR_NOMEM. */
rgm_status rgm_graph_builder_create(rgm_graph_builder **out, rgm_schema *schema,
                                    int64_t components);
void rgm_graph_builder_release(rgm_graph_builder *builder);
/** sizes [components]. Errors: RGM_ERR_ARG, RGM_ERR_DATA, RGM_ERR_NOT_FOUND, RGM_ERR_NOMEM. */
rgm_status rgm_graph_builder_sizes(rgm_graph_builder *builder, rgm_piece piece, const char *set,
                                   const int64_t *sizes);
/**
 * source, target: i64 [edges] over the set's whole node numbering, retained; or i32, copied.
 * Errors: RGM_ERR_ARG, RGM_ERR_DATA, RGM_ERR_NOT_FOUND, RGM_ERR_NOMEM.
 */
rgm_status rgm_graph_builder_edges(rgm_graph_builder *builder, const char *edge_set,
                                   rgm_tensor *source, rgm_tensor *target);
/** Retains the tensors of `feature`. Errors: RGM_ERR_ARG, RGM_ERR_NOT_FOUND, RGM_ERR_NOMEM. */
rgm_status rgm_graph_builder_feature(rgm_graph_builder *builder, rgm_piece piece, const char *set,
                                     const char *feature, const rgm_feature *value);
/**
 * Check everything and make the graph. Checked are sizes, counts and every index of every edge set,
 * also for negative numbers and for edges between components; the message names set, row, value and
 * limit. Sets not given are empty; sizes of an edge set may be left out in a graph of one
 * component. Afterwards the builder can only be released. RGM_ERR_DATA.
 */
rgm_status rgm_graph_builder_finish(rgm_graph **out, rgm_graph_builder *builder);

/**
 * The input of rgm_graph_homogeneous(): the ends of the edges, and dense features [items, ...] by
 * name. Tensors are retained. Fields left at zero mean one component and no features.
 */
typedef struct rgm_homogeneous {
    rgm_tensor *source, *target; /* [edges] i64 or i32, numbers of nodes of the whole graph */
    const rgm_named_tensor *node_features, *edge_features, *context_features;
    int64_t node_feature_count, edge_feature_count, context_feature_count;
    int64_t components;        /* 0: one */
    const int64_t *node_sizes; /* [components]; NULL, of one: the rows of its node features */
    const int64_t *edge_sizes; /* [components]; NULL, of one: its edges */
    const char *node_set;      /* NULL: "nodes" */
    const char *edge_set;      /* NULL: "edges" */
} rgm_homogeneous;
/**
 * Make a graph of one node set and one edge set, and the schema that follows from its tensors
 * (TF-GNN's homogeneous()). rgm_graph_schema() returns that schema; the caller releases the graph
 * only.
 * Errors: RGM_ERR_ARG (neither node_sizes nor node features; sizes left out of several components;
 * a name twice), RGM_ERR_DATA (a feature of another count, an end out of range, an edge between
 * components), RGM_ERR_NOMEM.
 */
rgm_status rgm_graph_homogeneous(rgm_graph **out, const rgm_homogeneous *from);

rgm_graph *rgm_graph_retain(rgm_graph *graph);
void rgm_graph_release(rgm_graph *graph);
/**
 * The schema of a graph and its size: the number of components, and how many items of a set each
 * has. Borrowed.
 */
const rgm_schema *rgm_graph_schema(const rgm_graph *graph);
int64_t rgm_graph_components(const rgm_graph *graph);
int64_t rgm_graph_total(const rgm_graph *graph, rgm_piece piece, const char *set); /* items */
const int64_t *rgm_graph_sizes(const rgm_graph *graph, rgm_piece piece, const char *set);
/** Components that are not padding; these come first. */
int64_t rgm_graph_real_components(const rgm_graph *graph);
/** Items of the real components. */
int64_t rgm_graph_real_total(const rgm_graph *graph, rgm_piece piece, const char *set);
/**
 * [items] f32: 1 for items of real components, 0 for padding; made once and kept. Borrowed.
 * Errors: RGM_ERR_NOMEM.
 */
rgm_status rgm_graph_real_mask(rgm_tensor **mask, const rgm_graph *graph, rgm_piece piece,
                               const char *set);
/** Borrowed; NULL when absent. */
const rgm_feature *rgm_graph_feature(const rgm_graph *graph, rgm_piece piece, const char *set,
                                     const char *feature);
/** i64 [edges] over the set's whole node numbering, borrowed. */
rgm_tensor *rgm_graph_source(const rgm_graph *graph, const char *edge_set);
rgm_tensor *rgm_graph_target(const rgm_graph *graph, const char *edge_set);
/**
 * The edge set as a pattern whose rows are the `receiver` end; made once per graph and kept. Entry
 * e is edge e. Borrowed.
 * Errors: RGM_ERR_ARG, RGM_ERR_DATA, RGM_ERR_UNSUPPORTED, RGM_ERR_NOT_FOUND, RGM_ERR_NOMEM.
 */
rgm_status rgm_graph_adjacency(rgm_pattern **pattern, const rgm_graph *graph, const char *edge_set,
                               rgm_tag receiver);
/**
 * rows = components, columns = items of the set; borrowed.
 * Errors: RGM_ERR_ARG, RGM_ERR_DATA, RGM_ERR_UNSUPPORTED, RGM_ERR_NOT_FOUND, RGM_ERR_NOMEM.
 */
rgm_status rgm_graph_membership(rgm_pattern **pattern, const rgm_graph *graph, rgm_piece piece,
                                const char *set);
/**
 * A one_hot feature as a pattern [items, vocabulary]; borrowed. Index out of range: RGM_ERR_DATA.
 */
rgm_status rgm_graph_sparse(rgm_pattern **pattern, const rgm_graph *graph, rgm_piece piece,
                            const char *set, const char *feature);
/**
 * A feature's values as columns of a pattern, by a lookup. With k numbers an item the pattern is
 * [items, k * columns], and number j of an item has column j * columns + its own column; for lists
 * it is [items, columns]. Made once for each lookup and kept. Borrowed. Errors: RGM_ERR_DATA (a
 * value that has no column, with its item), RGM_ERR_DTYPE, RGM_ERR_UNSUPPORTED (lists of lists),
 * RGM_ERR_ARG, RGM_ERR_NOT_FOUND, RGM_ERR_NOMEM.
 */
rgm_status rgm_graph_lookup(rgm_pattern **pattern, const rgm_graph *graph, rgm_piece piece,
                            const char *set, const char *feature, rgm_lookup *lookup);
/**
 * Check that rgm_graph_lookup() would find each value, without making the pattern. Errors: those of
 * rgm_graph_lookup().
 */
rgm_status rgm_graph_check_lookup(const rgm_graph *graph, rgm_piece piece, const char *set,
                                  const char *feature, const rgm_lookup *lookup);
/**
 * The identity pattern [nodes, nodes] of a node set: row i has its one entry in column i. Made once
 * and kept. Borrowed. RGM_ERR_DATA: the set does not have `nodes` nodes, or the graph has several
 * components (padding counts as one).
 * Errors: RGM_ERR_DATA, RGM_ERR_NOT_FOUND, RGM_ERR_NOMEM.
 */
rgm_status rgm_graph_numbers(rgm_pattern **pattern, const rgm_graph *graph, const char *node_set,
                             int64_t nodes);
/** Check that rgm_graph_numbers() would succeed. Errors: RGM_ERR_DATA, RGM_ERR_NOT_FOUND. */
rgm_status rgm_graph_check_numbers(const rgm_graph *graph, const char *node_set, int64_t nodes);
/**
 * A new graph with a feature (of schema `schema`) added or replaced / removed; the rest is shared.
 * Errors: RGM_ERR_ARG, RGM_ERR_SHAPE, RGM_ERR_DATA, RGM_ERR_NOT_FOUND, RGM_ERR_NOMEM.
 */
rgm_status rgm_graph_with_feature(rgm_graph **out, const rgm_graph *graph, rgm_piece piece,
                                  const char *set, const char *feature, const rgm_feature *value);
rgm_status rgm_graph_without_feature(rgm_graph **out, const rgm_graph *graph, rgm_piece piece,
                                     const char *set, const char *feature);
/**
 * The same graph with a readout of other nodes. Node set `readout_set` has one item for each of
 * nodes [n] i64 of node_set; the node set's feature `label` is copied to it (NULL: none). Edge set
 * "<readout_set>/<key>" goes from node_set to it. Everything else is shared. One component only.
 * Errors: RGM_ERR_ARG, RGM_ERR_DATA, RGM_ERR_NOT_FOUND, RGM_ERR_NOMEM.
 */
rgm_status rgm_graph_with_readout(rgm_graph **out, const rgm_graph *graph, const char *readout_set,
                                  const char *key, const char *node_set, rgm_tensor *nodes,
                                  const char *label);
/** Pairs of nodes to predict for. Tensors are borrowed, each i64 [n]. */
typedef struct rgm_graph_pairs {
    const char *readout_set;             /* NULL: "_readout"                                     */
    const char *source_set, *target_set; /* node sets                                            */
    rgm_tensor *source, *target;         /* nodes of them                                        */
    const char *label;                   /* feature that has `labels`; NULL: there are none      */
    rgm_tensor *labels;                  /*                                                      */
    const char *relation;                /* one_hot feature that has `relations`; NULL: none     */
    rgm_tensor *relations;               /* 0 .. relation_count - 1                              */
    int64_t relation_count;              /*                                                      */
    rgm_tensor *positive; /* item that each is compared with; NULL: no edge set "positive" */
} rgm_graph_pairs;
/**
 * The same graph with a readout of pairs of nodes. Node set `readout_set` has one item for each
 * pair, and edge sets "<readout_set>/source" and "/target" come from the nodes. With `positive`
 * there is also "<readout_set>/positive", from items of the readout set itself. An existing readout
 * set is replaced, so graphs with other pairs share one schema. Everything else is shared. One
 * component only.
 * Errors: RGM_ERR_ARG (tensors of other lengths, sets of other ends), RGM_ERR_DATA (a node,
 * relation or item out of range, with its pair), RGM_ERR_NOT_FOUND, RGM_ERR_NOMEM.
 */
rgm_status rgm_graph_with_pairs(rgm_graph **out, const rgm_graph *graph,
                                const rgm_graph_pairs *pairs);
/**
 * The same graph with only some edges of a set, in the order given, with their features: `edges`
 * i64 [m] are the edges' numbers in the set. Everything else is shared. One component only.
 * Errors: RGM_ERR_ARG, RGM_ERR_DATA (an edge out of range), RGM_ERR_NOT_FOUND, RGM_ERR_NOMEM.
 */
rgm_status rgm_graph_with_edges(rgm_graph **out, const rgm_graph *graph, const char *edge_set,
                                const rgm_tensor *edges);
/**
 * Readout set `readout_set` with one item a component that points at its first node (the seed, by
 * the samplers' convention). RGM_ERR_DATA for a component without nodes; RGM_ERR_ARG if the key
 * exists already.
 */
rgm_status rgm_graph_readout_from_first_node(rgm_graph **out, const rgm_graph *graph,
                                             const char *key, const char *node_set,
                                             const char *readout_set);
/**
 * Values [num_readouts, ...] of `feature` read through "<readout_set>/<key>[/suffix]", dense or
 * ragged. With several edge sets of one key each item is taken from the node that its edge points
 * at, so any dtype is allowed. Padded items without an edge are zeros (empty rows).
 * Errors: RGM_ERR_ARG, RGM_ERR_DATA, RGM_ERR_NOT_FOUND, RGM_ERR_NOMEM.
 */
rgm_status rgm_graph_structured_readout(rgm_feature *out, const rgm_graph *graph, const char *key,
                                        const char *feature, const char *readout_set);
void rgm_feature_clear(rgm_feature *feature);
/**
 * The same values, stored on the readout set as `new_feature` (NULL: the same name). With `remove`
 * the feature is deleted from where it was read, so that it cannot leak. RGM_ERR_ARG if the new
 * feature exists already, unless `overwrite`.
 */
rgm_status rgm_graph_readout_into_feature(rgm_graph **out, const rgm_graph *graph, const char *key,
                                          const char *feature, const char *new_feature, bool remove,
                                          bool overwrite, const char *readout_set);
/**
 * A context feature moved (remove) or copied to readout set `readout_set`, one item a component.
 * Errors: RGM_ERR_ARG, RGM_ERR_DATA, RGM_ERR_NOT_FOUND, RGM_ERR_NOMEM.
 */
rgm_status rgm_graph_context_into_readout(rgm_graph **out, const rgm_graph *graph,
                                          const char *feature, const char *new_feature, bool remove,
                                          const char *readout_set);
/**
 * Append one self-loop per node to an edge set from a node set to itself. Each component has its
 * old edges first, then the loops, whose features are 0, false or empty.
 * Errors: RGM_ERR_ARG, RGM_ERR_NOT_FOUND, RGM_ERR_NOMEM.
 */
rgm_status rgm_graph_add_self_loops(rgm_graph **out, const rgm_graph *graph, const char *edge_set);
/**
 * [nodes] i64: edges at the `end` of each node.
 * Errors: RGM_ERR_ARG, RGM_ERR_NOT_FOUND, RGM_ERR_NOMEM.
 */
rgm_status rgm_graph_node_degree(rgm_tensor **out, const rgm_graph *graph, const char *edge_set,
                                 rgm_tag end);
/** RGM_ERR_DATA names the first feature of the schema that the graph lacks. */
rgm_status rgm_graph_check_complete(const rgm_graph *graph);
/** TF-GNN's readout rules for the real components (docs/graph.md); RGM_ERR_DATA names set and row.
 */
rgm_status rgm_graph_check_readout(const rgm_graph *graph, const char *readout_set);
/** Plain text for people. Errors: RGM_ERR_NOMEM. */
rgm_status rgm_graph_print(rgm_text *out, const rgm_graph *graph, int64_t max_items);

/**
 * One graph of all components, in order; indices shifted.
 * Errors: RGM_ERR_ARG, RGM_ERR_DATA, RGM_ERR_NOT_FOUND, RGM_ERR_NOMEM.
 */
rgm_status rgm_graph_merge(rgm_graph **out, rgm_graph *const *graphs, int64_t count);
/** The inverse: component i alone. Errors: RGM_ERR_ARG, RGM_ERR_NOMEM. */
rgm_status rgm_graph_component(rgm_graph **out, const rgm_graph *graph, int64_t i);

/** tf.train.Example. Errors: RGM_ERR_DATA, RGM_ERR_NOMEM. */
rgm_status rgm_graph_encode(rgm_text *out, const rgm_graph *graph, const char *prefix);
/**
 * Decode one tf.train.Example. Messages name `place` (e.g. "file.tfrecord: record 7").
 * Errors: RGM_ERR_ARG, RGM_ERR_FORMAT, RGM_ERR_DATA, RGM_ERR_NOMEM.
 */
rgm_status rgm_graph_decode(rgm_graph **out, rgm_schema *schema, const void *data, int64_t size,
                            const char *prefix, const char *place);
/**
 * Decode several Examples into one merged graph: the same result as decoding each and merging them,
 * without the intermediate graphs. Messages name places [count] (or NULL).
 * Errors: RGM_ERR_ARG, RGM_ERR_FORMAT, RGM_ERR_DATA, RGM_ERR_NOMEM.
 */
rgm_status rgm_graph_decode_batch(rgm_graph **out, rgm_schema *schema, const rgm_str *examples,
                                  int64_t count, const char *prefix, const char *const *places);

/** The kind of list that an Example of these graphs has under a key, "nodes/paper.words";
 * RGM_FEATURE_NONE: there is no such key. Any thread. */
rgm_feature_kind rgm_schema_example_kind(rgm_schema *schema, const char *key);

/* padding: rgm_size_constraints, satisfy, pad, find_tight, fit_or_skip */
typedef struct rgm_size_constraints rgm_size_constraints; /* counted totals per set */
void rgm_size_constraints_release(rgm_size_constraints *constraints);
/** Constraints with nothing set. Errors: RGM_ERR_NOMEM. */
rgm_status rgm_size_constraints_create(rgm_size_constraints **out, const rgm_schema *schema);
/**
 * Total items of a set (components: piece RGM_CONTEXT_PIECE, set NULL); min_per_component of node
 * sets.
 * Errors: RGM_ERR_ARG.
 */
rgm_status rgm_size_constraints_set(rgm_size_constraints *constraints, rgm_piece piece,
                                    const char *set, int64_t total, int64_t min_per_component);
int64_t rgm_size_constraints_get(const rgm_size_constraints *constraints, rgm_piece piece,
                                 const char *set);
bool rgm_graph_fits(const rgm_graph *graph, const rgm_size_constraints *constraints);
/**
 * Fake components appended up to the totals; *real = number of real components. RGM_ERR_DATA if it
 * does not fit.
 */
rgm_status rgm_graph_pad(rgm_graph **out, int64_t *real, const rgm_graph *graph,
                         const rgm_size_constraints *constraints);
/**
 * Find sizes from the unbatched graphs of a data set (elements: rgm_graph).
 * Errors: RGM_ERR_ARG, RGM_ERR_DATA, RGM_ERR_NOMEM.
 */
rgm_status rgm_tight_padding(rgm_size_constraints **out, const rgm_schema *schema,
                             rgm_dataset *graphs, int64_t batch_size, int64_t min_per_component);
rgm_status rgm_fit_or_skip_padding(rgm_size_constraints **out, const rgm_schema *schema,
                                   rgm_dataset *graphs, int64_t batch_size,
                                   int64_t min_per_component, int64_t sample_size,
                                   double success_ratio, uint64_t seed);

#ifdef __cplusplus
}
#endif
#endif

/*
 * graph: graph data and what is specific to it. The schema (TF-GNN's GraphSchema), the graph (one
 * scalar GraphTensor: context, node sets, edge sets, any number of components), its
 * tf.train.Example encoding, merging and padding, sampling, import, generation; and the graph
 * inside the compute graph with pool, broadcast, softmax and readout. Semantics are TF-GNN's except
 * where docs/graph.md says so.
 */
#ifndef REGIMEN_GRAPH_H
#define REGIMEN_GRAPH_H

#include <regimen/autodiff.h>
#include <regimen/data.h>
#include <regimen/export.h>
#include <regimen/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

#define RGM_HIDDEN_STATE "hidden_state"
#define RGM_READOUT      "_readout"

/** Which end of an edge. Context is the graph component. */
typedef enum rgm_tag { RGM_SOURCE = 0, RGM_TARGET = 1, RGM_CONTEXT = 2 } rgm_tag;
static inline rgm_tag rgm_tag_reverse(rgm_tag tag)
{
    return tag == RGM_SOURCE ? RGM_TARGET : RGM_SOURCE;
}

/* ---- schema -------------------------------------------------------------------------------- */

/** One feature. shape is per item: rank 0 is a scalar; a dim of -1 is ragged. */
typedef struct rgm_feature_schema {
    char *name, *description, *source;
    rgm_dtype dtype;   /* in memory: f32, f64, i32, i64, bool, string       */
    char *stored_type; /* the schema's word, e.g. "DT_UINT64"               */
    int rank;
    int64_t shape[RGM_MAX_RANK - 1];
    int64_t vocabulary; /* sparse rows: an i64 feature of shape [-1] that lists the columns of each
                           item's ones has this many columns (0: not such a feature); written as
                           source: "one_hot:<n>" */
} rgm_feature_schema;

typedef enum rgm_piece { RGM_CONTEXT_PIECE, RGM_NODE_SET, RGM_EDGE_SET } rgm_piece;

/**
 * One metadata.extra of a set; {"edge_type", "reversed"} swaps the ends when a CSV table is read.
 */
typedef struct rgm_key_value {
    char *key, *value;
} rgm_key_value;

typedef struct rgm_set_schema {
    rgm_piece piece;
    char *name, *description;
    char *source, *target; /* edge sets: node set names */
    rgm_feature_schema *features;
    int64_t feature_count;
    char **context; /* names of context features that speak of this set */
    int64_t context_count;
    char *filename;       /* metadata */
    int64_t cardinality;  /* metadata, -1 unknown */
    rgm_key_value *extra; /* metadata */
    int64_t extra_count;
} rgm_set_schema;

/**
 * Read-only outside its layer; counted. Context is always there, maybe without features. The order
 * of sets is context, node sets, edge sets; within a piece, and among features, the order in which
 * they were added. To be complete before the first graph is made of it.
 */
typedef struct rgm_schema rgm_schema;

/**
 * Parse GraphSchema text; errors "name:line:column: ...". Checked as rgm_schema_check() does.
 * Errors: RGM_ERR_ARG, RGM_ERR_FORMAT, RGM_ERR_DATA, RGM_ERR_NOT_FOUND, RGM_ERR_IO, RGM_ERR_NOMEM.
 */
rgm_status rgm_schema_parse(rgm_schema **out, const char *text, int64_t size, const char *name);
rgm_status rgm_schema_load(rgm_schema **out, const char *path);
rgm_status rgm_schema_save(const rgm_schema *schema, const char *path);
rgm_status rgm_schema_print(rgm_text *out, const rgm_schema *schema);
/** An empty schema to add sets and features to. Errors: RGM_ERR_ARG, RGM_ERR_NOMEM. */
rgm_status rgm_schema_create(rgm_schema **out);
rgm_status rgm_schema_add_node_set(rgm_schema *schema, const char *name);
rgm_status rgm_schema_add_edge_set(rgm_schema *schema, const char *name, const char *source,
                                   const char *target);
/** set NULL: context. Errors: RGM_ERR_ARG, RGM_ERR_NOT_FOUND, RGM_ERR_NOMEM. */
rgm_status rgm_schema_add_feature(rgm_schema *schema, rgm_piece piece, const char *set,
                                  const char *feature, rgm_dtype dtype, int rank,
                                  const int64_t *shape);
/**
 * Mark an i64 feature of shape [-1] as sparse rows: it lists the columns of each item's ones.
 * Errors: RGM_ERR_ARG, RGM_ERR_NOT_FOUND, RGM_ERR_NOMEM.
 */
rgm_status rgm_schema_set_one_hot(rgm_schema *schema, rgm_piece piece, const char *set,
                                  const char *feature, int64_t vocabulary);
rgm_status rgm_schema_set_metadata(rgm_schema *schema, rgm_piece piece, const char *set,
                                   const char *filename, int64_t cardinality);
/** A copy to change. Errors: RGM_ERR_NOMEM. */
rgm_status rgm_schema_copy(rgm_schema **out, const rgm_schema *schema);
/** TF-GNN's validate_schema: dtypes, reserved names, edge ends, readout structure. RGM_ERR_DATA. */
rgm_status rgm_schema_check(const rgm_schema *schema);
/**
 * `actual` has every set and feature of `required`, of the same dtype and shape; else
 * RGM_ERR_DATA.
 */
rgm_status rgm_schema_check_has(const rgm_schema *actual, const rgm_schema *required);
/** info.graph_type ("FULL", "SUBGRAPH", ...; NULL: not said) and info.root_set. */
const char *rgm_schema_graph_type(const rgm_schema *schema);
int64_t rgm_schema_root_set_count(const rgm_schema *schema);
const char *rgm_schema_root_set(const rgm_schema *schema, int64_t i);
rgm_schema *rgm_schema_retain(rgm_schema *schema);
void rgm_schema_release(rgm_schema *schema);
int64_t rgm_schema_set_count(const rgm_schema *schema); /* all pieces, context first */
const rgm_set_schema *rgm_schema_set(const rgm_schema *schema, int64_t i);
const rgm_set_schema *rgm_schema_find(const rgm_schema *schema, rgm_piece piece, const char *name);
const rgm_feature_schema *rgm_set_feature(const rgm_set_schema *set, const char *name);
/** "_readout" of "_readout:train"; NULL for a normal name. Writes at most size bytes. */
const char *rgm_aux_prefix(const char *set_name, char *buffer, size_t size);

/* ---- lookups ------------------------------------------------------------------------------- */

/**
 * Which column of a pattern each value of a feature is: how categories are told apart. Immutable,
 * counted (from any thread).
 */
typedef struct rgm_lookup rgm_lookup;
/** Integers 0 .. values - 1, each its own column; any other is an error. RGM_ERR_ARG, _NOMEM. */
rgm_status rgm_lookup_range(rgm_lookup **out, int64_t values);
/**
 * A vocabulary: values[i] has column i, any other value column `count` if `other`, else it is an
 * error. Copied. Errors: RGM_ERR_ARG (a value twice; nothing at all), RGM_ERR_NOMEM.
 */
rgm_status rgm_lookup_integers(rgm_lookup **out, const int64_t *values, int64_t count, bool other);
rgm_status rgm_lookup_texts(rgm_lookup **out, const rgm_str *texts, int64_t count, bool other);
/**
 * Column XXH3(bytes) mod `buckets` (rgm_hash64()): of texts as they are, of integers as decimals,
 * so that 7 and "7" are one. Errors: RGM_ERR_ARG, RGM_ERR_NOMEM.
 */
rgm_status rgm_lookup_hash(rgm_lookup **out, int64_t buckets);
/**
 * Column i for numbers of which i boundaries [count] are no more: below the first 0, from the last
 * on `count`. NaN is an error. Errors: RGM_ERR_ARG (they do not ascend), RGM_ERR_NOMEM.
 */
rgm_status rgm_lookup_buckets(rgm_lookup **out, const double *boundaries, int64_t count);
rgm_lookup *rgm_lookup_retain(rgm_lookup *lookup);
void rgm_lookup_release(rgm_lookup *lookup);
int64_t rgm_lookup_columns(const rgm_lookup *lookup); /* that there are, of one number */

/* ---- graph --------------------------------------------------------------------------------- */

/**
 * A feature of all items of a set: dense [items, shape...], or ragged: `values` flattened up to the
 * last ragged dim, [sum of its row lengths, dims behind it...], and for ragged dim k (1-based over
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
 * graphs. A feature of the schema may be absent (a label at serving time): only who asks for it
 * fails.
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
 * Check everything (sizes, counts, every index of every edge set: set, row, value, limit; negative
 * and cross-component edges too) and make the graph. Sets not given are empty; sizes of an edge set
 * may be left out in a graph of one component. Afterwards the builder can only be released.
 * RGM_ERR_DATA.
 */
rgm_status rgm_graph_builder_finish(rgm_graph **out, rgm_graph_builder *builder);

/**
 * What rgm_graph_homogeneous() makes a graph of: the ends of its edges and dense features
 * [items, ...] by name. Tensors are retained. Zeroed otherwise: one component, no features.
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
 * A graph of one node set and one edge set together with the schema that its tensors make
 * (TF-GNN's homogeneous()); rgm_graph_schema() is that schema, release the graph alone.
 * Errors: RGM_ERR_ARG (neither node_sizes nor node features; sizes left out of several components;
 * a name twice), RGM_ERR_DATA (a feature of another count, an end out of range, an edge between
 * components), RGM_ERR_NOMEM.
 */
rgm_status rgm_graph_homogeneous(rgm_graph **out, const rgm_homogeneous *from);

rgm_graph *rgm_graph_retain(rgm_graph *graph);
void rgm_graph_release(rgm_graph *graph);
/** What it is of, and how large: its components, the items of a set in each. Borrowed. */
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
 * A feature's values as columns by a lookup, pattern: of k numbers an item [items, k * columns],
 * where number j of an item has column j * columns + that of itself; of lists [items, columns].
 * Made once for each lookup and kept. Borrowed. Errors: RGM_ERR_DATA (a value that has no column,
 * with its item), RGM_ERR_DTYPE, RGM_ERR_UNSUPPORTED (lists of lists), RGM_ERR_ARG,
 * RGM_ERR_NOT_FOUND, RGM_ERR_NOMEM.
 */
rgm_status rgm_graph_lookup(rgm_pattern **pattern, const rgm_graph *graph, rgm_piece piece,
                            const char *set, const char *feature, rgm_lookup *lookup);
/** The same by rgm_lookup_range() of `values`. Errors: those of rgm_graph_lookup(). */
rgm_status rgm_graph_one_hot(rgm_pattern **pattern, const rgm_graph *graph, rgm_piece piece,
                             const char *set, const char *feature, int64_t values);
/** Whether rgm_graph_lookup() would find each value; makes nothing. Errors: those of it. */
rgm_status rgm_graph_check_lookup(const rgm_graph *graph, rgm_piece piece, const char *set,
                                  const char *feature, const rgm_lookup *lookup);
/**
 * Each node of a set as itself, pattern [nodes, nodes]; made once and kept. Borrowed. RGM_ERR_DATA:
 * the set has another number of nodes, or the graph several components (padding is one).
 * Errors: RGM_ERR_DATA, RGM_ERR_NOT_FOUND, RGM_ERR_NOMEM.
 */
rgm_status rgm_graph_numbers(rgm_pattern **pattern, const rgm_graph *graph, const char *node_set,
                             int64_t nodes);
/** Whether rgm_graph_numbers() can be. Errors: RGM_ERR_DATA, RGM_ERR_NOT_FOUND. */
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
 * The same graph asked about other nodes: node set `readout_set` with one item for each of nodes
 * [n] i64 of node_set (and its features copied from the node set's `label` feature, NULL: none),
 * and the edge set "<readout_set>/<key>" from node_set to it. All else shared. One component only.
 * Errors: RGM_ERR_ARG, RGM_ERR_DATA, RGM_ERR_NOT_FOUND, RGM_ERR_NOMEM.
 */
rgm_status rgm_graph_with_readout(rgm_graph **out, const rgm_graph *graph, const char *readout_set,
                                  const char *key, const char *node_set, rgm_tensor *nodes,
                                  const char *label);
/** Pairs of nodes to ask a graph about. Tensors are borrowed, each i64 [n]. */
typedef struct rgm_graph_pairs {
    const char *readout_set;             /* NULL: "_readout"                                     */
    const char *source_set, *target_set; /* node sets                                            */
    rgm_tensor *source, *target;         /* nodes of them                                        */
    const char *label;                   /* feature that has `labels`; NULL: there are none      */
    rgm_tensor *labels;                  /*                                                      */
    const char *relation;                /* one_hot feature that has `relations`; NULL: none     */
    rgm_tensor *relations;               /* 0 .. relation_count - 1                              */
    int64_t relation_count;              /*                                                      */
    rgm_tensor *positive; /* item that each is held against; NULL: no edge set "positive" */
} rgm_graph_pairs;
/**
 * The same graph asked about pairs of nodes: node set `readout_set` with one item for each, its
 * edge sets "<readout_set>/source" and "/target" from the nodes, and with `positive`
 * "<readout_set>/positive" from items of the readout set itself. A readout set that was there is
 * replaced, so that graphs asked about other pairs share one schema; all else is shared. One
 * component only.
 * Errors: RGM_ERR_ARG (tensors of other lengths, sets of other ends), RGM_ERR_DATA (a node,
 * relation or item out of range, with its pair), RGM_ERR_NOT_FOUND, RGM_ERR_NOMEM.
 */
rgm_status rgm_graph_with_pairs(rgm_graph **out, const rgm_graph *graph,
                                const rgm_graph_pairs *pairs);
/**
 * The same graph with some edges of a set alone, in the order given, with their features: edges
 * i64 [m] of the set's numbers. All else is shared. One component only.
 * Errors: RGM_ERR_ARG, RGM_ERR_DATA (an edge out of range), RGM_ERR_NOT_FOUND, RGM_ERR_NOMEM.
 */
rgm_status rgm_graph_with_edges(rgm_graph **out, const rgm_graph *graph, const char *edge_set,
                                const rgm_tensor *edges);
/**
 * Readout set `readout_set` with one item a component that points at its first node (the seed, by
 * the samplers' convention). RGM_ERR_DATA for a component without nodes; RGM_ERR_ARG if there is
 * that key.
 */
rgm_status rgm_graph_readout_from_first_node(rgm_graph **out, const rgm_graph *graph,
                                             const char *key, const char *node_set,
                                             const char *readout_set);
/**
 * Values [num_readouts, ...] of `feature` read through "<readout_set>/<key>[/suffix]", dense
 * or ragged. Several edge sets of one key join by taking each item from where it points, so any
 * dtype. Padded items without an edge are zeros (empty rows).
 * Errors: RGM_ERR_ARG, RGM_ERR_DATA, RGM_ERR_NOT_FOUND, RGM_ERR_NOMEM.
 */
rgm_status rgm_graph_structured_readout(rgm_feature *out, const rgm_graph *graph, const char *key,
                                        const char *feature, const char *readout_set);
void rgm_feature_clear(rgm_feature *feature);
/**
 * The same, stored on the readout set as `new_feature` (NULL: the same name), and with `remove`
 * deleted where it was read so that it cannot leak. RGM_ERR_ARG if it is there already, unless
 * `overwrite`.
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
 * One loop a node appended to an edge set from a node set to itself: in each component the old
 * edges, then the loops, whose features are 0, false or empty.
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
 * `place` (e.g. "file.tfrecord: record 7") goes into messages.
 * Errors: RGM_ERR_ARG, RGM_ERR_FORMAT, RGM_ERR_DATA, RGM_ERR_NOMEM.
 */
rgm_status rgm_graph_decode(rgm_graph **out, rgm_schema *schema, const void *data, int64_t size,
                            const char *prefix, const char *place);
/**
 * Several Examples straight to one merged graph: the same as decoding each and merging, without the
 * graphs between. places [count] (or NULL) go into messages.
 * Errors: RGM_ERR_ARG, RGM_ERR_FORMAT, RGM_ERR_DATA, RGM_ERR_NOMEM.
 */
rgm_status rgm_graph_decode_batch(rgm_graph **out, rgm_schema *schema, const rgm_str *examples,
                                  int64_t count, const char *prefix, const char *const *places);

/* padding: rgm_size_constraints, satisfy, pad, find_tight, fit_or_skip */
typedef struct rgm_size_constraints rgm_size_constraints; /* counted totals per set */
void rgm_size_constraints_release(rgm_size_constraints *constraints);
/** With nothing set. Errors: RGM_ERR_NOMEM. */
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
 * Over unbatched graphs of a data set (elements: rgm_graph).
 * Errors: RGM_ERR_ARG, RGM_ERR_DATA, RGM_ERR_NOMEM.
 */
rgm_status rgm_tight_padding(rgm_size_constraints **out, const rgm_schema *schema,
                             rgm_dataset *graphs, int64_t batch_size, int64_t min_per_component);
rgm_status rgm_fit_or_skip_padding(rgm_size_constraints **out, const rgm_schema *schema,
                                   rgm_dataset *graphs, int64_t batch_size,
                                   int64_t min_per_component, int64_t sample_size,
                                   double success_ratio, uint64_t seed);

/* ---- the graph inside the compute graph ------------------------------------------------------ */

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
rgm_cgraph *rgm_graph_value_cgraph(const rgm_graph_value *graph);
const rgm_schema *rgm_graph_value_schema(const rgm_graph_value *graph);
/**
 * Builders below return NULL and keep the failure in the compute graph (names the nearest
 * feature).
 */
bool rgm_has_feature(const rgm_graph_value *graph, rgm_piece piece, const char *set,
                     const char *feature);
/** [items, ...] as the schema has the feature: items of all components. */
rgm_value *rgm_node_feature(const rgm_graph_value *graph, const char *node_set,
                            const char *feature);
rgm_value *rgm_edge_feature(const rgm_graph_value *graph, const char *edge_set,
                            const char *feature);
rgm_value *rgm_context_feature(const rgm_graph_value *graph, const char *feature);
/** A one_hot feature as pattern [nodes, vocabulary]: rgm_spmm(pattern, W) is its dense layer. */
rgm_value *rgm_node_sparse_feature(const rgm_graph_value *graph, const char *node_set,
                                   const char *feature);
/**
 * A feature as columns by a lookup, as rgm_graph_lookup() makes it: pattern [items, k * columns] of
 * k numbers an item, [items, columns] of lists. One lookup for each feature.
 */
rgm_value *rgm_lookup_rows(const rgm_graph_value *graph, rgm_piece piece, const char *set,
                           const char *feature, rgm_lookup *lookup);
/** The same by rgm_lookup_range() of `values`: pattern [items, k * values]. */
rgm_value *rgm_one_hot(const rgm_graph_value *graph, rgm_piece piece, const char *set,
                       const char *feature, int64_t values);
/** Each node as itself, pattern [nodes, `nodes`]: of one graph with that many, which stays. */
rgm_value *rgm_node_numbers(const rgm_graph_value *graph, const char *node_set, int64_t nodes);
/** Whether an input of this feature was made: the model reads it. Of the root's schema. */
bool rgm_reads_feature(const rgm_graph_value *graph, rgm_piece piece, const char *set,
                       const char *feature);
/** rows: nodes at the `receiver` end; columns: at the other; entries: edges in edge order. */
rgm_value *rgm_adjacency(const rgm_graph_value *graph, const char *edge_set, rgm_tag receiver);
/** rows: components; columns: items. */
rgm_value *rgm_membership(const rgm_graph_value *graph, rgm_piece piece, const char *set);
/** Symbolic item count of a set; components for the context. */
rgm_dim rgm_set_size(const rgm_graph_value *graph, rgm_piece piece, const char *set);
rgm_graph_value *rgm_with_feature(const rgm_graph_value *graph, rgm_piece piece, const char *set,
                                  const char *feature, rgm_value *value);
/** The same without a feature: asking for it fails. For labels that the model must not see. */
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
 * How what is read of a graph is changed on the way: a view with shuffled features, say, or with
 * fewer edges. Only what is read is changed. Auxiliary sets are read as they are. A function that
 * returns x leaves it; NULL is a failure that the compute graph has.
 */
typedef struct rgm_graph_reading {
    /** Of a feature x, dense [items, ...] or a pattern, in front of the change. "#number": nodes by
     * themselves. NULL: features stay. */
    rgm_value *(*feature)(const rgm_graph_value *graph, const rgm_set_schema *set,
                          const char *feature, rgm_value *x, const void *payload);
    /** Of an edge set's pattern [targets, sources]: the same with fewer entries. The functions of
     * features then give that many rows for its features. NULL: edges stay. */
    rgm_value *(*edges)(const rgm_graph_value *graph, const rgm_set_schema *set, rgm_value *pattern,
                        const void *payload);
    const void *payload; /* read until the model is built */
} rgm_graph_reading;
/** A view of the graph, read so. */
rgm_graph_value *rgm_with_reading(const rgm_graph_value *graph, const rgm_graph_reading *reading);
/** All features of auxiliary sets dropped: labels cannot reach the model. */
rgm_graph_value *rgm_without_aux_features(const rgm_graph_value *graph);

/**
 * Items of several sets reduced at their receivers, as if the sets were one: mean weighs each item
 * the same, max shares its gradient among all ties. RGM_CONTEXT pools to components; edges also to
 * an end.
 *
 * @param values       [in] [count], values[i] [items of sets[i], ...]
 * @param reduce_type  [in] sum, prod (1 for none), mean (0 for none), max and min (lowest and
 * highest number for none), max_no_inf and min_no_inf (0 for none); several joined by '|' are
 *                     concatenated on the last axis
 *
 * Returns [receivers, ...]. A pool of what was broadcast from the other end of the same edge set is
 * one sparse product.
 */
rgm_value *rgm_pool(const rgm_graph_value *graph, rgm_tag to, rgm_piece piece,
                    const char *const *sets, rgm_value *const *values, int64_t count,
                    const char *reduce_type /* "sum", "mean|max_no_inf", ... */);
/** Value of each item's end or component: [nodes | components, ...] -> [items, ...]. */
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
 * State of each component's first node [components, ...]; an empty component is an error of the
 * feed.
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
 * The same values computed from no more nodes and edges than they need, by rgm_cgraph_narrow():
 * where they read some nodes alone, through rgm_gather_first_node() or a structured readout, the
 * last round of messages is over those nodes, the one before over their neighbours too, and so on.
 * The values given stay as they are. Once for each root of `graph`, before gradients;
 * rgm_graph_feeds() then gives what both need.
 *
 * @param narrowed  [out] [count] the value itself where nothing is gained, and where models of very
 *                  many edge sets and rounds would need more than 448 feeds
 *
 * Errors: RGM_ERR_ARG (narrowed already; values of another compute graph), RGM_ERR_NOMEM.
 */
rgm_status rgm_graph_narrow(rgm_value **narrowed, rgm_value *const *values, int64_t count,
                            const rgm_graph_value *graph);
/**
 * What to feed for one concrete graph, which may be of another schema object: fills feeds
 * [capacity]; *count is how many there are. Feeds borrow from `graph` and are the same objects each
 * time, so that the executor sees what has not changed.
 *
 * Errors: RGM_ERR_NOT_FOUND (set or feature that the model asks for is not in the graph),
 * RGM_ERR_DATA (a feature of another shape; a readout that breaks its rules; a real component
 * without a first node), RGM_ERR_ARG (capacity), RGM_ERR_NOMEM.
 */
rgm_status rgm_graph_feeds(rgm_feed *feeds, int64_t capacity, int64_t *count,
                           const rgm_graph_value *root, rgm_graph *graph);

/** How rgm_by_rounds_run() goes about it. */
typedef struct rgm_by_rounds_options {
    int64_t chunk;      /* nodes at a time, default 65536                                       */
    int64_t memory;     /* bytes of the states that rounds leave to later ones, default 1 GiB;
                           what is more goes to files                                           */
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
 * An inference of `value` [nodes of a set, ...] of whole graphs, layer by layer (GraphSAGE,
 * Hamilton et al. 2017, appendix): each round of messages is computed for all nodes, `chunk` of
 * them at a time with the edges that end at them, from the states of the round before. So each
 * layer is computed once for each node, and memory is that of the states of a round, of a chunk
 * with its neighbours, and 4 bytes a node. Sums have the order that they have on the graph as a
 * whole.
 *
 * Opening builds the rounds in the compute graph, which keeps them; running adds nothing to it.
 *
 * @param out          [out] owned; ends before the compute graph and graph_value
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
 * All rows for one graph, to a sink. A mapped graph is read where it lies.
 *
 * @param graph  [in] of one component
 *
 * Errors: RGM_ERR_UNSUPPORTED (several components), those of rgm_graph_feeds(), the executor and
 * the sink, RGM_ERR_FORMAT and RGM_ERR_IO (a mapped graph; a file of states), RGM_ERR_NOMEM.
 */
rgm_status rgm_by_rounds_run(rgm_rows_sink *sink, void *payload, rgm_by_rounds *rounds,
                             rgm_graph *graph, const rgm_parameters *parameters);
/** The most bytes of states that rounds of a graph leave to later ones at a time. Errors:
 * RGM_ERR_UNSUPPORTED (several components), RGM_ERR_NOT_FOUND (a set that the graph lacks). */
rgm_status rgm_by_rounds_bytes(int64_t *bytes, rgm_by_rounds *rounds, rgm_graph *graph);
void rgm_by_rounds_close(rgm_by_rounds *rounds);

/**
 * Whether rgm_graph_feeds() will find what it looks up, in the features that the graph has: each
 * value has a column, numbered nodes are as many as they were. Makes nothing, so it is asked of
 * data before they are used. Errors: those of rgm_graph_check_lookup(), rgm_graph_check_numbers().
 */
rgm_status rgm_graph_check_values(const rgm_graph_value *root, const rgm_graph *graph);

/** An input that carries what a model learns from, and what it is of the graph. */
typedef struct rgm_graph_input {
    rgm_piece piece;
    const char *set;     /* NULL: the context                                                  */
    const char *feature; /* NULL: the edges themselves, a pattern whose entry e is edge e        */
    rgm_value *value;    /* of a feature its values [items, ..], or a pattern [items, columns] */
} rgm_graph_input;
/**
 * The edges and features that are inputs by now, but those of readouts and other auxiliary sets:
 * their number, of which the first `capacity` are told.
 */
int64_t rgm_graph_value_inputs(rgm_graph_input *out, int64_t capacity,
                               const rgm_graph_value *graph);

/**
 * From here on only those inputs are fed that `outputs` [count] depend on: a graph to predict for
 * needs no labels. Errors: RGM_ERR_NOMEM.
 */
rgm_status rgm_graph_value_keep(rgm_graph_value *root, rgm_value *const *outputs, int64_t count);

/* ---- graphs as tables: what exported models take ----------------------------------------------
 */

/**
 * Every table of a graph by its key in a tf.train.Example: sizes of sets in each component
 * ("nodes/paper.#size" [components] i64), ends of edges ("edges/cites.#source", "#target" [edges]
 * i64), values of features ("nodes/paper.year" [items, ...], of ragged ones as rgm_feature has
 * them) and row lengths ("nodes/paper.words.d1" i64). Absent features and those of text are left
 * out. rgm_onnx_inputs_release() gives them back.
 * Errors: RGM_ERR_DATA, RGM_ERR_NOMEM.
 */
rgm_status rgm_graph_tables(rgm_named_tensor **tables, int64_t *count, const rgm_graph *graph);
/**
 * How each input that was made so far comes of these tables, for the file of a model: edges in any
 * order, integers as they are, items of components as #size counts them. Of several graphs the
 * tables are those of rgm_graph_merge(). A mask of real items is 1 everywhere: nobody serves
 * padding.
 *
 * @param options  [in, out] inputs and sizes are set; they belong to the root, until the next call
 *
 * Errors: RGM_ERR_NOMEM.
 */
rgm_status rgm_graph_value_tables(rgm_onnx_options *options, const rgm_graph_value *root);

/* ---- sampling ------------------------------------------------------------------------------- */

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
    bool up_to_seed; /* edges at the seed's time itself are taken too, not those before it alone */
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
 * Hop i goes along edge_sets[i] ("<cites": from target to source) from all that hop i - 1 reached,
 * sizes[i] edges for each node. Ops are named "<edge_set>-<i>". RGM_ERR_CONFIG where a hop does not
 * start where the one before ends.
 */
rgm_status rgm_sampling_spec_create(rgm_sampling_spec **out, const rgm_schema *schema,
                                    const char *seed_node_set, const char *const *edge_sets,
                                    const int64_t *sizes, int64_t hops,
                                    rgm_sample_strategy strategy);
/** The edge feature that every op of the spec weighs by; copied. Errors: RGM_ERR_NOMEM. */
rgm_status rgm_sampling_spec_set_weight(rgm_sampling_spec *spec, const char *feature);
/**
 * Times, copied: `feature` is the time of every op's edges but of those edge sets that stand in
 * always_there [always_count]. With seed_feature, a time of each seed node, no edge is taken that
 * is not earlier than the seed (`up_to_seed`: later than it), in whichever hop, and each seed of
 * rgm_sampler_batch() has a component of its own, so that none sees another's past. Integers are
 * compared as integers, else both sides as doubles. Features of nodes are taken as they are.
 *
 * @param seed_feature  [in] NULL: times are only what LATEST_K ranks by
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
 * Whether a node's edges of an edge set are drawn once, by the first op that follows the set from
 * it, as PyG's NeighborLoader does; else (default, as TF-GNN) by every op that reaches the node
 * again. So the node hears no more than one op's size, and the rounds of a model that is as deep as
 * there are hops shrink towards the seeds. To be set before sampling.
 */
void rgm_sampler_set_once(rgm_sampler *sampler, bool once);
/**
 * The rooted subgraph of seed node `node`: the seed is node 0 of its set, then nodes in the order
 * of the ops that reach them, by number within one op; the edges traversed, each once (no others),
 * by op and frontier node; features copied; feature "#id" has the original numbers. Uniform and
 * weighted draws are without replacement, min(size, degree) edges (weighted: edges of weight 0
 * never), independent for each op and frontier node. A function of (sampler seed, epoch, node)
 * alone: the same for any thread and order.
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
 * thread, in the order of nodes. It ends at the first error, of a node or of the sink.
 * Errors: RGM_ERR_ARG, RGM_ERR_DATA, RGM_ERR_UNSUPPORTED, RGM_ERR_NOT_FOUND, RGM_ERR_IO,
 * RGM_ERR_NOMEM.
 */
rgm_status rgm_sampler_run(const rgm_sampler *sampler, const int64_t *nodes, int64_t count,
                           const rgm_sampler_run_options *options, rgm_sample_sink *sink,
                           void *payload);

/* ---- import, generation, statistics ---------------------------------------------------------- */

/** A data set as whole graphs: one big graph, or one per example; and its split. */
typedef struct rgm_graph_data {
    rgm_schema *schema;
    rgm_graph **graphs;
    int64_t graph_count;
    char *split_set;                  /* node set the split speaks of; NULL: graphs */
    char *split_name;                 /* its folder's below split/; NULL: "default" */
    rgm_tensor *train, *valid, *test; /* i64 numbers of nodes or graphs; NULL when absent */
} rgm_graph_data;
/** Releases what it holds and makes it empty; `{0}` is a valid empty one. */
void rgm_graph_data_clear(rgm_graph_data *data);

/** Files of triples by part, each a list; names of the sets, NULL: "entity", "fact". */
typedef struct rgm_triples_options {
    rgm_texts train, valid, test;
    const char *node_set, *edge_set;
} rgm_triples_options;
/** Context feature, a list of texts: what relations are called, by their numbers. */
#define RGM_RELATION_NAMES "relation_names"
/**
 * A knowledge graph from lines "head<TAB>relation<TAB>tail" (quotes and line ends as in CSV, gzip
 * if it is that): one node set with feature "name", one edge set with features "relation", one_hot,
 * and "part", 0 train, 1 valid, 2 test. Numbers of entities and relations are in the order of their
 * first appearance. Entities and relations that training has none of are told as a warning.
 *
 * Errors: RGM_ERR_FORMAT "FILE:line: what", RGM_ERR_DATA (no training triple), RGM_ERR_NOT_FOUND,
 * RGM_ERR_IO, RGM_ERR_NOMEM.
 */
rgm_status rgm_import_triples(rgm_graph_data *out, const rgm_triples_options *options);
struct rgm_graph_writer_options;
/**
 * The same into a new graph file, for more facts than memory holds: the files are read twice, for
 * the names, which stay in memory, and for the facts, a block at a time. The file is to the byte
 * that of rgm_graph_data_write(). writer NULL: the defaults. Errors: those of both.
 */
rgm_status rgm_import_triples_file(const char *file, const rgm_triples_options *options,
                                   const struct rgm_graph_writer_options *writer);

typedef struct rgm_import_options {
    const char *split; /* folder below split/; NULL: the only one, else an error listing them */
    bool undirected;   /* add the reverse of each edge: to its set (homogeneous; a loop is its own
                          reverse), or as edge sets "rev_<name>" (heterogeneous)                   */
    bool sort_edges; /* by target, then source: memory order of the kernels (default true)        */
    bool relabel;    /* number the distinct integer labels 0, 1, ... in ascending order; -1 is none
                        and stays, unless the labels are -1 and 1 alone                       */
    double sparse_below; /* a 0/1 feature matrix with less than this share of ones becomes a one_hot
                            feature "words" (default 0.1) */
    const char *node_set, *edge_set; /* names for homogeneous data (defaults "nodes", "edges") */
    rgm_texts labels;   /* csv: features of which an empty field is a label that is missing: NaN, of
                           integers -1; none: "label"                                            */
    bool skip_dangling; /* leave out edges with an end that is no node, and tell how many; default:
                           they are an error                                                     */
} rgm_import_options;
#define RGM_IMPORT_OPTIONS_INIT                                                                    \
    {                                                                                              \
        .undirected = true, .sort_edges = true, .sparse_below = 0.1                                \
    }
/**
 * An OGB data set in raw CSV, plain or gzip: PATH/raw and PATH/split. Homogeneous: edge,
 * num-node-list, num-edge-list, and if there node-feat, edge-feat, node-label, edge-label,
 * graph-label; one graph, or one for each row of num-node-list. Heterogeneous (num-node-dict):
 * triplets, triplet-list or triplet-type-list, relations/<source>___<name>___<target>/edge,
 * node-feat/<set>/node-feat, node-label/<set>/node-label; an edge set is named by its relation, by
 * the whole triplet where a relation has several.
 *
 * Integer features in up to 16 columns are categories: i64 "feat"; other features f32 "feat"
 * [columns] (one column: a scalar), but see sparse_below. Labels: i64 "label" (f32 where a cell is
 * not an integer); an empty field is a label that is missing, -1 or NaN ("" in a file of one
 * column, whose empty lines are passed over).
 *
 * Errors: RGM_ERR_NOT_FOUND; RGM_ERR_FORMAT and RGM_ERR_DATA "FILE:line: what" with the numbers.
 */
rgm_status rgm_import_ogb(rgm_graph_data *out, const char *path, const rgm_import_options *options);
/**
 * CSV node and edge tables named by the metadata.filename of a schema's sets, relative to the
 * schema (a file, "name@N", or a pattern). Node tables have a column "id", edge tables "source" and
 * "target": any text, mapped to rows; and a column for each scalar feature, or columns "feature.0",
 * "feature.1", ... for dense ones; '#' may stand in front of a column's name. Sets without a
 * filename: node sets are sized by the ids that edges name, edge sets are empty.
 *
 * A folder split/<options.split>/ beside the schema, as OGB has it, lists the ids of train.csv,
 * valid.csv and test.csv, of the node set that it has a folder for or that options.node_set names.
 * Of the options also labels and skip_dangling count; NULL: the defaults.
 * Errors: RGM_ERR_ARG, RGM_ERR_SHAPE, RGM_ERR_DTYPE, RGM_ERR_FORMAT, RGM_ERR_DATA,
 * RGM_ERR_UNSUPPORTED, RGM_ERR_NOT_FOUND, RGM_ERR_IO, RGM_ERR_NOMEM.
 */
rgm_status rgm_import_csv(rgm_graph_data *out, const char *schema_path,
                          const rgm_import_options *options);
/**
 * The same into a new graph file, for tables larger than memory: node tables are read twice, first
 * for the ids, which stay in memory, then for the features; edge tables once, or twice where a node
 * set has no table; all of them a block of rows at a time. The file is to the byte that of
 * rgm_graph_data_write(). options, writer NULL: the defaults. Errors: those of both.
 */
rgm_status rgm_import_csv_file(const char *file, const char *schema_path,
                               const rgm_import_options *options,
                               const struct rgm_graph_writer_options *writer);

typedef struct rgm_graph_data_save_options {
    int64_t shards;
    bool gzip;
} rgm_graph_data_save_options;
#define RGM_GRAPH_DATA_SAVE_OPTIONS_INIT                                                           \
    {                                                                                              \
        .shards = 1                                                                                \
    }
/**
 * Write a new folder: schema.pbtxt, graphs-?????-of-?????.tfrecord (.gz when compressed; one
 * tf.train.Example each, numbered shard by shard, which shards.txt says when there are several) and
 * split/<split_name>/[<set>/]{train,valid,test}.csv. The folder appears when it is complete.
 * RGM_ERR_BUSY when it is there already.
 */
rgm_status rgm_graph_data_save(const rgm_graph_data *data, const char *folder,
                               const rgm_graph_data_save_options *options);
/**
 * Such a folder; or a graph file (rgm_graph_data_open()); or one of rgm_sampler_save(), whose files
 * train-*, valid-* and test-* are then the split; or any with schema.pbtxt and *.tfrecord files.
 * split NULL as in the import options. Errors: RGM_ERR_ARG, RGM_ERR_SHAPE, RGM_ERR_DTYPE,
 * RGM_ERR_FORMAT, RGM_ERR_DATA, RGM_ERR_NOT_FOUND, RGM_ERR_IO, RGM_ERR_NOMEM.
 */
rgm_status rgm_graph_data_load(rgm_graph_data *out, const char *folder, const char *split);

/**
 * Make the split anew as one fold of a cross-validation (rgm_folds_parts), stratified by a label:
 * of graphs by that of their context, or of their only item of "_readout"; of one graph by that of
 * the split's node set, without a split the only one that has it. Items without a label (NaN, of
 * integer classes -1) are in no part.
 *
 * @param label    [in] NULL, or a feature that there is not or that is text: all items are alike
 * @param numbers  [in] labels are no classes: -1 is one too
 *
 * Errors: RGM_ERR_CONFIG, RGM_ERR_DATA (classes are -1 and 1), RGM_ERR_NOMEM; the split is then as
 * it was.
 */
rgm_status rgm_graph_data_fold(rgm_graph_data *data, const rgm_folds *folds, const char *label,
                               bool numbers);
/** A share of the training part becomes the validation part, stratified likewise. RGM_ERR_CONFIG:
 * there is one, or a part would have no item. */
rgm_status rgm_graph_data_hold_out(rgm_graph_data *data, double share, uint64_t seed,
                                   const char *label, bool numbers);

/* ---- graph files: one graph, larger than memory ---------------------------------------------- */

/**
 * Writes a graph file (docs/graph.md) part by part: how many nodes each set has first, then edges
 * and features in any order and in as many calls as one likes, each call's items behind those of
 * the call before. Takes rgm_graph_writer_ceiling() bytes of memory, and disk twice for edges,
 * lists and texts while it works.
 */
typedef struct rgm_graph_writer rgm_graph_writer;
typedef struct rgm_graph_writer_options {
    int64_t memory; /* bytes that edges are sorted in, at least 1 MiB; less take more passes */
} rgm_graph_writer_options;
#define RGM_GRAPH_WRITER_OPTIONS_INIT                                                              \
    {                                                                                              \
        .memory = 268435456                                                                        \
    }
/** options NULL: the defaults. Errors: RGM_ERR_BUSY (`path` is there already), RGM_ERR_ARG,
 * RGM_ERR_DATA (the schema), RGM_ERR_IO, RGM_ERR_NOT_FOUND, RGM_ERR_NOMEM. */
rgm_status rgm_graph_writer_open(rgm_graph_writer **out, const char *path, const rgm_schema *schema,
                                 const rgm_graph_writer_options *options);
/** Without rgm_graph_writer_finish() before, nothing is left. */
void rgm_graph_writer_release(rgm_graph_writer *writer);
/** Errors: RGM_ERR_ARG (said before), RGM_ERR_UNSUPPORTED (2^31 nodes), RGM_ERR_NOT_FOUND. */
rgm_status rgm_graph_writer_items(rgm_graph_writer *writer, const char *node_set, int64_t items);
/** `count` edges more. Errors: RGM_ERR_DATA (edge, index, limit), RGM_ERR_ARG (nodes are not said),
 * RGM_ERR_UNSUPPORTED (2^31 edges), RGM_ERR_NOT_FOUND, RGM_ERR_IO, RGM_ERR_NOMEM. */
rgm_status rgm_graph_writer_edges(rgm_graph_writer *writer, const char *edge_set,
                                  const int64_t *source, const int64_t *target, int64_t count);
/** A feature of the items behind those of before. Errors: RGM_ERR_SHAPE (it is not what the schema
 * says), RGM_ERR_DATA (more than there are), RGM_ERR_ARG, RGM_ERR_NOT_FOUND, RGM_ERR_IO,
 * RGM_ERR_NOMEM. */
rgm_status rgm_graph_writer_feature(rgm_graph_writer *writer, rgm_piece piece, const char *set,
                                    const char *feature, const rgm_feature *value);
/** parts: train, valid, test, i64 node numbers; NULL: absent. name NULL: none. Errors:
 * RGM_ERR_DATA, RGM_ERR_NOT_FOUND, RGM_ERR_IO, RGM_ERR_NOMEM. */
rgm_status rgm_graph_writer_split(rgm_graph_writer *writer, const char *node_set, const char *name,
                                  rgm_tensor *const parts[3]);
/** Bytes of memory that finishing takes at most: `memory`, 8 for each node of the largest set, and
 * 4 MiB. */
int64_t rgm_graph_writer_ceiling(const rgm_graph_writer *writer);
/**
 * Sort the edges by both ends, and give the file its name when all of it is on disk. Once. Errors:
 * RGM_ERR_DATA (a feature of fewer items than its set), RGM_ERR_IO, RGM_ERR_NOMEM.
 */
rgm_status rgm_graph_writer_finish(rgm_graph_writer *writer);
/** One whole graph and its split as a graph file. Errors: RGM_ERR_DATA (several graphs), and those
 * of the functions above. */
rgm_status rgm_graph_data_write(const rgm_graph_data *data, const char *path,
                                const rgm_graph_writer_options *options);
/**
 * Open a graph file: the same time and memory for any size. Its graph points into the mapped file;
 * rgm_sampler_create() samples it there, features gathered for each batch. What asks for the whole
 * of an edge set, or of a feature of lists or texts (an adjacency, encoding, merging), has it
 * copied to memory and checked once. No number of the file is believed before it is looked at; a
 * file that is cut while it is open is RGM_ERR_IO for who uses it (rgm_file_map_guarded()). Errors:
 * RGM_ERR_FORMAT, RGM_ERR_UNSUPPORTED (another version), RGM_ERR_DATA (its schema),
 * RGM_ERR_NOT_FOUND, RGM_ERR_IO, RGM_ERR_NOMEM.
 */
rgm_status rgm_graph_data_open(rgm_graph_data *out, const char *path);
/** Whether a file begins as a graph file does; rgm_graph_data_load() opens such files too. */
bool rgm_is_graph_file(const char *path);
/** All of a mapped graph is checked, and its edges, lists and texts copied to memory. Errors:
 * RGM_ERR_FORMAT (where), RGM_ERR_IO (it was cut), RGM_ERR_NOMEM. */
rgm_status rgm_graph_read_whole(const rgm_graph *graph);
/** Bytes of the files that a graph's numbers are in; 0: it is in memory. */
int64_t rgm_graph_mapped_bytes(const rgm_graph *graph);

/** Seeds whose subgraphs go to files of one name. */
typedef struct rgm_sample_part {
    const char *name;  /* "train" */
    rgm_tensor *nodes; /* i64     */
} rgm_sample_part;
typedef struct rgm_sampler_save_options {
    rgm_sampler_run_options run; /* its encode is always taken as true                        */
    int64_t shards;              /* files of each part: what a kill can cost is one of them   */
    bool gzip;
    int64_t share, shares; /* write only those files of which the number mod `shares` is `share` */
} rgm_sampler_save_options;
#define RGM_SAMPLER_SAVE_OPTIONS_INIT                                                              \
    {                                                                                              \
        .run = RGM_SAMPLER_RUN_OPTIONS_INIT, .shards = 1, .shares = 1                              \
    }
/**
 * Sample the seeds of each part in parallel into a new folder: schema.pbtxt, sampling.txt (what was
 * asked for) and, for each part, <name>-?????-of-?????.tfrecord with one subgraph a record. The
 * same bytes for any number of threads, processes (with shares) and stops on the way.
 *
 * Files are written below FOLDER.sampling, each complete or not at all, and the folder gets its
 * name when all are there. A call that finds some goes on with the others; several processes with
 * another share each may work at once, and the last one finishes. Where the folder is there
 * already with the same sampling.txt nothing is done.
 *
 * Errors: RGM_ERR_BUSY (the folder, or one under way, is of something else), RGM_ERR_ARG,
 * RGM_ERR_IO, those of rgm_sampler_run(). What was complete stays for the next call.
 */
rgm_status rgm_sampler_save(const rgm_sampler *sampler, const rgm_sample_part *parts, int64_t count,
                            const char *folder, const rgm_sampler_save_options *options);

/**
 * A citation-like graph: planted communities, power-law degrees, sparse words or dense features.
 */
typedef struct rgm_citation_options {
    int64_t nodes;
    int64_t edges; /* pairs; each is stored both ways, sorted by target            */
    int64_t classes;
    int64_t words, words_per_node; /* one_hot feature "words"                         */
    int64_t dense;    /* > 0: f32 feature "feat" of that width in place of the words    */
    double homophily; /* share of edges inside a community                              */
    double noise;     /* share of words drawn from all classes; of dense features, the
                         standard deviation of the noise around a class's centre of norm 1 */
    double exponent;  /* of the degree distribution, > 2                                */
    int64_t train_per_class, valid, test;
    int64_t seed;
    const char *node_set, *edge_set; /* NULL: "nodes", "edges"                            */
} rgm_citation_options;
/** About Cora: a two-layer GCN gets about 0.8 on the test part, one without edges 0.58. */
#define RGM_CITATION_OPTIONS_INIT                                                                  \
    {                                                                                              \
        .nodes = 2708, .edges = 5278, .classes = 7, .words = 1433, .words_per_node = 18,           \
        .homophily = 0.7, .noise = 0.73, .exponent = 2.5, .train_per_class = 20, .valid = 500,     \
        .test = 1000, .seed = 1                                                                    \
    }
/** Of the size of ogbn-arxiv. */
#define RGM_CITATION_OPTIONS_LARGE                                                                 \
    {                                                                                              \
        .nodes = 169343, .edges = 1166243, .classes = 40, .dense = 128, .homophily = 0.65,         \
        .noise = 0.45, .exponent = 2.3, .train_per_class = 1000, .valid = 30000, .test = 48000,    \
        .seed = 1                                                                                  \
    }
/** Nodes have "label" i64. RGM_ERR_ARG for options that contradict each other. */
rgm_status rgm_generate_citation(rgm_graph_data *out, const rgm_citation_options *options);

/** Accounts with dated events, and a label that only the latest of their past tells. */
typedef struct rgm_events_options {
    int64_t accounts;
    int64_t kinds;        /* of events, and labels                                            */
    int64_t recent;       /* the label is the commonest kind of so many last events ...       */
    int64_t past, future; /* ... of all before the account's time; events behind it           */
    double noise;         /* share of labels that are another kind: 1 - noise is the optimum  */
    int64_t train, valid; /* accounts; the others are to test on                              */
    int64_t seed;
} rgm_events_options;
#define RGM_EVENTS_OPTIONS_INIT                                                                    \
    {                                                                                              \
        .accounts = 10000, .kinds = 4, .recent = 5, .past = 20, .future = 10, .noise = 0.1,        \
        .train = 4000, .valid = 1000, .seed = 1                                                    \
    }
/**
 * One graph: node sets "account" ("asked" i64, its time; "label" i64) and "event" ("kind" f32,
 * one-hot), edge set "has" from account to event ("time" i64), in no order. Of equally common kinds
 * the label is the lowest. Events after an account's time are of its label's kind where it is a
 * training account and random elsewhere: a sampler that takes them makes a model that knows the
 * training labels and nothing else. Errors: RGM_ERR_ARG, RGM_ERR_NOMEM.
 */
rgm_status rgm_generate_events(rgm_graph_data *out, const rgm_events_options *options);
/**
 * A random graph of a schema: TF-GNN's random_graph_tensor() with its defaults (2 to 8 nodes a
 * component, 1 or 2 components, edges and values as TF-GNN's random_graph_tensor). A function of
 * (seed, index).
 * Errors: RGM_ERR_DATA, RGM_ERR_NOMEM.
 */
rgm_status rgm_generate_graph(rgm_graph **out, rgm_schema *schema, uint64_t seed, uint64_t index);

/** Counts and quantiles of sets and features over any number of graphs. */
typedef struct rgm_stats rgm_stats;
/** Of no graph yet. Errors: RGM_ERR_DATA, RGM_ERR_NOMEM. */
rgm_status rgm_stats_create(rgm_stats **out, rgm_schema *schema);
void rgm_stats_release(rgm_stats *stats);
rgm_status rgm_stats_add(rgm_stats *stats, const rgm_graph *graph);
/**
 * A table for people: items a graph, edges a node at both ends, values and row lengths of
 * features.
 * Errors: RGM_ERR_NOMEM.
 */
rgm_status rgm_stats_print(rgm_text *out, const rgm_stats *stats);
/** The same as one JSON object. Errors: RGM_ERR_NOMEM. */
rgm_status rgm_stats_print_json(rgm_text *out, const rgm_stats *stats);

#ifdef __cplusplus
}
#endif
#endif

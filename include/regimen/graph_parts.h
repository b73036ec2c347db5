/*
 * graph: makes graphs from parts that are known to fit, and takes parts out of a graph in memory or
 * in a file. Samplers and importers are built on it. For data from elsewhere use rgm_graph_builder,
 * which checks them.
 */
#ifndef REGIMEN_GRAPH_PARTS_H
#define REGIMEN_GRAPH_PARTS_H

#include <regimen/graph.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- features ---------------------------------------------------------------------------------
 */

/** The last ragged dim (1-based), 0 if dense. */
int rgm_feature_last_ragged(const rgm_feature_schema *schema);
/**
 * Fill in the shape of `values` for `rows` rows, with item dims up to the last ragged one
 * flattened. Returns its rank.
 */
int rgm_feature_values_shape(int64_t shape[RGM_MAX_RANK], const rgm_feature_schema *schema,
                             int64_t rows);
/** The same tensors, each retained. */
void rgm_feature_retain(rgm_feature *out, const rgm_feature *feature);
/**
 * Some items of a feature, in the order given. items [count]; -1 gives zeros (an empty row).
 * Errors: RGM_ERR_NOMEM.
 */
rgm_status rgm_feature_take(rgm_feature *out, const rgm_feature_schema *schema,
                            const rgm_feature *feature, const int64_t *items, int64_t count);

/**
 * A pool of the large tensors that each batch makes and frees. Returning their pages to the system
 * and getting new cleared ones costs as much as filling them, so some are kept. Counted: tensors
 * may outlive it.
 */
typedef struct rgm_buffers rgm_buffers;
/** Errors: RGM_ERR_NOMEM. */
rgm_status rgm_buffers_create(rgm_buffers **out);
/** Free idle tensors now, and those in use as soon as they come back. */
void rgm_buffers_close(rgm_buffers *buffers);
/**
 * A tensor with undefined content: the caller must write every element. Not for strings.
 * Errors: RGM_ERR_NOMEM.
 */
rgm_status rgm_buffers_tensor(rgm_tensor **out, rgm_buffers *buffers, rgm_dtype dtype, int rank,
                              const int64_t *shape);

/** Reads some items of one feature, repeatedly; a feature in a file is read in place. */
typedef struct rgm_feature_reader rgm_feature_reader;
/**
 * @param graph    [in] outlives the reader, as does `schema`
 * @param schema   [in] of the feature, which the graph has
 * @param buffers  [in] what dense results are made in; outlives the reader
 *
 * Errors: RGM_ERR_NOMEM.
 */
rgm_status rgm_feature_reader_create(rgm_feature_reader **out, const rgm_graph *graph,
                                     rgm_piece piece, const char *set,
                                     const rgm_feature_schema *schema, rgm_buffers *buffers);
void rgm_feature_reader_release(rgm_feature_reader *reader);
/**
 * Read items `items` [count] of the feature, in that order, with up to `threads` threads.
 * Errors: RGM_ERR_FORMAT, RGM_ERR_IO (a file's feature), RGM_ERR_NOMEM; *out is then zeros.
 */
rgm_status rgm_feature_reader_take(rgm_feature *out, const rgm_feature_reader *reader,
                                   const int32_t *items, int64_t count, int threads);

/* ---- a graph as it lies ------------------------------------------------------------------------
 */

/** Whether the graph has values of a feature; they may still be in its file. */
bool rgm_graph_has_feature(const rgm_graph *graph, rgm_piece piece, const char *set,
                           const char *feature);
/** Edges of a set by the nodes at one end; see rgm_graph_edge_rows(). */
typedef struct rgm_edge_rows {
    const rgm_csr *csr; /* rows: nodes at the end; entry: edges' numbers */
    int64_t max_degree;
    bool doubted; /* from a file: what is read from csr must be checked, see rgm_graph_broken() */
} rgm_edge_rows;
/**
 * The rows of an edge set: those in the graph's file, unchanged, or else those of
 * rgm_graph_adjacency(). Borrowed from the graph.
 * Errors: RGM_ERR_NOT_FOUND, those of rgm_graph_adjacency().
 */
rgm_status rgm_graph_edge_rows(rgm_edge_rows *out, const rgm_graph *graph, const char *edge_set,
                               rgm_tag end);
/**
 * Check that a file's rows, columns and numbers of that end are all in range. RGM_ERR_FORMAT,
 * RGM_ERR_IO.
 */
rgm_status rgm_graph_check_edge_rows(const rgm_graph *graph, const char *edge_set, rgm_tag end);
/**
 * Read sources and targets of all edge sets into memory and check them. RGM_ERR_FORMAT, RGM_ERR_IO,
 * RGM_ERR_NOMEM.
 */
rgm_status rgm_graph_read_edges(const rgm_graph *graph);
/** RGM_ERR_IO when the graph's file was truncated: what was read since is zeros. */
rgm_status rgm_graph_check_uncut(const rgm_graph *graph);
/**
 * The error that a reader of doubted rows returns when it finds an invalid one: RGM_ERR_FORMAT,
 * RGM_ERR_IO.
 */
rgm_status rgm_graph_broken(const rgm_graph *graph);
/**
 * Bound the number of items that a file declares by the size of its other content. Nodes without
 * features take no byte in a file, but they take memory once degrees, masks and states are made for
 * them. RGM_ERR_DATA when `items` are more than 65,536 and 16 for each of `bytes`; `what` names the
 * source of the number.
 */
rgm_status rgm_graph_check_declared(int64_t items, int64_t bytes, const char *what);

/*
 * ---- a graph under construction
 * ---------------------------------------------------------------------
 */

/**
 * Begin a graph without items and features. No other code may use it before rgm_graph_seal().
 * Errors: RGM_ERR_NOMEM.
 */
rgm_status rgm_graph_begin(rgm_graph **out, rgm_schema *schema, int64_t components, int64_t real);
/**
 * The same, but sharing all sets and features of `graph` that have the same names.
 * Errors: RGM_ERR_NOMEM.
 */
rgm_status rgm_graph_begin_from(rgm_graph **out, rgm_schema *schema, const rgm_graph *graph);
/**
 * Set the items of a set, in a graph of one component. source, target: i64 [count], retained; NULL:
 * no edges.
 *
 * @param set  [in] its place in the schema: rgm_schema_index()
 *
 * Errors: RGM_ERR_NOMEM.
 */
rgm_status rgm_graph_put_items(rgm_graph *graph, int64_t set, int64_t count, rgm_tensor *source,
                               rgm_tensor *target);
/** Set a feature's values. Takes over their references, also on failure. Errors: RGM_ERR_NOMEM. */
rgm_status rgm_graph_put_feature(rgm_graph *graph, int64_t set, int64_t feature,
                                 rgm_feature *value);
/**
 * Complete the graph: a set that got no items is empty (the context: ones), and edge sets get the
 * numbers of nodes at their ends. The graph is immutable from here on.
 * Errors: RGM_ERR_NOMEM.
 */
rgm_status rgm_graph_seal(rgm_graph *graph);

#ifdef __cplusplus
}
#endif
#endif

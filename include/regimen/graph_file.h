/*
 * graph: graph files. A file holds one graph and its split, may be larger than memory, and is
 * sampled in place.
 */
#ifndef REGIMEN_GRAPH_FILE_H
#define REGIMEN_GRAPH_FILE_H

#include <regimen/graph_data.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Writes a graph file (docs/graph.md) part by part. The caller first gives the number of nodes of
 * each set, then edges and features in any order and in any number of calls; each call appends its
 * items to those of the call before. The writer takes rgm_graph_writer_ceiling() bytes of memory,
 * and while it works edges, lists and texts take their disk space twice.
 */
typedef struct rgm_graph_writer rgm_graph_writer;
typedef struct rgm_graph_writer_options {
    int64_t memory; /* bytes for sorting edges, at least 1 MiB; less memory takes more passes */
} rgm_graph_writer_options;
#define RGM_GRAPH_WRITER_OPTIONS_INIT                                                              \
    {                                                                                              \
        .memory = 268435456                                                                        \
    }
/**
 * options NULL: the defaults. Errors: RGM_ERR_BUSY (`path` exists already), RGM_ERR_ARG,
 * RGM_ERR_DATA (the schema), RGM_ERR_IO, RGM_ERR_NOT_FOUND, RGM_ERR_NOMEM.
 */
rgm_status rgm_graph_writer_open(rgm_graph_writer **out, const char *path, const rgm_schema *schema,
                                 const rgm_graph_writer_options *options);
/** Release the writer. Without rgm_graph_writer_finish() before it no file remains. */
void rgm_graph_writer_release(rgm_graph_writer *writer);
/**
 * Set the number of nodes of a set. Errors: RGM_ERR_ARG (set before), RGM_ERR_UNSUPPORTED (2^31
 * nodes), RGM_ERR_NOT_FOUND.
 */
rgm_status rgm_graph_writer_items(rgm_graph_writer *writer, const char *node_set, int64_t items);
/**
 * Append `count` edges. Errors: RGM_ERR_DATA (edge, index, limit), RGM_ERR_ARG (the number of nodes
 * is not set), RGM_ERR_UNSUPPORTED (2^31 edges), RGM_ERR_NOT_FOUND, RGM_ERR_IO, RGM_ERR_NOMEM.
 */
rgm_status rgm_graph_writer_edges(rgm_graph_writer *writer, const char *edge_set,
                                  const int64_t *source, const int64_t *target, int64_t count);
/**
 * Append a feature's values for the next items. Errors: RGM_ERR_SHAPE (not the shape in the
 * schema), RGM_ERR_DATA (more values than items), RGM_ERR_ARG, RGM_ERR_NOT_FOUND, RGM_ERR_IO,
 * RGM_ERR_NOMEM.
 */
rgm_status rgm_graph_writer_feature(rgm_graph_writer *writer, rgm_piece piece, const char *set,
                                    const char *feature, const rgm_feature *value);
/** parts: train, valid, test, i64 node numbers; NULL: absent. name NULL: none. Errors:
 * RGM_ERR_DATA, RGM_ERR_NOT_FOUND, RGM_ERR_IO, RGM_ERR_NOMEM. */
rgm_status rgm_graph_writer_split(rgm_graph_writer *writer, const char *node_set, const char *name,
                                  rgm_tensor *const parts[3]);
/**
 * The most bytes of memory that finishing takes: `memory`, 8 for each node of the largest set, and
 * 4 MiB.
 */
int64_t rgm_graph_writer_ceiling(const rgm_graph_writer *writer);
/**
 * Sort the edges by both ends, and give the file its name when all of it is on disk. To be called
 * once. Errors: RGM_ERR_DATA (a feature of fewer items than its set), RGM_ERR_IO, RGM_ERR_NOMEM.
 */
rgm_status rgm_graph_writer_finish(rgm_graph_writer *writer);
/**
 * Write one whole graph and its split as a graph file. Errors: RGM_ERR_DATA (several graphs), and
 * those of the functions above.
 */
rgm_status rgm_graph_data_write(const rgm_graph_data *data, const char *path,
                                const rgm_graph_writer_options *options);
/**
 * Open a graph file. This takes the same time and memory for any size. The graph points into the
 * mapped file. rgm_sampler_create() samples it there and gathers features for each batch. A call
 * that needs a whole edge set, or a whole feature of lists or texts (an adjacency, encoding,
 * merging), copies it to memory and checks it once. Every number of the file is checked before it
 * is used. If the file is truncated while it is open, calls that use it return RGM_ERR_IO
 * (rgm_file_map_guarded()). Errors: RGM_ERR_FORMAT, RGM_ERR_UNSUPPORTED (another version),
 * RGM_ERR_DATA (its schema), RGM_ERR_NOT_FOUND, RGM_ERR_IO, RGM_ERR_NOMEM.
 */
rgm_status rgm_graph_data_open(rgm_graph_data *out, const char *path);
/** Whether a file begins as a graph file does; rgm_graph_data_load() opens such files too. */
bool rgm_is_graph_file(const char *path);
/**
 * Check all of a mapped graph, and copy its edges, lists and texts to memory. Errors:
 * RGM_ERR_FORMAT (where), RGM_ERR_IO (it was cut), RGM_ERR_NOMEM.
 */
rgm_status rgm_graph_read_whole(const rgm_graph *graph);
/**
 * Check the checksum of each section of the file that a graph is mapped from, which reads all of
 * it. *there is false, and nothing is checked, if the graph is in memory or its file has none, as
 * those of earlier versions. Errors: RGM_ERR_FORMAT (which section), RGM_ERR_IO (it was cut).
 */
rgm_status rgm_graph_check_sums(bool *there, const rgm_graph *graph);
/** Size in bytes of the files that hold a graph's numbers; 0: it is in memory. */
int64_t rgm_graph_mapped_bytes(const rgm_graph *graph);

#ifdef __cplusplus
}
#endif
#endif

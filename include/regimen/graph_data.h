/*
 * graph: data sets of graphs with their split: in memory, saved as a folder of Examples, split
 * again into folds or with a held-out part, and statistics of their content.
 */
#ifndef REGIMEN_GRAPH_DATA_H
#define REGIMEN_GRAPH_DATA_H

#include <regimen/graph.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A data set as whole graphs: one big graph, or one per example; and its split. */
typedef struct rgm_graph_data {
    rgm_schema *schema;
    rgm_graph **graphs;
    int64_t graph_count;
    char *split_set;                  /* node set that the split divides; NULL: graphs */
    char *split_name;                 /* its folder's name below split/; NULL: "default" */
    rgm_tensor *train, *valid, *test; /* i64 numbers of nodes or graphs; NULL when absent */
} rgm_graph_data;
/** Releases what it holds and makes it empty; `{0}` is a valid empty one. */
void rgm_graph_data_clear(rgm_graph_data *data);

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
 * tf.train.Example each, numbered shard by shard; shards.txt records this when there are several)
 * and split/<split_name>/[<set>/]{train,valid,test}.csv. The folder appears when it is complete.
 * RGM_ERR_BUSY when it exists already.
 */
rgm_status rgm_graph_data_save(const rgm_graph_data *data, const char *folder,
                               const rgm_graph_data_save_options *options);
/*
 * The pieces of a folder of Examples in several files, for a caller that writes its files one by
 * one.
 */

/** FOLDER/NAME-00000-of-0000N.tfrecord[.gz] Errors: RGM_ERR_NOMEM. */
rgm_status rgm_graph_shard_path(char **path, const char *folder, const char *name, int64_t i,
                                int64_t count, bool gzip);
/** RGM_ERR_ARG: the number of files is not allowed. */
rgm_status rgm_graph_shards_check(int64_t count);
/**
 * Write shards.txt for several files, which says that Examples are numbered file by file. Older
 * folders have no such file; their numbers take one Example from each file in turn. Errors: those
 * of rgm_file_save().
 */
rgm_status rgm_graph_shards_save(const char *folder, int64_t count);
#define RGM_SHARDS_FILE "shards.txt"
/**
 * Make a new folder beside `folder`, which may not be there: what that shall have is written into
 * this. Errors: RGM_ERR_BUSY (it is there), RGM_ERR_IO, RGM_ERR_NOMEM; *beside is NULL unless it
 * was made.
 */
rgm_status rgm_graph_folder_begin(char **beside, const char *folder);
/** Give it its name if `status` is RGM_OK, else remove it; releases `beside`, which may be NULL.
 * Returns `status`. Errors: those of rgm_graph_folder_rename(). */
rgm_status rgm_graph_folder_end(char *beside, const char *folder, rgm_status status);
/**
 * Rename a complete folder. Its content and its name are on disk afterwards. Errors: RGM_ERR_IO
 * (for example, the folder exists already), RGM_ERR_NOMEM.
 */
rgm_status rgm_graph_folder_rename(const char *beside, const char *folder);

/** A label by which items are parted. */
typedef struct rgm_fold_label {
    const char *name; /* of the feature; NULL: none */
    bool numbers;     /* of numbers and not of classes: -1 is a label too */
} rgm_fold_label;
/**
 * Replace the split by one fold of a cross-validation (rgm_folds_parts), stratified by the first of
 * several labels that an item has. For a split of graphs these are the labels of their context or
 * of their only item of "_readout". For a split of one graph they are those of the split's node set
 * or, without a split, of the only node set that has the first. Items of which every label is
 * missing (rgm_dtype_missing(); -1 for integer classes) are in no part.
 *
 * @param labels  [in] [count] features that are absent, or of text, do not stratify, nor does none
 *
 * Errors: RGM_ERR_CONFIG, RGM_ERR_DATA (classes are -1 and 1), RGM_ERR_NOMEM; an error leaves the
 * split unchanged.
 */
rgm_status rgm_graph_data_fold(rgm_graph_data *data, const rgm_folds *folds,
                               const rgm_fold_label *labels, int64_t count);
/**
 * Move a share of the training part to the validation part, stratified in the same way.
 * RGM_ERR_CONFIG: there is a validation part already, or a part would have no item.
 */
rgm_status rgm_graph_data_hold_out(rgm_graph_data *data, double share, uint64_t seed,
                                   const rgm_fold_label *labels, int64_t count);

/** Counts and quantiles of sets and features over any number of graphs. */
typedef struct rgm_stats rgm_stats;
/** Statistics that have seen no graph yet. Errors: RGM_ERR_DATA, RGM_ERR_NOMEM. */
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

/*
 * What the importers share: raw files found and read with messages that name file and line,
 * features told apart by what is in them, edges put into order, splits read and checked.
 */
#ifndef RGM_GRAPH_IMPORT_INTERNAL_H
#define RGM_GRAPH_IMPORT_INTERNAL_H

#include <regimen/graph_import.h>
#include <regimen/graph_parts.h>

/** A feature read from a file, for all items of all graphs together. */
typedef struct rgmi_raw_feature {
    char *path;
    /* name is borrowed; only dtype, rank, shape and vocabulary are set */
    rgm_feature_schema schema;
    rgm_feature value;
    int64_t rows;
    int64_t *starts; /* [rows + 1] where rows of a ragged feature begin, else NULL */
} rgmi_raw_feature;
void rgmi_raw_feature_clear(rgmi_raw_feature *feature);

/** Path of FOLDER/NAME.csv.gz or FOLDER/NAME.csv; NULL when there is neither. RGM_ERR_DATA: there
 * are both, and one of them would mean nothing. */
rgm_status rgmi_raw_find(char **path, const char *folder, const char *name);
/** The same, RGM_ERR_NOT_FOUND when there is neither. */
rgm_status rgmi_raw_require(char **path, const char *folder, const char *name);
/** An error at row `row` (from 0) of a CSV file without header: "PATH:line: what". */
rgm_status rgmi_raw_fail(rgm_status code, const char *path, int64_t row, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/** Integers in `columns` columns (0: any number); *rows and values [rows * columns]. */
rgm_status rgmi_raw_ints(rgm_tensor **out, const char *path, int64_t columns);

/** The share of ones below which a set's rows of 0 and 1 are sparse: above 1, where options->like
 * has them so, and 0, where it has numbers. */
double rgmi_sparse_below(const rgm_import_options *options, rgm_piece piece, const char *set);
/** FOLDER/NAME as features; nothing when the file is not there (feature->path is NULL). */
rgm_status rgmi_raw_features(rgmi_raw_feature *out, const char *folder, const char *name,
                             double sparse_below);
/** FOLDER/NAME as labels of `items` items, called "label". */
rgm_status rgmi_raw_labels(rgmi_raw_feature *out, const char *folder, const char *name,
                           bool relabel, int64_t items);
/** RGM_ERR_DATA unless there is a row for each item: "PATH has 7 rows for 8 nodes of node set 'x'".
 */
rgm_status rgmi_raw_check_rows(const rgmi_raw_feature *feature, int64_t items, const char *what);
/** Add the feature to a set of the schema, if there is one. */
rgm_status rgmi_raw_declare(rgm_schema *schema, rgm_piece piece, const char *set,
                            const rgmi_raw_feature *feature);
/** Items begin .. end-1; releases with rgm_feature_clear(). */
rgm_status rgmi_raw_slice(rgm_feature *out, const rgmi_raw_feature *feature, int64_t begin,
                          int64_t end);

/** Edges of one set, ready for the builder, and which row of the file each came from. */
typedef struct rgmi_raw_edges {
    rgm_tensor *source, *target;
    int64_t *rows; /* [count] within the range given */
    int64_t count;
} rgmi_raw_edges;
/** How edges are read: limits and names for messages. */
typedef struct rgmi_edge_form {
    const char *path, *edge_set, *source_set, *target_set;
    int64_t source_total, target_total;
    bool undirected, sort;
    int64_t *dangling; /* where rows with an end that is no node are counted, which are then left
                          out; NULL: such a row is an error */
} rgmi_edge_form;
/** Rows begin .. end-1 of pairs [rows, 2], checked, reversed ones added, sorted. */
rgm_status rgmi_raw_edges_make(rgmi_raw_edges *out, const rgm_tensor *pairs, int64_t begin,
                               int64_t end, const rgmi_edge_form *form);
void rgmi_raw_edges_clear(rgmi_raw_edges *edges);

/** Warn of edges left out, if there are any. */
void rgmi_tell_dangling(const char *path, const char *edge_set, int64_t dangling);

/**
 * Train, valid and test numbers below FOLDER/split/<split>[/<set>], each in 0 .. total-1 and in one
 * part only. `set` may be NULL. `ids`: the lists are of ids, which it maps to number + 1; NULL: of
 * numbers. No split folder: all stay NULL.
 */
rgm_status rgmi_read_split(rgm_graph_data *out, const char *folder, const char *split,
                           const char *set, int64_t total, const rgm_map *ids);

/** RGM_ERR_DATA: a folder of the split is named as no node set of the schema is, so its lists would
 * be nobody's. *has_lists: there is something to read. */
rgm_status rgmi_split_check(bool *has_lists, const char *folder, const char *split,
                            const rgm_schema *schema);
/** RGM_ERR_DATA: there is no node set `wanted`, or, where none was, several that may be meant. */
rgm_status rgmi_split_is_nobodys(const char *folder, const char *wanted);
/** Whether the split has a folder of its own for that node set. */
rgm_status rgmi_split_speaks_of(bool *has, const char *folder, const char *split, const char *set);

/** A builder's feature by raw value; the value is released. */
rgm_status rgmi_builder_take(rgm_graph_builder *builder, rgm_piece piece, const char *set,
                             const char *name, rgm_feature *value);

/* ---- importers ---- */

rgm_status rgmi_import_homogeneous(rgm_graph_data *out, const char *path, const char *raw,
                                   const rgm_import_options *options);
rgm_status rgmi_import_heterogeneous(rgm_graph_data *out, const char *path, const char *raw,
                                     const rgm_import_options *options);

#endif

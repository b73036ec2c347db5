/*
 * graph_import: reads data sets of graphs from files of other formats (CSV, OGB, triples,
 * Examples), and generates random ones.
 */
#ifndef REGIMEN_GRAPH_IMPORT_H
#define REGIMEN_GRAPH_IMPORT_H

#include <regimen/graph_file.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * The files of triples of each part, as lists, and the names of the sets (NULL: "entity", "fact").
 */
typedef struct rgm_triples_options {
    rgm_texts train, valid, test;
    const char *node_set, *edge_set;
} rgm_triples_options;
/** Context feature, a list of texts: the names of relations, by their numbers. */
#define RGM_RELATION_NAMES "relation_names"
/**
 * A knowledge graph from lines "head<TAB>relation<TAB>tail" (quotes and line ends as in CSV; gzip
 * is recognised): one node set with feature "name", one edge set with features "relation", one_hot,
 * and "part", 0 train, 1 valid, 2 test. Entities and relations are numbered in the order of their
 * first appearance. A warning lists entities and relations that the training part lacks.
 *
 * Errors: RGM_ERR_FORMAT "FILE:line: what", RGM_ERR_DATA (no training triple), RGM_ERR_NOT_FOUND,
 * RGM_ERR_IO, RGM_ERR_NOMEM.
 */
rgm_status rgm_import_triples(rgm_graph_data *out, const rgm_triples_options *options);
/**
 * The same into a new graph file, for more facts than memory holds. The files are read twice: first
 * for the names, which stay in memory, then for the facts, a block at a time. The result is byte
 * for byte that of rgm_graph_data_write(). writer NULL: the defaults. Errors: those of both.
 */
rgm_status rgm_import_triples_file(const char *file, const rgm_triples_options *options,
                                   const rgm_graph_writer_options *writer);

typedef struct rgm_import_options {
    const char *split; /* folder below split/; NULL: the only one, else an error listing them */
    bool undirected;   /* add the reverse of each edge: to its set (homogeneous; a loop is its own
                          reverse), or as edge sets "rev_<name>" (heterogeneous)                   */
    bool sort_edges; /* by target, then source: memory order of the kernels (default true)        */
    bool relabel;    /* number the distinct integer labels 0, 1, ... in ascending order; -1 is none
                        and stays, unless the labels are -1 and 1 alone                       */
    double sparse_below; /* a 0/1 feature matrix with less than this share of ones becomes a one_hot
                            feature "words" (default 0.1) */
    const char *node_set, *edge_set; /* names for homogeneous data (defaults "nodes", "edges");
                                        node_set, of several: the one that the split is of     */
    rgm_texts labels;   /* csv: features of which an empty field is a label that is missing, which
                           rgm_dtype_missing() stands for; none: "label"                         */
    bool skip_dangling; /* leave out edges with an end that is no node, and tell how many; default:
                           they are an error                                                     */
    bool new_data; /* read what is to be predicted for: no split and no labels of OGB files; of CSV
                      tables a feature without a column is absent, an empty field is missing in any
                      column of numbers, and ids become the text feature RGM_ITEM_NAME of node sets
                      with a table                                                               */
    const rgm_schema *like; /* ogb: a set's features become "words" or "feat" as the set has it
                               here, whatever they look like; NULL, or it has neither: see
                               sparse_below */
} rgm_import_options;
#define RGM_IMPORT_OPTIONS_INIT                                                                    \
    {                                                                                              \
        .undirected = true, .sort_edges = true, .sparse_below = 0.1                                \
    }
/**
 * An OGB data set in raw CSV, plain or gzip: PATH/raw and PATH/split. Homogeneous: edge,
 * num-node-list, num-edge-list, and, where present, node-feat, edge-feat, node-label, edge-label,
 * graph-label; one graph, or one for each row of num-node-list. Heterogeneous (num-node-dict):
 * triplets, triplet-list or triplet-type-list, relations/<source>___<name>___<target>/edge,
 * node-feat/<set>/node-feat, node-label/<set>/node-label; an edge set is named by its relation, or
 * by the whole triplet where a relation has several. The split's lists are of the node set that
 * options.node_set names, or that has a folder below the split, or the only one with labels; else
 * RGM_ERR_DATA. So is a folder of a set that is not there, and a list of another name.
 *
 * Integer features in up to 16 columns are categories: i64 "feat"; other features f32 "feat"
 * [columns] (one column: a scalar), but see sparse_below. Labels: i64 "label" (f32 where a cell is
 * not an integer). An empty field is a missing label, for which rgm_dtype_missing() stands; in a
 * file of one column it is "" or, in a file with a line for each item, an empty line.
 *
 * Errors: RGM_ERR_NOT_FOUND; RGM_ERR_FORMAT and RGM_ERR_DATA "FILE:line: what" with the numbers.
 */
rgm_status rgm_import_ogb(rgm_graph_data *out, const char *path, const rgm_import_options *options);
/**
 * CSV node and edge tables named by the metadata.filename of a schema's sets, relative to the
 * schema (a file, "name@N", or a pattern). Node tables have a column "id", edge tables "source" and
 * "target": any text, mapped to rows; and a column for each scalar feature, or columns "feature.0",
 * "feature.1", ... for dense ones; '#' may stand in front of a column's name. Without a filename a
 * node set has the ids that edges name, and an edge set is empty.
 *
 * A folder split/<options.split>/ next to the schema, as in OGB, lists the ids of the parts in
 * train.csv, valid.csv and test.csv. They are ids of the node set that it has a folder for or that
 * options.node_set names. The options labels and skip_dangling apply too; NULL: the defaults.
 * Errors: RGM_ERR_ARG, RGM_ERR_SHAPE, RGM_ERR_DTYPE, RGM_ERR_FORMAT, RGM_ERR_DATA,
 * RGM_ERR_UNSUPPORTED, RGM_ERR_NOT_FOUND, RGM_ERR_IO, RGM_ERR_NOMEM.
 */
rgm_status rgm_import_csv(rgm_graph_data *out, const char *schema_path,
                          const rgm_import_options *options);
/**
 * The same into a new graph file, for tables larger than memory. Node tables are read twice: first
 * for the ids, which stay in memory, then for the features. Edge tables are read once, or twice
 * where a node set has no table. All are read a block of rows at a time. The result is byte for
 * byte that of rgm_graph_data_write(). options, writer NULL: the defaults. Errors: those of both.
 */
rgm_status rgm_import_csv_file(const char *file, const char *schema_path,
                               const rgm_import_options *options,
                               const rgm_graph_writer_options *writer);

/**
 * Load a folder of rgm_graph_data_save(), a graph file (rgm_graph_data_open()), a folder of
 * rgm_sampler_save(), whose files train-*, valid-* and test-* are then the split and the only one,
 * or any folder with schema.pbtxt and *.tfrecord files, also with split/. split NULL as in the
 * import options. Errors: RGM_ERR_ARG, RGM_ERR_SHAPE, RGM_ERR_DTYPE, RGM_ERR_FORMAT, RGM_ERR_DATA,
 * RGM_ERR_NOT_FOUND, RGM_ERR_IO, RGM_ERR_NOMEM.
 */
rgm_status rgm_graph_data_load(rgm_graph_data *out, const char *folder, const char *split);

/**
 * Load graphs to predict for, whatever form they have, without their split. `path` is
 *
 *   - a schema of CSV tables (rgm_import_csv()), a file *.pbtxt, or a folder with schema.pbtxt and
 *     no records;
 *   - a folder of Examples or a graph file (rgm_graph_data_load());
 *   - an OGB folder, PATH/raw (rgm_import_ogb()).
 *
 * options are those of a CSV or OGB import, as if new_data were set; NULL: the defaults. Errors:
 * RGM_ERR_NOT_FOUND (nothing there, or none of these), those of the three functions.
 */
rgm_status rgm_new_graphs_load(rgm_graph_data *out, const char *path,
                               const rgm_import_options *options);
/** Whether `path` is one of these; else it may be a file or pattern of records. */
bool rgm_is_new_graphs(const char *path);

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
/**
 * About the size of Cora: a two-layer GCN gets about 0.8 on the test part, and 0.58 without edges.
 */
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

/**
 * Accounts with dated events. The label depends only on the latest events before the account's
 * time.
 */
typedef struct rgm_events_options {
    int64_t accounts;
    int64_t kinds;        /* of events, and labels                                            */
    int64_t recent;       /* the label is the commonest kind of this many last events ...       */
    int64_t past, future; /* ... of all before the account's time; events after it           */
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
 * one-hot), edge set "has" from account to event ("time" i64), in no order. If several kinds are
 * equally common, the label is the lowest. Events after an account's time are of its label's kind
 * for training accounts and random for others, so a model whose sampler takes them learns the
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

#ifdef __cplusplus
}
#endif
#endif

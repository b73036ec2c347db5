/*
 * graph_features: turns features of a graph into the rows that a model starts from. Options choose
 * the features and how each is encoded (one-hot, vocabulary, buckets, standardized, a trained
 * table); encoders learn what they need from the training part.
 */
#ifndef REGIMEN_GRAPH_FEATURES_H
#define REGIMEN_GRAPH_FEATURES_H

#include <regimen/graph_value.h>
#include <regimen/nn.h>

#ifdef __cplusplus
extern "C" {
#endif

/** How a value that is not in a vocabulary is treated. */
typedef enum rgm_unseen { RGM_UNSEEN_BUCKET, RGM_UNSEEN_ERROR } rgm_unseen;
/** How the embeddings of a list of values are combined; an empty list gives 0. */
typedef enum rgm_list_pool { RGM_LIST_MEAN, RGM_LIST_SUM, RGM_LIST_MAX } rgm_list_pool;
/** What encoders learned from the training part: vocabularies, boundaries, means. Counted. */
typedef struct rgm_learned_features rgm_learned_features;

/**
 * How features become the rows that a model starts from; part of every model's options. A feature
 * is named "words" or "paper.words" and stands in at most one list of encoders. Categories
 * (one_hot, vocabulary, hash, buckets, boundaries) become one-hot rows, or rows of a trained table;
 * a list becomes the sum of its one-hot rows.
 */
typedef struct rgm_input_options {
    rgm_texts features;     /* none: every float and one_hot feature, and those that a list names */
    rgm_numbers one_hot;    /* integers with how many values: 0 and on; any other is an error     */
    rgm_numbers vocabulary; /* integers, texts with the least count in the training part          */
    rgm_numbers hash;       /* integers, texts with how many buckets: rgm_lookup_hash()           */
    rgm_numbers buckets;    /* numbers with how many buckets, by quantiles of the training part   */
    rgm_lists boundaries;   /* numbers with where buckets begin: rgm_lookup_buckets()             */
    rgm_texts numbers;      /* integers that are amounts: cast to floats                          */
    rgm_texts standardize;  /* (x - mean) / standard deviation of the training part, each number of
                               an item by itself; 0 for one that never varies                     */
    rgm_texts min_max;      /* (x - least) / (largest - least) likewise                           */
    rgm_numbers embeddings; /* categories with the width of a table instead of one-hot rows (a
                               vocabulary of all values if no list names the feature); node sets
                               with the width of an embedding of each node                        */
    int64_t latent;         /* > 0: the same for every node set without input features            */
    rgm_unseen unseen;      /* of vocabularies                                                    */
    rgm_list_pool pool;
    bool normalize; /* each feature's rows, but embeddings, divided by their sum of absolute values
                     */
    const rgm_learned_features *learned; /* what the above take of the training part; NULL: nothing.
                                            A run sets it while it builds its model               */
} rgm_input_options;
/**
 * Save and load as JSON. Loading checks everything it reads. Errors: RGM_ERR_IO, RGM_ERR_NOT_FOUND,
 * RGM_ERR_FORMAT, RGM_ERR_VERSION, RGM_ERR_NOMEM.
 */
rgm_status rgm_learned_features_save(const rgm_learned_features *learned, const char *path);
rgm_status rgm_learned_features_load(rgm_learned_features **out, const char *path);
#define RGM_FEATURES_FILE "features.json"
rgm_learned_features *rgm_learned_features_retain(rgm_learned_features *learned);
void rgm_learned_features_release(rgm_learned_features *learned);
int64_t rgm_learned_features_count(const rgm_learned_features *learned); /* 0 of NULL */
/** The file's text, borrowed. */
const rgm_text *rgm_learned_features_text(const rgm_learned_features *learned);
/** "paper.word: 1,203 texts" of all, for people. Errors: RGM_ERR_NOMEM. */
rgm_status rgm_learned_features_describe(rgm_text *out, const rgm_learned_features *learned);

/** Of how many nodes of a set what was learned has an embedding each; -1: it has none. */
int64_t rgm_learned_features_nodes(const rgm_learned_features *learned, const char *node_set);

/** Counts the values of new data that vocabularies do not have. */
typedef struct rgm_unseen_values rgm_unseen_values;
/** learned is retained; NULL: nothing was learned, and nothing is counted. Errors: RGM_ERR_NOMEM.
 */
rgm_status rgm_unseen_values_create(rgm_unseen_values **out, rgm_learned_features *learned);
void rgm_unseen_values_release(rgm_unseen_values *unseen);
/** Count those of one more graph; a feature that the graph lacks has none. Errors: RGM_ERR_DTYPE,
 * RGM_ERR_UNSUPPORTED, RGM_ERR_NOMEM. */
rgm_status rgm_unseen_values_add(rgm_unseen_values *unseen, const rgm_graph *graph);
/** How many there were in all features. */
int64_t rgm_unseen_values_count(const rgm_unseen_values *unseen);
/** "customer.region 3 of 900 values, the first 9; ..." of features that have some, for people.
 * Errors: RGM_ERR_NOMEM. */
rgm_status rgm_unseen_values_describe(rgm_text *out, const rgm_unseen_values *unseen);

/*
 * ---- learning what the options take from a training part ----------------------------------------
 */

/** Reads the graphs of the training part, one after the other. */
typedef struct rgm_feature_learner rgm_feature_learner;
/**
 * @param options  [in] outlive the learner, as does the schema of the graphs
 *
 * Errors: RGM_ERR_CONFIG (a feature that cannot be read so), RGM_ERR_NOMEM.
 */
rgm_status rgm_feature_learner_create(rgm_feature_learner **out, const rgm_input_options *options,
                                      const rgm_schema *schema);
void rgm_feature_learner_release(rgm_feature_learner *learner);
/** Whether it has to read the values of graphs at all. */
bool rgm_feature_learner_looks(const rgm_feature_learner *learner);
/**
 * Read one graph. In a node set that a readout points at only those nodes are read; in other sets
 * all items are. Errors: RGM_ERR_DATA (not finite; a feature that is absent), RGM_ERR_NOMEM.
 */
rgm_status rgm_feature_learner_add(rgm_feature_learner *learner, const rgm_graph *graph);
/** Whether it needs to know the number of nodes of sets. */
bool rgm_feature_learner_counts(const rgm_feature_learner *learner);
/**
 * Set the numbers of nodes: those of the one graph that all examples come from, or else those in
 * the schema of graphs that were cut out of one.
 *
 * @param whole  [in] NULL: there is none; a message then gives `why` as the reason
 *
 * Errors: RGM_ERR_NOMEM.
 */
rgm_status rgm_feature_learner_count(rgm_feature_learner *learner, const rgm_graph *whole,
                                     const char *why);
/** Return what was learned. To be called once. Errors: RGM_ERR_DATA (no value), RGM_ERR_NOMEM. */
rgm_status rgm_feature_learner_finish(rgm_learned_features **out, rgm_feature_learner *learner);

/* ---- what a model starts from -----------------------------------------------------------------
 */

/** The part of "paper.words" after the set's name, if the name is meant for this set; else NULL. */
const char *rgm_feature_name_in(const char *name, const char *set);
/**
 * Check that all numbers of a feature are finite and no integer is missing; RGM_ERR_DATA names set,
 * feature and item.
 */
rgm_status rgm_feature_finite(const rgm_graph *graph, const rgm_set_schema *set,
                              const rgm_feature_schema *feature);
/** The same check for all features that must be finite to be encoded. Errors: RGM_ERR_DATA. */
rgm_status rgm_input_features_finite(const rgm_input_options *options, const rgm_graph *graph);

/** The keys of rgm_input_options, for a table of a model's keys. */
extern const rgm_field rgm_input_fields[];
/**
 * Check that every name in the options is a feature of some node set or the model's edge_feature
 * (NULL: it has none). If not, the compute graph gets a failure and false is returned.
 */
bool rgm_check_inputs(const rgm_graph_value *graph, const rgm_input_options *options,
                      const char *edge_feature);
/**
 * A feature of nodes or edges encoded as the options say, [items, width], with its parameters in
 * `scope`. Text, and integers that the options do not mention, are failures.
 */
rgm_value *rgm_input_feature(rgm_scope *scope, const rgm_graph_value *graph, rgm_piece piece,
                             const char *set, const char *name, const rgm_input_options *options);
/**
 * The input features of a node set in the scope's dtype, dense or sparse: hidden_state if the graph
 * has it, else those that the options name. x has room for `capacity` values; *count may be 0 for a
 * set that starts with nothing. Parameters are in the scope: <feature>/table, and nodes/table for
 * embeddings of nodes.
 * Errors: RGM_ERR_ARG, RGM_ERR_SHAPE, RGM_ERR_DTYPE, RGM_ERR_UNSUPPORTED, RGM_ERR_NOT_FOUND,
 * RGM_ERR_NOMEM.
 */
rgm_status rgm_node_inputs(rgm_value **x, int64_t capacity, int64_t *count, rgm_scope *scope,
                           const rgm_graph_value *graph, const char *node_set,
                           const rgm_input_options *options);
/**
 * The inputs of rgm_node_inputs() side by side, [nodes, width]. Their parameters are in input/<node
 * set> of the model's scope. Returns NULL without a failure for a set that starts with nothing.
 */
rgm_value *rgm_node_input(rgm_scope *scope, const rgm_graph_value *graph, const char *node_set,
                          const rgm_input_options *options);

#ifdef __cplusplus
}
#endif
#endif

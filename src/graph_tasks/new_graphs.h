/*
 * Graphs that a user names to be predicted for: made what the model was trained on, asked about,
 * and told about afterwards.
 */
#ifndef RGM_GRAPH_TASKS_NEW_GRAPHS_H
#define RGM_GRAPH_TASKS_NEW_GRAPHS_H

#include "learning.h"

/** What is asked about, as the file of items has it. */
typedef struct rgmi_asked_items {
    rgm_tensor *nodes;                      /* i64 [n]; NULL: there is no file, or it is of pairs */
    rgm_tensor *source, *target, *relation; /* i64 [n] of pairs */
} rgmi_asked_items;

struct rgmi_new_graphs {
    const rgmi_learning *learning;
    char *path, *items;        /* as the user named them; items NULL: there is none */
    rgm_schema *schema;        /* of records: as they are decoded; NULL: graphs are there already */
    rgm_schema *from, *target; /* of the last graph, and what it is made into */
    bool alone;                /* one graph, whose every node can be asked about */
    bool sampled;              /* as the run's were                              */
    rgm_provider *provider;    /* what samples come from; NULL: there are none   */
    rgmi_pipeline pipeline;
    rgm_unseen_values *unseen;
};

/** How feature `from` of new data becomes `to` of the run's schema. */
typedef enum rgmi_fit { RGMI_FITS, RGMI_CONVERTS, RGMI_DIFFERS } rgmi_fit;
rgmi_fit rgmi_feature_fit(const rgm_feature_schema *from, const rgm_feature_schema *to);

/**
 * The graph with the run's schema: its sets, features of the run's dtype, no labels, and names of
 * items (RGM_ITEM_NAME) from the feature of that name, "id" or "name".
 *
 * Errors: RGM_ERR_DATA, with the file: a set or feature that the model reads is not there, or is
 * another; RGM_ERR_NOMEM.
 */
rgm_status rgmi_new_graph_fit(rgm_graph **out, rgmi_new_graphs *self, rgm_graph *graph);

/** The only set of a piece that is no readout's; NULL: there are several. */
const char *rgmi_only_set(const rgm_schema *schema, rgm_piece piece);

/** The nodes of one graph that the first task about nodes asks about: i64 [n], and their set. */
rgm_status rgmi_new_graph_nodes(rgm_tensor **nodes, const char **node_set,
                                const rgmi_new_graphs *self, const rgm_graph *graph);

/** Whether mini-batches around nodes are drawn of the one graph, and these. */
bool rgmi_new_graph_is_sampled(const rgmi_new_graphs *self, const rgm_graph *graph);
rgm_status rgmi_new_graph_sample(rgm_dataset **out, rgmi_new_graphs *self, rgm_graph *graph);

/**
 * What the tasks ask about, in the graph: the readout that it has, the items of the file, or all.
 * Errors: RGM_ERR_DATA, those of reading the file.
 */
rgm_status rgmi_new_graph_ask(rgm_graph **out, rgmi_new_graphs *self, rgm_graph *graph);

#endif

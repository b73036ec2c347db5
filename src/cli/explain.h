/* What a prediction rests on, in order of weight, and a picture of it. */
#ifndef RGM_CLI_EXPLAIN_H
#define RGM_CLI_EXPLAIN_H

#include "cli.h"

#include <regimen/gnn_explain.h>

/** An edge or a number of a feature, with its score. */
typedef struct explained {
    int64_t input, i; /* of the explanation's inputs, and in their scores */
    double score;
} explained;

typedef struct explained_view {
    rgm_explanation explanation;
    const rgm_head *head;
    const char *method;
    int64_t node, item;   /* node -1: about none                     */
    const char *node_set; /* which that node is of; NULL: not known */
    const char *part;
    explained *edges, *features;
    int64_t edge_count, feature_count;
} explained_view;

/** "1708", or the text that the node has as its id; a ring of static buffers. */
const char *explained_node(const explained_view *v, const char *set, int64_t node);
/** "3" or the class's name. */
const char *explained_target(const explained_view *v);

/** The edges that weigh most, the nodes that they join, as SVG. */
rgm_status explained_picture(rgm_text *out, const explained_view *v);

#endif

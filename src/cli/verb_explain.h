/* What a prediction rests on, in order of weight, and a picture of it. */
#ifndef RGM_CLI_VERB_EXPLAIN_H
#define RGM_CLI_VERB_EXPLAIN_H

#include "cli.h"

#include <regimen/graph_tasks_explain.h>

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

/** The edges and features that weigh most, `most` of each at most. */
rgm_status explained_rank(explained_view *v, int64_t most);
/** For people. */
rgm_status explained_print(rgm_text *out, const explained_view *v);
/** As the path's ending says: a picture of the edges in SVG, or CSV. */
rgm_status explained_save(const char *path, const explained_view *v);

#endif

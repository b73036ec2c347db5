/* What a prediction rests on, in order of weight, and a picture of it. */
#ifndef RGM_CLI_VERB_EXPLAIN_H
#define RGM_CLI_VERB_EXPLAIN_H

#include "cli.h"

#include <regimen/draw.h>
#include <regimen/graph_tasks_explain.h>

/** An edge or a number of a feature, with its score. */
typedef struct explained {
    int64_t input, i; /* of the explanation's inputs, and in their scores */
    double score;
} explained;

typedef struct explained_view {
    rgm_explanation explanation;
    const rgm_head *head;
    int64_t head_number, step; /* step: of the run */
    char weights[64];          /* which of it: "best", "step 40" */
    bool asks_class;           /* not the greatest, or only, number */
    const char *only;          /* "edges", "features": alone; NULL: both */
    const char *method;
    int64_t node, item;   /* node -1: about none                     */
    const char *node_set; /* which that node is of; NULL: not known */
    const char *part;
    explained *edges, *features;
    int64_t edge_count, feature_count;
    int64_t edge_total, feature_total; /* that have a score */
} explained_view;

/** The edges and features that weigh most, `most` of each at most. */
rgm_status explained_rank(explained_view *v, int64_t most);
/** For people. */
rgm_status explained_print(rgm_text *out, const explained_view *v);
/** What the number that is explained is called: of a class its name. */
const char *explained_target(const explained_view *v);

/** The nodes that the edges join, with names that are kept, and those that are asked about. */
typedef struct explained_picture {
    rgm_drawn_node *nodes;
    rgm_drawn_edge *edges; /* [edge_count] of the view */
    int64_t *numbers;      /* of the nodes in their sets */
    int64_t node_count;
} explained_picture;
rgm_status explained_collect(explained_picture *p, const explained_view *v);
void explained_picture_clear(explained_picture *p);

/** Which number of a feature; borrowed from the view. */
typedef struct explained_place {
    const char *set, *feature; /* set NULL: the graph's */
    char item[64];             /* its name; "": the column of all items */
    int64_t column;
} explained_place;
void explained_feature(explained_place *out, const explained_view *v, explained one);

/** The folder of a run for what is kept. */
#define EXPLANATIONS_FOLDER "explanations"
/** Write RUN/explanations/PART-ITEM-METHOD.json, whole or not at all, over an earlier one of the
 * same question. @param path  [out] of the file, rgm_free() */
rgm_status explained_keep(char **path, const char *run_dir, const explained_view *v);
/** As the path's ending says: a picture of the edges in SVG, or CSV. */
rgm_status explained_save(const char *path, const explained_view *v);

#endif

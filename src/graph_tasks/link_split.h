/*
 * The links of a graph, found by their ends, in three parts: what providers of links draw from.
 */
#ifndef RGM_GRAPH_TASKS_LINK_SPLIT_H
#define RGM_GRAPH_TASKS_LINK_SPLIT_H

#include <stdatomic.h>

#include <regimen/graph_tasks.h>

/** What an edge is that is of no link. */
enum rgmi_no_link {
    RGMI_NO_LINK = -1, /* a message in every graph                                 */
    RGMI_REPEATED = -2 /* of a link that is in an earlier part: in no graph         */
};

/** An edge set with edges of links: a link's edges leave it together. */
typedef struct rgmi_link_edges {
    char *name;
    int64_t count;
    int64_t *link; /* [count] the link of each edge, or one of rgmi_no_link */
} rgmi_link_edges;

struct rgm_link_split {
    atomic_long references;
    rgm_graph *graph, *base; /* base: of the schema that all graphs of pairs have, made
                                by the first provider */
    char *source_set, *target_set;
    int64_t source_total, target_total, relation_count; /* relation_count 0: there are none */
    bool undirected, valid_messages, loops;             /* loops: a link is from a node to itself */
    rgm_link_corruption corrupt;
    rgm_link_draw draw;
    double target_share;
    int64_t batch_size, negatives, eval_negatives, threads;
    uint64_t seed;
    rgm_sampler
        *samplers[3]; /* of each part's messages, which parts share; NULL: graphs are whole */
    bool resample;
    const char **followed; /* [followed_count] sets of links that the samplers follow, borrowed */
    int64_t followed_count;

    rgmi_link_edges *sets; /* whose edges are links, then their reverses */
    int64_t set_count, link_sets;

    uint64_t *keys; /* [count] ascending: which link a pair is */
    int64_t *source, *target, *relation;
    uint8_t *part;           /* rgm_mode */
    int64_t count, repeated; /* links, and edges that are RGMI_REPEATED */
    rgm_tensor *members[3];  /* i64: links of each part, ascending */
};

/** The link of a pair and relation; -1: it is none. */
int64_t rgmi_link_find(const rgm_link_split *split, int64_t source, int64_t target,
                       int64_t relation);
/** "links 4488 train, 263 valid, ..." of providers by mode, lines as rgm_task.plan has them;
 * nothing where they are none of links. */
rgm_status rgmi_links_describe(rgm_text *out, rgm_provider *const *providers);
/** A provider of one graph that has the messages of all training links, and is asked about each of
 * them and no negatives: the training part, whatever a step draws. *out is NULL where `provider` is
 * of no links. */
rgm_status rgmi_links_training(rgm_provider **out, const rgm_provider *provider);
bool rgmi_provider_is_of_links(const rgm_provider *provider);
/** The node set where links begin. */
static inline const char *rgmi_link_source(const rgm_link_split *split)
{
    return split->source_set;
}
/** The graph with all its edges, asked about one link, borrowed; NULL: it is of no links. */
rgm_graph *rgmi_links_whole(const rgm_provider *provider);

#endif

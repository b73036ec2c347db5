/*
 * What a batch of a graph in parts asks, and what is answered. Both are numbers of 4 bytes, but for
 * features: these are a graph, each sampled set of the part a node set of it.
 *
 *     round of an op    asked: ASK_WORDS of which op, its stream and how many; which own nodes
 *                       answer: how many edges of each, and of each edge EDGE_WORDS
 *     the last round    asked: ASK_WORDS; of each sampled set how many; which own nodes, edges
 *                       answer: the bytes of the graph and, in front, their number (2 words)
 *
 * A message may have those of several batches, one behind the other.
 */
#ifndef RGM_GRAPH_SAMPLING_PARTED_H
#define RGM_GRAPH_SAMPLING_PARTED_H

#include "sampler_internal.h"

enum { ASK_WORDS = 4 }; /* the op, or the number of ops; the stream's key, low and high; nodes */

/** An edge that was drawn. */
typedef struct rgmi_parted_edge {
    rgm_parted_node far;
    int32_t number; /* in the whole graph: by it edges that were taken before are known */
    int32_t entry;  /* in the part that drew it: there its features are                 */
} rgmi_parted_edge;
enum { EDGE_WORDS = sizeof(rgmi_parted_edge) / sizeof(int32_t) };

struct rgm_parted_sampler {
    const rgm_parted_graph *from;
    rgm_sampler *local;           /* over the part: sets, ops, readers of features  */
    const int64_t **ids;          /* [sampled node sets] numbers in the whole graph */
    const rgm_parted_set **nodes; /* [sampled node sets]                            */
    int32_t **called;        /* [sampled node sets] what others call own nodes; NULL: the same */
    const int64_t **numbers; /* [sampled edge sets]                            */
    int64_t *sample_size;    /* [ops] as the spec has it                      */
    int64_t *degrees;        /* [ops] of this part                            */
    rgmi_picker picker;
    int32_t *items; /* that are asked for features, as they are here */
    int64_t item_room;
    rgm_schema *features; /* of answers: each sampled set, nodes before edges */
};

/** Sampled sets, nodes before edges, as answers have them. */
static inline int64_t rgmi_parted_sets(const rgm_parted_sampler *sampler)
{
    return sampler->local->node_set_count + sampler->local->edge_set_count;
}
/** What set `set` of these has: its place in the sampled schema, readers of its features. */
typedef struct rgmi_parted_columns {
    int64_t set;
    rgm_feature_reader *const *readers; /* [count]; NULL: "#id" */
    int64_t count;
} rgmi_parted_columns;
rgmi_parted_columns rgmi_parted_columns_of(const rgm_parted_sampler *sampler, int64_t set);
/** Whether there is anything to ask for: a feature that is not "#id". */
bool rgmi_parted_is_asked(const rgm_parted_sampler *sampler, int64_t set);

/** What this part answers to its own batch in the last round, without the bytes. */
rgm_status rgmi_parted_own_features(rgm_graph **out, rgm_parted_sampler *sampler, rgm_str asked);

#endif

/*
 * graph_sampling: trees of neighbours of a graph that lies in parts. A part has its own nodes, all
 * of their edges, and copies of the nodes at the other ends. Who owns a node draws among its edges,
 * with the random words that the node has in the whole graph, so a batch is that of
 * rgm_sampler_batch(), whoever owns what.
 *
 * A batch is made in rounds: one for each op, and one for features. In each the batch asks the
 * parts, their owners answer, and the batch takes the answers:
 *
 *     RGM_TRY(rgm_parted_batch_begin(&batch, sampler, seeds, count, epoch));
 *     for (int64_t round = 0; round < rgm_parted_sampler_rounds(sampler); round++) {
 *         RGM_TRY(rgm_parted_batch_ask(asked, batch));                   [parts] texts
 *         ... asked[p] goes to whoever has part p, where
 *             RGM_TRY(rgm_parted_sampler_answer(&answer, sampler, asked));
 *         ... and comes back as answers[p]
 *         RGM_TRY(rgm_parted_batch_take(batch, answers));
 *     }
 *     RGM_TRY(rgm_parted_batch_graph(&graph, batch, label));
 *
 * What is asked and answered is bytes, which the caller carries; parts_sampling.h does so between
 * ranks.
 */
#ifndef REGIMEN_GRAPH_SAMPLING_PARTS_H
#define REGIMEN_GRAPH_SAMPLING_PARTS_H

#include <regimen/graph_sampling.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A node, wherever it lies. */
typedef struct rgm_parted_node {
    int32_t number; /* in the whole graph         */
    int32_t owner;  /* the part that it belongs to */
    int32_t there;  /* which of that one's own, as others call it */
} rgm_parted_node;

/** Where the nodes of a set in a part lie: own nodes first, then copies. */
typedef struct rgm_parted_set {
    int64_t own;
    const int32_t *owner, *there; /* [nodes - own] of the copies */
    const int32_t *place;         /* [own] which own node it is that others call the i-th; NULL: the
                                     i-th                        */
} rgm_parted_set;

/** A part, as a graph: its nodes have "#id", their number in the whole graph, and its schema has
 * how many nodes of each set the whole has (cardinality). All borrowed. */
typedef struct rgm_parted_graph {
    rgm_graph *graph;
    int64_t part, parts;
    const rgm_parted_set *sets;    /* [sets of the schema] of node sets                  */
    const int64_t *const *numbers; /* [sets of the schema] of edge sets: [edges] numbers in the
                                      whole graph; needed only for sets that the spec follows */
} rgm_parted_graph;

/** Draws for the nodes that one part owns, and knows how to ask others. Used by one thread. */
typedef struct rgm_parted_sampler rgm_parted_sampler;
/**
 * Takes 8 bytes for each edge and each node of the sets that the spec follows, once for each op.
 *
 * @param from  [in] outlives the sampler, as does what it names; the graph is retained
 * @param once  [in] see rgm_sampler_set_once()
 *
 * Errors: RGM_ERR_UNSUPPORTED (times of seeds), RGM_ERR_DATA ("#id" or cardinality is missing),
 * those of rgm_sampler_create().
 */
rgm_status rgm_parted_sampler_create(rgm_parted_sampler **out, const rgm_parted_graph *from,
                                     const rgm_sampling_spec *spec, uint64_t seed, bool once);
void rgm_parted_sampler_release(rgm_parted_sampler *sampler);
/** The most edges that an own node has, by op: [*count], borrowed. */
const int64_t *rgm_parted_sampler_degrees(int64_t *count, const rgm_parted_sampler *sampler);
/** The most of all parts, [ops]: where a node's random words begin depends on them. To be called
 * before the first answer. */
void rgm_parted_sampler_set_degrees(rgm_parted_sampler *sampler, const int64_t *most);
int64_t rgm_parted_sampler_rounds(const rgm_parted_sampler *sampler);
/**
 * Append to `answer` what one or several batches, one behind the other, have asked this part in a
 * round.
 * Errors: RGM_ERR_DATA (it asks for what this part has not), RGM_ERR_FORMAT, RGM_ERR_IO (a file's
 * features), RGM_ERR_NOMEM.
 */
rgm_status rgm_parted_sampler_answer(rgm_text *answer, rgm_parted_sampler *sampler, rgm_str asked);
/**
 * The schema of the graphs of batches, as they come with a readout and label (NULL: none); the
 * caller releases it. Errors: RGM_ERR_NOT_FOUND (there is no such feature), RGM_ERR_NOMEM.
 */
rgm_status rgm_parted_sampler_schema(rgm_schema **out, rgm_parted_sampler *sampler,
                                     const char *label);

/** A mini-batch in the making. */
typedef struct rgm_parted_batch rgm_parted_batch;
/**
 * @param seeds  [in] [count] nodes of the spec's seed node set, which may repeat; copied
 *
 * Errors: RGM_ERR_NOMEM.
 */
rgm_status rgm_parted_batch_begin(rgm_parted_batch **out, rgm_parted_sampler *sampler,
                                  const rgm_parted_node *seeds, int64_t count, uint64_t epoch);
void rgm_parted_batch_release(rgm_parted_batch *batch);
/** Append to asked [parts] what the batch wants of each part in this round. Errors: RGM_ERR_NOMEM.
 */
rgm_status rgm_parted_batch_ask(rgm_text *asked, rgm_parted_batch *batch);
/**
 * Take this batch's part of the answers, [parts], which then begin behind it: that of the next
 * batch. Ends the round.
 * Errors: RGM_ERR_DATA (an answer is not one to what was asked), RGM_ERR_NOMEM.
 */
rgm_status rgm_parted_batch_take(rgm_parted_batch *batch, rgm_str *answers);
/**
 * The graph, once all rounds are over: see rgm_sampler_batch().
 * Errors: those of rgm_sampler_batch().
 */
rgm_status rgm_parted_batch_graph(rgm_graph **out, rgm_parted_batch *batch, const char *label);
/** How many nodes it has, and how many of them other parts than this one own. */
void rgm_parted_batch_count(int64_t *nodes, int64_t *others, const rgm_parted_batch *batch);

#ifdef __cplusplus
}
#endif
#endif

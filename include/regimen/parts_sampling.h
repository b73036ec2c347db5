/*
 * parts: mini-batches sampled across the parts of a graph. Each rank has its part; neighbours and
 * features of nodes elsewhere are asked of their owners, for all batches of a step at once. Seeds
 * come from the lists of the whole graph, so a batch is what rgm_sampler_batch() makes of the whole
 * graph, bit for bit, whatever rank draws it and however the graph was cut.
 *
 *     RGM_TRY(rgm_part_open_for(&part, parts, rgm_comm_rank(comm), rgm_comm_size(comm)));
 *     RGM_TRY(rgm_part_sampler_open(&sampler, part, &options));
 *     RGM_TRY(rgm_part_sampler_connect(sampler, comm));
 *     seeds = rgm_part_sampler_seeds(sampler, 0);                  of the whole graph's training
 *     RGM_TRY(rgm_part_sampler_draw(graphs, sampler, batches, count));
 */
#ifndef REGIMEN_PARTS_SAMPLING_H
#define REGIMEN_PARTS_SAMPLING_H

#include <regimen/graph_sampling_parts.h>
#include <regimen/parts.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct rgm_part_sampler_options {
    const rgm_sampling_spec *spec; /* from the split's node set                              */
    const char *label;             /* feature of the seeds that moves to "_readout"; NULL: none */
    uint64_t seed;                 /* of all draws                                           */
    bool once;                     /* see rgm_sampler_set_once()                             */
} rgm_part_sampler_options;

typedef struct rgm_part_sampler rgm_part_sampler;
/**
 * Prepare a part for sampling, without a word to other ranks.
 *
 * @param part  [in] outlives the sampler; not connected (rgm_part_connect())
 *
 * Errors: RGM_ERR_UNSUPPORTED (times of seeds), RGM_ERR_ARG (the part is connected),
 * RGM_ERR_FORMAT, those of rgm_sampler_create().
 */
rgm_status rgm_part_sampler_open(rgm_part_sampler **out, rgm_part *part,
                                 const rgm_part_sampler_options *options);
void rgm_part_sampler_release(rgm_part_sampler *sampler);
/**
 * Tell the other ranks which nodes of the split this part has, and how many edges its nodes have at
 * most. Every rank then knows each node of the split and its owner: 20 bytes each. To be called
 * once, before seeds are asked for and batches drawn.
 *
 * @param comm  [in] outlives the sampler; its ranks have the parts as for rgm_part_connect()
 *
 * Errors: those of rgm_part_connect(); RGM_ERR_FORMAT (the parts do not say where their nodes stand
 * in the split's lists). Collective: every rank calls it, and hears of the error of another.
 */
rgm_status rgm_part_sampler_connect(rgm_part_sampler *sampler, rgm_comm *comm);
/** [n] i64, borrowed: the nodes of that part of the split of the whole graph, by their numbers
 * there and in its order: 0 train, 1 valid, 2 test; NULL: there is no such, or the sampler is not
 * connected. */
rgm_tensor *rgm_part_sampler_seeds(const rgm_part_sampler *sampler, int of);
/** Schema of the graphs, borrowed. */
rgm_schema *rgm_part_sampler_schema(const rgm_part_sampler *sampler);

/** What one mini-batch is drawn around. */
typedef struct rgm_part_seeds {
    const int64_t *nodes; /* [count] of rgm_part_sampler_seeds() */
    int64_t count;        /* 0: there is no such batch           */
    uint64_t epoch;
} rgm_part_seeds;
/**
 * Draw mini-batches: two exchanges for each op of the spec and two for features, whatever the
 * number of batches.
 *
 * @param graphs   [out, owned] [count] see rgm_sampler_batch(); NULL where a batch has no seeds
 * @param batches  [in] [count] of this rank, which need not be as many as those of another
 *
 * Errors: RGM_ERR_DATA (a seed that is not in the split), RGM_ERR_IO (a rank is lost), those of
 * rgm_parted_batch_graph(); graphs are then NULL. After an error the ranks do not go on
 * (rgm_comm_fail()). Collective: every rank calls it.
 */
rgm_status rgm_part_sampler_draw(rgm_graph **graphs, rgm_part_sampler *sampler,
                                 const rgm_part_seeds *batches, int64_t count);

/** What this rank has drawn so far. */
typedef struct rgm_part_sampler_counts {
    int64_t batches, nodes;
    int64_t others; /* of the nodes: those that other ranks own */
    int64_t bytes;  /* asked of other ranks, and answered by them */
} rgm_part_sampler_counts;
void rgm_part_sampler_count(rgm_part_sampler_counts *out, const rgm_part_sampler *sampler);

#ifdef __cplusplus
}
#endif
#endif

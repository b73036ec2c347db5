/*
 * Subgraphs around pairs of nodes: the tree around both ends of all pairs, less the edges that are
 * asked about.
 */
#include <stdlib.h>
#include <string.h>

#include <regimen/graph_sampling.h>

#include "sampler_internal.h"

#define SOURCE_SET RGM_READOUT "/source"
#define TARGET_SET RGM_READOUT "/target"
#define ASKED      "#pairs" /* no label has such a name */

/* ---- the edges that are asked about ---- */

static uint64_t key_of(int64_t a, int64_t b)
{
    return a < b ? (uint64_t)a << 32 | (uint64_t)b : (uint64_t)b << 32 | (uint64_t)a;
}

static int by_key(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

/* Leave out of what an op took the edges between the ends of a pair; holes are allowed there. */
static void drop_asked(rgmi_hop *hop, const uint64_t *keys, int64_t count)
{
    for (int64_t i = 0; i < hop->count; i++) {
        int64_t begin = hop->offset[i], kept = begin;

        for (int64_t p = begin; p < begin + hop->taken[i]; p++) {
            uint64_t key = key_of(hop->frontier[i], hop->other[p]);

            if (bsearch(&key, keys, (size_t)count, sizeof *keys, by_key) != NULL)
                continue;
            hop->edge[kept] = hop->edge[p];
            hop->other[kept++] = hop->other[p];
        }
        hop->taken[i] = (int32_t)(kept - begin);
    }
}

/* Only edges between nodes of the seeds' set can join a pair. */
static rgm_status drop_from(rgmi_workspace *work, const rgm_sampler *sampler, const char *edge_set,
                            const uint64_t *keys, int64_t count)
{
    bool found = false;

    for (int64_t k = 0; k < sampler->op_count; k++) {
        const rgmi_sampled_op *op = &sampler->ops[k];
        int64_t set = sampler->edge_sets[op->edges].set;

        if (strcmp(rgm_schema_set(sampler->schema, set)->name, edge_set) != 0)
            continue;
        found = true;
        if (op->start == 0 && op->end == 0)
            drop_asked(&work->hops[k], keys, count);
    }
    return found ? RGM_OK
                 : RGM_FAIL(RGM_ERR_NOT_FOUND,
                            "pairs: edge set '%s' shall be left out between them, but no sampling "
                            "op follows it",
                            edge_set);
}

/* ---- the readout ---- */

static rgm_status readout_schema(rgm_schema **out, const rgm_sampler *sampler)
{
    const char *set = rgm_schema_set(sampler->schema, sampler->node_sets[0].set)->name;
    rgm_status status = RGM_OK;
    rgm_schema *schema = rgmi_sampler_asked(sampler, ASKED);

    if (schema != NULL) {
        *out = rgm_schema_retain(schema);
        return RGM_OK;
    }
    *out = NULL;
    RGM_GO(rgm_schema_copy(&schema, sampler->schema));
    RGM_GO(rgm_schema_add_node_set(schema, RGM_READOUT));
    RGM_GO(rgm_schema_add_edge_set(schema, SOURCE_SET, set, RGM_READOUT));
    RGM_GO(rgm_schema_add_edge_set(schema, TARGET_SET, set, RGM_READOUT));
    RGM_GO(rgmi_sampler_remember(sampler, ASKED, schema));
    *out = schema;
    schema = NULL;
done:
    rgm_schema_release(schema);
    return status;
}

static rgm_status point_at(rgm_graph *made, const char *edge_set, const int64_t *nodes,
                           const int32_t *local, int64_t count)
{
    rgm_status status = RGM_OK;
    int64_t set = rgm_schema_index(rgm_graph_schema(made), RGM_EDGE_SET, edge_set);
    rgm_tensor *from = NULL, *to = NULL;

    RGM_GO(rgm_tensor_create(&from, RGM_I64, 1, &count));
    RGM_GO(rgm_tensor_arange(&to, count));
    for (int64_t i = 0; i < count; i++)
        rgm_tensor_i64(from)[i] = local[nodes[i]];
    RGM_GO(rgm_graph_put_items(made, set, count, from, to));
done:
    rgm_tensor_release(from);
    rgm_tensor_release(to);
    return status;
}

/* ---- all ---- */

static rgm_status draw(rgm_graph **out, rgmi_workspace *work, const rgm_sampler *sampler,
                       const int64_t *sources, const int64_t *targets, int64_t count)
{
    rgm_status status = RGM_OK;
    rgm_schema *schema = NULL;
    rgm_graph *bare = NULL, *made = NULL;
    int64_t set;

    RGM_GO(rgmi_sampler_graph(&bare, work, sampler, sampler->threads));
    RGM_GO(readout_schema(&schema, sampler));
    RGM_GO(rgm_graph_begin_from(&made, schema, bare));
    set = rgm_schema_index(schema, RGM_NODE_SET, RGM_READOUT);
    RGM_GO(rgm_graph_put_items(made, set, count, NULL, NULL));
    RGM_GO(point_at(made, SOURCE_SET, sources, work->known[0].local, count));
    RGM_GO(point_at(made, TARGET_SET, targets, work->known[0].local, count));
    RGM_GO(rgm_graph_seal(made));
    *out = made;
    made = NULL;
done:
    rgm_schema_release(schema);
    rgm_graph_release(bare);
    rgm_graph_release(made);
    return status;
}

rgm_status rgm_sampler_pairs(rgm_graph **out, const rgm_sampler *sampler, const int64_t *sources,
                             const int64_t *targets, int64_t count, uint64_t epoch,
                             const char *const *without, int64_t without_count)
{
    rgm_status status = RGM_OK;
    rgmi_workspace *work = NULL;
    int64_t *seeds = NULL;
    uint64_t *keys = NULL;
    bool clean = false;

    *out = NULL;
    if (sampler->seed_times != NULL)
        return RGM_FAIL(RGM_ERR_UNSUPPORTED,
                        "pairs: the sampling spec has times of seeds, and a pair has none");
    RGM_GO(RGM_NEW(seeds, 2 * count));
    RGM_GO(RGM_NEW(keys, count));
    for (int64_t i = 0; i < count; i++) {
        seeds[2 * i] = sources[i];
        seeds[2 * i + 1] = targets[i];
    }
    RGM_GO(rgmi_sampler_check_nodes(sampler, seeds, 2 * count));
    for (int64_t i = 0; i < count; i++)
        keys[i] = key_of(sources[i], targets[i]);
    qsort(keys, (size_t)count, sizeof *keys, by_key);
    RGM_GO(rgmi_sampler_borrow(&work, sampler));
    RGM_GO(rgmi_sampler_expand(work, sampler, seeds, 2 * count, epoch, sampler->threads));
    clean = true;
    for (int64_t k = 0; k < without_count; k++)
        RGM_GO(drop_from(work, sampler, without[k], keys, count));
    RGM_GO(draw(out, work, sampler, sources, targets, count));
done:
    if (work)
        rgmi_sampler_give_back(sampler, work, clean);
    rgm_free(seeds);
    rgm_free(keys);
    return status;
}

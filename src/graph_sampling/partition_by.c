/*
 * Partitions by any method, and cutting by chance.
 */
#include "whole_graph.h"

const char *const rgm_partition_method_names[] = {"metis", "multilevel", "random", NULL};

/* ---- by chance ------------------------------------------------------------------------------- */

/* Nodes in a random order, dealt out. */
static rgm_status deal(int32_t *part, int64_t nodes, int64_t parts, uint64_t seed)
{
    rgm_rng rng = rgm_rng_stream(seed, "partition/random", 0);
    int64_t *order;

    RGM_TRY(RGM_NEW(order, nodes));
    rgm_rng_permutation(&rng, order, nodes);
    for (int64_t i = 0; i < nodes; i++)
        part[order[i]] = (int32_t)(i % parts);
    rgm_free(order);
    return RGM_OK;
}

static rgm_status check_full(const int32_t *part, int64_t nodes, int64_t parts)
{
    rgm_status status = RGM_OK;
    bool *full;

    RGM_TRY(RGM_NEW(full, parts));
    for (int64_t i = 0; i < nodes; i++)
        full[part[i]] = true;
    for (int64_t p = 0; p < parts && status == RGM_OK; p++)
        if (!full[p])
            status = RGM_FAIL(RGM_ERR_UNSUPPORTED,
                              "METIS leaves part %lld of %lld without a node: use fewer parts, or "
                              "the method multilevel",
                              (long long)p, (long long)parts);
    rgm_free(full);
    return status;
}

rgm_status rgm_graph_partition_by(rgm_partition *out, const rgm_graph *graph, int64_t parts,
                                  double balance, uint64_t seed, rgm_partition_method method)
{
    rgm_status status = RGM_OK;
    rgmi_sampled_neighbours near = {0};
    int64_t *first = NULL, nodes;
    int32_t *part = NULL;

    if (method == RGM_PARTITION_MULTILEVEL)
        return rgm_graph_partition(out, graph, parts, balance, seed);
    *out = (rgm_partition){0};
    RGM_GO(RGM_NEW(first, rgm_schema_set_count(rgm_graph_schema(graph))));
    RGM_GO(rgmi_partition_number(&nodes, first, graph, parts, balance));
    RGM_GO(rgmi_neighbours_make(&near, graph, first, nodes));
    RGM_GO(RGM_NEW(part, nodes));
    if (method == RGM_PARTITION_RANDOM) {
        RGM_GO(deal(part, nodes, parts, seed));
    } else {
        RGM_GO(rgmi_metis_partition(part, &near, parts, balance, seed));
        RGM_GO(check_full(part, nodes, parts));
    }
    RGM_GO(rgmi_partition_report(out, part, &near, parts));
done:
    rgm_free(first);
    rgm_free(part);
    rgmi_neighbours_clear(&near);
    if (status != RGM_OK)
        rgm_partition_clear(out);
    return status;
}

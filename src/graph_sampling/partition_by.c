/*
 * Partitions by any method: what is the same for all, and cutting by chance.
 */
#include "whole_graph.h"

const char *const rgm_partition_method_names[] = {"metis", "multilevel", "random", NULL};

rgm_status rgmi_partition_number(int64_t *nodes, int64_t *first, const rgm_graph *graph,
                                 int64_t parts, double balance)
{
    const rgm_schema *schema = rgm_graph_schema(graph);
    int64_t count = 0;

    for (int64_t i = 0; i < rgm_schema_set_count(schema); i++) {
        const rgm_set_schema *set = rgm_schema_set(schema, i);

        first[i] = count;
        if (set->piece == RGM_NODE_SET)
            count += rgm_graph_total(graph, RGM_NODE_SET, set->name);
    }
    *nodes = count;
    if (parts < 1 || parts > count || !(balance >= 1))
        return RGM_FAIL(RGM_ERR_ARG,
                        "a partition of %lld nodes into %lld parts, at most %g times an even "
                        "share; 1 to %lld parts and a balance of at least 1 are possible",
                        (long long)count, (long long)parts, balance, (long long)count);
    return RGM_OK;
}

static rgm_status find_largest(rgm_partition *out)
{
    int64_t *load;

    RGM_TRY(RGM_NEW(load, out->parts));
    for (int64_t i = 0; i < rgm_tensor_count(out->part); i++)
        load[rgm_tensor_i64(out->part)[i]]++;
    for (int64_t p = 0; p < out->parts; p++)
        out->largest = load[p] > out->largest ? load[p] : out->largest;
    rgm_free(load);
    return RGM_OK;
}

rgm_status rgmi_partition_report(rgm_partition *out, const int32_t *part,
                                 const rgmi_sampled_neighbours *near, int64_t parts)
{
    int64_t cut = 0, pairs = near->row_start[near->nodes];

    RGM_TRY(rgm_tensor_create(&out->part, RGM_I64, 1, &near->nodes));
    for (int64_t node = 0; node < near->nodes; node++) {
        rgm_tensor_i64(out->part)[node] = part[node];
        for (int64_t e = near->row_start[node]; e < near->row_start[node + 1]; e++)
            cut += part[near->column[e]] != part[node];
    }
    out->parts = parts;
    if (pairs > 0)
        out->cut = (double)cut / (double)pairs;
    return find_largest(out);
}

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

void rgm_partition_clear(rgm_partition *partition)
{
    rgm_tensor_release(partition->part);
    *partition = (rgm_partition){0};
}

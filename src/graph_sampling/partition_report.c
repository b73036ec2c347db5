/*
 * What is the same for partitions of all methods: the numbers of nodes, and what is told of a cut.
 */
#include "whole_graph.h"

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

void rgm_partition_clear(rgm_partition *partition)
{
    rgm_tensor_release(partition->part);
    *partition = (rgm_partition){0};
}

/*
 * Cluster-GCN: the graph is cut once into parts with few edges between them; a mini-batch is some
 * of these with all edges among their nodes, those between two of its parts too.
 */
#include "whole_graph.h"

#include <string.h>

typedef struct cluster {
    rgmi_whole_graph whole;
    rgm_tensor *units; /* parts that have a seed */
    int64_t *first;    /* [parts + 1] where each one's nodes begin */
    int32_t *member;   /* [nodes] numbers in the whole graph, ascending in each part */
} cluster;

/* The partition's order of node sets is the schema's, the whole's the sampler's. */
static void list_members(cluster *self, const rgm_partition *cut, int64_t *part)
{
    const rgmi_whole_graph *whole = &self->whole;
    const rgm_schema *schema = rgm_graph_schema(whole->sampler->graph);
    const int64_t *by_schema = rgm_tensor_i64(cut->part);

    for (int64_t i = 0, at = 0; i < rgm_schema_set_count(schema); i++) {
        const rgm_set_schema *set = rgm_schema_set(schema, i);
        int64_t total;

        if (set->piece != RGM_NODE_SET)
            continue;
        total = rgm_graph_total(whole->sampler->graph, RGM_NODE_SET, set->name);
        for (int64_t k = 0; k < whole->sampler->node_set_count; k++)
            if (strcmp(
                    rgm_schema_set(whole->sampler->schema, whole->sampler->node_sets[k].set)->name,
                    set->name) == 0)
                memcpy(part + whole->first[k], by_schema + at, (size_t)total * sizeof *part);
        at += total;
    }
    for (int64_t n = 0; n < whole->neighbours.nodes; n++)
        self->first[part[n] + 1]++;
    for (int64_t p = 0; p < cut->parts; p++)
        self->first[p + 1] += self->first[p];
    for (int64_t n = whole->neighbours.nodes; n-- > 0;)
        self->member[--self->first[part[n] + 1]] = (int32_t)n;
    /* Each entry was moved down to its part's start. */
    for (int64_t p = 0; p < cut->parts; p++)
        self->first[p] = self->first[p + 1];
    self->first[cut->parts] = whole->neighbours.nodes;
}

static bool has_seed(const cluster *self, int64_t part)
{
    for (int64_t k = self->first[part]; k < self->first[part + 1]; k++)
        if (self->member[k] < self->whole.first[1] && self->whole.is_seed[self->member[k]])
            return true;
    return false;
}

static rgm_status list_units(cluster *self, int64_t parts)
{
    int64_t count = 0, at = 0;

    for (int64_t p = 0; p < parts; p++)
        count += has_seed(self, p);
    RGM_TRY(rgm_tensor_create(&self->units, RGM_I64, 1, &count));
    for (int64_t p = 0; p < parts; p++)
        if (has_seed(self, p))
            rgm_tensor_i64(self->units)[at++] = p;
    return RGM_OK;
}

static void tell(const cluster *self, const rgm_partition *cut)
{
    int64_t with = rgm_tensor_count(self->units);

    rgm_log_write(RGM_LOG_INFO,
                  "clusters: %lld of at most %lld nodes, %.1f%% of neighbours are cut apart",
                  (long long)cut->parts, (long long)cut->largest, 100 * cut->cut);
    if (with < cut->parts)
        rgm_log_write(RGM_LOG_WARNING,
                      "clusters: %lld of %lld have none of the nodes that are trained on and are "
                      "left out",
                      (long long)(cut->parts - with), (long long)cut->parts);
}

static rgm_status cluster_open(void *state, const rgm_subgraph_source *from, const void *options)
{
    const rgm_cluster_options *o = options;
    cluster *self = state;
    rgm_status status = RGM_OK;
    rgm_partition cut = {0};
    int64_t *part = NULL;

    RGM_GO(rgmi_whole_graph_open(&self->whole, from));
    RGM_GO(rgm_graph_partition(&cut, from->graph, o->parts, o->balance, from->seed));
    RGM_GO(RGM_NEW(self->first, cut.parts + 1));
    RGM_GO(RGM_NEW(self->member, self->whole.neighbours.nodes));
    RGM_GO(RGM_NEW(part, self->whole.neighbours.nodes));
    list_members(self, &cut, part);
    RGM_GO(list_units(self, cut.parts));
    tell(self, &cut);
done:
    rgm_free(part);
    rgm_partition_clear(&cut);
    return status;
}

static void cluster_close(void *state)
{
    cluster *self = state;

    rgmi_whole_graph_close(&self->whole);
    rgm_tensor_release(self->units);
    rgm_free(self->first);
    rgm_free(self->member);
}

static rgm_status cluster_units(rgm_tensor **out, const void *state)
{
    *out = rgm_tensor_retain(((const cluster *)state)->units);
    return RGM_OK;
}

static rgm_status cluster_draw(rgm_graph **out, const void *state, const int64_t *units,
                               int64_t count, uint64_t epoch)
{
    const cluster *self = state;
    rgm_status status = RGM_OK;
    int64_t total = 0, asked_count = 0, *asked = NULL;
    int32_t *nodes = NULL;

    (void)epoch; /* the clusters stay */
    *out = NULL;
    for (int64_t i = 0; i < count; i++)
        total += self->first[units[i] + 1] - self->first[units[i]];
    RGM_GO(RGM_NEW(nodes, total));
    RGM_GO(RGM_NEW(asked, total));
    total = 0;
    for (int64_t i = 0; i < count; i++)
        for (int64_t k = self->first[units[i]]; k < self->first[units[i] + 1]; k++)
            nodes[total++] = self->member[k];
    rgmi_sort_nodes(nodes, total);
    for (int64_t i = 0; i < total && nodes[i] < self->whole.first[1]; i++)
        if (self->whole.is_seed[nodes[i]])
            asked[asked_count++] = nodes[i];
    RGM_GO(rgmi_whole_graph_cut(out, &self->whole, nodes, total, asked, asked_count));
done:
    rgm_free(nodes);
    rgm_free(asked);
    return status;
}

const rgm_subgraph_sampler_type rgm_cluster_sampler = {
    .name = "cluster",
    .state_size = sizeof(cluster),
    .open = cluster_open,
    .units = cluster_units,
    .draw = cluster_draw,
    .judges_whole = true,
    .close = cluster_close,
};

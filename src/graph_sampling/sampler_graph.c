/*
 * From what the sampler found to a graph: edges of an edge set are those of its ops in order, ends
 * are local numbers, features are gathered. Every index is made here from checked ones, so nothing
 * is checked again.
 */
#include "sampler_internal.h"

#include <string.h>

/* Frontier nodes whose edges a thread places at a time. */
#define FRONTIER_CHUNK 1024

static rgm_status plain_ints(rgm_tensor **out, const rgm_sampler *sampler, int64_t count)
{
    return rgm_buffers_tensor(out, sampler->buffers, RGM_I64, 1, &count);
}

/* ---- nodes ---- */

static rgm_status add_nodes(rgm_graph *graph, const rgm_sampler *sampler,
                            const rgmi_sampled_nodes *set, const rgmi_local_nodes *known,
                            int threads)
{
    rgm_feature feature = {0};
    int64_t *numbers;

    RGM_TRY(rgm_graph_put_items(graph, set->set, known->count, NULL, NULL));
    for (int64_t i = 0; i < set->feature_count; i++) {
        if (set->features[i] == NULL) { /* "#id" */
            RGM_TRY(plain_ints(&feature.values, sampler, known->count));
            numbers = rgm_tensor_i64(feature.values);
            for (int64_t k = 0; k < known->count; k++)
                numbers[k] = known->nodes[k];
        } else {
            RGM_TRY(rgm_feature_reader_take(&feature, set->features[i], known->nodes, known->count,
                                            threads));
        }
        RGM_TRY(rgm_graph_put_feature(graph, set->set, i, &feature));
    }
    return RGM_OK;
}

/* ---- edges ---- */

typedef struct placing {
    int64_t *near, *far; /* local numbers at the frontier's end and at the other */
    int32_t *number;     /* of each edge, for features; or NULL                  */
    const rgmi_hop *hop;
    const rgmi_sampled_op *op;
    const rgmi_workspace *work;
    bool *broken; /* a file's number of an edge is none; set by any thread */
} placing;

static inline int32_t number_of(const placing *self, int32_t number)
{
    if (!self->op->draw.doubted || (number >= 0 && number < self->op->draw.csr->count))
        return number;
    __atomic_store_n(self->broken, true, __ATOMIC_RELAXED);
    return 0;
}

/* The edges of frontier nodes begin .. end-1 to their places. */
static void place_range(void *payload, int64_t begin, int64_t end, int thread)
{
    const placing *self = payload;
    const rgmi_hop *hop = self->hop;
    const int32_t *from = self->work->known[self->op->start].local;
    const int32_t *to = self->work->known[self->op->end].local;
    const int32_t *entry = self->op->entry ? NULL : self->op->draw.csr->entry;

    (void)thread;
    for (int64_t i = begin; i < end; i++) {
        const int32_t *edge = hop->edge + hop->offset[i], *other = hop->other + hop->offset[i];
        int64_t at = hop->start[i], count = hop->taken[i], local = from[hop->frontier[i]];
        for (int64_t k = 0; k < count; k++) {
            self->near[at + k] = local;
            self->far[at + k] = to[other[k]];
        }
        for (int64_t k = 0; self->number && k < count; k++)
            self->number[at + k] = number_of(self, entry ? entry[edge[k]] : edge[k]);
    }
}

static rgm_status add_edges(rgm_graph *graph, rgmi_workspace *work, const rgm_sampler *sampler,
                            int64_t index, int threads)
{
    rgm_status status = RGM_OK;
    const rgmi_sampled_edges *set = &sampler->edge_sets[index];
    rgm_tensor *ends[2] = {NULL, NULL};
    rgm_feature feature;
    bool broken = false;
    int64_t total = 0;

    /* Edges that fell out left holes in a hop's room, so the places are summed up anew. */
    for (int64_t k = 0; k < sampler->op_count; k++) {
        rgmi_hop *hop = &work->hops[k];
        if (sampler->ops[k].edges != index)
            continue;
        RGM_GO(RGM_RESERVE(hop->start, hop->start_room, hop->count + 1));
        for (int64_t i = 0; i < hop->count; i++) {
            hop->start[i] = total;
            total += hop->taken[i];
        }
    }
    RGM_GO(plain_ints(&ends[0], sampler, total));
    RGM_GO(plain_ints(&ends[1], sampler, total));
    RGM_GO(RGM_RESERVE(work->items, work->item_room, total + 1));
    for (int64_t k = 0; k < sampler->op_count; k++) {
        const rgmi_sampled_op *op = &sampler->ops[k];
        if (op->edges != index)
            continue;
        rgmi_sampler_for(threads, work->hops[k].count, FRONTIER_CHUNK, place_range,
                         &(placing){.near = rgm_tensor_i64(ends[op->from]),
                                    .far = rgm_tensor_i64(ends[rgm_tag_reverse(op->from)]),
                                    .number = set->feature_count > 0 ? work->items : NULL,
                                    .hop = &work->hops[k],
                                    .op = op,
                                    .work = work,
                                    .broken = &broken});
    }
    if (broken)
        RGM_GO(rgm_graph_broken(sampler->graph));
    RGM_GO(rgm_graph_put_items(graph, set->set, total, ends[RGM_SOURCE], ends[RGM_TARGET]));
    for (int64_t i = 0; i < set->feature_count; i++) {
        RGM_GO(rgm_feature_reader_take(&feature, set->features[i], work->items, total, threads));
        RGM_GO(rgm_graph_put_feature(graph, set->set, i, &feature));
    }
done:
    rgm_tensor_release(ends[0]);
    rgm_tensor_release(ends[1]);
    return status;
}

/* ---- all ---- */

/* The context has one item, of which nothing changes. */
rgm_status rgmi_sampler_context(rgm_graph *graph, const rgm_sampler *sampler)
{
    const rgm_set_schema *context = rgm_schema_set(sampler->schema, 0);

    for (int64_t i = 0; i < context->feature_count; i++) {
        rgm_feature feature;
        rgm_feature_retain(&feature, rgm_graph_feature(sampler->graph, RGM_CONTEXT_PIECE, NULL,
                                                       context->features[i].name));
        RGM_TRY(rgm_graph_put_feature(graph, 0, i, &feature));
    }
    return RGM_OK;
}

rgm_status rgmi_sampler_graph(rgm_graph **out, rgmi_workspace *work, const rgm_sampler *sampler,
                              int threads)
{
    rgm_status status = RGM_OK;
    rgm_graph *graph = NULL;

    *out = NULL;
    RGM_GO(rgm_graph_begin(&graph, sampler->schema, 1, 1));
    RGM_GO(rgmi_sampler_context(graph, sampler));
    for (int64_t i = 0; i < sampler->node_set_count; i++)
        RGM_GO(add_nodes(graph, sampler, &sampler->node_sets[i], &work->known[i], threads));
    for (int64_t i = 0; i < sampler->edge_set_count; i++)
        RGM_GO(add_edges(graph, work, sampler, i, threads));
    RGM_GO(rgm_graph_check_uncut(sampler->graph)); /* zeros of a file may look like a sample */
    RGM_GO(rgm_graph_seal(graph));
    *out = graph;
    graph = NULL;
done:
    rgm_graph_release(graph);
    return status;
}

/* ---- readout ---- */

/* The long way, which checks everything and makes the schema. */
static rgm_status first_readout(rgm_graph **out, const rgm_sampler *sampler, const rgm_graph *graph,
                                rgm_tensor *nodes, const char *label)
{
    const char *node_set = rgm_schema_set(sampler->schema, sampler->node_sets[0].set)->name;
    rgm_status status = RGM_OK;
    rgm_graph *asked = NULL;

    *out = NULL;
    RGM_GO(rgm_graph_with_readout(&asked, graph, RGM_READOUT, "seed", node_set, nodes, label));
    if (label) {
        /* Left on the nodes it would leak into the model. */
        RGM_GO(rgm_graph_without_feature(out, asked, RGM_NODE_SET, node_set, label));
    } else {
        *out = asked;
        asked = NULL;
    }
    RGM_GO(rgmi_sampler_remember(sampler, label, (rgm_schema *)rgm_graph_schema(*out)));
done:
    rgm_graph_release(asked);
    if (status != RGM_OK) {
        rgm_graph_release(*out);
        *out = NULL;
    }
    return status;
}

/* The labels of the seeds as a column of the readout set. */
static rgm_status take_label(rgm_graph *made, int64_t readout, const rgm_sampler *sampler,
                             const rgm_graph *graph, rgm_tensor *nodes, const char *label)
{
    const rgm_set_schema *set = rgm_schema_set(sampler->schema, sampler->node_sets[0].set);
    rgm_feature value;

    RGM_TRY(rgm_feature_take(&value, rgm_set_feature(set, label),
                             rgm_graph_feature(graph, RGM_NODE_SET, set->name, label),
                             rgm_tensor_i64(nodes), rgm_tensor_count(nodes)));
    return rgm_graph_put_feature(
        made, readout,
        rgm_set_feature_index(rgm_schema_set(rgm_graph_schema(made), readout), label), &value);
}

rgm_status rgmi_sampler_readout(rgm_graph **out, const rgm_sampler *sampler, const rgm_graph *graph,
                                rgm_tensor *nodes, const char *label)
{
    rgm_status status = RGM_OK;
    rgm_schema *schema = rgmi_sampler_asked(sampler, label);
    rgm_graph *made = NULL;
    rgm_tensor *numbers = NULL;
    int64_t count = rgm_tensor_count(nodes), readout, edges;

    *out = NULL;
    if (schema == NULL)
        return first_readout(out, sampler, graph, nodes, label);
    readout = rgm_schema_index(schema, RGM_NODE_SET, RGM_READOUT);
    edges = rgm_schema_index(schema, RGM_EDGE_SET, RGM_READOUT "/seed");
    RGM_GO(rgm_graph_begin_from(&made, schema, graph));
    RGM_GO(plain_ints(&numbers, sampler, count));
    for (int64_t i = 0; i < count; i++)
        rgm_tensor_i64(numbers)[i] = i;
    RGM_GO(rgm_graph_put_items(made, readout, count, NULL, NULL));
    RGM_GO(rgm_graph_put_items(made, edges, count, nodes, numbers));
    if (label)
        RGM_GO(take_label(made, readout, sampler, graph, nodes, label));
    RGM_GO(rgm_graph_seal(made));
    *out = made;
    made = NULL;
done:
    rgm_tensor_release(numbers);
    rgm_graph_release(made);
    return status;
}

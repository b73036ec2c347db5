/*
 * Samplers of subgraphs: a row of rgm_subgraph_sampler_type with its state, and the simplest row,
 * trees of neighbours.
 */
#include "whole_graph.h"

struct rgm_subgraph_sampler {
    atomic_int_fast64_t references;
    const rgm_subgraph_sampler_type *type;
    rgm_graph *graph;
    char *node_set, *label;
    rgm_tensor *seeds, *units;
    void *state;
};

static rgm_status check_seeds(const rgm_subgraph_source *from)
{
    int64_t total = rgm_graph_total(from->graph, RGM_NODE_SET, from->node_set);
    const rgm_schema *schema = rgm_graph_schema(from->graph);

    if (rgm_schema_find(schema, RGM_NODE_SET, from->node_set) == NULL)
        return RGM_FAIL(RGM_ERR_NOT_FOUND, "sampling seeds: there is no node set '%s'%s",
                        from->node_set, rgm_schema_hint(schema, RGM_NODE_SET, from->node_set).text);
    if (rgm_tensor_dtype(from->seeds) != RGM_I64 || rgm_tensor_count(from->seeds) < 1)
        return RGM_FAIL(RGM_ERR_ARG, "seeds must be at least one i64 node number");
    for (int64_t i = 0; i < rgm_tensor_count(from->seeds); i++) {
        int64_t node = rgm_tensor_i64(from->seeds)[i];

        if (node < 0 || node >= total)
            return RGM_FAIL(RGM_ERR_DATA, "seed %lld is node %lld of node set '%s', which has %lld",
                            (long long)i, (long long)node, from->node_set, (long long)total);
    }
    return RGM_OK;
}

static rgm_status keep_source(rgm_subgraph_sampler *sampler, const rgm_subgraph_source *from)
{
    sampler->graph = rgm_graph_retain(from->graph);
    RGM_TRY(rgm_strdup(&sampler->node_set, from->node_set));
    if (from->label != NULL)
        RGM_TRY(rgm_strdup(&sampler->label, from->label));
    RGM_TRY(check_seeds(from));
    sampler->seeds = rgm_tensor_retain(from->seeds);
    return RGM_OK;
}

rgm_status rgm_subgraph_sampler_create(rgm_subgraph_sampler **out,
                                       const rgm_subgraph_sampler_type *type,
                                       const rgm_subgraph_source *from, const void *options)
{
    rgm_status status = RGM_OK;
    rgm_subgraph_sampler *sampler = NULL;

    *out = NULL;
    RGM_GO(RGM_NEW(sampler, 1));
    sampler->references = 1;
    sampler->type = type;
    RGM_GO(keep_source(sampler, from));
    sampler->state = rgm_calloc(1, type->state_size);
    if (sampler->state == NULL)
        RGM_GO(RGM_FAIL(RGM_ERR_NOMEM, "out of memory: %zu bytes of sampler '%s'", type->state_size,
                        type->name));
    RGM_GO(type->open(sampler->state, from, options));
    if (type->units != NULL)
        RGM_GO(type->units(&sampler->units, sampler->state));
    else
        sampler->units = rgm_tensor_retain(from->seeds);
    *out = sampler;
    sampler = NULL;
done:
    rgm_subgraph_sampler_release(sampler);
    return status;
}

rgm_subgraph_sampler *rgm_subgraph_sampler_retain(rgm_subgraph_sampler *sampler)
{
    atomic_fetch_add_explicit(&sampler->references, 1, memory_order_relaxed);
    return sampler;
}

void rgm_subgraph_sampler_release(rgm_subgraph_sampler *sampler)
{
    if (sampler == NULL ||
        atomic_fetch_sub_explicit(&sampler->references, 1, memory_order_acq_rel) != 1)
        return;
    if (sampler->state != NULL)
        sampler->type->close(sampler->state);
    rgm_free(sampler->state);
    rgm_graph_release(sampler->graph);
    rgm_tensor_release(sampler->seeds);
    rgm_tensor_release(sampler->units);
    rgm_free(sampler->node_set);
    rgm_free(sampler->label);
    rgm_free(sampler);
}

rgm_tensor *rgm_subgraph_sampler_units(const rgm_subgraph_sampler *sampler)
{
    return sampler->units;
}

rgm_status rgm_subgraph_sampler_draw(rgm_graph **out, const rgm_subgraph_sampler *sampler,
                                     const int64_t *units, int64_t count, uint64_t epoch)
{
    *out = NULL;
    return sampler->type->draw(out, sampler->state, units, count, epoch);
}

bool rgm_subgraph_sampler_judges_whole(const rgm_subgraph_sampler *sampler)
{
    return sampler->type->judges_whole;
}

rgm_status rgm_subgraph_sampler_whole(rgm_graph **out, const rgm_subgraph_sampler *sampler,
                                      rgm_tensor *nodes)
{
    rgm_status status = RGM_OK;
    rgm_graph *asked = NULL;

    *out = NULL;
    RGM_GO(rgm_graph_with_readout(&asked, sampler->graph, RGM_READOUT, "seed", sampler->node_set,
                                  nodes != NULL ? nodes : sampler->seeds, sampler->label));
    if (sampler->label != NULL) {
        RGM_GO(
            rgm_graph_without_feature(out, asked, RGM_NODE_SET, sampler->node_set, sampler->label));
    } else {
        *out = asked;
        asked = NULL;
    }
    if (sampler->type->dress != NULL)
        RGM_GO(sampler->type->dress(out, sampler->state));
done:
    rgm_graph_release(asked);
    if (status != RGM_OK) {
        rgm_graph_release(*out);
        *out = NULL;
    }
    return status;
}

/* ---- trees of neighbours ---- */

typedef struct tree {
    rgm_sampler *sampler;
    char *label;
} tree;

static rgm_status tree_open(void *state, const rgm_subgraph_source *from, const void *options)
{
    const rgm_tree_sampler_options *o = options;
    tree *self = state;

    if (from->label != NULL)
        RGM_TRY(rgm_strdup(&self->label, from->label));
    RGM_TRY(rgm_sampler_create(&self->sampler, from->graph, o->spec, from->seed));
    rgm_sampler_set_once(self->sampler, o->once);
    return RGM_OK;
}

static rgm_status tree_draw(rgm_graph **out, const void *state, const int64_t *units, int64_t count,
                            uint64_t epoch)
{
    const tree *self = state;

    return rgm_sampler_batch(out, self->sampler, units, count, epoch, self->label);
}

static void tree_close(void *state)
{
    tree *self = state;

    rgm_sampler_release(self->sampler);
    rgm_free(self->label);
}

const rgm_subgraph_sampler_type rgm_tree_sampler = {
    .name = "tree",
    .state_size = sizeof(tree),
    .open = tree_open,
    .draw = tree_draw,
    .close = tree_close,
};

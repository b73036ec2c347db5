/*
 * Samplers of subgraphs: a row of rgm_subgraph_sampler_type with its state, and the simplest row,
 * trees of neighbours.
 */
#include "ground.h"

struct rgm_subgraph_sampler {
    const rgm_subgraph_sampler_type *type;
    rgm_tensor *units;
    void *state;
};

rgm_status rgm_subgraph_sampler_create(rgm_subgraph_sampler **out,
                                       const rgm_subgraph_sampler_type *type,
                                       const rgm_subgraph_source *from, const void *options)
{
    rgm_status status = RGM_OK;
    rgm_subgraph_sampler *sampler = NULL;

    *out = NULL;
    RGM_GO(RGM_NEW(sampler, 1));
    sampler->type = type;
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

void rgm_subgraph_sampler_release(rgm_subgraph_sampler *sampler)
{
    if (sampler == NULL)
        return;
    if (sampler->state != NULL)
        sampler->type->close(sampler->state);
    rgm_free(sampler->state);
    rgm_tensor_release(sampler->units);
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
    return sampler->type->whole != NULL;
}

rgm_status rgm_subgraph_sampler_whole(rgm_graph **out, const rgm_subgraph_sampler *sampler,
                                      rgm_tensor *nodes)
{
    *out = NULL;
    if (sampler->type->whole == NULL)
        return RGM_FAIL(RGM_ERR_UNSUPPORTED, "sampler '%s' is judged on draws",
                        sampler->type->name);
    return sampler->type->whole(out, sampler->state, nodes);
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
    return rgm_sampler_create(&self->sampler, from->graph, o->spec, from->seed);
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

/*
 * Features of the graph that mini-batches are cut out of, when the model computes on a device whose
 * memory is not the host's: they are copied there once, and batches send the numbers of their rows;
 * or, where they do not fit, rows go to the device without a copy in between.
 */
#include <regimen/device_tensor.h>

#include "learning.h"

typedef struct placing {
    rgmi_learning *learning;
    rgm_device *device;
    size_t most; /* bytes that may still stay there */
    rgm_text stay, go;
    double stay_bytes, go_bytes;
} placing;

/* What rows are taken of, again and again; *out is NULL: of nothing. */
static rgm_status cut_graph(rgm_graph **out, const rgmi_learning *l)
{
    const rgm_provider *provider = l->providers[RGM_TRAIN];

    *out = NULL;
    if (provider == NULL || !rgmi_provider_is_batched(provider) ||
        rgmi_provider_is_sampled_part(provider) || /* most rows come from other ranks */
        l->processor_count > 0)                    /* they may make other features of those */
        return RGM_OK;
    RGM_TRY(rgmi_provider_whole(out, provider));
    if (*out == NULL && l->inputs.data.graph_count == 1)
        *out = rgm_graph_retain(l->inputs.data.graphs[0]);
    return *out != NULL && l->input != NULL ? rgm_input_features_finite(l->input, *out) : RGM_OK;
}

static rgm_status lend(placing *p, const rgm_set_schema *set, const char *feature,
                       rgm_tensor *table)
{
    rgm_text *list;
    bool stays;

    RGM_TRY(
        RGM_RESERVE(p->learning->lent, p->learning->lent_capacity, p->learning->lent_count + 1));
    RGM_TRY(rgm_device_lend(&stays, p->device, table, p->most));
    p->learning->lent[p->learning->lent_count++] = rgm_tensor_retain(table);
    if (stays)
        p->most -= rgm_tensor_bytes(table);
    *(stays ? &p->stay_bytes : &p->go_bytes) += (double)rgm_tensor_bytes(table);
    list = stays ? &p->stay : &p->go;
    RGM_TRY(rgm_text_printf(list, "%s", list->size > 0 ? ", " : ""));
    RGM_TRY(rgm_text_add_visible(list, set->name));
    RGM_TRY(rgm_text_printf(list, "."));
    return rgm_text_add_visible(list, feature);
}

/* The features that the model takes as they are. */
static rgm_status lend_features(placing *p, const rgm_graph *graph)
{
    const rgm_schema *schema = rgm_graph_schema(graph);

    for (int64_t i = 0; i < rgm_schema_set_count(schema); i++) {
        const rgm_set_schema *set = rgm_schema_set(schema, i);

        if (set->piece == RGM_CONTEXT_PIECE || rgm_is_aux_set(set->name))
            continue;
        for (int64_t k = 0; k < set->feature_count; k++) {
            const char *name = set->features[k].name;
            const rgm_feature *feature = rgm_graph_feature(graph, set->piece, set->name, name);

            if (feature == NULL || name[0] == '#' ||
                !rgm_feeds_feature(p->learning->root, set->piece, set->name, name))
                continue;
            RGM_TRY(lend(p, set, name, feature->values));
        }
    }
    return RGM_OK;
}

/* "features paper.feat, 87.0 MB, stay on cuda:0 (NVIDIA H100): batches send the numbers ..." */
static rgm_status describe(const placing *p)
{
    rgm_text *out = &p->learning->placed;
    const char *about = rgm_device_about(p->device);

    if (p->stay.size > 0)
        RGM_TRY(rgm_text_printf(out,
                                "features %s, %.1f MB, stay on %s: batches send the numbers of "
                                "their rows\n",
                                p->stay.data, p->stay_bytes * 1e-6, about));
    if (p->go.size > 0)
        RGM_TRY(rgm_text_printf(out,
                                "features %s, %.1f MB, do not stay on %s "
                                "(runtime.features_on_device): batches send their rows\n",
                                p->go.data, p->go_bytes * 1e-6, about));
    return RGM_OK;
}

void rgmi_learning_take_back(rgmi_learning *l)
{
    for (int64_t i = 0; i < l->lent_count; i++) {
        rgm_tensor_take_back(l->lent[i]);
        rgm_tensor_release(l->lent[i]);
    }
    rgm_free(l->lent);
    l->lent = NULL;
    l->lent_count = l->lent_capacity = 0;
    rgm_text_clear(&l->placed);
}

rgm_status rgmi_learning_place(void *state, rgm_device *device, size_t most)
{
    placing p = {.learning = state, .device = device, .most = most};
    rgm_status status = RGM_OK;
    rgm_graph *graph = NULL;

    rgmi_learning_take_back(state);
    if (device == NULL)
        return RGM_OK;
    RGM_GO(cut_graph(&graph, state));
    if (graph == NULL)
        goto done;
    RGM_GO(lend_features(&p, graph));
    RGM_GO(describe(&p));
done:
    rgm_text_clear(&p.stay);
    rgm_text_clear(&p.go);
    rgm_graph_release(graph);
    return status;
}

/*
 * data.type parts with data.sampling: mini-batches of a graph that lies with several ranks. Seeds
 * are those of the whole graph, in the order in which a run on it takes them, and a recipe gives
 * lists of them; the graphs around them are drawn when a step has its batches, all at once, since
 * each rank answers the others meanwhile (rgm_task.complete). Ranks open their parts one after the
 * other, and so they meet only when the first recipe or the model is built.
 */
#include "learning.h"
#include "waiting_seeds.h"

/* ---- seeds on their way through the recipe ------------------------------------------------- */

static void release_seeds(void *object)
{
    rgm_free(((rgmi_waiting_seeds *)object)->nodes);
    rgm_free(object);
}

const rgm_element_type rgmi_waiting_seeds_element = {.name = "seeds in parts",
                                                     .release = release_seeds};

/* Takes over nodes, also on failure. */
static rgm_status make_seeds(rgm_element **out, int64_t *nodes, int64_t count, uint64_t epoch,
                             const rgmi_pipeline *pipeline)
{
    rgm_status status = RGM_OK;
    rgmi_waiting_seeds *seeds = NULL;

    RGM_GO(RGM_NEW(seeds, 1));
    *seeds = (rgmi_waiting_seeds){nodes, count, epoch, pipeline};
    nodes = NULL;
    RGM_GO(rgm_element_create_pointer(out, &rgmi_waiting_seeds_element, seeds));
    seeds = NULL;
done:
    if (seeds != NULL)
        release_seeds(seeds);
    rgm_free(nodes);
    return status;
}

rgm_status rgmi_sampled_part_batch(rgm_element **out, const rgm_element *element,
                                   const rgm_map_call *call, void *payload)
{
    const rgmi_waiting_seeds *seeds = rgm_element_pointer(element, &rgmi_waiting_seeds_element);
    int64_t *nodes;

    (void)call;
    RGM_TRY(RGM_NEW(nodes, seeds->count));
    memcpy(nodes, seeds->nodes, (size_t)seeds->count * sizeof *nodes);
    return make_seeds(out, nodes, seeds->count, seeds->epoch, payload);
}

/* ---- a provider ---------------------------------------------------------------------------- */

typedef struct sampled_state {
    rgm_graph *own;                  /* this part, asked about the nodes that are its own */
    const rgm_part_sampler *sampler; /* connected before a recipe is asked for             */
    rgm_mode mode;
    rgm_subgraph_provider_options options;
} sampled_state;

static rgm_status list_seeds(rgm_element **out, const rgm_element *list, const rgm_map_call *call,
                             void *payload)
{
    int64_t *nodes;
    uint64_t epoch;

    RGM_TRY(rgmi_units_of(&nodes, &epoch, list, call, *(const bool *)payload));
    return make_seeds(out, nodes, rgm_element_count(list), epoch, NULL);
}

static rgm_status sampled_dataset(rgm_dataset **out, void *state, bool training)
{
    const sampled_state *sampled = state;
    rgm_tensor *seeds = rgm_part_sampler_seeds(sampled->sampler, (int)sampled->mode);
    const rgmi_draws none = {0};
    bool *resample;

    *out = NULL;
    if (seeds == NULL)
        return RGM_FAIL(RGM_ERR_ARG, "the parts of the graph are not connected");
    RGM_TRY(RGM_NEW(resample, 1));
    *resample = training && sampled->options.resample;
    return rgmi_units_dataset(out, seeds, &none, &sampled->options, training, list_seeds, resample);
}

static rgm_schema *sampled_schema(void *state)
{
    return rgm_part_sampler_schema(((sampled_state *)state)->sampler);
}

static void sampled_release(void *state)
{
    sampled_state *sampled = state;

    rgm_graph_release(sampled->own);
    rgm_free(sampled);
}

static const rgm_provider_type sampled_type = {
    .name = "sampled part of a graph",
    .dataset = sampled_dataset,
    .schema = sampled_schema,
    .batched = true,
    .release = sampled_release,
};

bool rgmi_provider_is_sampled_part(const rgm_provider *provider)
{
    return rgmi_provider_state(provider, &sampled_type) != NULL;
}

rgm_status rgmi_sampled_part_visit(const rgm_provider *provider, rgmi_graph_visitor *visit,
                                   void *payload)
{
    const sampled_state *sampled = rgmi_provider_state(provider, &sampled_type);

    return visit(payload, sampled->own);
}

static rgm_status sampled_provider(rgm_provider **out, const rgmi_graph_inputs *in,
                                   const rgm_task_setup *setup, rgm_mode mode, const char *label)
{
    const rgmi_data_options *d = setup->data;
    rgm_tensor *const own[3] = {in->data.train, in->data.valid, in->data.test};
    rgm_status status = RGM_OK;
    sampled_state *sampled;

    *out = NULL;
    RGM_TRY(RGM_NEW(sampled, 1));
    sampled->sampler = in->sampler;
    sampled->mode = mode;
    sampled->options = (rgm_subgraph_provider_options){.batch_size = d->batch_size,
                                                       .shuffle = true,
                                                       .drop_remainder = d->drop_remainder,
                                                       .resample = d->sampling.resample,
                                                       .threads = setup->threads};
    RGM_GO(rgmi_asked_graph(&sampled->own, &in->data, own[mode], label));
    *out = rgm_provider_create(&sampled_type, sampled);
    if (*out == NULL)
        RGM_GO(RGM_ERR_NOMEM);
    sampled = NULL;
done:
    if (sampled != NULL)
        sampled_release(sampled);
    return status;
}

/* ---- opening ------------------------------------------------------------------------------- */

rgm_status rgmi_sampled_parts_check(const rgmi_data_options *d)
{
    const rgmi_sampling *s = &d->sampling;

    if (s->type != RGMI_SAMPLING_TREE)
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "data.type is parts, and data.sampling.type is %s: trees of neighbours "
                        "alone are sampled across parts (data.sampling.type: tree)",
                        rgmi_sampling_type_names[s->type]);
    if (s->store != RGMI_STORE_MEMORY)
        return RGM_FAIL(RGM_ERR_CONFIG, "data.type is parts, and data.sampling.store is records: "
                                        "batches are sampled anew for each step "
                                        "(data.sampling.store: memory)");
    if (s->seed_time_feature_name != NULL)
        return RGM_FAIL(RGM_ERR_CONFIG, "data.type is parts, and "
                                        "data.sampling.seed_time_feature_name: owners of "
                                        "neighbours do not know the times of seeds elsewhere");
    return RGM_OK;
}

rgm_status rgmi_sampled_parts_open(rgmi_graph_inputs *in, const rgm_task_setup *setup,
                                   const char *label)
{
    const rgmi_data_options *d = setup->data;
    rgm_part_sampler_options options = {
        .label = label, .seed = setup->seed, .once = d->sampling.once};

    RGM_TRY(rgmi_sampling_spec(in, d, in->data.split_set));
    options.spec = in->spec;
    RGM_TRY(rgm_part_sampler_open(&in->sampler, in->part, &options));
    for (int mode = RGM_TRAIN; mode <= RGM_TEST; mode++)
        if (rgm_parts_split(in->parts, mode) > 0)
            RGM_TRY(rgm_error_prefix(
                sampled_provider(&in->providers[mode], in, setup, (rgm_mode)mode, label), "%s data",
                rgm_mode_name((rgm_mode)mode)));
    return RGM_OK;
}

/* ---- the plan ------------------------------------------------------------------------------ */

rgm_status rgmi_sampled_parts_describe(rgm_text *out, const rgmi_graph_inputs *in)
{
    const rgm_part_sampler_counts *counts = &in->probe;

    return rgm_text_printf(
        out,
        "sampling across parts: of %lld nodes around %lld seeds %.0f %% are other ranks'; %.2f MB "
        "travel to this rank and back for them\n",
        (long long)counts->nodes, (long long)in->probed,
        counts->nodes > 0 ? 100.0 * (double)counts->others / (double)counts->nodes : 0,
        (double)counts->bytes * 1e-6);
}
